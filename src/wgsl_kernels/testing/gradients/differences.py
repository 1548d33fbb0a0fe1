"""Gradients by numbers: central differences in float64, and how far the tape's are from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.scopes import tidy
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.testing.gradients.evaluation import (
    Array,
    Function,
    UpstreamGradients,
    gradients_of,
    is_smooth,
    loss_terms,
    outputs_of,
    wide_tensor,
    widened,
)
from wgsl_kernels.testing.gradients.extrapolation import slope_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STEP = 6e-6
"""The step of a difference, about the cube root of float64's precision, times max(1, |x|)."""

PRECISION = {"float16": 2e-2, "float32": 2e-4, "complex64": 2e-4}
"""What `check_gradient` allows, relative to the gradient, by dtype of the input."""
DOUBLE = 1e-6


@dataclass(frozen=True)
class Numbers:
    """A gradient by differences.

    Attributes:
        gradients: By input, in double precision; None for one that is no float.
        smooth_at: Where it was looked at, and no kink or tie was found: elsewhere there is none.
        kinks: How many elements were left out as being at a kink or a tie.
        noise: What rounding in float64 may have added to any element.
    """

    gradients: list[Array | None]
    smooth_at: list[Array | None]
    kinks: int
    noise: float

    def pairs(self, analytic: Sequence[Array | None]) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield number, gradient, numbers and where these count, of each input with a gradient."""
        rows = zip(analytic, self.gradients, self.smooth_at, strict=True)
        for index, (a, n, at) in enumerate(rows):
            if a is not None and n is not None and at is not None:
                yield index, a, n, at


def compute_gradient_error(f: Function, inputs: Any, *, eps: float | None = None) -> float:
    """Return the largest |analytic - numeric| over the elements of all float inputs.

    The analytic gradient is the tape's, on the active backend in the inputs' dtypes. The numeric
    one is always taken on ``cpu`` in float64: captured tensors and new floats are float64 there
    too, and random draws repeat. Outputs that are no scalars are weighted by fixed numbers.
    Differences are extrapolated (Richardson); elements at a kink or a tie are left out.

    Args:
        f: Takes the inputs and returns a tensor, or any nesting of them.
        inputs: Tensors or arrays; one alone may stand bare.
        eps: The step of the central differences, in the unit of the inputs; without it 1e-4
            times max(1, |x|), less where that does not do.

    Returns:
        Infinity where one of the two is NaN or infinite and the other is not the same.

    Raises:
        ArgumentError: ``f`` casts to float32, or no input is a float.
    """
    xs = _sources(inputs)
    analytic, numbers = _both(f, xs, eps)
    errors = [np.max(distance(a, n)[at], initial=0.0) for _, a, n, at in numbers.pairs(analytic)]
    return float(max(errors))


def check_gradient(f: Function, inputs: Any) -> None:
    """Raise unless the gradient of ``f`` agrees with differences; see `compute_gradient_error`.

    The tolerance of an element is a factor times its size and the largest of its input: 2e-4 where
    the input is float32, 1e-6 for float64, and what rounding adds to the differences.

    Args:
        f: Takes the inputs and returns a tensor, or any nesting of them.
        inputs: Tensors or arrays; one alone may stand bare.

    Raises:
        AssertionError: They disagree; the message names the worst element.
        ArgumentError: ``f`` casts to float32, or no input is a float.
    """
    xs = _sources(inputs)
    analytic, numbers = _both(f, xs, None)
    worst: tuple[float, str] | None = None
    for index, a, n, smooth_at in numbers.pairs(analytic):
        if not smooth_at.any():
            continue
        allowed = tolerance(n, PRECISION.get(xs[index].dtype, DOUBLE), numbers.noise)
        with np.errstate(invalid="ignore"):
            excess = np.where(smooth_at, distance(a, n) / allowed, 0.0)
        at = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[at] > 1 and (worst is None or excess[at] > worst[0]):
            place = [int(one) for one in at]
            worst = (
                float(excess[at]),
                f"check_gradient: input {index} at {place}: the gradient is {a[at]:.9g}, by "
                f"numbers {n[at]:.9g}; the tolerance is {allowed[at]:.3g}.",
            )
    if worst is not None:
        raise AssertionError(worst[1])


def tolerance(expected: Array, factor: float, noise: float) -> Array:
    """Return what a gradient may be off, per element."""
    size = np.abs(np.where(np.isfinite(expected), expected, 0))
    return np.asarray(factor * (size + np.max(size, initial=0.0)) + noise)


def parity_noise(
    found: Array,
    expected: Array,
    factor: float,
    redrawn: Callable[[], Sequence[Array | None]],
    index: int,
) -> float:
    """Return what a gradient may be off that in float64 besides what its own size allows.

    The gradient of an input that is broadcast is a sum, whose terms may happen to cancel. So where
    a gradient is beyond its tolerance, its size is that of other upstream gradients, too, whose
    terms are as large: ``redrawn`` computes them, and ``index`` is the input's.
    """
    least = 2.0**-120
    if found.shape != expected.shape:
        return least
    if not (distance(found, expected) > tolerance(expected, factor, least)).any():
        return least
    other = redrawn()[index]
    return least if other is None else float(tolerance(other, factor, least).max(initial=least))


def distance(a: Array, b: Array) -> Array:
    """Return |a - b|: 0 where both are NaN or the same infinity, infinite where only one is."""
    with np.errstate(invalid="ignore"):
        error = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)))


def numeric_gradients(
    f: Function,
    arrays: Sequence[Array],
    weights: UpstreamGradients,
    eps: float | None = None,
    most: int | None = None,
) -> Numbers:
    """Return the gradient of the loss of ``f`` by central differences on ``cpu`` in float64.

    Args:
        f: The function.
        arrays: Where the gradient is taken.
        weights: The upstream gradients.
        eps: The step; see `compute_gradient_error`.
        most: How many elements of each input are moved.
    """
    with double_precision():
        xs = [wide_tensor(one) for one in arrays]
        scale = sum(float(np.sum(np.abs(one))) for one in _terms(f, xs, weights))
        found = [
            _by_differences(f, xs, index, weights, eps, most) if is_smooth(one) else None
            for index, one in enumerate(arrays)
        ]
    gradients = [None if one is None else one[0] for one in found]
    smooth_at = [None if one is None else one[1] for one in found]
    looked = sum(len(_chosen(one.shape, most)) for one in arrays if is_smooth(one))
    kinks = looked - sum(int(one.sum()) for one in smooth_at if one is not None)
    noise = 1e-9 * max(1.0, scale if np.isfinite(scale) else 1.0)
    return Numbers(gradients, smooth_at, kinks, noise)


def _by_differences(
    f: Function,
    xs: list[Tensor],
    index: int,
    weights: UpstreamGradients,
    eps: float | None,
    most: int | None,
) -> tuple[Array, Array]:
    """Return the gradient for one input, and where it was looked at."""
    center = xs[index].numpy()
    directions = (1.0, 1j) if np.iscomplexobj(center) else (1.0,)
    gradient = np.zeros(center.shape, center.dtype)
    is_smooth_at = np.zeros(center.shape, bool)
    middle = _total(_terms(f, xs, weights))
    for at in _chosen(center.shape, most):
        found: list[Any] = []
        for direction in directions:

            def moved(step: float, at: Any = at, direction: complex = direction) -> float:
                values = center.copy()
                values[at] += step * direction
                shifted = [*xs[:index], wide_tensor(values), *xs[index + 1 :]]
                return _total(_terms(f, shifted, weights))

            found.append(slope_at(moved, middle, float(abs(center[at])), eps))
        if all(one is not None for one in found):
            gradient[at] = sum(a * b for a, b in zip(directions, found, strict=True))
            is_smooth_at[at] = True
    return gradient, is_smooth_at


def _total(terms: Sequence[Array]) -> float:
    return float(sum(float(np.sum(one)) for one in terms))


def _chosen(shape: tuple[int, ...], most: int | None) -> list[tuple[int, ...]]:
    every = list(np.ndindex(shape))
    if most is None or len(every) <= most:
        return every
    draw = np.random.default_rng(len(every))
    return [every[one] for one in sorted(draw.choice(len(every), most, replace=False))]


def _terms(f: Function, xs: list[Tensor], weights: UpstreamGradients) -> list[Array]:
    return tidy(lambda: loss_terms(outputs_of(f, xs), weights))


def _sources(inputs: Any) -> list[Tensor]:
    alone = isinstance(inputs, (Tensor, np.ndarray, int, float, complex))
    given = [inputs] if alone else list(inputs)
    xs = [stop_gradient(one) if isinstance(one, Tensor) else tensor(one) for one in given]
    if not any(x.dtype.startswith(("float", "complex")) for x in xs):
        raise ArgumentError("compute_gradient_error: no input is a float; no gradient flows.")
    return xs


def _both(f: Function, xs: list[Tensor], eps: float | None) -> tuple[list[Array | None], Numbers]:
    weights = UpstreamGradients()
    analytic = gradients_of(f, xs, weights)
    return analytic, numeric_gradients(f, [x.numpy() for x in xs], weights, eps)


def double_gradients(
    f: Function, arrays: Sequence[Array], weights: UpstreamGradients
) -> list[Array | None]:
    """Return the tape's gradient of the loss of ``f``, computed on ``cpu`` in float64."""
    with double_precision():
        return gradients_of(f, [wide_tensor(one) for one in arrays], weights)


def slope_along(
    f: Function,
    arrays: Sequence[Array],
    slopes: Sequence[Array],
    weights: UpstreamGradients,
    directions: UpstreamGradients,
) -> tuple[Array, Array, float]:
    """Return the change of the loss along one direction: from gradients, by numbers, the noise.

    The direction is drawn from ``directions``; ``slopes`` are the gradients of the float inputs.
    """
    chosen = [
        directions.of(index, one) if is_smooth(one) else None for index, one in enumerate(arrays)
    ]
    ends = []
    for sign in (STEP, -STEP):
        with double_precision():
            xs = [wide_tensor(one) for one in _moved(arrays, chosen, sign)]
            ends.append(_terms(f, xs, weights))
    change = sum(float(np.sum(a - b)) for a, b in zip(*ends, strict=True)) / (2 * STEP)
    along = [v for v in chosen if v is not None]
    parts = [np.real(np.conj(g) * v) for g, v in zip(slopes, along, strict=True)]
    expected = sum(float(np.sum(part)) for part in parts)
    size = sum(float(np.sum(np.abs(part))) for part in parts)
    noise = 1e-9 * max(1.0, sum(float(np.sum(np.abs(one))) for one in ends[0]))
    return np.asarray(expected), np.asarray(change), noise + DOUBLE * size


def _moved(arrays: Sequence[Array], directions: Sequence[Array | None], step: float) -> list[Array]:
    return [
        one if v is None else widened(one) + step * v
        for one, v in zip(arrays, directions, strict=True)
    ]


def second_differences(
    f: Function, arrays: Sequence[Array], weights: UpstreamGradients, directions: UpstreamGradients
) -> tuple[list[Array], list[Array], float]:
    """Return how gradients and outputs of ``f`` change along one direction, and the noise.

    The direction is drawn from ``directions``; both are derivatives by central differences.
    """
    chosen = [
        directions.of(index, one) if is_smooth(one) else None for index, one in enumerate(arrays)
    ]
    ends: list[tuple[list[Array], list[Array]]] = []
    for sign in (STEP, -STEP):
        moved = _moved(arrays, chosen, sign)
        slopes = [one for one in double_gradients(f, moved, weights) if one is not None]
        with double_precision():
            values = [
                widened(y.numpy())
                for y in outputs_of(f, [wide_tensor(one) for one in moved])
                if y.dtype in ("float64", "complex128")
            ]
        ends.append((slopes, values))
    (slopes_above, values_above), (slopes_below, values_below) = ends
    size = max((float(np.max(np.abs(one), initial=0)) for one in slopes_above), default=0.0)
    with np.errstate(all="ignore"):  # results that are infinite have no differences
        change = [(a - b) / (2 * STEP) for a, b in zip(slopes_above, slopes_below, strict=True)]
        moves = [(a - b) / (2 * STEP) for a, b in zip(values_above, values_below, strict=True)]
    return change, moves, 1e-8 * max(1.0, size if np.isfinite(size) else 1.0)
