"""Models of every kind: saved under the paths of their parts, loaded into, and trained."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from types import SimpleNamespace
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
            found = tensors_of(model)
            adam.minimize(lambda: sum(((v * v).sum() for v in found), wk.tensor(0.0)), model)
            return [v.tolist() for v in found]

        step(adam, model)
        wk.save(tmp_path / "file", {"model": model, "adam": adam})
        assert sorted(wk.load(tmp_path / "now")) == paths
        wk.load(tmp_path / "file", into={"model": other, "adam": resumed})
        assert step(adam, model) == step(resumed, other)
        assert step(adam, model) == step(resumed, other)


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


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_have_the_form_of_any_model(name: str, backend: str) -> None:
    with wk.use_backend(backend):
        model = MODELS[name][0]()
        count = len(tensors_of(model))

        def loss(of: Any = model) -> wk.Tensor:
            return sum(((v * v).sum() for v in tensors_of(of)), wk.tensor(0.0))

        _, slopes = wk.variable_grads(loss, model)
        assert type(slopes) is type(model)
        assert [one.tolist() for one in tensors_of(slopes)] == [[2.0, 2.0]] * count
        found = wk.grad(loss)(model)
        assert [one.tolist() for one in tensors_of(found)] == [[2.0, 2.0]] * count
        value, back = wk.vjp(loss, model)
        assert [one.tolist() for one in tensors_of(back(wk.tensor(0.5))[0])] == [[1.0, 1.0]] * count
        assert wk.jvp(loss, (model,), (found,))[1].item() == 8.0 * count
        assert [one.tolist() for one in tensors_of(wk.hvp(loss, (model,), (found,)))] == [
            [4.0, 4.0]
        ] * count
        assert value.item() == 2.0 * count
        clipped, norm = wk.train.clip_by_global_norm(slopes, 1e9)
        wk.train.SGD(0.25).apply_gradients(clipped, model)
        assert norm.item() == pytest.approx((8.0 * count) ** 0.5)
        assert [v.tolist() for v in tensors_of(model)] == [[0.5, 0.5]] * count


def tensors_of(model: Any) -> list[Any]:
    """Return the tensors of one of these models, or of one of the same form."""
    if isinstance(model, wk.Tensor):
        return [model]
    if isinstance(model, Slotted):
        return [model.w]
    if isinstance(model, Dense):
        return tensors_of([model.w, model.b])
    if isinstance(model, Net):
        return tensors_of(model.layers)
    parts = model.values() if isinstance(model, dict) else model
    return [one for part in parts for one in tensors_of(part)]


def test_attributes_without_tensors_come_along_unchanged() -> None:
    net = Net([Dense(variable(), 3.0)])
    net.up = (scratch := {"note": object()})  # type: ignore[attr-defined]  # anything will do
    slopes = wk.grad(lambda p: (p.layers[0].w * p.layers[0].b).sum() * p.rate)(net)
    assert isinstance(slopes, Net)
    assert (slopes.rate, slopes.name, slopes.layers[0].units) == (0.1, "net", 2)
    assert slopes.up is scratch  # type: ignore[attr-defined]  # as above
    assert slopes.layers[0].activation is wk.relu
    assert slopes.layers[0].b == 3.0
    assert net.layers[0].w.tolist() == [1.0, 1.0]


def test_a_shared_variable_has_one_gradient() -> None:
    v = variable()
    model = Net([v, {"tied": v}])
    _, slopes = wk.variable_grads(lambda: (v * v).sum(), model)
    assert slopes.layers[0].tolist() == [2.0, 2.0]
    assert slopes.layers[1]["tied"] is None
    wk.train.SGD(0.5).apply_gradients(slopes, model)
    assert v.tolist() == [0.0, 0.0]


def test_what_no_field_declares_is_trained_and_saved(tmp_path: Path) -> None:
    @dataclass
    class Computed:
        b: Any
        name: str = "computed"

        def __post_init__(self) -> None:
            self.w = variable(2.0)
            self.scale = 0.5

    class Inherits(Computed):
        def __init__(self, b: Any) -> None:
            super().__init__(b)
            self.more = variable(3.0)

    model = Inherits(variable())
    wk.save(tmp_path / "file", model)
    assert sorted(wk.load(tmp_path / "file")) == ["b", "more", "w"]
    _, slopes = wk.variable_grads(lambda: (model.w * model.b * model.more).sum(), model)
    assert [slopes.b.tolist(), slopes.w.tolist(), slopes.scale] == [[6.0, 6.0], [3.0, 3.0], 0.5]
    wk.train.SGD(1.0).minimize(lambda: (model.w * model.b * model.more).sum(), model)
    assert (model.w.tolist(), model.more.tolist()) == ([-1.0, -1.0], [1.0, 1.0])
    found = wk.grad(lambda p: (p.w * p.b * p.more).sum() * p.scale)(Inherits(variable()))
    assert found.more.tolist() == [1.0, 1.0]


def test_tensors_that_are_not_trained_have_no_gradient() -> None:
    net = Net({"w": variable(2.0), "seen": wk.tensor([50.0]), "steps": 3, "note": "text"})
    net.layers["frozen"] = wk.variable([4.0], trainable=False)
    net.layers["count"] = wk.variable([1], trainable=False, dtype="int32")
    net.layers["adam"] = wk.train.Adam(0.1)
    _, slopes = wk.variable_grads(lambda: (net.layers["w"] ** 2 * net.layers["frozen"]).sum(), net)
    assert slopes.layers["frozen"] is None
    assert slopes.layers["seen"] is None
    assert (slopes.layers["steps"], slopes.layers["note"]) == (3, "text")
    clipped, norm = wk.train.clip_by_global_norm(slopes, 1e9)
    assert norm.item() == pytest.approx(512.0**0.5)
    wk.train.SGD(0.125).apply_gradients(clipped, net)
    assert net.layers["w"].tolist() == [0.0, 0.0]
    assert net.layers["frozen"].tolist() == [4.0]
    del net.layers["seen"]
    found = wk.grad(lambda p: ((p.layers["w"] + 1.0) * p.layers["frozen"]).sum())(net)
    assert found.layers["w"].tolist() == [4.0, 4.0]
    assert found.layers["count"] is None


def test_gradients_of_a_plain_list_are_applied_to_it() -> None:
    given = [variable(), variable()]
    _, slopes = wk.variable_grads(lambda: (given[0] * given[1]).sum(), given)
    wk.train.SGD(0.5).apply_gradients(slopes, given)
    assert [v.tolist() for v in given] == [[0.5, 0.5]] * 2


def test_gradients_with_none_are_tangents() -> None:
    v = variable(3.0)
    model = {"a": v, "b": v, "unused": None}
    _, slopes = wk.variable_grads(lambda: (v * v).sum(), model)
    found = wk.jvp(lambda m: (m["a"] * m["b"]).sum(), (model,), (slopes,))
    assert found[1].item() == 36.0


class Names(list[Any]):
    """A list that is made with arguments and has an attribute."""

    def __init__(self, title: str, items: Any) -> None:
        super().__init__(items)
        self.title = title


class Attributes(dict[str, Any]):
    """A dictionary whose items are attributes."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def test_containers_of_other_kinds_come_back_as_they_are(tmp_path: Path) -> None:
    namespace = SimpleNamespace(w=variable(), title="n")
    model = Attributes(names=Names("t", [variable()]), space=namespace, empty=[])
    wk.save(tmp_path / "file", model)
    found = wk.grad(lambda m: (m.names[0] * m.space.w).sum() + len(m.empty))(model)
    assert (found.names.title, found.space.title, found.empty) == ("t", "n", [])
    assert found.names[0].tolist() == found.space.w.tolist() == [1.0, 1.0]


def test_messages_name_the_path() -> None:
    net = Net([Dense(variable(), variable())])
    with pytest.raises(wk.GradientNotFound, match="depend on input layers/0/b"):
        wk.grad(lambda p: p.layers[0].w.sum())(net)
    net.layers.append(net.layers)
    with pytest.raises(wk.ArgumentError, match="grad: the model holds itself, under 'layers/1'"):
        wk.grad(lambda p: p.layers[0].w.sum())(net)
    with pytest.raises(wk.ArgumentError, match="variables holds"):
        wk.variable_grads(lambda: wk.tensor(1.0), logging.getLogger("nothing"))


def test_a_capture_tells_static_fields_apart() -> None:
    @dataclass
    class Layer:
        w: Any
        rate: float = field(metadata={"static": True})

    @wk.capture
    def scaled(layer: Layer) -> wk.Tensor:
        return wk.multiply(layer.w, layer.rate)

    for rate in (0.5, 2.0, 0.5, 2.0):
        assert scaled(Layer(wk.tensor([1.0]), rate)).tolist() == [rate]
