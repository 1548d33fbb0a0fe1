"""Windows, frames, real transforms and short-time transforms beside NumPy, with their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import check_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RNG = np.random.default_rng(3)
SIGNAL = RNG.standard_normal((2, 23)).astype(np.float32)


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


@pytest.mark.parametrize("n", [None, 16, 30, 5])
def test_the_real_transform_is_that_of_numpy_there_and_back(n: int | None) -> None:
    found = wk.rfft(SIGNAL, n=n)
    np.testing.assert_allclose(found.numpy(), np.fft.rfft(SIGNAL, n), rtol=1e-4, atol=1e-4)
    back = wk.irfft(found, n=n)
    expected = np.fft.irfft(np.fft.rfft(SIGNAL, n), n)
    np.testing.assert_allclose(back.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_frames_may_reach_beyond_the_end() -> None:
    found = wk.frame(SIGNAL, 5, 4, pad_end=True, pad_value=-1.0).numpy()
    padded = np.pad(SIGNAL, [(0, 0), (0, 2)], constant_values=-1.0)
    np.testing.assert_array_equal(found[:, -1], padded[:, 20:25])
    assert found.shape == (2, 6, 5)
    assert wk.frame(SIGNAL[:, :3], 5, 4).shape == (2, 0, 5)


def test_a_short_time_transform_is_that_of_windowed_frames_and_is_inverted() -> None:
    found = wk.stft(SIGNAL, 6, 2)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(6) / 6)
    frames = np.lib.stride_tricks.sliding_window_view(SIGNAL, 6, -1)[:, ::2]
    np.testing.assert_allclose(found.numpy(), np.fft.rfft(frames * window, 8), atol=1e-4)
    back = wk.inverse_stft(found, 6, 2).numpy()
    np.testing.assert_allclose(back[:, 1:-1], SIGNAL[:, 1 : back.shape[1] - 1], atol=1e-4)


def test_gradients_flow_through_a_short_time_transform_and_its_inverse() -> None:
    def power(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(wk.square(wk.abs(wk.stft(x, 4, 2))))

    def inverse(x: wk.Tensor) -> wk.Tensor:
        spectra = wk.complex(wk.reshape(x[:9], (3, 3)), wk.reshape(x[9:18], (3, 3)))
        return wk.inverse_stft(spectra, 4, 2, window_fn=wk.hamming_window)

    check_gradient(power, [SIGNAL[0, :9]])
    check_gradient(inverse, [SIGNAL[0, :18]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wk.frame(1.0, 2, 1), "frame: signal is a scalar"),
        (lambda: wk.frame([1.0], 0, 1), "frame: frame_length is 0; want at least 1"),
        (lambda: wk.hann_window(0), "cosine_window: length is 0; want at least 1"),
        (lambda: wk.enclosing_power_of_two(0), "value is 0; want a number above 0"),
        (
            lambda: wk.stft([1.0, 2.0], 2, 1, window_fn=lambda n: wk.ones((n + 1,))),
            r"stft: window_fn gave shape \[3\]; want \[2\]",
        ),
    ],
)
def test_a_signal_that_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        call()
