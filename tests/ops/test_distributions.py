"""Streams of random numbers and distributions: moments, separate streams, replays, refusals."""

from __future__ import annotations

import copy
import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

Generator = wk.random.Generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def moments(x: wk.Tensor) -> tuple[float, float]:
    """Return mean and variance."""
    values = np.asarray(x.numpy(), np.float64)
    return float(values.mean()), float(values.var())


N = 20_000
CASES: dict[str, tuple[Callable[[Generator], wk.Tensor], float, float]] = {
    "bernoulli": (lambda g: wk.random.bernoulli(0.3, (N,), generator=g), 0.3, 0.21),
    "small gamma": (lambda g: wk.random.gamma(0.4, (N,), generator=g), 0.4, 0.4),
    "gamma": (lambda g: wk.random_gamma((N,), 3.0, 2.0, generator=g), 1.5, 0.75),
    "integers": (lambda g: wk.random.randint(-3, 3, (N,), generator=g), -0.5, 35 / 12),
    "truncated": (
        lambda g: wk.truncated_normal((N,), mean=1.0, std_dev=2.0, generator=g),
        1.0,
        4 * (1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2))),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_distribution_has_its_mean_and_variance(name: str) -> None:
    draw, mean, variance = CASES[name]
    found = moments(draw(Generator(11)))
    assert found[0] == pytest.approx(mean, abs=5 * math.sqrt(variance / N))
    assert found[1] == pytest.approx(variance, rel=0.1)


def test_classes_come_with_the_probabilities_of_their_logits() -> None:
    weights = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        logits = np.log(weights).astype(np.float32)
    drawn = wk.random.categorical(logits, N, generator=Generator(2)).numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / N, weights, atol=0.02)


def test_truncated_numbers_lie_within_two_deviations() -> None:
    found = wk.truncated_normal((N,), std_dev=3.0, generator=Generator(5)).numpy()
    assert np.all(np.abs(found) <= 6)
    assert np.max(found) > 5.9


def test_what_is_shuffled_keeps_its_entries() -> None:
    x = np.arange(600, dtype=np.int32).reshape(2, 300)
    found = wk.random.shuffle(x, axis=1, generator=Generator(1)).numpy()
    assert not np.array_equal(found, x)
    np.testing.assert_array_equal(np.sort(found, axis=1), x)
    assert sorted(wk.random.permutation(50).tolist()) == list(range(50))


def test_streams_are_separate_and_the_same_everywhere() -> None:
    parent = Generator(9)
    streams = parent.split(3)
    with wk.use_backend("cpu"):
        twins = Generator(9).split(3)
        expected = [wk.random_uniform((4,), generator=one).tolist() for one in twins]
    wk.random_uniform((7,), generator=streams[0])
    found = [wk.random_uniform((4,), generator=one).tolist() for one in streams]
    assert found[1:] == expected[1:]
    assert found[0] != expected[0]
    assert len({tuple(one) for one in expected}) == 3


def test_a_captured_function_draws_and_splits_anew_at_each_replay() -> None:
    stream = Generator(4)

    def step() -> tuple[wk.Tensor, wk.Tensor]:
        left, _ = stream.split()
        return wk.random_uniform((3,), generator=left), wk.random.permutation(5, generator=stream)

    eager = [[one.tolist() for one in step()] for _ in range(3)]
    stream.seed(4)
    fast = wk.capture(step)
    assert [[one.tolist() for one in fast()] for _ in range(3)] == eager
    assert len({str(one) for one in eager}) == 3


def test_a_generator_is_copied_and_pickled_with_its_state() -> None:
    stream = Generator(8)
    wk.random_uniform((5,), generator=stream)
    others = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    wanted = wk.random_normal((3,), generator=stream).tolist()
    assert [wk.random_normal((3,), generator=one).tolist() for one in others] == [wanted] * 2


def test_dropout_keeps_the_mean_and_its_gradient_is_the_mask() -> None:
    x = wk.ones((50, 40))
    stream = Generator(6)
    y, dx = wk.value_and_grad(lambda x: wk.dropout(x, 0.25, generator=stream))(x)
    assert set(np.unique(y.numpy())) == {np.float32(0), np.float32(4 / 3)}
    assert float(wk.mean(y).item()) == pytest.approx(1.0, abs=0.1)
    assert dx.tolist() == y.tolist()
    rows = wk.dropout(x, 0.5, noise_shape=(None, 1), generator=stream).numpy()
    assert all(len(set(row)) == 1 for row in rows)
    assert wk.dropout(x, 0.0).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wk.dropout([1.0], 1.0), r"dropout: rate is 1.0; want one in \[0, 1\)"),
        (lambda: wk.dropout([1], 0.5), "dropout: x has dtype int32; want a float"),
        (lambda: wk.dropout([1.0], 0.5, noise_shape=(2,)), "does not broadcast to"),
        (lambda: wk.random.bernoulli([0.1, 0.2], (3,)), "bernoulli: "),
        (lambda: wk.random.permutation(-1), "permutation: n is -1; want at least 0"),
        (lambda: wk.random.categorical(1.0), r"logits has shape \[\]; want \[..., classes\]"),
        (lambda: wk.truncated_normal((1,), std_dev=-1.0), "std_dev is -1.0; want 0 or more"),
        (lambda: Generator(1).split(0), "split: count is 0; want at least 1"),
        (lambda: Generator(0.5), "seed: number is 0.5; want an integer"),  # type: ignore[arg-type]  # that is refused
        (lambda: wk.random_uniform((1,), generator=3), "generator is 3; want a Generator"),  # type: ignore[arg-type]  # likewise
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        call()


def test_gamma_of_no_distribution_is_nan() -> None:
    drawn = wk.random.gamma([2.0, -1.0, 2.0], beta=[1.0, 1.0, -1.0]).numpy()

    np.testing.assert_array_equal(np.isnan(drawn), [False, True, True])


def test_a_copied_generator_draws_the_same_and_apart() -> None:
    first = wk.random.Generator(1)
    second = copy.copy(first)
    one = wk.random_uniform((2,), generator=first).tolist()

    assert wk.random_uniform((2,), generator=second).tolist() == one


@pytest.mark.parametrize("row", [[math.nan, 0.0], [0.0, math.inf], [-math.inf, -math.inf]])
def test_what_is_no_distribution_draws_no_outcome(row: list[float]) -> None:
    with wk.config.using(small_ops="device"):
        logits = wk.tensor([row, [0.0, -math.inf]])
        assert wk.random.categorical(logits, 3).numpy().T.tolist() == [[-1] * 3, [0] * 3]
        assert wk.multinomial(logits, 2, seed=1).tolist() == [[-1] * 2, [0] * 2]
        assert wk.random.categorical(wk.tensor([[row[1]]])).item() == (0 if row[1] == 0 else -1)
        for odd in ([-1.0, 2.0], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [3e38, 3e38]):
            weights = wk.tensor([odd, [0.0, 9.0]])
            found = wk.multinomial(weights, 2, seed=1, normalized=True)
            assert found.tolist() == [[-1] * 2, [1] * 2]


def test_a_probability_is_within_0_and_1_or_counts_as_the_nearer() -> None:
    for p in (1.5, -0.1, math.nan, [0.5, 2.0]):
        with pytest.raises(wk.ArgumentError, match=r"bernoulli: p is .*; want probabilities in"):
            wk.random.bernoulli(p)
    with wk.config.using(small_ops="device"):
        found = wk.random.bernoulli(wk.tensor([-1.0, math.nan, 1.0, 2.0]))
        assert found.tolist() == [False, False, True, True]
