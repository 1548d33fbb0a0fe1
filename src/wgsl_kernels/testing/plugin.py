"""A plugin of pytest: the kernels of a project's files go through every section, a test for each.

Two lines do it, one in ``conftest.py`` and one in the settings of pytest::

    pytest_plugins = ["wgsl_kernels.testing.plugin"]

    wgsl_kernels = my_ops.py more_ops.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from wgsl_kernels.engine.finding_codes import SECTIONS
from wgsl_kernels.testing.kernel import check_kernel
from wgsl_kernels.testing.program import Program
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wgsl_kernels.engine.finding_codes import Section
    from wgsl_kernels.engine.findings import Finding

SETTING = "wgsl_kernels"
CHECKED = SECTIONS[:-1]
"""The sections that may fail."""


class FoundError(Exception):
    """What a section found; pytest prints the findings in place of frames of ours."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("\n\n".join(map(str, findings)))
        self.findings = findings


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names the files."""
    words = "Python files that register kernels; each kernel with samples is checked."
    parser.addini(SETTING, words, type="args", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> KernelFile | None:
    """Collect the files that the setting names."""
    root = parent.config.rootpath
    named = {(root / one).resolve() for one in parent.config.getini(SETTING)}
    if file_path.resolve() not in named:
        return None
    collector: KernelFile = KernelFile.from_parent(parent, path=file_path)
    return collector


class KernelFile(pytest.File):
    """A file that registers kernels; it is run when its tests are collected."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each section of each kernel that has samples.

        Raises:
            pytest.Collector.CollectError: The file does not run.
        """
        program = Program.at(self.path)
        program.run()
        if program.findings:
            raise self.CollectError("\n".join(map(str, program.findings)))
        for name in program.kernels:
            if samples_of(name):
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
