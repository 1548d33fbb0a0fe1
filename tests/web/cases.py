"""Functions that are exported and run outside of Python, and what their results must be."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.bench.comparison.judging import (
    bound_of,
    errors_of,
    exact_of,
    states_bound,
    wide_inputs,
)
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.testing import Sample

Arrays = dict[str, np.ndarray]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

KERNELS = frozenset(
    {
        *("Add", "ArgMax", "BatchMatMul", "Concat", "Conv2D", "Cumsum", "DepthwiseConv2dNative"),
        *("Exp", "FFT", "GatherV2", "IFFT", "LayerNorm", "LogSoftmax", "Max", "MaxPool", "Mean"),
        *("OneHot", "ScatterNd", "Select", "Softmax", "Sort", "Sum", "TopK", "Transpose"),
        *("UnsortedSegmentSum", "Variance"),
    }
)
"""Kernels of which all rows that state a bound, or give integers, are run."""


@dataclass(frozen=True)
class Case:
    """One program, and its runs in turn.

    Attributes:
        name: What its folder is called.
        f: What is exported.
        runs: The inputs of each run; the first are the export's example.
        judge: Returns what is wrong with the results of a run, by its number; "" where nothing is.
        error: What a run must say instead; "" where it has results.
    """

    name: str
    f: Callable[..., Any]
    runs: Sequence[Arrays]
    judge: Callable[[int, Arrays], str]
    error: str = ""


def cases() -> Iterator[Case]:
    """Yield all: rows of the samples, and programs with weights, state and reports."""
    rows = [one for one in all_samples() if one.kernel in KERNELS and _can_run(one)]
    for number, sample in enumerate(rows):
        yield _of_sample(f"{number:03}-{sample.kernel}", sample)
    yield _digits()
    yield _coral()
    yield _training()
    yield _swap()
    yield _drawn()
    yield _outside()


def _can_run(sample: Sample) -> bool:
    is_exact = sample.kernel in {"ArgMax", "OneHot"}
    return (states_bound(sample) or is_exact) and not {"float16", "float64", "string"} & set(
        sample.input_dtypes
    )


def _of_sample(name: str, sample: Sample) -> Case:
    arrays = arrays_for(sample)
    exact = exact_of(sample, arrays)

    def f(**given: Any) -> Any:
        found = sample.f(*given.values(), **sample.attrs)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def judge(run: int, found: Mapping[str, np.ndarray]) -> str:
        for number, expected in enumerate(exact):
            actual = found[str(number)]
            errors = errors_of(
                bound_of(sample), wide_inputs(arrays), actual, expected, actual.dtype.name
            )
            if isinstance(errors, str):
                return f"{sample.id}: output {number} {errors}"
            if not np.all(errors.error <= errors.allowed):
                return f"{sample.id}: output {number} is off by {np.max(errors.error):.3g}"
        return ""

    return Case(name, f, [{f"x{n}": one for n, one in enumerate(arrays)}], judge)


def _against(f: Callable[..., Any], runs: Sequence[Arrays], rtol: float) -> Callable[..., str]:
    """Return what compares with Python's own runs on ``cpu``, done here in turn."""
    with wk.use_backend("cpu"):
        expected = [
            {
                name: np.array(one.numpy())
                for name, one in f(**{n: wk.tensor(a) for n, a in run.items()}).items()
            }
            for run in runs
        ]

    def judge(run: int, found: Arrays) -> str:
        for name, one in expected[run].items():
            actual = found[name]
            if actual.shape != one.shape or actual.dtype != one.dtype:
                return f"{name} is {actual.dtype} {actual.shape}, want {one.dtype} {one.shape}"
            wide, exact = actual.astype(float), one.astype(float)
            off = np.abs(wide - exact).max(initial=0.0) / max(np.abs(exact).max(initial=0.0), 1e-30)
            if not off <= rtol:
                return f"run {run}: {name} is off by {off:.3g} of its largest number"
        return ""

    return judge


def _digits() -> Case:
    """The demo's network, trained, on the first two held-out images of each class, one by one."""
    with _examples("digits"):
        from data import load
        from web import EPOCHS, recogniser
    digits = load(0)
    f = recogniser(digits, EPOCHS)
    runs = [{"counts": counts} for counts, _ in drawn_digits()]
    return Case("digits", f, runs, _against(f, runs, 1e-5))


def drawn_digits() -> list[tuple[np.ndarray, int]]:
    """Return the first two held-out images of each class: counts [1, 8, 8, 1], and the digit."""
    with _examples("digits"):
        from data import CLASSES, load
    digits = load(0)
    counts = (digits.test_images * digits.spread + digits.center).round().astype(np.float32)
    return [
        (counts[at : at + 1], digit)
        for digit in range(CLASSES)
        for at in np.flatnonzero(digits.test_labels == digit)[:2]
    ]


def _coral() -> Case:
    """Reaction and diffusion: a kernel of a user's, and a state; drops fall in between."""
    with _examples():
        from coral import DROP, growing
    drop = np.array([20, 30, 5], np.float32)
    runs = [{"drop": one} for one in (DROP, drop, DROP, DROP)]
    with wk.use_backend("cpu"):
        exported, expected = growing(64, 4), growing(64, 4)
    return Case("coral/program", exported, runs, _against(expected, runs, 1e-5))


@contextmanager
def _examples(folder: str = "") -> Iterator[None]:
    """Have the modules of the examples be found in a block."""
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        yield
    finally:
        sys.path.remove(str(EXAMPLES / folder))


def _training() -> Case:
    """Steps of Adam: weights, moments and the count of steps are state of the page."""
    draw = np.random.default_rng(0)
    runs = [
        {
            "x": draw.normal(size=(16, 4)).astype(np.float32),
            "y": draw.normal(size=(16, 3)).astype(np.float32),
        }
        for _ in range(4)
    ]
    start = draw.normal(size=(4, 3)).astype(np.float32)

    def make() -> Callable[..., Any]:
        weights = wk.variable(start, name="weights")
        adam = wk.train.Adam(0.1)

        def step(x: wk.Tensor, y: wk.Tensor) -> dict[str, Any]:
            loss = adam.minimize(lambda: wk.mean(wk.square(x @ weights - y)))
            return {"loss": loss, "weights": weights}

        return step

    with wk.use_backend("cpu"):
        exported, expected = make(), make()
    return Case("training", exported, runs, _against(expected, runs, 1e-4))


def _swap() -> Case:
    """Two variables change places, one of them through a view."""

    def make() -> Callable[..., Any]:
        one = wk.variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="one")
        two = wk.variable(-np.ones((2, 3), np.float32), name="two")

        def f(x: wk.Tensor) -> dict[str, Any]:
            before = one + 0.0
            kept = wk.transpose(wk.transpose(two))
            two.assign(before)
            one.assign(kept)
            turned = wk.transpose(x)
            return {"one": one, "turned": turned, "flags": x > 0, "x": x}

        return f

    runs = [{"x": np.array([[1.0, -2.0, 3.0]], np.float32)}] * 3
    with wk.use_backend("cpu"):
        exported, expected = make(), make()
    judge = _against(expected, runs, 0.0)
    return Case("swap", exported, runs, judge)


def _drawn() -> Case:
    """Random numbers are those that Python draws: the key is state."""

    def f(x: wk.Tensor) -> dict[str, wk.Tensor]:
        return {"noise": wk.random_uniform((5, 7)) + x}

    runs = [{"x": np.zeros((5, 7), np.float32)}] * 2
    wk.random.seed(3)
    judge = _against(f, runs, 0.0)
    wk.random.seed(3)  # what the export begins from
    return Case("drawn", f, runs, judge)


def _outside() -> Case:
    """An index that is out of range is said in the words that Python has for it."""

    def f(values: wk.Tensor, indices: wk.Tensor) -> dict[str, wk.Tensor]:
        return {"found": wk.gather(values, indices)}

    values = np.arange(5, dtype=np.float32)
    runs = [{"values": values, "indices": np.array([0, 9], np.int32)}]
    words = ""
    try:
        with wk.use_backend("cpu"):
            f(**{name: wk.tensor(one) for name, one in runs[0].items()})
    except wk.IndexOutOfRange as error:
        words = str(error).partition(" Called at")[0]
    assert words
    return Case("outside", f, runs, lambda run, found: "it ran", words)
