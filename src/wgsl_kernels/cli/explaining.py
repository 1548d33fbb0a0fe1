"""What ``wgsl-kernels explain`` does: say what one call has the device do, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.cli.show import called
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.observe.explain import explain
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.engine.values.shapes import show as show_shape
from wgsl_kernels.testing.work import work_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch


def explained(
    name: str, shapes: Sequence[str] = (), dtype: str = "float32", attrs: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a call does: its dispatches with grid, bindings, traffic, and what was chosen.

    Args:
        name: A kernel's name, or ``file.py:function``: a function without parameters, or
            ``file.py:Name``: a kernel that the file registers.
        shapes: Of a kernel's inputs, as ``64x32``; by default those of its first sample.
        dtype: Of these inputs.
        attrs: A kernel's attributes, as ``axis=1``, where its inputs' shapes are given.

    Raises:
        ArgumentError, KernelNotFound: See ``show``.
    """
    f, fusion = called(name, shapes, dtype, "explain", attrs)
    with (
        use_backend("webgpu"),
        config.using(fusion=fusion, small_ops="device", fallback="error"),
    ):
        evaluate(f())
        seen = explain(f)
    rows = [
        _row(one.dispatch, one.cause, one.device_ms, one.program)
        for one in seen.dispatches
        if one.dispatch is not None
    ]
    return {"name": name, "kernel_runs": seen.kernel_runs, "dispatches": rows}


def _row(one: Dispatch, cause: str, device_ms: float | None, program: Any) -> dict[str, Any]:
    composed = one.module.composed
    read = sum(binding.nbytes for binding in one.reads)
    written = sum(binding.nbytes for binding in one.writes)
    buffers = [f"{show_shape(spec.shape)} {spec.dtype}" for spec in program.buffers]
    return {
        "kernels": list(one.kernels),
        "form": composed.form,
        "workgroups": list(one.grid),
        "invocations": list(composed.workgroup_size),
        "bindings": [str(binding) for binding in one.bindings],
        "bytes_read": read,
        "bytes_written": written,
        "operations": work_of(one),
        "workgroup_memory": composed.workgroup_bytes,
        "parameters": len(one.params.data),
        "makes": buffers,
        "configuration": program.chosen,
        "notes": list(one.notes),
        "accepts_prologue": sorted(one.accepts_prologue),
        "accepts_epilogue": one.accepts_epilogue,
        "ends": cause or "it runs at once, and nothing is fused with it",
        "device_ms": device_ms,
        "text": one.module.digest[:12],
    }


def words_of(found: dict[str, Any]) -> str:
    """Return the same as lines."""
    count = len(found["dispatches"])
    noun = "dispatch" if count == 1 else "dispatches"
    lines = [f"{found['name']}: {count} {noun} for {found['kernel_runs']} kernel runs"]
    for number, one in enumerate(found["dispatches"], start=1):
        grid = " x ".join(map(str, one["workgroups"]))
        group = " x ".join(map(str, one["invocations"]))
        lines.append(f"{number}. {' + '.join(one['kernels'])} ({one['form']})")
        lines.append(f"   grid      {grid} workgroups of {group} invocations")
        lines += [f"   binding   {binding}" for binding in one["bindings"]]
        lines.append(f"   traffic   {one['bytes_read']} bytes in, {one['bytes_written']} out")
        if one["operations"] is not None:
            rate = one["operations"] / max(one["bytes_read"] + one["bytes_written"], 1)
            lines.append(f"   work      {one['operations']} operations, {rate:.2g} a byte")
        chosen = ", ".join(f"{key} {value}" for key, value in one["configuration"].items())
        lines.append(f"   chosen    {chosen or 'nothing: there is one way'}")
        lines += [f"   note      {note}" for note in one["notes"]]
        lines.append(f"   ends      {one['ends']}")
        if one["device_ms"] is not None:
            lines.append(f"   device    {one['device_ms']:.4g} ms")
    lines.append("wgsl-kernels show prints the shaders, each line with its origin.")
    return "\n".join(lines)
