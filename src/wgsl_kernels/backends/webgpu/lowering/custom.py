"""Lowering what a function with full control dispatches: a shader with its own ``main``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.lowering.padding import may_end_behind, padded
from wgsl_kernels.backends.webgpu.programs.arguments import tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import Bound, build, fold, grid_of
from wgsl_kernels.backends.webgpu.programs.dispatching import composition_of
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.engine.values.spec import Spec


def lower_custom(
    kernel: str,
    source: Source,
    arguments: Mapping[str, Argument],
    adapter: Adapter,
    *,
    params: Mapping[str, Any],
    groups: Sequence[int] | None = None,
    constants: Mapping[str, float] | None = None,
    windows: Mapping[str, tuple[int, int]] | None = None,
    is_ours: bool = True,
    is_whole: bool = True,
    first_buffer: int = 0,
    notes: Sequence[str] = (),
) -> Program:
    """Return the program of one dispatch; the tensors that it writes are among its inputs.

    An author's shader sees zeros behind its inputs, which takes a copy; see `padding`.

    ``params`` are the fields of its parameters beside the tensors' facts. By default there is an
    invocation per element of the first output. ``windows`` has of tensors above the binding limit
    the first byte and the bytes to bind. Unless it ``is_whole`` the shader may leave no tensor and
    no field unused. ``first_buffer`` is the number of the first buffer that it may make.

    Raises:
        ShaderError: The shader does not compose.
        ArgumentError: It writes none of the tensors, or leaves something unused.
    """
    if not is_ours and adapter.policy.ends_loops:
        from wgsl_kernels.backends.webgpu.composing.text.long_loops import long_loops

        source = source.checked if long_loops(source, "free") else source
    whole: list[str] = []  # the tensors of which an author's shader may read no view
    if not is_ours:
        whole = [n for n, one in arguments.items() if may_end_behind(source, n, one.dtype)]
    composition = composition_of(
        kernel, source, arguments, params=params, constants=constants, whole=whole, notes=notes
    )
    packed = [
        one.name
        for one in composition.inputs
        if one.access == "flat" and arguments[one.name].layout is not None
    ]
    for one in composition.outputs:
        if one.access == "flat" and arguments[one.name].layout is not None:
            what = f"the shader writes {one.name}, which is a view"
            raise ArgumentError(f"{kernel}: {what}; write to a whole array of gpu.empty().")
    composed = composition.composed()
    if not (is_ours or is_whole):
        _refuse_unused(kernel, composed, arguments, params)
    if groups is None:
        x, y, z = composed.workgroup_size
        grid = fold(-(-arguments[composition.outputs[0].name].size // (x * y * z)))
    else:
        grid = grid_of(kernel, groups)
    bound = {n: one.contiguous() if n in packed else one for n, one in arguments.items()}
    facts = {**tensor_facts(bound), **params}
    dispatches: list[Dispatch] = []
    buffers: list[Spec] = []
    if not is_ours:
        dispatches, buffers = padded(adapter, composed, composition.inputs, bound, first_buffer)
    numbers = {name: one.place.number for name, one in arguments.items() if one.is_value}
    where = Bound(bound, numbers=numbers, windows=windows)
    dispatches.append(build(adapter, composition, composed, grid, where, facts))
    reads_whole = frozenset([n for n, name in enumerate(arguments) if name in packed])
    return Program(tuple(dispatches), tuple(buffers), (), (), reads_whole)


def _refuse_unused(
    kernel: str, composed: Composed, arguments: Mapping[str, Argument], params: Mapping[str, Any]
) -> None:
    bound = {one.name for one in composed.bindings}
    for name in arguments:
        if name not in bound and not any(one.startswith(f"{name}_") for one in composed.wanted):
            known = ", ".join(sorted(bound & arguments.keys())) or "none"
            raise ArgumentError(f"{kernel}: arrays has {name!r}; the shader names {known}.")
    for name in params:
        if name not in composed.wanted:
            known = ", ".join(composed.wanted) or "none"
            raise ArgumentError(f"{kernel}: params has {name!r}; the shader's fields: {known}.")
