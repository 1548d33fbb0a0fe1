"""Whether what a function with full control gave is what its signature says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Spec


def check_arrays(name: str, results: list[Any]) -> None:
    """Refuse what is no array.

    Raises:
        ArgumentError: One is none.
    """
    for one in results:
        if not isinstance(one, GpuArray):
            kind = type(one).__name__
            raise ArgumentError(
                f"{name}: the webgpu kernel gave a {kind}; want an array, as gpu.empty makes."
            )


def check_results(name: str, results: list[GpuArray], outputs: tuple[Spec, ...]) -> None:
    """Refuse arrays of other shapes or dtypes than the signature says.

    Raises:
        ArgumentError, ShapeError, DTypeError: Count, shape or dtype differs.
    """
    if len(results) == len(outputs) == 1:
        one, spec = results[0], outputs[0]
        if one.shape == spec.shape and one.dtype == spec.dtype:
            return
    given = [(one.shape, one.dtype) for one in results]
    wanted = [(one.shape, one.dtype) for one in outputs]
    if given != wanted:
        shown = ", ".join(f"{show(shape)} {dtype}" for shape, dtype in given)
        says = ", ".join(f"{show(shape)} {dtype}" for shape, dtype in wanted)
        message = f"{name}: the webgpu kernel gave {shown}, its signature says {says}."
        if len(given) != len(wanted):
            raise ArgumentError(message)
        shapes_fit = all(have[0] == want[0] for have, want in zip(given, wanted, strict=True))
        raise DTypeError(message) if shapes_fit else ShapeError(message)
