"""naga compiles every template as it stands, and at the corners of its space of configurations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.templates import other_compilers
from tests.templates.corners import corners, template_of, templates
from tests.templates.test_product_templates import check_compiles

from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("path", templates())
def test_naga_compiles_a_template_at_its_corners(path: str) -> None:
    driver: Any = find_driver("webgpu")
    template = template_of(path)
    for configuration in corners(path):
        text = template.module(configuration).text.text
        if "subgroup" not in text or "subgroup" in driver.open().features:
            check_compiles(text)


def test_every_template_has_slots_for_what_it_is_made_of() -> None:
    assert len(templates()) > 10
    for path in templates():
        assert template_of(path).slot_texts


def test_without_node_the_other_compilers_say_so_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert other_compilers.main() == 0
    said = capsys.readouterr().out
    assert said == (
        "other compilers: NOT RUN, since Node's packages cannot be had: node is not installed\n"
    )
