"""Sums of products by subscripts, of any number of tensors."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import declare_product
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.host import as_array
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.elementwise import complex
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.linear_algebra.contraction import Groups, contract, read_equation
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.values.spec import Shape, Spec

declare_product("Einsum")


@public(tfjs="einsum")
def einsum(equation: str, *tensors: TensorLike) -> Tensor:
    """Return the sum of products of tensors, as an equation names their axes.

    Args:
        equation: A letter for each axis of each tensor, the tensors separated by commas, and behind
            ``->`` the letters of the result; without it, those that occur once, in alphabetical
            order. A letter that occurs twice in a tensor is its diagonal; ``...`` stands for
            further axes, which broadcast.
        *tensors: Their dtypes are promoted; complex ones are multiplied by their parts.

    Raises:
        ArgumentError: The equation cannot be read, or is of another number of tensors.
        ShapeError: The shapes do not fit it.

    Example:
        >>> einsum("ij,j->i", tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0])).tolist()
        [21.0, 43.0]
    """
    if any(map(_is_complex, tensors)):
        return _of_complex(
            text("Einsum", "equation", equation), [as_tensor(one) for one in tensors]
        )
    return run("Einsum", list(tensors), equation=equation)


def _is_complex(value: TensorLike) -> bool:
    if isinstance(value, Tensor):
        return value.spec.dtype in COMPLEXES
    return not isinstance(value, float | int | None) and as_array(value).dtype.kind == "c"


def _of_complex(equation: str, tensors: list[Tensor]) -> Tensor:
    """Return the contraction of tensors some of which are complex, a pair at a time."""
    read = read_equation[equation, tuple(one.shape for one in tensors)]
    left = list(zip(tensors, read.inputs, strict=True))
    for taken in read.path:
        found, *others = [left[place] for place in taken]
        left = [one for place, one in enumerate(left) if place not in taken]
        for place, other in enumerate(others or [None]):
            after = "".join(letters for _, letters in [*others[place + 1 :], *left])
            those = [found] if other is None else [found, other]
            is_last = not left and place + 1 >= len(others)
            present = dict.fromkeys("".join(letters for _, letters in those))
            kept = "".join(one for one in present if one in read.output + after)
            found = _pair_of_complex(those, read.output if is_last else kept)
        left.append(found)
    ((result, _),) = left
    return result


def _pair_of_complex(operands: list[tuple[Tensor, str]], letters: str) -> tuple[Tensor, str]:
    """Return the contraction to ``letters`` of one or two tensors from those of their parts."""
    equation = ",".join(own for _, own in operands) + "->" + letters

    def product(*parts: Tensor) -> Tensor:
        return run("Einsum", list(parts), equation=equation)

    kinds = [one.dtype in COMPLEXES for one, _ in operands]
    whole = [
        (complex.real(one), complex.imag(one)) if is_complex else (one, one)
        for (one, _), is_complex in zip(operands, kinds, strict=True)
    ]
    real, imag = [one[0] for one in whole], [one[1] for one in whole]
    if not any(kinds):
        return product(*real), letters
    if not all(kinds) or len(whole) == 1:
        return complex.complex(product(*real), product(*imag)), letters
    (a_re, a_im), (b_re, b_im) = whole
    return complex.complex(
        product(a_re, b_re) - product(a_im, b_im), product(a_re, b_im) + product(a_im, b_re)
    ), letters


@signature("Einsum", promote=("inputs",))
def _einsum_signature(inputs: list[Spec], /, *, equation: str) -> Spec:
    if not inputs:
        raise ArgumentError("Einsum: inputs is empty; want at least one tensor.")
    for place, one in enumerate(inputs):
        require_dtype("Einsum", f"inputs[{place}]", one, "float32", "int32")
    read = read_equation[equation, tuple(one.shape for one in inputs)]
    return inputs[0].like(shape=read.shape)


class _OnCpu:
    """Contractions in NumPy."""

    def along(self, x: Array, groups: Groups) -> Array:
        shape = [x.shape[group[0]] if group else 1 for group in groups]
        strides = [sum(x.strides[axis] for axis in group) for group in groups]
        return np.lib.stride_tricks.as_strided(x, shape, strides)

    def reshaped(self, x: Array, shape: Shape) -> Array:
        return x.reshape(shape)

    def summed(self, x: Array) -> Array:
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        return np.asarray(np.sum(x, axis=1, dtype=wide)).astype(x.dtype, copy=False)

    def multiplied(self, a: Array, b: Array, shape: Shape) -> Array:
        return np.broadcast_to(a * b, shape)

    def product(self, a: Array, b: Array) -> Array:
        return matrix.product_cpu(a, b, transpose_a=False, transpose_b=False)


@cpu_kernel("Einsum")
@silent
def _einsum_cpu(inputs: list[Array], *, equation: str) -> Array:
    read = read_equation[equation, tuple(one.shape for one in inputs)]
    if 0 in read.lengths.values():
        return np.zeros(read.shape, inputs[0].dtype)
    return contract(_OnCpu(), read, inputs)


class _OnDevice:
    """Contractions on the device: products of matrices, and maps where nothing is summed."""

    def __init__(self, gpu: Gpu, dtype: str) -> None:
        self._gpu = gpu
        self._dtype = dtype

    def along(self, x: GpuArray, groups: Groups) -> GpuArray:
        shape = tuple(x.shape[group[0]] if group else 1 for group in groups)
        strides = [sum(x.strides[axis] for axis in group) for group in groups]
        return self._gpu.view(x, shape, strides, x.offset)

    def reshaped(self, x: GpuArray, shape: Shape) -> GpuArray:
        return shapes.reshaped(self._gpu, x, shape)

    def summed(self, x: GpuArray) -> GpuArray:
        rows, columns = x.shape
        ones = self._gpu.full((columns, 1), x.dtype, 1)
        return self.reshaped(matrix.product_webgpu(self._gpu, x, ones, False, False), (rows,))

    def multiplied(self, a: GpuArray, b: GpuArray, shape: Shape) -> GpuArray:
        return self._gpu.map("elementwise/binary/multiply.wesl", {"a": a, "b": b}, shape, a.dtype)

    def product(self, a: GpuArray, b: GpuArray) -> GpuArray:
        return matrix.product_webgpu(self._gpu, a, b, False, False)


@wgsl_kernel("Einsum", dtypes=("float32", "float16", "int32"))
def _einsum_webgpu(gpu: Gpu, inputs: list[GpuArray], *, equation: str) -> GpuArray:
    read = read_equation[equation, tuple(one.shape for one in inputs)]
    dtype = inputs[0].dtype
    if 0 in read.lengths.values():
        return gpu.full(read.shape, dtype, 0)
    return contract(_OnDevice(gpu, dtype), read, inputs)


@gradient("Einsum")
def _einsum_grad(dy: Tensor, inputs: list[Tensor], equation: str) -> list[Lazy]:
    read = read_equation[equation, tuple(one.shape for one in inputs)]

    def of(place: int) -> Tensor:
        """Return the sum of what each element of an operand was multiplied by."""
        own, x = read.inputs[place], inputs[place]
        others = [one for at, one in enumerate(read.inputs) if at != place]
        given = [one for at, one in enumerate(inputs) if at != place]
        lengths = {letter: n for letter, n in zip(own, x.shape, strict=True) if n > 1}
        known = {*read.output, *"".join(others)}
        found = "".join(letter for letter in lengths if letter in known)
        before = ",".join([read.output, *others])
        y = einsum(f"{before}->{found}", dy, *given)
        return _spread_out(y, found, own, x.shape)

    return [functools.partial(of, place) for place in range(len(inputs))]


def _spread_out(y: Tensor, letters: str, own: str, shape: Shape) -> Tensor:
    """Return ``y`` repeated along axes that it lacks, and on the diagonal of those given twice."""
    seen: set[str] = set()
    diagonals: list[Tensor] = []
    first: list[int] = []
    lengths_of_y = dict(zip(letters, y.shape, strict=True))
    for axis, letter in enumerate(own):
        is_first = letter not in seen
        first.append(lengths_of_y.get(letter, 1) if is_first else 1)
        if not is_first and shape[axis] > 1:
            before = own.index(letter)
            lengths = [n if at in (before, axis) else 1 for at, n in enumerate(shape)]
            diagonals.append(shapes.reshape(creation.eye(shape[axis], dtype=y.dtype), lengths))
        seen.add(letter)
    order = [letters.index(letter) for letter in dict.fromkeys(own) if letter in letters]
    y = shapes.reshape(shapes.permute_dims(y, order), first)
    for one in diagonals:
        y = y * one
    return shapes.broadcast_to(y, shape) if math.prod(shape) != y.size else y
