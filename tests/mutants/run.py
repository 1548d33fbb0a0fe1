"""Running a check on a mutant: until the first section that finds it."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.declare import sources
from wgsl_kernels.testing import all_samples, check_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mutants.make import Mutant

    from wgsl_kernels.wgsl.errors.finding_codes import Section

STEPS: tuple[tuple[tuple[Section, ...], bool], ...] = (
    (("right",), True),
    (("safe",), False),
    (("compiles", "portable"), False),
    (("right",), False),
)
"""Sections of a check, and whether samples are tried as they stand alone: the quick ones first."""


@contextmanager
def changed(mutant: Mutant) -> Iterator[None]:
    """Have the mutant's file hold its text, of which nothing is kept for other processes."""
    plain = Path.read_bytes

    def read_bytes(self: Path) -> bytes:
        return mutant.text.encode() if self.resolve() == mutant.path else plain(self)

    Path.read_bytes = read_bytes  # type: ignore[method-assign]  # until the block ends
    try:
        with patch.object(sources, "kept_values", lambda: None):
            wk.reload_kernels()
            yield
    finally:
        Path.read_bytes = plain  # type: ignore[method-assign]  # as it was
        wk.reload_kernels()


def found_by(mutant: Mutant) -> str:
    """Return the code of the finding that tells of a mutant, "" where none does."""
    samples = [one for one in all_samples() if one.kernel == mutant.kernel]
    with changed(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sections, rows_only in STEPS:
            report = check_kernel(mutant.kernel, samples, sections=sections, rows_only=rows_only)
            if report.findings:
                return report.findings[0].code
    return ""
