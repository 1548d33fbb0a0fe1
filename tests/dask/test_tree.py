"""The fixed tree of a sum: the same bits for any number of workers, direct and by halving."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from wgsl_kernels.dask.group import WorkerGroup
from wgsl_kernels.dask.tree import joined, leaves_of, root_of, shares
from wgsl_kernels.engine.environment.errors import ArgumentError

pytestmark = pytest.mark.dask


def values(pieces: int, length: int = 37) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(pieces)
    return [
        (rng.normal(size=length) * 10.0 ** rng.integers(-4, 4)).astype("f") for _ in range(pieces)
    ]


def by_pairs(leaves: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return the sum as the module's head says it, level by level."""
    while len(leaves) > 1:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        leaves = [one[0] if len(one) == 1 else one[0] + one[1] for one in pairs]
    return leaves[0]


@pytest.mark.parametrize("pieces", range(1, 10))
def test_a_sum_is_along_the_tree_whoever_has_what(pieces: int) -> None:
    leaves = values(pieces)
    for size in range(1, pieces + 1):
        bounds = shares(pieces, size)
        found: dict[tuple[int, int], Any] = {}
        for rank in reversed(range(size)):
            own = leaves[bounds[rank] : bounds[rank + 1]]
            found = joined({**found, **joined(leaves_of(own, bounds[rank]), pieces)}, pieces)
        np.testing.assert_array_equal(root_of(found, pieces), by_pairs(leaves))


def test_a_missing_leaf_is_an_error() -> None:
    with pytest.raises(ValueError, match="some are missing"):
        root_of({(0, 0): np.ones(1, "f"), (0, 2): np.ones(1, "f")}, 3)


class Talk:
    """What stands for the workers' servers."""

    def __init__(self) -> None:
        self.box: dict[tuple[str, int, int], Any] = {}

    async def swapped(
        self, rank: int, step: str, sent: Mapping[int, Any], wanted: Sequence[int] | None
    ) -> dict[int, Any]:
        """Send and take as a group does."""
        for to, data in sent.items():
            self.box[step, rank, to] = data
        found = {}
        for one in tuple(sent) if wanted is None else wanted:
            while (step, one, rank) not in self.box:
                await asyncio.sleep(0)
            found[one] = self.box[step, one, rank]
        return found


def reduced(size: int, pieces: int, way: str) -> list[Any]:
    """Return what each of some workers finds."""
    talk, leaves, bounds = Talk(), values(pieces), shares(pieces, size)

    async def one(rank: int) -> Any:
        group = WorkerGroup(rank, size)

        async def swapped(step: str, sent: Any, wanted: Any = None) -> Any:
            return await talk.swapped(rank, step, sent, wanted)

        group._swapped = swapped  # type: ignore[method-assign]  # there is no cluster
        own = leaves_of(leaves[bounds[rank] : bounds[rank + 1]], bounds[rank])
        return await getattr(group, way)(joined(own, pieces), pieces)

    async def all_of_them() -> list[Any]:
        return await asyncio.wait_for(asyncio.gather(*map(one, range(size))), 20)

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("way", ["_direct", "_halved"])
@pytest.mark.parametrize("size", range(2, 17))
def test_both_ways_give_every_worker_the_same_bits(size: int, way: str) -> None:
    for pieces in (size, size + 3, 2 * size + 1):
        for one in reduced(size, pieces, way):
            np.testing.assert_array_equal(one, by_pairs(values(pieces)))


def test_a_group_of_one_adds_here() -> None:
    group = WorkerGroup(0, 1)
    leaves = [one.reshape(1, 37) for one in values(5)]

    np.testing.assert_array_equal(group.all_reduce(leaves, pieces=5)[0], by_pairs(values(5)))
    with pytest.raises(ArgumentError, match="got 5 arrays; want 4, the share of rank 0 of 1"):
        group.all_reduce(leaves, pieces=4)
