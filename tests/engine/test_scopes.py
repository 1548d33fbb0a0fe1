"""Variables, scopes and the accounting of memory."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk


def counts() -> tuple[int, int, int]:
    now = wk.memory()
    return now.num_tensors, now.num_buffers, now.num_bytes


def test_a_variable_holds_a_copy_and_can_be_assigned(backend: str) -> None:
    values = np.array([1.0, 2.0], np.float32)
    v = wk.variable(values, name="weights")
    values[0] = 9
    y = v * 2.0

    assert v.assign([5.0, 6.0]) is v
    assert (v.tolist(), y.tolist()) == ([5.0, 6.0], [2.0, 4.0])
    assert (v.name, v.trainable, v.is_variable, v.dtype) == ("weights", True, True, "float32")
    assert "Variable 'weights'" in repr(v)


def test_variables_without_a_name_are_numbered() -> None:
    first, second = wk.variable(1.0), wk.variable(1.0)

    assert first.name.startswith("variable_")
    assert first.name != second.name


def test_assign_takes_the_same_shape_and_dtype_only(backend: str) -> None:
    v = wk.variable([1.0, 2.0], name="weights")

    with pytest.raises(wk.ShapeError, match=r"weights has shape \[2\], the value \[3\]"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(wk.DTypeError, match="weights is float32, the value int32; cast it first"):
        v.assign(wk.tensor([1, 2]))
    v.assign([1, 2])
    assert v.dtype == "float32"


def test_assign_replaces_the_array_and_never_writes_into_it(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])
    v = wk.variable([0.0, 0.0])
    v.assign(x)
    v.assign(v + 1.0)
    x.dispose()

    assert v.tolist() == [2.0, 3.0]


def test_tidy_disposes_what_is_not_returned(backend: str) -> None:
    inner = []

    def f() -> wk.Tensor:
        inner.append(wk.tensor([1.0]) + 1.0)
        return inner[0] * 2.0

    y = wk.tidy(f)
    assert y.tolist() == [4.0]
    assert inner[0].is_disposed


def test_tidy_finds_results_in_any_nesting(backend: str) -> None:
    def f() -> Any:
        return {"a": [wk.tensor(1.0)], "b": (wk.tensor(2.0), None, 3)}

    found = wk.tidy(f)
    assert not found["a"][0].is_disposed
    assert not found["b"][0].is_disposed


def test_a_tidy_block_keeps_what_it_is_told_and_variables(backend: str) -> None:
    with wk.tidy():
        lost = wk.tensor(1.0)
        kept = wk.keep(lost + 1.0)
        v = wk.variable(3.0)
    assert lost.is_disposed
    assert (kept.item(), v.item()) == (2.0, 3.0)


def test_results_of_an_inner_tidy_belong_to_the_outer(backend: str) -> None:
    with wk.tidy():
        y = wk.tidy(lambda: wk.tensor(1.0))
        assert not y.is_disposed
    assert y.is_disposed


def test_tidy_disposes_also_when_the_function_raises(backend: str) -> None:
    made = []

    def f() -> None:
        made.append(wk.tensor(1.0))
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        wk.tidy(f)
    assert made[0].is_disposed


def test_dispose_goes_through_any_nesting(backend: str) -> None:
    a, b = wk.tensor(1.0), wk.tensor(2.0)
    wk.dispose({"a": [a], "b": (b, 7, "text", None)})

    assert a.is_disposed
    assert b.is_disposed


def test_memory_counts_tensors_buffers_and_bytes(backend: str) -> None:
    gc.collect()
    tensors, buffers, nbytes = counts()
    x = wk.tensor(np.zeros(1000, np.float32))
    y = x + 1.0
    y.numpy()
    assert counts() == (tensors + 2, buffers + 2, nbytes + 8000)
    usage = wk.memory().by_backend[backend]
    assert usage.num_bytes >= 8000
    x.dispose()
    del y
    assert counts() == (tensors, buffers, nbytes)


def test_tensors_that_share_an_array_count_it_once(backend: str) -> None:
    x = wk.tensor(np.zeros(1000, np.float32)) + 1.0
    x.numpy()
    tensors, buffers, nbytes = counts()
    y = wk.stop_gradient(x)
    z = wk.reshape(x, (10, 100))
    assert counts() == (tensors + 2, buffers, nbytes)
    x.dispose()
    y.dispose()
    assert counts() == (tensors, buffers, nbytes)
    assert z.numpy().sum() == 1000


def test_a_loop_frees_without_a_collection(backend: str) -> None:
    x = wk.tensor(np.ones(100, np.float32))
    gc.disable()
    try:
        wk.grad(lambda t: wk.sum(wk.exp(t) * t))(x)
        before = counts()
        for _ in range(5):
            wk.grad(lambda t: wk.sum(wk.exp(t) * t))(x)
        assert counts() == before
    finally:
        gc.enable()


@pytest.mark.gpu
def test_tasks_have_their_own_backend_and_scope() -> None:
    async def use(backend: str, other: asyncio.Event, mine: asyncio.Event) -> tuple[str, bool]:
        with wk.use_backend(backend), wk.tidy():
            mine.set()
            await other.wait()
            x = wk.tensor([1.0])
            return x.backend, x.is_disposed

    async def both() -> list[tuple[str, bool]]:
        a, b = asyncio.Event(), asyncio.Event()
        return list(await asyncio.gather(use("cpu", a, b), use("webgpu", b, a)))

    assert asyncio.run(both()) == [("cpu", False), ("webgpu", False)]
