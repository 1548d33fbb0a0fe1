"""Signals: Fourier transforms, of short times too, and the weights of mel filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import check_table
from wgsl_kernels.onnx.types import CARRIERS, element
from wgsl_kernels.ops.names import public_ops as ops
from wgsl_kernels.ops.signal.transforms import fft

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("DFT", since=20, host=(1, 2))
def fourier(
    node: OnnxNode, x: Tensor, length: Array | None = None, axis: Array | None = None
) -> Tensor:
    """Return the discrete Fourier transform, [..., 2] of real and imaginary parts."""
    return _transform(node, x, length, -2 if axis is None else int(np.ravel(axis)[0]))


@operator("DFT", since=17, host=(1,))
def fourier_by_attribute(node: OnnxNode, x: Tensor, length: Array | None = None) -> Tensor:
    """Return the transform along the axis that an attribute names, before version 20."""
    return _transform(node, x, length, node.attr("axis"))


def _transform(node: OnnxNode, x: Tensor, length: Array | None, axis: int) -> Tensor:
    axis %= x.ndim
    is_inverse, is_half = bool(node.attr("inverse")), bool(node.attr("onesided"))
    rows = ops.moveaxis(x, axis, -2)
    there = rows.shape[-2]
    if is_inverse and is_half:
        count = 2 * (there - 1) if length is None else int(np.ravel(length)[0])
        spectrum = ops.complex(rows[..., 0], rows[..., 1])
        return ops.moveaxis(ops.expand_dims(ops.irfft(spectrum, n=count), -1), -2, axis)
    count = there if length is None else int(np.ravel(length)[0])
    if count < there:
        rows = rows[..., :count, :]
    elif count > there:
        rows = ops.pad(rows, [(0, 0)] * (rows.ndim - 2) + [(0, count - there), (0, 0)])
    real = rows[..., 0]
    signal = ops.complex(real, rows[..., 1] if rows.shape[-1] == 2 else ops.zeros_like(real))
    found = ops.ifft(signal) if is_inverse else fft(signal)
    return ops.moveaxis(_parts(found, count, is_half=is_half), -2, axis)


def _parts(spectrum: Tensor, count: int, *, is_half: bool) -> Tensor:
    spectrum = spectrum[..., : count // 2 + 1] if is_half else spectrum
    return ops.stack([ops.real(spectrum), ops.imag(spectrum)], -1)


@operator("STFT", host=(1, 3))
def short_time(
    node: OnnxNode,
    x: Tensor,
    step: Array,
    window: Tensor | None = None,
    length: Array | None = None,
) -> Tensor:
    """Return the transforms of the frames of a signal, [batch, frames, frequencies, 2]."""
    if length is None:
        assert window is not None
        count = window.shape[0]
    else:
        count = int(np.ravel(length)[0])
    hop = int(np.ravel(step)[0])

    def frames(part: Tensor) -> Tensor:
        found = ops.frame(part, count, hop)
        return found if window is None else found * window

    signal = ops.expand_dims(x, -1) if x.ndim == 2 else x
    real = frames(signal[..., 0])
    imaginary = frames(signal[..., 1]) if signal.shape[-1] == 2 else ops.zeros_like(real)
    spectrum = fft(ops.complex(real, imaginary))
    return _parts(spectrum, count, is_half=bool(node.attr("onesided")))


@operator("MelWeightMatrix", host=(0, 1, 2, 3, 4))
def mel_weights(
    node: OnnxNode, bins: Array, length: Array, rate: Array, low: Array, high: Array
) -> Tensor:
    """Return the weights, [frequencies, bins], of triangles that are equally far on the mel scale.

    Source: Young et al., The HTK Book, 2006, 5.4.
    """
    count, size = int(bins), int(length)
    check_table(size // 2 + 1, count + 2)
    first, last = 2595 * np.log10(1 + np.array([float(low), float(high)]) / 700)
    mels = first + np.arange(count + 2) * (last - first) / (count + 2)
    places = np.floor((size + 1) * (700 * (10 ** (mels / 2595) - 1)) / int(rate)).astype(int)
    found = np.zeros((size // 2 + 1, count))
    for i in range(count):
        start, center, end = places[i : i + 3]
        if center > start:
            found[start : center + 1, i] = np.arange(center - start + 1) / (center - start)
        else:
            found[center, i] = 1
        if end > center:
            found[center:end, i] = (end - np.arange(center, end)) / (end - center)
    return ops.tensor(found, dtype=CARRIERS[element(node.out_types[0])])
