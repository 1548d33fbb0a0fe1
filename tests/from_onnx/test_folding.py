"""What becomes part of a convolution or a batch norm on load, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from tests.from_onnx.graphs import FLOAT, model, peer

import wgsl_kernels as wk

BACKENDS = ("cpu", "webgpu")
node = helper.make_node


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [1, 2])
def test_numbers_per_channel_become_part_of_what_is_before(groups: int, backend: str) -> None:
    draw = np.random.default_rng(8)
    one, two, three, four = (draw.uniform(0.5, 2, s).astype(np.float32) for s in [(4, 1, 1)] * 4)
    constants = {
        "w": draw.standard_normal((4, 4 // groups, 3, 3)).astype(np.float32),
        "one": one, "two": two, "three": three[None], "four": four,
        "five": np.array([[2, 3, 4]], np.float32),
        **{name: draw.uniform(0.5, 2, 4).astype(np.float32) for name in "somv"},
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], group=groups),
        node("Mul", ["one", "c"], ["d"]),
        node("Add", ["d", "two"], ["e"]),
        node("Relu", ["e"], ["f"]),
        node("BatchNormalization", ["f", *"somv"], ["g"]),
        node("Mul", ["g", "three"], ["h"]),
        node("Add", ["h", "four"], ["i"]),
        node("Mul", ["i", "five"], ["y"]),  # by the last axis: no number per channel
    ]
    shape = (FLOAT, [2, 4, 5, 3])
    proto = model(nodes, {"x": shape}, {"y": shape}, constants)
    x = draw.standard_normal((2, 4, 5, 3)).astype(np.float32)
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        found = net(x).numpy()

    assert [one.op for one in net.nodes] == ["Conv", "BatchNormalization", "Mul"]
    assert (net.optimised.scales, net.optimised.activations) == (4, 1)
    np.testing.assert_allclose(found, peer(proto.SerializeToString(), {"x": x})[0], rtol=1e-5)


def test_what_something_else_reads_is_not_folded() -> None:
    constants = {
        "w": np.ones((3, 3, 1, 1), np.float32),
        "s": np.array([[[2]], [[3]], [[4]]], np.float32),
    }
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("Relu", ["c"], ["r"]),
        node("Mul", ["c", "s"], ["m"]),
        node("Add", ["r", "m"], ["y"]),
    ]
    proto = model(
        nodes, {"x": (FLOAT, [1, 3, 2, 2])}, {"y": (FLOAT, None), "c": (FLOAT, None)}, constants
    )
    net = wk.onnx.load(proto)

    assert [one.op for one in net.nodes] == ["Conv", "Relu", "Mul", "Add"]
    assert str(net.optimised) == "1 filters laid out"
