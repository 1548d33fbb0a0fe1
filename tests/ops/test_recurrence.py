"""scan: its values and gradients beside an unrolled loop, its state, and what it refuses."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RNG = np.random.default_rng(21)
STEPS, BATCH, INPUTS, UNITS = 5, 2, 3, 4
KERNEL = (0.3 * RNG.standard_normal((INPUTS + UNITS, 4 * UNITS))).astype(np.float32)
XS = RNG.standard_normal((STEPS, BATCH, INPUTS)).astype(np.float32)

Scan = Any


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def unrolled(f: Any, init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    """Return what scan gives, by a loop that tapes see, for one tensor of xs and of outputs."""
    ys: list[wk.Tensor] = []
    for place in reversed(range(len(xs))) if reverse else range(len(xs)):
        init, y = f(init, xs[place])
        ys.append(y)
    return init, wk.stack(ys[::-1] if reverse else ys)


def network(kernel: wk.Tensor) -> Callable[[Any, wk.Tensor], Any]:
    """Return an LSTM's step that closes over its weights."""

    def cell(carry: Any, x: wk.Tensor) -> Any:
        c, h = wk.basic_lstm_cell(1.0, kernel, wk.zeros((4 * UNITS,)), x, *carry)
        return (c, h), h

    return cell


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_a_loop_with_the_same_gradients_of_first_and_second_order(reverse: bool) -> None:
    def loss(scan: Scan) -> Callable[..., wk.Tensor]:
        def value(kernel: wk.Tensor, x: wk.Tensor, h: wk.Tensor) -> wk.Tensor:
            (c, _), ys = scan(network(kernel), (h * 0.5, h), x, reverse=reverse)
            return wk.sum(wk.square(ys)) + wk.sum(c * c * c)

        return value

    given = wk.tensor(KERNEL), wk.tensor(XS), wk.ones((BATCH, UNITS))
    along = [RNG.standard_normal(one.shape).astype(np.float32) for one in given]
    results = []
    for scan in (wk.scan, unrolled):
        value, slopes = wk.value_and_grads(loss(scan))(*given)
        second = wk.hvp(loss(scan), given, along)
        results.append([value, *slopes, *second])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4, atol=2e-5)


def test_variables_that_a_step_reads_get_gradients_and_captured_steps_train() -> None:
    kernel = wk.variable(KERNEL, name="recurrent kernel")
    optimizer = wk.train.SGD(0.05)
    state = wk.zeros((BATCH, UNITS))

    def loss() -> wk.Tensor:
        return wk.mean(wk.square(wk.scan(network(kernel), (state, state), wk.tensor(XS))[1] - 0.5))

    _, found = wk.variable_grads(loss)
    assert list(found) == [kernel]
    step = wk.capture(lambda: optimizer.minimize(loss))
    losses = [step().item() for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_each_step_draws_anew_and_its_gradient_takes_what_it_drew() -> None:
    stream = wk.random.Generator(3)

    def f(carry: wk.Tensor, _: None) -> tuple[wk.Tensor, wk.Tensor]:
        kept = wk.dropout(carry, 0.25, generator=stream)
        return kept, kept

    value, slope = wk.value_and_grad(lambda x: wk.scan(f, x, length=4)[0])(wk.ones((64,)))
    after = stream.key.tolist()
    np.testing.assert_allclose(slope.numpy(), value.numpy(), rtol=1e-6)
    stream.seed(3)
    masks = wk.scan(f, wk.ones((64,)), length=4)[1].numpy()
    assert stream.key.tolist() == after
    np.testing.assert_array_equal(masks[-1], value.numpy())
    assert len({tuple(row) for row in masks}) == 4


def test_steps_carry_structures_of_any_dtype_and_may_have_no_output() -> None:
    def f(carry: dict[str, Any], x: Any) -> tuple[dict[str, Any], None]:
        a, (b,) = x
        return {"count": carry["count"] + 1, "sum": carry["sum"] + a * b}, None

    xs = ([1.0, 2.0, 3.0, 4.0], [wk.tensor([1.0, 0.0, 1.0, 2.0])])
    carry, ys = wk.scan(f, {"count": 0, "sum": 0.0}, xs)
    assert (carry["count"].item(), carry["sum"].item(), ys) == (4, 12.0, None)
    slope = wk.grad(lambda x: wk.scan(f, {"count": 0, "sum": 0.0}, (x, [xs[1][0]]))[0]["sum"])
    assert slope(wk.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 0.0, 1.0, 2.0]
    unchanged = wk.grad(lambda x: wk.scan(lambda c, x: (c, c * x), x, length=None, xs=xs[0])[0])
    assert unchanged(wk.tensor(5.0)).item() == 1.0


def test_a_captured_function_is_recorded_once_for_many_scans() -> None:
    calls = []
    scale = wk.variable(2.0)

    def f(carry: wk.Tensor, x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        calls.append(1)
        return carry + scale * x, carry

    kept = wk.capture(f)
    first = wk.scan(kept, 0.0, np.ones(6, np.float32))[0].item()
    count = len(calls)
    scale.assign(3.0)
    second = wk.scan(kept, 0.0, np.ones(6, np.float32))[0].item()
    assert (first, second) == (12.0, 18.0)
    if wk.get_backend() == "webgpu":
        assert (count, len(calls)) == (1, 1)
        for _ in range(3):
            wk.variable_grads(lambda: wk.scan(kept, 0.0, np.ones(6, np.float32))[0])
        assert len(calls) <= 2 + 3 + 1  # one look at each call, and one recording of either way


@pytest.mark.parametrize("how", ["tape", "captured"])
def test_a_trainable_variable_may_be_assigned_only_where_no_gradient_is_recorded(how: str) -> None:
    v = wk.variable(1.0, name="weight")

    def f(carry: wk.Tensor, x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        v.assign(v + x)
        return carry * v, carry

    xs = np.ones(4, np.float32)
    slope = wk.grad(lambda y: wk.scan(f, y, xs)[0])
    with pytest.raises(wk.ArgumentError, match="scan: f assigns the trainable variable 'weight'"):
        (slope if how == "tape" else wk.capture(slope))(wk.tensor(2.0))
    assert v.item() == 1.0
    assert wk.scan(f, 1.0, xs)[0].item() == 120.0
    assert v.item() == 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wk.scan(lambda c, x: c, 0.0, [1.0]), "scan: f gave .*; want .carry, output."),
        (lambda: wk.scan(lambda c, x: ((c, c), x), 0.0, [1.0]), "scan: f gave the carry"),
        (
            lambda: wk.scan(lambda c, x: (wk.stack([c, c]), x), 0.0, [1.0]),
            r"a carry of float32\[\] became float32\[2\]; want the same in each step",
        ),
        (lambda: wk.scan(lambda c, x: (c, x), 0.0), "xs and length are None; want one"),
        (lambda: wk.scan(lambda c, x: (c, x), 0.0, 1.0), "xs holds a scalar"),
        (lambda: wk.scan(lambda c, x: (c, x), 0.0, wk.zeros((0,))), "there are 0 steps"),
        (
            lambda: wk.scan(lambda c, x: (c, x), 0.0, ([1.0], wk.zeros((2,)))),
            "xs and length have lengths 1, 2; want one",
        ),
        (lambda: wk.scan(lambda c, x: (c, x), object(), [1.0]), "scan: init is|tensor: "),
    ],
)
def test_a_scan_that_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        call()


def test_a_scan_of_nothing_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wk.nn.lstm(3, 4, returns="outputs")(wk.zeros((0, 5, 3)))

    assert found.shape == (0, 5, 4)
