"""Threads that make calls of a driver let go of what the waiting thread has before it goes on."""

from __future__ import annotations

from functools import partial
from weakref import ref

import pytest

from wgsl_kernels.backends.webgpu.devices.threads import begin


class _Handle:
    """Stands for what is a driver's, which is released where its last reference goes."""


def test_what_a_call_was_made_with_is_let_go_of_when_it_ends() -> None:
    handle = _Handle()
    call = begin(partial(repr, handle))
    alive = ref(handle)
    del handle
    assert call.wait(60)
    assert alive() is None
    assert "_Handle" in call.take_result()


def test_what_a_call_returned_is_let_go_of_by_who_took_it() -> None:
    call = begin(_Handle)
    assert call.wait(60)
    taken = call.take_result()
    alive = ref(taken)
    del taken
    assert alive() is None


def test_what_a_call_raised_is_raised() -> None:
    call = begin(partial(int, "x"))
    assert call.wait(60)
    assert call.failed
    with pytest.raises(ValueError, match="invalid literal"):
        call.take_result()
