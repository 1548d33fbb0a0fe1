"""The conductor checks before it times, takes turns, and names who drops out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import conductor
from benchmarks.items import ITEMS
from benchmarks.items.item import Array, Item
from benchmarks.limits.limit_peer import TRANSFERS, VARIANTS, LimitPeer
from benchmarks.limits.raw import UnfitError, divide, each, head
from benchmarks.peers.numpy_peer import NumpyPeer
from benchmarks.peers.process import PeerError, PeerProcess
from benchmarks.peers.worker import PEERS

SECONDS = 60.0
LIMITS = ("matmul-128", "add-broadcast", "fft")


class Sham(PeerProcess):
    """A peer without a process, that takes as long as it is told."""

    def __init__(self, name: str, result: float, *samples: float | PeerError) -> None:
        super().__init__(name, {}, Path("sham.log"))
        self._result = result
        self._samples = list(samples)
        self.turns: list[str] = []

    def prepare(
        self, item: Item, folder: Path, seconds: float, *, tiny: bool = False
    ) -> tuple[dict[str, list[Array]], float]:
        """Return one number, for two variants."""
        return {name: [np.array(self._result)] for name in ("plain", "wide")}, 0.25

    def time(self, calls: int, variant: str, seconds: float) -> dict[str, float]:
        """Return the next sample."""
        self.turns.append(variant)
        sample = self._samples.pop(0)
        if isinstance(sample, PeerError):
            raise sample
        return {"ms": sample}

    def drop(self) -> None:
        """Do nothing."""


@pytest.fixture(autouse=True)
def _three_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "ROUNDS", (3, 3))
    monkeypatch.setattr(conductor, "REST_SECONDS", 0.0)


def measured(*peers: PeerProcess) -> dict[str, dict[str, Any]]:
    """Return what is found of an item that TensorFlow.js's peer alone would be left out of."""
    return conductor.measure(ITEMS["add-1m"], peers, 1.0)


def test_the_least_time_of_the_best_variant_counts() -> None:
    peer = Sham("limit", 1.0, 5.0, 9.0, 4.0, 2.0, 6.0, 7.0)

    found = measured(peer)["limit"]

    assert peer.turns == ["plain", "wide"] * 3
    assert (found["variant"], found["ms"], found["median_ms"]) == ("wide", 2.0, 7.0)


def test_a_peer_with_another_result_is_not_timed() -> None:
    wrong = Sham("tfjs", 1.1)

    found = measured(Sham("numpy", 1.0, *[1.0] * 6), wrong)

    assert found["numpy"]["ms"] == 1.0
    assert "off by 0.1" in found["tfjs"]["error"]
    assert not wrong.turns


def test_a_peer_that_dies_in_its_turn_has_an_error_and_no_time() -> None:
    found = measured(Sham("tfjs", 1.0, 1.0, 1.0, PeerError("its process ended")))

    assert found["tfjs"] == {"error": "its process ended"}


def test_a_peer_is_left_out_of_an_item_with_the_reason() -> None:
    found = conductor.measure(ITEMS["fft"], [Sham("tinygrad", 1.0)], 1.0)

    assert found["tinygrad"] == {"left_out": "has no complex numbers"}


def test_a_process_answers_until_it_is_closed_and_says_what_it_cannot(tmp_path: Path) -> None:
    peer = PeerProcess("numpy", {}, tmp_path / "numpy.log")

    results, seconds = peer.prepare(ITEMS["add-broadcast"], tmp_path, SECONDS, tiny=True)

    work = ITEMS["add-broadcast"].work(tiny=True)
    np.testing.assert_array_equal(results[""][0], work.inputs["x"] + work.inputs["y"])
    assert seconds > 0
    cost = peer.time(3, "", SECONDS)
    assert set(cost) == {"ms", "cpu_ms", "thread_ms"}
    assert min(cost["ms"], cost["cpu_ms"]) > 0
    with pytest.raises(PeerError, match="KeyError: 'fast'"):
        peer.time(3, "fast", SECONDS)
    peer.drop()
    peer.close()


def test_a_process_that_is_late_is_ended(tmp_path: Path) -> None:
    peer = PeerProcess("numpy", {}, tmp_path / "numpy.log")
    item = ITEMS["add-broadcast"]

    with pytest.raises(PeerError, match="no answer in 0 s"):
        peer.prepare(item, tmp_path, 0.0, tiny=True)

    assert peer.prepare(item, tmp_path, SECONDS, tiny=True)[0]
    peer.close()


def test_every_limit_belongs_to_an_item_and_every_peer_left_out_is_one() -> None:
    assert {*VARIANTS, *TRANSFERS} <= set(ITEMS)
    assert {name for item in ITEMS.values() for name in item.without} <= {*PEERS, "tfjs"}


def test_lines_are_repeated_with_every_number_put_in() -> None:
    assert each("a{i} = b{j};", i=2, j=2).splitlines() == [
        "a0 = b0;",
        "a0 = b1;",
        "a1 = b0;",
        "a1 = b1;",
    ]
    assert divide(12, 4) == 3
    with pytest.raises(UnfitError, match="13 is no multiple of 4"):
        divide(13, 4)
    declared = head({"ROWS": 3}, {"x": "f32"}, {"y": "vec4f"}).splitlines()
    assert declared == [
        "const ROWS = 3u;",
        "@group(0) @binding(0) var<storage, read> x: array<f32>;",
        "@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;",
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("name", LIMITS)
def test_raw_shaders_give_what_numpy_gives(name: str) -> None:
    item = ITEMS[name]
    work = item.work()
    (reference,) = NumpyPeer().start(item, work).values()
    expected = reference.fetch(reference.call())

    for running in LimitPeer().start(item, work).values():
        conductor.check(running.fetch(running.call()), expected)
