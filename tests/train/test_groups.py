"""Parameter groups and accumulated gradients: alone, together with clipping, captured, saved."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.from_onnx.graphs import network

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DRAW = np.random.default_rng(4)
X = DRAW.standard_normal((24, 3)).astype(np.float32)
Y = DRAW.standard_normal((24, 2)).astype(np.float32)

Model = dict[str, wk.Variable]


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def _model() -> Model:
    draw = np.random.default_rng(9)
    return {"body": _variable(draw, 3, 4), "head": _variable(draw, 4, 2)}


def _variable(draw: np.random.Generator, *shape: int) -> wk.Variable:
    return wk.variable(draw.standard_normal(shape).astype(np.float32))


def _loss(model: Model, x: Any, y: Any) -> wk.Tensor:
    return wk.mean_squared_error(y, wk.tanh(x @ model["body"]) @ model["head"])


def _grouped(model: Model) -> wk.train.ParameterGroups:
    return wk.train.ParameterGroups(
        {
            "head": (wk.train.AdamW(0.05, weight_decay=0.1), model["head"]),
            "rest": (wk.train.Momentum(wk.train.ExponentialDecay(0.1, 2, 0.5), 0.9), None),
        }
    )


@pytest.mark.parametrize("is_captured", [False, True])
def test_groups_do_what_their_optimizers_do_apart(is_captured: bool) -> None:
    together, apart = _model(), _model()
    groups, alone = _grouped(together), _grouped(apart).optimizers

    def step() -> wk.Tensor:
        return groups.minimize(lambda: _loss(together, X, Y))

    run = wk.capture(step) if is_captured else step
    for _ in range(4):
        run()
        slopes = wk.variable_grads(lambda: _loss(apart, X, Y), apart)[1]
        alone["head"].apply_gradients([(slopes["head"], apart["head"])])
        alone["rest"].apply_gradients([(slopes["body"], apart["body"])])
    for name, one in together.items():
        np.testing.assert_array_equal(one.numpy(), apart[name].numpy())


@pytest.mark.parametrize("is_captured", [False, True])
def test_small_batches_clipped_together_train_as_a_large_one_does(is_captured: bool) -> None:
    small, large = _model(), _model()
    optimizers, total = [_grouped(small), _grouped(large)], wk.train.GradientAccumulator(small)

    def add(x: Any, y: Any) -> None:
        total.update(wk.variable_grads(lambda: _loss(small, x, y), small)[1], len(x))

    def finish() -> wk.Tensor:
        clipped, norm = wk.train.clip_by_global_norm(total.result(), 0.5)
        optimizers[0].apply_gradients(clipped, small)
        total.reset()
        return norm

    if is_captured:
        add, finish = wk.capture(add), wk.capture(finish)
    for _ in range(3):
        for rows in (slice(0, 8), slice(8, 16), slice(16, 20), slice(20, 24)):
            add(wk.tensor(X[rows]), wk.tensor(Y[rows]))
        norm = finish()
        slopes = wk.variable_grads(lambda: _loss(large, X, Y), large)[1]
        clipped, expected = wk.train.clip_by_global_norm(slopes, 0.5)
        optimizers[1].apply_gradients(clipped, large)
        wk.testing.assert_close(norm, expected, rtol=1e-5)
    for name, one in small.items():
        wk.testing.assert_close(one, large[name], rtol=1e-4, atol=1e-5)


def test_groups_and_sums_are_saved_and_copied_with_their_model(tmp_path: Path) -> None:
    def whole() -> tuple[Any, Any, Any]:
        model = _model()
        return model, _grouped(model), wk.train.GradientAccumulator(model)

    def run(model: Model, groups: Any, total: Any) -> None:
        total.update(wk.variable_grads(lambda: _loss(model, X, Y))[1])
        groups.apply_gradients(total.result(), model)

    first, second = whole(), whole()
    run(*first)
    wk.save(tmp_path / "run.safetensors", first)
    wk.load(tmp_path / "run.safetensors", into=second)
    third = copy.deepcopy(first)
    for one in (first, second, third):
        run(*one)
    for name, one in first[0].items():
        np.testing.assert_array_equal(one.numpy(), second[0][name].numpy())
        np.testing.assert_array_equal(one.numpy(), third[0][name].numpy())
    assert "AdamW(" in repr(first[1])
    assert repr(first[2]) == "GradientAccumulator(2 variables, weight=2)"


def test_a_sum_goes_on_from_a_file_between_its_batches(tmp_path: Path) -> None:
    def whole() -> tuple[Any, Any]:
        model = _model()
        return model, wk.train.GradientAccumulator(model)

    first, second = whole(), whole()
    first[1].update({first[0]["head"]: wk.ones((4, 2))}, 2.0)
    wk.save(tmp_path / "run.safetensors", first)
    wk.load(tmp_path / "run.safetensors", into=second)
    for model, total in (first, second):
        total.update({"body": None, "head": 4.0 * wk.ones((4, 2))}, 4.0)
        found = total.result()
        assert found["body"] is None
        assert found["head"].tolist() == [[3.0, 3.0]] * 4
        assert model.keys() == found.keys()


def test_a_sum_refuses_the_state_of_another() -> None:
    total = wk.train.GradientAccumulator(_model())
    state: Any = total.state_dict()
    cases: list[tuple[Any, type[Exception], str]] = [
        ({**state, "more": wk.zeros(())}, wk.ArgumentError, "the state has 'more'; want sums/0"),
        ({"weight": 1.0}, wk.ArgumentError, "the state lacks 'sums/0'"),
        ({**state, "weight": wk.zeros(2)}, wk.ShapeError, r"'weight' has shape \[2\]"),
        ({**state, "has_come": wk.zeros(2)}, wk.DTypeError, "'has_come' is float32; want bool"),
        ([], wk.ArgumentError, "state is"),
    ]
    for wrong, error, match in cases:
        with pytest.raises(error, match=match):
            total.load_state_dict(wrong)


def test_a_sum_has_no_gradient_of_what_got_none() -> None:
    total = wk.train.GradientAccumulator(model := _model())
    total.update({model["head"]: wk.ones((4, 2))}, 0.5)
    total.update({"body": None, "head": 3.0 * wk.ones((4, 2))}, 1.5)
    assert total.result()["body"] is None
    assert total.result()["head"].tolist() == [[2.5, 2.5]] * 4


def test_a_group_that_fails_leaves_all_as_they_were() -> None:
    model = _model()
    groups = _grouped(model)
    with pytest.raises(wk.ShapeError, match="Momentum: the gradient of"):
        groups.apply_gradients([(wk.ones((4, 2)), model["head"]), (wk.ones(2), model["body"])])
    assert groups.optimizers["head"].step.item() == 0
    assert model["head"].tolist() == _model()["head"].tolist()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda m, s: {}, "groups is {}; want a mapping"),
        (lambda m, s: {"a": (m["body"], s)}, "'a' is .*; want .optimizer, part"),
        (lambda m, s: {"a": (s, m), "b": (wk.train.SGD(1.0), m["body"])}, "is in the groups 'a'"),
        (lambda m, s: {"a": (s, m), "b": (s, None)}, "has the optimizer of another"),
        (lambda m, s: {"a": (s, None), "b": (wk.train.SGD(1.0), None)}, "have the part None"),
    ],
)
def test_groups_that_overlap_are_refused(make: Callable[..., Any], match: str) -> None:
    with pytest.raises(wk.ArgumentError, match=match):
        wk.train.ParameterGroups(make(_model(), wk.train.SGD(0.1)))


def test_what_no_group_has_is_refused() -> None:
    model = _model()
    groups = wk.train.ParameterGroups({"head": (wk.train.SGD(0.1), model["head"])})
    with pytest.raises(wk.ArgumentError, match=r"ParameterGroups: 'variable_.*' is in no group"):
        groups.minimize(lambda: _loss(model, X, Y))
    with pytest.raises(wk.ArgumentError, match="GradientAccumulator: model has no trainable"):
        wk.train.GradientAccumulator({"x": wk.ones(2)})
    with pytest.raises(wk.ShapeError, match=r"weight has shape \[2\]; want a scalar"):
        wk.train.GradientAccumulator(model).update({}, [1.0, 2.0])
    with pytest.raises(wk.ShapeError, match="the gradient of 'variable_"):
        wk.train.GradientAccumulator(model).update({model["head"]: wk.ones(2)})


def test_gradients_of_a_model_without_variables_are_not_added_up() -> None:
    net = wk.onnx.load(network())
    with pytest.raises(wk.ArgumentError, match=r"no trainable variables\. .* trainable=True"):
        wk.train.GradientAccumulator(net)
