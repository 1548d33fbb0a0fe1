"""Fourier transforms of any length along any axes, of real and complex numbers.

All are made of the kernels FFT and IFFT, which transform the last axis; see `spectral`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine import CalledModule
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor, tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import integer, integers, number
from wgsl_kernels.engine.values.dtypes import COMPLEXES, OBJECTS, canonical, is_exact, is_float
from wgsl_kernels.engine.values.shapes import normalize_axis
from wgsl_kernels.ops.elementwise import cast, complex
from wgsl_kernels.ops.shapes import creation, joining, moving, slicing
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.ops.signal import spectral
from wgsl_kernels.ops.signal.shifts import fftshift, ifftshift
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

NORMS = ("backward", "ortho", "forward")
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@public(space="fft")
def fft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform along ``axis``.

    Args:
        x: At least one axis; real numbers count as complex.
        n: What length ``x`` is cut or filled with 0 to first; its own without it.
        axis: The axis.
        norm: Which direction is divided by n: "backward", "forward", or "ortho" for the root of n
            in both.

    Raises:
        ArgumentError: ``n`` is below 1, or ``norm`` another word.

    Example:
        >>> fft.fft(tensor([1.0, 2.0, 1.0, 2.0])).tolist()
        [(6+0j), 0j, (-2+0j), 0j]
    """
    return _along("fft", x, n, axis, norm)


@public(space="fft")
def ifft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `fft` along ``axis``; the arguments are those there.

    Example:
        >>> fft.ifft(tensor([6 + 0j, 0j, -2 + 0j, 0j])).tolist()
        [(1+0j), (2+0j), (1+0j), (2+0j)]
    """
    return _along("ifft", x, n, axis, norm, inverse=True)


@public(space="fft")
def fftn(
    x: TensorLike,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the discrete Fourier transform along several axes.

    Args:
        x: Real or complex.
        s: The lengths that they are cut or filled with 0 to; -1 for an axis's own.
        axes: The axes; without them the last ones that ``s`` names, or all.
        norm: As of `fft`.

    Example:
        >>> fft.fftn(wk.ones((2, 2))).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    return _along_all("fftn", x, s, axes, norm)


@public(space="fft")
def ifftn(
    x: TensorLike,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the inverse of `fftn`; the arguments are those there.

    Example:
        >>> wk.fft.ifftn(wk.fft.fftn([[1.0 + 0.0j, 2.0], [3.0, 4.0]])).numpy().real
        array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return _along_all("ifftn", x, s, axes, norm, inverse=True)


@public(space="wk fft", tfjs="rfft spectral.rfft")
def rfft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the first ``n // 2 + 1`` elements of `fft` of real numbers: the others mirror them.

    Raises:
        DTypeError: ``x`` is complex.

    Example:
        >>> fft.rfft(tensor([1.0, 2.0, 1.0, 2.0])).tolist()
        [(6+0j), 0j, (-2+0j)]
    """
    given = _real("rfft", x)
    at = normalize_axis("rfft", axis, given.ndim)
    y = _along("rfft", given, n, at, norm)
    return _cut(y, at, y.shape[at] // 2 + 1)


@public(space="wk fft", tfjs="irfft spectral.irfft")
def irfft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `rfft`, which is real.

    Args:
        x: The first half of the frequencies; the imaginary part of that of 0 counts as 0.
        n: The length of the result; twice the axis's length less 2 without it.
        axis: The axis.
        norm: As of `fft`.

    Example:
        >>> fft.irfft(tensor([6 + 0j, 0j, -2 + 0j])).tolist()
        [1.0, 2.0, 1.0, 2.0]
    """
    given = _complex("irfft", x)
    at = normalize_axis("irfft", axis, given.ndim)
    length = 2 * (given.shape[at] - 1) if n is None else n
    count = _length("irfft", length)
    half = _resized(given, at, count // 2 + 1)
    # of 0 1 2 3 the mirror image of 1 2 comes behind, and of 0 1 2 that of 1 2
    mirrored = shapes.flip(complex.conj(_cut(half, at, (count - 1) // 2, 1)), axis=at)
    whole = joining.concat([half, mirrored], axis=at)
    return complex.real(_along("irfft", whole, None, at, norm, inverse=True))


@public(space="fft")
def rfftn(
    x: TensorLike,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return `fftn` of real numbers with the first half of the last axis alone, as `rfft` has it.

    Raises:
        DTypeError: ``x`` is complex.

    Example:
        >>> wk.fft.rfftn([[1.0, 2.0], [3.0, 4.0]]).tolist()
        [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    given = _real("rfftn", x)
    lengths, places = _lengths("rfftn", given, s, axes)
    if not places:
        raise ArgumentError("rfftn: axes is empty; want at least one.")
    y = rfft(given, n=lengths[-1], axis=places[-1], norm=norm)
    return fftn(y, s=lengths[:-1], axes=places[:-1], norm=norm)


@public(space="fft")
def irfftn(
    x: TensorLike,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the inverse of `rfftn`, which is real.

    Args:
        x: The first half of the last axis's frequencies.
        s: The lengths of the result; of the last axis twice its length less 2 without them.
        axes: As of `fftn`.
        norm: As of `fft`.

    Example:
        >>> wk.fft.irfftn(wk.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])).numpy()
        array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    given = _complex("irfftn", x)
    lengths, places = _lengths("irfftn", given, s, axes)
    if not places:
        raise ArgumentError("irfftn: axes is empty; want at least one.")
    last = None if s is None else lengths[-1]
    y = ifftn(given, s=lengths[:-1], axes=places[:-1], norm=norm)
    return irfft(y, n=last, axis=places[-1], norm=norm)


@public(space="fft")
def hfft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the transform, which is real, of a signal whose first half ``x`` is.

    The other half is its mirror image, conjugated. The arguments are those of `irfft`.

    Example:
        >>> fft.hfft(tensor([1 + 0j, 2 + 0j, 1 + 0j])).tolist()
        [6.0, 0.0, -2.0, 0.0]
    """
    given = complex.conj(_complex("hfft", x))
    return irfft(given, n=n, axis=axis, norm=_SWAPPED[_known("hfft", norm)])


@public(space="fft")
def ihfft(x: TensorLike, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `hfft`: the first half of a signal whose transform is real ``x``.

    Raises:
        DTypeError: ``x`` is complex.

    Example:
        >>> wk.fft.ihfft([1.0, 2.0, 3.0]).shape
        (2,)
    """
    return complex.conj(rfft(x, n=n, axis=axis, norm=_SWAPPED[_known("ihfft", norm)]))


@public(space="fft")
def fftfreq(n: int, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return the frequencies of `fft`: 0, 1, …, then the negative ones, divided by ``d * n``.

    Args:
        n: The length of the signal.
        d: The distance of its samples.
        dtype: A real floating-point one; float32 without it.
        device: The backend that makes them; without one the backend in force.

    Raises:
        ArgumentError: ``n`` is below 1, or ``d`` is 0.

    Example:
        >>> fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    count = _length("fftfreq", n)
    check_room((count,), "float32")
    numbers = np.arange(count) - np.where(np.arange(count) > (count - 1) // 2, count, 0)
    return _frequencies("fftfreq", numbers, count, d, dtype, device)


@public(space="fft")
def rfftfreq(n: int, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return the frequencies of `rfft`, 0, 1, …, divided by ``d * n``; see `fftfreq`.

    Example:
        >>> fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    count = _length("rfftfreq", n)
    check_room((count // 2 + 1,), "float32")
    return _frequencies("rfftfreq", np.arange(count // 2 + 1), count, d, dtype, device)


def _frequencies(
    op: str, numbers: Any, count: int, d: float, dtype: Any, device: str | None
) -> Tensor:
    apart = number(op, "d", d)
    if not apart:
        raise ArgumentError(f"{op}: d is 0; want another number.")
    name = "float32" if dtype is None else canonical(dtype)
    if not is_float(name):
        raise DTypeError(f"{op}: dtype is {name}; want a real floating-point one.")
    if device is not None:
        with use_backend(device):
            return tensor(numbers / (apart * count), dtype=OBJECTS[name])
    return tensor(numbers / (apart * count), dtype=OBJECTS[name])


def _along(
    op: str, x: TensorLike, n: int | None, axis: int, norm: str, *, inverse: bool = False
) -> Tensor:
    given = _complex(op, x)
    at, kind = normalize_axis(op, axis, given.ndim), _known(op, norm)
    length = _length(op, given.shape[at] if n is None else n)
    last = _with_axis_moved(_resized(given, at, length), at, -1)
    y = run("IFFT" if inverse else "FFT", last)
    if _SHARES[kind]:  # the kernel IFFT has divided by the length
        y = y * length ** (_SHARES[kind] if inverse else -_SHARES[kind])
    return _with_axis_moved(y, -1, at)


_SHARES = {"backward": 0.0, "ortho": 0.5, "forward": 1.0}
"""The power of the length that a transform is divided by, in `fft`; in `ifft` what is left of 1."""


def _with_axis_moved(x: Tensor, source: int, destination: int) -> Tensor:
    if source % x.ndim == destination % x.ndim:
        return x
    return moving.moveaxis(x, source, destination)


def _along_all(
    op: str, x: TensorLike, s: Any, axes: Any, norm: str, *, inverse: bool = False
) -> Tensor:
    """Return the transform along several axes, the last one first."""
    y = _complex(op, x)
    _known(op, norm)
    for length, axis in reversed(list(zip(*_lengths(op, y, s, axes), strict=True))):
        y = _along(op, y, length, axis, norm, inverse=inverse)
    return y


def _lengths(op: str, x: Tensor, s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return lengths and axes of a transform along several."""
    given = None if s is None else integers(op, "s", s)
    if axes is None and given is not None:
        if len(given) > x.ndim:
            raise ArgumentError(f"{op}: s is {given}; x has {x.ndim} axes.")
        axes = tuple(range(x.ndim - len(given), x.ndim))
    named = range(x.ndim) if axes is None else integers(op, "axes", axes)
    places = tuple(normalize_axis(op, one, x.ndim, "axes") for one in named)
    if len(set(places)) < len(places):
        raise ArgumentError(f"{op}: axes is {shown(axes)}; want each axis once.")
    if given is None:
        return tuple(x.shape[one] for one in places), places
    if len(given) != len(places):
        raise ArgumentError(f"{op}: s is {given} and axes {places}; want one length for each axis.")
    return tuple(
        x.shape[axis] if one == -1 else one for one, axis in zip(given, places, strict=True)
    ), places


def _resized(x: Tensor, axis: int, length: int) -> Tensor:
    """Return ``x`` cut at the end of an axis, or filled with 0 there."""
    have = x.shape[axis]
    if have >= length:
        return x if have == length else _cut(x, axis, length)
    shape = [length - have if at == axis else one for at, one in enumerate(x.shape)]
    return joining.concat([x, creation.zeros(shape, dtype=x.dtype)], axis=axis)


def _cut(x: Tensor, axis: int, count: int, start: int = 0) -> Tensor:
    """Return ``count`` elements of an axis."""
    begin = [start if at == axis else 0 for at in range(x.ndim)]
    size = [count if at == axis else one for at, one in enumerate(x.shape)]
    return slicing.slice(x, begin, size)


def _complex(op: str, x: TensorLike) -> Tensor:
    given = as_tensor(x)
    if given.ndim == 0:
        raise ShapeError(f"{op}: x is a scalar; want at least one axis.")
    return given if given.dtype in COMPLEXES else complex.complex(given, creation.zeros_like(given))


def _real(op: str, x: TensorLike) -> Tensor:
    given = as_tensor(x)
    if given.dtype in COMPLEXES:
        raise DTypeError(f"{op}: x has dtype {given.dtype}; want real numbers. Use {op[:-4]}fft.")
    return cast.astype(given, "float32") if is_exact(given.dtype) else given


def _length(op: str, n: Any) -> int:
    count = integer(op, "n", n)
    if count < 1:
        raise ArgumentError(f"{op}: n is {count}; want at least 1.")
    return count


def _known(op: str, norm: Any) -> str:
    if not isinstance(norm, str) or norm not in NORMS:
        raise ArgumentError(f"{op}: norm is {shown(norm)}; want {', '.join(map(repr, NORMS))}.")
    return norm


class Namespace(CalledModule):
    """What the module `wgsl_kernels.fft` is: these functions, and its own `fft` when called."""

    fft = staticmethod(fft)
    fftfreq = staticmethod(fftfreq)
    fftn = staticmethod(fftn)
    fftshift = staticmethod(fftshift)
    hfft = staticmethod(hfft)
    ifft = staticmethod(ifft)
    ifftn = staticmethod(ifftn)
    ifftshift = staticmethod(ifftshift)
    ihfft = staticmethod(ihfft)
    irfft = staticmethod(irfft)
    irfftn = staticmethod(irfftn)
    rfft = staticmethod(rfft)
    rfftfreq = staticmethod(rfftfreq)
    rfftn = staticmethod(rfftn)

    def __call__(self, input: TensorLike) -> Tensor:
        """Return the discrete Fourier transform along the last axis of complex numbers."""
        return spectral.fft(input)
