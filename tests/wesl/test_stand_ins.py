"""Slots: a module in the place of the one that holds the defaults."""

from __future__ import annotations

import pytest
from tests.wesl.linked import module_path, modules_of, parts

import wgsl_kernels as wk
from wgsl_kernels.wgsl.linking.linker import LinkedModule, link_project
from wgsl_kernels.wgsl.linking.prelude import Prelude
from wgsl_kernels.wgsl.linking.project import Project

TEMPLATE = """
// === template.wesl
import super::slots::{lift, finish, Sum};
fn run(x: f32) -> f32 { var sum: Sum; sum += lift(x); return finish(sum); }
// === slots.wesl
alias Sum = f32;
fn lift(x: f32) -> Sum { return x; }
fn finish(sum: Sum) -> f32 { return scaled(sum); }
fn scaled(sum: Sum) -> f32 { return sum; }
private fn inner() { }
// === library.wesl
fn square(x: f32) -> f32 { return x * x; }
"""
RUN = "fn run(x: f32) -> f32 { var sum: Sum; sum += lift(x); return finish(sum); }"
PRELUDE = Prelude(frozenset({"T", "V"}), None, {"T": "f32"})


def link(kernel: str, template: str = TEMPLATE) -> LinkedModule:
    texts = modules_of(f"{template}// === kernel.wgsl\n{kernel}")
    slots, own = module_path("package::slots"), module_path("package::kernel")
    project = Project(texts, {}, PRELUDE, {slots: own})
    return link_project(project, module_path("package::template"))


def check(kernel: str, expected: str) -> None:
    text = link(kernel).write().composed.text
    assert parts(text) == parts(expected), text


def refusal(kernel: str, template: str = TEMPLATE) -> str:
    with pytest.raises(wk.ShaderError) as caught:
        link(kernel, template)
    return str(caught.value)


def test_the_defaults_stand_where_nothing_is_given() -> None:
    check(
        "fn unused() { }",
        f"""{RUN} alias Sum = f32; fn lift(x: f32) -> Sum {{ return x; }}
        fn finish(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: Sum) -> f32 {{ return sum; }}""",
    )


def test_what_is_given_takes_the_place_of_its_default() -> None:
    check(
        "import package::library::square;\nfn lift(x: f32) -> f32 { return square(half(x)); }\n"
        "fn half(x: f32) -> f32 { return 0.5 * x; }",
        f"""{RUN} alias Sum = f32; fn lift(x: f32) -> f32 {{ return square(half(x)); }}
        fn half(x: f32) -> f32 {{ return 0.5 * x; }}
        fn square(x: f32) -> f32 {{ return x * x; }}
        fn finish(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: Sum) -> f32 {{ return sum; }}""",
    )


def test_the_defaults_use_what_is_given_too() -> None:
    check(
        "fn scaled(sum: f32) -> f32 { return 2.0 * sum; }\nstruct Unrelated { x: u32 }",
        f"""{RUN} alias Sum = f32; fn lift(x: f32) -> Sum {{ return x; }}
        fn finish(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: f32) -> f32 {{ return 2.0 * sum; }}""",
    )


def test_what_is_given_may_call_its_default() -> None:
    check(
        "import package::slots::finish as plain;\n"
        "fn finish(sum: f32) -> f32 { return plain(sum) + 1.0; }",
        f"""{RUN} alias Sum = f32; fn lift(x: f32) -> Sum {{ return x; }}
        fn finish(sum: f32) -> f32 {{ return finish0(sum) + 1.0; }}
        fn finish0(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: Sum) -> f32 {{ return sum; }}""",
    )


def test_a_public_import_fills_a_slot() -> None:
    check(
        "public import package::library::square as lift;",
        f"""{RUN.replace("lift", "square")} alias Sum = f32;
        fn square(x: f32) -> f32 {{ return x * x; }}
        fn finish(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: Sum) -> f32 {{ return sum; }}""",
    )


def test_private_declarations_are_no_slots_and_fill_none() -> None:
    check(
        "fn inner(x: u32) -> u32 { return x; }\nprivate fn lift() { }",
        f"""{RUN} alias Sum = f32; fn lift(x: f32) -> Sum {{ return x; }}
        fn finish(sum: Sum) -> f32 {{ return scaled(sum); }}
        fn scaled(sum: Sum) -> f32 {{ return sum; }}""",
    )


def test_only_slots_are_looked_for_in_what_is_given() -> None:
    template = """
// === template.wesl
import super::slots::*;
fn run(x: T) -> T { return max(lift(x), T(0)); }
// === slots.wesl
fn lift(x: T) -> T { return x; }
"""
    text = link("fn max() { }\nalias T = u32;\n", template).write().composed.text
    expected = "fn run(x: T) -> T { return max(lift(x), T(0)); } fn lift(x: T) -> T { return x; }"
    assert parts(text) == parts(expected), text


def test_overrides_of_the_kernel_keep_their_names() -> None:
    kernel = "override scale: f32;\nfn lift(x: f32) -> f32 { return scale * x; }"
    template = TEMPLATE.replace("fn run", "const scale = 1.0;\nfn run")
    text = link(kernel, template).write().composed.text
    assert "override scale: f32;" in text
    assert "const scale0 = 1.0;" in text


@pytest.mark.parametrize(
    "kernel",
    [
        "fn lift(x: f32) -> f32 { return x; }",
        "fn lift(value: T) -> T { return value; }",
        "alias U = f32;\nfn lift(x: U) -> U { return x; }",
        "import package::slots::Sum;\nfn lift(x: f32) -> Sum { return x; }",
        "fn lift(x: V) -> f32 { return 1.0; }",
        "alias Sum = vec4f;\nfn lift(x: f32) -> vec4<f32> { return vec4f(x); }",
        "struct Sum { x: f32 }\nfn lift(x: f32) -> Sum { return Sum(x); }",
    ],
)
def test_types_are_compared_with_aliases_followed(kernel: str) -> None:
    assert len(link(kernel).declarations) > 2


LIFT = "\nslots.wesl:2:4: the default is here.\n"


@pytest.mark.parametrize(
    ("kernel", "said", "default"),
    [
        (
            "fn lft(x: f32) -> f32 { return x; }",
            "1:4: nothing uses 'lft'. Did you mean 'lift'?",
            "",
        ),
        ("fn lift() -> f32 { return 1.0; }", "1:4: 'lift' takes 0 parameters; want 1.", ""),
        ("fn lift(x: u32) -> f32 { return 1.0; }", "1:9: 'lift' takes u32 here; want f32.", ""),
        ("fn lift(x: f32) -> u32 { return 1u; }", "1:20: 'lift' returns u32 here; want Sum.", ""),
        ("fn lift(x: f32) { }", "1:4: 'lift' returns nothing; want Sum.", ""),
        ("const lift = 1;", "1:1: 'lift' is a constant; want a function.", ""),
        (
            "fn lift(x: f32) -> f32 { return x; }\nalias Sum = u32;",
            "1:20: 'lift' returns f32 here; want Sum.",
            "",
        ),
        (
            "fn Sum() { }",
            "1:4: 'Sum' is a function; want a type.",
            "\nslots.wesl:1:7: the default is here.\n",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_both_places(
    kernel: str, said: str, default: str
) -> None:
    message = refusal(kernel)
    assert message.startswith(f"kernel.wgsl:{said}")
    assert (default or LIFT) in message


def test_a_slot_without_a_result_takes_none() -> None:
    template = "// === template.wesl\nimport super::slots::put;\nfn run() { put(1u); }\n"
    template += "// === slots.wesl\nfn put(i: u32) { }\n"
    said = refusal("fn put(i: u32) -> u32 { return i; }", template)
    assert said.startswith("kernel.wgsl:1:19: 'put' returns u32; want nothing.")


@pytest.mark.parametrize(
    "other",
    [
        "fn lifts() { }",
        "@compute @workgroup_size(1) fn finis() { }",
        "const a = finich(); fn finich() -> f32 { return 1.0; }",
    ],
)
def test_a_function_that_is_like_no_open_slot_or_has_a_user_is_no_slip(other: str) -> None:
    kernel = f"fn lift(x: f32) -> f32 {{ return x * a; }}\n{other}"
    kernel += "" if "const a" in other else "\nconst a = 1.0;"
    assert link(kernel).declarations
