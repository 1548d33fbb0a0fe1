"""Functions of complex numbers, elementwise, as compositions of functions of their parts.

Those that run a kernel of real numbers come here when it refuses complex ones, so that real ones
pay nothing. Branch cuts are C99's. Source of the forms: Kahan, Branch Cuts for Complex Elementary
Functions, 1987.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import normalize_axes, normalize_axis
from wgsl_kernels.ops.elementwise import complex, logical
from wgsl_kernels.ops.shapes import creation, joining, slicing
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


def of_complex(name: str, *xs: TensorLike) -> Tensor:
    """Return a function of complex numbers; to be called where its kernel has refused its input.

    Raises:
        DTypeError: None of ``xs`` is complex: the error in hand, as it is.
    """
    given = [as_tensor(one) for one in xs]
    if not any(one.dtype in COMPLEXES for one in given):
        raise
    return _MAPS[name](*given)


def _parts(z: Tensor) -> tuple[Tensor, Tensor]:
    return complex.real(z), complex.imag(z)


def _times_i(z: Tensor) -> Tensor:
    re, im = _parts(z)
    return complex.complex(-im, re)


def _over_i(z: Tensor) -> Tensor:
    re, im = _parts(z)
    return complex.complex(im, -re)


def _acos(z: Tensor) -> Tensor:
    re, im = _parts(_asin(z))
    return complex.complex(math.pi / 2 - re, -im)


def _acosh(z: Tensor) -> Tensor:
    return _log(z + _sqrt(z + 1.0) * _sqrt(z - 1.0))


def _asin(z: Tensor) -> Tensor:
    return _over_i(_asinh(_times_i(z)))


def _asinh(z: Tensor) -> Tensor:
    # odd; on the right no digits cancel
    re, im = _parts(z)
    left = re < 0.0
    right = complex.complex(re.abs(), logical.where(left, -im, im))
    y_re, y_im = _parts(_log(right + _sqrt(right * right + 1.0)))
    return complex.complex(logical.where(left, -y_re, y_re), logical.where(left, -y_im, y_im))


def _atan(z: Tensor) -> Tensor:
    return _over_i(_atanh(_times_i(z)))


def _atanh(z: Tensor) -> Tensor:
    return (_log1p(z) - _log1p(-z)) * 0.5


def _cos(z: Tensor) -> Tensor:
    re, im = _parts(z)
    return complex.complex(re.cos() * im.cosh(), -(re.sin() * im.sinh()))


def _cosh(z: Tensor) -> Tensor:
    return _cos(_times_i(z))


def _exp(z: Tensor) -> Tensor:
    re, im = _parts(z)
    size = re.exp()
    return complex.complex(size * im.cos(), size * im.sin())


def _expm1(z: Tensor) -> Tensor:
    re, im = _parts(z)
    half = (im * 0.5).sin()
    real = re.expm1() * im.cos() - 2.0 * (half * half)
    return complex.complex(real, re.exp() * im.sin())


def _log(z: Tensor) -> Tensor:
    re, im = _parts(z)
    return complex.complex(z.abs().log(), run("Atan2", im, re))


def _log1p(z: Tensor) -> Tensor:
    re, im = _parts(z)
    is_small = z.abs() < 0.5
    inner = logical.where(is_small, re * (re + 2.0) + im * im, 0.0)
    size = (z + 1.0).abs()
    outer = logical.where(is_small, 1.0, size).log()
    real = logical.where(is_small, inner.log1p() * 0.5, outer)
    return complex.complex(real, run("Atan2", im, re + 1.0))


def _pow(a: Tensor, b: Tensor) -> Tensor:
    is_zero = a.abs() == 0.0
    power = _exp(b * _log(logical.where(is_zero, 1.0, a)))
    at_zero = logical.where(b.abs() == 0.0, 1.0, 0.0)
    return logical.where(is_zero, at_zero, power)


def _round(z: Tensor) -> Tensor:
    return complex.complex(*(one.round() for one in _parts(z)))


def _sin(z: Tensor) -> Tensor:
    return _over_i(_sinh(_times_i(z)))


def _sinh(z: Tensor) -> Tensor:
    re, im = _parts(z)
    return complex.complex(re.sinh() * im.cos(), re.cosh() * im.sin())


def _sqrt(z: Tensor) -> Tensor:
    re, im = _parts(z)
    larger = ((z.abs() + re.abs()) * 0.5).sqrt()
    is_zero = larger == 0.0
    other = logical.where(is_zero, 0.0, im * 0.5 / logical.where(is_zero, 1.0, larger))
    is_right = re >= 0.0
    return complex.complex(
        logical.where(is_right, larger, other.abs()),
        logical.where(is_right, other, run("CopySign", larger, im)),
    )


def _tan(z: Tensor) -> Tensor:
    return _over_i(_tanh(_times_i(z)))


def _tanh(z: Tensor) -> Tensor:
    # (tanh a + i tan b) / (1 + i tanh a tan b)
    re, im = _parts(z)
    wide, turn = re.tanh(), im.tan()
    return complex.complex(wide, turn) / complex.complex(creation.ones_like(re), wide * turn)


def cumulative(name: str, x: TensorLike, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """Return running sums or products of complex numbers; to be called as `of_complex` is."""
    z = as_tensor(x)
    if z.dtype not in COMPLEXES:
        raise
    axis = normalize_axis(name, axis, z.ndim)
    if name == "Cumsum":
        return complex.complex(
            *(
                one.cumulative_sum(axis=axis, exclusive=exclusive, reverse=reverse)
                for one in _parts(z)
            )
        )
    y = shapes.flip(z, axis=axis) if reverse else z
    if exclusive:
        y = _moved_on(y, axis, 1)
    step = 1
    while step < y.shape[axis]:  # Hillis and Steele, Data Parallel Algorithms, 1986
        y, step = y * _moved_on(y, axis, step), 2 * step
    return shapes.flip(y, axis=axis) if reverse else y


def _moved_on(z: Tensor, axis: int, step: int) -> Tensor:
    """Return the elements along an axis ``step`` places on, with 1 in front."""
    ones = creation.ones([step if i == axis else n for i, n in enumerate(z.shape)], dtype=z.dtype)
    size = [max(n - step, 0) if i == axis else n for i, n in enumerate(z.shape)]
    return joining.concat([ones, slicing.slice(z, [0] * z.ndim, size)], axis=axis)


def product(x: TensorLike, axis: int | Sequence[int] | None, keepdims: bool) -> Tensor:
    """Return products of complex numbers along axes; to be called as `of_complex` is."""
    z = as_tensor(x)
    if z.dtype not in COMPLEXES:
        raise
    axes = normalize_axes("Prod", axis, z.ndim)
    others = [one for one in range(z.ndim) if one not in axes]
    kept = tuple(z.shape[one] for one in others)
    y = shapes.reshape(
        shapes.permute_dims(z, (*others, *axes)),
        (*kept, math.prod(z.shape[one] for one in axes)),
    )
    if not y.shape[-1]:
        y = creation.ones((*kept, 1), dtype=z.dtype)
    while y.shape[-1] > 1:
        half = y.shape[-1] // 2
        pairs = y[..., :half] * y[..., half : 2 * half]
        rest = y[..., 2 * half :]
        y = joining.concat([pairs, rest], axis=-1) if rest.shape[-1] else pairs
    lengths = [1 if i in axes else n for i, n in enumerate(z.shape)] if keepdims else kept
    return shapes.reshape(y, lengths)


_MAPS: dict[str, Callable[..., Tensor]] = {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _asin,
    "asinh": _asinh,
    "atan": _atan,
    "atanh": _atanh,
    "cos": _cos,
    "cosh": _cosh,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log10": lambda z: _log(z) * (1 / math.log(10.0)),
    "log1p": _log1p,
    "log2": lambda z: _log(z) * (1 / math.log(2.0)),
    "pow": _pow,
    "round": _round,
    "sin": _sin,
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": _tan,
    "tanh": _tanh,
}
