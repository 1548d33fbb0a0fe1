"""The variants that kernels declare: samples allow each, and kernels alike have the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.samples.variants import SAMPLES, VARIED

from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.products.tilings import LANES
from wgsl_kernels.backends.webgpu.tuning.tuner import watching
from wgsl_kernels.bench.comparison.checks import check_forward
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.gpu

ALIKE = {
    "Conv3D": "Conv2D",
    "Conv3DBackpropFilterV2": "Conv2DBackpropFilter",
    "Conv3DBackpropInputV2": "Conv2DBackpropInput",
    "Einsum": "BatchMatMul",
}
"""Kernels that run the products of another, whose samples are large enough for every variant."""


@pytest.mark.parametrize("kernel", [one for one in VARIED if one not in ALIKE])
def test_samples_allow_every_variant_that_is_declared(kernel: str) -> None:
    with watching() as seen:
        for sample in SAMPLES:
            if sample.kernel == kernel:
                check_forward(sample, "webgpu")
    backend: Any = find_driver("webgpu")
    lanes = () if backend.open().policy.shares_lanes else LANES
    assert seen[kernel] >= set(VARIED[kernel]) - set(lanes)


def test_a_size_class_holds_the_sizes_up_to_a_power_of_two() -> None:
    assert [size_class(n) for n in (0, 1, 2, 3, 4, 5, 512, 513)] == [0, 0, 1, 2, 2, 3, 9, 10]


def test_kernels_alike_have_the_variants_of_the_other() -> None:
    assert {kernel: VARIED[kernel] for kernel in ALIKE} == {
        kernel: VARIED[other] for kernel, other in ALIKE.items()
    }
