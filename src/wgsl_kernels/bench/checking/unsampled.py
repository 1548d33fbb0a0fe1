"""Checking a kernel that has no samples: its shaders compile and pass the lint, or they do not."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.params import FIELD
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel, kernel_of
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder
from wgsl_kernels.backends.webgpu.modules.source import load_file
from wgsl_kernels.bench.checking.compiles import compile_findings
from wgsl_kernels.bench.checking.portable import lint_findings
from wgsl_kernels.bench.checking.representatives import representatives, with_signature
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.bench.checking.texts import lint_file, lint_kernel
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.environment.origin import Origin
from wgsl_kernels.engine.registry.registry import add_kernel
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.report import Report, Row
from wgsl_kernels.wgsl.errors.errors import REFUSED
from wgsl_kernels.wgsl.errors.finding_codes import SECTIONS
from wgsl_kernels.wgsl.errors.notebook import shown_file
from wgsl_kernels.wgsl.lint.marks import UNCHOSEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from wgsl_kernels.wgsl.errors.finding_codes import Section
    from wgsl_kernels.wgsl.errors.findings import Finding

_FROM_PYTHON = frozenset({"unknown-field", "no-kernel"})
"""What a file by itself may lack: the Python beside it gives it, and chooses its constants."""


def check_unsampled(name: str, sections: Sequence[Section] = SECTIONS) -> Report:
    """Check a kernel on a call that is made up from its signature, or from its shader's text.

    *compiles* and *portable* alone are answered, as for samples: ranks and dtypes are tried until
    the shader compiles; where it never does, what all tries have in common is told. A kernel that
    no made-up call fits is looked through as text.

    Args:
        name: The kernel's name.
        sections: Which sections run.
    """
    found = _findings(name)
    rows: list[Row] = []
    for section, check in (("compiles", "compiles"), ("portable", "lint")):
        if section in sections:
            own = tuple([one for one in found if one.section == section])
            passed = not any(one.severity == "error" for one in own)
            note = own[0].words if own and not passed else ""
            row = Row(
                check, "", "webgpu", passed, note=note, section=SECTIONS[len(rows)], findings=own
            )
            rows.append(row)
    return Report(name, rows)


def file_findings(path: Path) -> list[Finding]:
    """Return what is wrong with a shader file, compiled as a kernel where it is one by itself."""
    found = lint_file(path)
    if path.resolve().is_relative_to(shaders_folder()) or any(
        one.severity == "error" for one in found
    ):
        return found  # a part of the package's kernels, or known to be broken
    try:
        with registered(path) as name:
            compiled = _findings(name)
    except WgslKernelsError:  # it is no kernel by itself
        return found
    is_module = any(one.is_entry for one in load_file(path.resolve()).functions.values())
    known = {(one.code, one.file, one.line) for one in found}
    own = str(path.resolve())
    named = [
        replace(one, kernel="", file=str(path) if one.file == own else shown_file(one.file))
        for one in compiled
        if one.code not in _FROM_PYTHON and not (is_module and one.words.startswith(UNCHOSEN))
    ]
    return [*found, *(one for one in named if (one.code, one.file, one.line) not in known)]


@contextmanager
def registered(path: Path) -> Iterator[str]:
    """Have a shader file be a kernel for a block; it is called as the file is.

    Raises:
        ShaderError: The file cannot be read.
    """
    name = path.name
    origin = Origin(f"<{name}>", str(path.resolve()), 1)
    before = take_snapshot()
    try:
        add_kernel(kernel_of(ShaderKernel(name, str(path.resolve()), origin)), override=True)
        yield name
    finally:
        before.restore()


def _may_be_of_call(error: Finding) -> bool:
    """Say whether a made-up call may be at fault: no text is named, or what a field is given."""
    return not error.column or (error.code == REFUSED and error.words.startswith(FIELD))


def _findings(name: str) -> list[Finding]:
    """Return what is wrong with a kernel's shaders, as far as a made-up call tells."""
    failed: list[list[Finding]] = []
    try:
        with with_signature(name):
            for sample in representatives(name):
                subject = Subject(name, (sample,), ("webgpu",))
                found = compile_findings(subject)
                errors = [one for one in found if one.severity == "error"]
                if not errors:
                    return [*found, *lint_findings(subject)]
                if not any(map(_may_be_of_call, errors)):
                    failed.append(found)
    except WgslKernelsError:
        pass  # said below, with its place
    if failed:
        common = [one for one in failed[0] if all(one in several for several in failed)]
        if common:
            return common
    return lint_kernel(name)
