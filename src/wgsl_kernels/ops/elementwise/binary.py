"""Arithmetic of two tensors, elementwise, with broadcasting; sums of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.extremes import extreme_of
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.autodiff.tape import Lazy
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import sequence
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype, show
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.ops.elementwise import compare, complex, complex_maps, exponential, logical
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import bools_as_numbers, cut
from wgsl_kernels.ops.rules.specs import COMPLEX, NUMBERS
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

Pair = tuple[Lazy, Lazy]


@public(numpy="add", tfjs="add", operator="add", method=True)
@elementwise("Add", "elementwise/binary/add.wgsl", cpu=silent(np.add), takes=COMPLEX, exact=NUMBERS)
def add(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a + b``; int32 wraps; logical or for bool.

    Example:
        >>> wk.add([1.0, 2.0], 0.5).tolist()
        [1.5, 2.5]
    """
    return run("Add", a, b)


@gradient("Add")
def _add_grad(dy: Tensor, a_shape: Shape, b_shape: Shape) -> Pair:
    return lambda: unbroadcast(dy, a_shape), lambda: unbroadcast(dy, b_shape)


@public(tfjs="addN")
def add_n(inputs: Sequence[TensorLike]) -> Tensor:
    """Return the sum of tensors of one shape and dtype.

    Args:
        inputs: At least one.

    Raises:
        ArgumentError: There is none.
        ShapeError: The shapes differ.
        DTypeError: The dtypes differ.

    Example:
        >>> wk.add_n([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).tolist()
        [9.0, 12.0]
    """
    return run("AddN", sequence("AddN", "inputs", inputs))


@signature("AddN")
def _add_n_signature(inputs: list[Spec], /) -> Spec:
    if not inputs:
        raise ArgumentError("AddN: inputs is empty; want at least one tensor.")
    first = inputs[0]
    require_dtype("AddN", "inputs[0]", first, "float32", "int32", "complex64")
    for index, one in enumerate(inputs):
        if one.shape != first.shape:
            raise ShapeError(
                f"AddN: inputs[{index}] has shape {show(one.shape)}, inputs[0] "
                f"{show(first.shape)}; want the same. Add broadcasts."
            )
        if one.dtype != first.dtype:
            raise DTypeError(
                f"AddN: inputs[{index}] has dtype {one.dtype}, inputs[0] {first.dtype}; "
                "want the same. Cast it first."
            )
    return first


@cpu_kernel("AddN")
@silent
def _add_n_cpu(inputs: list[Array]) -> Array:
    if len(inputs) == 1:
        return inputs[0]
    total = np.asarray(np.add(inputs[0], inputs[1]))
    for one in inputs[2:]:
        np.add(total, one, out=total)
    return total


@wgsl_kernel("AddN")
def _add_n_webgpu(gpu: Gpu, inputs: list[GpuArray]) -> GpuArray:
    total, rest = inputs[0], inputs[1:]
    while rest:
        part, rest = [total, *rest[:5]], rest[5:]
        total = gpu.empty(total.shape, total.dtype)
        arrays = dict(zip("abcdef", part + part[:1] * (6 - len(part)), strict=True))
        constants = {"count": len(part)}
        gpu.dispatch("elementwise/binary/add_n.wgsl", arrays | {"y": total}, constants=constants)
    return total


@gradient("AddN")
def _add_n_grad(dy: Tensor, inputs_shape: list[Shape]) -> list[Tensor]:
    return [dy for _ in inputs_shape]


@silent
def _divide_cpu(a: Array, b: Array) -> Array:
    if a.dtype == np.bool_:
        return np.logical_and(a, b)  # 1 / 0 and 0 / 0 are cut to 0
    quotient = np.true_divide(a, b)
    return quotient.astype(np.float32) if a.dtype == np.int32 else quotient


@public(numpy="divide", tfjs="div", operator="truediv", method=True)
@elementwise(
    "RealDiv",
    "elementwise/binary/real_div.wesl",
    cpu=_divide_cpu,
    takes=COMPLEX,
    gives={"int32": "float32"},
)
def divide(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a / b``; of int32 as float32. By 0 it is an infinity with its sign, or NaN.

    Example:
        >>> wk.divide([1, 3], 2).tolist()
        [0.5, 1.5]
    """
    return run("RealDiv", a, b)


@gradient("RealDiv")
def _divide_grad(dy: Tensor, a_shape: Shape, b: Tensor, y: Tensor) -> Pair:
    da = dy / complex.conj(b)
    return unbroadcast(da, a_shape), lambda: unbroadcast(-(da * complex.conj(y)), b.shape)


@public(numpy="floor_divide", tfjs="floorDiv", operator="floordiv", method=True)
def floor_divide(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a // b``, the largest whole number not above ``a / b``, in the dtype of the inputs.

    Of integers ``x // 0`` is ``x``. The gradient is 0.

    Example:
        >>> da, db = grads(floor_divide)(tensor([7.0, -7.0]), tensor([2.0, 2.0]))
        >>> da.tolist(), db.tolist()
        ([0.0, 0.0], [0.0, 0.0])
    """
    return run("FloorDiv", a, b, as_int32=False)


@signature("FloorDiv", promote=("a", "b"))
@exact("int32", "bool")
def _floor_divide_signature(a: Spec, b: Spec, /, *, as_int32: bool = True) -> Spec:
    # TensorFlow.js, and so the kernel by default, gives int32 for floats too, 0 where that is none.
    require_dtype("FloorDiv", "a", a, *NUMBERS)
    require_dtype("FloorDiv", "b", b, *NUMBERS)
    kept = a.dtype != "bool" and not as_int32
    return Spec(broadcast("FloorDiv", a=a, b=b), a.dtype if kept else "int32")


@cpu_kernel("FloorDiv")
def _floor_divide_cpu(a: Array, b: Array, *, as_int32: bool) -> Array:
    if a.dtype == np.bool_:
        return np.logical_and(a, b).astype(np.int32)
    quotient = numerics.floor_div(a, b)
    if not as_int32:
        return quotient
    return cut(quotient) if np.issubdtype(a.dtype, np.inexact) else np.where(b == 0, 0, quotient)


wgsl_kernel("FloorDiv", "elementwise/binary/floor_div.wesl")


@gradient("FloorDiv")
def _floor_divide_grad(dy: Tensor, a_shape: Shape, b_shape: Shape, a_dtype: Any) -> Pair:
    return creation.zeros(a_shape, a_dtype), creation.zeros(b_shape, a_dtype)


def _extreme_cpu(extreme: np.ufunc) -> Callable[[Array, Array], Array]:
    """Return the larger or the smaller of two arrays, of bools as int32."""

    def on_cpu(a: Array, b: Array) -> Array:
        found = extreme_of(extreme, a, b)
        return found.astype(np.int32) if a.dtype == np.bool_ else found

    return on_cpu


@public(numpy="maximum", tfjs="maximum", method=True)
@elementwise(
    "Maximum",
    "elementwise/binary/maximum.wesl",
    cpu=_extreme_cpu(np.maximum),
    gives={"bool": "int32"},
    exact=NUMBERS,
)
def maximum(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the larger of ``a`` and ``b``, NaN where either is; of bools as int32.

    0 is larger than -0, as IEEE 754-2019 has it, so the order of ``a`` and ``b`` does not matter.
    Where they are equal the gradient goes to ``a``; where either is NaN both gradients are 0.

    Example:
        >>> a, b = tensor([1.0, 2.0, np.nan]), tensor([1.0, 3.0, 0.0])
        >>> da, db = grads(lambda a, b: maximum(a, b))(a, b)
        >>> da.tolist(), db.tolist()
        ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    """
    return run("Maximum", a, b)


@gradient("Maximum")
def _maximum_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    return (
        lambda: unbroadcast(logical.where(a >= b, dy, 0.0), a.shape),
        lambda: unbroadcast(logical.where(a < b, dy, 0.0), b.shape),
    )


@public(numpy="minimum", tfjs="minimum", method=True)
@elementwise(
    "Minimum",
    "elementwise/binary/minimum.wesl",
    cpu=_extreme_cpu(np.minimum),
    gives={"bool": "int32"},
    exact=NUMBERS,
)
def minimum(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the smaller of ``a`` and ``b``, NaN where either is; of bools as int32.

    -0 is smaller than 0, as IEEE 754-2019 has it, so the order of ``a`` and ``b`` does not matter.
    Where they are equal the gradient goes to ``a``; where either is NaN both gradients are 0.

    Example:
        >>> a, b = tensor([1.0, 2.0, np.nan]), tensor([1.0, 3.0, 0.0])
        >>> da, db = grads(lambda a, b: minimum(a, b))(a, b)
        >>> da.tolist(), db.tolist()
        ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0])
    """
    return run("Minimum", a, b)


@gradient("Minimum")
def _minimum_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    return (
        lambda: unbroadcast(logical.where(a <= b, dy, 0.0), a.shape),
        lambda: unbroadcast(logical.where(a > b, dy, 0.0), b.shape),
    )


@public(numpy="multiply", tfjs="mul", operator="mul", method=True)
@elementwise(
    "Multiply",
    "elementwise/binary/multiply.wesl",
    cpu=silent(np.multiply),
    takes=COMPLEX,
    exact=NUMBERS,
)
def multiply(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a * b``; int32 wraps; logical and for bool.

    Example:
        >>> wk.multiply([1.0, 2.0], [[3.0], [4.0]]).tolist()
        [[3.0, 6.0], [4.0, 8.0]]
    """
    return run("Multiply", a, b)


@gradient("Multiply")
def _multiply_grad(dy: Tensor, a: Tensor, b: Tensor) -> Pair:
    return (
        lambda: unbroadcast(dy * complex.conj(b), a.shape),
        lambda: unbroadcast(dy * complex.conj(a), b.shape),
    )


@public(numpy="power", tfjs="pow", operator="pow", method=True)
@elementwise(
    "Pow",
    "elementwise/binary/pow.wesl",
    cpu=lambda a, b: a | ~b if a.dtype == np.bool_ else numerics.power(a, b),
)
def pow(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a`` to the power ``b``.

    Floats follow C99: NaN for a negative ``a`` and a ``b`` that is not whole, 1 for ``b`` = 0.
    int32 wraps, and a negative ``b`` cuts toward zero. The gradient of ``b`` is 0 where ``a`` is
    not above 0; that of ``a`` is 0 where both are 0.

    Example:
        >>> da, db = grads(pow)(tensor([0.0, -1.0, 1.0]), tensor([0.0, 2.0, 3.0]))
        >>> da.tolist(), db.tolist()
        ([0.0, -2.0, 3.0], [0.0, 0.0, 0.0])
    """
    try:
        return run("Pow", a, b)
    except DTypeError:
        return complex_maps.of_complex("pow", a, b)


@gradient("Pow")
def _pow_grad(dy: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Pair:
    # d/da a^b = b a^(b-1), which is 0 at a = b = 0; d/db a^b = a^b log a, taken as 0 for a <= 0.
    def da() -> Tensor:
        at_zero = logical.logical_and(compare.equal(a, 0.0), compare.equal(b, 0.0))
        found = dy * (b * pow(a, logical.where(at_zero, 0.0, b - 1.0)))
        return unbroadcast(found, a.shape)

    def db() -> Tensor:
        above = a > 0.0
        found = logical.where(above, dy * (y * exponential.log(logical.where(above, a, 1.0))), 0.0)
        return unbroadcast(found, b.shape)

    return da, db


@public(numpy="subtract", tfjs="sub", operator="sub", method=True)
@elementwise(
    "Sub",
    "elementwise/binary/sub.wgsl",
    cpu=silent(bools_as_numbers(np.subtract)),
    takes=COMPLEX,
    exact=NUMBERS,
)
def subtract(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a - b``; int32 wraps; logical xor for bool.

    Example:
        >>> wk.subtract([1.0, 2.0], 0.5).tolist()
        [0.5, 1.5]
    """
    return run("Sub", a, b)


@gradient("Sub")
def _subtract_grad(dy: Tensor, a_shape: Shape, b_shape: Shape) -> Pair:
    return unbroadcast(dy, a_shape), lambda: unbroadcast(-dy, b_shape)
