"""Which floats are finite, infinite or NaN, elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.registry.exact import declare_exact
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.run import run
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.elementwise.logical import BECAUSE
from wgsl_kernels.ops.rules.specs import COMPLEX, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


def _bool_of_x(kernel: str) -> Callable[[Spec], Spec]:
    def rule(x: Spec, /) -> Spec:
        require_dtype(kernel, "x", x, *COMPLEX)
        return x.like(dtype="bool")

    return rule


@public(numpy="isfinite", tfjs="isFinite", method=True)
def isfinite(x: TensorLike) -> Tensor:
    """Return whether ``x`` is neither infinite nor NaN; of complex numbers both parts.

    Example:
        >>> wk.isfinite([1.0, wk.inf, wk.nan]).tolist()
        [True, False, False]
    """
    return run("IsFinite", x)


signature("IsFinite")(_bool_of_x("IsFinite"))


@cpu_kernel("IsFinite")
def _isfinite_cpu(x: Array) -> Array:
    return np.isfinite(x)


wgsl_kernel("IsFinite", "elementwise/classify/is_finite.wesl")
no_gradient("IsFinite", because=BECAUSE)


@public(numpy="isinf", tfjs="isInf", method=True)
def isinf(x: TensorLike) -> Tensor:
    """Return whether ``x`` is infinite; of complex numbers either part.

    Example:
        >>> wk.isinf([1.0, wk.inf, wk.nan]).tolist()
        [False, True, False]
    """
    return run("IsInf", x)


signature("IsInf")(_bool_of_x("IsInf"))


@cpu_kernel("IsInf")
def _isinf_cpu(x: Array) -> Array:
    return np.isinf(x)


wgsl_kernel("IsInf", "elementwise/classify/is_inf.wesl")
no_gradient("IsInf", because=BECAUSE)


@public(numpy="isnan", tfjs="isNaN", method=True)
def isnan(x: TensorLike) -> Tensor:
    """Return whether ``x`` is NaN; of complex numbers either part.

    Example:
        >>> wk.isnan([1.0, wk.inf, wk.nan]).tolist()
        [False, False, True]
    """
    return run("IsNan", x)


signature("IsNan")(_bool_of_x("IsNan"))


@cpu_kernel("IsNan")
def _isnan_cpu(x: Array) -> Array:
    return np.isnan(x)


wgsl_kernel("IsNan", "elementwise/classify/is_nan.wesl")
no_gradient("IsNan", because=BECAUSE)


# They look at bits.
declare_exact(("IsFinite", "IsInf", "IsNan"), NUMBERS)
