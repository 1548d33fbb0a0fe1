"""Maps that a function wants in the dispatch that writes what they are maps of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.composing.groups.groups import AFTER
from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
from wgsl_kernels.backends.webgpu.fusion.parts import Fused, whole
from wgsl_kernels.backends.webgpu.programs.arguments import Argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.backends.webgpu.runtime.launch import KernelLaunch


class PendingMap(NamedTuple):
    """What makes a pending array of a symbolic run.

    Attributes:
        launch: What dispatches it by itself.
    """

    kind: Kind
    fixed: Mapping[str, Any]
    launch: KernelLaunch
    is_fusible: bool = False


def epilogue_of(
    results: Sequence[GpuArray], dispatches: Sequence[Dispatch], largest: int
) -> tuple[GpuArray, Fused] | None:
    """Return what a dispatch makes, and the maps of it that a result is; None where they cannot be.

    ``results`` is the pending result alone, so that nothing else holds it; a binding has at most
    ``largest`` bytes.
    """
    group = FusionGroup(results)
    given = results[0]
    while given.op is not None:
        given = given.inputs[0]
    part, stand = whole(group), _stand(given)
    takes = [one.accepts_epilogue for one in dispatches if one.writes_to(stand.place)]
    arrays = (*group.leaves, *group.nodes)
    bound = [Argument(one.shape, one.dtype, one.layout).bound_bytes for one in arrays]
    if part is None or group.foreign or takes != [True] or max(bound) > largest:
        return None
    found = Fused.of(AFTER, group, part, None, given)
    if found.plain is None:
        return None
    return given, found.within([_stand(group.leaves[~ref]).place for ref in part.leaves])


def _stand(array: GpuArray) -> Any:
    """Return what stands for an array's storage, which knows its place in the program."""
    return array.storage
