"""Saved models of which axes may vary: other lengths give the same, or a line says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from tests.from_onnx.graphs import peer

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

BATCH = {"x": {0: "batch"}}


def floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def gives_the_same(f: Any, file: Path, x: Any) -> None:
    """Hold ONNX Runtime, ONNX's reference and what is loaded again against the function."""
    found = f(wk.tensor(x))
    wants = [one.numpy() for one in (found if isinstance(found, tuple) else (found,))]
    reference: Any = ReferenceEvaluator(str(file)).run(None, {"x": x})
    everywhere = (peer(file, {"x": x}), reference, wk.onnx.load(file).numpy(x))
    for there in everywhere:
        for want, got in zip(wants, there, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


def dims(values: Any) -> list[Any]:
    return [
        [one.dim_param or one.dim_value for one in v.type.tensor_type.shape.dim] for v in values
    ]


def network() -> Any:
    wk.random.seed(0)
    return wk.nn.sequential(
        wk.nn.conv(3, 8, 3, pad="same"),
        wk.nn.batch_norm(8),
        wk.relu,
        lambda x: wk.max_pool(x, 2, strides=2, pad="valid"),
        lambda x: wk.reshape(x, (x.shape[0], -1)),
        wk.nn.dense(8 * 16, 4),
    )


@pytest.mark.parametrize("opset", [13, 17, 25])
@pytest.mark.parametrize("count", [1, 2])
def test_a_network_takes_other_batches(opset: int, count: int, tmp_path: Path) -> None:
    net, file = network(), tmp_path / "net.onnx"
    wk.onnx.save(
        lambda x: net(x), file, {"x": floats(count, 8, 8, 3)}, dynamic_axes=BATCH, opset=opset
    )
    model = onnx.load(file)
    assert dims(model.graph.input) == [["batch", 8, 8, 3]]
    assert dims(model.graph.output) == [["batch", 4]]
    assert model.opset_import[0].version == opset
    for other in (1, 2, 5):
        gives_the_same(net, file, floats(other, 8, 8, 3))


def recurrent(x: Any) -> Any:
    """Begin with a state of zeros, whose length is the batch's."""
    state = wk.zeros((x.shape[0], 4))
    for step in range(x.shape[1]):
        state = wk.tanh(x[:, step] + state)
    return state


def half(x: Any) -> Any:
    return x[::2], wk.concat([x, x], 0)


def extremes(x: Any) -> Any:
    return wk.sort(x, axis=0), wk.ones_like(x) + wk.zeros((x.shape[0], 1, 1))


@pytest.mark.parametrize("f", [recurrent, half, extremes])
def test_what_follows_from_a_length_is_computed(f: Any, tmp_path: Path) -> None:
    file = tmp_path / "f.onnx"
    wk.onnx.save(f, file, {"x": floats(2, 3, 4)}, dynamic_axes=BATCH)
    for other in (1, 2, 7):
        gives_the_same(f, file, floats(other, 3, 4))


def attended(x: Any) -> Any:
    """Attend to what came before, in two heads; batch and steps are one axis in the end."""
    heads = wk.permute_dims(wk.reshape(x, (*x.shape[:2], 2, 4)), (0, 2, 1, 3))
    found = wk.scaled_dot_product_attention(heads, heads, heads, causal=True)
    return wk.reshape(wk.permute_dims(found, (0, 2, 1, 3)), (x.shape[0] * x.shape[1], 8))


def test_two_axes_vary_by_themselves(tmp_path: Path) -> None:
    file = tmp_path / "f.onnx"
    axes = {"x": {0: "batch", 1: "steps"}}
    wk.onnx.save(attended, file, {"x": floats(2, 4, 8)}, dynamic_axes=axes)
    assert dims(onnx.load(file).graph.input) == [["batch", "steps", 8]]
    for lengths in ((1, 4), (3, 7), (2, 9), (3, 1)):
        gives_the_same(attended, file, floats(*lengths, 8))


WEIGHT = wk.tensor(np.ones((2, 1), np.float32))
LINE = r" at .*test_dynamic_axes\.py:\d+"
REFUSED: list[tuple[Any, str]] = [
    (lambda x: wk.reshape(x, (2, 12)), f"with batch = 3, f raises,{LINE}: Reshape: x of shape"),
    (lambda x: wk.mean(x, 2) * WEIGHT, f"with batch = 3, f raises,{LINE}: Multiply: shapes do"),
    (lambda x: wk.squeeze(x) * 2.0, r"output 'y' has shape \[3, 4\] with batch = 1; want \[1, 3"),
    (
        lambda x: x * np.arange(x.shape[0], dtype=np.float32)[:, None, None],
        f"Multiply{LINE}: a constant is .* where batch = 2 and .* where batch = 3",
    ),
    (
        lambda x: wk.var(x, 0, correction=1),
        f"Variance{LINE}|RealDiv{LINE}: a constant is 1.0 where batch = 2 and 2.0 where batch = 3",
    ),
    (
        lambda x: x * wk.mean(x) if x.shape[0] < 4 else x,
        f"Mean{LINE}: not the same kernels run where batch = 2 and where batch = 5",
    ),
    (
        lambda x: wk.concat([x] * x.shape[0], 0),
        f"Concat{LINE}: not the same kernels run where batch = 2 and where batch = 3",
    ),
    (lambda x: x if x.shape[0] < 3 else wk.astype(x, "int32"), "not the same kernels|not always"),
    (
        lambda x: wk.softmax(x, min(x.shape[0] - 2, 1)),
        f"Softmax{LINE}: axis is 0 where batch = 2 and 1",
    ),
]


@pytest.mark.parametrize(("f", "words"), REFUSED)
def test_a_length_that_was_written_in_is_refused_with_its_line(
    f: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(wk.ArgumentError, match=f"save: 'batch' cannot vary: .*({words})"):
        wk.onnx.save(f, tmp_path / "f.onnx", {"x": floats(2, 3, 4)}, dynamic_axes=BATCH)
    with pytest.raises(wk.ArgumentError, match="save_graph_model: 'batch' cannot vary: "):
        wk.tfjs.save_graph_model(f, tmp_path / "f", {"x": floats(2, 3, 4)}, dynamic_axes=BATCH)
    assert list(tmp_path.iterdir()) == []


def test_values_that_decide_are_refused_with_the_line_that_reads_them(tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match=f"reads values that depend on its inputs,{LINE}"):
        wk.onnx.save(
            lambda x: x if x.sum().item() > 0 else -x, tmp_path / "f.onnx", {"x": floats(2)}
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("axes", "error", "words"),
    [
        (3, wk.ArgumentError, "dynamic_axes is 3; want names of axes by input and axis"),
        ({"z": {0: "n"}}, wk.ArgumentError, r"dynamic_axes has 'z'; want \['x'\]"),
        ({"x": [0]}, wk.ArgumentError, r"dynamic_axes\['x'\] is \[0\]; want names by axis"),
        ({"x": {3: "n"}}, wk.ShapeError, "has axis 3; 'x' has 3 axes"),
        ({"x": {0: ""}}, wk.ArgumentError, "axis 0 of 'x' is called ''; want a name"),
        ({"x": {0: "n", 1: "n"}}, wk.ShapeError, "axis 1 of 'x', 'n', is 3 in the example; want 2"),
        (
            {"x": {0: "a", 1: "b", 2: "c"}, "z": {0: "d"}},
            wk.ArgumentError,
            "has 4 names; want at most 3",
        ),
    ],
)
def test_dynamic_axes_are_checked(axes: Any, error: Any, words: str, tmp_path: Path) -> None:
    given = {"x": floats(2, 3, 4)} | (
        {"z": floats(2)} if isinstance(axes, dict) and len(axes) > 1 else {}
    )
    with pytest.raises(error, match=f"save: .*{words}"):
        wk.onnx.save(lambda x, z=None: x, tmp_path / "f.onnx", given, dynamic_axes=axes)


def test_versions_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return wk.bitwise_and(wk.astype(x, "int32"), 3)

    file = tmp_path / "f.onnx"
    with pytest.raises(wk.ArgumentError, match=f"BitwiseAnd before version 18 .*{LINE}"):
        wk.onnx.save(f, file, {"x": floats(2)}, opset=17)
    for opset in (12, 26, "21", True):
        version: Any = opset
        with pytest.raises(wk.ArgumentError, match=r"opset is .*; want 13 to 25\."):
            wk.onnx.save(f, file, {"x": floats(2)}, opset=version)
    assert list(tmp_path.iterdir()) == []


FIRST, LAST = wk.nn.conv(3, 8, 3, pad="same"), wk.nn.conv(8, 3, 3)
MAPPED: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "dense": (wk.nn.dense(4, 4), (3, 4), "MatMul Add Identity"),
    "two layers": (
        wk.nn.sequential(wk.nn.dense(4, 8), wk.relu, wk.nn.dense(8, 4)),
        (3, 4),
        "MatMul Add Relu MatMul Add Identity",
    ),
    "batches of 1": (
        lambda image: LAST(wk.tanh(2.0 * FIRST(image[None])))[0],
        (2, 8, 8, 3),
        "Transpose Transpose Conv Transpose Add Mul Tanh "
        "Transpose Transpose Conv Transpose Add Identity",
    ),
    "read twice": (
        lambda x: wk.relu(x[None])[0] + wk.exp(x[None] * x[None])[0],
        (2, 3),
        "Relu Mul Exp Add Identity",
    ),
    "another shape": (lambda x: wk.reshape(x[None], (3, 2)), (2, 6), "Reshape Identity"),
}


@pytest.mark.parametrize("case", MAPPED)
def test_reshapes_that_undo_others_are_not_written(case: str, tmp_path: Path) -> None:
    f, shape, wanted = MAPPED[case]
    every, file = wk.vmap(f), tmp_path / "f.onnx"
    for axes in (None, BATCH):
        wk.onnx.save(lambda x: every(x), file, {"x": floats(*shape)}, dynamic_axes=axes)
        kinds = [one.op_type for one in onnx.load(file).graph.node]
        assert " ".join(kinds) == wanted
    for other in (1, 2, 5):
        gives_the_same(every, file, floats(other, *shape[1:]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wk.reshape(x, (3, -1)) * 2.0,
        lambda x: wk.reshape(wk.reshape(x, (-1, 3)) + 1.0, (3, -1)),
        lambda x: wk.concat([x[:3] + 1.0, x], 0)[:, None],
    ],
)
def test_a_shape_that_is_there_at_one_length_alone_is_written(f: Any, tmp_path: Path) -> None:
    file = tmp_path / "f.onnx"
    wk.onnx.save(f, file, {"x": floats(3, 3)}, dynamic_axes=BATCH)
    for other in (3, 6):
        gives_the_same(f, file, floats(other, 3))


TABLE = wk.variable(floats(9, 4), name="places")
TURNED = wk.nn.multi_head_attention(4, 2)
OF_PLACES: dict[str, Any] = {
    "a layer that turns": lambda x: TURNED(x, causal=True, rotary=wk.rotary_angles(9, 2)),
    "a part of a table": lambda x: x + TABLE[: x.shape[1]],
    "rows of a table": lambda x: x * wk.take(TABLE, wk.arange(x.shape[1] - 1, -1, -1), axis=0),
    "numbers": lambda x: x + wk.cos(wk.arange(2.0, 2.0 + 3 * x.shape[1], 3.0))[:, None],
}


@pytest.mark.parametrize("case", OF_PLACES)
def test_what_is_made_for_each_place_is_computed(case: str, tmp_path: Path) -> None:
    f, file, axes = OF_PLACES[case], tmp_path / "f.onnx", {"x": {0: "batch", 1: "steps"}}
    wk.onnx.save(f, file, {"x": floats(2, 3, 4)}, dynamic_axes=axes)
    for lengths in ((1, 1), (2, 3), (3, 9)):
        gives_the_same(f, file, floats(*lengths, 4))
    if "layer" in case:  # its mask is one of [steps, steps]
        return
    wk.tfjs.save_graph_model(f, tmp_path / "f", {"x": floats(2, 3, 4)}, dynamic_axes=axes)
    x = floats(3, 9, 4)
    (found,) = wk.tfjs.load_graph_model(tmp_path / "f" / "model.json").numpy(x=x)
    np.testing.assert_allclose(found, f(wk.tensor(x)).numpy(), rtol=1e-5, atol=1e-6)


def test_what_is_made_elsewhere_for_each_place_is_refused_with_what_to_do(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x + np.arange(x.shape[0], dtype=np.float32)

    words = rf"Add{LINE}: a constant is \[0\.0, 1\.0\] where .*\. Make it in f by ops, as of wk"
    with pytest.raises(wk.ArgumentError, match=words):
        wk.onnx.save(f, tmp_path / "f.onnx", {"x": floats(2)}, dynamic_axes=BATCH)
