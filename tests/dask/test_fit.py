"""Programs and training on workers: the same bits for any number of them, also where some go."""

import functools
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.dask import programs
from tests.dask.clusters import cluster_of
from tests.dask.programs import MICRO_BATCHES, STEPS

import wgsl_kernels as wk
from wgsl_kernels.dask import FitResult, PeerLost, WorkerSetup, fit, run_on_workers
from wgsl_kernels.dask.answers import workers_of
from wgsl_kernels.dask.turns import turn_of
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

pytestmark = [
    pytest.mark.dask,
    pytest.mark.xdist_group("dask"),
    pytest.mark.timeout(120),
]


def processes(client: Client) -> list[int]:
    """Return the processes of the workers."""
    found: Any = client.run(os.getpid)
    return list(found.values())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster_of(3) as made:
        made.register_plugin(WorkerSetup(backend="cpu"))
        yield made
        for one in processes(made):  # one that was stopped ends with the rest
            os.kill(one, signal.SIGCONT)


def trained(client: Client | None, **options: Any) -> FitResult:
    given: dict[str, Any] = {"make": programs.make, "batches": programs.batches, "steps": STEPS}
    given |= {"micro_batches": MICRO_BATCHES, "check_every": 4, **options}
    return fit(client, **given)


@pytest.fixture(scope="module")
def alone() -> FitResult:
    """What training in this process gives."""
    with wk.use_backend("cpu"):
        return trained(None)


def test_training_here_leaves_the_random_numbers_of_the_process() -> None:
    wk.random.seed(5)
    key = wk.random.key
    before = key.numpy()
    with wk.use_backend("cpu"):
        trained(None, steps=2)

    assert wk.random.key is key
    np.testing.assert_array_equal(key.numpy(), before)


def test_workers_talk(client: Client) -> None:
    found = run_on_workers(client, programs.talk, 10)

    assert [one[:2] for one in found] == [(6.0, 2.0)] * 3
    assert found[0][2] == {1: 2.0, 2: 3.0}
    with pytest.raises(ArgumentError, match="asked for workers 7"):
        run_on_workers(client, programs.talk, 10, workers=7)


@pytest.mark.parametrize("size", [1, 2])
def test_any_number_of_workers_gives_the_same_bits(size: int, alone: FitResult) -> None:
    with cluster_of(size) as client:
        client.register_plugin(WorkerSetup(backend="cpu"))
        found = trained(client)

    assert found.digest == alone.digest
    assert found.losses == alone.losses
    np.testing.assert_array_equal(found.model["w"].numpy(), alone.model["w"].numpy())
    assert len(found.adapters) == size


def test_processes_give_them_too_and_loss_falls(client: Client, alone: FitResult) -> None:
    found = trained(client)

    assert found.digest == alone.digest
    assert len(found.losses) == STEPS
    assert np.mean(found.losses[-4:]) < np.mean(found.losses[:4])


def test_half_precision_sums_do_not_depend_on_workers_either(client: Client) -> None:
    with wk.use_backend("cpu"):
        here = trained(None, gradient_dtype="float16")
    there = trained(client, gradient_dtype="float16")

    assert here.digest == there.digest
    assert here.digest != trained(client).digest


def test_it_is_resumed_by_another_number_of_workers(
    client: Client, alone: FitResult, tmp_path: Path
) -> None:
    path = tmp_path / "state.safetensors"
    with wk.use_backend("cpu"):
        trained(None, steps=6, save_to=path)
    found = trained(client, resume=path, save_to=path)

    assert found.digest == alone.digest
    assert found.losses == alone.losses[6:]
    assert trained(None, resume=path).losses == []


def test_a_killed_worker_changes_no_bit(client: Client, alone: FitResult, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    ending = functools.partial(programs.batches_that_end, number=int(signal.SIGKILL), marker=marker)
    found = trained(client, batches=ending)

    assert Path(marker).exists()
    assert found.digest == alone.digest


def test_a_program_whose_worker_goes_says_so(client: Client) -> None:
    client.wait_for_workers(3, timeout=30)
    with pytest.raises(PeerLost, match=r"The worker at tcp://.* is gone"):
        run_on_workers(client, programs.die)
    client.wait_for_workers(3, timeout=30)


def test_copies_that_differ_are_told_with_the_parameter(client: Client) -> None:
    client.wait_for_workers(3, timeout=30)
    with pytest.raises(WgslKernelsError, match=r"the copies differ: model/b at tcp://"):
        trained(client, make=programs.make_that_differs)


def test_workers_of_one_process_are_refused() -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        pytest.raises(ArgumentError, match="start the cluster with processes=True"),
    ):
        trained(client)


def test_wrong_calls_are_answered(client: Client) -> None:
    client.wait_for_workers(3, timeout=30)
    with pytest.raises(ArgumentError, match="micro_batches is 0"):
        trained(client, micro_batches=0)
    with pytest.raises(ArgumentError, match=r"batches\(0\) gave 6; want micro_batches=7"):
        trained(None, micro_batches=7)
    with pytest.raises(ArgumentError, match="3 workers for micro_batches=2"):
        trained(client, micro_batches=2)
    with pytest.raises(ArgumentError, match=r"make\(\) returned no"):
        trained(None, make=dict)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"make": 3}, "make is 3; want a function"),
        ({"batches": [1]}, r"batches is \[1\]; want a function"),
        ({"steps": 2.5}, "steps is 2.5; want at least 0"),
        ({"step_timeout": 0}, "step_timeout is 0; want seconds above 0"),
        ({"save_to": "/no/such/folder/file"}, "there is no such folder"),
    ]
    for given, said in wrong:
        with pytest.raises(ArgumentError, match=said):
            trained(None, **given)


def test_wrong_calls_of_programs_are_answered(client: Client) -> None:
    client.wait_for_workers(3, timeout=30)
    address = next(iter(workers_of(client)))
    with pytest.raises(ArgumentError, match=r"got rank -1; want 0 to 2"):
        run_on_workers(client, programs.no_such_rank)
    with pytest.raises(ArgumentError, match="want one shape and dtype on all workers"):
        run_on_workers(client, programs.several_shapes)
    with pytest.raises(ArgumentError, match="want a number, a list of addresses"):
        run_on_workers(client, programs.talk, 10, workers=address)
    with pytest.raises(ArgumentError, match="an address twice"):
        run_on_workers(client, programs.talk, 10, workers=[address, address])
    with pytest.raises(ArgumentError, match="asked for workers -1"):
        run_on_workers(client, programs.talk, 10, workers=-1)
    with pytest.raises(ArgumentError, match=r"adapters has \[\]; want a name"):
        WorkerSetup(adapters=[])
    with pytest.raises(ArgumentError, match=r"modules is 'mine'; want a list"):
        WorkerSetup(modules="mine")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (programs.ends_early, "all_reduce: the worker at tcp://.* has ended after 1 call, and"),
        (programs.ends_at_once, "all_reduce: the worker at tcp://.* has ended after 0 calls, and"),
        (
            programs.other_calls,
            "(is in its call 1, .*|ended after 1 call), and this one, in call 1",
        ),
    ],
)
def test_programs_that_differ_are_told_soon(client: Client, program: Any, said: str) -> None:
    client.wait_for_workers(3, timeout=30)
    begin = time.monotonic()
    with pytest.raises(ArgumentError, match=said):
        run_on_workers(client, program)
    assert time.monotonic() - begin < 20


@pytest.fixture
def other(client: Client) -> Iterator[Client]:
    """Another client of the same workers."""
    client.wait_for_workers(3, timeout=30)
    scheduler: Any = client.scheduler
    with Client(scheduler.address) as made:
        yield made


def test_two_trainings_share_the_workers(client: Client, other: Client, alone: FitResult) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(trained, (client, other)))
    assert [one.digest for one in found] == [alone.digest] * 2


def test_programs_on_the_same_workers_run_one_after_the_other(
    client: Client, other: Client
) -> None:
    addresses = sorted(workers_of(client))

    def run(of: Client, wanted: list[str]) -> list[Any]:
        return [run_on_workers(of, programs.talk, 10, workers=wanted, timeout=20) for _ in range(8)]

    with ThreadPoolExecutor(2) as threads:
        ways = threads.map(run, (client, other), (addresses, addresses[::-1]))
    assert [one[0] for found in ways for ranks in found for one in ranks] == [6.0] * 48


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Have Ctrl-C interrupt, also where a shell started all in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_who_waits_for_a_turn_can_be_interrupted(
    client: Client, other: Client, ctrl_c_interrupts: None
) -> None:
    addresses = sorted(workers_of(client))
    main = threading.main_thread().ident
    assert main is not None
    with turn_of(other, addresses[1:]):
        ctrl_c = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
        ctrl_c.start()
        with pytest.raises(KeyboardInterrupt):
            run_on_workers(client, programs.talk, 10)
        ctrl_c.join()
    begin = time.monotonic()
    for _ in range(2):
        assert len(run_on_workers(other, programs.talk, 10)) == 3
    assert time.monotonic() - begin < 20  # and not until Dask takes back what nobody gives


def test_a_restart_in_the_middle_changes_no_bit(client: Client, alone: FitResult) -> None:
    client.wait_for_workers(3, timeout=30)
    timer = threading.Timer(0.5, client.restart)
    timer.start()
    found = trained(client, batches=programs.slow_batches)
    timer.join()
    assert found.digest == alone.digest


def test_a_loss_without_one_of_the_variables_names_it() -> None:
    def make() -> Any:
        model = {"w": wk.variable([1.0], name="used"), "v": wk.variable([1.0], name="unused")}
        return model, wk.train.Adam(), lambda _: wk.sum(model["w"])

    with pytest.raises(ArgumentError, match="does not depend on the variable unused, of shape"):
        trained(None, make=make)


@pytest.mark.parametrize("kind", [KeyError, OSError])
def test_errors_of_batches_end_training_whatever_their_class(client: Client, kind: Any) -> None:
    client.wait_for_workers(3, timeout=30)
    with pytest.raises(kind, match="no such digits"):
        trained(client, batches=functools.partial(programs.batches_that_fail, kind=kind))


@pytest.mark.parametrize("where", ["others wait for it", "nobody waits for it"])
def test_a_stopped_worker_is_done_without(
    client: Client, alone: FitResult, tmp_path: Path, where: str
) -> None:
    marker = str(tmp_path / "stopped")
    client.wait_for_workers(3, timeout=30)
    stopped = processes(client)
    ending: dict[str, Any] = {"make": functools.partial(programs.make_that_stops, marker)}
    if where == "others wait for it":
        stop = int(signal.SIGSTOP)
        ending = {
            "batches": functools.partial(programs.batches_that_end, number=stop, marker=marker)
        }
    try:
        found = trained(client, step_timeout=3.0, **ending)
    finally:
        for one in stopped:
            os.kill(one, signal.SIGCONT)

    assert Path(marker).exists()
    assert found.digest == alone.digest
    assert len(found.adapters) == 2


def test_workers_that_die_each_time_end_training_in_words(client: Client) -> None:
    client.wait_for_workers(3, timeout=30)
    with pytest.raises(WgslKernelsError, match=r"workers died 3 times; look whether make\(\)"):
        trained(client, make=functools.partial(programs.make_that_dies, os.getpid()))
