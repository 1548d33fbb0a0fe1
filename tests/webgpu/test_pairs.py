"""Texts that move numbers in pairs, which is done on software adapters alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import GPU
from wgsl_kernels.backends.webgpu.devices import adapters
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.backends.webgpu.devices.pairs import FEATURE, in_pairs
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.ready import Kind

DECLARED = """
alias T_x = {kind};
@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<{kind}>>;
"""
MAIN = "@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {} }}"
BINDINGS: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"))
COUNT = 64


def text_with(body: str, kind: str = "f32") -> str:
    return DECLARED.format(kind=kind) + MAIN.format(body)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("y[id.x] = x[id.x];", "y[id.x] = wk_pairs_f32( wk_four_f32(x[id.x]));"),
        (
            "let i = id.x; y[i / 4u] = max(x[i], y[i]) - x[0];",
            "let i = id.x; y[i / 4u] = wk_pairs_f32( max(wk_four_f32(x[i]), wk_four_f32(y[i]))"
            " - wk_four_f32(x[0]));",
        ),
        (
            "for (var i = 0u; i < 2u; y[i] = x[i]) { i++; }",
            "for (var i = 0u; i < 2u; y[i] = wk_pairs_f32( wk_four_f32(x[i]))) { i++; }",
        ),
        ("let b = x[u32(y[1].x)].w == 1.0;", None),
        (
            "let i = id.x; y[i] = vec4(x[i][i % 4u]);",
            "let i = id.x; y[i] = wk_pairs_f32( vec4(wk_one_f32(x[i][(i % 4u) / 2u], i % 4u)));",
        ),
        (
            "// y += x\n y[id.x] = x[id.x];",
            "// y += x\n y[id.x] = wk_pairs_f32( wk_four_f32(x[id.x]));",
        ),
    ],
)
def test_loads_and_stores_of_fours_become_those_of_pairs(given: str, wanted: str | None) -> None:
    found = in_pairs(text_with(given))
    assert "x: array<vec2<u64>>" in found
    assert "y: array<vec2<u64>>" in found
    if wanted is not None:
        assert MAIN.format(wanted) in found


@pytest.mark.parametrize(
    "body",
    [
        "y[id.x].x = 1.0;",
        "y[id.x][1] = 1.0;",
        "y[id.x] += x[id.x];",
        "let p = &y; (*p)[0] = x[0];",
        "let n = arrayLength(&y);",
        "y[0] = x[0]; let y = y[1]; let z = y.x;",
        "let z = x[0]; y[u32(z.x)][u32(z.y)] = 0.0;",
    ],
)
def test_a_buffer_stays_as_it_is_where_its_fours_are_not_moved_whole(body: str) -> None:
    found = in_pairs(text_with(body))
    assert "y: array<vec4<f32>>" in found


def test_names_of_parameters_and_of_locals_are_not_the_buffers() -> None:
    body = "fn f(x: f32) -> f32 { let y = x; return y + x; } fn g() -> f32 { return x[0].y; }"
    found = in_pairs(DECLARED.format(kind="f32") + body)
    assert "fn f(x: f32) -> f32 { let y = x; return y + x; }" in found
    assert "return wk_four_f32(x[0]).y;" in found


def test_a_text_without_fours_is_left_alone() -> None:
    text = "@group(0) @binding(0) var<storage, read> x: array<f32>;\nfn f() -> f32 { return x[0]; }"
    assert in_pairs(text) is text


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["f32", "i32", "u32"])
def test_every_bit_arrives(device: Device, kind: str) -> None:
    words = np.random.default_rng(5).integers(0, 1 << 32, 4 * COUNT, np.uint32)
    words[:6] = 0x7F800001, 0xFFC01234, 0x80000000, 0, 0x7F800000, 0xFFFFFFFF
    body = f"let four = x[id.x]; y[{COUNT - 1}u - id.x] = vec4(four.yx, x[id.x][2], four.w);"
    pipeline = device.pipeline(text_with(body, kind), BINDINGS, "Turn")
    x, y = device.put(words), device.storage(words.nbytes)
    dispatch(device, pipeline, (x, y), None, b"", (COUNT // 8, 1, 1))
    found = device.read(y, 0, words.nbytes).view(np.uint32).reshape(-1, 4)
    assert np.array_equal(found[::-1], words.reshape(-1, 4)[:, [1, 0, 2, 3]])


@pytest.mark.gpu
def test_a_refusal_is_of_the_text_that_was_given(device: Device) -> None:
    with pytest.raises(CompileFailure) as caught:
        device.pipeline(text_with("y[id.x] = vec3(x[id.x].xyz);"), BINDINGS, "Wrong")
    assert "wk_" not in caught.value.message


@pytest.mark.gpu
def test_a_software_adapter_is_asked_for_integers_of_64_bits() -> None:
    device = Device()
    there = device.policy.moves_pairs and FEATURE in device.info.features
    assert (FEATURE in device.features) == there
    device.close()


@pytest.mark.gpu
def test_a_gpu_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "policy_of", lambda info: GPU)
    device = Device()
    assert FEATURE not in device.features
    device.close()


@pytest.mark.parametrize("count", [7, 8])
def test_a_long_row_is_normalized_with_and_without_elements_left_over(count: int) -> None:
    values = np.linspace(-3, 3, 40000 + count, dtype=np.float32)
    with wk.use_backend("webgpu"):
        found: Any = wk.softmax(wk.tensor(values)).numpy()
    exact = np.exp(values.astype(np.float64))
    assert np.allclose(found, exact / exact.sum(), rtol=1e-5, atol=0)
