"""Merging axes keeps the order in which elements are walked."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from wgsl_kernels.backends.webgpu.programs.arguments import collapse

AXES = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from([0, 1, 2, 3, 6, 12, -1]), st.integers(0, 6)),
    max_size=5,
)


def walk(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    ranges = itertools.product(*(range(size) for size in shape))
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in ranges]


@given(AXES, st.integers(0, 5))
def test_the_walk_stays_the_same(axes: list[tuple[int, int, int]], split: int) -> None:
    shape = tuple(axis[0] for axis in axes)
    strides = [tuple(axis[column] for axis in axes) for column in (1, 2)]
    kept = min(split, len(shape))
    small, merged, left = collapse(shape, strides, kept)
    for before, after in zip(strides, merged, strict=True):
        assert walk(small, after) == walk(shape, before)
        assert walk(small[:left], after[:left]) == walk(shape[:kept], before[:kept])


def test_contiguous_axes_become_one() -> None:
    assert collapse((4, 5, 6), [(30, 6, 1)]) == ((120,), ((1,),), 1)
    assert collapse((4, 5, 6), [(30, 6, 1)], kept=1) == ((4, 30), ((30, 1),), 1)
    assert collapse((1, 1), [(1, 1)]) == ((), ((),), 0)
