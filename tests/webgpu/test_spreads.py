"""How reductions are spread: the choice on CPUs and on GPUs, and that both give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
from wgsl_kernels.backends.webgpu.adapter.policy import GPU, SOFTWARE, policy_of
from wgsl_kernels.backends.webgpu.lowering.spreads import CHUNK, ReductionSizes, Spread, spreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy

SHAPES: list[tuple[tuple[int, ...], Any]] = [
    ((40_001,), None),
    ((3, 5000), 1),
    ((5000, 8), 0),
    ((5000, 7), 0),
    ((5000, 3), 0),
    ((2, 700, 12), 1),
    ((2000, 20), 1),
    ((4, 300, 5), (0, 2)),
    ((70, 1024), 0),
    ((5000, 1032), 0),
    ((2, 300, 2048), 1),
]


@pytest.fixture(params=[True, False], ids=["cpu", "gpu"])
def _adapter(
    request: pytest.FixtureRequest, follow_rules: Callable[[bool], None]
) -> Iterator[None]:
    """Take the adapter for a CPU, or for a GPU."""
    follow_rules(request.param)
    with wk.use_backend("webgpu"):
        yield


@pytest.mark.gpu
@pytest.mark.usefixtures("_adapter")
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_reductions_are_right_however_they_are_spread(shape: tuple[int, ...], axis: Any) -> None:
    x = np.random.default_rng(1).normal(1, 2, shape).astype(np.float32)
    t = wk.tensor(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(wk.sum(t, axis=axis).numpy(), wide.sum(axis), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(wk.max(t, axis=axis).numpy(), x.max(axis))
    np.testing.assert_allclose(wk.var(t, axis=axis).numpy(), wide.var(axis), rtol=1e-5)
    np.testing.assert_array_equal(wk.any(t > 6.0, axis=axis).numpy(), (x > 6).any(axis))
    if not isinstance(axis, tuple):
        np.testing.assert_array_equal(wk.argmin(t, axis=axis).numpy(), x.argmin(axis))


@pytest.mark.gpu
@pytest.mark.usefixtures("_adapter")
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(("shape", "axis"), [row for row in SHAPES if isinstance(row[1], int)])
def test_normalizations_are_right_however_they_are_spread(
    shape: tuple[int, ...], axis: int
) -> None:
    x = np.random.default_rng(1).normal(1, 2, shape).astype(np.float32)
    scaled = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    expected = scaled / scaled.sum(axis, keepdims=True)
    np.testing.assert_allclose(wk.softmax(x, axis=axis).numpy(), expected, rtol=2e-5, atol=1e-9)
    found = wk.log_softmax(x, axis=axis).numpy()
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.usefixtures("_adapter")
def test_the_same_input_gives_the_same_bits() -> None:
    x = wk.tensor(np.random.default_rng(1).normal(0, 1, (300, 400)))
    kernels: list[Callable[[], wk.Tensor]] = [
        lambda: wk.sum(x),
        lambda: wk.sum(x, axis=0),
        lambda: wk.softmax(x, axis=0),
    ]
    for f in kernels:
        runs = [f().numpy().tobytes() for _ in range(3)]
        assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("policy", [SOFTWARE, GPU], ids=["software", "gpu"])
@pytest.mark.parametrize("maps", [True, False])
@pytest.mark.parametrize("count", [1, 5, 64, 5000, 3_000_000])
@pytest.mark.parametrize(("rows", "inner"), [(1, 1), (3, 1), (64, 64), (70_000, 1), (8192, 1024)])
def test_no_part_is_longer_than_an_invocation_may_reduce(
    policy: Policy, maps: bool, count: int, rows: int, inner: int
) -> None:
    layout = ReductionSizes(rows, count, inner, inner, policy, maps, has_subgroups=True)
    found = spreads(layout)
    assert {one.variant for one in found} >= {"rows", "lanes", "subgroups"}
    assert ("columns" in {one.variant for one in found}) == (inner >= 4)
    for one in found:
        assert 1 <= one.parts <= max(CHUNK, count)
        assert -(-count // one.parts) <= CHUNK


def test_a_row_is_a_workgroups_or_a_few_lanes_on_a_gpu_and_an_invocations_on_a_cpu() -> None:
    on_gpu, on_cpu = (ReductionSizes(2048, 2048, 1, 1, policy) for policy in (GPU, SOFTWARE))
    assert spreads(on_gpu)[0] == Spread("lanes", 1)
    assert spreads(on_cpu)[0] == Spread("rows", 1)
    many = ReductionSizes(1 << 16, 256, 1, 1, GPU, has_subgroups=True)
    assert spreads(many)[0] == Spread("subgroups", 1)
    columns = ReductionSizes(2048, 2048, 2048, 2048, SOFTWARE)
    assert spreads(columns)[0] == Spread("eights", 1)


def test_where_pages_are_small_few_of_many_are_touched_in_turn() -> None:
    driver = "Mesa 22.3.6 (LLVM 15.0.6)"
    old = AdapterInfo(0, "llvmpipe", "", driver, "Vulkan", "CPU", {}, frozenset(), True)
    large, small = (ReductionSizes(2048, rows, 2048, 2048, policy_of(old)) for rows in (2048, 256))
    assert spreads(large)[0] == Spread("eights", 64)
    assert spreads(small)[0] == Spread("eights", 1)
