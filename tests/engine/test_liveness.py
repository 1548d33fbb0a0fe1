"""Who holds an object: what somebody else holds is never called unheld."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from wgsl_kernels.engine.environment.liveness import Marker, held_outside, is_shared

if TYPE_CHECKING:
    from collections.abc import Callable


class _Holder:
    def __init__(self) -> None:
        self.one: Any = object()


def _by_local(one: Any) -> Any:
    return one


def shared_beside(holder: _Holder) -> list[bool]:
    """Return whether an object is shared beside no holder, one and two; asserts keep their own."""
    return [is_shared(holder.one, own) for own in range(3)]


HOLDERS: list[Callable[[Any], Any]] = [
    lambda one: [one],
    lambda one: (one,),
    lambda one: {one},
    lambda one: {"one": one},
    lambda one: lambda: one,
    lambda one: iter([one]),
]


def test_what_only_the_list_holds_is_not_held_elsewhere() -> None:
    objects = [object() for _ in range(3)]

    assert held_outside(objects, [0, 0, 0]) == [False, False, False]


@pytest.mark.parametrize("hold", HOLDERS)
def test_every_kind_of_holder_counts(hold: Callable[[Any], Any]) -> None:
    objects = [object(), object()]
    holder = _Holder()

    kept = [hold(objects[1]), hold(holder.one)]

    assert held_outside(objects, [0, 0]) == [False, True]
    assert held_outside(objects, [0, 1]) == [False, False]
    assert shared_beside(holder) == [True, True, False]
    kept.clear()
    assert held_outside(objects, [0, 0]) == [False, False]
    assert shared_beside(holder) == [True, False, False]


def test_a_name_in_the_caller_counts() -> None:
    holder = _Holder()
    named = holder.one

    assert shared_beside(holder) == [True, True, False]
    assert named is holder.one


def test_a_name_in_a_generator_counts() -> None:
    def waiting(one: Any) -> Any:
        yield
        _by_local(one)

    holder = _Holder()
    generator = waiting(holder.one)
    next(generator)

    assert shared_beside(holder) == [True, True, False]


def test_a_marker_counts_those_who_keep_its_token() -> None:
    marker = Marker()
    kept = [marker.token for _ in range(5)]

    assert marker.holders == 5
    kept.pop()
    assert marker.holders == 4
