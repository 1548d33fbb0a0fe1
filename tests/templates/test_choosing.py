"""Which configurations of a template a kernel with full control chooses among."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.control.choosing import template_choice
from wgsl_kernels.backends.webgpu.modules.template_files import find_template

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.templates.template import Template

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
    choice, by_name = _choice(template)
    assert choice.static == "TILE=2 SHARE=false"
    assert len(choice.names) == 6
    assert by_name["TILE=4 SHARE=true"] == {"TILE": 4, "SHARE": True, "WIDE": False}
    assert choice.entry("TILE=4 SHARE=true") == {
        "variant": "TILE=4 SHARE=true",
        "template": template.hash,
        "configuration": {"TILE": 4, "SHARE": True, "WIDE": False},
    }


def test_what_is_given_is_not_chosen_and_tells_choices_apart(template: Template) -> None:
    wide = _choice(template, given={"WIDE": True, "SHARE": True}, static={"TILE": 4})
    assert wide.choice.names == ("TILE=1", "TILE=2", "TILE=4")
    assert wide.choice.static == "TILE=4"
    assert wide.choice.label != _choice(template, given={"SHARE": True}).choice.label
    assert wide.by_name["TILE=1"]["WIDE"] is True


def test_rules_leave_configurations_out_but_not_the_static_one(template: Template) -> None:
    rules = (lambda one: not one["SHARE"] or one["TILE"] == 4,)
    assert len(_choice(template, rules=rules).choice.names) == 4
    with pytest.raises(wk.ArgumentError, match="refuse the static configuration TILE=2 SHARE=true"):
        _choice(template, rules=rules, static={"SHARE": True})


def test_a_space_that_is_too_large_is_refused(tmp_path: Path) -> None:
    values = " ".join(map(str, range(1, 66)))
    (tmp_path / "one.wesl").write_text(f"const TILE = 1u; // @tune {values}\n")
    template = find_template("one.wesl", None, tmp_path, "<inline>")
    with pytest.raises(wk.ArgumentError, match=r"one\.wesl has 65 configurations here"):
        _choice(template)
    rules = (lambda one: one["TILE"] < 9,)
    assert len(_choice(template, rules=rules).choice.names) == 8
