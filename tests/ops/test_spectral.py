"""Fourier transforms: long rows of every kind of length, there and back, gradients, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import contains
from wgsl_kernels.testing.samples.signal.spectral import transform_bound

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ("cpu", "webgpu")


def drawn(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(np.complex64)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [4096, 2048, 3**7, 2 * 3 * 5 * 7 * 11, 61 * 16, 1009, 4093])
def test_long_rows_of_every_kind_are_within_the_bound(length: int, backend: str) -> None:
    x = drawn(3, length)
    wide = x.astype(np.complex128)
    with wk.use_backend(backend), wk.config.using(fallback="error"):
        there, back = wk.fft(x).numpy(), wk.ifft(x).numpy()

    assert np.all(contains(transform_bound()([wide], np.fft.fft(wide)), there))
    assert np.all(contains(transform_bound(inverse=True)([wide], np.fft.ifft(wide)), back))


@pytest.mark.gpu
@pytest.mark.parametrize("length", [16, 64, 1024, 16 * 15])
def test_passes_of_sixteen_are_within_the_bound(
    length: int, follow_rules: Callable[[bool], None]
) -> None:
    follow_rules(False)
    x = drawn(5, length)
    wide = x.astype(np.complex128)
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        there, back = wk.fft(x).numpy(), wk.ifft(x).numpy()

    assert np.all(contains(transform_bound()([wide], np.fft.fft(wide)), there))
    assert np.all(contains(transform_bound(inverse=True)([wide], np.fft.ifft(wide)), back))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_transform_of_whole_numbers_by_twos_and_fours_is_exact(backend: str) -> None:
    x = np.array([1, 2, 3, 4], np.complex64)
    with wk.use_backend(backend):
        assert wk.fft(x).tolist() == [10, -2 + 2j, -2, -2 - 2j]
        assert wk.ifft(wk.fft(x)).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [6, 8, 67])
def test_the_gradient_is_that_for_the_conjugate(length: int, backend: str) -> None:
    # L = sum of |F x|^2 = n sum of |x|^2, whose gradient dL/d conj(x), doubled, is 2 n x
    x = drawn(2, length)

    def energy(t: wk.Tensor) -> wk.Tensor:
        y = wk.fft(t)
        return wk.sum(wk.square(wk.real(y)) + wk.square(wk.imag(y)))

    with wk.use_backend(backend):
        wk.testing.assert_close(wk.grad(energy)(wk.tensor(x)).numpy(), 2 * length * x, rtol=1e-4)


def test_real_numbers_are_refused_and_so_is_a_scalar() -> None:
    with pytest.raises(wk.DTypeError, match=r"^FFT: input has dtype float32; want complex64"):
        wk.fft([1.0, 2.0])
    with pytest.raises(wk.ShapeError, match=r"^IFFT: input is a scalar; want \[\.\.\., length\]"):
        wk.ifft(1j)
