"""Complex numbers: made of two parts, and taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public(tfjs="complex")
def complex(real: TensorLike, imag: TensorLike) -> Tensor:
    """Return the complex numbers ``real + 1j * imag``.

    Args:
        real: Floats or int32.
        imag: The shape of ``real``.

    Raises:
        ShapeError: The shapes differ.

    Example:
        >>> wk.complex([1.0], [2.0]).tolist()
        [(1+2j)]
    """
    return run("Complex", real, imag)


@signature("Complex", promote=("real", "imag"))
def _complex_signature(real: Spec, imag: Spec, /) -> Spec:
    require_dtype("Complex", "real", real, "float32", "int32")
    require_dtype("Complex", "imag", imag, "float32", "int32")
    if real.shape != imag.shape:
        raise ShapeError(
            f"Complex: real has shape {show(real.shape)}, imag {show(imag.shape)}; want the same."
        )
    return real.like(dtype="complex128" if real.dtype == "float64" else "complex64")


@cpu_kernel("Complex")
def _complex_cpu(real: Array, imag: Array) -> Array:
    y = np.empty(real.shape, np.complex128 if real.dtype == np.float64 else np.complex64)
    y.real, y.imag = real, imag
    return y


wgsl_kernel("Complex", "elementwise/complex/complex.wgsl")


@gradient("Complex")
def _complex_grad(dy: Tensor) -> tuple[Tensor, Tensor]:
    return real(dy), imag(dy)


@signature("ComplexAbs")
def _complex_abs_signature(x: Spec, /) -> Spec:
    return _part("ComplexAbs", x, "x")


@cpu_kernel("ComplexAbs")
@silent
def _complex_abs_cpu(x: Array) -> Array:
    return np.abs(x)


wgsl_kernel("ComplexAbs", "elementwise/complex/complex_abs.wesl")


@gradient("ComplexAbs")
def _complex_abs_grad(dy: Tensor, x: Tensor, y: Tensor) -> Tensor:
    # dL/d conj(x) = dy * x / |x|; 0 at 0
    length = logical.where(compare.equal(y, 0.0), 1.0, y)
    return complex(dy * (real(x) / length), dy * (imag(x) / length))


@public(numpy="conjugate", method=True)
def conj(x: TensorLike) -> Tensor:
    """Return the complex conjugate; of real numbers ``x`` itself.

    Example:
        >>> wk.conj([1.0 + 2.0j]).tolist()
        [(1-2j)]
    """
    given = as_tensor(x)
    if given.spec.dtype not in COMPLEXES:
        return given
    return complex(real(given), -imag(given))


@public(numpy="imag", tfjs="imag", method=True)
def imag(x: TensorLike) -> Tensor:
    """Return the imaginary part of complex numbers.

    Example:
        >>> wk.imag([1.0 + 2.0j]).tolist()
        [2.0]
    """
    return run("Imag", x)


@signature("Imag")
def _imag_signature(input: Spec, /) -> Spec:
    return _part("Imag", input)


@cpu_kernel("Imag")
def _imag_cpu(input: Array) -> Array:
    return np.imag(input).copy()


wgsl_kernel("Imag", "elementwise/complex/imag.wgsl")


@gradient("Imag")
def _imag_grad(dy: Tensor) -> Tensor:
    return complex(creation.zeros_like(dy), dy)


@public(numpy="real", tfjs="real", method=True)
def real(x: TensorLike) -> Tensor:
    """Return the real part of complex numbers; of real ones ``x`` itself.

    Example:
        >>> wk.real([1.0 + 2.0j]).tolist()
        [1.0]
    """
    given = as_tensor(x)
    return run("Real", given) if given.dtype in COMPLEXES else given


@signature("Real")
def _real_signature(input: Spec, /) -> Spec:
    return _part("Real", input)


@cpu_kernel("Real")
def _real_cpu(input: Array) -> Array:
    return np.real(input).copy()


wgsl_kernel("Real", "elementwise/complex/real.wgsl")


@gradient("Real")
def _real_grad(dy: Tensor) -> Tensor:
    return complex(dy, creation.zeros_like(dy))


def _part(kernel: str, input: Spec, name: str = "input") -> Spec:
    require_dtype(kernel, name, input, "complex64")
    return input.like(dtype="float64" if input.dtype == "complex128" else "float32")
