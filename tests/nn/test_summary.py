"""What a summary says of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.from_onnx.graphs import network

import wgsl_kernels as wk


@dataclass
class _Twice:
    inner: wk.nn.Dense

    def __call__(self, x: wk.Tensor) -> wk.Tensor:
        return self.inner(self.inner(x))


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_summary_has_layers_shapes_parameters_and_times(backend: str) -> None:
    with wk.use_backend(backend):
        net = wk.nn.sequential(
            _Twice(wk.nn.dense(4, 4)), wk.relu, wk.nn.dropout(0.5), wk.nn.batch_norm(4)
        )
        call = wk.nn.Dense.__call__
        found = wk.summary(net, wk.ones((3, 4)), train=True)
        assert wk.nn.Dense.__call__ is call
    paths = [one.path for one in found.layers]
    assert paths == ["", "layers/0", "layers/0/inner", "layers/2", "layers/3"]
    assert [one.kind for one in found.layers] == [
        "Sequential",
        "_Twice",
        "Dense",
        "Dropout",
        "BatchNorm",
    ]
    assert {one.shapes for one in found.layers} == {((3, 4),)}
    assert [one.parameters for one in found.layers] == [28, 20, 20, 0, 8]
    assert (found.parameters, found.bytes) == (28, 4 * 36)  # running numbers are not trained
    assert all(one.milliseconds is not None and one.milliseconds > 0 for one in found.layers)
    assert "layers/0/inner  Dense" in str(found)
    assert "<td>BatchNorm</td>" in found._repr_html_()


def test_a_model_that_is_not_called_has_no_shapes() -> None:
    found = wk.summary({"a": wk.nn.dense(2, 3), "b": [wk.nn.layer_norm(3)]})
    assert [(one.path, one.shapes) for one in found.layers] == [("a", ()), ("b/0", ())]
    assert found.parameters == 15


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize(("trainable", "parameters"), [(False, 565), (True, 621)])
def test_a_summary_has_the_nodes_of_a_model(backend: str, trainable: bool, parameters: int) -> None:
    with wk.use_backend(backend):
        net = wk.onnx.load(network(), trainable=trainable)
        found, uncalled = wk.summary(net, np.ones((2, 3, 12, 12), np.float32)), wk.summary(net)

    kinds = ["Model", *(one.op for one in net.nodes)]
    assert [one.kind for one in found.layers] == [one.kind for one in uncalled.layers] == kinds
    assert [one.path for one in found.layers][:2] == ["", "Conv -> c1"]
    assert found.layers[0].shapes == found.layers[-1].shapes == ((2, 5),)
    assert (found.parameters, found.bytes) == (parameters, 4 * parameters)
    assert sum(one.parameters for one in found.layers[1:]) == parameters
    assert all(one.milliseconds is not None and one.milliseconds > 0 for one in found.layers)
    assert {(one.shapes, one.milliseconds) for one in uncalled.layers} == {((), None)}
    assert "Conv -> c1" in str(uncalled)


@pytest.mark.parametrize(
    ("model", "inputs", "expected"),
    [
        ({}, (), "want a layer"),
        ({"a": wk.variable([1.0])}, (), "want a layer"),
        ([wk.nn.dense(2, 3)], (1.0,), "which cannot be called"),
    ],
)
def test_what_is_no_model_is_refused(model: Any, inputs: tuple[Any, ...], expected: str) -> None:
    with pytest.raises(wk.ArgumentError, match=expected):
        wk.summary(model, *inputs)


def test_an_error_leaves_layers_as_they_are() -> None:
    call = wk.nn.Dense.__call__
    with pytest.raises(wk.ShapeError):
        wk.summary(wk.nn.dense(2, 3), wk.ones((1, 5)))
    assert wk.nn.Dense.__call__ is call
