"""An error is found at its file, line and column, through imports and inline text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.modes import ALL_MODES
from tests.testing.placed_errors import FAULTS, write_fault

from wgsl_kernels.cli.check import CheckOptions, check_program
from wgsl_kernels.testing.program import KernelScript

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gpu
OF_EACH_KIND = 125 if ALL_MODES else 5


@pytest.mark.parametrize("kind", FAULTS)
def test_an_error_is_found_where_it_was_put(kind: str, tmp_path: Path) -> None:
    asked = CheckOptions(sections=("compiles",), rows_only=True)
    missed: list[str] = []
    for seed in range(OF_EACH_KIND):
        folder = tmp_path / str(seed)
        folder.mkdir()
        fault = write_fault(folder, kind, seed)
        program = KernelScript.at(fault.program)
        found = check_program(program, asked).findings[0]
        program.drop()
        if (found.file, found.line, found.column) != (str(fault.file), fault.line, fault.column):
            missed.append(f"seed {seed}, {fault.statement}: {fault.file}:{fault.line}\n{found}")

    assert missed == []
