"""Models that mean nothing, and what they are given that does not fit: each is refused in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.from_onnx.graphs import FLOAT, INT64, model

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

node = helper.make_node
X = np.arange(6, dtype=np.float32).reshape(2, 3)

AXES: list[tuple[str, dict[str, Any], int, str]] = [
    *(
        (op, {"axis": axis}, 21, r"axis has .* rank 2; want one in \[-2, 2\)")
        for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "LayerNormalization", "Gather")
        for axis in (2, -3)
    ),
    ("GatherElements", {"axis": 2}, 21, r"axis has 2, but the tensor has rank 2"),
    ("Flatten", {"axis": 3}, 21, r"axis has 3, .* want one in \[-2, 3\)"),
    ("Concat", {"axis": 2}, 21, "axis has 2"),
    ("Split", {"axis": -3, "num_outputs": 1}, 21, "axis has -3"),
    ("LpNormalization", {"axis": 5}, 21, "axis has 5"),
    ("Transpose", {"perm": [0, -1]}, 21, r"perm has -1, .* want one in \[0, 2\)"),
    ("ReduceSum", {"axes": [0, 2]}, 11, "axes has 2"),
    ("Unsqueeze", {"axes": [3]}, 11, r"axes has 3, but the tensor has rank 3"),
    ("Squeeze", {"axes": [-3]}, 11, "axes has -3"),
]
MORE: dict[str, dict[str, Any]] = {
    "Gather": {"i": [0]},
    "GatherElements": {"i": [[0]]},
    "LayerNormalization": {"s": X[0]},
}
"""What an operator reads besides."""


@pytest.mark.parametrize(("op", "attrs", "opset", "words"), AXES)
def test_an_axis_that_a_tensor_has_not_is_refused(
    op: str, attrs: dict[str, Any], opset: int, words: str
) -> None:
    more = MORE.get(op, {})
    kind = INT64 if op == "ArgMax" else FLOAT
    proto = model(
        [node(op, ["x", *more], ["y"], name="bad", **attrs)],
        {"x": (FLOAT, ["a", "b"])}, {"y": (kind, None)}, more, opset=opset,
    )  # fmt: skip
    with pytest.raises(wk.ArgumentError, match=f"{op} at 'bad': {words}"):
        wk.onnx.load(proto)(X)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "Unsqueeze", "Squeeze", "CumSum"])
def test_axes_that_are_inputs_are_held_to_the_rank(op: str) -> None:
    axes = np.array(7 if op == "CumSum" else [7])
    for given in ({"a": axes}, {}):
        inputs: dict[str, tuple[int, Any]] = {"x": (FLOAT, ["a", "b"])}
        if not given:
            inputs["a"] = (INT64, axes.shape)
        proto = model([node(op, ["x", "a"], ["y"])], inputs, {"y": (FLOAT, None)}, given)
        with pytest.raises(wk.ArgumentError, match=f"{op} at '{op} -> y': axes has 7"):
            wk.onnx.load(proto)(X, *(() if given else (axes,)))


def _branch(*kinds: int) -> onnx.GraphProto:
    nodes = [node("Cast", ["x"], [f"y{i}"], to=kind) for i, kind in enumerate(kinds)]
    outputs = [helper.make_tensor_value_info(f"y{i}", k, None) for i, k in enumerate(kinds)]
    return helper.make_graph(nodes, "branch", [], outputs)


def _if(*then: int, other: tuple[int, ...] = (FLOAT,)) -> onnx.NodeProto:
    return node("If", ["flag"], ["y"], then_branch=_branch(*then), else_branch=_branch(*other))


INPUTS: dict[str, tuple[int, Any]] = {
    "x": (FLOAT, ["a", "b"]),
    "i": (INT64, ["n"]),
    "flag": (TensorProto.BOOL, ["m"]),
}
MEANINGLESS = [
    (node("Cast", ["x"], ["y"], to=0), "attribute 'to' of Cast .* is 0, which is no type"),
    (node("Cast", ["x"], ["y"], to=99), "attribute 'to' of Cast .* is 99, which is no type"),
    (node("Add", ["x", "i"], ["y"]), r"B is tensor\(int64\), but another input is tensor\(float\)"),
    (node("Relu", ["flag"], ["y"]), r"Relu at 'Relu -> y': X is tensor\(bool\); want another"),
    (node("Not", ["x"], ["y"]), r"X is tensor\(float\); want tensor\(bool\)"),
    (node("If", ["x"], ["y"], then_branch=_branch(1), else_branch=_branch(1)), "cond is"),
    (_if(FLOAT, FLOAT), r"branches of an If give tensor\(float\) \(2\) and .* \(1\)"),
    (_if(INT64), r"branches of an If give tensor\(int64\) \(1\) and tensor\(float\)"),
    (node("Identity", ["i"], ["y"]), r"'y' is declared as tensor\(float\); .* gives tensor\(int64"),
]


@pytest.mark.parametrize(("bad", "words"), MEANINGLESS)
def test_types_are_held_to_the_schemas(bad: onnx.NodeProto, words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=words):
        wk.onnx.load(model([bad], INPUTS, {"y": (FLOAT, None)}))


@pytest.mark.usefixtures("halves_anywhere")
def test_types_reach_the_graphs_of_nodes() -> None:
    body = helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["u"])], "body",
        [onnx.ValueInfoProto(name="s"), onnx.ValueInfoProto(name="e")],
        [onnx.ValueInfoProto(name="t"), onnx.ValueInfoProto(name="u")],
    )  # fmt: skip
    scan = node("Scan", ["s0", "x"], ["last", "all"], body=body, num_scan_inputs=1)
    kind = TensorProto.FLOAT16
    proto = model(
        [scan],
        {"s0": (kind, [3]), "x": (kind, ["n", 3])},
        {"last": (kind, None), "all": (kind, None)},
    )
    last, every = wk.onnx.load(proto).numpy(np.zeros(3, np.float16), X.astype(np.float16))

    assert (last.dtype, every.dtype) == (np.float16, np.float16)
    assert last.tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("flag", [[], [True, False]])
def test_a_condition_is_one_value(flag: list[bool]) -> None:
    branching = wk.onnx.load(model([_if(FLOAT)], INPUTS, {"y": (FLOAT, None)}))
    with pytest.raises(wk.ShapeError, match=f"a condition or a count has {len(flag)} values"):
        branching(X, [0], np.array(flag, bool))


def test_a_window_is_that_of_the_filters() -> None:
    conv = node("Conv", ["x", "w"], ["y"], kernel_shape=[5, 5])
    weights = {"w": np.ones((1, 1, 3, 3), np.float32)}
    net = wk.onnx.load(model([conv], {"x": (FLOAT, [1, 1, 8, 8])}, {"y": (FLOAT, None)}, weights))
    with pytest.raises(wk.ShapeError, match=r"kernel_shape is \[5, 5\]; the filters have \[3, 3\]"):
        net(np.ones((1, 1, 8, 8), np.float32))


def test_names_and_lengths_of_a_file_are_checked() -> None:
    def plain() -> onnx.ModelProto:
        add = node("Add", ["x", "c"], ["y"])
        return model([add], {"x": (FLOAT, ["a", 3])}, {"y": (FLOAT, None)}, {"c": X[0]})

    negative, twice, again = plain(), plain(), plain()
    negative.graph.initializer[0].dims[:] = [-3]
    with pytest.raises(wk.ArgumentError, match=r"tensor 'c' has shape \[-3\]; want no length"):
        wk.onnx.load(negative)
    twice.graph.initializer.append(numpy_helper.from_array(X[1], "c"))
    with pytest.raises(wk.ArgumentError, match="the initializer 'c' is there twice"):
        wk.onnx.load(twice)
    again.graph.input.append(again.graph.input[0])
    with pytest.raises(wk.ArgumentError, match="the input 'x' is there twice"):
        wk.onnx.load(again)


def _recurrent(op: str, gates: int) -> onnx.ModelProto:
    weights = {
        "w": np.full((1, gates * 2, 3), 0.1, np.float32),
        "r": np.full((1, gates * 2, 2), 0.1, np.float32),
    }
    return model(
        [node(op, ["x", "w", "r", "", "n", "h0"], ["y", "last"], name="net", hidden_size=2)],
        {
            "x": (FLOAT, ["steps", 2, 3]),
            "n": (TensorProto.INT32, [2]),
            "h0": (FLOAT, ["d", "b", "h"]),
        },
        {"y": (FLOAT, None), "last": (FLOAT, None)},
        weights,
    )


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_sequences_of_a_network_are_checked(op: str, gates: int) -> None:
    net = wk.onnx.load(_recurrent(op, gates))
    state, steps = np.ones((1, 2, 2), np.float32), np.ones((4, 2, 3), np.float32)

    every, last = net.numpy(steps[:0], np.array([0, 0], np.int32), state)
    assert every.shape == (0, 1, 2, 2)
    np.testing.assert_array_equal(last, state)
    with pytest.raises(wk.ShapeError, match=rf"{op}: initial_h has shape \[1, 1, 2\]; want \[1, 2"):
        net(steps, np.array([4, 4], np.int32), state[:, :1])
    with wk.config.using(check_numerics=True):
        net(steps, np.array([0, 4], np.int32), state)
        for wrong in (-1, 5):
            with pytest.raises(
                wk.NumericsError, match=f"{op}: sequence_lens has {wrong}; .* 0 to 4"
            ):
                net(steps, np.array([4, wrong], np.int32), state)


def _small() -> bytes:
    weights = {"w": np.ones((1, 1, 3, 3), np.float32), "s": np.array([1, 1, 2, 2], np.float32)}
    nodes = [
        node("Conv", ["x", "w"], ["c"], name="conv", auto_pad="SAME_UPPER"),
        node("Relu", ["c"], ["r"], name="act"),
        node("Resize", ["r", "", "s"], ["y"], name="larger", mode="linear"),
    ]
    shape = ["n", 1, 4, 4]
    proto = model(nodes, {"x": (FLOAT, shape)}, {"y": (FLOAT, None)}, weights, opset=19)
    return bytes(proto.SerializeToString())


@pytest.mark.parametrize("name", [b"Relu", b"act", b"larger", b"auto_pad", b"n"])
def test_a_name_that_is_no_text_is_refused(name: bytes, tmp_path: Path) -> None:
    text = bytes([len(name)]) + name  # as the format writes it
    assert text in _small()
    bad = _small().replace(text, bytes([len(name)]) + b"\xff" * len(name))
    (tmp_path / "bad.onnx").write_bytes(bad)
    for function in (wk.onnx.load, wk.onnx.coverage):
        with pytest.raises(wk.ArgumentError, match=r"bad.onnx is damaged: graph.* b'\\xff.*UTF-8"):
            function(tmp_path / "bad.onnx")


def test_a_text_that_nobody_reads_may_be_anything() -> None:
    proto = onnx.ModelProto.FromString(_small())
    proto.doc_string = proto.graph.doc_string = proto.graph.node[0].doc_string = "about"
    x = np.ones((1, 1, 4, 4), np.float32)
    odd = wk.onnx.load(proto.SerializeToString().replace(b"about", b"\xff" * 5))

    np.testing.assert_array_equal(odd.numpy(x), wk.onnx.load(_small()).numpy(x))


def test_bytes_that_are_changed_raise_errors_of_this_library_alone() -> None:
    data, x = _small(), np.ones((1, 1, 4, 4), np.float32)
    refused = 0
    for seed in range(600):
        draw = np.random.default_rng(seed)
        changed = bytearray(data)
        for _ in range(draw.integers(1, 4)):
            changed[draw.integers(len(changed))] = draw.integers(256)
        try:
            with wk.config.using(memory_limit=64 << 20):
                wk.onnx.load(bytes(changed)).numpy(x)
        except wk.WgslKernelsError:
            refused += 1

    assert refused > 300
