"""The second call of a captured function: what the function does otherwise than at the first."""

from __future__ import annotations

import re
import warnings
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

pytestmark = pytest.mark.usefixtures("backend")

SAID = "On a GPU this stays what it was at the first call: pass it as an argument"


class Outside:
    """What functions read of the host: each call of `change` makes all of it another."""

    def __init__(self) -> None:
        self.number = 1
        self.change()

    def change(self) -> None:
        """Make everything another."""
        n = self.number = self.number + 1
        self.array = np.arange(3, dtype=np.float32) + n
        self.tensor = wk.tensor([1.0, 2.0, n])
        self.state = wk.tensor([1.0, 2.0, 3.0])
        self.variable = wk.variable([0.0, 0.0, 0.0])
        self.adam: Any = None
        self.kept = [*getattr(self, "kept", []), self.variable]


def moved_on(out: Outside, x: wk.Tensor) -> wk.Tensor:
    """Keep what the next call goes on from in an attribute that is no variable."""
    out.state = wk.tanh(out.state * x)
    return out.state


def repeated(out: Outside, x: wk.Tensor) -> wk.Tensor:
    """Run a loop of another length."""
    for _ in range(6 - out.number):
        x = x * 1.5
    return x


DIFFERENT: dict[str, Any] = {
    "a number": (lambda out, x: x + float(out.number), "from the host is 3.0, was 2.0"),
    "an attribute": (lambda out, x: wk.leaky_relu(x, alpha=0.1 * out.number), "LeakyRelu: alpha"),
    "an axis": (lambda out, x: wk.sum(x, axis=out.number % 2), "Sum: axis"),
    "a negative axis": (
        lambda out, x: wk.cumulative_sum(x, axis=-1 - out.number % 2),
        "Cumsum: axis",
    ),
    "a shape": (lambda out, x: wk.ones((out.number, 3)) * x[0], "Fill: shape"),
    "an index": (lambda out, x: x[out.number % 2], "StridedSlice|runs on"),
    "an array": (lambda out, x: x * out.array, r"an array of \[3\] from the host"),
    "a list": (lambda out, x: x + wk.tensor([1.0, 2.0, out.number]), r"an array of \[3\]"),
    "NumPy's random numbers": (lambda out, x: x + np.random.rand(3), r"an array of \[3\]"),
    "an array returned": (lambda out, x: wk.tensor(out.array), r"an array of \[3\]"),
    "an array assigned": (lambda out, x: out.kept[0].assign(out.array), r"an array of \[3\]"),
    "an array of a variable": (lambda out, x: x * wk.variable(out.array), r"an array of \[3\]"),
    "the time": (lambda out, x: x * (perf_counter() % 1.0), "a number from the host"),
    "the time returned": (lambda out, x: (x * 2.0, perf_counter()), "what it returns"),
    "a tensor": (lambda out, x: x * out.tensor, "another tensor"),
    "a variable": (lambda out, x: x * out.variable, "another variable"),
    "state in an attribute": (moved_on, "runs on something else"),
    "a branch": (lambda out, x: wk.sin(x) if out.number > 2 else wk.cos(x), "Sin runs"),
    "fewer rounds": (repeated, "what it returns|runs on something else|from the host"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_at_the_second_call_is_told_once_with_its_line(name: str) -> None:
    f, said = DIFFERENT[name]
    out = Outside()
    fast = wk.capture(lambda x: f(out, x))
    x = wk.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    fast(x)
    if name != "state in an attribute":
        out.change()
    with pytest.warns(RuntimeWarning, match=SAID) as told:
        fast(x * 2.0)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert re.search(said, str(told[0].message))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            if name != "state in an attribute":
                out.change()
            fast(x)


def lazily(out: Outside, x: wk.Tensor) -> wk.Tensor:
    """Make a table at the first call."""
    if len(out.kept) == 1:
        out.kept.append(wk.variable(wk.tensor([1.0, 2.0, 3.0])))
        out.tensor = wk.exp(wk.tensor([1.0, 2.0, 3.0]))
    return x * out.tensor


def local(out: Outside, x: wk.Tensor) -> wk.Tensor:
    """Make a variable at each call."""
    sums = wk.variable(np.zeros(3, np.float32))
    sums.assign(sums + x[0])
    return x * sums


def trained(out: Outside, x: wk.Tensor) -> wk.Tensor:
    """Do a step of Adam, whose slots are made at the first call."""
    if out.adam is None:
        out.adam = wk.train.Adam(0.1)
    loss: wk.Tensor = out.adam.minimize(lambda: wk.mean(wk.square(x * out.kept[0] - 1.0)))
    return loss


EQUAL: dict[str, Any] = {
    "arguments": lambda out, x: x * 2.0 + wk.exp(x)[0] * np.ones(3, np.float32),
    "a table made once": lazily,
    "a variable of its own": local,
    "a variable assigned": lambda out, x: out.kept[0].assign(out.kept[0] * 0.5 + x[0]),
    "random numbers": lambda out, x: x + wk.random_uniform((2, 3)),
    "dropout": lambda out, x: wk.dropout(x, 0.5),
    "training": trained,
    "a gradient": lambda out, x: wk.grad(lambda z: wk.sum(wk.tanh(z) * out.kept[0]))(x),
    "a scan": lambda out, x: wk.scan(lambda c, r: (c + r, c * 2.0), wk.zeros(3), x)[1],
    "a stopped gradient": lambda out, x: wk.stop_gradient(x * 3.0) + 1.0,
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_takes_part_in_replays_is_not_told(name: str) -> None:
    f, out = EQUAL[name], Outside()
    wk.random.seed(3)  # here, wherever the stream was
    fast = wk.capture(lambda x: f(out, x))
    x = wk.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(4):
            fast(x * float(n))


@pytest.mark.filterwarnings("ignore:capture.*runs without replay")
def test_what_cannot_be_replayed_is_not_compared() -> None:
    read = wk.capture(lambda x: x * float(wk.sum(x)))
    unknown = wk.capture(lambda x: x * float(wk.unique(x)[0].shape[0]))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=f".*{SAID}")
        for values in ([1.0, 2.0], [3.0, 3.0], [4.0, 4.0]):
            read(wk.tensor(values))
            unknown(wk.tensor(values))


def test_a_tensor_that_comes_in_twice_is_not_mistaken() -> None:
    x, y = wk.tensor([1.0, 2.0]), wk.tensor([3.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for order in ((x, y), (y, x)):
            closed = wk.capture(lambda one: one * x)
            for one in order:
                assert closed(one).tolist() == (one * x).tolist()
        both = wk.capture(lambda one, other: one * other)
        assert both(x, x).tolist() == [1.0, 4.0]
        assert both(x, y).tolist() == [3.0, 8.0]


def test_the_run_aside_leaves_nothing_behind() -> None:
    total, out = wk.variable([0.0]), Outside()
    adam = wk.train.Adam(0.1)

    def f(x: wk.Tensor) -> wk.Tensor:
        drawn = wk.random_uniform((2,))
        total.assign(total + x)
        adam.minimize(lambda: wk.sum(wk.square(out.kept[0] - x)))
        return drawn

    results = []
    for is_checked in (True, False):
        wk.random.seed(7)
        total.assign([0.0])
        out.kept[0].assign([0.0, 0.0, 0.0])
        adam = wk.train.Adam(0.1)
        with wk.config.using(capture_check=is_checked):
            fast = wk.capture(f)
            drawn = [fast(wk.tensor([float(n)])).tolist() for n in range(4)]
        results.append((drawn, total.tolist(), out.kept[0].tolist(), wk.random.key.tolist()))
    assert results[0] == results[1]


def test_it_runs_aside_at_the_second_call_alone_and_not_where_it_is_switched_off(
    backend: str,
) -> None:
    runs = []

    def f(x: wk.Tensor) -> wk.Tensor:
        runs.append(1)
        return x * 2.0

    fast, x = wk.capture(f), wk.tensor([1.0])
    for _ in range(5):
        fast(x)
    assert len(runs) == (2 if backend == "webgpu" else 5)
    runs.clear()
    number = [1.0]
    with wk.config.using(capture_check=False):
        silent = wk.capture(lambda x: f(x) + number[0])
        for number[0] in (1.0, 2.0, 3.0):
            silent(x)
    assert len(runs) == (1 if backend == "webgpu" else 3)


def test_a_warm_up_compares_beforehand(backend: str) -> None:
    runs = []
    number = [1.0]

    def f(x: wk.Tensor) -> wk.Tensor:
        runs.append(1)
        number[0] += 1.0
        return wk.tan(x * number[0])

    fast, x = wk.capture(f), wk.tensor([1.0, 2.0, 3.0])

    def warm_up_and_call() -> None:
        wk.warmup(fast, x)
        fast(x)

    with pytest.warns(RuntimeWarning, match=SAID):
        warm_up_and_call()
    runs.clear()
    fast(x)
    fast(x)
    assert len(runs) == (0 if backend == "webgpu" else 2)


def test_a_function_that_raises_at_its_second_call_is_told_where_it_is_replayed(
    backend: str,
) -> None:
    calls = []

    def f(x: wk.Tensor) -> wk.Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("of its own")
        return x + 1.0

    fast, x = wk.capture(f), wk.tensor([1.0])
    fast(x)
    if backend == "cpu":
        with pytest.raises(ValueError, match="of its own"):
            fast(x)
        return
    with pytest.warns(RuntimeWarning, match="it raises ValueError"):
        assert fast(x).tolist() == [2.0]
    assert fast(x).tolist() == [2.0]
