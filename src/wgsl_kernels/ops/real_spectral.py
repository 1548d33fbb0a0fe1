"""Discrete Fourier transforms between real values and the half of their spectrum that is enough."""

from __future__ import annotations

from wgsl_kernels.engine.attributes import integer
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops import complex, creation, joining, shape, spectral
from wgsl_kernels.ops.elementwise import float_dtype
from wgsl_kernels.ops.weighting import in_dtype


def rfft(input: TensorLike, n: int | None = None) -> Tensor:
    """Return the first ``n // 2 + 1`` numbers of the discrete Fourier transform of real values.

    The others are conjugates of these. Along the last axis.

    Args:
        input: [..., length], real.
        n: The length that rows are cut to, or filled to with zeros; their own, if left out.

    Returns:
        [..., n // 2 + 1], complex64.

    Raises:
        DTypeError: It is complex.
        ShapeError: It is a scalar, or there is nothing to transform.
        ArgumentError: ``n`` is below 1.

    Example:
        >>> rfft([1.0, 2.0, 1.0, 2.0]).tolist()
        [(6+0j), 0j, (-2+0j)]
    """
    given = as_tensor(input)
    if given.dtype.startswith("complex"):
        raise DTypeError(f"rfft: input has dtype {given.dtype}; want real values, or take fft.")
    given = in_dtype(given, float_dtype(given.dtype))
    length = _length("rfft", given, n, given.shape[-1] if given.ndim else 0)
    given = fitted(given, length)
    spectrum = spectral.fft(complex.complex(given, creation.zeros_like(given)))
    return spectrum[..., : length // 2 + 1]


def irfft(input: TensorLike, n: int | None = None) -> Tensor:
    """Return the real values whose transform begins with ``input``: the inverse of `rfft`.

    The imaginary parts of the first number, and for an even ``n`` of the last, do not count.

    Args:
        input: [..., length], complex64.
        n: The length of the result; ``2 * (length - 1)``, if left out. The spectrum is cut, or
            filled with zeros, to ``n // 2 + 1``.

    Returns:
        [..., n], float32.

    Raises:
        DTypeError: It is not complex.
        ShapeError: It is a scalar, or there is nothing to transform.
        ArgumentError: ``n`` is below 1.

    Example:
        >>> irfft([6 + 0j, 0j, -2 + 0j]).tolist()
        [1.0, 2.0, 1.0, 2.0]
    """
    given = as_tensor(input)
    if not given.dtype.startswith("complex"):
        raise DTypeError(f"irfft: input has dtype {given.dtype}; want complex64.")
    length = _length("irfft", given, n, 2 * (given.shape[-1] - 1) if given.ndim else 0)
    half = fitted(given, length // 2 + 1)
    mirrored = complex.conj(shape.flip(half[..., 1 : (length + 1) // 2], axis=-1))
    return complex.real(spectral.ifft(joining.concat([half, mirrored], axis=-1)))


def fitted(x: Tensor, length: int) -> Tensor:
    """Return ``x`` cut, or filled with zeros, to ``length`` along the last axis."""
    have = x.shape[-1]
    if have > length:
        return x[..., :length]
    if have < length:
        return joining.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - have)])
    return x


def _length(op: str, input: Tensor, n: int | None, natural: int) -> int:
    if not input.ndim:
        raise ShapeError(f"{op}: input is a scalar; want [..., length].")
    length = natural if n is None else integer(op, "n", n)
    if length >= 1:
        return length
    if n is None:
        raise ShapeError(f"{op}: input has {input.shape[-1]} along the last axis; want n as well.")
    raise ArgumentError(f"{op}: n is {length}; want at least 1.")
