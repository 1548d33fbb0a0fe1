"""Random numbers: the same stream on every backend.

The kernels are pure functions of an int32[4] key: the bits of a 64-bit seed and of a 64-bit
counter, low words first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import random as cpu
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public import publish, unknown
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import DType, canonical, numpy_dtype
from wgsl_kernels.engine.values.shapes import lengths, require_dtype
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.ops.random import streams
from wgsl_kernels.ops.random.distributions import bernoulli as bernoulli
from wgsl_kernels.ops.random.distributions import categorical as categorical
from wgsl_kernels.ops.random.distributions import gamma as gamma
from wgsl_kernels.ops.random.distributions import permutation as permutation
from wgsl_kernels.ops.random.distributions import randint as randint
from wgsl_kernels.ops.random.distributions import shuffle as shuffle
from wgsl_kernels.ops.random.streams import Generator as Generator
from wgsl_kernels.ops.random.streams import check_key as _check_key
from wgsl_kernels.ops.random.streams import default_rng as default_rng
from wgsl_kernels.ops.random.streams import draw as _draw
from wgsl_kernels.ops.random.streams import seed as seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeLike

    key: Variable


def __getattr__(name: str) -> Any:
    if name == "key":
        return streams.default().key
    raise unknown("wk.random", name, globals()["__dir__"]())


@signature("AdvanceKey")
@exact("int32", "bool")
def _advance_key_signature(key: Spec, /, *, blocks: int) -> Spec:
    _check_key("AdvanceKey", key)
    if not 0 <= blocks < 2**32:
        raise ArgumentError(f"AdvanceKey: blocks is {blocks}; want a whole number in [0, 2^32).")
    return key


@cpu_kernel("AdvanceKey")
def _advance_key_cpu(key: Array, *, blocks: int) -> Array:
    low, high = (int(word) for word in key.view(np.uint32)[2:])
    counter = ((high << 32 | low) + blocks) % 2**64
    moved = np.array([counter & 0xFFFFFFFF, counter >> 32], np.uint64).astype(np.uint32)
    return np.concatenate([key[:2], moved.view(np.int32)])


wgsl_kernel("AdvanceKey", "random/random/advance_key.wgsl")
no_gradient("AdvanceKey", because="it moves a counter")


@public(tfjs="randomNormal")
def random_normal(
    shape: int | Sequence[int],
    *,
    mean: float = 0.0,
    std_dev: float = 1.0,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return normally distributed numbers.

    Args:
        shape: The result's shape.
        mean: Their mean.
        std_dev: Their standard deviation; at least 0.
        dtype: A float dtype; float32, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Example:
        >>> wk.random_normal((2, 3), mean=5.0).shape
        (2, 3)

    Source: Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
    """
    return _draw("RandomNormal", shape, dtype, generator, mean=mean, std_dev=std_dev)


@signature("RandomNormal")
def _random_normal_signature(
    key: Spec,
    /,
    *,
    shape: Shape,
    dtype: DType = "float32",
    mean: float = 0.0,
    std_dev: float = 1.0,
) -> Spec:
    del mean
    _check_key("RandomNormal", key)
    if not std_dev >= 0:
        raise ArgumentError(f"RandomNormal: std_dev is {std_dev}; want 0 or more.")
    y = Spec(lengths("RandomNormal", "shape", shape), canonical(dtype))
    require_dtype("RandomNormal", "y", y, "float32")
    return y


@cpu_kernel("RandomNormal")
def _random_normal_cpu(
    key: Array, *, shape: Shape, dtype: DType, mean: float, std_dev: float
) -> Array:
    deviates = np.float32(mean) + np.float32(std_dev) * cpu.normal(key, shape)
    return np.asarray(deviates).astype(numpy_dtype(canonical(dtype)))


wgsl_kernel("RandomNormal", "random/random/random_normal.wesl")
no_gradient("RandomNormal", because="its input is a key")


@public(tfjs="randomUniform")
def random_uniform(
    shape: int | Sequence[int],
    *,
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return uniformly distributed numbers in [minval, maxval).

    The same bits on every backend. Floats come in 2^24 steps; of float16, rounding may reach
    ``maxval``.

    Args:
        shape: The result's shape.
        minval: The smallest.
        maxval: The end, which does not occur; above ``minval``.
        dtype: A float dtype, int32 (then both ends are whole), or bool (then both ends are left
            as they are: a fair coin); float32, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``minval`` is not below ``maxval``, the dtype cannot hold them, or their
            distance is beyond float32.

    Example:
        >>> (wk.random_uniform(100, minval=2.0, maxval=3.0) >= 2.0).all().item()
        True
    """
    name = None if dtype is None else canonical(dtype)
    if name in ("int8", "uint8"):
        limits = np.iinfo(name)
        if not (limits.min <= minval and maxval <= limits.max + 1):
            raise ArgumentError(
                f"random_uniform: minval is {minval}, maxval {maxval}; want them in "
                f"[{limits.min}, {limits.max + 1}] of {name}, the dtype."
            )
    return _draw("RandomUniform", shape, dtype, generator, minval=minval, maxval=maxval)


@signature("RandomUniform")
def _random_uniform_signature(
    key: Spec,
    /,
    *,
    shape: Shape,
    dtype: DType = "float32",
    minval: float = 0.0,
    maxval: float = 1.0,
) -> Spec:
    _check_key("RandomUniform", key)
    y = Spec(lengths("RandomUniform", "shape", shape), canonical(dtype))
    require_dtype("RandomUniform", "y", y, "float32", "int32", "bool")
    if not minval < maxval:
        raise ArgumentError(
            f"RandomUniform: minval is {minval}, maxval {maxval}; want minval below maxval."
        )
    if y.dtype == "float32" and not maxval - minval <= float(np.finfo(np.float32).max):
        raise ArgumentError(
            f"RandomUniform: minval is {minval}, maxval {maxval}; want a distance that float32 "
            "can hold."
        )
    if y.dtype == "int32" and not (_is_int32(minval) and _is_int32(maxval)):
        raise ArgumentError(
            f"RandomUniform: minval is {minval}, maxval {maxval}; want whole numbers that fit "
            "int32, the dtype."
        )
    return y


def _uniform_params(dtype: DType, minval: float, maxval: float) -> dict[str, int]:
    name = canonical(dtype)
    whole = name == "int32"
    return {
        "first": int(minval) if whole else 0,
        "last": int(maxval) if whole else 0,
        "is_whole": int(whole),
        "is_bool": int(name == "bool"),
    }


@cpu_kernel("RandomUniform")
def _random_uniform_cpu(
    key: Array, *, shape: Shape, dtype: DType, minval: float, maxval: float
) -> Array:
    name = canonical(dtype)
    if name == "bool":
        return (cpu.random_bits(key, math.prod(shape)) >> np.uint32(31)).astype(bool).reshape(shape)
    if name == "int32":
        return cpu.integers(key, shape, int(minval), int(maxval))
    return cpu.uniform(key, shape, minval, maxval).astype(numpy_dtype(name))


wgsl_kernel("RandomUniform", "random/random/random_uniform.wesl", params=_uniform_params)
no_gradient("RandomUniform", because="its input is a key")


def _is_int32(number: float) -> bool:
    return -(2**31) <= number < 2**31 and number == math.floor(number)


publish(__name__, lazy=("key",), of="wgsl_kernels.ops")
