"""A loaded model as a tree of variables: its gradients, its state, its copies."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper
from tests.from_onnx.graphs import FLOAT, INT64, model, network

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

node = helper.make_node
X = np.random.default_rng(5).standard_normal((2, 3, 12, 12)).astype(np.float32)
STATISTICS = {f"{norm}.{one}" for norm in ("n1", "n2") for one in ("mean", "variance")}


def test_gradients_are_under_the_names_of_parameters() -> None:
    net = wk.onnx.load(network(), trainable=True)
    _, slopes = wk.variable_grads(lambda: wk.sum(net(X)), net)

    assert {name for name, one in slopes.parameters.items() if one is None} == STATISTICS
    assert slopes.parameters["w1"].shape == net.parameters["w1"].shape


def test_running_statistics_are_variables_that_are_not_trained() -> None:
    net = wk.onnx.load(network(), trainable=True)
    before = {name: one.numpy() for name, one in net.parameters.items()}
    wk.train.SGD(0.1).minimize(lambda: wk.mean(net(X) ** 2), net)

    same = {
        name for name, one in net.parameters.items() if np.array_equal(one.numpy(), before[name])
    }
    assert {name for name, one in net.parameters.items() if not one.trainable} == STATISTICS
    assert same == STATISTICS


def test_a_model_is_saved_once_under_the_names_of_its_parameters(tmp_path: Path) -> None:
    net, other = (wk.onnx.load(network(seed), trainable=True) for seed in (0, 1))
    wk.save(tmp_path / "net.safetensors", net)

    assert set(wk.load(tmp_path / "net.safetensors")) == {
        f"parameters/{name}" for name in net.parameters
    }
    assert not np.array_equal(net(X).numpy(), other(X).numpy())
    wk.load(tmp_path / "net.safetensors", other)
    np.testing.assert_array_equal(net(X).numpy(), other(X).numpy())


def test_parameters_are_assigned_and_not_replaced() -> None:
    net: Any = wk.onnx.load(network(), trainable=True)
    with pytest.raises(TypeError, match="does not support item assignment"):
        net.parameters["w3"] = wk.zeros((8, 5))
    net.parameters["w3"].assign(wk.zeros((8, 5)))
    np.testing.assert_array_equal(net(X).numpy()[0], net.parameters["b3"].numpy())


def test_a_model_is_copied_and_not_pickled() -> None:
    net: Any = wk.onnx.load(network(), trainable=True)
    twin = copy.deepcopy(net)
    want = net(X).numpy()
    np.testing.assert_array_equal(twin(X).numpy(), want)
    net.parameters["w1"].assign(wk.zeros_like(net.parameters["w1"]))
    np.testing.assert_array_equal(twin(X).numpy(), want)
    assert not np.array_equal(net(X).numpy(), want)
    with pytest.raises(TypeError, match=r"cannot be pickled; .* wk\.save\(path, model\)"):
        pickle.dumps(net)


def test_a_model_is_read_from_its_bytes() -> None:
    data = network().SerializeToString()
    np.testing.assert_array_equal(wk.onnx.load(data)(X).numpy(), wk.onnx.load(network())(X).numpy())
    with pytest.raises(wk.ArgumentError, match="what was given is no model of ONNX"):
        wk.onnx.load(b"a letter")


@pytest.mark.gpu
def test_a_constant_output_beside_a_computed_one_is_replayed() -> None:
    proto = model(
        [node("Add", ["x", "c"], ["y"]), node("Mul", ["c", "c"], ["k"])],
        {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, None), "k": (FLOAT, [4])},
        {"c": np.arange(4, dtype=np.float32)},
    )  # fmt: skip
    with wk.use_backend("webgpu"):
        net = wk.onnx.load(proto)
        for count in (2, 2, 2, 3):  # warnings are errors
            y, k = net(np.ones((count, 4), np.float32))
            assert y.shape == (count, 4)
            assert (y.backend, k.backend) == ("webgpu", "webgpu")
            assert k.tolist() == [0.0, 1.0, 4.0, 9.0]


@pytest.mark.parametrize("kind", [INT64, FLOAT])
def test_a_range_is_held_to_the_limit_of_memory(kind: int) -> None:
    nodes = [node("Range", ["a", "b", "c"], ["y"])]
    proto = model(nodes, dict.fromkeys("abc", (kind, [])), {"y": (kind, None)})
    dtype = np.int64 if kind == INT64 else np.float32
    with wk.use_backend("cpu"), wk.config.using(memory_limit=1 << 20):
        count = wk.onnx.load(proto)
        assert count(dtype(5), dtype(2), dtype(-1)).tolist() == [5, 4, 3]
        with pytest.raises(wk.OutOfMemoryError, match=r"asked for \d+ bytes"):
            count(dtype(0), dtype(10_000_000), dtype(1))
        with pytest.raises(wk.ArgumentError, match="delta is 0"):
            count(dtype(0), dtype(1), dtype(0))


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_model_follows_the_backend_in_force_and_is_replayed_there(is_trained: bool) -> None:
    with wk.use_backend("cpu"):
        net = wk.onnx.load(network(), trainable=is_trained)
        want = net(X).numpy()
    with wk.use_backend("webgpu"):
        found = [net(X).numpy() for _ in range(3)]
        assert net._replayed.why is None
    for one in found:
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)
