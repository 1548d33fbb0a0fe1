"""Ops that make tensors from numbers, or from the shape of another tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import integer, plain
from wgsl_kernels.engine.values.dtypes import (
    INTEGERS,
    WIDE,
    DType,
    canonical,
    is_float,
    numpy_dtype,
)
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.engine.values.shapes import lengths, require_dtype
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.engine.values.spec import Shape

Scalar = bool | int | float | complex
NUMERIC = ("float32", "int32", "bool", "complex64")


def chosen_dtype(dtype: Any, default: DType) -> DType:
    """Return the name of a dtype that may be left out, double inside a check of gradients."""
    name = default if dtype is None else canonical(dtype)
    return WIDE.get(name, name) if current().double else name


@public(tfjs="fill")
def full(
    shape: int | Sequence[int],
    fill_value: Scalar | str | bytes,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of ``shape`` with ``fill_value`` in every element.

    Args:
        shape: The lengths of the axes, or the one length.
        fill_value: A number or a string.
        dtype: Without it that of a tensor of ``fill_value``.
        device: The backend that makes it; without one the backend in force.

    Raises:
        ArgumentError: ``dtype`` cannot hold the value, or no backend has that name.

    >>> wk.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    if device is not None:
        with use_backend(device):
            return full(shape, fill_value, dtype=dtype)
    value = plain(fill_value)
    chosen = chosen_dtype(dtype, _natural_dtype(value))
    return run("Fill", shape=shape, value=value, dtype=chosen)


@public(numpy="full_like")
def full_like(
    x: TensorLike,
    fill_value: Scalar | str | bytes,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of the shape of ``x``, and its dtype unless told, filled with one value.

    >>> wk.full_like([1.0, 2.0], 7).tolist()
    [7.0, 7.0]
    """
    given = as_tensor(x)
    kept = given.dtype if dtype is None else dtype
    return full(given.shape, fill_value, dtype=kept, device=device)


@public(tfjs="ones")
def ones(
    shape: int | Sequence[int], dtype: DTypeLike | None = "float32", *, device: str | None = None
) -> Tensor:
    """Return a tensor of ``shape`` filled with 1; see `full`.

    >>> wk.ones((2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return full(shape, 1, dtype="float32" if dtype is None else dtype, device=device)


@public(tfjs="zeros")
def zeros(
    shape: int | Sequence[int], dtype: DTypeLike | None = "float32", *, device: str | None = None
) -> Tensor:
    """Return a tensor of ``shape`` filled with 0; see `full`.

    >>> wk.zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(shape, 0, dtype="float32" if dtype is None else dtype, device=device)


def _natural_dtype(value: Any) -> DType:
    return "string" if isinstance(value, (str, bytes)) else weak_dtype(value, None)


@signature("Fill")
@exact(*NUMBERS, reads=False)
def _fill_signature(
    *, shape: Shape, value: Scalar | str | bytes, dtype: DType | None = None
) -> Spec:
    name = _natural_dtype(value) if dtype is None else canonical(dtype)
    fitting("Fill", "value", value, name)
    return Spec(lengths("Fill", "shape", shape), name)


@cpu_kernel("Fill")
def _fill_cpu(*, shape: Shape, value: Scalar | str | bytes, dtype: DType | None) -> Array:
    name = _natural_dtype(value) if dtype is None else dtype
    return np.full(shape, value, dtype=numpy_dtype(name))


def _fill_params(value: Scalar, dtype: DType | None) -> dict[str, Any]:
    name = _natural_dtype(value) if dtype is None else dtype
    whole = name in ("int32", "bool")
    number = complex(value)
    return {
        "real": 0.0 if whole else number.real,
        "imag": number.imag,
        "whole": int(number.real) if whole else 0,
    }


wgsl_kernel("Fill", "shapes/creation/fill.wgsl", params=_fill_params)
no_gradient("Fill", because="it takes no tensor")


@public(tfjs="oneHot")
def one_hot(
    indices: TensorLike,
    depth: int,
    *,
    on_value: float = 1,
    off_value: float = 0,
    dtype: DTypeLike = "int32",
) -> Tensor:
    """Return a tensor with a new last axis, ``on_value`` at each index and ``off_value`` elsewhere.

    Args:
        indices: int32, any shape.
        depth: The length of the new axis, at least 2. An index outside it gives no ``on_value``.
        on_value: What stands at the index.
        off_value: What stands elsewhere.
        dtype: The result's dtype.

    Raises:
        ArgumentError: ``depth`` is below 2, or ``dtype`` cannot hold a value.

    >>> wk.one_hot([0, 2], 3).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    classes = integer("OneHot", "depth", depth)
    if classes < 2:
        raise ArgumentError(f"OneHot: depth is {classes}; want at least 2.")
    return _one_hot(indices, classes, on_value, off_value, dtype)


@public(tfjs="eye")
def eye(
    n_rows: int,
    n_cols: int | None = None,
    *,
    k: int = 0,
    batch_shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = "float32",
    device: str | None = None,
) -> Tensor:
    """Return matrices with 1 on a diagonal and 0 elsewhere.

    Args:
        n_rows: The number of rows.
        n_cols: The number of columns; as many as rows without it.
        k: Which diagonal: 0 the main one, above 0 to its right, below 0 to its left.
        batch_shape: Leading axes along which the matrix is repeated.
        dtype: The result's dtype.
        device: The backend that makes it; without one the backend in force.

    >>> wk.eye(2, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if device is not None:
        with use_backend(device):
            return eye(n_rows, n_cols, k=k, batch_shape=batch_shape, dtype=dtype)
    rows = _length("n_rows", n_rows)
    cols = rows if n_cols is None else _length("n_cols", n_cols)
    batch = lengths("eye", "batch_shape", batch_shape)
    most = cols if rows else 0  # beyond the corners there is no 1
    first = min(max(integer("eye", "k", k), -rows), most)
    chosen = "float32" if dtype is None else dtype
    columns = run("Range", start=first, stop=first + rows, step=1, dtype="int32")
    matrix = _one_hot(columns, cols, 1, 0, chosen)
    return shapes.broadcast_to(matrix, (*batch, rows, cols)) if batch else matrix


def _length(name: str, value: Any) -> int:
    length = integer("eye", name, value)
    if length < 0:
        raise ShapeError(f"eye: {name} is {length}; want at least 0.")
    return length


def _one_hot(
    indices: TensorLike, depth: int, on_value: float, off_value: float, dtype: Any
) -> Tensor:
    chosen = chosen_dtype(dtype, "int32")
    return run("OneHot", indices, depth=depth, on_value=on_value, off_value=off_value, dtype=chosen)


@signature("OneHot")
def _one_hot_signature(
    indices: Spec,
    /,
    *,
    depth: int,
    on_value: Scalar = 1,
    off_value: Scalar = 0,
    dtype: DType = "int32",
) -> Spec:
    require_dtype("OneHot", "indices", indices, "int32")
    if depth < 0:
        raise ArgumentError(f"OneHot: depth is {depth}; want a whole number of at least 0.")
    fitting("OneHot", "on_value", on_value, dtype)
    fitting("OneHot", "off_value", off_value, dtype)
    return Spec((*indices.shape, depth), canonical(dtype))


@cpu_kernel("OneHot")
def _one_hot_cpu(
    indices: Array, *, depth: int, on_value: Scalar, off_value: Scalar, dtype: DType
) -> Array:
    y = np.full((indices.size, depth), off_value, numpy_dtype(dtype))
    places = indices.reshape(-1)
    inside = np.flatnonzero((places >= 0) & (places < depth))
    y[inside, places[inside]] = on_value
    return y.reshape(*indices.shape, depth)


@wgsl_kernel("OneHot", dtypes=("int32",))
def _one_hot_webgpu(
    gpu: Gpu,
    indices: GpuArray,
    *,
    depth: int,
    on_value: Scalar,
    off_value: Scalar,
    dtype: DType,
) -> GpuArray:
    y = gpu.empty((*indices.shape, depth), dtype)
    is_vec4 = depth % 4 == 0 and dtype != "complex64"
    units, turns = y.size // (4 if is_vec4 else 1), gpu.policy.units_moved("OneHot")
    if units:
        gpu.dispatch(
            "shapes/creation/one_hot.wesl",
            {"indices": indices, "y": y},
            configuration={"VEC4": is_vec4},
            params={
                "units": units,
                "turns": turns,
                "depth": depth,
                "on": stored(on_value, dtype),
                "off": stored(off_value, dtype),
            },
            groups=gpu.grid(math.ceil(units / turns), 64),
        )
    return y


no_gradient("OneHot", because="its input holds integers")


@public(numpy="ones_like", tfjs="onesLike")
def ones_like(
    x: TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Return a tensor of the shape of ``x``, and its dtype unless told, filled with 1.

    >>> wk.ones_like([[3, 4]]).tolist()
    [[1, 1]]
    """
    if dtype is None and device is None:
        return run("OnesLike", x)
    return full_like(x, 1, dtype=dtype, device=device)


@public(numpy="zeros_like", tfjs="zerosLike")
def zeros_like(
    x: TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Return a tensor of the shape of ``x``, and its dtype unless told, filled with 0.

    >>> wk.zeros_like([[3, 4]]).tolist()
    [[0, 0]]
    """
    if dtype is None and device is None:
        return run("ZerosLike", x)
    return full_like(x, 0, dtype=dtype, device=device)


def _declare_filled(kernel: str, filled: Callable[..., Array], shader: str) -> None:
    @signature(kernel)
    @exact(*NUMBERS, reads=False)
    def filled_signature(x: Spec, /) -> Spec:
        require_dtype(kernel, "x", x, *NUMERIC)
        return x

    @cpu_kernel(kernel)
    def filled_cpu(x: Array) -> Array:
        return filled(x.shape, x.dtype)

    wgsl_kernel(kernel, shader)

    @gradient(kernel)
    def filled_grad(dy: Tensor) -> Tensor:
        return zeros_like(dy)


_declare_filled("OnesLike", np.ones, "shapes/creation/ones_like.wgsl")
_declare_filled("ZerosLike", np.zeros, "shapes/creation/zeros_like.wgsl")


def fitting(kernel: str, name: str, value: Any, dtype: DType) -> None:
    """Refuse an attribute that is a number or string which ``dtype`` cannot hold.

    Raises:
        ArgumentError: It cannot.
    """
    if canonical(dtype) == "string":
        fits, want = isinstance(value, (str, bytes)), "a string"
    elif not isinstance(value, (bool, int, float, complex)):
        fits, want = False, "a number"
    elif dtype == "bool":
        fits, want = value in (0, 1), "True or False"
    elif dtype in INTEGERS:
        bits = numpy_dtype(dtype).itemsize * 8
        fits, want = _fits(value, dtype), f"a whole number of {bits} bits"
    else:
        fits, want = _is_float(value, dtype), "a real number"
    if not fits:
        raise ArgumentError(f"{kernel}: {name} is {shown(value)} and dtype {dtype}; want {want}.")


def _is_float(value: Scalar, dtype: DType) -> bool:
    if isinstance(value, complex):
        return "complex" in dtype
    try:
        float(value)
    except OverflowError:  # an integer that no float holds
        return False
    return True


def _fits(value: Scalar, dtype: DType) -> bool:
    """Say whether a number is whole and within an integer dtype."""
    if isinstance(value, complex) or value != value // 1:
        return False
    limits = np.iinfo(numpy_dtype(dtype))
    return bool(limits.min <= value <= limits.max)


def stored(value: Scalar, dtype: DType) -> Scalar:
    """Return a number as a shader's field of the type of ``dtype`` takes it."""
    if dtype.startswith("complex"):
        return complex(value)
    return value if is_float(dtype) else int(value.real)
