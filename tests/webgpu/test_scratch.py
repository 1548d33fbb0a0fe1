"""Where replays hold the values of a run: never two in one place at once. No device needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest

from wgsl_kernels.backends.webgpu.capturing.scratch import Reservation, ScratchValue, Workspace
from wgsl_kernels.backends.webgpu.devices.pool import Block, Pool


def make_workspace() -> Workspace:
    pool = Pool(
        lambda nbytes, label: (nbytes, label),
        largest=1 << 30,
        limit=lambda: None,
        forget=lambda block: None,
        settle=lambda: None,
    )
    recorder = SimpleNamespace(epoch=0)
    device: Any = SimpleNamespace(pool=pool, retained=WeakSet(), recorder=recorder)
    return Workspace(device)


def places_for(
    workspace: Workspace, values: dict[ScratchValue, range], results: list[Reservation]
) -> dict[ScratchValue, Block | int]:
    """Return where a workspace holds the values, its new buffers made."""
    return workspace.places_in(workspace.plan(values, results))


def capacity_of(place: Block | int, results: list[Reservation]) -> int:
    """Return the bytes of a buffer of the workspace, or of that for a result."""
    return place.capacity if isinstance(place, Block) else results[place].capacity


def draw_run(seed: int, steps: int = 20) -> tuple[dict[ScratchValue, range], list[Reservation]]:
    """Return the values of a random run and the buffers of its results."""
    draw = np.random.default_rng(seed)
    values: dict[ScratchValue, range] = {}
    for _ in range(30):
        first, last = sorted(draw.integers(0, steps, 2).tolist())
        values[ScratchValue(int(2.0 ** draw.uniform(2, 16)))] = range(first, last + 1)
    results = [
        Reservation(
            int(2.0 ** draw.uniform(4, 16)), slot, [range(int(draw.integers(0, steps)), steps)]
        )
        for slot in range(4)
    ]
    return values, results


@pytest.mark.parametrize("seed", range(20))
def test_values_that_are_used_at_once_have_places_of_their_own(seed: int) -> None:
    workspace = make_workspace()
    for turn in range(2):  # the second run finds the buffers of the first
        values, results = draw_run(2 * seed + turn)
        ends = [one.taken[0].start for one in results]
        places = places_for(workspace, values, results)

        assert places.keys() == values.keys()
        for step in range(20):
            held = [places[one] for one, span in values.items() if step in span]
            held += [slot for slot, end in enumerate(ends) if step >= end]
            assert len(set(held)) == len(held)
        for value, place in places.items():
            assert capacity_of(place, results) >= value.nbytes


def test_a_small_value_goes_where_a_large_one_was() -> None:
    workspace = make_workspace()
    large, small, late = ScratchValue(4096), ScratchValue(64), ScratchValue(1024)
    places = places_for(workspace, {small: range(2, 4), large: range(2), late: range(4, 6)}, [])

    assert places[small] is places[large] is places[late]


def test_a_value_lies_in_the_buffer_of_a_result_until_that_is_there() -> None:
    workspace = make_workspace()
    early, late = ScratchValue(256), ScratchValue(256)
    result = Reservation(1024, 7, [range(3, 6)])
    places = places_for(workspace, {early: range(3), late: range(2, 4)}, [result])

    assert places[early] == 7
    assert isinstance(places[late], Block)


def test_a_second_run_of_the_same_sizes_takes_no_more_buffers() -> None:
    workspace = make_workspace()
    spans = [range(2), range(1, 3), range(2, 4)]
    runs = [
        places_for(
            workspace,
            {ScratchValue(512): span for span in spans},
            [Reservation(512, 0, [range(2, 9)])],
        )
        for _ in range(2)
    ]

    assert list(runs[0].values()) == list(runs[1].values())
