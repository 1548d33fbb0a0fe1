"""Outcomes drawn by their probabilities."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.random import random_bits
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.random.streams import Generator, check_key, drawn
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_MOST = 1 << 21
"""Outcomes that one workgroup goes through."""
_WHOLE = 2.0**31
"""What the weights of all outcomes add up to, about."""


@public(tfjs="multinomial")
def multinomial(
    logits: TensorLike,
    num_samples: int,
    *,
    seed: float | None = None,
    normalized: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Return outcomes drawn by their probabilities, with replacement.

    Args:
        logits: [outcomes] or [batch, outcomes], float, at least two outcomes: the logarithms of
            probabilities, up to a constant.
        num_samples: How many to draw for each row.
        seed: The seed of a stream of its own.
        normalized: Whether ``logits`` are probabilities themselves.
        generator: Without a seed, the stream to draw from; that of ``wk.random.key``, if left out.

    Returns:
        int32, [num_samples] or [batch, num_samples]: outcomes by their places; -1 throughout a row
        that is no distribution: with NaN or +infinity, a probability below 0, or no outcome that
        can occur.

    Raises:
        ShapeError: ``logits`` has another rank, or other than 2 to 2^21 outcomes.
        ArgumentError: ``num_samples`` is below 0.

    Example:
        >>> multinomial([0.0, 1.0], 3, seed=1, normalized=True).tolist()
        [1, 1, 1]
    """
    given = as_floats(logits)
    rows = shapes.expand_dims(given) if given.ndim == 1 else given
    attrs = {"num_samples": integer("Multinomial", "num_samples", num_samples)}
    if seed is not None:
        found = run("Multinomial", rows, seed=seed, normalized=normalized, **attrs)
    else:
        found = drawn("Multinomial", rows, generator=generator, normalized=normalized, **attrs)
    return shapes.reshape(found, found.shape[1:]) if given.ndim == 1 else found


@signature("Multinomial", floats=("logits",))
def _multinomial_signature(
    logits: Spec,
    key: Spec | None = None,
    /,
    *,
    num_samples: int,
    seed: float = 0.0,
    normalized: bool = False,
) -> Spec:
    del seed, normalized
    require_rank("Multinomial", "logits", logits, 2)
    require_dtype("Multinomial", "logits", logits, "float32")
    if not 2 <= logits.shape[1] <= _MOST:
        raise ShapeError(
            f"Multinomial: logits has shape {show(logits.shape)}; want 2 to {_MOST} outcomes."
        )
    if num_samples < 0:
        raise ArgumentError(f"Multinomial: num_samples is {num_samples}; want at least 0.")
    if key is not None:
        check_key("Multinomial", key)
    return Spec((logits.shape[0], num_samples), "int32")


def _key_of(seed: float) -> Array:
    """Return the beginning of the stream of a seed, of which every bit counts."""
    low, high = struct.unpack("<ii", struct.pack("<d", seed))
    return np.array([low, high, 0, 0], np.int32)


@cpu_kernel("Multinomial")
@silent
def _multinomial_cpu(
    logits: Array, key: Array | None, *, num_samples: int, seed: float, normalized: bool
) -> Array:
    rows, outcomes = logits.shape
    wide = logits.astype(np.float64)
    weights = wide if normalized else np.exp(wide - wide.max(axis=1, keepdims=True))
    total = weights.sum(axis=1, keepdims=True)
    exists = (weights >= 0).all(axis=1, keepdims=True) & (total > 0)
    exists &= np.isfinite(total.astype(np.float32))
    shares = np.where(exists, weights / total, 0)
    cumulative = np.cumsum((shares * _WHOLE).astype(np.uint64), axis=1)
    bits = random_bits(_key_of(seed) if key is None else key, rows * num_samples)
    drawn = (bits.reshape(rows, num_samples).astype(np.uint64) * cumulative[:, -1:]) >> np.uint64(
        32
    )
    places = [
        np.searchsorted(whole, some, side="right")
        for whole, some in zip(cumulative, drawn, strict=True)
    ]
    found = np.array(places, np.int32).reshape(rows, num_samples)
    return np.where(exists, np.minimum(found, outcomes - 1), -1).astype(np.int32)


@wgsl_kernel("Multinomial", dtypes=("float32", "float16"))
def _multinomial_webgpu(
    gpu: Gpu,
    logits: GpuArray,
    key: GpuArray | None,
    *,
    num_samples: int,
    seed: float,
    normalized: bool,
) -> GpuArray:
    rows, outcomes = logits.shape
    y = gpu.empty((rows, num_samples), "int32")
    if not y.size:
        return y
    cumulative = gpu.empty((rows, outcomes), "int32")
    gpu.dispatch(
        "random/multinomial/cumulative_weights.wesl",
        {"logits": logits, "cumulative": cumulative},
        configuration={"GROUP": next((one for one in (8, 64) if outcomes <= one), 256)},
        params={"outcomes": outcomes, "rows": rows, "is_normalized": int(normalized)},
        groups=gpu.grid(rows, 1),
    )
    stream = gpu.upload(_key_of(seed), "int32") if key is None else key
    gpu.dispatch(
        "random/multinomial/multinomial.wesl",
        {"key": stream, "cumulative": cumulative, "y": y},
        params={"samples": num_samples, "outcomes": outcomes},
    )
    return y


no_gradient("Multinomial", because="its outcomes are whole numbers")
