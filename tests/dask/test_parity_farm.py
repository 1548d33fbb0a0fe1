"""Certificates from the workers of a cluster: merged, verified, and where a worker dies."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Client, WorkerPlugin
from tests.dask import programs
from tests.dask.clusters import cluster_of
from tests.testing.commands import run

import wgsl_kernels as wk
from wgsl_kernels.bench.parity.certify import certify
from wgsl_kernels.bench.parity.differences import differences
from wgsl_kernels.dask import WorkerSetup
from wgsl_kernels.dask.answers import workers_of
from wgsl_kernels.dask.farm import parity
from wgsl_kernels.testing import Sample, add_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.dask,
    pytest.mark.gpu,
    pytest.mark.timeout(60),
    pytest.mark.xdist_group("dask"),
]

THREE = ("Exp", "Relu", "Softmax")
OF_WORKERS = """
import wgsl_kernels as wk
from wgsl_kernels.testing import Sample, add_samples

wk.signature("OfWorkers")(lambda x, /: x.like())
wk.wgsl_kernel("OfWorkers", "fn op(x: f32) -> f32 { return 3.0 * x; }", cpu="derive")
add_samples("OfWorkers", Sample("OfWorkers", lambda x: wk.run("OfWorkers", x), ((2, 3),)))
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster_of(2) as made:
        yield made


def test_workers_of_one_kind_share_a_record_which_is_that_of_this_process(client: Client) -> None:
    report = parity(client, THREE)

    (record,) = report.records
    assert report.passed
    assert {one.kernel for one in record.certificates} == set(THREE)
    assert differences(record, certify(THREE)) == []


def test_a_kernel_of_a_module_that_the_workers_have_is_certified(
    client: Client, tmp_path: Path
) -> None:
    (tmp_path / "kernels_of_workers.py").write_text(OF_WORKERS)
    client.run(programs.add_folder, str(tmp_path))
    with pytest.raises(
        wk.KernelNotFound, match=r"'OfWorkers' has no samples.*WorkerSetup\(modules="
    ):
        parity(client, ["OfWorkers"])
    client.register_plugin(WorkerSetup(modules=["kernels_of_workers"]))

    report = parity(client, ["OfWorkers"])

    assert report.passed
    assert {one.kernel for record in report.records for one in record.certificates} == {"OfWorkers"}


def test_the_command_runs_on_a_cluster_and_verifies_there(client: Client, tmp_path: Path) -> None:
    file, page = tmp_path / "farm.json", tmp_path / "page.md"
    address = client.scheduler_info()["address"]
    asked = [word for one in THREE for word in ("--only", one)]

    made = run("parity", "--cluster", address, *asked, "--out", file)
    merged = run("parity", "--merge", file, file, "--out", page)
    same = run("parity", "--verify", file, "--cluster", address)
    file.write_text(file.read_text().replace('"used": 0.04', '"used": 0.05'))
    tampered = run("parity", "--verify", file, "--cluster", address)

    assert (made.exit_code, merged.exit_code, same.exit_code) == (0, 0, 0), made.output
    assert [page.read_text().count(f"\n| {one} |") for one in THREE] == [1, 1, 1]
    assert tampered.exit_code == 1
    assert "DIFFERS first in Softmax" in tampered.output


def test_a_kernel_that_ends_its_worker_twice_has_a_row_and_the_others_run(client: Client) -> None:
    def end_process(x: wk.Tensor) -> wk.Tensor:
        del x
        os._exit(1)

    class Ends(WorkerPlugin):
        """Have the sample of Relu end the process, of new workers, too."""

        name = "ends"

        def setup(self, worker: Any) -> None:
            if worker.name == 1:
                add_samples("Relu", Sample("Relu", end_process, ((2, 3),)))

    client.register_plugin(Ends())

    report = parity(client, THREE)

    (record,) = report.records
    failed = [one for one in record.certificates if not one.passed]
    assert [(one.kernel, one.failures) for one in failed] == [("Relu", ("the worker died",))]
    assert differences(record, certify(THREE))[0].key == ("Relu", "any", "any")
    assert not report.passed


def test_a_cluster_without_workers_is_refused(client: Client) -> None:
    cluster: Any = client.cluster
    cluster.scale(0)
    while workers_of(client):
        time.sleep(0.05)

    with pytest.raises(wk.ArgumentError, match=r"the cluster has no workers; want at least one\."):
        parity(client, THREE)
