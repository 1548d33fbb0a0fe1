"""Discrete Fourier transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import COMPLEXES

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

LARGEST_RADIX = 61
"""The largest prime that a pass divides by; lengths with a larger one go by way of convolution."""


@public(space="", tfjs="fft spectral.fft")
def fft(input: TensorLike) -> Tensor:
    """Return the discrete Fourier transform along the last axis.

    ``y[k] = sum over j of input[j] * e^(-2 pi i j k / n)``. An error is at most ``11 * p`` units of
    2^-23 times the sum of ``|input|``, p being the sum of the prime factors of n; where one of
    these is above 61, 1000 such units times ``sqrt(n)`` times the root of the sum of squares.

    Args:
        input: [..., n], complex64.

    Raises:
        DTypeError: It is not complex; ``wk.fft.fft`` takes real numbers too, and any axis.

    Example:
        >>> fft([1 + 0j, 2 + 0j, 1 + 0j, 2 + 0j]).tolist()
        [(6+0j), 0j, (-2+0j), 0j]
    """
    return run("FFT", input)


@signature("FFT")
def _fft_signature(input: Spec, /) -> Spec:
    return _transformed("FFT", input)


@cpu_kernel("FFT")
@silent
def _fft_cpu(input: Array) -> Array:
    if input.size == 0:
        return input
    return np.asarray(np.fft.fft(input))


@wgsl_kernel("FFT", dtypes=("complex64",))
def _fft_webgpu(gpu: Gpu, input: GpuArray) -> GpuArray:
    return _transform(gpu, input, turn=-1)


@gradient("FFT")
def _fft_grad(dy: Tensor, input_shape: Shape) -> Tensor:
    # y = F x: the gradient is conj(F)^T dy, and F is symmetric
    return ifft(dy) * float(input_shape[-1])


@public(tfjs="ifft spectral.ifft")
def ifft(input: TensorLike) -> Tensor:
    """Return the inverse of `fft`, along the last axis.

    ``y[k] = 1 / n * sum over j of input[j] * e^(2 pi i j k / n)``; an error is 1 / n of that there.

    Args:
        input: [..., n], complex64.

    Raises:
        DTypeError: It is not complex.

    Example:
        >>> ifft([6 + 0j, 0j, -2 + 0j, 0j]).tolist()
        [(1+0j), (2+0j), (1+0j), (2+0j)]
    """
    return run("IFFT", input)


@signature("IFFT")
def _ifft_signature(input: Spec, /) -> Spec:
    return _transformed("IFFT", input)


@cpu_kernel("IFFT")
@silent
def _ifft_cpu(input: Array) -> Array:
    if input.size == 0:
        return input
    return np.asarray(np.fft.ifft(input))


@wgsl_kernel("IFFT", dtypes=("complex64",))
def _ifft_webgpu(gpu: Gpu, input: GpuArray) -> GpuArray:
    return _transform(gpu, input, turn=1, scale=1 / (input.shape[-1] or 1))


@gradient("IFFT")
def _ifft_grad(dy: Tensor, input_shape: Shape) -> Tensor:
    return fft(dy) / float(input_shape[-1] or 1)


def _transformed(kernel: str, input: Spec) -> Spec:
    if input.dtype not in COMPLEXES:
        raise DTypeError(
            f"{kernel}: input has dtype {input.dtype}; want complex64. "
            f"Use wk.fft.{kernel.lower()}, which takes real numbers too."
        )
    if input.ndim == 0:
        raise ShapeError(f"{kernel}: input is a scalar; want [..., length].")
    return input


def radices(length: int) -> tuple[int, ...]:
    """Return factors whose product is ``length``: fours, at most one 2, then odd primes; 1 of 0."""
    found, rest = [], max(length, 1)
    while rest % 4 == 0:
        found.append(4)
        rest //= 4
    factor = 2
    while factor * factor <= rest:
        while rest % factor == 0:
            found.append(factor)
            rest //= factor
        factor += 1
    return (*found, rest) if rest > 1 or not found else tuple(found)


def is_smooth(length: int) -> bool:
    """Say whether passes alone transform rows of ``length``."""
    return max(radices(length)) <= LARGEST_RADIX


def padded_length(length: int) -> int:
    """Return the power of two that a convolution of rows of ``length`` takes."""
    return 1 << (2 * length - 2).bit_length()


def _transform(gpu: Gpu, x: GpuArray, *, turn: int, scale: float = 1.0) -> GpuArray:
    if x.size == 0:
        return gpu.empty(x.shape, x.dtype)
    length = x.shape[-1]
    if is_smooth(length):
        return _by_passes(gpu, x, turn, scale)
    # Bluestein, A Linear Filtering Approach to the Computation of Discrete Fourier Transform, 1970:
    # jk = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution, by transforms of 2^m
    chirp, answer = (gpu.upload(one, "complex64") for one in _chirps(length, turn))
    raised = _weighed(gpu, x, chirp, padded_length(length))
    spectrum = _weighed(gpu, _by_passes(gpu, raised, -1), answer, answer.size)
    folded = _by_passes(gpu, spectrum, 1, 1 / answer.size)
    return _weighed(gpu, folded, chirp, length, scale)


def _by_passes(gpu: Gpu, x: GpuArray, turn: int, scale: float = 1.0) -> GpuArray:
    length = x.shape[-1]
    in_pairs, most = gpu.policy.transforms_in_pairs(length), gpu.policy.largest_radix(length)
    passes = _passes(length, most)
    in_order = math.prod(radix for radix in passes if radix in _BUTTERFLIES) if in_pairs else 0
    rest = 0 if in_order == length else length
    roots = gpu.empty((in_order + rest,), "complex64")
    params: dict[str, float] = {
        "in_order": in_order,
        "bits": 4 if most == 16 else 2,
        "length": length,
        "turn": turn,
    }
    gpu.dispatch("signal/spectral/roots.wesl", {"roots": roots}, params=params)
    done, left = 1, length
    for radix in passes:
        left //= radix
        y = gpu.empty(x.shape, x.dtype)
        arrays = {"x": x, "roots": roots, "y": y}
        params = {"length": length, "done": done, "scale": scale if left == 1 else 1.0}
        if radix not in _BUTTERFLIES:
            params |= {"radix": radix, "first_root": in_order}
            gpu.dispatch("signal/spectral/pass.wesl", arrays, params=params)
        elif in_pairs:
            _pass_in_pairs(gpu, arrays, radix, done, turn, params["scale"])
        else:
            count = x.size // radix
            params |= {"count": count, "turn": turn}
            grid = gpu.grid(count, 64)
            chosen = {"RADIX": radix}
            shader = "signal/spectral/pass_radix.wesl"
            gpu.dispatch(shader, arrays, configuration=chosen, params=params, groups=grid)
        x, done = y, done * radix
    return x


def _pass_in_pairs(
    gpu: Gpu, arrays: dict[str, GpuArray], radix: int, done: int, turn: int, scale: float
) -> None:
    """Run a pass by 4 or 16, two neighbours to an invocation."""
    x = arrays["x"]
    length = x.shape[-1]
    rows, pairs = x.size // length, length // radix // 2
    width = min((pairs - 1).bit_length(), 6)
    down, deep, _ = gpu.grid(math.ceil(rows / (64 >> width)), 1)
    params = {
        "rows": rows,
        "length": length,
        "apart": length // radix,
        "shift": done.bit_length() - 1,
        "width": width,
        "turn": turn,
        "scale": scale,
    }
    if done == 1:
        arrays = {"x": x, "y": arrays["y"]}
    gpu.dispatch(
        "signal/spectral/pass_pairs.wesl",
        arrays,
        configuration={"RADIX": radix, "FIRST": done == 1},
        params=params,
        groups=(math.ceil(pairs / 64), down, deep),
    )


_BUTTERFLIES = (4, 16)
"""Radices by which an invocation computes all that depends on the same elements."""


def _passes(length: int, most: int) -> tuple[int, ...]:
    """Return the radices, pairs of fours as one pass if ``most`` is 16."""
    found = radices(length)
    pairs = found.count(4) // 2 if most == 16 else 0
    return (*(16,) * pairs, *found[2 * pairs :])


def _weighed(gpu: Gpu, x: GpuArray, weights: GpuArray, length: int, scale: float = 1.0) -> GpuArray:
    """Return rows times ``weights`` and ``scale``, cut or filled with 0 to ``length``."""
    y = gpu.empty((*x.shape[:-1], length), x.dtype)
    params = {"length": length, "x_length": x.shape[-1], "scale": scale}
    gpu.dispatch("signal/spectral/weigh.wesl", {"x": x, "weights": weights, "y": y}, params=params)
    return y


def _chirps(length: int, turn: int) -> tuple[Array, Array]:
    """Return e^(turn pi i j^2 / length), and the transform of what rows times that go through."""
    squares = np.arange(length, dtype=np.int64) ** 2 % (2 * length)
    chirp = np.exp(turn * 1j * np.pi / length * squares)
    answer = np.zeros(padded_length(length), np.complex128)
    answer[:length] = chirp.conj()
    answer[-length + 1 :] = chirp.conj()[:0:-1]
    return chirp.astype(np.complex64), np.fft.fft(answer).astype(np.complex64)
