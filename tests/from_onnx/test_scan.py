"""``Scan``, ``Loop`` and ``If``: directions and axes, what is replayed, and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model, peer

import wgsl_kernels as wk
from wgsl_kernels.onnx import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BOOL, INT32 = TensorProto.BOOL, TensorProto.INT32
node, info = helper.make_node, helper.make_tensor_value_info
RNG = np.random.default_rng(3)
X = RNG.standard_normal((7, 2, 4)).astype(np.float32)
H = RNG.standard_normal((2, 4)).astype(np.float32)
W = RNG.normal(0, 0.5, (4, 4)).astype(np.float32)
RECURRENCE = (
    node("MatMul", ["h", "w"], ["hw"]),
    node("Add", ["hw", "x"], ["sum"]),
    node("Tanh", ["sum"], ["next"]),
    node("Neg", ["next"], ["y"]),
)


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with wk.use_backend(request.param):
        yield request.param


def _recurrence(
    nodes: Sequence[onnx.NodeProto] = RECURRENCE,
    around: Sequence[onnx.NodeProto] = (),
    shape: Sequence[int | str] = (2, 4),
    **attrs: Any,
) -> onnx.ModelProto:
    """Return a model that scans one sequence with one state, which is [2, 4]."""
    body = helper.make_graph(
        list(nodes), "body", [info("h", FLOAT, [2, 4]), info("x", FLOAT, shape)],
        [info("next", FLOAT, [2, 4]), info("y", FLOAT, shape)],
    )  # fmt: skip
    scan = node("Scan", ["h0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1, **attrs)
    rank = [f"n{i}" for i in range(len(shape) + 1)]
    return model(
        [*around, scan], {"h0": (FLOAT, [2, 4]), "xs": (FLOAT, rank)},
        {"last": (FLOAT, None), "ys": (FLOAT, None)}, {"w": W},
    )  # fmt: skip


def _check(proto: onnx.ModelProto, **given: Any) -> None:
    """Compare two calls, of which the second may be replayed, with ONNX Runtime."""
    net = wk.onnx.load(proto)
    for _ in range(2):
        for one, want in zip(
            net.numpy(**given), peer(proto.SerializeToString(), given), strict=True
        ):
            assert one.dtype == want.dtype
            np.testing.assert_allclose(one, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("steps", [1, 7])
def test_a_recurrence_gives_what_onnx_runtime_gives(steps: int, backwards: int) -> None:
    proto = _recurrence(scan_input_directions=[backwards], scan_output_directions=[1 - backwards])

    assert wk.onnx.load(proto).why_not_replayed is None
    _check(proto, h0=H, xs=X[:steps])


def test_sequences_go_along_axes_of_their_own() -> None:
    body = helper.make_graph(
        [
            node("Mul", ["a", "b"], ["ab"]),
            node("Add", ["n", "ab"], ["m"]),
            node("Sub", ["a", "b"], ["d"]),
            node("Identity", ["ab"], ["e"]),
        ],
        "body",
        [info("n", FLOAT, [3]), info("a", FLOAT, [3]), info("b", FLOAT, [3])],
        [info("m", FLOAT, [3]), info("d", FLOAT, [3]), info("e", FLOAT, [3])],
    )
    scan = node(
        "Scan", ["n0", "p", "q"], ["last", "r", "s"], body=body, num_scan_inputs=2,
        scan_input_axes=[1, -2], scan_input_directions=[0, 1],
        scan_output_axes=[-1, 0], scan_output_directions=[1, 0],
    )  # fmt: skip
    given = {
        "n0": np.ones(3, np.float32),
        "p": RNG.standard_normal((3, 5)).astype(np.float32),
        "q": RNG.standard_normal((5, 3)).astype(np.float32),
    }
    proto = model(
        [scan], {name: (FLOAT, one.shape) for name, one in given.items()},
        dict.fromkeys(("last", "r", "s"), (FLOAT, None)),
    )  # fmt: skip

    _check(proto, **given)
    with pytest.raises(wk.ShapeError, match=r"Scan: the sequences have \[4, 5\] elements"):
        wk.onnx.load(_open(proto))(**{**given, "p": given["p"][:, :4]})


def _open(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model whose inputs may have any lengths."""
    for one in proto.graph.input:
        for dim in one.type.tensor_type.shape.dim:
            dim.Clear()
    return proto


def test_a_sequence_of_nothing_gives_the_first_state_and_nothing() -> None:
    last, ys = wk.onnx.load(_recurrence()).numpy(H, X[:0])

    np.testing.assert_array_equal(last, H)
    assert (ys.shape, ys.dtype) == ((0, 2, 4), np.float32)


def test_a_graph_that_reads_values_runs_step_by_step() -> None:
    """Here each element of the sequence says how many rows of the state are added up."""
    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Cast", ["most"], ["count"], to=INT64),
        node("Unsqueeze", ["count", "zero"], ["end"]),
        node("Slice", ["h", "zero", "end", "one"], ["some"]),
        node("ReduceSum", ["some"], ["sum"], keepdims=0),
        node("Add", ["h", "sum"], ["next"]),
        node("Identity", ["x"], ["y"]),
    ]
    proto = _recurrence(nodes, shape=(3,))
    for name, value in (("zero", 0), ("one", 1)):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([value]), name))

    why = wk.onnx.load(proto).why_not_replayed
    assert why is not None
    assert "'end'" in why
    _check(proto, h0=H, xs=np.array([[1, 0, 2], [0, 1, 1], [0, 0, 0], [2, 0, 0]], np.float32))


def test_steps_are_replayed_in_a_model_that_is_not(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proto = _recurrence(around=[node("NonZero", ["h0"], ["places"])])
    proto.graph.output.append(info("places", INT64, None))
    xs = RNG.standard_normal((20, 2, 4)).astype(np.float32)
    seen: list[str] = []
    run = running.run_graph

    def count(graph: Any, *given: Any) -> Any:
        seen.append(graph.name)
        return run(graph, *given)

    monkeypatch.setattr(running, "run_graph", count)
    net = wk.onnx.load(proto)
    assert net.why_not_replayed is not None
    _check(proto, h0=H, xs=xs)
    assert (len(seen) < 10) == (backend == "webgpu")


def test_its_gradient_is_that_of_the_recurrence_by_hand() -> None:
    net = wk.onnx.load(_recurrence(), trainable=True)
    w = wk.variable(W)

    def by_hand() -> wk.Tensor:
        h, total = wk.tensor(H), wk.tensor(0.0)
        for x in X:
            h = wk.tanh(h @ w + x)
            total = total - wk.sum(h**3)
        return total + wk.sum(h)

    def loaded() -> wk.Tensor:
        last, ys = net(H, X)
        return wk.sum(ys**3) + wk.sum(last)

    (want_loss, want), (loss, found) = (
        wk.variable_grads(f, [variable])
        for f, variable in ((by_hand, w), (loaded, net.parameters["w"]))
    )
    wk.testing.assert_close(loss, want_loss, rtol=1e-5, atol=1e-5)
    wk.testing.assert_close(*found.values(), *want.values(), rtol=1e-4, atol=1e-4)


def test_lengths_of_the_first_version_are_refused() -> None:
    body = _recurrence().graph.node[0].attribute[0].g
    body.ClearField("initializer")
    scan = node("Scan", ["n", "h0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1)
    proto = model(
        [scan], {"n": (INT64, [1]), "h0": (FLOAT, [1, 2, 4]), "xs": (FLOAT, [1, 7, 2, 4])},
        {"last": (FLOAT, None), "ys": (FLOAT, None)}, {"w": W}, opset=8,
    )  # fmt: skip

    with pytest.raises(wk.ArgumentError, match="Scan: got sequence_lens"):
        wk.onnx.load(proto)([7], H[None], X[None])


def _loop(condition: Sequence[onnx.NodeProto], trips: str) -> onnx.ModelProto:
    """Return a model that doubles ``x`` in a loop, which goes on where ``go_on`` says so."""
    body = helper.make_graph(
        [*condition, node("Add", ["old", "old"], ["new"]), node("Neg", ["new"], ["seen"])],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("old", FLOAT, [2])],
        [info("go_on", BOOL, []), info("new", FLOAT, [2]), info("seen", FLOAT, [2])],
    )
    around = [
        node("Shape", ["ys"], ["lengths"]),
        node("Squeeze", ["lengths"], ["count"]),
        node("Less", ["count", "four"], ["is_short"]),
        node("If", ["is_short"], ["z"], then_branch=_constant(1.0), else_branch=_constant(2.0)),
        node("Loop", [trips, "", "x"], ["last", "all"], body=body),
    ]
    return model(
        around,
        {"x": (FLOAT, [2]), "ys": (FLOAT, ["n"])},
        {"last": (FLOAT, [2]), "all": (FLOAT, None), "z": (FLOAT, [])},
        {"three": np.array(3), "four": np.array(4), "few": np.array(20.0, np.float32)},
    )


def _constant(value: float) -> onnx.GraphProto:
    made = node("Constant", [], ["value"], value_float=value)
    return helper.make_graph([made], "constant", [], [info("value", FLOAT, [])])


@pytest.mark.parametrize(
    ("trips", "condition", "turns"),
    [
        ("three", [node("Identity", ["go"], ["go_on"])], 3),
        ("count", [node("Identity", ["go"], ["go_on"])], 5),
        ("", [node("Less", ["i", "three"], ["go_on"])], 4),
        ("zero", [node("Identity", ["go"], ["go_on"])], 0),
    ],
)
def test_a_loop_that_constants_and_shapes_end_is_replayed(
    trips: str, condition: list[onnx.NodeProto], turns: int, backend: str
) -> None:
    proto = _loop(condition, trips)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0), "zero"))
    net = wk.onnx.load(proto)
    assert net.why_not_replayed is None
    x, ys = np.array([1.0, -0.5], np.float32), np.zeros(5, np.float32)
    for _ in range(3):
        last, seen, z = net.numpy(x, ys)
        each = [-x * 2**n for n in range(1, turns + 1)]
        np.testing.assert_array_equal(last, x * 2**turns)
        np.testing.assert_array_equal(seen, np.reshape(each, (-1, 2)))
        assert z == 2.0
        x = x + 1
    assert net.numpy(x, ys[:2])[2] == 1.0


def test_a_loop_that_a_value_ends_reads_it() -> None:
    most = node("ReduceMax", ["old"], ["most"], keepdims=0)
    net = wk.onnx.load(_loop([most, node("Less", ["most", "few"], ["go_on"])], ""))

    assert net.why_not_replayed is not None
    assert "(Loop) reads values of the device" in net.why_not_replayed
    for first, turns in ((1.0, 6), (8.0, 3)):
        last, seen, _ = net.numpy(np.full(2, first, np.float32), np.zeros(5, np.float32))
        assert last.tolist() == [first * 2**turns] * 2
        assert len(seen) == turns


def test_a_loop_without_a_turn_gives_nothing_of_its_own_type() -> None:
    body = helper.make_graph(
        [node("Identity", ["go"], ["go_on"]), node("Cast", ["i"], ["seen"], to=INT32)],
        "body",
        [info("i", INT64, []), info("go", BOOL, [])],
        [info("go_on", BOOL, []), info("seen", INT32, [])],
    )
    loop = node("Loop", ["n", ""], ["y"], body=body)
    net = wk.onnx.load(model([loop], {"n": (INT64, [])}, {"y": (INT32, None)}))

    assert net.numpy(3)[0].tolist() == [0, 1, 2]
    (empty,) = net.numpy(0)
    assert (empty.shape, empty.dtype) == ((0,), np.int32)
