"""Random numbers: the same stream on every backend, drawn from one variable, ``key``.

``key`` is an int32[4] variable: the bits of a 64-bit seed and of a 64-bit counter, low words
first. The kernels are pure functions of such a key; a draw by `random_uniform` or `random_normal`
moves the counter of ``key`` on by one for every four elements, on the backend.
"""

from __future__ import annotations

import math
import operator
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import random as cpu
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine import context
from wgsl_kernels.engine.dtypes import DType, canonical, numpy_dtype
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.exact import declare_exact
from wgsl_kernels.engine.gradients import no_gradient
from wgsl_kernels.engine.public import publish
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import lengths, require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.spec import Shape, Spec
from wgsl_kernels.engine.tensor import Tensor, Variable, variable
from wgsl_kernels.engine.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.dtypes import DTypeLike

key: Variable
"""The seed and counter that draws begin at; made, with a seed by chance, when first asked for."""

_BLOCK = 4
_lock = threading.RLock()


def __getattr__(name: str) -> Any:
    if name != "key":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _present_key()


def seed(number: int) -> None:
    """Begin the stream of ``number`` anew: its low 64 bits become the seed, the counter 0."""
    try:
        words = _words(operator.index(number) % 2**64)
    except TypeError:
        raise ArgumentError(f"seed: number is {shown(number)}; want an integer.") from None
    with _lock:
        _present_key().assign(words)


def _present_key() -> Variable:
    with _lock:
        made = globals().get("key")
        if made is None:
            words = _words(int.from_bytes(os.urandom(8), "little"))
            made = variable(words, trainable=False, name="random.key", dtype="int32")
            globals()["key"] = made
        return made


def _words(number: int) -> Array:
    words = np.array([number & 0xFFFFFFFF, number >> 32, 0, 0], np.uint64)
    return words.astype(np.uint32).view(np.int32)


@signature("AdvanceKey")
def _advance_key_signature(key: Spec, /, *, blocks: int) -> Spec:
    check_key("AdvanceKey", key)
    if not 0 <= blocks < 2**32:
        raise ArgumentError(f"AdvanceKey: blocks is {blocks}; want a whole number in [0, 2^32).")
    return key


@cpu_kernel("AdvanceKey")
def _advance_key_cpu(key: Array, *, blocks: int) -> Array:
    low, high = (int(word) for word in key.view(np.uint32)[2:])
    counter = ((high << 32 | low) + blocks) % 2**64
    moved = np.array([counter & 0xFFFFFFFF, counter >> 32], np.uint64).astype(np.uint32)
    return np.concatenate([key[:2], moved.view(np.int32)])


wgsl_kernel("AdvanceKey", "random/advance_key.wgsl")
no_gradient("AdvanceKey", because="it moves a counter")


def random_normal(
    shape: int | Sequence[int],
    *,
    mean: float = 0.0,
    std_dev: float = 1.0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return normally distributed numbers, drawn from ``wk.random.key``.

    Args:
        shape: The result's shape.
        mean: Their mean.
        std_dev: Their standard deviation; at least 0.
        dtype: A float dtype; float32, if left out.

    Source: Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
    """
    return _draw("RandomNormal", shape, dtype, mean=mean, std_dev=std_dev)


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
    check_key("RandomNormal", key)
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


wgsl_kernel("RandomNormal", "random/random_normal.wesl")
no_gradient("RandomNormal", because="its input is a key")


def random_uniform(
    shape: int | Sequence[int],
    *,
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return uniformly distributed numbers in [minval, maxval), drawn from ``wk.random.key``.

    The same bits on every backend. Floats come in 2^24 steps; of float16, rounding may reach
    ``maxval``.

    Args:
        shape: The result's shape.
        minval: The smallest.
        maxval: The end, which does not occur; above ``minval``.
        dtype: A float dtype, int32 (then both ends are whole), or bool (then both ends are left
            as they are: a fair coin); float32, if left out.
    """
    return _draw("RandomUniform", shape, dtype, minval=minval, maxval=maxval)


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
    check_key("RandomUniform", key)
    y = Spec(lengths("RandomUniform", "shape", shape), canonical(dtype))
    require_dtype("RandomUniform", "y", y, "float32", "int32", "bool")
    if not minval < maxval:
        raise ArgumentError(
            f"RandomUniform: minval is {minval}, maxval {maxval}; want minval below maxval."
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


wgsl_kernel("RandomUniform", "random/random_uniform.wesl", params=_uniform_params)
no_gradient("RandomUniform", because="its input is a key")


def _draw(kernel: str, shape: int | Sequence[int], dtype: Any, **attrs: float) -> Tensor:
    """Run a random kernel whose only input is ``key``."""
    default = "float64" if context.current().double else "float32"
    name = default if dtype is None else canonical(dtype)
    return drawn(kernel, shape=shape, dtype=name, **attrs)


def drawn(kernel: str, *inputs: Tensor, **attrs: Any) -> Tensor:
    """Return what a kernel draws, whose last input is ``key``, and move that on."""
    with _lock:
        now = _present_key()
        found = run(kernel, *inputs, now, **attrs)
        now.assign(run("AdvanceKey", now, blocks=-(-found.size // _BLOCK)))
    return found


def check_key(kernel: str, key: Spec) -> None:
    """Refuse a key that is none.

    Raises:
        ShapeError, DTypeError: It is none.
    """
    if key.shape != (4,):
        raise ShapeError(f"{kernel}: key has shape {show(key.shape)}; want [4].")
    if key.dtype != "int32":
        raise DTypeError(f"{kernel}: key has dtype {key.dtype}; want int32.")


def _is_int32(number: float) -> bool:
    return -(2**31) <= number < 2**31 and number == math.floor(number)


# Integers.
declare_exact(("AdvanceKey",), ("int32", "bool"))

publish(__name__)
