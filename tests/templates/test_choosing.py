"""Which configurations of a template a kernel with full control chooses among."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.templates.corners import template_of

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import SOFTWARE
from wgsl_kernels.backends.webgpu.control.choosing import template_choice
from wgsl_kernels.backends.webgpu.lowering import scan, spreads
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.backends.webgpu.products.tilings import VEC4_KN, Product, candidates_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.templates.template import Template
    from wgsl_kernels.backends.webgpu.tuning.choice import Candidate

TEXT = """
const TILE = 2u; // @tune 1 2 4
const SHARE = false; // @tune
const WIDE = false; // @given
@compute @workgroup_size(TILE) fn main() {}
"""


@pytest.fixture(name="template")
def _template(tmp_path: Path) -> Template:
    (tmp_path / "one.wesl").write_text(TEXT)
    return find_template("one.wesl", None, tmp_path, "<inline>")


def _choice(template: Template, **more: Any) -> Any:
    facts = {"given": {}, "static": {}, "rules": (), **more}
    return template_choice("Blur", (10,), template, **facts)


def test_the_candidates_are_what_the_tuned_constants_may_be(template: Template) -> None:
    choice = _choice(template)
    assert choice.static == "TILE=2 SHARE=false"
    assert len(choice.names) == 6
    assert choice.entries["TILE=4 SHARE=true"] == {
        "variant": "TILE=4 SHARE=true",
        "template": template.hash,
        "configuration": {"TILE": 4, "SHARE": True, "WIDE": False},
    }


def test_what_is_given_is_not_chosen_and_tells_choices_apart(template: Template) -> None:
    wide = _choice(template, given={"WIDE": True, "SHARE": True}, static={"TILE": 4})
    assert wide.names == ("TILE=1", "TILE=2", "TILE=4")
    assert wide.static == "TILE=4"
    assert wide.label != _choice(template, given={"SHARE": True}).label
    assert ("WIDE", True) in wide.candidates["TILE=1"].constants


def test_rules_leave_configurations_out_but_not_the_static_one(template: Template) -> None:
    rules = (lambda one: not one["SHARE"] or one["TILE"] == 4,)
    assert len(_choice(template, rules=rules).names) == 4
    with pytest.raises(wk.ArgumentError, match="refuse the static configuration TILE=2 SHARE=true"):
        _choice(template, rules=rules, static={"SHARE": True})


def test_a_space_that_is_too_large_is_refused(tmp_path: Path) -> None:
    values = " ".join(map(str, range(1, 66)))
    (tmp_path / "one.wesl").write_text(f"const TILE = 1u; // @tune {values}\n")
    template = find_template("one.wesl", None, tmp_path, "<inline>")
    with pytest.raises(wk.ArgumentError, match=r"one\.wesl has 65 configurations here"):
        _choice(template)
    rules = (lambda one: one["TILE"] < 9,)
    assert len(_choice(template, rules=rules).names) == 8


def _own() -> Iterator[Candidate]:
    for variant in spreads.ROWS:
        yield spreads.candidate(variant, maps=False)
        if variant != "eights":
            yield spreads.candidate(variant, maps=True)
    methods: Any = scan.GROUPS
    yield from map(scan.candidate, methods)
    policy = replace(SOFTWARE, shares_lanes=True)
    for sizes in ((1, 1, 512, 1, 512), (1, 512, 512, 1, 512), (1, 16, 16, 1, 4096)):
        for one in candidates_for(Product(*sizes), VEC4_KN, policy).by_name.values():
            yield one.candidate


def test_what_our_kernels_choose_is_what_their_templates_mark() -> None:
    found = list(_own())
    assert len({one.template for one in found}) == 8
    for path, constants in found:
        template = template_of(path)
        chosen = {name: value for name, value in constants if name != "SPLIT"}
        assert chosen.keys() <= {*template.tuned}
        template.check(chosen)
