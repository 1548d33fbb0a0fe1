"""Graph models of TensorFlow.js give its results, and files that do not fit say why."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph_models.every_operator import every_operator
from tests.graph_models.graphs import GraphWriter
from tests.tfjs_damage import ODD_VALUES, WORDS_OF_PYTHON, refusals

import wgsl_kernels as wk

BACKENDS = ["cpu", pytest.param("webgpu", marks=pytest.mark.gpu)]
DRAW = np.random.default_rng(3)
BEGIN = DRAW.bit_generator.state


@pytest.fixture(autouse=True)
def drawn_anew() -> None:
    """Have each test draw what it draws alone, whichever ran before."""
    DRAW.bit_generator.state = BEGIN


WINDOW: dict[str, Any] = {"strides": [1, 2, 2, 1], "padding": "SAME", "data_format": "NHWC"}


def floats(*shape: int) -> Any:
    return DRAW.uniform(-1, 1, shape).astype(np.float32)


def perceptron() -> GraphWriter:
    """Return a graph of x [?, 3] that has one hidden layer."""
    writer = GraphWriter()
    x = writer.placeholder("x", (-1, 3))
    hidden = writer.node("MatMul", x, writer.constant(floats(3, 4), "w"), name="hidden")
    bias = writer.constant(floats(4), "bias")
    writer.node("Relu", writer.node("BiasAdd", hidden, bias), name="y")
    return writer


def expected_of_perceptron(writer: GraphWriter, x: Any) -> Any:
    return np.maximum(x @ writer.weights["w"] + writer.weights["bias"], 0)


def network() -> GraphWriter:
    """Return a network on images [?, 6, 6, 2], which computes a shape of its input's."""
    writer = GraphWriter()
    node = writer.node
    # nodes are in no order: what reads comes first
    node("Softmax", "logits", name="probabilities")
    x = writer.placeholder("images", (-1, 6, 6, 2))
    filters = writer.constant(floats(2, 2, 2, 3), "filters")
    moments = [floats(3), floats(3), floats(3), np.array([0.5, 1.0, 2.0], np.float32)]
    fused: dict[str, Any] = {
        "fused_ops": ["BiasAdd", "Relu"],
        "num_args": 1,
        "dilations": [1, 1, 1, 1],
    }
    z = node("_FusedConv2D", x, filters, floats(3), **WINDOW, **fused)
    z = node("FusedBatchNormV3", z, *moments, epsilon=0.001, is_training=False)
    z = node("MaxPool", z + ":0", ksize=[1, 2, 2, 1], **WINDOW)
    masks: dict[str, Any] = {f"{name}_mask": 0 for name in ("begin", "end", "ellipsis", "new_axis")}
    count = node(
        "StridedSlice", node("Shape", z), [0], [1], [1], **masks, shrink_axis_mask=1, T="DT_INT32"
    )
    rest = writer.constant(-1)
    shape = node("Pack", count, rest, axis=0, N=2, T="DT_INT32")
    flat = node("Identity", node("Reshape", z, shape), "^images")
    node("MatMul", flat, writer.constant(floats(12, 5), "dense"), name="logits")
    return writer


def expected_of_network(writer: GraphWriter, x: Any) -> tuple[Any, Any]:
    weights = list(writer.weights.values())
    filters, bias, scale, offset, mean, variance = weights[:6]
    parts = x.reshape(-1, 3, 2, 3, 2, 2).transpose(0, 1, 3, 2, 4, 5)
    z = np.maximum(np.einsum("nijabc,abcd->nijd", parts, filters) + bias, 0)
    z = (z - mean) / np.sqrt(variance + 0.001) * scale + offset
    padded = np.pad(z, [(0, 0), (0, 1), (0, 1), (0, 0)], constant_values=-np.inf)
    flat = padded.reshape(-1, 2, 2, 2, 2, 3).max((2, 4)).reshape(len(x), -1)
    logits = flat @ writer.weights["dense"]
    exponentials = np.exp(logits)
    return exponentials / exponentials.sum(1, keepdims=True), logits


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_network_gives_what_numpy_computes(tmp_path: Path, backend: str) -> None:
    writer = network()
    outputs = {"probabilities": "probabilities:0", "logits": "logits:0"}
    path = writer.save(tmp_path, outputs, shard=100)
    with wk.use_backend(backend):
        model = wk.tfjs.load_graph_model(path)
        for count in (1, 3, 3):
            x = floats(count, 6, 6, 2)
            for one, wanted in zip(model(x), expected_of_network(writer, x), strict=True):
                np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5, atol=1e-5)

    assert model.why_not_replayed is None
    assert [str(one) for one in model.inputs] == ["images: tensor(float)[?, 6, 6, 2]"]
    assert [one.name for one in model.outputs] == ["probabilities", "logits"]
    assert {"filters", "dense"} <= model.parameters.keys()


def test_every_operator_gives_what_tensorflow_js_computes(tmp_path: Path) -> None:
    writer, outputs = every_operator()
    recorded = json.loads((Path(__file__).parent / "expected.json").read_text())
    assert recorded.keys() == outputs.keys()
    with wk.use_backend("cpu"):
        model = wk.tfjs.load_graph_model(writer.save(tmp_path, outputs))
        found = dict(zip(outputs, model.numpy(), strict=True))
    for name, one in found.items():
        wanted = np.array(recorded[name]["data"], float).reshape(recorded[name]["shape"])
        assert one.shape == wanted.shape, name
        np.testing.assert_allclose(one.astype(float), wanted, rtol=1e-5, atol=1e-5, err_msg=name)


def test_complex_numbers_pass_through(tmp_path: Path) -> None:
    writer = GraphWriter()
    real, imaginary = floats(2, 8), floats(2, 8)
    z = writer.node("FFT", writer.node("Complex", real, imaginary))
    parts = {op: writer.node(op, z) for op in ("Real", "Imag", "ComplexAbs")}
    parts["back"] = writer.node("Real", writer.node("IFFT", z))
    with wk.use_backend("cpu"):
        found = wk.tfjs.load_graph_model(writer.save(tmp_path, parts)).numpy()

    wanted = np.fft.fft(real + 1j * imaginary)
    for one, other in zip(found, (wanted.real, wanted.imag, abs(wanted), real), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_channels_that_stand_first_get_their_own_bias(tmp_path: Path) -> None:
    writer = GraphWriter()
    images, bias = floats(2, 3, 4, 4), floats(3)
    y = writer.node("BiasAdd", images, bias, data_format="NCHW")
    with wk.use_backend("cpu"):
        found = wk.tfjs.load_graph_model(writer.save(tmp_path, {"y": y}))()
    assert np.array_equal(found.numpy(), images + bias[:, None, None])


def test_without_a_signature_the_ends_of_the_graph_are_meant(tmp_path: Path) -> None:
    writer = perceptron()
    path = writer.save(tmp_path, {})
    content = json.loads(path.read_text())
    del content["signature"]
    path.write_text(json.dumps(content))
    x = floats(2, 3)
    with wk.use_backend("cpu"):
        model = wk.tfjs.load_graph_model(path)
        found = model.numpy(x=x)[0]

    assert repr(model).startswith("Model(x: tensor(float)[?, 3] -> y: ?;")
    np.testing.assert_allclose(found, expected_of_perceptron(writer, x), atol=1e-6)


def test_a_trainable_model_learns(tmp_path: Path) -> None:
    path = perceptron().save(tmp_path, {"y": "y"})
    with wk.use_backend("cpu"):
        model = wk.tfjs.load_graph_model(path, trainable=True)
        x, wanted = floats(8, 3), np.ones((8, 4), np.float32)

        def loss() -> Any:
            return wk.mean(wk.square(model(x) - wanted))

        before = loss().item()
        for _ in range(20):
            wk.train.SGD(0.5).minimize(loss, model.parameters)
        assert loss().item() < before / 2


@pytest.mark.parametrize(
    ("dtype", "stored", "largest"),
    [("uint8", "u1", 255), ("uint16", "<u2", 65535), ("float16", "<f2", None)],
)
def test_quantized_weights_are_what_they_stand_for(
    tmp_path: Path, dtype: str, stored: str, largest: int | None
) -> None:
    writer = perceptron()
    path = writer.save(tmp_path, {"y": "y"})
    content = json.loads(path.read_text())
    data = np.frombuffer(writer.data(), "<f4")
    quantization: dict[str, Any] = {"dtype": dtype}
    if largest:
        quantization |= {"scale": 2 / largest, "min": -1.0}
        data = np.round((data + 1) / 2 * largest)
    for one in content["weightsManifest"][0]["weights"]:
        one["quantization"] = quantization
    path.write_text(json.dumps(content))
    (tmp_path / "group1-shard1of1.bin").write_bytes(data.astype(stored).tobytes())
    with wk.use_backend("cpu"):
        found = wk.tfjs.load_graph_model(path).parameters["w"].numpy()

    assert found.dtype == np.float32
    step = 1 / largest if largest else 2.0**-11
    assert np.abs(found - writer.weights["w"]).max() <= step * 1.01


def _first(name: str, value: Any) -> Any:
    """Return a change of the node "hidden"."""

    def change(content: Any) -> None:
        nodes = {one["name"]: one for one in content["modelTopology"]["node"]}
        nodes["hidden"][name] = value

    return change


def _two_unknown(content: Any) -> None:
    _first("op", "While")(content)
    content["modelTopology"]["node"][-1]["op"] = "Capsule"


def _weight(**changes: Any) -> Any:
    def change(content: Any) -> None:
        content["weightsManifest"][0]["weights"][0].update(changes)

    return change


def _attribute(value: Any) -> Any:
    return _first("attr", {"transpose_a": value})


def _signature(kind: str, value: Any) -> Any:
    return lambda content: content["signature"].update({kind: value})


REFUSED = [
    (_two_unknown, r"not known here: Capsule at 'y'; While at 'hidden'. Control flow is not read"),
    (_first("input", ["x", "nothing"]), "'hidden' reads 'nothing', which no node gives"),
    (_first("input", ["x:1", "w"]), "'hidden' reads 'x:1'; 'x' has no such output"),
    (_first("input", ["y", "w"]), "nodes wait for one another"),
    (_first("input", ["x"]), "MatMul at 'hidden' has 1 inputs; want another number"),
    (_first("input", [3]), "input of 'hidden' is 3; want a text"),
    (_first("input", 3), "input of 'hidden' is 3; want a list"),
    (_first("name", ""), "a node is called ''"),
    (_first("name", "w"), "two nodes are called 'w'"),
    (_first("op", None), r"modelTopology\.node\.\d+\.op is None; want a text"),
    (_first("op", "Placeholder"), "Placeholder at 'hidden'. The signature has no such input"),
    (_first("op", "Unpack"), "Unpack at 'hidden' has 2 inputs"),
    (_attribute(3), "the attribute 'transpose_a' of 'hidden' is 3"),
    (_attribute({"b": "yes"}), "a bool is 'yes'"),
    (_attribute({"s": "%%"}), "the attribute 'transpose_a' of 'hidden' is '%%', no 's'"),
    (_attribute({"i": math.inf}), "the attribute 'transpose_a' of 'hidden' is inf, no 'i'"),
    (_attribute({"i": []}), r"the attribute 'transpose_a' of 'hidden' is \[\], no 'i'"),
    (_attribute({"list": []}), r"'hidden', a list, is \[\]; want an object"),
    (_attribute({"list": {"i": 3}}), r"'hidden', list\.i, is 3; want a list"),
    (_attribute({"shape": {"dim": 3}}), "dim of a shape is 3; want a list"),
    (_attribute({"shape": []}), r"a shape is \[\]; want an object"),
    (_weight(name="other"), "no weight is called 'w', as a Const is"),
    (_weight(shape=[1 << 40, 1 << 40]), "have 64 bytes; its weights take"),
    (_weight(dtype="string"), "is string; want float32"),
    (_signature("inputs", {"a": {"name": "b"}}), "no node gives the input 'a'"),
    (_signature("inputs", {"a": {"name": "x", "dtype": "DT_STRING"}}), "dtype of input 'a'"),
    (
        _signature("inputs", {"a": {"name": "x"}, "b": {"name": "x:0"}}),
        "inputs 'a' and 'b' are one node",
    ),
    (_signature("outputs", {"y": {"name": "z"}}), "'the signature' reads 'z'"),
    (_signature("outputs", {"": {"name": "y"}}), "an input or output has no name"),
    (_signature("outputs", {"y": {}}), r"signature\.outputs\.y lacks 'name'"),
    (_signature("outputs", {"y": 3}), r"signature\.outputs\.y is 3; want an object"),
    (_signature("outputs", [3]), r"signature\.outputs is \[3\]; want an object"),
    (_weight(name=3), r"weightsManifest\.0\.weights\.0\.name is 3; want a text"),
    (_weight(shape=3), r"weightsManifest\.0\.weights\.0\.shape is 3; want a list"),
    (_weight(quantization=[]), r"weights\.0\.quantization is \[\]; want an object"),
    (_weight(quantization={"dtype": "uint8"}), r"quantization\.scale is None; want a number"),
    (lambda content: content.update(modelTopology=[]), r"modelTopology is \[\]; want an object"),
    (lambda content: content["modelTopology"].update(node=[3]), r"node\.0 is 3; want an object"),
    (lambda content: content.update(weightsManifest=3), "weightsManifest is 3; want a list"),
    (lambda content: content.update(weightsManifest=[3]), r"Manifest\.0 is 3; want an object"),
    (lambda content: content["weightsManifest"][0].pop("paths"), r"Manifest\.0 lacks 'paths'"),
    (lambda content: content["weightsManifest"][0].update(paths=[3]), r"paths\.0 is 3; want a t"),
    (lambda content: content.update(userDefinedMetadata=[3]), r"userDefinedMetadata is \[3\]"),
    (lambda content: content.pop("modelTopology"), "it lacks 'modelTopology'"),
    (lambda content: content["modelTopology"].pop("node"), "its topology has no list of nodes"),
    (lambda content: content.update(format="layers-model"), "load_layers_model reads layers"),
    (lambda content: content["weightsManifest"][0].update(paths=["../x"]), "outside of its folder"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_what_does_not_fit_is_said(tmp_path: Path, change: Any, words: str) -> None:
    path = perceptron().save(tmp_path, {"y": "y:0"})
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(wk.ArgumentError, match=words) as caught:
        wk.tfjs.load_graph_model(path)
    assert str(caught.value).startswith("load_graph_model: ")


@pytest.mark.parametrize("value", ODD_VALUES)
def test_what_is_of_another_kind_is_said_in_words_of_ours(tmp_path: Path, value: Any) -> None:
    path = perceptron().save(tmp_path, {"y": "y:0"})
    for said in refusals(path, value, wk.tfjs.load_graph_model):
        assert not any(one in said for one in WORDS_OF_PYTHON), said


def test_a_model_is_its_folder_too(tmp_path: Path) -> None:
    path = perceptron().save(tmp_path, {"y": "y"})
    given = floats(1, 3)

    assert wk.tfjs.load_graph_model(tmp_path)(given).tolist() == (
        wk.tfjs.load_graph_model(path)(given).tolist()
    )


def test_a_file_of_weights_that_is_not_there_is_said_with_its_model(tmp_path: Path) -> None:
    path = perceptron().save(tmp_path, {"y": "y"})
    (tmp_path / "group1-shard1of1.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.json has its .*group1-shard1of1\.bin"):
        wk.tfjs.load_graph_model(path)


def test_files_cut_short_are_refused(tmp_path: Path) -> None:
    path = perceptron().save(tmp_path, {"y": "y"})
    text = path.read_text()
    (tmp_path / "group1-shard1of1.bin").write_bytes(b"1234")
    with pytest.raises(wk.ArgumentError, match="have 4 bytes; its weights take 64"):
        wk.tfjs.load_graph_model(path)
    for part in (text[: len(text) // 2], "[" * 100_000, "3", ""):
        path.write_text(part)
        with pytest.raises(wk.ArgumentError, match="is no graph model of TensorFlow"):
            wk.tfjs.load_graph_model(path)


BAD_CALLS = [
    (lambda model: model(), wk.ArgumentError, "no input 'x' is given"),
    (lambda model: model(z=3), wk.ArgumentError, "'z' is no input"),
    (lambda model: model(floats(2, 2)), wk.ShapeError, r"input 'x' has shape \[2, 2\]; want x: "),
    (lambda model: model(wk.ones((2, 3), "int32")), wk.DTypeError, "'x' is int32; want float32"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD_CALLS)
def test_inputs_that_do_not_fit_are_refused(
    tmp_path: Path, call: Any, kind: type[Exception], words: str
) -> None:
    model = wk.tfjs.load_graph_model(perceptron().save(tmp_path, {"y": "y"}))
    with wk.use_backend("cpu"), pytest.raises(kind, match=words):
        call(model)


FAILING = [
    ("Reshape", [floats(2, 3), [4]], {}, "Reshape"),
    ("FusedBatchNormV3", [floats(1, 1, 1, 2), *[floats(2)] * 4], {}, "is_training is set"),
    ("_FusedMatMul", [floats(2, 2)] * 2, {"fused_ops": ["Add"]}, r"fused_ops are \['Add'\]"),
    ("MaxPool", [floats(1, 2, 2, 1)], {**WINDOW, "ksize": [2, 1, 1, 1]}, "ksize is"),
    ("Conv2D", [floats(1, 2, 2, 1)] * 2, {}, "do not fit each other, or its attributes"),
    ("Pow", [floats(3), floats(2)], {}, "Pow"),
    ("GatherV2", [floats(2, 3), [0], 2], {}, "axis is 2, but the tensor has rank 2"),
    ("ArgMax", [floats(2, 3), 2], {}, "axis is 2, but the tensor has rank 2"),
    ("Sum", [floats(2, 3), [-3]], {}, "axis is -3, but the tensor has rank 2"),
    ("ConcatV2", [floats(2, 3), floats(2, 3), 2], {"N": 2}, "axis is 2"),
    ("ExpandDims", [floats(2, 3), 4], {}, "dim is 4"),
    ("Squeeze", [floats(1, 3)], {"squeeze_dims": [2]}, "axis is 2, but the tensor has rank 2"),
    ("Unpack", [floats(3)], {"num": 2}, "it gives 3 outputs; want 2"),
    ("Fill", [[1 << 20, 1 << 20], 1], {"T": "DT_INT32"}, "elements on the host"),
    ("Tile", [[1], [1 << 30]], {}, "elements on the host"),
    ("BroadcastTo", [[1], [1 << 30]], {}, "elements on the host"),
    ("Range", [0, 1 << 30, 1], {"Tidx": "DT_INT32"}, "elements on the host"),
    ("Cast", [[1, 2]], {"DstT": "DT_VARIANT"}, "do not fit each other, or its attributes"),
]


@pytest.mark.parametrize(("op", "inputs", "attrs", "words"), FAILING)
def test_a_node_that_cannot_run_is_named(
    tmp_path: Path, op: str, inputs: Any, attrs: Any, words: str
) -> None:
    writer = GraphWriter()
    path = writer.save(tmp_path, {"y": writer.node(op, *inputs, **attrs, name="it")})
    with wk.use_backend("cpu"), pytest.raises(wk.WgslKernelsError, match=words) as caught:
        wk.tfjs.load_graph_model(path)()
    said = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert any("'it'" in one for one in said)
