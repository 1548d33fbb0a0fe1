"""What imports and paths lead to."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.wesl.linked import check, parts

import wgsl_kernels as wk

GEOMETRY = """
// === geometry/sphere.wesl
import super::constants::TAU;
struct Sphere { radius: f32 }
fn volume(s: Sphere) -> f32 { return 2.0 / 3.0 * TAU * cube(s.radius); }
fn cube(x: f32) -> f32 { return x * x * x; }
fn unused(x: f32) -> f32 { return missing_and_never_asked_for(x); }
// === geometry/constants.wgsl
const TAU = 6.28;
const PI = TAU / 2.0;
"""
LINKED = """
struct Sphere { radius: f32 }
fn volume(s: Sphere) -> f32 { return 2.0 / 3.0 * TAU * cube(s.radius); }
fn cube(x: f32) -> f32 { return x * x * x; }
const TAU = 6.28;
"""


@pytest.mark.parametrize(
    ("imports", "volume", "sphere"),
    [
        ("import package::geometry::sphere::{volume, Sphere};", "volume", "Sphere"),
        ("import super::geometry::sphere::{Sphere, volume,};", "volume", "Sphere"),
        ("import package::{geometry::{sphere::{volume, Sphere}}};", "volume", "Sphere"),
        ("import package::geometry::sphere;", "sphere::volume", "sphere::Sphere"),
        ("import package::geometry;", "geometry::sphere::volume", "geometry::sphere::Sphere"),
        ("import package::geometry::sphere as s;", "s::volume", "s::Sphere"),
        ("", "package::geometry::sphere::volume", "super::geometry::sphere::Sphere"),
        ("import package::geometry::sphere::*;", "volume", "Sphere"),
        ("import package::geometry::{sphere::{*}};", "volume", "Sphere"),
        ("import /* why */ package // here\n ::geometry::sphere::{*};", "volume", "Sphere"),
    ],
)
def test_every_way_to_name_a_declaration_finds_it(imports: str, volume: str, sphere: str) -> None:
    main = f"""
// === main.wesl
{imports}
fn main() -> f32 {{ var s: {sphere}; return {volume}({sphere}(s.radius)); }}
"""
    expected = "fn main() -> f32 { var s: Sphere; return volume(Sphere(s.radius)); }"
    check(main + GEOMETRY, expected + LINKED)


def test_paths_stand_wherever_a_name_may() -> None:
    check(
        """
// === main.wgsl
import package::lib;
alias Number = lib::Real;
var<private> total: array<lib::Pair<>, lib::SIZE>;
@compute @workgroup_size(lib::SIZE, package::lib::SIZE)
fn main() {
  lib::state = 1.0;
  lib::state += lib::twice(lib::state) * lib::table[lib::SIZE - 1u];
  lib::count++;
  for (lib::reset(); lib::count < 3; lib::count++) { lib::reset(); }
  let p: ptr<private, lib::Real> = &lib::state;
  switch lib::count { case lib::ONE: { } default { } }
  _ = vec2<lib::Real>(1.0, 2.0).x;
}
// === lib.wgsl
alias Real = f32;
const SIZE = 4u;
const ONE = 1;
struct Pair { a: Real }
var<private> state: Real;
var<private> count: i32;
const table = array<f32, SIZE>(1.0, 2.0, 3.0, 4.0);
fn twice(x: Real) -> Real { return 2.0 * x; }
fn reset() { count = 0; }
""".replace("Pair<>", "Pair"),
        """
alias Number = Real;
var<private> total: array<Pair, SIZE>;
@compute @workgroup_size(SIZE, SIZE)
fn main() {
  state = 1.0;
  state += twice(state) * table[SIZE - 1u];
  count++;
  for (reset(); count < 3; count++) { reset(); }
  let p: ptr<private, Real> = &state;
  switch count { case ONE: { } default { } }
  _ = vec2<Real>(1.0, 2.0).x;
}
alias Real = f32;
const SIZE = 4u;
const ONE = 1;
struct Pair { a: Real }
var<private> state: Real;
var<private> count: i32;
const table = array<f32, SIZE>(1.0, 2.0, 3.0, 4.0);
fn twice(x: Real) -> Real { return 2.0 * x; }
fn reset() { count = 0; }
""",
    )


def test_super_climbs_as_often_as_it_is_written() -> None:
    check(
        """
// === main.wgsl
fn f() -> i32 { return package::a::b::c::value(); }
// === a/b/c.wgsl
import super::super::sibling::N;
fn value() -> i32 { return N + super::near::M + super::super::super::top::L; }
// === a/sibling.wgsl
const N = 1;
// === a/b/near.wgsl
const M = 2;
// === top.wgsl
const L = 3;
""",
        "fn f() -> i32 { return value(); } fn value() -> i32 { return N + M + L; }"
        "const N = 1; const M = 2; const L = 3;",
    )


def test_modules_may_import_each_other_and_themselves() -> None:
    check(
        """
// === main.wgsl
import package::odd::is_odd;
fn is_even(n: u32) -> bool { return n == 0u || package::main::pass_on(is_odd(n - 1u)); }
fn pass_on(x: bool) -> bool { return x; }
// === odd.wgsl
import package::main::is_even;
fn is_odd(n: u32) -> bool { return n != 0u && is_even(n - 1u); }
""",
        "fn is_even(n: u32) -> bool { return n == 0u || pass_on(is_odd(n - 1u)); }"
        "fn pass_on(x: bool) -> bool { return x; }"
        "fn is_odd(n: u32) -> bool { return n != 0u && is_even(n - 1u); }",
    )


def test_what_is_imported_and_never_used_need_not_be_there() -> None:
    check("// === main.wgsl\nimport nowhere::{a, b::c};\nfn f() {}\n", "fn f() {}")


def test_a_module_and_a_declaration_may_share_a_name() -> None:
    check(
        """
// === main.wgsl
import package::light;
const bar = light::foo + light() + package::light::light;
// === light.wgsl
const foo = 1;
const light = 2;
// === package.wgsl
fn light() -> i32 { return 3; }
""",
        "const bar = foo + light() + light0; const foo = 1; fn light() -> i32 { return 3; }"
        "const light0 = 2;",
    )


def test_packages_are_found_by_the_name_that_is_given_to_them() -> None:
    modules = {"main.wgsl": "import noise::simplex::snoise; fn f() -> f32 { return snoise(1.0); }"}
    packages = {
        "noise": {
            "simplex.wesl": "import package::hash::h; import bits::mix; import bits;"
            "fn snoise(x: f32) -> f32 { return mix(h(x), super::K, bits::half); }",
            "hash.wgsl": "fn h(x: f32) -> f32 { return x; }",
            "package.wesl": "const K = 7.0;",
        },
        "bits": {"package.wgsl": "fn mix(a: f32, b: f32, c: f32) -> f32 { return a; }"
                 "const half = 0.5;"},
    }  # fmt: skip
    linked = wk.link(modules, packages=packages)

    expected = """
fn f() -> f32 { return snoise(1.0); }
fn snoise(x: f32) -> f32 { return mix(h(x), K, half); }
fn mix(a: f32, b: f32, c: f32) -> f32 { return a; }
fn h(x: f32) -> f32 { return x; }
const K = 7.0;
const half = 0.5;
"""
    assert parts(linked.text) == parts(expected)
    assert linked.source_map.find(4, 4).file == "noise/simplex.wesl"


def test_constants_of_the_host_are_a_module() -> None:
    import numpy as np

    linked = check(
        """
// === main.wgsl
import constants::{lights, gamma};
const a = lights;
const b = gamma + constants::scale;
const c = constants::debug;
const d = constants::origin;
const e = constants::third;
""",
        """
const a = lights; const b = gamma + scale; const c = debug; const d = origin; const e = third;
const lights = 4u; const gamma = 2.2; const scale = -1.5f; const debug = true;
const origin = vec2f(0, 1); const third = 3;
""",
        constants={
            "lights": np.uint32(4),
            "gamma": 2.2,
            "scale": np.float32(-1.5),
            "debug": True,
            "origin": "vec2f(0, 1)",
            "third": 3,
            "never_used": 9,
        },
    )
    assert linked.source_map.find(6, 7).file == "constants"


def test_public_imports_hand_names_on() -> None:
    check(
        """
// === main.wesl
import package::prelude::{sum, Vector};
import package::prelude::*;
fn f(v: Vector) -> f32 { return sum(v) + twice(1.0); }
// === prelude.wesl
public import package::math::sum;
public import super::math::{Pair as Vector, twice};
import package::math::hidden;
// === math.wesl
public struct Pair { x: f32 }
public fn sum(p: Pair) -> f32 { return p.x; }
fn twice(x: f32) -> f32 { return 2.0 * x; }
const hidden = 1;
""",
        """
fn f(v: Vector) -> f32 { return sum(v) + twice(1.0); }
struct Vector { x: f32 }
fn sum(p: Vector) -> f32 { return p.x; }
fn twice(x: f32) -> f32 { return 2.0 * x; }
""".replace("Vector", "Pair"),
    )


def test_what_the_root_imports_for_the_host_is_linked_under_that_name() -> None:
    check(
        """
// === main.wesl
public import package::passes::{blur, sharpen as crisp};
// === passes.wesl
@compute @workgroup_size(1) fn blur() { }
@compute @workgroup_size(1) public fn sharpen() { }
@compute @workgroup_size(1) fn never() { }
""",
        "@compute @workgroup_size(1) fn blur() { } @compute @workgroup_size(1) fn crisp() { }",
        mangle="path",
    )


def test_assertions_come_with_the_first_declaration_of_their_module() -> None:
    check(
        """
// === main.wgsl
import package::foo::{bar, baz};
import package::other::thing;
const_assert true;
fn main() { bar(); baz(); }
// === foo.wgsl
const_assert LIMIT > 0;
const LIMIT = 4;
fn bar() { const_assert LIMIT < 5; }
fn baz() { }
// === other.wgsl
const_assert false;
fn thing() { }
""",
        "const_assert true; fn main() { bar(); baz(); } const_assert LIMIT > 0;"
        "const LIMIT = 4; fn bar() { const_assert LIMIT < 5; } fn baz() { }",
    )


def test_directives_of_all_linked_modules_come_first_and_once() -> None:
    linked = check(
        """
// === main.wgsl
import package::a::x;
import package::b::y;
enable f16, subgroups;
diagnostic(off, derivative_uniformity);
fn main() { x(); }
// === a.wgsl
enable f16;
enable dual_source_blending;
requires pointer_composite_access;
diagnostic(error, derivative_uniformity);
diagnostic(info, chromium.unreachable_code);
fn x() { }
// === b.wgsl
enable clip_distances;
fn y() { }
""",
        """
enable f16, subgroups;
diagnostic(off, derivative_uniformity);
enable dual_source_blending;
requires pointer_composite_access;
diagnostic(info, chromium.unreachable_code);
fn main() { x(); }
fn x() { }
""",
    )
    assert linked.text.index("fn") > linked.text.index("diagnostic(info")


def test_a_module_is_given_as_one_file() -> None:
    modules = {
        "main.wgsl": "const a = package::m::x;",
        "m.wgsl": "const x = 1;",
        "./m.wesl": "const x = 2;",
    }
    with pytest.raises(wk.ArgumentError, match=r"'./m.wesl' is given twice; 'm.wgsl' is the same"):
        wk.link(modules)


@pytest.mark.parametrize("root", ["main", "main.wgsl", "./main.wgsl", "package::main"])
def test_the_root_may_be_named_in_several_ways(root: str) -> None:
    assert wk.link({"./main.wgsl": "const a = 1;"}, root).text == "const a = 1;\n"


def test_linking_needs_no_device_and_is_loaded_when_it_is_used() -> None:
    program = """
import sys
import wgsl_kernels as wk
language = [name for name in sys.modules if ".wgsl." in name and ".wgsl.errors" not in name]
assert not language, "loaded at once"
assert wk.link({"main.wgsl": "const a = 1;"}).text == "const a = 1;\\n"
assert "wgpu" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_a_root_may_lie_in_a_folder() -> None:
    modules = {"app/main.wgsl": "const a = super::b::x;", "app/b.wgsl": "const x = 1;"}
    for root in ("app/main", "app::main", "package::app::main"):
        assert parts(wk.link(modules, root).text) == parts("const a = x; const x = 1;")
