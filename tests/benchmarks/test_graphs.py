"""Models of ONNX: what they compute, who runs them, and what is made of the results."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import conductor, table, targets
from benchmarks.graphs import files
from benchmarks.items import GRAPHS, ITEMS
from benchmarks.items.graphs import LIGHT, PEERS
from benchmarks.items.item import Array, Item
from benchmarks.peers import driver, setup
from benchmarks.peers.driver import UnavailableError, driver_for
from benchmarks.peers.onnxruntime_peer import OnnxRuntimePeer
from benchmarks.peers.our_peer import OurPeer
from benchmarks.peers.peer import Peer
from benchmarks.peers.process import PeerError
from benchmarks.peers.worker import PEERS as ALL_PEERS
from benchmarks.starts import Starts
from tests.benchmarks.made_up import results
from tests.benchmarks.test_conductor import Sham

import wgsl_kernels as wk

SMALL = [item for name, item in GRAPHS.items() if name.removeprefix("onnx-") not in LIGHT]
CLOSE = 1e-5


@pytest.fixture(scope="module", autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "FOLDER", tmp_path_factory.mktemp("graphs"))
        yield


def results_of(peer: Peer, item: Item) -> list[Array]:
    """Return what a peer gives at the tests' size."""
    (running,) = peer.start(item, item.work(tiny=True)).values()
    return running.fetch(running.call())


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("item", SMALL, ids=lambda item: item.name)
def test_a_graph_gives_what_onnx_runtime_gives(item: Item, backend: str) -> None:
    with wk.use_backend(backend):
        found = results_of(OurPeer(backend), item)

    assert conductor.check(found, results_of(OnnxRuntimePeer("cpu"), item)) <= CLOSE


@pytest.mark.parametrize("name", ["shufflenet", "squeezenet"])
def test_a_light_model_has_many_logits_and_they_are_onnx_runtimes(name: str) -> None:
    item = GRAPHS[f"onnx-{name}"]
    with wk.use_backend("cpu"):
        (found,) = results_of(OurPeer("cpu"), item)

    (wanted,) = results_of(OnnxRuntimePeer("cpu"), item)
    assert len(np.unique(wanted)) > wanted.size // 2  # as shipped it would be one
    assert conductor.check([found], [wanted]) <= CLOSE


def test_a_model_is_written_once_and_again_when_its_maker_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = GRAPHS["onnx-add"].work(tiny=True)
    path = work.program()
    written = path.stat().st_mtime_ns

    assert GRAPHS["onnx-add"].work(tiny=True).program() == path
    assert path.stat().st_mtime_ns == written
    (tmp_path / "graphs.py").write_text("")
    monkeypatch.setattr(files, "__file__", str(tmp_path / "files.py"))
    renewed = work.program()
    assert renewed != path
    assert renewed.is_file()
    assert not path.exists()


def test_only_the_peers_of_an_item_take_part_and_slow_ones_as_often_as_it_asks() -> None:
    slow = [2e3] * 12
    peers = [Sham(name, 1.0, *slow) for name in ("ort-cpu", "numpy", "ours")]

    found = conductor.measure(GRAPHS["onnx-add"], peers, 0.0)

    assert list(found) == ["ort-cpu", "ours"]
    assert not peers[1].turns
    assert found["ours"]["samples"] == GRAPHS["onnx-add"].rounds == 5
    assert found["ours"]["off"] == 0.0
    assert {name for item in ITEMS.values() for name in item.peers}.isdisjoint({"ort", "ort-cpu"})
    assert set(PEERS) <= set(ALL_PEERS)


class Starting(Sham):
    """A peer whose processes take as long as it is told."""

    def first_output(self, item: Item, caches: Path, variables: Any, seconds: float) -> float:
        """Return the next sample; `time` has none here."""
        self.turns.append(caches.name)
        return self.time(1, variables["PYTHONPYCACHEPREFIX"], seconds)["ms"]


def test_new_processes_take_turns_after_one_that_writes_bytecode(tmp_path: Path) -> None:
    ours, ort = (
        Starting("ours", 1.0, 9.0, 3.0, 1.0, 4.0, 2.0),
        Starting("ort", 1.0, PeerError("no")),
    )
    ort._samples += [2.0, 0.5, 5.0, 2.5]
    starts = Starts(tmp_path)
    found: dict[str, dict[str, Any]] = {"ours": {"ms": 1.0}, "ort": {"ms": 1.0}}

    starts.measure(GRAPHS["onnx-add"], [ours, ort], found)

    assert (found["ours"]["cold_seconds"], found["ours"]["again_seconds"]) == (3.0, 1.0)
    assert (found["ort"]["cold_seconds"], found["ort"]["again_seconds"]) == (2.0, 0.5)
    assert found["ort"]["start_error"] == "no"
    starts.measure(GRAPHS["onnx-add"], [ours], found)
    assert (found["ours"]["cold_seconds"], found["ours"]["again_seconds"]) == (4.0, 2.0)


ACCEPTS = ([sys.executable, "-c", ""], dict[str, str]())
REFUSES = ([sys.executable, "-c", "raise SystemExit('no adapter')"], dict[str, str]())


def test_the_systems_driver_stays_where_one_peer_takes_it(tmp_path: Path) -> None:
    said: list[str] = []

    assert driver_for({}, tmp_path, said.append) == ({}, {})
    found = driver_for({"tfjs": REFUSES, "ort": ACCEPTS}, tmp_path, said.append)

    assert found == ({}, {"tfjs": "no adapter"})
    assert not said


def test_a_driver_that_cannot_be_had_leaves_peers_out_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(folder: Path, manifest: Path) -> None:
        raise UnavailableError("no backports here")

    monkeypatch.setattr(driver, "_unpack_mesa", unpack)
    found = driver_for({"ort": REFUSES}, tmp_path, lambda text: None)

    assert found == ({}, {"ort": "no adapter; no backports here"})


def test_an_unpacked_driver_is_taken_where_a_peer_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "lvp.json").write_text("{}")
    asks = "import os; raise SystemExit(None if 'VK_DRIVER_FILES' in os.environ else 'too old')"
    particular = ([sys.executable, "-c", asks], dict[str, str]())

    found, refused = driver_for({"ort": particular, "tfjs": REFUSES}, tmp_path, lambda text: None)

    assert found["VK_DRIVER_FILES"] == str(tmp_path / "lvp.json")
    assert refused == {"tfjs": "no adapter, with Mesa 25 of the backports too"}


def test_a_peer_that_cannot_be_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: list[str], cwd: Path = tmp_path) -> None:
        raise UnavailableError(f"{command[-1]}: no such package")

    monkeypatch.setattr(setup, "run", fails)
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "HOME", tmp_path / "bench")

    driver_variables, missing = setup.set_up(lambda text: None, ("ort", "ort-cpu"))

    assert driver_variables == {}
    assert set(missing) == {"ort", "ort-cpu"}
    assert "no such package" in missing["ort"]


def made_up_graphs() -> dict[str, Any]:
    """Return results with two models of ONNX."""
    found = results()
    times = {"ort": 40.0, "ours": 10.0, "ort-cpu": 2.0, "ours-cpu": 8.0}
    row = {name: {"ms": 0.9 * ms, "median_ms": ms, "off": 1e-7} for name, ms in times.items()}
    row["ours"] |= {"cold_seconds": 3.0, "again_seconds": 1.0}
    row["ort"] |= {"cold_seconds": 4.0, "again_seconds": 0.5}
    wrong = {**row, "ort": {"error": "its result is off"}}
    found["items"] |= {"onnx-encoder": row, "onnx-add": wrong}
    return found


def test_the_table_of_graphs_has_medians_ratios_and_starts() -> None:
    text = table.markdown(made_up_graphs())

    assert "| onnx-encoder | 40.0 | 10.0 | 4.00× | 2.00 | 8.00 | 0.25× | 1e-07, 1e-07" in text
    assert "| 3.0, 4.0 | 1.0, 0.5 |" in text
    assert "| onnx-add | fails | 10.0 |  |" in text
    assert "| onnx-" not in "\n".join(table.times(made_up_graphs()))
    assert "Models of ONNX" not in table.markdown(results())


def test_targets_hold_graphs_against_onnx_runtime() -> None:
    met = {line.target: line.met for line in targets.lines(made_up_graphs())}

    assert met["every model of ONNX, against ONNX Runtime WebGPU"]
    assert met["all models of ONNX, geometric mean"] is False
    assert met["our CPU backend, of ONNX Runtime's speed on the CPU, geometric mean"]
    assert met["a new process to the first output of onnx-encoder, caches empty"]
    assert met["a new process to the first output of onnx-encoder, caches filled"] is False
    assert not any("ONNX" in line.target for line in targets.lines(results()))
