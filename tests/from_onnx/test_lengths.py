"""Lengths that a model gives: of nothing, of one, and more than there is memory for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model, peer

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator

node = helper.make_node
X = np.ones((1, 1, 2, 2), np.float32)
MANY = 2_000_000_000


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run each test on both backends."""
    with wk.use_backend(request.param):
        yield request.param


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("shape", [(3, 1), (3, 0), (0, 3), (0, 3, 1, 4), (2, 0, 3), (2, 1, 1)])
@pytest.mark.parametrize("op", ["Hardmax", "LogSoftmax", "Softmax"])
def test_axes_of_length_0_and_1_are_normalised(op: str, shape: tuple[int, ...], opset: int) -> None:
    x = np.ones(shape, np.float32)
    for axis in range(len(shape)):
        proto = model(
            [node(op, ["x"], ["y"], axis=axis)],
            {"x": (FLOAT, [f"n{i}" for i in range(x.ndim)])}, {"y": (FLOAT, None)}, opset=opset,
        )  # fmt: skip
        (want,) = peer(proto.SerializeToString(), {"x": x})
        (found,) = wk.onnx.load(proto).numpy(x)

        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, rtol=1e-6)


def _ints(*values: int) -> Any:
    return np.array(values, np.int64)


def _ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


EMPTY: dict[str, tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any], tuple[int, ...]]]
EMPTY = {
    "GridSample": (["x", "g"], {}, {"x": _ones(0, 2, 3, 3), "g": _ones(0, 4, 4, 2)}, {},
                   (0, 2, 4, 4)),
    "GroupNormalization": (["x", "s", "s"], {"num_groups": 2}, {"x": _ones(0, 4, 3)},
                           {"s": _ones(4)}, (0, 4, 3)),
    "DeformConv": (["x", "w", "o"], {"kernel_shape": [2, 2]},
                   {"x": _ones(0, 2, 3, 3), "o": _ones(0, 8, 2, 2)}, {"w": _ones(2, 2, 2, 2)},
                   (0, 2, 2, 2)),
    "RoiAlign": (["x", "r", "i"], {"output_height": 2, "output_width": 2},
                 {"x": _ones(1, 2, 3, 3), "r": _ones(0, 4)}, {"i": _ints()}, (0, 2, 2, 2)),
    "Col2Im": (["x", "s", "k"], {}, {"x": _ones(0, 4, 4)}, {"s": _ints(3, 3), "k": _ints(2, 2)},
               (0, 1, 3, 3)),
    "Attention": (["x", "x", "x"], {"q_num_heads": 2, "kv_num_heads": 2}, {"x": _ones(0, 3, 4)},
                  {}, (0, 3, 4)),
    "RotaryEmbedding": (["x", "c", "c", "p"], {"num_heads": 2}, {"x": _ones(0, 3, 8)},
                        {"c": _ones(5, 2), "p": np.zeros((0, 3), np.int64)}, (0, 3, 8)),
    "MaxPool": (["x"], {"kernel_shape": [2, 2]}, {"x": _ones(0, 2, 4, 4)}, {}, (0, 2, 3, 3)),
}  # fmt: skip
"""Inputs, attributes, what is given, what is known, and the shape of what comes."""


@pytest.mark.parametrize("op", sorted(EMPTY))
def test_a_batch_of_nothing_gives_nothing(op: str) -> None:
    inputs, attrs, given, known, shape = EMPTY[op]
    outputs: dict[str, tuple[int, Any]] = {"y": (FLOAT, None)}
    if op == "MaxPool":
        outputs["at"] = (INT64, None)
    declared: dict[str, tuple[int, Any]] = {
        name: (FLOAT, [f"{name}{i}" for i in range(x.ndim)]) for name, x in given.items()
    }
    proto = model([node(op, inputs, list(outputs), **attrs)], declared, outputs, known, opset=23)

    assert [one.shape for one in wk.onnx.load(proto).numpy(**given)] == [shape] * len(outputs)


TOO_LARGE: dict[str, tuple[str, list[str], dict[str, Any], dict[str, Any], int]] = {
    "Resize, nearest": ("Resize", ["x", "", "", "s"], {}, {"s": _ints(1, 1, 2, MANY)}, 19),
    "Resize, linear": (
        "Resize", ["x", "", "", "s"], {"mode": "linear"}, {"s": _ints(1, 1, 2, MANY)}, 19,
    ),
    "Resize, cubic": (
        "Resize", ["x", "", "s"], {"mode": "cubic"}, {"s": np.array([1, 1, 1, 1e9], "f4")}, 19,
    ),
    "Upsample": ("Upsample", ["x", "s"], {}, {"s": np.array([1, 1, 1, 1e9], "f4")}, 9),
    "AffineGrid": (
        "AffineGrid", ["t", "s"], {},
        {"t": np.ones((1, 2, 3), "f4"), "s": _ints(1, 1, 30000, 60000)}, 20,
    ),
    "Col2Im": (
        "Col2Im", ["c", "s", "k"], {},
        {"c": np.ones((1, 4, 1), "f4"), "s": _ints(40000, 40000), "k": _ints(2, 2)}, 18,
    ),
    "MelWeightMatrix": (
        "MelWeightMatrix", ["n", "l", "r", "a", "b"], {},
        {"n": np.int64(8), "l": np.int64(MANY), "r": np.int64(8000),
         "a": np.float32(0), "b": np.float32(4000)}, 17,
    ),
    "RoiAlign": (
        "RoiAlign", ["x", "roi", "at"], {"output_height": 60000, "output_width": 60000},
        {"roi": np.array([[0, 0, 1, 1]], "f4"), "at": _ints(0)}, 16,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(TOO_LARGE))
def test_tables_on_the_host_are_held_to_the_limit(
    case: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    op, inputs, attrs, given, opset = TOO_LARGE[case]
    proto = model(
        [node(op, inputs, ["y"], name="large", **attrs)],
        {"x": (FLOAT, ["a", "b", "c", "d"])}, {"y": (FLOAT, None)}, given, opset=opset,
    )  # fmt: skip

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError(f"{case}: NumPy was asked before the limit")

    for name in ("arange", "linspace", "meshgrid"):
        monkeypatch.setattr(np, name, refuse)
    with wk.config.using(memory_limit=64 << 20), pytest.raises(wk.OutOfMemoryError) as error:
        wk.onnx.load(proto)(X)
    assert any("'large'" in note for note in getattr(error.value, "__notes__", ()))


def test_memory_that_numpy_has_not_is_an_error_of_this_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proto = model(
        [node("Resize", ["x", "", "", "s"], ["y"])],
        {"x": (FLOAT, ["a", "b", "c", "d"])}, {"y": (FLOAT, None)}, {"s": _ints(1, 1, 2, 5)},
        opset=19,
    )  # fmt: skip

    def refuse(*_: Any, **__: Any) -> Any:
        raise MemoryError

    loaded = wk.onnx.load(proto)
    monkeypatch.setattr(np, "arange", refuse)
    with pytest.raises(wk.OutOfMemoryError):
        loaded(X)


@pytest.mark.parametrize("make", [wk.hann_window, wk.fft.fftfreq, wk.fft.rfftfreq])
def test_numbers_that_numpy_makes_are_held_to_the_limit(make: Any) -> None:
    with wk.config.using(memory_limit=64 << 20), pytest.raises(wk.OutOfMemoryError):
        make(1 << 26)


def test_repeats_are_held_to_the_limit() -> None:
    with wk.config.using(memory_limit=64 << 20), pytest.raises(wk.OutOfMemoryError):
        wk.repeat(wk.tensor([1, 2]), [1 << 26, 1])


@pytest.mark.parametrize("is_on_host", [False, True])
@pytest.mark.parametrize(("op", "want"), [("ReduceMax", -(1 << 31)), ("ReduceMin", (1 << 31) - 1)])
def test_an_extreme_of_nothing_is_that_of_what_carries_the_type(
    op: str, want: int, is_on_host: bool
) -> None:
    lengths = [node("Shape", ["x"], ["s"])] if is_on_host else []  # which are of int64, too
    kind, shape = (FLOAT, []) if is_on_host else (INT64, ["n"])
    proto = model(
        [*lengths, node(op, ["s" if is_on_host else "x", "a"], ["y"], keepdims=0)],
        {"x": (kind, shape)}, {"y": (INT64, None)}, {"a": _ints(0)}, opset=20,
    )  # fmt: skip
    given = np.ones((), np.float32) if is_on_host else _ints()

    assert wk.onnx.load(proto).numpy(given)[0] == want


@pytest.mark.parametrize("x", [np.zeros(3, "f4"), np.zeros(0, "f4"), np.array([-1, 2], "f4")])
def test_zeros_are_quantized_by_a_scale_that_divides(x: Any) -> None:
    proto = model(
        [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])],
        {"x": (FLOAT, ["n"])},
        {"y": (TensorProto.UINT8, None), "s": (FLOAT, None), "z": (TensorProto.UINT8, None)},
        opset=11,
    )
    for found, want in zip(
        wk.onnx.load(proto).numpy(x), peer(proto.SerializeToString(), {"x": x}), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("place", [-2, -1, 0, 1, 2, 9])
def test_a_value_is_inserted_within_a_sequence_alone(place: int) -> None:
    nodes = [
        node("SequenceConstruct", ["x"], ["a"]),
        node("SequenceInsert", ["a", "z", "p"], ["b"]),
        node("ConcatFromSequence", ["b"], ["y"], axis=0),
    ]
    inputs: dict[str, tuple[int, Any]] = {"x": (FLOAT, [1]), "z": (FLOAT, [1]), "p": (INT64, [])}
    net = wk.onnx.load(model(nodes, inputs, {"y": (FLOAT, None)}, opset=18))
    assert "reads" in (net.why_not_replayed or "")
    given = np.zeros(1, "f4"), np.ones(1, "f4"), np.array(place)
    if not -1 <= place <= 1:
        with pytest.raises(wk.ArgumentError, match=rf"position is {place}, .* from -1 to 1"):
            net(*given)
        return

    assert net(*given).tolist() == ([0, 1] if place == 1 else [1, 0])
