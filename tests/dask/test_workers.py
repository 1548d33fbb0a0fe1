"""Workers are set up before their first kernel, and one whose device is lost is a lost worker."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client, wait
from tests.dask import programs
from tests.dask.clusters import cluster_of

import wgsl_kernels as wk
from wgsl_kernels.dask import WorkerSetup
from wgsl_kernels.dask.answers import workers_of
from wgsl_kernels.dask.workers import compared, facts

pytestmark = [
    pytest.mark.dask,
    pytest.mark.gpu,
    pytest.mark.xdist_group("dask"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def client() -> Iterator[Client]:
    with cluster_of(2) as made:
        yield made


def test_a_lost_device_is_a_lost_worker(client: Client) -> None:
    client.register_plugin(WorkerSetup())
    chunks = client.map(programs.chunk, range(6), pure=False)
    wait(chunks)
    first = client.gather(client.map(programs.total, chunks, pure=False))
    victim = sorted(workers_of(client))[0]
    client.submit(programs.lose_device, workers=[victim], pure=False).result()
    again = client.gather(client.map(programs.total, chunks, pure=False, retries=3))

    assert first == again == [4096.0 * (number + 1) for number in range(6)]
    assert victim not in workers_of(client)


def test_modules_register_kernels_on_workers(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels_of_mine.py").write_text(
        textwrap.dedent("""
            import wgsl_kernels as wk

            wk.wgsl_kernel("Mine", "fn op(x: f32) -> f32 {\\n  return 3.0 * x;\\n}\\n")
            wk.signature("Mine")(lambda x, /: x.like())
        """)
    )
    client.register_plugin(WorkerSetup())
    client.run(programs.add_folder, str(tmp_path))
    with pytest.raises(wk.KernelNotFound, match=r"WorkerSetup\(modules="):
        client.submit(mine, pure=False).result()
    client.register_plugin(WorkerSetup(modules=["kernels_of_mine"]))

    assert client.submit(mine, pure=False).result() == [3.0, 6.0]


def mine() -> object:
    return wk.run("Mine", wk.tensor([1.0, 2.0])).tolist()


def test_facts_of_workers_are_held_against_each_other(client: Client) -> None:
    client.register_plugin(WorkerSetup())
    addresses = sorted(workers_of(client))
    client.run(wk.set_backend, "cpu", workers=addresses[1:])

    with pytest.raises(wk.ArgumentError, match="workers differ: backend is webgpu at"):
        compared(client, addresses)
    client.run(wk.set_backend, "webgpu", workers=addresses[1:])
    assert compared(client, addresses) == [client.submit(facts).result()["adapter"]] * 2


def test_an_adapter_is_chosen_before_there_is_a_device(client: Client) -> None:
    client.register_plugin(WorkerSetup(adapters=["0"]))
    client.submit(programs.total, programs.chunk(1), pure=False).result()

    with pytest.raises(wk.ArgumentError, match=r"Call client.restart\(\)"):
        client.register_plugin(WorkerSetup(adapters=["1", "1"]))
