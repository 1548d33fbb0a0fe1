"""Models of every kind: saved under the paths of their parts, loaded into, and trained."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Dense:
    """A layer with what is no part of the model beside its variables."""

    w: Any
    b: Any
    activation: Callable[..., Any] = wk.relu
    units: int = 2
    name: str = field(default="dense", metadata={"static": True})


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("__hidden", "unset", "w")

    def __init__(self, w: Any) -> None:
        self.w = w
        self.__hidden = 3


class Pair(NamedTuple):
    """Fields by name."""

    first: Any
    second: Any


class Net:
    """An object whose attributes are all kinds of things."""

    def __init__(self, layers: Any, rate: float = 0.1) -> None:
        self.layers, self.rate, self.name, self.shape = layers, rate, "net", (2, 3)


def variable(value: float = 1.0) -> wk.Variable:
    """Return a variable of two elements."""
    return wk.variable([value, value])


MODELS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "dict": (lambda: {"out": {"w": variable()}}, ["out/w"]),
    "dataclasses": (
        lambda: [Dense(variable(), variable()), Dense(variable(), variable())],
        ["0/b", "0/w", "1/b", "1/w"],
    ),
    "slots": (lambda: Slotted(variable()), ["w"]),
    "named": (lambda: Pair(variable(), (variable(),)), ["first", "second/0"]),
    "mixture": (
        lambda: Net([Dense(variable(), {"x": variable()}), Slotted(variable())]),
        ["layers/0/b/x", "layers/0/w", "layers/1/w"],
    ),
}


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_saved_loaded_and_goes_on(name: str, backend: str, tmp_path: Path) -> None:
    make, paths = MODELS[name]
    with wk.use_backend(backend):
        model, other = make(), make()
        adam, resumed = wk.train.Adam(0.1), wk.train.Adam(0.1)

        def step(adam: Any, model: Any) -> list[Any]:
            wk.save(tmp_path / "now", model)
            found = found_in(model)
            adam.minimize(lambda: sum(((v * v).sum() for v in found), wk.tensor(0.0)), model)
            return [v.tolist() for v in found]

        step(adam, model)
        wk.save(tmp_path / "file", {"model": model, "adam": adam})
        assert sorted(wk.load(tmp_path / "now")) == paths
        wk.load(tmp_path / "file", into={"model": other, "adam": resumed})
        assert step(adam, model) == step(resumed, other)
        assert step(adam, model) == step(resumed, other)


def found_in(model: Any) -> list[wk.Variable]:
    """Return the variables of one of these models."""
    if isinstance(model, wk.Variable):
        return [model]
    if isinstance(model, dict):
        parts = list(model.values())
    elif isinstance(model, (list, tuple)):
        parts = list(model)
    elif isinstance(model, Slotted):
        parts = [model.w]
    elif isinstance(model, Dense):
        parts = [model.w, model.b]
    elif isinstance(model, Net):
        parts = [model.layers]
    else:
        parts = []
    return [one for part in parts for one in found_in(part)]


def test_a_dataclass_is_a_model_and_its_static_fields_are_none_of_it() -> None:
    @dataclass
    class Layer:
        w: Any
        rate: float = field(default=0.5, metadata={"static": True})

    layer = Layer(wk.variable([1.0, 2.0]))
    _, slopes = wk.variable_grads(lambda: (layer.w * layer.w).sum() * layer.rate, layer)
    assert (slopes.w.tolist(), slopes.rate) == ([1.0, 2.0], 0.5)
    found = wk.grad(lambda p: (p.w * p.w).sum() * p.rate)(Layer(wk.tensor([3.0])))
    assert (found.w.tolist(), found.rate) == ([3.0], 0.5)


def test_a_shared_variable_is_changed_once_and_what_is_not_trainable_stays() -> None:
    v, mean = variable(), wk.variable([5.0], trainable=False)
    wk.train.SGD(0.5).minimize(lambda: v.sum() + mean.sum(), {"a": v, "b": [v], "mean": mean})
    assert (v.tolist(), mean.tolist()) == ([0.5, 0.5], [5.0])


def test_a_circle_is_refused_with_its_path(tmp_path: Path) -> None:
    net = Net([variable()])
    net.layers.append({"up": net})
    with pytest.raises(wk.ArgumentError, match="save: the model holds itself, under 'layers/1/up'"):
        wk.save(tmp_path / "file", net)
    with pytest.raises(wk.ArgumentError, match=r"SGD\.minimize: the model holds itself"):
        wk.train.SGD(0.1).minimize(lambda: wk.tensor(1.0), net)


def test_attributes_that_lead_to_no_tensor_may_lead_round(tmp_path: Path) -> None:
    net = Net([variable()])
    net.name = logging.getLogger("wgsl_kernels")  # type: ignore[assignment]  # anything will do
    wk.save(tmp_path / "file", net)
    assert list(wk.load(tmp_path / "file")) == ["layers/0"]
