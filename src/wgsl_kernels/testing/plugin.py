"""Tests of pytest for the kernels of a project's files: each goes through every section.

`wgsl_kernels_pytest`, which pytest loads by itself, collects them from the files that the setting
``wgsl_kernels`` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from wgsl_kernels.testing.importing import imported_file
from wgsl_kernels.testing.kernel import check_kernel
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of
from wgsl_kernels.wgsl.errors.finding_codes import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.wgsl.errors.finding_codes import Section
    from wgsl_kernels.wgsl.errors.findings import Finding

CHECKED = SECTIONS[:-1]
"""The sections that may fail."""


class FoundError(Exception):
    """What a section found; pytest prints the findings in place of frames of ours."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("\n\n".join(map(str, findings)))
        self.findings = findings


class KernelFile(pytest.File):
    """A file that registers kernels; it is imported when its tests are collected.

    It is the module that the project's own tests import, and is loaded once. What no import finds,
    as a file whose name is no module's, is run by itself.
    """

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each section of each kernel that has samples.

        Raises:
            pytest.Collector.CollectError: The file does not run, or has no such kernel.
        """
        program = KernelScript.at(self.path)
        program.run(imported_file(program.path))
        if program.findings:
            raise self.CollectError("\n".join(map(str, program.findings)))
        sampled = [one for one in program.kernels if samples_of(one)]
        if not sampled:
            raise self.CollectError(f"{self.path} registers no kernel with samples.")
        for name in sampled:
            for section in CHECKED:
                item: SectionItem = SectionItem.from_parent(
                    self, name=f"{name}-{section}", kernel=name, section=section
                )
                yield item


class SectionItem(pytest.Item):
    """One section of one kernel."""

    def __init__(self, *, kernel: str, section: Section, **rest: Any) -> None:
        super().__init__(**rest)
        self.kernel = kernel
        self.section: Section = section

    def runtest(self) -> None:
        """Check the section.

        Raises:
            FoundError: Something was found.
        """
        report = check_kernel(self.kernel, sections=(self.section,))
        if not all(row.passed for row in report.rows):
            raise FoundError(report.findings)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the findings."""
        if isinstance(excinfo.value, FoundError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return what pytest prints of the test."""
        return self.path, None, f"{self.kernel}: {self.section}"
