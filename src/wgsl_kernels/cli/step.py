"""What ``wgsl-kernels step`` does: trace one invocation of a kernel, and show it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.modules.files import ENDINGS
from wgsl_kernels.bench.checking import cases
from wgsl_kernels.bench.checking.representatives import representatives, with_signature
from wgsl_kernels.bench.checking.unsampled import registered
from wgsl_kernels.bench.stepping.calls import Wanted, case_named, stepped_case, what_else
from wgsl_kernels.bench.stepping.step import stepped
from wgsl_kernels.cli.show import called, of_shapes, refuse_attrs_alone
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound, WgslKernelsError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of
from wgsl_kernels.testing.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.testing.stepping.trace import Trace

_SHAPE = re.compile(r"scalar|\d+(x\d+)*")


def asked_for(at: str, invocation: str, workgroup: str, dispatch: int | None) -> Wanted:
    """Return which invocation the options of the command ask for.

    Raises:
        ArgumentError: They are not understood, or contradict each other.
    """
    wanted = Wanted(
        at, _numbers("invocation", invocation), _numbers("workgroup", workgroup), dispatch
    )
    if at and not wanted.is_element:
        raise ArgumentError("step: --at is given beside an invocation; want one of them.")
    return wanted


def _numbers(what: str, given: str) -> tuple[int, ...] | None:
    if not given:
        return None
    parts = [one.strip() for one in given.split(",")]
    if len(parts) > 3 or not all(map(str.isdecimal, parts)):
        raise ArgumentError(
            f"step: --{what} is {given!r}; want numbers along x, y and z, as 3,0,0."
        )
    return tuple(map(int, parts))


class _Given(NamedTuple):
    """What a kernel is called with: shapes of inputs, their dtype, attributes as ``axis=1``."""

    shapes: Sequence[str]
    dtype: str
    attrs: Sequence[str]


def traced(
    target: str,
    more: Sequence[str],
    dtype: str,
    case: str,
    wanted: Wanted,
    attrs: Sequence[str] = (),
) -> Trace:
    """Return the trace that the command asks for.

    Args:
        target: A Python file, a shader file, ``file.py:Name``, or a kernel's name.
        more: The kernel, where the target is a Python file, and shapes of inputs.
        dtype: Of inputs of these shapes.
        case: Part of a case's name; by default the first sample is called.
        wanted: Which invocation.
        attrs: The kernel's attributes, as ``axis=1``, where shapes are given.

    Raises:
        ArgumentError: There is no such file, case, element or invocation.
        KernelNotFound: There is no such kernel.
    """
    shapes = [one for one in more if _SHAPE.fullmatch(one)]
    names = [one for one in more if one not in shapes]
    refuse_attrs_alone(attrs, shapes, "step")
    given = _Given(shapes, dtype, attrs)
    if Path(target).suffix in ENDINGS:
        _refuse(names)
        return _of_shader(Path(target), given, wanted)
    path, colon, name = target.rpartition(":")
    if colon and Path(path).suffix == ".py":
        target, names = path, [name, *names]
    if Path(target).suffix != ".py":
        _refuse(names)
        return _of_kernel(target, given, case, wanted)
    _refuse(names[1:])
    script = KernelScript.at(Path(target), "step")
    script.run()
    if script.findings:
        raise ArgumentError(f"step: {script.findings[0].message}")
    name = names[0] if names else _only(script)
    if get_kernel(name, "webgpu") is None:
        script.drop()  # the file runs again for its function
        f, _ = called(f"{target}:{name}", (), dtype, "step")
        return stepped(f, at=wanted.at or None, **_invocation(wanted))
    return _of_kernel(name, given, case, wanted)


def _refuse(names: Sequence[str]) -> None:
    if names:
        raise ArgumentError(f"step: {names[0]!r} is no shape; want sizes, as 64x32, or scalar.")


def _only(script: KernelScript) -> str:
    if len(script.kernels) == 1:
        return script.kernels[0]
    known = ", ".join(script.kernels) or "none"
    raise ArgumentError(
        f"step: {script.path.name} registers several kernels, or none; name one of: {known}."
    )


def _invocation(wanted: Wanted) -> dict[str, Any]:
    return {
        "invocation": wanted.invocation,
        "workgroup": wanted.workgroup,
        "dispatch": wanted.dispatch,
    }


def _of_kernel(name: str, given: _Given, case: str, wanted: Wanted) -> Trace:
    if get_kernel(name, "webgpu") is None:
        raise KernelNotFound(f"step: there is no kernel {name!r} on the webgpu backend.")
    if given.shapes:
        return stepped_case(cases.plain(_shaped(name, given)), wanted)
    samples = [row for one in samples_of(name) for row in one.rows()]
    if not samples:
        raise ArgumentError(f"step: {name} has no sample; give the shapes of its inputs, as 64x64.")
    chosen = case_named(samples, case) if case else cases.plain(samples[0])
    return stepped_case(chosen, wanted, what_else(chosen, case))


def _shaped(name: str, given: _Given) -> Sample:
    """Return a sample of a kernel with inputs of these shapes; see ``of_shapes``."""
    return Sample(name, *of_shapes(name, given.shapes, "step", given.attrs), given.dtype)


def _of_shader(path: Path, given: _Given, wanted: Wanted) -> Trace:
    """Step through a shader file by itself, called as its text allows.

    Raises:
        ArgumentError: There is no such file, or no call of it is understood.
    """
    if not path.is_file():
        raise ArgumentError(f"step: there is no file {path}.")
    with registered(path) as name, with_signature(name):
        if given.shapes:
            return stepped_case(cases.plain(_shaped(name, given)), wanted)
        why: WgslKernelsError | None = None
        for sample in representatives(name):
            try:
                return stepped_case(cases.plain(sample), wanted)
            except WgslKernelsError as error:
                why = why or error
    if why is not None:
        raise why
    raise ArgumentError(
        f"step: {path}: no call of it is understood; give the shapes of its inputs."
    )
