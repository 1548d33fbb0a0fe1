"""Dispatches of shaders with their own ``main``, on tensors that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.declare.sources import Sources
from wgsl_kernels.backends.webgpu.modules.kernel_source import declared_as_vec4, known_of_source
from wgsl_kernels.backends.webgpu.programs.arguments import tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition, build
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import Origin
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter, Epilogue
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid

_OWN = Sources(Origin(__name__, __file__, 0))
"""The package's shaders that no kernel is registered with: copies and fills."""


def composition_of(
    kernel: str,
    source: Source,
    arguments: Mapping[str, Argument],
    *,
    params: Mapping[str, Any],
    constants: Mapping[str, float] | None = None,
    whole: Collection[str] = (),
    notes: Sequence[str] = (),
) -> Composition:
    """Return how a shader is composed for these tensors.

    ``params`` are the fields of its parameters beside the tensors' facts; the tensors in ``whole``
    it may not read as views.
    """
    written = _written(source)
    inputs: list[Operand] = []
    outputs: list[Operand] = []
    for name, one in arguments.items():
        if wgsl_name(name) in written or _is_stored(source, name):
            outputs.append(Operand(name, one.dtype, len(one.shape)))
        else:
            inputs.append(_input(source, name, one, packs=name in whole))
    if not outputs:
        raise ArgumentError(f"{kernel}: the shader writes none of {', '.join(arguments)}.")
    return Composition(
        kernel,
        source,
        tuple(inputs),
        tuple(outputs),
        tuple(params),
        constants=tuple((constants or {}).items()),
        epilogue=_epilogue(source, outputs, arguments),
        notes=tuple(notes),
    )


def own_dispatch(
    adapter: Adapter,
    kernel: str,
    shader: str,
    arguments: Mapping[str, Argument],
    params: Mapping[str, Any],
    grid: Grid,
    configuration: Mapping[str, bool] | None = None,
) -> Dispatch:
    """Return a dispatch of one of the package's shaders, which takes these layouts as they are.

    ``shader`` is a path among the package's; ``configuration`` has values of its constants, if it
    is a template.
    """
    source = _OWN.find(shader, None, configuration)
    composition = composition_of(kernel, source, arguments, params=params)
    facts = {**tensor_facts(arguments), **params}
    return build(adapter, composition, composition.composed(), grid, Bound(arguments), facts)


def _input(source: Source, name: str, one: Argument, *, packs: bool) -> Operand:
    allowed = allowed_access(source, name)
    rank = len(one.shape)
    if one.is_value and "value" in allowed:
        return Operand(name, one.dtype, rank, "value")
    if one.layout is not None and "strided" in allowed and not packs:
        return Operand(name, one.dtype, rank, "strided")
    return Operand(name, one.dtype, rank)


def _epilogue(
    source: Source, written: Sequence[Operand], arguments: Mapping[str, Argument]
) -> Epilogue:
    """Return whether a shader writes one tensor, through accessors alone, and how."""
    if len(written) != 1:
        return "none"
    stores = _stores(source, written[0].name, written[0].wgsl)
    is_whole = arguments[written[0].name].size % 4 == 0
    return "elements" if stores == "vec4 alone" and not is_whole else stores


@known_of_source
def _stores(source: Source, name: str, wgsl: str) -> Epilogue:
    """Return how a shader stores the elements of a tensor, whose length is a multiple of four."""
    if not _is_stored(source, name):
        return "none"
    needs = frozenset[str]().union(*map(source.needs_of, source.functions.values()))
    if wgsl in needs:
        return "none"
    if declared_as_vec4(source, name):
        return "vec4"
    single = {f"store_{one}{end}" for one in (wgsl, name) for end in ("", "_at")}
    return "elements" if needs & single else "vec4 alone"


@known_of_source
def _written(source: Source) -> frozenset[str]:
    """Return the variables that a shader may write."""
    every = source.variables.values()
    return frozenset([one.name for one in every if one.access == "read_write"])


@known_of_source
def _is_stored(source: Source, name: str) -> bool:
    stores = {f"store_{name}", f"store_{wgsl_name(name)}", f"store4_{name}"}
    return any(stores & source.needs_of(one) for one in source.functions.values())
