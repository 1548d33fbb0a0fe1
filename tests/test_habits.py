"""Habits of those who come from NumPy, PyTorch, JAX and TensorFlow.js, as they would type them."""

from __future__ import annotations

import builtins
import dataclasses
import operator
import pickle
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
PUBLIC = [wk, wk.random, wk.testing, wk.tfjs, wk.train, wk.tuning]
VALUES = np.array([[1.0, -2.0, 3.5], [0.25, 5.0, -6.0]], np.float32)


@BACKENDS
def test_methods_are_the_ops(backend: str) -> None:
    with wk.use_backend(backend):
        x = wk.tensor(VALUES)
        assert x.sum(0).tolist() == wk.sum(x, 0).tolist() == VALUES.sum(0).tolist()
        assert x.mean(axis=1, keepdims=True).shape == (2, 1)
        assert x.reshape(3, 2).tolist() == x.reshape((3, -1)).tolist()
        assert x.T.tolist() == x.mT.tolist() == x.transpose(1, 0).tolist() == VALUES.T.tolist()
        assert x.astype(wk.int32).cumsum(1).tolist() == [[1, -1, 2], [0, 5, -1]]
        assert (x.nbytes, x.device) == (24, backend)


OPERATORS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (operator.mod, (np.array([7, -7], np.int32), 3)),
    (operator.mod, (7.5, VALUES)),
    (operator.xor, (np.array([6, 3], np.int32), 5)),
    (operator.and_, (np.array([6, 3], np.int32), np.array([4, 1], np.int32))),
    (operator.or_, (8, np.array([6, 3], np.int32))),
    (operator.and_, (np.array([True, True]), np.array([True, False]))),
    (operator.xor, (np.array([True, True]), True)),
    (operator.lshift, (np.array([1, 2], np.int32), 3)),
    (operator.rshift, (np.array([64, -8], np.int32), 2)),
    (operator.invert, (np.array([0, 5], np.int32),)),
    (operator.invert, (np.array([True, False]),)),
    (builtins.round, (np.array([0.5, 1.5, -2.7], np.float32),)),
    (builtins.divmod, (np.array([7, -7], np.int32), 3)),
]


@BACKENDS
@pytest.mark.parametrize(("use", "given"), OPERATORS)
def test_operators_give_what_numpy_gives(
    use: Callable[..., Any], given: tuple[Any, ...], backend: str
) -> None:
    with wk.use_backend(backend):
        tensors = [wk.tensor(one) if isinstance(one, np.ndarray) else one for one in given]
        found = use(*tensors)
    expected = np.round(*given) if use is builtins.round else use(*given)
    pairs = zip(found, expected, strict=True) if use is builtins.divmod else [(found, expected)]
    for one, wanted in pairs:
        np.testing.assert_array_equal(one.numpy(), wanted)


def test_numbers_are_formatted_and_rounded() -> None:
    loss = wk.tensor(0.123456)
    assert f"{loss:.3f} {loss * 100:5.1f}%" == "0.123  12.3%"
    assert f"{round(loss, 2):g}" == "0.12"
    assert f"{loss}" == str(loss)
    with pytest.raises(wk.DTypeError, match=r"shape \[2\] has no format '.2f'"):
        format(wk.ones(2), ".2f")


def test_a_variable_is_changed_in_place() -> None:
    w = wk.variable([1, 6])
    same = w
    w.assign_add(1).assign_sub([0, 2])
    w <<= 2
    w %= 7
    w ^= 1
    assert w is same
    assert same.tolist() == [0, 7]


def test_dtypes_are_objects_that_equal_names_and_numpys() -> None:
    x = wk.zeros((2,), "float32")
    assert x.dtype is wk.float32
    assert x.dtype == np.float32
    assert np.dtype("float32") == x.dtype
    assert x.dtype == "float32"
    assert x.dtype != np.float64
    assert x.dtype != wk.int32
    assert np.zeros(2, x.dtype).dtype == np.float32
    assert dict[str, int]({x.dtype: 1})["float32"] == 1
    assert wk.ones(2, wk.bool).dtype == np.bool_
    assert pickle.loads(pickle.dumps(x.dtype)) == x.dtype
    assert (wk.float32.name, wk.complex64.itemsize) == ("float32", 8)
    assert wk.astype(x, x.dtype).tolist() == wk.astype(x, dtype=np.dtype("f4")).tolist()


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_a_module_shows_its_public_names_and_no_other(module: ModuleType) -> None:
    names = dir(module)
    assert all(hasattr(module, name) for name in names)
    assert set(module.__all__) == {name for name in names if not hasattr(builtins, name)}
    foreign = [
        name
        for name in names
        if isinstance(getattr(module, name), ModuleType)
        and not getattr(module, name).__name__.startswith("wgsl_kernels")
    ]
    assert foreign == [name for name in names if name.startswith("_")] == []


def test_completion_shows_what_there_is_to_use() -> None:
    assert {"sum", "max", "float32", "random", "train", "tfjs", "testing"} <= set(dir(wk))
    assert {"ops", "saving", "mat_mul", "tensor1d", "pad4d"} & set(dir(wk)) == set()
    assert {"seed", "random_normal", "key"} <= set(dir(wk.random))
    assert {"numpy", "os", "np", "threading"} & set(dir(wk.random)) == set()
    assert wk.tfjs.tensor1d is wk.tensor1d is wk.tensor
    assert wk.tfjs.relu is wk.relu


@dataclasses.dataclass
class Layer:
    """A layer, as users write them."""

    w: Any
    b: Any


@BACKENDS
def test_trees_come_back_as_gradients(backend: str) -> None:
    def loss(model: dict[str, Any], scale: Any, *, power: float) -> tuple[Any, str]:
        layer = model["layers"][0]
        return ((layer.w * layer.b + model["shift"]) * scale).sum() ** power, "passed on"

    with wk.use_backend(backend):
        model = {"shift": wk.tensor(1.0), "layers": [Layer(wk.ones(2), wk.tensor([2.0, 3.0]))]}
        (value, aux), slope = wk.value_and_grad(loss, has_aux=True)(model, 2.0, power=1.0)
        assert (value.item(), aux) == (14.0, "passed on")
        assert slope["layers"][0].w.tolist() == [4.0, 6.0]
        assert slope["shift"].item() == 4.0
        both, _ = wk.grad(loss, argnums=(1, 0), has_aux=True)(model, 2.0, power=1.0)
        assert both[0].item() == 7.0
        assert both[1]["layers"][0].b.tolist() == [2.0, 2.0]
        with pytest.raises(wk.GradientNotFound, match="input b"):
            wk.grad(lambda p: p["a"] * 2.0)({"a": wk.tensor(1.0), "b": wk.tensor(1.0)})
    with pytest.raises(wk.ArgumentError, match="argnums has 3"):
        wk.grad(loss, 3)(model, 2.0, power=1.0)


def test_variable_grads_have_the_form_of_the_model() -> None:
    model: dict[str, Any] = {
        "a": Layer(wk.variable(2.0), wk.variable(3.0)),
        "rest": (wk.variable(1.0),),
    }
    _, slopes = wk.variable_grads(lambda: model["a"].w * model["a"].b, model)
    assert (slopes["a"].w.item(), slopes["a"].b.item()) == (3.0, 2.0)
    assert slopes["rest"] == (None,)


def test_gradients_in_the_form_of_the_model_are_clipped_and_applied() -> None:
    model: dict[str, Any] = {
        "layers": [Layer(wk.variable([3.0]), wk.variable(4.0))],
        "unused": wk.variable(1.0),
    }
    layer = model["layers"][0]
    sgd = wk.train.SGD(1.0)
    _, slopes = wk.variable_grads(lambda: (layer.w * 3.0 + layer.b * 4.0).sum(), model)
    clipped, norm = wk.train.clip_by_global_norm(slopes, 1.0)
    with pytest.warns(UserWarning, match="no gradient for"):
        sgd.apply_gradients(clipped, model)

    assert norm.item() == 5.0
    assert layer.w.tolist() == pytest.approx([2.4])
    assert layer.b.item() == pytest.approx(3.2)
    assert model["unused"].item() == 1.0
    with pytest.raises(wk.ArgumentError, match="want the form of variables"):
        sgd.apply_gradients({"layers": []}, model)
    with pytest.raises(wk.ArgumentError, match=r"apply_gradients\(gradients, model\)"):
        sgd.apply_gradients(slopes["layers"])


@BACKENDS
def test_captured_functions_take_and_return_trees(backend: str) -> None:
    @wk.capture
    def step(layer: Layer) -> Layer:
        return Layer(layer.w * 2.0, layer.b + layer.w)

    with wk.use_backend(backend):
        for number in (1.0, 2.0, 3.0):
            found = step(Layer(wk.tensor([number]), wk.tensor([1.0])))
            assert isinstance(found, Layer)
            assert (found.w.item(), found.b.item()) == (2 * number, 1 + number)
    if backend == "webgpu":
        assert step.why is None


@BACKENDS
def test_numpys_functions_run_ours(backend: str) -> None:
    with wk.use_backend(backend):
        x = wk.tensor(VALUES)
        found = {
            "sum": np.sum(x, axis=0),
            "max": np.max(x, 1, keepdims=True),
            "concatenate": np.concatenate([x, x], axis=1),
            "where": np.where(x > 0, x, 0.0),
            "cumsum": np.cumsum(x),
            "split": np.split(x, [1], 1)[1],
            "std": np.std(x, ddof=1),
            "add": np.float64(0.5) + VALUES * x,
            "reduce": np.add.reduce(x, axis=1),
            "first axis": np.maximum.reduce(x),
        }
    expected = {
        "sum": VALUES.sum(0),
        "max": VALUES.max(1, keepdims=True),
        "concatenate": np.concatenate([VALUES, VALUES], axis=1),
        "where": np.where(VALUES > 0, VALUES, 0.0),
        "cumsum": np.cumsum(VALUES),
        "split": VALUES[:, 1:],
        "std": np.std(VALUES, ddof=1),
        "add": 0.5 + VALUES * VALUES,
        "reduce": VALUES.sum(1),
        "first axis": VALUES.max(0),
    }
    for name, one in found.items():
        assert isinstance(one, wk.Tensor), name
        np.testing.assert_allclose(one.numpy(), expected[name], rtol=1e-5, err_msg=name)
