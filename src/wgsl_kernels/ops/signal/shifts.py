"""Spectra with frequency 0 in the middle, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.shapes import normalize_axes
from wgsl_kernels.ops.shapes import moving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(space="fft")
def fftshift(x: TensorLike, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return ``x`` with frequency 0 in the middle of ``axes``; without them, of all.

    Example:
        >>> fft.fftshift(fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    given = as_tensor(x)
    places = normalize_axes("fftshift", axes, given.ndim, "axes")
    shifts = [given.shape[one] // 2 for one in places]
    return moving.roll(given, shifts, axis=places) if places else given


@public(space="fft")
def ifftshift(x: TensorLike, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return what `fftshift` gave as it was before.

    Example:
        >>> wk.fft.ifftshift([-2, -1, 0, 1]).tolist()
        [0, 1, -2, -1]
    """
    given = as_tensor(x)
    places = normalize_axes("ifftshift", axes, given.ndim, "axes")
    shifts = [-(given.shape[one] // 2) for one in places]
    return moving.roll(given, shifts, axis=places) if places else given
