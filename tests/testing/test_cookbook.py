"""The cookbook's kernels are short and pass their checks, each as the file that the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.modes import ALL_MODES

from wgsl_kernels.cli.check import CheckOptions, check_target
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.registered import drop_samples, sampled_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECIPES = sorted((DOCS / "cookbook").glob("*.py"))
THIN = CheckOptions(sections=("compiles", "portable", "right"), rows_only=True)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before, known = take_snapshot(), set(sampled_kernels())
    yield
    before.restore()
    for name in set(sampled_kernels()) - known:
        drop_samples(name)


@pytest.mark.gpu
@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_passes_its_check(file: Path) -> None:
    verdict = check_target(str(file), CheckOptions() if ALL_MODES else THIN)

    assert verdict.passed(strict=True), "\n".join(map(str, verdict.findings))
    assert [one.kernel for one in verdict.reports]


def test_the_page_shows_all_recipes_and_each_has_at_most_44_lines() -> None:
    page = (DOCS / "cookbook.md").read_text()

    assert len(RECIPES) >= 12
    for file in RECIPES:
        assert f"cookbook/{file.name}\n" in page
        assert len(file.read_text().splitlines()) <= 44, file.name
