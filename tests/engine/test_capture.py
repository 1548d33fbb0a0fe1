"""Captured functions: run once, replayed after, equal to what they stand for bit for bit."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _on_the_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend("webgpu"):
        yield


def captured_bytes() -> int:
    """Return what captured functions keep now."""
    gc.collect()
    return wk.memory().by_backend["webgpu"].captured_bytes


def same(one: Any, other: Any) -> bool:
    """Say whether two tensors have the same bits."""
    return bool(one.numpy().tobytes() == other.numpy().tobytes())


def replays(fast: Any) -> bool:
    """Say whether the latest call needed no run of the function for want of a replay."""
    return bool(fast.why is None)


@pytest.mark.usefixtures("_unchecked")
def test_the_function_runs_once_per_signature() -> None:
    runs = []

    def f(x: wk.Tensor, power: int) -> wk.Tensor:
        runs.append((x.shape, power))
        return wk.sum(x**power)

    fast = wk.capture(f)
    for numbers in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0, 3.0]):
        for power in (2, 3):
            expected = np.float32(sum(one**power for one in numbers))
            assert fast(wk.tensor(numbers), power).item() == expected
            assert fast(wk.tensor(numbers), power).item() == expected
    assert len(runs) == 4
    assert replays(fast)


def test_results_stay_valid_when_the_function_is_called_again() -> None:
    fast = wk.capture(lambda x: (x + 1.0, wk.exp(x)))
    inputs = [wk.tensor([float(n), 0.5]) for n in range(8)]
    results = [fast(x) for x in inputs]
    for x, (y, z) in zip(inputs, results, strict=True):
        assert same(y, x + 1.0)
        assert same(z, wk.exp(x))


def test_a_number_on_the_host_does_not_freeze() -> None:
    fast = wk.capture(lambda x, scale: x * scale)
    x = wk.tensor([1.0, 2.0])
    for scale in (2.0, 3.0, -1.0):
        assert fast(x, wk.tensor(scale)).tolist() == [scale, 2 * scale]
    assert wk.capture(lambda a, b: a + b)(wk.tensor(1.0), wk.tensor(2.0)).item() == 3.0


def test_arguments_may_be_nested_and_named_and_results_too() -> None:
    class Pair(NamedTuple):
        first: wk.Tensor
        rest: list[wk.Tensor]

    def f(pair: Pair, *, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "sum": pair.first + pair.rest[0] * options["scale"],
            "parts": [pair.first, Pair(pair.rest[0] - 1.0, [])],
            "name": options["name"],
        }

    fast = wk.capture(f)
    for n in range(3):
        pair = Pair(wk.tensor([1.0 + n]), [wk.tensor([5.0])])
        found = fast(pair, options={"scale": wk.tensor(2.0 * n), "name": "a"})
        assert found["sum"].tolist() == [1.0 + n + 10.0 * n]
        assert found["parts"][0] is pair.first
        assert isinstance(found["parts"][1], Pair)
        assert found["parts"][1].first.tolist() == [4.0]
        assert found["name"] == "a"
    assert replays(fast)


@pytest.mark.usefixtures("_unchecked")
def test_numpy_arrays_become_tensors() -> None:
    seen = []

    def f(x: Any) -> wk.Tensor:
        seen.append(type(x))
        return wk.multiply(x, 2.0)

    fast = wk.capture(f)
    for n in range(3):
        assert fast(np.array([n, 1.0])).tolist() == [2.0 * n, 2.0]
    assert seen == [wk.Tensor]
    with wk.use_backend("cpu"):
        assert fast(np.array([4.0])).tolist() == [8.0]
    assert seen[-1] is wk.Tensor


def test_variables_take_part_with_their_present_values() -> None:
    weight = wk.variable([1.0, 2.0])
    count = wk.variable(0.0)

    def step(x: wk.Tensor) -> wk.Tensor:
        weight.assign(weight * x)
        count.assign(count + 1.0)
        return weight - count

    fast = wk.capture(step)
    expected, steps = np.array([1.0, 2.0], np.float32), 0
    for n in range(6):
        if n == 3:
            weight.assign([7.0, 8.0])
            count.assign(100.0)
            expected, steps = np.array([7.0, 8.0], np.float32), 100
        held = wk.stop_gradient(weight)
        before = held.numpy()
        factor = float(n + 1)
        found = fast(wk.tensor([factor, 1.0]))
        expected, steps = expected * np.array([factor, 1.0], np.float32), steps + 1
        assert weight.numpy().tolist() == expected.tolist()
        assert count.item() == steps
        assert found.numpy().tolist() == (expected - steps).tolist()
        assert held.numpy().tolist() == before.tolist()
    assert replays(fast)


def test_variables_that_share_an_array_are_told_apart() -> None:
    online, slow = wk.variable([1.0, 2.0]), wk.variable([0.0, 0.0])
    slow.assign(wk.stop_gradient(online))
    kept = wk.stop_gradient(online)

    def step() -> wk.Tensor:
        online.assign(online + 1.0)
        return online * 10.0 + slow + kept * 100.0

    fast = wk.capture(step)
    assert fast().tolist() == [121.0, 232.0]
    assert fast().tolist() == [131.0, 242.0]
    slow.assign(online)
    assert fast().tolist() == [143.0, 254.0]
    assert fast().tolist() == [153.0, 264.0]


def test_a_view_may_come_in_and_go_out_and_be_assigned() -> None:
    weight = wk.variable(np.arange(9, dtype=np.float32).reshape(3, 3))

    def step(x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor, wk.Tensor]:
        weight.assign(wk.transpose(weight) + 1.0)
        weight.assign(wk.transpose(weight))
        y = x * 2.0
        return wk.transpose(y), y[0], wk.reshape(x, (-1,))

    fast = wk.capture(step)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted = weight.numpy()
    for n in range(4):
        x = wk.transpose(wk.tensor(values + n)) if n % 2 else wk.tensor((values + n).T.copy())
        turned, first, flat = fast(x)
        assert np.array_equal(turned.numpy(), (values + n) * 2)
        assert np.array_equal(first.numpy(), (values + n)[:, 0] * 2)
        assert np.array_equal(flat.numpy(), (values + n).T.reshape(-1))
        wanted = wanted + 1.0
        assert np.array_equal(weight.numpy(), wanted)
    assert replays(fast)


def test_constants_survive_their_tensors() -> None:
    offset = wk.tensor([10.0, 20.0, 30.0])
    weights = wk.exp(wk.tensor([0.0, 0.0, 0.0]))
    fast = wk.capture(lambda x: (x + offset) * weights + wk.tensor([1.0, 2.0, 3.0]))
    first = fast(wk.tensor([0.0, 0.0, 0.0])).numpy()
    offset.dispose()
    weights.dispose()
    junk = [wk.exp(wk.tensor([float(n), 1.0, 2.0])) for n in range(30)]
    assert np.array_equal(fast(wk.tensor([0.0, 0.0, 0.0])).numpy(), first)
    assert len(junk) == 30


@pytest.mark.usefixtures("_unchecked")
def test_what_the_function_keeps_aside_does_not_change_later() -> None:
    history: list[wk.Tensor] = []

    def f(x: wk.Tensor) -> wk.Tensor:
        y = wk.exp(x)
        history.append(y)
        return y * y + x

    fast = wk.capture(f)
    x = wk.tensor([1.0, 2.0])
    fast(x)
    kept = history[0].numpy()
    for n in range(4):
        fresh = wk.tensor([float(n), 3.0])
        assert same(fast(fresh), wk.exp(fresh) * wk.exp(fresh) + fresh)
    assert np.array_equal(history[0].numpy(), kept)
    assert len(history) == 1


def test_a_variable_made_inside_stays_or_is_made_anew() -> None:
    state: dict[str, wk.Variable] = {}

    def f(x: wk.Tensor) -> wk.Tensor:
        if "total" not in state:
            state["total"] = wk.variable(np.zeros(2, np.float32))
        local = wk.variable(1.0)
        local.assign(local + x[0])
        state["total"].assign(state["total"] + x)
        return state["total"] * local

    fast = wk.capture(f)
    total = np.zeros(2, np.float32)
    for n in range(4):
        x = np.array([n, 1.0], np.float32)
        total = total + x
        assert fast(wk.tensor(x)).numpy().tolist() == (total * (1 + n)).tolist()
    assert replays(fast)


def test_a_collected_variable_is_missed_and_the_function_recorded_again() -> None:
    held = {"v": wk.variable([1.0])}
    fast = wk.capture(lambda x: x + held["v"])
    assert fast(wk.tensor([1.0])).tolist() == [2.0]
    held["v"] = wk.variable([5.0])
    gc.collect()
    assert fast(wk.tensor([1.0])).tolist() == [6.0]
    assert replays(fast)


def test_random_numbers_go_on_as_without_capture() -> None:
    def dropout(x: wk.Tensor) -> wk.Tensor:
        return wk.where(wk.random_uniform((64,)) < 0.5, x, 0.0)

    fast = wk.capture(dropout)
    x = wk.tensor(np.arange(64, dtype=np.float32))
    wk.random.seed(7)
    eager = [dropout(x).numpy() for _ in range(5)]
    key = wk.random.key.numpy()
    wk.random.seed(7)
    for expected in eager:
        assert np.array_equal(fast(x).numpy(), expected)
    assert np.array_equal(wk.random.key.numpy(), key)
    assert not np.array_equal(eager[0], eager[1])


def test_a_variable_of_another_backend_is_read_anew_at_each_replay() -> None:
    with wk.use_backend("cpu"):
        scale = wk.variable([2.0, 3.0])
    fast = wk.capture(lambda x: x * scale)
    x = wk.tensor([10.0, 100.0])
    assert fast(x).tolist() == [20.0, 300.0]
    with wk.use_backend("cpu"):
        scale.assign([4.0, 5.0])
    assert fast(x).tolist() == [40.0, 500.0]
    assert scale.backend == "cpu"
    assert replays(fast)


def test_a_stream_last_drawn_from_on_another_backend_goes_on() -> None:
    fast = wk.capture(lambda: wk.random_uniform((5,)))
    wk.random.seed(4)
    expected = [wk.random_uniform((5,)).numpy() for _ in range(4)]
    with wk.use_backend("cpu"):
        wk.random.seed(4)
        assert np.array_equal(wk.random_uniform((5,)).numpy(), expected[0])
    for values in expected[1:]:
        assert np.array_equal(fast().numpy(), values)
        assert replays(fast)


def mlp(seed: int) -> tuple[list[wk.Variable], Any, Callable[[Any, Any], wk.Tensor]]:
    """Return variables, optimizer and training step of a small network."""
    rng = np.random.default_rng(seed)
    sizes = ((12, 8), (8,), (8, 4), (4,))
    weights = [
        wk.variable(rng.normal(size=size).astype(np.float32), name=f"w{n}")
        for n, size in enumerate(sizes)
    ]
    adam = wk.train.Adam(0.01)

    def loss(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        hidden = wk.relu(wk.matmul(x, weights[0]) + weights[1])
        hidden = hidden * wk.where(wk.random_uniform(hidden.shape) < 0.9, 1.0, 0.0)
        scores = wk.log_softmax(wk.matmul(hidden, weights[2]) + weights[3])
        return -wk.mean(wk.sum(scores * y, axis=1))

    return weights, adam, lambda x, y: adam.minimize(lambda: loss(x, y))


def test_training_is_equal_bit_for_bit_for_twenty_steps() -> None:
    rng = np.random.default_rng(3)
    batches = [rng.normal(size=(6, 12)).astype(np.float32) for _ in range(20)]
    labels = [np.eye(4, dtype=np.float32)[rng.integers(0, 4, 6)] for _ in range(20)]
    states = []
    for is_captured in (False, True):
        weights, adam, step = mlp(1)
        run = wk.capture(step) if is_captured else step
        wk.random.seed(11)
        losses = []
        for n, (x, y) in enumerate(zip(batches, labels, strict=True)):
            if n == 12:
                adam.learning_rate = 0.003
            losses.append(run(wk.tensor(x), wk.tensor(y)).numpy().tobytes())
        kept = [one.numpy().tobytes() for one in weights]
        kept += [one.numpy().tobytes() for _, one in sorted(adam.state_dict().items())]
        states.append((losses, kept, adam.step.item()))
        if is_captured:
            assert replays(run)
    assert states[0] == states[1]
    assert len(set(states[0][0])) == 20


def test_a_steady_loop_allocates_no_device_memory() -> None:
    _, _, step = mlp(2)
    fast = wk.capture(step)
    x, y = np.ones((6, 12), np.float32), np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 0, 1]]
    inputs = wk.tensor(x), wk.tensor(y)

    def held() -> tuple[int, int, int, int]:
        wk.synchronize()
        use = wk.memory().by_backend["webgpu"]
        return use.num_buffers, use.num_bytes, use.pool_bytes, use.captured_bytes

    for _ in range(8):
        loss = fast(*inputs)
    before = held()
    loss = fast(*inputs)
    for _ in range(40):
        loss = fast(*inputs)
    assert held() == before
    assert np.isfinite(loss.item())


def test_gradients_and_tapes_inside_are_captured() -> None:
    def f(x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor, Any]:
        with wk.GradientTape() as tape:
            tape.watch(x)
            y = wk.sum(wk.sin(x) * x)
        return y, tape.gradient(y, x), wk.value_and_grads(lambda a: wk.sum(a * a * a))(x)[1]

    fast = wk.capture(f)
    for n in range(3):
        x = wk.tensor([0.5 + n, 2.0])
        for one, other in zip(f(x)[:2], fast(x)[:2], strict=True):
            assert same(one, other)
        assert same(f(x)[2][0], fast(x)[2][0])
    assert replays(fast)


def test_tidy_inside_and_outside_works() -> None:
    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.tidy(lambda: wk.exp(x) + 1.0)

    fast = wk.capture(f)
    x = wk.tensor([1.0, 2.0])
    fast(x)
    count = wk.memory().num_tensors
    with wk.tidy():
        y = fast(x)
        y = fast(x)
        last = wk.keep(fast(x))
    assert y.is_disposed
    assert same(last, f(x))
    assert wk.memory().num_tensors == count + 1
