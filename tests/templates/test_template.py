"""Templates: configuration constants, slots, and the plain WGSL that comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.modules.template_files import find_template

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.templates.template import Configuration, Template

TILED = """// y[i] = what `element` makes of x[i], TILE at a time.
import package::tiled_slots::{Number, element};
import package::tiled_parts::{WIDE, stored};

const TILE = 2u; // @tune 1 2 4: elements of an invocation
const GROUP = 32u; // @tune 32 64
const SHARE = false; // @tune
const SHIFT = -1; // @given -1 0 1

@group(0) @binding(0) var<storage, read> x: array<Number>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var n = 0u; n < TILE; n++) { // @unroll
    let i = id.x * TILE + n;
    stored(i, element(x[i], i) + Number(SHIFT));
  }
}
"""
PARTS = """// What is shared.
import package::tiled_slots::Number;
const WIDE = false; // @given false true
@if(WIDE) fn stored(i: u32, value: Number) { store_y(i, value * 2.0); }
@else fn stored(i: u32, value: Number) { store_y(i, value); }
"""
SLOTS = """// @slots: those of tiled.wesl with their defaults.
alias Number = f32;
fn element(x: Number, i: u32) -> Number { return x; }
"""
OPERAND = """// What a kernel gives.
const SCALE = 3u; // @given 2 3
fn element(x: f32, i: u32) -> f32 { return x * f32(SCALE) + f32(i); }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a template and what it imports."""
    for name, text in {
        "tiled.wesl": TILED, "tiled_parts.wesl": PARTS, "tiled_slots.wesl": SLOTS,
        "operand.wesl": OPERAND,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def template(folder: Path, slots: str | None = None) -> Template:
    return find_template("tiled.wesl", slots, folder, "<inline in test.py:1>")


def test_constants_have_choosers_defaults_and_values(folder: Path) -> None:
    found = template(folder, "operand.wesl").constants
    rows = {name: (one.chooser, one.default, one.values) for name, one in found.items()}
    assert rows == {
        "TILE": ("tune", 2, (1, 2, 4)),
        "GROUP": ("tune", 32, (32, 64)),
        "SHARE": ("tune", False, (False, True)),
        "SHIFT": ("given", -1, (-1, 0, 1)),
        "WIDE": ("given", False, (False, True)),
        "SCALE": ("given", 3, (2, 3)),
    }
    place = found["WIDE"].text.place(found["WIDE"].begin)
    assert (place.line, place.column) == (3, 7)


def test_the_space_is_what_the_tuner_chooses_pruned_by_rules(folder: Path) -> None:
    def is_small(configuration: Configuration) -> bool:
        return configuration["TILE"] * configuration["GROUP"] <= 64

    whole = list(template(folder).configurations())
    pruned = list(template(folder).configurations({"SHARE": False, "SHIFT": 1}, (is_small,)))
    assert len(whole) == 12
    assert [(one["TILE"], one["GROUP"]) for one in pruned] == [(1, 32), (1, 64), (2, 32)]
    assert all(one["SHIFT"] == 1 and one["SHARE"] is False for one in pruned)


def test_a_module_is_plain_text_with_slots_and_configuration(folder: Path) -> None:
    found = template(folder, "operand.wesl").module({"TILE": 1, "WIDE": True})
    text = found.text.text
    assert "const" not in text
    assert "fn element(x: f32, i: u32) -> f32 {\n  return x * f32(3u) + f32(i);" in text
    assert "store_y(i, value * 2.0)" in text
    assert "@workgroup_size(32u)" in text
    assert found.configuration["GROUP"] == 32
    found_text, place = found.text.origin(text.index("f32(3u)"))
    assert (place.file.rpartition("/")[2], place.line) == ("operand.wesl", 3)
    assert found_text.line(3) == OPERAND.splitlines()[2]


def test_what_the_kernel_does_not_declare_comes_from_the_defaults(folder: Path) -> None:
    assert "fn element(x: Number, i: u32) -> Number" in template(folder).module().text.text
    slots = template(folder, "alias Number = i32;\n").module()
    assert "alias Number = i32;" in slots.text.text
    assert slots.hash != template(folder).module().hash


def test_modules_are_kept_by_their_texts_and_configuration(folder: Path) -> None:
    first = template(folder, "operand.wesl")
    again = template(folder, "operand.wesl")
    assert first.module({"TILE": 1}) is again.module({"TILE": 1, "GROUP": 32})
    assert first.module({"TILE": 1}) is not first.module({"TILE": 2})
    (folder / "operand.wesl").write_text(OPERAND.replace("f32(i)", "2.0"))
    changed = template(folder, "operand.wesl")
    assert changed.hash != first.hash
    assert "f32(i)" not in changed.module({"TILE": 1}).text.text


REFUSED = [
    ({"TILES": 2}, r"tiled\.wesl: configuration has 'TILES'; known: TILE, .* mean 'TILE'\?"),
    ({"TILE": 3}, r"tiled\.wesl:5:7: configuration has TILE = 3; want one of 1, 2, 4\."),
    ({"SHARE": 1}, r"tiled\.wesl:7:7: configuration has SHARE = 1; want one of false, true\."),
    ({"TILE": True}, r"configuration has TILE = True; want one of 1, 2, 4\."),
]


@pytest.mark.parametrize(("configuration", "message"), REFUSED)
def test_a_configuration_is_as_declared(
    folder: Path, configuration: Configuration, message: str
) -> None:
    with pytest.raises(wk.ArgumentError, match=message):
        template(folder).module(configuration)


SLOTS_REFUSED = [
    ("fn elements(x: f32, i: u32) -> f32 { return x; }\n", "Did you mean 'element'"),
    ("fn element(x: f32) -> f32 { return x; }\n", "takes 1 parameters; want 2"),
    ("const SCALE = 3u + 1u; // @given 4\n", "the default of 'SCALE' is no integer"),
    ("const SCALE = 3u; // @given 1 2\n", "'SCALE' takes 1, 2, not 3"),
    ("const SCALE = 3u; // @tune\n", "'SCALE' takes none, not 3"),
    ("const SCALE = 3u; // @tunes 1 2 3\n", "2:22: nothing reads @tunes .* mean '@tune'"),
    ("const SCALE = 3u; //@Given 3 4\n", "2:21: nothing reads @Given .* mean '@given'"),
    ("// @tune 3 4\nconst SCALE = 3u;\n", "2:4: this mark stands behind no const"),
    ("override SCALE = 3u; // @given 3 4\n", "2:25: this mark stands behind no const"),
    ("const TILE = 2u; // @tune 1 2\n", r"'TILE' is configuration twice; first at .*tiled.wesl:5"),
]


@pytest.mark.parametrize(("slots", "message"), SLOTS_REFUSED)
def test_what_fills_slots_must_fit(folder: Path, slots: str, message: str) -> None:
    with pytest.raises(wk.ShaderError, match=message) as error:
        template(folder, f"// A kernel.\n{slots}").module()
    assert "<inline in test.py:1>:2:" in str(error.value)


def test_a_module_without_slots_takes_none(folder: Path) -> None:
    (folder / "plain.wesl").write_text("// Nothing.\n@compute @workgroup_size(1) fn main() {}\n")
    plain = find_template("plain.wesl", "operand.wesl", folder, "")
    with pytest.raises(wk.ShaderError, match="it imports no module that says // @slots"):
        plain.module()
