"""What becomes of the arrays that a model is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model, network

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.onnx import running

if TYPE_CHECKING:
    from pathlib import Path

BACKENDS = ("cpu", "webgpu")
node = helper.make_node


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", ["Flatten", "Identity", "Neg"])
def test_an_array_may_be_written_to_after_the_call_that_took_it(op: str, backend: str) -> None:
    shape = [128, 256]  # large enough to be copied to a device at once
    proto = model([node(op, ["x"], ["y"])], {"x": (FLOAT, shape)}, {"y": (FLOAT, shape)})
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        for _ in range(3):
            x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)[::-1]
            want = -x if op == "Neg" else x.copy()
            y = net(x)
            x[:] = 7.0
            np.testing.assert_array_equal(y.numpy(), want)


def _known_of(x: wk.Tensor) -> Any:
    """Return what the host has of a tensor's values."""
    array, driver = x._array_and_driver()
    readable = abilities_of(driver).host_readable
    assert readable is not None
    return readable.known(array)


@pytest.mark.gpu
def test_a_large_input_is_on_the_device_alone_and_a_recorded_one_is_not_taken_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = [256, 256]
    proto = model([node("Neg", ["x"], ["y"])], {"x": (FLOAT, shape)}, {"y": (FLOAT, shape)})
    x = np.ones(shape, np.float32)
    seen: list[bool] = []
    with wk.use_backend("webgpu"):
        net = wk.onnx.load(proto)
        taken = net._taken

        def note(*given: Any, is_lent: bool = False) -> list[Any]:
            found = taken(*given, is_lent=is_lent)
            seen.append(_known_of(found[0]) is None)
            return found

        monkeypatch.setattr(net, "_taken", note)
        np.testing.assert_array_equal(net(x).numpy(), -x)
        np.testing.assert_array_equal(wk.capture(lambda: net(x))().numpy(), -x)

    assert seen == [True, False]


@pytest.mark.gpu
def test_a_model_runs_its_graph_once_for_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    run = running.run_graph

    def count(graph: Any, given: Any) -> Any:
        seen.append(given[0].shape[0])
        return run(graph, given)

    monkeypatch.setattr("wgsl_kernels.onnx.model.run_graph", count)
    with wk.use_backend("webgpu"):
        net = wk.onnx.load(network())
        for batch in (2, 2, 2, 3, 3):
            net(np.ones((batch, 3, 12, 12), np.float32))

    assert seen == [2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_of_one_image_is_mapped_over_a_batch(backend: str) -> None:
    proto = network()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    images = np.random.default_rng(5).standard_normal((4, 3, 12, 12)).astype(np.float32)
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        with pytest.raises(wk.ShapeError, match=r"For a batch give vmap a function"):
            net(images)
        with pytest.raises(wk.ShapeError, match=r"\[1, 3, 12, 12\]\.$"):
            net(images[:, :2])

        found = wk.vmap(lambda x: net(x[None])[0])(images)
        each = [net(one[None]).numpy()[0] for one in images]

    np.testing.assert_allclose(found.numpy(), each, rtol=1e-5, atol=1e-6)


def test_nodes_are_shown_as_what_they_compute() -> None:
    net = wk.onnx.load(network())

    assert repr(net.nodes[-1]) == "y = Gemm(flat, w3, b3)"


def _same(kind: int) -> wk.onnx.Model:
    return wk.onnx.load(
        model([node("Identity", ["x"], ["y"])], {"x": (kind, ["n"])}, {"y": (kind, ["n"])})
    )


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (FLOAT, np.array([1, 2], ">f4")),
        (FLOAT, np.array([1, 2], ">f8")),
        (FLOAT, [1, 2]),
        (FLOAT, (1.0, 2.0)),
        (TensorProto.FLOAT16, [1, 2]),
        (TensorProto.BFLOAT16, [1.0, 2.0]),
        (INT64, np.array([1, 2], ">i8")),
        (INT64, np.array([1, 2], ">i4")),
        (TensorProto.COMPLEX64, [1 + 0j, 2]),
    ],
)
def test_numbers_are_taken_as_tensors_take_them(kind: int, given: Any) -> None:
    (found,) = _same(kind).numpy(given)

    assert found.dtype == helper.tensor_dtype_to_np_dtype(kind)
    np.testing.assert_array_equal(found.astype(np.complex64), [1, 2])


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (FLOAT, np.array([3 + 4j]), r"'x' is complex128; want tensor\(float\)"),
        (FLOAT, np.array([1, 2]), r"'x' is int64; want tensor\(float\)"),
        (FLOAT, np.array([None]), r"'x' is object; want tensor\(float\)"),
        (FLOAT, ["a"], r"'x' is str\d+; want tensor\(float\)"),
        (INT64, [1.5], r"'x' is float64; want tensor\(int64\)"),
        (FLOAT, [[1.0], [1.0, 2.0]], "'x' is no array: "),
        (FLOAT, None, r"'x' is None; want x: tensor\(float\)\[n\]"),
    ],
)
def test_what_is_of_another_type_is_refused_by_name(kind: int, given: Any, words: str) -> None:
    with pytest.raises((wk.DTypeError, wk.ArgumentError), match=f"model: input {words}"):
        _same(kind)(given)


def _with_default(ir_version: int) -> onnx.ModelProto:
    proto = model(
        [node("Mul", ["x", "w"], ["m"]), node("Add", ["m", "c"], ["y"])],
        {name: (FLOAT, [2]) for name in ("c", "x", "w")}, {"y": (FLOAT, [2])},
        {"c": np.zeros(2, np.float32), "w": np.ones(2, np.float32)},
    )  # fmt: skip
    proto.ir_version = ir_version
    return proto


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", ["proto", "file"])
def test_a_default_is_replaced_by_what_is_given_by_name(
    source: str, backend: str, tmp_path: Path
) -> None:
    proto = _with_default(10)
    onnx.save(proto, tmp_path / "net.onnx")
    x = np.array([1, 2], np.float32)
    with wk.use_backend(backend):
        net = wk.onnx.load(proto if source == "proto" else tmp_path / "net.onnx")
        for given in ({}, {"c": x * 10}, {"w": x, "c": x}, {"c": x * 20}):
            want = x * given.get("w", 1) + given.get("c", 0)
            np.testing.assert_array_equal(net(x, **given).numpy(), want)
            np.testing.assert_array_equal(net.numpy(x=x, **given)[0], want)
        assert [one.name for one in net.inputs] == ["x"]
        with pytest.raises(wk.ShapeError, match="input 'c' has shape"):
            net(x, c=x[:1])
        with pytest.raises(wk.ArgumentError, match="'c' is no input"):
            wk.onnx.load(_with_default(3))(x, c=x)


def test_what_trains_is_trained_where_a_default_is_replaced() -> None:
    net = wk.onnx.load(_with_default(10), trainable=True)
    x = np.array([1, 2], np.float32)
    sgd = wk.train.SGD(0.5)
    sgd.minimize(lambda: wk.sum(net(x, c=x)), net)

    assert net.parameters["w"].tolist() == [0.5, 0.0]
    assert net(x, c=x).tolist() == [1.5, 2.0]
