"""Chunks on workers: what they cost is seen, spilled, sent and drawn as Dask expects it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import dask.array
import dask.config
import numpy as np
import pytest
from distributed import Client, wait
from tests.dask.clusters import cluster_of
from tests.dask.test_chunks import drawn

import wgsl_kernels as wk
from wgsl_kernels.dask.answers import workers_of
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

da: Any = dask.array
pytestmark = [
    pytest.mark.dask,
    pytest.mark.gpu,
    pytest.mark.xdist_group("dask"),
    pytest.mark.timeout(120),
]
MEBI = 1 << 20


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers that hold 100 MB of results each in memory, and the rest on disk."""
    memory = {"target": 0.1, "spill": False, "pause": False, "terminate": False}
    with cluster_of(2, memory) as made:
        yield made


def test_entry_points_are_found_and_import_nothing_before() -> None:
    program = """
        import sys
        import dask.array as da
        import numpy as np
        from dask.sizeof import sizeof

        assert "wgsl_kernels" not in sys.modules
        x = da.from_array(np.ones((8, 8), np.float32), chunks=4).to_backend("webgpu")
        total = (x @ x.T).sum(0).compute()
        assert total.device == "webgpu" and total.tolist() == [64.0] * 8
        assert sizeof(total) == 32
        assert x.to_backend("numpy").compute().tolist() == np.ones((8, 8)).tolist()
        import wgsl_kernels

        assert sizeof(wgsl_kernels.variable(np.ones(6, np.float32))) == 24
    """
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(program)], check=True)


def test_the_library_imports_nothing_of_dask() -> None:
    program = "import sys, wgsl_kernels; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_draws_are_the_same_on_any_number_of_workers(client: Any) -> None:
    here = drawn("webgpu", scheduler="synchronous")
    on_two = drawn("webgpu", scheduler=client)
    for one, other in zip(here, on_two, strict=True):
        np.testing.assert_array_equal(one, other)


def held(dask_worker: Any) -> tuple[int, int, int]:
    """Return how many results are in memory and on disk, and the bytes of device buffers."""
    data = dask_worker.data
    return len(data.memory), len(data.disk), find_driver("webgpu").memory().num_bytes


def test_what_is_spilled_leaves_the_device_and_comes_back(client: Any) -> None:
    with dask.config.set({"array.backend": "webgpu"}):
        rows = da.arange(8, chunks=1, dtype="float32")[:, None]
        x = (rows * da.ones((8, 8 * MEBI), chunks=(1, -1))).persist()  # eight of 32 MiB
    wait(x)
    for in_memory, on_disk, device_bytes in client.run(held).values():
        assert in_memory <= 3
        assert on_disk >= 1
        assert device_bytes <= (in_memory + 1) * 32 * MEBI
    read = x[:, :: 8 * MEBI - 1].compute()
    np.testing.assert_array_equal(read, np.repeat(np.arange(8)[:, None], 2, axis=1))


def products(size: int) -> Any:
    """Return a tensor that is no more than recorded: its products run when somebody asks."""
    with wk.use_backend("webgpu"):
        x = wk.ones((size, size)) / size
        for _ in range(6):
            x = x @ x
        return x


def past_the_end(count: int) -> Any:
    """Return elements at places that only the device knows to be none."""
    with wk.use_backend("webgpu"):
        places = wk.exp(wk.zeros(count)) * 77.0
        return {"chosen": wk.ones(5)[places.astype("int32")] * 2.0}


def test_what_fails_on_the_device_fails_its_task(client: Any) -> None:
    for address in workers_of(client):  # a worker's first tensor has it ask us
        client.submit(products, 8, workers=[address], pure=False).result()
    made = client.submit(past_the_end, 1000)
    with pytest.raises(wk.IndexOutOfRange, match="indices holds 77, which is out of range"):
        made.result()
    assert made.status == "error"


async def watch_loop(dask_worker: Any) -> None:
    """Begin to note the longest time in which the event loop of a worker did nothing else."""

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        while dask_worker.is_watched:
            before = loop.time()
            await asyncio.sleep(0.005)
            dask_worker.longest = max(dask_worker.longest, loop.time() - before - 0.005)

    dask_worker.longest, dask_worker.is_watched = 0.0, True
    dask_worker.watching = asyncio.create_task(watch())


async def longest_stall(dask_worker: Any) -> float:
    """Return that time in seconds, and note it no longer."""
    dask_worker.is_watched = False
    await dask_worker.watching
    return float(dask_worker.longest)


def stall_of(client: Any, key: str) -> float:
    """Return how long the event loop of a worker stalls while another one fetches its result."""
    first, second = workers_of(client)
    client.run(watch_loop, workers=[first])
    made = client.submit(products, 448, key=key, workers=[first])
    client.submit(lambda x: float(x[0, 0]), made, key=f"{key}-read", workers=[second]).result()
    return float(client.run(longest_stall, workers=[first])[first])


def use_plain_sizes() -> None:
    from dask.sizeof import sizeof

    sizeof.register(wk.Tensor, lambda tensor: tensor.nbytes)


def use_our_sizes() -> None:
    from dask.sizeof import sizeof

    from wgsl_kernels.dask.sizes import register_tensors

    register_tensors(sizeof)


def test_a_task_does_its_work_itself_and_not_the_event_loop(client: Any) -> None:
    stall_of(client, "warm")
    ours = min(stall_of(client, f"ours-{number}") for number in range(2))
    client.run(use_plain_sizes)
    try:
        plain = stall_of(client, "plain")
    finally:
        client.run(use_our_sizes)
    assert plain > 10 * ours, f"plain {plain:.3f} s, ours {ours:.3f} s"
