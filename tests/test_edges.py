"""Edges that no sample says: empty tensors, ranks 0 to 6, NaN and infinities, folded grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.samples.edges import classes_of, values

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.backends.webgpu.programs import building
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.testing import assert_close

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.ready import Ready

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
INF, NAN = math.inf, math.nan
GPU = pytest.mark.parametrize("backend", ["webgpu"])


def agree(f: Function, *arrays: Array, ulp: float = 16, atol: float = 0.0) -> list[Array]:
    """Compare both backends and return the values."""
    cpu, gpu = values(f, arrays, "cpu"), values(f, arrays, "webgpu")
    assert len(cpu) == len(gpu)
    for have, want in zip(gpu, cpu, strict=True):
        assert have.dtype == want.dtype
        assert_close(have, want, ulp=ulp, atol=atol)
    return cpu


EMPTY: dict[str, tuple[Function, tuple[tuple[int, ...], ...], tuple[int, ...], float]] = {
    "map": (wk.exp, ((0, 3),), (0, 3), 0),
    "broadcast": (wk.add, ((0, 3), (3,)), (0, 3), 0),
    "broadcast of one with none": (wk.multiply, ((1, 3), (0, 1)), (0, 3), 0),
    "sum of none": (lambda x: wk.sum(x, axis=0), ((0, 3),), (3,), 0),
    "sum of nothing at all": (wk.sum, ((0,),), (), 0),
    "sum along another axis": (lambda x: wk.sum(x, axis=1), ((0, 3),), (0,), 0),
    "product of none": (lambda x: wk.prod(x, axis=0), ((0, 3),), (3,), 1),
    "mean of none": (lambda x: wk.mean(x, axis=0), ((0, 2),), (2,), NAN),
    "softmax of no rows": (wk.softmax, ((0, 3),), (0, 3), 0),
    "matmul of no columns": (wk.matmul, ((2, 0), (0, 3)), (2, 3), 0),
    "matmul of no rows": (wk.matmul, ((0, 2), (2, 3)), (0, 3), 0),
    "matmul of no batches": (wk.matmul, ((0, 2, 2), (2, 2)), (0, 2, 2), 0),
    "concat with none": (lambda a, b: wk.concat([a, b]), ((0, 3), (2, 3)), (2, 3), 1),
    "transpose": (lambda x: wk.permute_dims(x, (1, 0)), ((0, 3),), (3, 0), 0),
    "reshape": (lambda x: wk.reshape(x, (3, 0)), ((0, 2),), (3, 0), 0),
    "empty slice": (lambda x: x[2:2], ((3, 2),), (0, 2), 0),
    "flip": (wk.flip, ((0, 2),), (0, 2), 0),
    "where": (lambda a, b: wk.where(a > b, a, b), ((0,), (1,)), (0,), 0),
    "cast": (lambda x: wk.astype(x, "int32"), ((0, 2),), (0, 2), 0),
    "gather of no places": (
        lambda x: wk.gather(x, np.zeros((0,), np.int32)),
        ((3, 2),),
        (0, 2),
        0,
    ),
}


@GPU
@pytest.mark.parametrize("case", EMPTY)
def test_empty_tensors_pass_through(case: str, backend: str) -> None:
    f, shapes, shape, fill = EMPTY[case]
    arrays = [np.ones(one, np.float32) for one in shapes]

    for found in (values(f, arrays, backend), values(f, arrays, "cpu")):
        assert_close(found[0].astype(np.float32), np.full(shape, fill, np.float32))


@GPU
@pytest.mark.parametrize("pool", [wk.avg_pool, wk.max_pool])
def test_the_gradient_of_a_pool_over_no_pixels_is_empty(
    pool: Callable[..., wk.Tensor], backend: str
) -> None:
    with wk.use_backend(backend):
        for shape in ((1, 3, 0, 2), (1, 0, 4, 2)):
            dx = wk.grad(lambda x: wk.sum(pool(x, 2, strides=1, pad="same")))(wk.zeros(shape))

            assert dx.shape == shape


@GPU
def test_the_gradient_of_an_empty_sum_is_empty(backend: str) -> None:
    with wk.use_backend(backend):
        dx = wk.grad(lambda x: wk.sum(wk.exp(x)))(wk.tensor(np.zeros((0, 3))))
    assert dx.shape == (0, 3)


RANKS = [(), (5,), (2, 3), (2, 1, 3), (2, 3, 1, 2), (2, 1, 2, 3, 2), (2, 1, 2, 1, 3, 2)]
UNRANKED: dict[str, Function] = {
    "map": wk.exp,
    "two of a shape": lambda x: x * x + 1.0,
    "transposed": lambda x: wk.sin(wk.permute_dims(x, tuple(reversed(range(x.ndim))))),
    "with its transpose": lambda x: wk.sum(x) + wk.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "sum of all": wk.sum,
    "sum of the first and last axes": lambda x: wk.sum(x, axis=_ends(x), keepdims=True),
    "largest by the last axis": lambda x: wk.max(x, axis=-1 if x.ndim else None),
    "as bool": lambda x: wk.astype(x, "bool"),
    "as one row": lambda x: wk.reshape(x, (-1,)) * 2.0,
    "with axes around": lambda x: (
        wk.expand_dims(wk.expand_dims(x, axis=0), axis=-1) + 1.0 if x.ndim < 5 else x
    ),
    "flipped": lambda x: wk.flip(x) - x,
    "ones": wk.ones_like,
}


def _ends(x: wk.Tensor) -> tuple[int, ...]:
    return tuple(sorted({0, x.ndim - 1})) if x.ndim else ()


@GPU
@pytest.mark.parametrize("shape", RANKS, ids=lambda shape: f"rank{len(shape)}")
@pytest.mark.parametrize("case", UNRANKED)
def test_every_rank_up_to_six_agrees(case: str, shape: tuple[int, ...], backend: str) -> None:
    x = np.random.default_rng(len(shape)).uniform(-2, 2, shape).astype(np.float32)
    assert backend == "webgpu"
    agree(UNRANKED[case], x, atol=1e-6)


@GPU
@pytest.mark.parametrize(("a", "b"), [(i, j) for i in range(7) for j in (0, 1, 3, 6)])
def test_every_pair_of_ranks_broadcasts(a: int, b: int, backend: str) -> None:
    full = (2, 3, 1, 2, 3, 2)
    left, right = full[6 - a :], tuple(1 if i % 2 else n for i, n in enumerate(full))[6 - b :]
    x = np.arange(math.prod(left), dtype=np.float32).reshape(left)
    y = np.arange(math.prod(right), dtype=np.float32).reshape(right)

    assert_close(values(wk.subtract, [x, y], backend)[0], x - y)


REDUCTIONS: dict[str, Function] = {
    "sum": wk.sum,
    "mean": wk.mean,
    "prod": wk.prod,
    "max": wk.max,
    "min": wk.min,
    "softmax": wk.softmax,
    "log_softmax": wk.log_softmax,
    "logsumexp": wk.logsumexp,
    "argmax": wk.argmax,
    "argmin": wk.argmin,
}
ROWS = [
    [1.0, NAN, 2.0],
    [INF, 1.0, 2.0],
    [-INF, 1.0, 2.0],
    [INF, -INF, 1.0],
    [-INF, -INF, -INF],
    [NAN, INF, -INF],
]


@GPU
@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_and_infinity_pass_through_reductions(name: str, backend: str) -> None:
    for row in ROWS:
        for values_of in (row, row + [1.0] * 300):
            x = np.array(values_of, np.float32)
            (cpu,) = values(REDUCTIONS[name], [x], "cpu")
            (gpu,) = values(REDUCTIONS[name], [x], backend)
            assert classes_of(gpu).tolist() == classes_of(cpu).tolist(), (name, row)


def _there(x: wk.Tensor) -> wk.Tensor:
    """Return a tensor once a device has it: views of what the host has need none."""
    driver: Any = find_driver(wk.get_backend())
    if isinstance(driver, WebGpuBackend):
        driver.make_resident(x._array)
    return x


FOLDED: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "map": (lambda x: x * 2.0, ((20011,),)),
    "strided map": (lambda x: wk.permute_dims(x, (1, 0)) * 2.0, ((113, 97),)),
    "broadcast map": (wk.add, ((113, 97), (97,))),
    "rows reduced": (lambda x: wk.sum(x, axis=1), ((1543, 3),)),
    "columns reduced": (lambda x: wk.sum(x, axis=0), ((3, 6043),)),
    "rows normalized": (lambda x: wk.softmax(x), ((1543, 3),)),
    "columns normalized": (lambda x: wk.softmax(x, axis=0), ((3, 6043),)),
    "matmul": (wk.matmul, ((3, 5), (5, 20_043))),
    "batched matmul": (wk.matmul, ((211, 2, 2), (211, 2, 2))),
    "concat": (lambda a, b: wk.concat([a, b]), ((20_011,), (19_997,))),
    "gather": (lambda x: wk.gather(x, np.arange(20_021, dtype=np.int32)[::-1]), ((20_021,),)),
    "pad": (lambda x: wk.pad(x, ((1, 1), (3, 2))), ((151, 97),)),
    "rows copied": (lambda x: wk.flip(_there(x), axis=1), ((151, 97),)),
    "turned": (lambda x: wk.permute_dims(_there(x), (1, 0)), ((997, 61),)),
    "running sums": (lambda x: wk.cumulative_sum(x, axis=1), ((1549, 5),)),
    "top k": (lambda x: wk.topk(x, 2)[0], ((2003, 5),)),
    "pooled": (lambda x: wk.max_pool(x, 2), ((3, 40, 40, 6),)),
    "cast": (lambda x: wk.astype(x, "int32"), ((20023,),)),
    "fill": (lambda: wk.full((20029,), 3.0), ()),
    "range": (lambda: wk.arange(0, 20047), ()),
    "one hot": (lambda: wk.one_hot(np.arange(1549, dtype=np.int32), 7), ()),
    "softmax": (wk.softmax, ((1549, 3),)),
    "argmax": (lambda x: wk.argmax(x, axis=1), ((1559, 3),)),
    "random": (lambda: wk.random_uniform((20051,)), ()),
    "read after": (lambda x: wk.reshape(wk.flip(x), (103, 97)) + 0.5, ((9991,),)),
}


@GPU
@pytest.mark.parametrize("case", FOLDED)
def test_grids_past_the_limit_fold(
    case: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, shapes = FOLDED[case]
    arrays = [
        np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32) for shape in shapes
    ]
    grids = []
    run = Device.run

    def note(device: Device, ready: Ready, storages: Any) -> None:
        grids.append(ready.groups)
        run(device, ready, storages)

    monkeypatch.setattr(building.fold, "__defaults__", (7,))
    monkeypatch.setattr(Device, "run", note)
    wk.random.seed(3)
    found = values(f, arrays, backend)
    wk.random.seed(3)
    expected = values(f, arrays, "cpu")

    assert [grid for grid in grids if grid[0] <= 7 < grid[0] * grid[1]], grids
    for have, want in zip(found, expected, strict=True):
        assert_close(have, want, ulp=16, atol=1e-5)


@GPU
def test_a_view_of_a_small_buffer_follows_one_of_a_large(backend: str) -> None:
    large, small = np.arange(40, dtype=np.float32), np.arange(8, dtype=np.float32)

    for x in (large, small):
        # Both views have shape [2, 2], strides [1, 2] and offset 1, in buffers of other sizes.
        assert_close(
            values(
                lambda x: wk.permute_dims(wk.reshape(x[1:5], (2, 2)), (1, 0)) * 2.0, [x], backend
            )[0],
            np.array([[2.0, 6.0], [4.0, 8.0]], np.float32),
        )
