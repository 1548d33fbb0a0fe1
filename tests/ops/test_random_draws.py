"""Drawing random numbers: one key for all backends, moved on by what each draw uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.random import random

BACKENDS = ["cpu", "webgpu"]


@pytest.fixture(params=BACKENDS, autouse=True)
def _backend(request: pytest.FixtureRequest) -> object:
    with wk.use_backend(request.param):
        yield


def test_a_seed_begins_the_same_stream_again() -> None:
    random.seed(7)
    first = random.random_uniform((3, 5)).numpy()
    other = random.random_uniform((3, 5)).numpy()
    random.seed(7)
    np.testing.assert_array_equal(random.random_uniform((3, 5)).numpy(), first)
    assert not np.array_equal(first, other)


def test_a_draw_moves_the_counter_by_the_blocks_that_it_used() -> None:
    random.seed(2**40 + 3)
    assert random.key.tolist() == [3, 256, 0, 0]
    random.random_uniform((3, 3))
    random.random_normal(4)
    random.random_uniform((0, 5))
    assert random.key.tolist() == [3, 256, 4, 0]
    assert not random.key.trainable


def test_draws_after_each_other_are_one_stream() -> None:
    random.seed(1)
    whole = random.random_uniform(16).numpy()
    random.seed(1)
    parts = [random.random_uniform(8).numpy() for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    ("counter", "blocks", "moved"),
    [
        ((-1, 0), 1, (0, 1)),
        ((-3, 5), 2, (-1, 5)),
        ((2**31 - 1, 0), 1, (-(2**31), 0)),
        ((-1, -1), 3, (2, 0)),
        ((5, 1), 2**32 - 1, (4, 2)),
        ((0, 0), 2**32 - 1, (-1, 0)),
    ],
)
def test_the_counter_carries_into_its_high_word(
    counter: tuple[int, int], blocks: int, moved: tuple[int, int]
) -> None:
    key = wk.tensor([11, 12, *counter])
    found = wk.engine().run_kernel("AdvanceKey", {"key": key}, {"blocks": blocks})
    assert isinstance(found, wk.Tensor)
    assert found.tolist() == [11, 12, *moved]


def test_uniform_numbers_fill_their_interval() -> None:
    random.seed(3)
    x = random.random_uniform(20_000, minval=-1.0, maxval=3.0).numpy()
    assert x.dtype == np.float32
    assert x.min() >= -1
    assert x.max() < 3
    assert abs(x.mean() - 1) < 0.05
    whole = random.random_uniform(20_000, minval=-2, maxval=3, dtype="int32").numpy()
    assert sorted(set(whole.tolist())) == [-2, -1, 0, 1, 2]
    assert 0.45 < random.random_uniform(20_000, dtype="bool").numpy().mean() < 0.55


def test_normal_numbers_have_the_moments_asked_for() -> None:
    random.seed(4)
    x = random.random_normal(50_000, mean=2.0, std_dev=3.0).numpy()
    assert abs(x.mean() - 2) < 0.1
    assert abs(x.std() - 3) < 0.1


def test_bad_arguments_of_draws_are_refused() -> None:
    with pytest.raises(wk.ArgumentError, match="minval is 1, maxval 1; want minval below maxval"):
        random.random_uniform(3, minval=1, maxval=1)
    with pytest.raises(wk.ArgumentError, match="want whole numbers that fit int32"):
        random.random_uniform(3, maxval=0.5, dtype="int32")
    with pytest.raises(wk.DTypeError, match="RandomNormal: y has dtype int32; want float32"):
        random.random_normal(3, dtype="int32")
    with pytest.raises(wk.ArgumentError, match=r"std_dev is -1; want 0 or more"):
        random.random_normal(3, std_dev=-1)
    with pytest.raises(wk.ShapeError, match=r"key has shape \[3\]; want \[4\]"):
        wk.engine().run_kernel("RandomUniform", {"key": wk.tensor([1, 2, 3])}, {"shape": (2,)})


def test_outcomes_come_by_their_probabilities_and_never_without_one() -> None:
    found = wk.multinomial([[0.0, 1.0, 2.0], [3.0, -1000.0, 3.0]], 4000, seed=3.14).numpy()
    shares = np.array([np.bincount(row, minlength=3) / 4000 for row in found])
    weights = np.exp(np.array([[-2.0, -1.0, 0.0], [0.0, -np.inf, 0.0]]))
    expected = weights / weights.sum(1, keepdims=True)
    np.testing.assert_array_less(np.abs(shares - expected), 4 * np.sqrt(0.25 / 4000))
    assert shares[1, 1] == 0


def test_outcomes_without_a_seed_move_the_counter() -> None:
    random.seed(5)
    first = wk.multinomial([0.5, 0.5], 40, normalized=True)
    assert random.key.tolist() == [5, 0, 10, 0]
    assert wk.multinomial([0.5, 0.5], 40, normalized=True).tolist() != first.tolist()


def test_outcomes_of_a_seed_are_the_same_on_every_backend() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    here = wk.multinomial(logits, 50, seed=9).numpy()
    with wk.use_backend("cpu"):
        np.testing.assert_array_equal(here, wk.multinomial(logits, 50, seed=9).numpy())


@pytest.mark.parametrize(
    "options",
    [
        {"maxval": 300, "dtype": "uint8"},
        {"minval": -5, "maxval": 0, "dtype": "uint8"},
        {"minval": -129, "dtype": "int8"},
        {"minval": -2e38, "maxval": 2e38},
        {"maxval": np.inf},
    ],
)
def test_ends_beyond_the_dtype_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(wk.ArgumentError, match="minval is"):
        wk.random_uniform((3,), **options)

    drawn = wk.random_uniform((4000,), minval=250, maxval=256, dtype="uint8").numpy()
    assert set(drawn) == set(range(250, 256))


def test_a_generator_has_numpys_methods() -> None:
    rng = wk.random.default_rng(7)
    assert wk.random.default_rng(rng) is rng
    draws = {
        "random": rng.random((400,)),
        "uniform": rng.uniform(2.0, wk.tensor([3.0, 4.0]), (200, 2)),
        "standard_normal": rng.standard_normal(400),
        "normal": rng.normal(5.0, 0.1, 400),
        "exponential": rng.exponential(2.0, (400,)),
        "integers": rng.integers(3, size=400),
    }
    means = {name: float(one.mean()) for name, one in draws.items()}
    wanted = {"random": 0.5, "uniform": 2.75, "standard_normal": 0.0, "normal": 5.0}
    for name, mean in {**wanted, "exponential": 2.0, "integers": 1.0}.items():
        assert abs(means[name] - mean) < 0.3, name
    assert rng.random().shape == ()
    assert rng.normal(wk.tensor([1.0, 2.0])).shape == (2,)
    assert rng.integers(1, 2, 3, np.int64, endpoint=True).dtype == "int32"


def test_seeds_of_numpy_are_taken() -> None:
    sequence = np.random.SeedSequence(5)
    first = wk.random.default_rng(sequence).random(4).numpy()
    again = wk.random.Generator(np.random.SeedSequence(5)).random(4).numpy()
    bits = wk.random.default_rng(np.random.PCG64(np.random.SeedSequence(5))).random(4).numpy()
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, bits)
    child = wk.random.default_rng(sequence.spawn(1)[0]).random(4).numpy()
    assert not np.array_equal(first, child)


@pytest.mark.gpu
def test_a_generator_draws_where_its_key_is() -> None:
    for device in BACKENDS:
        with wk.use_backend(device):
            rng = wk.random.default_rng(1)
        assert rng.random(3).device == device
