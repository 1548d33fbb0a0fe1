"""A kernel that ends its worker each time is named, and a full worker gives pooled memory back."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask.context import thread_state
from distributed import Client, KilledWorker
from tests.dask.clusters import cluster_of

import wgsl_kernels as wk
from wgsl_kernels.dask import WorkerSetup
from wgsl_kernels.dask.crashes import KernelNote, kernels_of
from wgsl_kernels.engine.execution.plans import wrap_launches

pytestmark = [
    pytest.mark.dask,
    pytest.mark.gpu,
    pytest.mark.xdist_group("dask"),
    pytest.mark.timeout(120),
]
MEBI = 1 << 20


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """One worker with 1 GB, paused above 500 MB, that dies with its first fatal task."""
    memory = {"target": False, "spill": False, "pause": 0.5, "terminate": False}
    with cluster_of(1, memory, {"distributed.scheduler.allowed-failures": 1}) as made:
        made.register_plugin(WorkerSetup())
        yield made


def fill_pool() -> int:
    """Leave 600 MB for reuse, unless that is given back meanwhile; return what is pooled.

    In small buffers: a driver of OpenGL keeps those that were bound last.
    """
    with wk.use_backend("webgpu"):
        for _ in range(5):
            kept = [wk.ones((10 * MEBI,)) * float(n + 1) for n in range(15)]
            wk.evaluate(kept)
            wk.synchronize()
            del kept
            if pooled() > 400 * MEBI:
                break
    return pooled()


def pooled() -> int:
    found = wk.memory().by_backend.get("webgpu")
    return 0 if found is None else found.pool_bytes


def test_a_worker_that_is_full_of_pooled_memory_goes_on(client: Client) -> None:
    assert client.submit(fill_pool, pure=False).result() > 400 * MEBI
    end = time.monotonic() + 20
    run: Any = client.run
    while any(run(pooled).values()):
        assert time.monotonic() < end, "the pool is not emptied"
        time.sleep(0.2)
    assert client.submit(sum, [1, 2], pure=False).result(timeout=20) == 3


def aborts(size: int) -> Any:
    """Run two kernels, the second of which ends the process."""

    @wk.cpu_kernel("Fatal")
    def _fatal(x: Any) -> Any:
        del x
        os.abort()

    wk.signature("Fatal")(lambda x, /: x.like())
    with wk.use_backend("cpu"):
        return wk.run("Fatal", wk.exp(wk.zeros((size, 3))))


def test_a_kernel_that_ends_its_worker_is_named_with_its_shapes(client: Client) -> None:
    made = client.submit(aborts, 7, key="fatal", pure=False)
    after = client.submit(np.sum, made)
    for one in (made, after):
        with pytest.raises(KilledWorker, match="'fatal'") as caught:
            one.result()
        (note,) = caught.value.__notes__
        assert "began was Fatal(float32 [7, 3]), after" in note
        assert "Exp(float32 [7, 3])" in note


def test_a_task_that_dies_without_a_kernel_names_none(client: Client) -> None:
    client.wait_for_workers(1, timeout=30)
    with pytest.raises(KilledWorker) as caught:
        client.submit(os._exit, 3, pure=False).result()
    assert not hasattr(caught.value, "__notes__")


def test_notes_are_of_a_task_and_a_worker(tmp_path: Path) -> None:
    note = KernelNote(tmp_path / "note", "tcp://here")
    x = wk.tensor(np.ones((2, 5), np.float32), device="cpu")
    wrap_launches(note.around)
    try:
        wk.exp(x)  # in no task
        thread_state.key = "one"
        for function in (wk.exp, wk.sin, wk.cos, wk.tanh, wk.sqrt):
            function(x)
        thread_state.key = ("two", 0)
        wk.concat([x, x])
    finally:
        del thread_state.key
        wrap_launches(None)
    wk.log(x)

    assert kernels_of(note.path, "tcp://here", "one") == []
    assert kernels_of(note.path, "tcp://there", "('two', 0)") == []
    (found,) = kernels_of(note.path, "tcp://here", "('two', 0)")
    assert found == "Concat([float32 [2, 5], float32 [2, 5]])"
    note.close()
    assert kernels_of(note.path, "tcp://here", "('two', 0)") == []
