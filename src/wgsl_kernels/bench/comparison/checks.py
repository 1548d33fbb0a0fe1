"""The checks of one sample on one backend; each returns a row of the report."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.bench.comparison.derived import run_bounded
from wgsl_kernels.bench.comparison.judging import Errors, errors_of, exact_of, wide_inputs
from wgsl_kernels.bench.comparison.patterns import pattern
from wgsl_kernels.engine.autodiff.autodiff import GradientTape
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.drivers.memory import memory
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.engine.tensors.scopes import tidy
from wgsl_kernels.testing.closeness import largest_at, spacing
from wgsl_kernels.testing.gradients.differences import (
    DOUBLE,
    distance,
    double_gradients,
    numeric_gradients,
    parity_noise,
    second_differences,
    slope_along,
    tolerance,
)
from wgsl_kernels.testing.gradients.evaluation import (
    Array,
    Function,
    UpstreamGradients,
    gradients_of,
    is_smooth,
    outputs_of,
    smooth,
    wide_tensor,
)
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, tensors_for
from wgsl_kernels.testing.report import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.testing.sample import Sample

PARITY = {"float16": 2.0**-7}
"""What a gradient may be off, relative to its size and to the largest of its input, by dtype."""
SINGLE = 2.0**-17
"""The same for float32 and complex64."""
SECOND = 2e-5
"""What a second derivative in float64 may be off from differences of first ones."""
MOST = 20
"""Elements of an input that are looked at one by one; of a larger one some, and a direction."""


def has_gradient(sample: Sample) -> bool:
    """Say whether the kernel has a gradient rule and the sample a float input."""
    rule = find_rule(sample.kernel)
    floats = any(dtype.startswith(("float", "complex")) for dtype in sample.input_dtypes)
    return rule is not None and rule.func is not None and floats


def check_forward(sample: Sample, backend: str, layout: str = "default") -> Row:
    """Compare results with the exact ones, within the sample's bound."""
    arrays = arrays_for(sample)
    exact = exact_of(sample, arrays)
    with only(backend, sample):
        run = run_bounded(sample, tensors_for(arrays, layout), backend)
    worst = _Worst(run.may.words)
    wide = wide_inputs(arrays)
    if len(run.found) != len(exact):
        worst.fail(f"got {len(run.found)} outputs, want {len(exact)}")
    for index, ((dtype, actual), expected) in enumerate(zip(run.found, exact, strict=False)):
        bound = run.may.bounds[min(index, len(run.may.bounds) - 1)]
        errors = errors_of(bound, wide, actual, expected, dtype)
        if isinstance(errors, str):
            worst.fail(f"output {index} {errors}")
        else:
            worst.see(f"output {index}", errors)
    return worst.row("forward", sample, backend)


def check_gradient_by_numbers(sample: Sample) -> Row:
    """Compare the tape's gradient with differences, both on ``cpu`` in float64."""
    f, arrays, weights = call_of(sample), arrays_for(sample), UpstreamGradients()
    analytic = double_gradients(f, arrays, weights)
    numbers = numeric_gradients(f, arrays, weights, most=MOST)
    worst = _Worst()
    for index, a, n, at in numbers.pairs(analytic):
        if a.shape != n.shape:
            worst.fail(f"input {index} has a gradient of shape {list(a.shape)}")
        else:
            x, places = arrays[index][at], np.argwhere(at)
            worst.see_gradient(
                f"input {index}", a[at], n[at], DOUBLE, numbers.noise, x, places=places
            )
    if numbers.kinks:
        worst.add(f"{numbers.kinks} elements at kinks or ties are left out")
    slopes = [one for one in analytic if one is not None]
    if max(one.size for one in slopes) > MOST:
        along, change, noise = slope_along(f, arrays, slopes, weights, UpstreamGradients(seed=1))
        worst.see_gradient("one direction", along, change, DOUBLE, noise)
    return worst.row("gradient", sample, "cpu")


def check_direction(sample: Sample) -> Row:
    """Compare the shapes of gradients, and the change along one direction, in float64."""
    f, arrays, weights = call_of(sample), arrays_for(sample), UpstreamGradients()
    analytic = double_gradients(f, arrays, weights)
    worst = _Worst()
    for index, (a, x) in enumerate(zip(analytic, arrays, strict=True)):
        if a is not None and a.shape != x.shape:
            worst.fail(f"input {index} has a gradient of shape {list(a.shape)}")
            return worst.row("gradient", sample, "cpu")
    slopes = [one for one in analytic if one is not None]
    along, change, noise = slope_along(f, arrays, slopes, weights, UpstreamGradients(seed=1))
    worst.see_gradient("one direction", along, change, DOUBLE, noise)
    return worst.row("gradient", sample, "cpu")


def check_gradient_parity(sample: Sample, backend: str, layout: str = "default") -> Row:
    """Compare a backend's gradient, in the sample's dtype, with that of ``cpu`` in float64."""
    f, arrays, weights = call_of(sample), arrays_for(sample), UpstreamGradients()
    expected = double_gradients(f, arrays, weights)
    with only(backend, sample):
        found = gradients_of(f, tensors_for(arrays, layout), weights, LAYOUTS[layout])
    redrawn = partial(double_gradients, f, arrays, UpstreamGradients(seed=1))
    worst = _Worst()
    for index, (a, e) in enumerate(zip(found, expected, strict=True)):
        if a is not None and e is not None:
            factor = PARITY.get(sample.input_dtypes[index], SINGLE)
            noise = parity_noise(a, e, factor, redrawn, index)
            worst.see_gradient(f"input {index}", a, e, factor, noise, arrays[index])
    return worst.row("gradient parity", sample, backend)


def check_second_order(sample: Sample) -> Row:
    """Compare the gradient of the gradient with differences along one direction, in float64.

    With g the gradient of the loss at x for upstream dy, and v a direction: the gradient of <g, v>
    for x is how g changes along v (the Hessian is symmetric), and that for dy how f does.
    """
    f, arrays = call_of(sample), arrays_for(sample)
    weights, directions = UpstreamGradients(), UpstreamGradients(seed=1)
    change, moves, noise = second_differences(f, arrays, weights, directions)
    with double_precision():
        slopes, carried = tidy(lambda: _second(f, arrays, weights, directions))
    worst = _Worst()
    for kind, found, expected in (("input", slopes, change), ("dy of output", carried, moves)):
        for index, (a, n) in enumerate(zip(found, expected, strict=True)):
            x = arrays[index] if kind == "input" and len(arrays) == len(found) else None
            worst.see_gradient(f"{kind} {index}", a, n, SECOND, noise, x)
    return worst.row("second order", sample, "cpu")


def _second(
    f: Function, arrays: Sequence[Array], weights: UpstreamGradients, directions: UpstreamGradients
) -> tuple[list[Array], list[Array]]:
    xs = [wide_tensor(one) for one in arrays]
    sources = smooth(xs)
    with GradientTape() as outer:
        outer.watch(sources)
        with GradientTape() as inner:
            inner.watch(sources)
            ys = smooth(outputs_of(f, xs))
        dys = [tensor(weights.of(index, y)) for index, y in enumerate(ys)]
        outer.watch(dys)
        gradients = inner.gradient(ys, sources, dys)
    chosen = [directions.of(index, x) for index, x in enumerate(xs) if is_smooth(arrays[index])]
    pairs = [(g, tensor(v)) for g, v in zip(gradients, chosen, strict=True) if g is not None]
    found = outer.gradient([g for g, _ in pairs], [*sources, *dys], [v for _, v in pairs])
    filled = [
        np.zeros(x.shape, x.dtype) if g is None else g.numpy()
        for g, x in zip(found, [*sources, *dys], strict=True)
    ]
    return filled[: len(sources)], filled[len(sources) :]


def check_leaks(sample: Sample, backend: str, *, with_gradient: bool = True) -> Row:
    """Run forward and backward, and compare what lives before and after; nothing may remain."""
    f, arrays = call_of(sample), arrays_for(sample)

    def run() -> None:
        xs = tensors_for(arrays)
        if with_gradient and has_gradient(sample):
            gradients_of(f, xs, UpstreamGradients())
        for y in outputs_of(f, xs):
            y.numpy()

    with only(backend, sample):
        run()  # what stays from a first run, as pipelines do, is no leak
        enabled = gc.isenabled()
        gc.disable()  # so that cycles count as leaks, and nothing of others goes meanwhile
        try:
            before = memory()
            run()
            after = memory()
        finally:
            if enabled:
                gc.enable()
    left = after.num_tensors - before.num_tensors
    left += after.num_buffers - before.num_buffers
    nbytes = after.num_bytes - before.num_bytes
    note = f"{left} tensors and buffers remain, {nbytes} bytes"
    return Row("leaks", sample.id, backend, left == 0 and nbytes == 0, float(left), note=note)


@contextmanager
def only(backend: str, sample: Sample) -> Iterator[None]:
    """Run on ``backend``, and refuse to fall back from it, but for strings."""
    fallback = "silent" if "string" in sample.input_dtypes else "error"
    with use_backend(backend), config.using(fallback=fallback):
        yield


class _Worst:
    """The element furthest from its tolerance, over several arrays."""

    def __init__(self, bound: str = "") -> None:
        self._bound = bound
        self._added = ""
        self._ratio = -1.0
        self._facts = (0.0, 0.0, 0.0)
        self._note = ""
        self._passed = True
        self._evidence: tuple[tuple[str, str], ...] = ()

    def fail(self, note: str) -> None:
        """Fail for another reason than an element."""
        self._passed, self._note = False, note
        self._ratio, self._facts = np.inf, (np.inf, np.inf, 0.0)

    def add(self, note: str) -> None:
        self._added = f"; {note}"

    def see_gradient(
        self,
        what: str,
        a: Array,
        expected: Array,
        factor: float,
        noise: float,
        x: Array | None = None,
        places: Array | None = None,
    ) -> None:
        """Take in a gradient, what it should be and, where each has one, the inputs' elements.

        ``places`` are the elements' indices where these are some of an array's.
        """
        if a.shape != expected.shape:
            self.fail(f"{what} has a gradient of shape {list(a.shape)}")
            return
        unit = spacing(np.abs(expected), np.float32)
        errors = Errors(distance(a, expected), tolerance(expected, factor, noise), unit)
        before = self._ratio
        self.see(what, errors, places)
        if self._ratio > before:
            inputs = [] if x is None or x.shape != a.shape else [x]
            self._evidence = _shown(a, expected, errors, inputs)

    def see(self, what: str, errors: Errors, places: Array | None = None) -> None:
        """Take in what a result is off."""
        if errors.error.size == 0:
            return
        used = errors.used
        at = largest_at(used)
        self._passed = self._passed and not errors.wrong.any()
        if used[at] > self._ratio:
            error, allowed, unit = (float(one[at]) for one in errors)
            self._ratio, self._facts = float(used[at]), (error, error / unit, allowed)
            index = at if places is None else places[at[0]]
            self._note = f"{what} at {[int(one) for one in index]}"

    def row(self, check: str, sample: Sample, backend: str) -> Row:
        note = f"{self._note}; bound {self._bound}" if self._bound else self._note
        note += self._added
        evidence = () if self._passed else self._evidence
        return Row(
            check, sample.id, backend, self._passed, *self._facts, note=note, evidence=evidence
        )


def _shown(
    a: Array, expected: Array, errors: Errors, inputs: Sequence[Array]
) -> tuple[tuple[str, str], ...]:
    """Return what shows that gradients are wrong: the worst one, its input, what all have."""
    wrong, at = errors.wrong, largest_at(errors.used)
    common = pattern(wrong, inputs, ["x"] * len(inputs))
    return (
        ("got", f"{a[at]:.9g}"),
        ("expected", f"{expected[at]:.9g}"),
        *[("x", f"{one[at]:.9g}") for one in inputs],
        ("wrong", f"{int(wrong.sum())} of {wrong.size} elements{common and f', {common}'}"),
    )
