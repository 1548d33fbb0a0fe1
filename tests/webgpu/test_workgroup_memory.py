"""No kernel relies on zeros in workgroup memory, which some drivers do not give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.poison import BITS, poison, poisoned

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.modules.source import shaders_folder
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.bench.comparison.checks import check_forward
from wgsl_kernels.testing import all_samples

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

STAGED = {"staged_a", "staged_b"}
SCANNED = {"wk_tile", "wk_ends"}
SORTED = {"found", "marks", "places", "block"}
USES = {
    "All": {"wk_totals"},
    "Any": {"wk_totals"},
    "ArgMax": {"wk_totals"},
    "ArgMin": {"wk_totals"},
    "Attention": {"staged", "tile", "partials"},
    "AttentionGradient": {"staged", "tile"},
    "BatchMatMul": STAGED,
    "Conv2D": STAGED,
    "Conv2DBackpropFilter": STAGED,
    "Conv2DBackpropInput": STAGED,
    "Cumprod": SCANNED,
    "Cumsum": SCANNED,
    "FusedConv2D": STAGED,
    "LayerNorm": {"wk_totals"},
    "LogSoftmax": {"wk_totals"},
    "LogSumExp": {"wk_totals"},
    "Max": {"wk_totals"},
    "Mean": {"wk_totals"},
    "Min": {"wk_totals"},
    "Multinomial": {"numbers", "counts"},
    "NonMaxSuppressionV3": {"best_boxes", "best_scores"},
    "Prod": {"wk_totals"},
    "Softmax": {"wk_totals"},
    "Sum": {"wk_totals"},
    "TopK": {"block"},
    "Unique": SORTED | SCANNED,
    "UnsortedSegmentSum": {"totals"} | SORTED | SCANNED,
    "Variance": {"wk_totals"},
    "_FusedMatMul": STAGED,
}
"""The workgroup variables that a kernel's samples use, under one variant or another."""
IN_REGISTERS = "rows_"
"""Variants of products that use none: there is no rubbish, and test_variants has them."""
COPIES = {"tile"}
EXAMPLES = {"sums"}


@pytest.mark.sampled(one_in=6)
@pytest.mark.gpu
@pytest.mark.parametrize("kernel", USES)
def test_a_kernel_is_right_when_workgroup_memory_holds_rubbish(kernel: str) -> None:
    with poisoned() as met:
        for sample in all_samples():
            if sample.kernel != kernel or "float16" in sample.input_dtypes:
                continue
            with watching() as seen:
                rows = [check_forward(sample, "webgpu")]
            for name in sorted(seen.get(kernel, ())):
                if name.startswith(IN_REGISTERS):
                    continue
                with forced(kernel, name):
                    rows.append(check_forward(sample, "webgpu"))
            assert all(row.passed for row in rows), [str(row) for row in rows if not row.passed]
    assert met >= USES[kernel]


@pytest.mark.gpu
def test_copies_are_right_when_workgroup_memory_holds_rubbish(
    follow_rules: Callable[[bool], None],
) -> None:
    follow_rules(False)
    x = np.random.default_rng(1).normal(0, 1, (3, 100, 77)).astype(np.float32)
    with wk.use_backend("webgpu"), poisoned() as met:
        there = wk.tensor(x) * 2.0  # on the device, where views are copied
        turned = wk.reshape(wk.matrix_transpose(there), (-1,)).numpy() / 2.0
    np.testing.assert_array_equal(turned, x.swapaxes(1, 2).reshape(-1))
    assert met == COPIES


def test_every_workgroup_variable_of_the_package_is_tried() -> None:
    root = Path(__file__).parents[2]
    files = [*shaders_folder().rglob("*.w[eg]sl"), *(root / "examples").rglob("*.wgsl")]
    found = {
        name for file in files for name in re.findall(r"var<workgroup>\s*(\w+)", file.read_text())
    }
    assert found == set().union(COPIES, EXAMPLES, *USES.values())


@pytest.mark.gpu
def test_who_relies_on_zeros_reads_the_rubbish() -> None:
    text = (
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n"
        "struct Pair { a: f32, b: vec2<i32> }\n"
        "var<workgroup> pairs: array<array<Pair, 3>, 2>;\n"
        "var<workgroup> count: atomic<u32>;\n"
        "@compute @workgroup_size(2)\n"
        "fn main() {\n"
        "  y[0] = bitcast<u32>(pairs[1][2].a);\n"
        "  y[1] = bitcast<u32>(pairs[0][1].b.y);\n"
        "  y[2] = atomicLoad(&count);\n"
        "}\n"
    )

    @wk.wgsl_kernel("Reliant", override=True)
    def _reliant(gpu: Gpu, x: GpuArray) -> GpuArray:
        y = gpu.empty((3,), "int32")
        gpu.dispatch(text, {"y": y}, groups=(1,))
        return y

    try:
        with wk.use_backend("webgpu"), poisoned() as met:
            y = wk.engine().run_kernel("Reliant", {"x": wk.tensor([1.0])})
            assert isinstance(y, wk.Tensor)
            assert y.numpy().view(np.uint32).tolist() == [BITS] * 3
    finally:
        wk.unregister_kernel("Reliant", "webgpu")
    assert met == {"pairs", "count"}


@pytest.mark.gpu
def test_the_examples_kernel_is_right_when_workgroup_memory_holds_rubbish() -> None:
    folder = Path(__file__).parents[2] / "examples" / "deconvolution"
    text = (folder / "deconvolution_filter_grad.wgsl").read_text()
    x = np.random.default_rng(1).normal(0, 1, (1, 3, 4, 2)).astype(np.float32)
    dy = np.random.default_rng(2).normal(0, 1, (1, 4, 5, 3)).astype(np.float32)

    @wk.wgsl_kernel("FilterGrad", override=True)
    def _filter_grad(gpu: Gpu, x: GpuArray, dy: GpuArray) -> GpuArray:
        y = gpu.empty((2, 2, 2, 3), "float32")
        gpu.dispatch(text, {"x": x, "dy": dy, "y": y}, params={"stride": 1}, groups=(24,))
        return y

    try:
        with wk.use_backend("webgpu"), poisoned() as met:
            y = wk.engine().run_kernel("FilterGrad", {"x": wk.tensor(x), "dy": wk.tensor(dy)})
            assert isinstance(y, wk.Tensor)
            found = y.numpy()
    finally:
        wk.unregister_kernel("FilterGrad", "webgpu")
    windows = np.lib.stride_tricks.sliding_window_view(dy, (3, 4), axis=(1, 2))
    expected = np.einsum("bijn,bkloij->klno", x, windows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert met == EXAMPLES


def test_text_without_workgroup_memory_stays_as_it_is() -> None:
    text = "@compute @workgroup_size(1)\nfn main() { }\n"
    assert poison(text, "main", set()) == text
