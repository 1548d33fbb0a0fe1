"""Parity: every kernel that a training step runs, run again on both backends and compared.

The calls are taken from a real step, with the inputs and attributes that it had. The reference is
the NumPy kernel in float64 on the same inputs; both backends' float32 must lie in its tolerance.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wgsl_kernels as wk
from tolerances import bound_of
from wgsl_kernels.bench.comparison.checks import SINGLE
from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
from wgsl_kernels.testing.bounds import contains
from wgsl_kernels.testing.closeness import spacing
from wgsl_kernels.testing.gradients.differences import parity_noise, tolerance

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Recorded:
    """One kernel run as it was: values by input name, and attributes."""

    kernel: str
    inputs: dict[str, np.ndarray]
    attrs: dict[str, Any]

    @property
    def form(self) -> tuple[Any, ...]:
        """What tells two runs of a kernel apart, values aside."""
        shapes = tuple((one.shape, one.dtype.name) for one in self.inputs.values())
        return (self.kernel, shapes, repr(sorted(self.attrs.items())))


@dataclass(frozen=True)
class Check:
    """The element nearest to its tolerance, or furthest beyond it.

    Attributes:
        error: How far it is from the reference, in the unit of the values.
        ulp: The same in units in the last place of the reference.
        allowed: What it may be off.
        passed: Whether every element is within its tolerance.
    """

    error: float = 0.0
    ulp: float = 0.0
    allowed: float = 0.0
    passed: bool = True

    @property
    def used(self) -> float:
        """The share of the tolerance that the error takes."""
        return self.error / self.allowed if self.error else 0.0


@dataclass
class Parity:
    """What was found of one kernel: the worst check of all its runs, by backend.

    Attributes:
        forms: How many runs with different shapes or attributes were compared.
        forward: By backend.
        gradient: By backend; empty where the kernel has no gradient.
    """

    kernel: str
    forms: int
    forward: dict[str, Check]
    gradient: dict[str, Check]

    @property
    def passed(self) -> bool:
        """Whether all backends are within the tolerance, forward and gradient."""
        return all(one.passed for one in (*self.forward.values(), *self.gradient.values()))


def record(step: Callable[[], Any]) -> list[Recorded]:
    """Run ``step`` and return its kernel runs, one of each form."""
    seen: dict[tuple[Any, ...], Recorded] = {}

    def watch(call: KernelRun, proceed: Proceed) -> Result:
        result = proceed(call)
        given = zip(_input_names(call.name), call.inputs, strict=True)
        inputs = {name: one.numpy() for name, one in given if one is not None}
        one = Recorded(call.name, inputs, dict(call.attrs))
        seen.setdefault(one.form, one)
        return result

    with wk.engine().intercept(watch):
        step()
    return list(seen.values())


def _input_names(kernel: str) -> list[str]:
    found = wk.get_kernel(kernel, "cpu")
    assert found is not None, kernel
    assert found.signature is not None, kernel
    return [one.name for one in found.signature.inputs]


def compare(recorded: Sequence[Recorded], backends: Sequence[str]) -> Iterator[Parity]:
    """Yield the parity of each kernel, in alphabetical order."""
    for kernel in sorted({one.kernel for one in recorded}):
        mine = [one for one in recorded if one.kernel == kernel]
        forward: dict[str, list[Check]] = {name: [] for name in backends}
        gradient: dict[str, list[Check]] = {name: [] for name in backends}
        for one in mine:
            exact, slopes = replay(one, "cpu", "float64")
            for backend in backends:
                found, found_slopes = replay(one, backend, "float32")
                forward[backend].append(_forward_check(one, found, exact))
                if slopes:
                    gradient[backend].append(_gradient_check(one, found_slopes, slopes))
        yield Parity(
            kernel=kernel,
            forms=len(mine),
            forward={name: _worst(checks) for name, checks in forward.items()},
            gradient={name: _worst(checks) for name, checks in gradient.items() if checks},
        )


def replay(one: Recorded, backend: str, dtype: str, seed: int = 0) -> tuple[Arrays, Arrays]:
    """Return a kernel's outputs, and the gradients of its float inputs; none where it has none.

    The arriving gradients are drawn from ``seed``, the same for every backend and dtype.
    """
    attrs = {name: dtype if value == "float32" else value for name, value in one.attrs.items()}
    draw = np.random.default_rng(seed)
    with wk.use_backend(backend):
        inputs = {name: _tensor(value, dtype) for name, value in one.inputs.items()}
        sources = [x for x in inputs.values() if x.dtype == dtype]
        with wk.GradientTape() as tape:
            tape.watch(sources)
            result = wk.engine().run_kernel(one.kernel, inputs, attrs)
        ys = list(result) if isinstance(result, tuple) else [result]
        dys = [_tensor(draw.normal(size=y.shape).astype(np.float32), dtype) for y in ys]
        try:
            found = tape.gradient(ys, sources, dys) if ys[0].dtype == dtype else []
        except wk.GradientNotFound:
            found = []
        slopes = zip(found, sources, strict=False)
        return [y.numpy() for y in ys], [
            np.zeros(x.shape) if slope is None else slope.numpy() for slope, x in slopes
        ]


def _tensor(value: np.ndarray, dtype: Any) -> wk.Tensor:
    return wk.tensor(value, dtype=dtype if value.dtype == np.float32 else None)


def _forward_check(one: Recorded, found: Arrays, exact: Arrays) -> Check:
    inputs = [x.astype(np.float64) for x in one.inputs.values()]
    bound = bound_of(one.kernel, one.attrs)
    checks = []
    for actual, expected in zip(found, exact, strict=True):
        if expected.dtype.kind != "f":
            same = bool(np.array_equal(actual, expected))
            checks.append(Check(passed=same))
            continue
        low, high = bound(inputs, expected)
        allowed = np.maximum(high - expected, expected - low)
        inside = contains((low, high), actual.astype(np.float64))
        checks.append(_check(actual, expected, allowed, passed=bool(np.all(inside))))
    return _worst(checks)


def _gradient_check(one: Recorded, found: Arrays, exact: Arrays) -> Check:
    def redrawn() -> Arrays:
        return replay(one, "cpu", "float64", seed=1)[1]

    checks = []
    for index, (actual, expected) in enumerate(zip(found, exact, strict=True)):
        noise = parity_noise(actual, expected, SINGLE, redrawn, index)
        allowed = tolerance(expected, SINGLE, noise)
        passed = bool(np.all(np.abs(actual - expected) <= allowed))
        checks.append(_check(actual, expected, allowed, passed=passed))
    return _worst(checks)


def _check(actual: np.ndarray, expected: np.ndarray, allowed: np.ndarray, *, passed: bool) -> Check:
    error = np.abs(actual - expected)
    share = np.where(error > 0, error / np.maximum(allowed, np.finfo(float).tiny), 0.0)
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    unit = spacing(np.abs(expected), np.float32)
    return Check(float(error[at]), float(error[at] / unit[at]), float(allowed[at]), passed)


def _worst(checks: Sequence[Check]) -> Check:
    return max(checks, key=lambda one: (not one.passed, one.used))
