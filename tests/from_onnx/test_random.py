"""Random numbers, which ONNX's node tests have few of: shapes, dtypes and moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator

node = helper.make_node
FLOAT16, BFLOAT16 = TensorProto.FLOAT16, TensorProto.BFLOAT16
SIGMAS = 5
"""Standard deviations that a moment of a sample may be off."""


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    wk.random.seed(3)
    with wk.use_backend(request.param):
        yield


def _model(op: str, given: dict[str, Any], to: int = FLOAT, **attrs: Any) -> wk.onnx.Model:
    """Return a model of one operator."""
    inputs: dict[str, tuple[int, Any]] = {name: (FLOAT, x.shape) for name, x in given.items()}
    return wk.onnx.load(model([node(op, list(given), ["y"], **attrs)], inputs, {"y": (to, None)}))


def _drawn(op: str, given: dict[str, Any], to: int = FLOAT, **attrs: Any) -> Any:
    """Return what one operator draws."""
    return _model(op, given, to, **attrs).numpy(**given)[0]


@pytest.mark.parametrize("to", [FLOAT, FLOAT16, BFLOAT16])
@pytest.mark.parametrize("like", ["", "Like"])
def test_normal_numbers_have_the_moments_of_their_attributes(like: str, to: int) -> None:
    given = {"x": np.zeros((40, 50), np.float32)} if like else {}
    shape = {} if like else {"shape": [40, 50]}

    y = _drawn(f"RandomNormal{like}", given, to, mean=3.0, scale=0.5, dtype=to, **shape)

    assert (y.shape, y.dtype) == ((40, 50), helper.tensor_dtype_to_np_dtype(to))
    z = (y.astype(np.float64) - 3.0) / 0.5
    n = z.size
    assert abs(z.mean()) < SIGMAS * n**-0.5
    assert abs((z**2).mean() - 1) < SIGMAS * (2 / n) ** 0.5
    assert abs((z**3).mean()) < SIGMAS * (15 / n) ** 0.5
    assert abs((z**4).mean() - 3) < SIGMAS * (96 / n) ** 0.5


@pytest.mark.parametrize("to", [FLOAT, FLOAT16])
@pytest.mark.parametrize("like", ["", "Like"])
def test_uniform_numbers_have_the_moments_of_their_attributes(like: str, to: int) -> None:
    given = {"x": np.zeros((40, 50), np.float32)} if like else {}
    shape = {} if like else {"shape": [40, 50]}

    y = _drawn(f"RandomUniform{like}", given, to, low=-2.0, high=6.0, dtype=to, **shape)

    assert (y.shape, y.dtype) == ((40, 50), helper.tensor_dtype_to_np_dtype(to))
    u = (y.astype(np.float64) + 2.0) / 8.0
    assert u.min() >= 0.0
    assert u.max() <= 1.0
    for power in (1, 2, 3, 4):
        spread = 1 / (2 * power + 1) - 1 / (power + 1) ** 2
        off = (u**power).mean() - 1 / (power + 1)
        assert abs(off) < SIGMAS * (spread / u.size) ** 0.5 + 2.0**-11  # half a step of float16


@pytest.mark.parametrize("to", [TensorProto.INT32, INT64])
def test_classes_are_drawn_by_their_unnormalized_logarithms(to: int) -> None:
    chances = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.1, 0.1, 0.7]])
    logits = (np.log(chances) + np.array([[2.0], [-7.0]])).astype(np.float32)

    y = _drawn("Multinomial", {"x": logits}, to, sample_size=4000, dtype=to)

    assert (y.shape, y.dtype) == ((2, 4000), helper.tensor_dtype_to_np_dtype(to))
    shares = np.stack([(y == one).mean(axis=1) for one in range(4)], axis=1)
    assert (np.abs(shares - chances) < SIGMAS * np.sqrt(chances * (1 - chances) / 4000)).all()


def test_flags_are_drawn_with_the_chances_of_their_elements() -> None:
    chances = np.tile(np.array([0.0, 0.1, 0.6, 1.0], np.float32), (1000, 1))

    y = _drawn("Bernoulli", {"x": chances}, INT64, dtype=INT64)

    assert (y.shape, y.dtype) == ((1000, 4), np.int64)
    assert set(np.unique(y)) == {0, 1}
    off = y.mean(axis=0) - chances[0]
    assert (np.abs(off) <= SIGMAS * np.sqrt(chances[0] * (1 - chances[0]) / 1000)).all()


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("RandomNormal", {"shape": [6]}),
        ("RandomUniformLike", {}),
        ("Bernoulli", {}),
        ("Multinomial", {"sample_size": 30}),
    ],
)
def test_a_seed_says_what_a_model_draws_from_its_first_call_on(
    op: str, attrs: dict[str, Any]
) -> None:
    given = {} if "shape" in attrs else {"x": np.full((6, 9), 0.5, np.float32)}
    to = TensorProto.INT32 if op == "Multinomial" else FLOAT

    models = [_model(op, given, to, **attrs, seed=seed) for seed in (4.0, 4.0, 5.0)]
    one, same, other = ([net.numpy(**given)[0] for _ in range(2)] for net in models)

    np.testing.assert_array_equal(one, same)
    assert (one[0] != one[1]).any()
    assert (one[0] != other[0]).any()


def test_what_has_no_seed_draws_from_the_common_stream() -> None:
    first, second = (_drawn("RandomNormal", {}, shape=[6]) for _ in range(2))
    wk.random.seed(3)

    np.testing.assert_array_equal(_drawn("RandomNormal", {}, shape=[6]), first)
    assert (first != second).any()
