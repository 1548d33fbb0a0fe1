"""What a replay binds of a view's buffer. No device needed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, STEP, GpuArray, layout_of, stretch

AXES = st.lists(st.tuples(st.integers(1, 5), st.integers(-40, 40)), max_size=3)


def view_at(axes: list[tuple[int, int]], low: int, dtype: str) -> tuple[GpuArray, int]:
    """Return a view whose lowest element is ``low``, and the number behind its highest one."""
    shape = tuple(length for length, _ in axes)
    strides = tuple(stride for _, stride in axes)
    ends = [(length - 1) * stride for length, stride in axes]
    offset = low - sum(min(end, 0) for end in ends)
    high = offset + sum(max(end, 0) for end in ends) + 1
    size = int(np.prod(shape))
    return GpuArray(shape, dtype, size, None, None, (strides, offset)), high


@given(AXES, st.integers(0, 200), st.sampled_from(sorted(ITEMSIZE)))
def test_the_part_has_all_elements_and_begins_where_a_binding_may(
    axes: list[tuple[int, int]], low: int, dtype: str
) -> None:
    view, high = view_at(axes, low, dtype)
    layout, start = layout_of(view)
    assert view.layout is not None
    assert layout == (view.layout[0], view.layout[1] - start)
    assert 0 <= start <= low
    assert start * ITEMSIZE[dtype] % STEP == 0
    part = stretch(view)
    assert (part.offset, part.size) == (start, high - start)


@given(AXES, st.integers(0, 200), st.integers(1, 9), st.sampled_from(sorted(ITEMSIZE)))
def test_views_that_lie_further_on_by_steps_count_as_one(
    axes: list[tuple[int, int]], low: int, times: int, dtype: str
) -> None:
    step = STEP // ITEMSIZE[dtype]
    one, _ = view_at(axes, low, dtype)
    other, _ = view_at(axes, low + times * step, dtype)
    same = layout_of(one)[0] == layout_of(other)[0]
    assert same == (low >= step)  # what begins its buffer is like no other
    for further in range(1, step):
        nearby, _ = view_at(axes, low + further, dtype)
        assert layout_of(one)[0] != layout_of(nearby)[0]


def test_what_is_no_view_lies_plainly() -> None:
    assert layout_of(GpuArray((3, 4), "float32", 12, None, None)) == (None, 0)
    assert layout_of(GpuArray((3, 0), "float32", 0, None, None, ((1, 3), 5))) == (None, 0)
