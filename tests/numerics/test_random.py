"""Philox against its published answers, and the CPU backend's numbers against the shader's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wgsl_kernels.backends.cpu import random
from wgsl_kernels.testing import bounds

Array = np.ndarray
Evaluate = Callable[..., list[tuple[str, Array]]]

SIZE = 100_000
INDEX = np.arange(SIZE, dtype=np.uint32)
KEYS = [(0, 0, 0, 0), (1, -2, 3, 4), (-1, -1, -3, -1)]

# Random123, tests/kat_vectors, philox4x32 with 10 rounds: counter, key, answer
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def _words(text: str) -> Array:
    return np.array([int(word, 16) for word in text.split()], np.uint32)


def _vector(key: tuple[int, ...]) -> str:
    return "vec4<i32>(" + ", ".join(f"bitcast<i32>({word % 2**32}u)" for word in key) + ")"


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_cpu_gives_the_published_answers(counter: str, key: str, answer: str) -> None:
    actual = random.philox(_words(counter)[:, None], _words(key))

    np.testing.assert_array_equal(actual[:, 0], _words(answer))


@pytest.mark.gpu
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_shader_gives_the_published_answers(
    evaluate: Evaluate, counter: str, key: str, answer: str
) -> None:
    start = ", ".join(f"{word}u" for word in _words(counter))
    seed = ", ".join(f"{word}u" for word in _words(key))
    text = f"philox(vec4<u32>({start}), vec2<u32>({seed}))[a]"
    for _, actual in evaluate(text, INDEX[:4], dtype=np.uint32):
        np.testing.assert_array_equal(actual, _words(answer))


@pytest.mark.gpu
@pytest.mark.parametrize("key", KEYS)
def test_bits_are_the_same_on_both_backends(evaluate: Evaluate, key: tuple[int, ...]) -> None:
    expected = random.random_bits(np.array(key, np.int32), SIZE)
    for _, actual in evaluate(f"random_bits({_vector(key)}, a)", INDEX, dtype=np.uint32):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 0.1), (-1e-3, 0.0), (5.0, 5.5)])
def test_uniform_numbers_have_equal_bits(evaluate: Evaluate, low: float, high: float) -> None:
    key = KEYS[1]
    expected = random.uniform(np.array(key, np.int32), (SIZE,), low, high)
    low_bits, high_bits = (np.full(SIZE, value, np.float32) for value in (low, high))
    for _, actual in evaluate(
        f"random_uniform({_vector(key)}, a, b, c)", INDEX, low_bits, high_bits
    ):
        np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 1.0 + 2.0**-22), (-1.0, 0.0)])
def test_uniform_numbers_never_reach_the_upper_end(low: float, high: float) -> None:
    values = random.uniform(np.array(KEYS[1], np.int32), (300, 1000), low, high)

    assert values.dtype == np.float32
    assert values.shape == (300, 1000)
    assert values.min() >= low
    assert values.max() < high


@pytest.mark.gpu
@pytest.mark.parametrize(("low", "high"), [(0, 10), (-5, 3), (-(2**31), 2**31 - 1)])
def test_integers_are_the_same_on_both_backends(evaluate: Evaluate, low: int, high: int) -> None:
    key = KEYS[2]
    expected = random.integers(np.array(key, np.int32), (SIZE,), low, high)
    ends = [np.full(SIZE, end, np.int32) for end in (low, high)]
    text = f"random_integer({_vector(key)}, a, b, c)"

    assert expected.min() >= low
    assert expected.max() < high
    for _, actual in evaluate(text, INDEX, *ends, dtype=np.int32):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.gpu
def test_normal_numbers_keep_their_bound_on_both_backends(evaluate: Evaluate) -> None:
    key = KEYS[1]
    bits = random.random_bits(np.array(key, np.int32), SIZE).reshape(-1, 2) >> np.uint32(8)
    angle = (bits[:, 1].astype(np.float32) * np.float32(2**-24)) * np.float32(2 * np.pi)
    radius = np.sqrt(-2 * np.log((bits[:, 0].astype(np.float64) + 1) * 2.0**-24))
    wide = angle.astype(np.float64)
    expected = np.stack([radius * np.cos(wide), radius * np.sin(wide)], axis=1).ravel()

    on_cpu = random.normal(np.array(key, np.int32), (SIZE,))
    assert bounds.contains(bounds.ulp(4)([], expected), on_cpu).all()
    for _, actual in evaluate(f"random_normal({_vector(key)}, a)", INDEX):
        assert bounds.contains(bounds.ulp(10)([], expected), actual).all()


def test_moments_are_those_of_the_distributions() -> None:
    key = np.array([11, 0, 0, 0], np.int32)
    uniform = random.uniform(key, (1_000_000,), 0.0, 1.0)
    normal = random.normal(key, (1_000_000,))

    assert abs(uniform.mean() - 0.5) < 0.002
    assert abs(uniform.var() - 1 / 12) < 0.001
    assert abs(normal.mean()) < 0.005
    assert abs(normal.std() - 1) < 0.005
    assert abs((normal**4).mean() - 3) < 0.05


def test_empty_and_odd_shapes_are_prefixes_of_one_stream() -> None:
    key = np.array(KEYS[1], np.int32)

    assert random.normal(key, (0, 3)).shape == (0, 3)
    assert random.uniform(key, (0,), 0.0, 1.0).shape == (0,)
    np.testing.assert_array_equal(random.normal(key, (7,)), random.normal(key, (100,))[:7])


def test_the_counter_carries_into_its_high_word() -> None:
    before = random.random_bits(np.array([5, 6, -1, 0], np.int32), 8)
    after = random.random_bits(np.array([5, 6, 0, 1], np.int32), 4)

    np.testing.assert_array_equal(before[4:], after)
