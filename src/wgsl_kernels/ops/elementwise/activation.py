"""Activation functions, elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import select, silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import logical
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float, cut_for_integers, whole
from wgsl_kernels.ops.rules.specs import FLOATS, NUMBERS, float_dtype
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


def _elu_cpu(x: Array) -> Array:
    value = as_float(x)
    return select(value >= 0, value, numerics.expm1(value))


@public(tfjs="elu", method=True)
@elementwise(
    "Elu",
    "elementwise/activation/elu.wesl",
    cpu=_elu_cpu,
    # y + 1 cancels below -1
    gradient=lambda dy, x: logical.where(x >= 0.0, dy, dy * _exp_below_zero(x)),
    gives=FLOATS,
)
def elu(x: TensorLike) -> Tensor:
    """Return ``x`` where it is not below 0, else ``exp(x) - 1``. The gradient at 0 is 1.

    Example:
        >>> grad(elu)(tensor([0.0, 2.0])).tolist()
        [1.0, 1.0]

    Source: Clevert, Unterthiner, Hochreiter, Fast and Accurate Deep Network Learning by
    Exponential Linear Units, 2015.
    """
    return run("Elu", x)


def _exp_below_zero(x: Tensor) -> Tensor:
    """Return e^x where ``x`` is below 0, else 1, so that nothing is infinite where it is unused."""
    return run("Exp", logical.where(x > 0.0, 0.0, x))


@signature("EluGrad", promote=("dy", "y"))
def _elu_grad_signature(dy: Spec, y: Spec, /) -> Spec:
    require_dtype("EluGrad", "dy", dy, "float32")
    require_dtype("EluGrad", "y", y, dy.dtype)
    if dy.shape != y.shape:
        raise ShapeError(
            f"EluGrad: dy has shape {show(dy.shape)}, y {show(y.shape)}; want the same."
        )
    return dy


@cpu_kernel("EluGrad")
@silent
def _elu_grad_cpu(dy: Array, y: Array) -> Array:
    return select(y >= 0, dy, dy * (y + 1))


wgsl_kernel("EluGrad", "elementwise/activation/elu_grad.wesl")


@gradient("EluGrad")
def _elu_grad_grad(ddx: Tensor, dy: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return run("EluGrad", ddx, y), logical.where(y >= 0.0, 0.0, ddx * dy)


@public(tfjs="leakyRelu", method=True)
def leaky_relu(x: TensorLike, *, alpha: float = 0.2) -> Tensor:
    """Return ``x`` where it is not below 0, else ``alpha * x``. The gradient at 0 is ``alpha``.

    Example:
        >>> grad(lambda x: leaky_relu(x, alpha=0.25))(tensor([-1.0, 0.0, 1.0])).tolist()
        [0.25, 0.25, 1.0]

    Source: Maas, Hannun, Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
    """
    return run("LeakyRelu", x, alpha=alpha)


@signature("LeakyRelu")
def _leaky_relu_signature(x: Spec, /, *, alpha: float) -> Spec:
    require_dtype("LeakyRelu", "x", x, *NUMBERS)
    return x.like(dtype=float_dtype(x.dtype))


@cpu_kernel("LeakyRelu")
@silent
def _leaky_relu_cpu(x: Array, *, alpha: float) -> Array:
    value = as_float(x)
    slope = (np.float64 if value.dtype == np.float16 else value.dtype.type)(alpha)
    return select(value < 0, np.asarray(value * slope).astype(value.dtype, copy=False), value)


wgsl_kernel("LeakyRelu", "elementwise/activation/leaky_relu.wesl")


@gradient("LeakyRelu")
def _leaky_relu_grad(dy: Tensor, x: Tensor, alpha: float) -> Tensor:
    return logical.where(x > 0.0, dy, dy * alpha)


@public(tfjs="prelu")
def prelu(x: TensorLike, alpha: TensorLike) -> Tensor:
    """Return ``x`` where it is not below 0, else ``alpha * x`` with trainable slopes.

    The gradient of ``x`` at 0 is ``alpha``.

    Args:
        x: Any shape.
        alpha: Broadcasts with ``x``.

    Example:
        >>> dx, slope = grads(prelu)(tensor([-1.0, 0.0, 1.0]), tensor([0.25, 0.25, 0.25]))
        >>> dx.tolist(), slope.tolist()
        ([0.25, 0.25, 1.0], [-1.0, 0.0, 0.0])

    Source: He, Zhang, Ren, Sun, Delving Deep into Rectifiers, 2015.
    """
    return run("Prelu", x, alpha)


@signature("Prelu", promote=("x", "alpha"))
def _prelu_signature(x: Spec, alpha: Spec, /) -> Spec:
    require_dtype("Prelu", "x", x, *NUMBERS)
    require_dtype("Prelu", "alpha", alpha, *NUMBERS)
    return Spec(broadcast("Prelu", x=x, alpha=alpha), float_dtype(x.dtype))


@cpu_kernel("Prelu")
@silent
def _prelu_cpu(x: Array, alpha: Array) -> Array:
    value = as_float(x)
    return select(value < 0, np.asarray(value * as_float(alpha)), value)


wgsl_kernel("Prelu", "elementwise/activation/prelu.wesl")


@gradient("Prelu")
def _prelu_grad(dy: Tensor, x: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    above = x > 0.0
    dx = logical.where(above, dy, dy * alpha)
    dalpha = logical.where(above, 0.0, dy * x)
    return unbroadcast(dx, x.shape), unbroadcast(dalpha, alpha.shape)


@public(tfjs="relu", method=True)
@elementwise(
    "Relu",
    "elementwise/activation/relu.wesl",
    cpu=numerics.positive,
    gradient=lambda dy, y: logical.where(y > 0.0, dy, 0.0),
    exact=NUMBERS,
)
def relu(x: TensorLike) -> Tensor:
    """Return ``x`` where it is above 0, else 0; NaN stays NaN. The gradient at 0 is 0.

    Example:
        >>> grad(relu)(tensor([-1.0, 0.0, 1.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    return run("Relu", x)


@public(tfjs="relu6")
@elementwise(
    "Relu6",
    "elementwise/activation/relu6.wesl",
    cpu=lambda x: x if x.dtype == np.bool_ else np.clip(x, x.dtype.type(0), x.dtype.type(6)),
    gradient=lambda dy, x: logical.where(logical.logical_and(x > 0.0, x <= 6.0), dy, 0.0),
    exact=NUMBERS,
)
def relu6(x: TensorLike) -> Tensor:
    """Return ``x`` limited to [0, 6]; the gradient is 1 in (0, 6].

    Example:
        >>> grad(relu6)(tensor([0.0, 1.0, 6.0, 7.0])).tolist()
        [0.0, 1.0, 1.0, 0.0]

    Source: Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.
    """
    return run("Relu6", x)


_SELU = 1.0507009873554805
_SELU_ALPHA = 1.7580993408473766
"""Scale, and scale times alpha."""


@silent
def _selu_cpu(x: Array) -> Array:
    if np.issubdtype(x.dtype, np.inexact):
        below = numerics.expm1(x) * x.dtype.type(_SELU_ALPHA)
        return select(x >= 0, x * x.dtype.type(_SELU), below)
    wide = x.astype(np.float64)
    y = np.where(wide >= 0, wide * _SELU, np.expm1(wide) * _SELU_ALPHA)
    return y.astype(np.int64).astype(x.dtype)


@public(tfjs="selu", method=True)
@elementwise(
    "Selu",
    "elementwise/activation/selu.wesl",
    cpu=_selu_cpu,
    gradient=lambda dy, x: logical.where(
        x > 0.0, dy * _SELU, dy * (_exp_below_zero(x) * _SELU_ALPHA)
    ),
)
def selu(x: TensorLike) -> Tensor:
    """Return ``1.0507 * x`` where ``x`` is above 0, else ``1.7581 * (exp(x) - 1)``.

    Of integers cut toward zero. The gradient at 0 is 1.7581.

    Example:
        >>> wk.selu([-1.0, 1.0]).numpy().round(3)
        array([-1.111,  1.051], dtype=float32)

    Source: Klambauer, Unterthiner, Mayr, Hochreiter, Self-Normalizing Neural Networks, 2017.
    """
    return run("Selu", x)


@public(scipy="expit", tfjs="sigmoid", method=True)
@elementwise(
    "Sigmoid",
    "elementwise/activation/sigmoid.wesl",
    cpu=lambda x: numerics.sigmoid(as_float(x)),
    gradient=lambda dy, x, y: dy * (y * run("Sigmoid", -x)),  # 1 - y cancels where y is near 1
    gives=FLOATS,
)
def sigmoid(x: TensorLike) -> Tensor:
    """Return ``1 / (1 + exp(-x))``, elementwise.

    Example:
        >>> wk.sigmoid([0.0, 1.0]).numpy().round(3)
        array([0.5  , 0.731], dtype=float32)
    """
    return run("Sigmoid", x)


@public(tfjs="softplus", method=True)
@elementwise(
    "Softplus",
    "elementwise/activation/softplus.wesl",
    cpu=cut_for_integers(numerics.softplus),
    gradient=lambda dy, x: dy * sigmoid(x),
)
def softplus(x: TensorLike) -> Tensor:
    """Return ``log(1 + exp(x))``, elementwise; of integers cut toward zero.

    Example:
        >>> wk.softplus([0.0, 100.0]).numpy().round(3)
        array([  0.693, 100.   ], dtype=float32)
    """
    return run("Softplus", x)


@public(tfjs="step")
def step(x: TensorLike, *, alpha: float = 0.0) -> Tensor:
    """Return 1 where ``x`` is above 0, else ``alpha``; NaN stays NaN.

    Of integers and bools ``alpha`` is cut toward zero. The gradient is 0.

    Example:
        >>> grad(step)(tensor([-1.0, 0.0, 1.0])).tolist()
        [0.0, 0.0, 0.0]
    """
    return run("Step", x, alpha=alpha)


@signature("Step")
def _step_signature(x: Spec, /, *, alpha: float) -> Spec:
    require_dtype("Step", "x", x, *NUMBERS)
    return x


@cpu_kernel("Step")
def _step_cpu(x: Array, *, alpha: float) -> Array:
    if not np.issubdtype(x.dtype, np.inexact):
        return np.where(x > 0, 1, whole(alpha)).astype(x.dtype)
    one, below = x.dtype.type(1), x.dtype.type(alpha)
    return select(np.isnan(x), x, select(x > 0, np.asarray(one), np.asarray(below)))


def _step_params(alpha: float) -> dict[str, Any]:
    return {"whole_alpha": whole(alpha)}


wgsl_kernel("Step", "elementwise/activation/step.wesl", params=_step_params)


@gradient("Step")
def _step_grad(dy: Tensor) -> Tensor:
    return creation.zeros_like(dy)


# They compare and choose.
