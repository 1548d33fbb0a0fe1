"""The simulation of many workers has what was measured of a few, and stops where it must."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import scale_simulation as simulation
from benchmarks.results import load
from benchmarks.scale_picture import draw

MEASURED = load(simulation.MEASURED)
FREE = simulation.Costs()


def test_the_model_has_every_measured_figure_within_30_percent() -> None:
    found = simulation.figures(MEASURED)
    off = {name: both for name, both in found.items() if both[1] != pytest.approx(both[0], rel=0.3)}

    assert len(found) >= 14
    assert off == {}


def test_workers_and_sizes_are_those_that_were_to_be_measured() -> None:
    rows = {(one["workers"], one["megabytes"]) for one in MEASURED["all_reduce"]}

    assert rows == {(workers, mb) for workers in (2, 4) for mb in (0.2, 2.0, 16.0, 64.0)}


@pytest.mark.parametrize(("workers", "messages"), [(2, 4), (4, 12), (8, 28), (16, 16), (64, 24)])
def test_an_all_reduce_is_direct_up_to_eight_workers_and_halves_above(
    workers: int, messages: int
) -> None:
    """A worker handles what it sends and what it gets, in two rounds or in two per halving."""
    ends, busy = simulation.all_reduce([0.0] * workers, 1.0, replace(FREE, message=1.0))

    assert busy == messages
    assert max(ends) >= messages


def test_a_message_takes_its_way_and_its_bytes() -> None:
    costs = replace(FREE, reduce=5.0, message=1.0, megabyte=2.0, link=3.0, latency=4.0)

    ends, busy = simulation.all_reduce([0.0, 0.0], 2.0, costs)  # 1 MB each way, in two rounds

    assert busy == 5 + 4 * (1 + 2)
    assert ends == [5 + 2 * (3 + 4 + 3 + 3)] * 2


def test_all_wait_for_the_last_worker() -> None:
    ends, _ = simulation.all_reduce([0.0, 0.0, 0.0, 50.0], 1.0, replace(FREE, message=1.0))

    assert min(ends) > 50


def test_what_costs_nothing_scales_without_end() -> None:
    assert simulation.training(10.0, 1.0, 64, FREE) == pytest.approx(1.0)
    assert simulation.overlap(10.0, 64, FREE) == pytest.approx(64.0)


def test_the_scheduler_bounds_a_graph_of_chunks() -> None:
    costs = replace(FREE, chunk=5.0)

    assert simulation.overlap(50.0, 8, costs) == pytest.approx(8.0, rel=0.01)
    assert simulation.overlap(50.0, 1024, costs) == pytest.approx(10.0, rel=0.01)


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    trained = {(50.0, 0.2, "float32"): [1.0, 0.5], (50.0, 0.2, "float16"): [1.0, 0.6]}

    draw((1, 2), trained, {5.0: [1.0, 1.5]}, "what is assumed", tmp_path / "scale.svg")

    assert "</svg>" in (tmp_path / "scale.svg").read_text()
