"""Loading models of ONNX: what they take and give, how they train, what is refused in words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.from_onnx.graphs import FLOAT, INT64, model, network, peer

import wgsl_kernels as wk

BACKENDS = ("cpu", "webgpu")
node = helper.make_node


def _images(count: int = 2) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).standard_normal((count, 3, 12, 12)).astype(np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_network_gives_what_onnx_runtime_gives(backend: str) -> None:
    proto, x = network(), _images()
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        first, again = net(x).numpy(), net(x=wk.tensor(x)).numpy()

    want = peer(proto.SerializeToString(), {"x": x})[0]
    assert np.abs(first - want).max() <= 1e-5 * np.abs(want).max()
    np.testing.assert_array_equal(first, again)


def test_load_folds_constants_and_batch_norms_and_drops_what_is_dead() -> None:
    net = wk.onnx.load(network())

    assert [one.op for one in net.nodes] == [
        "Conv", "Conv", "Add", "GlobalAveragePool", "Reshape", "Gemm",
    ]  # fmt: skip
    assert (net.optimised.folded, net.optimised.norms, net.optimised.laid_out) == (1, 2, 2)
    assert (net.optimised.activations, net.optimised.scales) == (1, 0)
    assert net.optimised.dropped == 1  # of the shape that nobody asks for
    assert repr(net) == (
        "Model(x: tensor(float)[batch, 3, 12, 12] -> y: tensor(float)[batch, 5]; "
        "6 nodes, 565 parameters)"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_with_variables_trains_as_one_written_by_hand(backend: str) -> None:
    draw = np.random.default_rng(1)
    weight, bias = (draw.standard_normal(s).astype(np.float32) for s in ((4, 3), (3,)))
    x, labels = draw.standard_normal((16, 4)).astype(np.float32), draw.integers(0, 3, 16)
    proto = model(
        [node("Gemm", ["x", "w", "b"], ["h"]), node("Tanh", ["h"], ["y"])],
        {"x": (FLOAT, [16, 4])}, {"y": (FLOAT, [16, 3])}, {"w": weight, "b": bias},
    )  # fmt: skip

    def trained(f: Any, variables: list[Any]) -> list[float]:
        adam = wk.train.Adam(0.1)
        losses = []
        for _ in range(4):
            loss = adam.minimize(
                lambda: wk.sparse_softmax_cross_entropy(labels.astype(np.int32), f(x)), variables
            )
            losses.append(loss.item())
        return losses

    with wk.use_backend(backend):
        net = wk.onnx.load(proto, trainable=True)
        w, b = wk.variable(weight), wk.variable(bias)
        ours = trained(net, list(net.parameters.values()))
        by_hand = trained(lambda given: wk.tanh(wk.matmul(given, w) + b), [w, b])

        assert set(net.parameters) == {"w", "b"}
        assert ours[-1] < ours[0]
        np.testing.assert_allclose(ours, by_hand, rtol=1e-6)
        np.testing.assert_allclose(net.parameters["w"].numpy(), w.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trained", ["model", "parameters", "list", "list of models", "read"])
def test_a_model_without_variables_says_how_it_gets_them(trained: str) -> None:
    with wk.use_backend("cpu"):
        net = wk.onnx.load(network())
        variables = {
            "model": net,
            "parameters": net.parameters,
            "list": list(net.parameters.values()),
            "list of models": [net],
            "read": None,
        }[trained]
        expected = (wk.ArgumentError, wk.GradientNotFound)
        with pytest.raises(expected, match=r"minimize: .* load it with trainable=True\.$"):
            wk.train.Adam(0.1).minimize(lambda: wk.sum(net(_images())), variables)


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_are_checked_at_the_door_and_widened_at_the_end(backend: str) -> None:
    proto = model([node("Add", ["a", "a"], ["y"])], {"a": (INT64, [2])}, {"y": (INT64, [2])})
    with wk.use_backend(backend):
        double = wk.onnx.load(proto)

        (found,) = double.numpy(np.array([3, -4]))
        assert found.dtype == np.int64
        assert found.tolist() == [6, -8]
        assert double([1, 2]).dtype == "int32"
        with pytest.raises(wk.ArgumentError, match=r"input 'a': int64 values from 0 to 4294967296"):
            double(np.array([0, 1 << 32]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("nodes", "given", "value"),
    [
        ([node("Add", ["a", "a"], ["y"])], [5, 1 << 30], 1 << 31),
        ([node("Mul", ["a", "a"], ["y"])], [2, 1 << 20], 1 << 40),
        ([node("Sub", ["small", "a"], ["y"])], [1, 2], -(1 << 31) - 1),
        ([node("CumSum", ["a", "axis"], ["y"])], [1, (1 << 31) - 1], 1 << 31),
        ([node("MatMul", ["a", "a"], ["y"])], [1 << 16, 1], (1 << 32) + 1),
        ([node("ReduceSum", ["a"], ["y"], keepdims=0)], [1 << 30, 1 << 30], 1 << 31),
        (
            [
                node("Cast", ["a"], ["f"], to=FLOAT),
                node("Mul", ["f", "f"], ["g"]),
                node("CastLike", ["g", "small"], ["y"]),
            ],
            [1, 1 << 17],
            1 << 34,
        ),
    ],
)
def test_integers_that_leave_32_bits_raise_where_numerics_are_checked(
    nodes: list[onnx.NodeProto], given: list[int], value: int, backend: str
) -> None:
    constants = {"small": np.array(-(1 << 31) + 1), "axis": np.array(0)}
    proto = model(nodes, {"a": (INT64, [2])}, {"y": (INT64, None)}, constants)
    with wk.use_backend(backend), wk.config.using(check_numerics=True):
        f = wk.onnx.load(proto)
        fits = np.array([1, 0])
        np.testing.assert_array_equal(
            f.numpy(fits)[0], peer(proto.SerializeToString(), {"a": fits})[0]
        )
        with pytest.raises(
            wk.NumericsError, match=rf"holds {value} at .*int64 is computed in int32"
        ):
            f(np.array(given))


def test_float64_lives_on_cpu_and_says_so() -> None:
    proto = model(
        [node("Exp", ["a"], ["y"])],
        {"a": (TensorProto.DOUBLE, [1])},
        {"y": (TensorProto.DOUBLE, [1])},
    )
    with wk.use_backend("webgpu"):
        exp = wk.onnx.load(proto)
        with pytest.warns(wk.FallbackWarning) as told:
            assert exp.numpy(np.ones(1))[0][0] == np.exp(1.0)

    assert "float64: backend 'webgpu' has none; it lives on cpu" in str(told[0].message)


def test_shapes_are_computed_on_the_host_and_the_run_is_replayed() -> None:
    """The flattened shape comes from the input's, so that any length of the batch will do."""
    nodes = [
        node("Shape", ["x"], ["all"]),
        node("Slice", ["all", "zero", "one"], ["first"]),
        node("Mul", ["first", "two"], ["rows"]),
        node("Concat", ["rows", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {"zero": [0], "one": [1], "two": [2], "rest": [-1]}
    proto = model(nodes, {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, None)}, constants)
    halves = wk.onnx.load(proto)

    assert halves.why_not_replayed is None
    assert halves(np.zeros((3, 4), np.float32)).shape == (6, 2)
    assert halves(np.zeros((5, 4), np.float32)).shape == (10, 2)


def test_a_run_that_reads_values_is_not_replayed() -> None:
    proto = model([node("NonZero", ["x"], ["y"])], {"x": (FLOAT, [3])}, {"y": (INT64, [1, "n"])})
    places = wk.onnx.load(proto)

    assert "reads values" in (places.why_not_replayed or "")
    assert places.numpy(np.array([1, 0, 2], np.float32))[0].tolist() == [[0, 2]]


def test_functions_of_a_model_are_expanded_and_their_attributes_bound() -> None:
    scale = onnx.NodeProto(op_type="Constant", output=["k"])
    kind = onnx.AttributeProto.FLOAT
    scale.attribute.append(
        onnx.AttributeProto(name="value_float", ref_attr_name="factor", type=kind)
    )
    scaled = helper.make_function(
        "own", "Scaled", ["a"], ["b"], [scale, node("Mul", ["a", "k"], ["b"])],
        [helper.make_opsetid("", 21)], ["factor"],
    )  # fmt: skip
    proto = model(
        [
            node("Scaled", ["x"], ["m"], domain="own", factor=3.0),
            node("Scaled", ["m"], ["y"], domain="own", factor=0.5),
        ],
        {"x": (FLOAT, [2])}, {"y": (FLOAT, [2])},
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("own", 1)],
        functions=[scaled],
    )  # fmt: skip

    assert wk.onnx.load(proto)([2.0, 4.0]).tolist() == [3.0, 6.0]


def test_bodies_of_loops_read_values_from_around_them() -> None:
    body = helper.make_graph(
        [
            node("Add", ["old", "step"], ["new"]),
            node("Identity", ["go"], ["go_on"]),
            node("Identity", ["new"], ["seen"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("old", FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("new", FLOAT, [1]),
            helper.make_tensor_value_info("seen", FLOAT, [1]),
        ],
    )
    proto = model(
        [node("Neg", ["x"], ["step"]), node("Loop", ["trips", "", "x"], ["y", "all"], body=body)],
        {"x": (FLOAT, [1]), "trips": (INT64, [])},
        {"y": (FLOAT, [1]), "all": (FLOAT, None)},
    )
    last, seen = wk.onnx.load(proto).numpy(np.array([2.0], np.float32), 3)

    assert last.tolist() == [-4.0]
    assert seen.tolist() == [[0.0], [-2.0], [-4.0]]


def test_weights_in_a_file_of_their_own_are_found_beside_the_model(tmp_path: Path) -> None:
    proto = network()
    onnx.save(
        proto,
        tmp_path / "net.onnx",
        save_as_external_data=True,
        location="w.bin",
        size_threshold=64,
    )
    want = wk.onnx.load(network())(_images()).numpy()

    np.testing.assert_array_equal(wk.onnx.load(tmp_path / "net.onnx")(_images()).numpy(), want)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(wk.ArgumentError, match=r"the tensor 'w\d' .*cannot be read"):
        wk.onnx.load(tmp_path / "net.onnx")


def test_all_unknown_operators_are_named_at_once() -> None:
    proto = model(
        [
            node("Novel", ["x"], ["a"], name="first"),
            node("Abs", ["a"], ["b"]),
            node("Strange", ["b"], ["y"], name="second", domain="com.example"),
        ],
        {"x": (FLOAT, [1])},
        {"y": (FLOAT, [1])},
    )
    with pytest.raises(
        wk.ArgumentError,
        match=r"2 nodes .* Novel \(version 21\) at 'first'; Strange of com.example .* at 'second'",
    ):
        wk.onnx.load(proto)


def test_a_hostile_file_is_refused_in_words(tmp_path: Path) -> None:
    data = network().SerializeToString()
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(wk.ArgumentError, match=r"cut\.onnx (is no model|has no graph)"):
        wk.onnx.load(cut)

    cut.write_bytes(b"a letter")
    with pytest.raises(wk.ArgumentError, match=r"cut\.onnx is no model of ONNX"):
        wk.onnx.load(cut)

    short = network()
    short.graph.initializer[0].raw_data = b"1234"
    with pytest.raises(wk.ArgumentError, match=r"tensor 'w1' of shape \[8, 3, 3, 3\]"):
        wk.onnx.load(short)

    huge = network()
    huge.graph.initializer[0].dims[:] = [1 << 40, 1 << 40]
    with pytest.raises(wk.ArgumentError, match="tensor 'w1'"):
        wk.onnx.load(huge)

    newer = network()
    newer.opset_import[0].version = 9999
    with pytest.raises(wk.ArgumentError, match="version 9999 of ONNX's operators"):
        wk.onnx.load(newer)

    undefined = network()
    undefined.graph.node[2].input[0] = "nowhere"
    with pytest.raises(wk.ArgumentError, match="reads 'nowhere', which nothing before it gives"):
        wk.onnx.load(undefined)

    twice = network()
    twice.graph.node[2].output[0] = "c1"
    with pytest.raises(wk.ArgumentError, match="gives 'c1', which is there already"):
        wk.onnx.load(twice)

    recursive = model(
        [node("F", ["x"], ["y"], domain="own")], {"x": (FLOAT, [1])}, {"y": (FLOAT, [1])}
    )
    recursive.opset_import.append(helper.make_opsetid("own", 1))
    recursive.functions.append(
        helper.make_function(
            "own", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="own")],
            [helper.make_opsetid("own", 1)],
        )
    )  # fmt: skip
    with pytest.raises(wk.ArgumentError, match="functions call each other in a circle"):
        wk.onnx.load(recursive)

    with pytest.raises(wk.ArgumentError, match="got a int; want a path, a ModelProto or its bytes"):
        wk.onnx.load(3)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (node("Conv", ["x"], ["y"]), "Conv at 'Conv -> y' has 1 inputs; want 2 to 3"),
        (node("Concat", ["x"], ["y"]), "Concat at 'Concat -> y' lacks the attribute 'axis'"),
        (node("Elu", ["x"], ["y"], beta=1.0), "has no attribute 'beta'; it has alpha"),
        (node("Elu", ["x"], ["y"], alpha=1), "attribute 'alpha' of Elu .* is INT; want FLOAT"),
    ],
    ids=lambda one: one.op_type if isinstance(one, onnx.NodeProto) else "",
)
def test_a_node_is_held_to_its_schema(bad: onnx.NodeProto, said: str) -> None:
    with pytest.raises(wk.ArgumentError, match=said):
        wk.onnx.load(model([bad], {"x": (FLOAT, [1])}, {"y": (FLOAT, None)}))


def test_an_operator_of_a_later_version_is_not_known() -> None:
    later = model([node("Gelu", ["x"], ["y"])], {"x": (FLOAT, [1])}, {"y": (FLOAT, [1])}, opset=13)
    with pytest.raises(wk.ArgumentError, match=r"Gelu \(version 13\)"):
        wk.onnx.load(later)


def test_inputs_are_checked_by_name_dtype_and_shape() -> None:
    net = wk.onnx.load(network())

    with pytest.raises(wk.ArgumentError, match="no input 'x' is given"):
        net()
    with pytest.raises(wk.ArgumentError, match="'z' is no input; the inputs are x"):
        net(z=_images())
    with pytest.raises(wk.ArgumentError, match="'x' is given twice"):
        net(_images(), x=_images())
    with pytest.raises(wk.ArgumentError, match="got 2 inputs; want x"):
        net(_images(), 1)
    with pytest.raises(wk.ShapeError, match=r"'x' has shape \[2, 3\]; want x: tensor\(float\)"):
        net(np.zeros((2, 3), np.float32))
    with pytest.raises(wk.DTypeError, match="'x' is int32; want float32"):
        net(wk.zeros((1, 3, 12, 12), "int32"))


def test_an_error_of_an_operator_names_its_node() -> None:
    proto = model(
        [node("Reshape", ["x", "shape"], ["y"], name="bad")],
        {"x": (FLOAT, [3])}, {"y": (FLOAT, None)}, {"shape": [2, 2]},
    )  # fmt: skip
    with pytest.raises(wk.ShapeError) as caught:
        wk.onnx.load(proto)([1.0, 2.0, 3.0])

    assert "in node 'bad' (Reshape)" in caught.value.__notes__


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_floats_are_rounded_to_narrow_types_as_ml_dtypes_does(kind: str) -> None:
    to = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e5m2": 19}[kind]
    more: dict[str, Any] = {} if kind == "bfloat16" else {"saturate": 0}
    cast = node("Cast", ["x"], ["y"], to=to, **more)
    proto = model([cast], {"x": (FLOAT, [600])}, {"y": (to, [600])})
    import ml_dtypes

    draw = np.random.default_rng(3)
    x = np.concatenate([draw.standard_normal(500), 2.0 ** draw.uniform(-8, 8, 100)])
    x = x.astype(np.float32)
    want = x.astype(getattr(ml_dtypes, kind))

    np.testing.assert_array_equal(wk.onnx.load(proto).numpy(x)[0], want)


def test_importing_the_library_imports_nothing_of_onnx() -> None:
    code = (
        "import sys, wgsl_kernels as wk; a = set(sys.modules); wk.onnx.load; "
        "print([m for m in ('onnx', 'ml_dtypes', 'google.protobuf') if m in sys.modules], "
        "'wgsl_kernels.onnx' in a)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )  # fmt: skip

    assert found.stdout.strip() == "[] False"


def test_coverage_says_how_each_operator_is_computed() -> None:
    rows = {(one.domain, one.op): one.how for one in wk.onnx.coverage()}

    assert rows["", "Conv"] == "own"
    assert rows["", "LinearAttention"] == "function"
    assert rows["", "ImageDecoder"] == ""
    assert {one.op for one in wk.onnx.coverage(network())} == {
        "Add", "BatchNormalization", "Cast", "Conv", "Gemm", "GlobalAveragePool", "Relu",
        "Reshape", "Shape",
    }  # fmt: skip


def _stored() -> list[Path]:
    root = Path(onnx.__file__).parent / "backend" / "test" / "data"
    kinds = ("simple", "pytorch-converted", "pytorch-operator")
    found = (folder for kind in kinds for folder in sorted((root / kind).iterdir()))
    skipped = ("test_gradient_", "test_strnorm_")  # operators of training, and of strings
    return [
        one for one in found if (one / "model.onnx").exists() and not one.name.startswith(skipped)
    ]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("folder", _stored(), ids=lambda one: one.name)
def test_a_stored_model_gives_what_is_stored(folder: Path) -> None:
    proto = onnx.load(folder / "model.onnx")
    with wk.use_backend("cpu"):
        found = wk.onnx.load(folder / "model.onnx")
        for data in sorted(folder.glob("test_data_set_*")):
            given = [
                _read(data / f"input_{i}.pb", one)
                for i, one in enumerate(proto.graph.input)
                if (data / f"input_{i}.pb").exists()
            ]
            by_name = {
                one.name: value for one, value in zip(proto.graph.input, given, strict=False)
            }
            got = found.numpy(*(by_name[one.name] for one in found.inputs))
            for i, (one, value) in enumerate(zip(proto.graph.output, got, strict=True)):
                want = _read(data / f"output_{i}.pb", one)
                pairs = zip(value, want, strict=True) if isinstance(want, list) else [(value, want)]
                for a, b in pairs:
                    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def _read(file: Path, one: onnx.ValueInfoProto) -> Any:
    if one.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(file.read_bytes()))
    return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))


def _damaged(draw: np.random.Generator) -> onnx.ModelProto:
    """Return the network with one to three things changed that a file could have wrong."""
    proto = network()
    graph = proto.graph
    for _ in range(draw.integers(1, 4)):
        one = graph.node[draw.integers(len(graph.node))]
        weight = graph.initializer[draw.integers(len(graph.initializer))]
        match draw.integers(7):
            case 0 if one.input:
                del one.input[draw.integers(len(one.input))]
            case 1:
                one.op_type = str(draw.choice(["Gather", "Resize", "LSTM", "Slice", "Loop", "Pad"]))
            case 2 if one.attribute:
                one.attribute[0].ints[:] = draw.integers(-5, 1 << 40, 3).tolist()
            case 3:
                weight.dims[:] = draw.integers(-2, 9, draw.integers(5)).tolist()
            case 4:
                weight.data_type = int(draw.integers(30))
            case 5 if one.input:
                one.input[0] = str(draw.choice(["x", "w1", "shape", "last", "c1"]))
            case 6:
                proto.opset_import[0].version = int(draw.integers(1, 29))
            case _:
                graph.input[0].type.tensor_type.elem_type = int(draw.integers(30))
    return proto


def test_a_damaged_model_raises_errors_of_this_library_alone() -> None:
    draw = np.random.default_rng(0)
    refused = 0
    for _ in range(80):
        try:
            wk.onnx.load(_damaged(draw)).numpy(_images())
        except wk.WgslKernelsError:
            refused += 1

    assert refused > 40
