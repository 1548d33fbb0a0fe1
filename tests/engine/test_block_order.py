"""Blocks that end in another order than they began: generators that are closed late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager


def _held(block: AbstractContextManager[Any]) -> Generator[None]:
    with block:
        yield


def _square_grad(dy: wk.Tensor) -> wk.Tensor:
    return dy * 100.0


BLOCKS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "use_backend": lambda: wk.use_backend("cpu"),
    "config": lambda: wk.config.using(fusion="never"),
    "override_gradient": lambda: wk.override_gradient("Square", _square_grad),
    "tidy": wk.tidy,
    "tape": wk.GradientTape,
}


@pytest.mark.parametrize("outer", BLOCKS)
@pytest.mark.parametrize("inner", BLOCKS)
def test_a_block_closed_late_leaves_nothing_in_force(outer: str, inner: str) -> None:
    before = context.current()
    first = _held(BLOCKS[outer]())
    next(first)
    second = _held(BLOCKS[inner]())
    next(second)
    first.close()
    assert context.current() is not before
    second.close()
    assert context.current() is before


def test_a_generator_closed_late_does_not_leave_the_thread_on_another_backend() -> None:
    def batches() -> Generator[str]:
        with wk.use_backend("webgpu"):
            while True:
                yield wk.zeros(1).backend

    with wk.use_backend("cpu"):
        given = batches()
        assert next(given) == "webgpu"
    assert wk.get_backend() == "webgpu"
    given.close()
    assert context.current().driver is None


def test_what_an_outer_block_set_ends_with_it_and_what_an_inner_set_stays() -> None:
    usual = wk.config.small_ops
    outer = _held(wk.config.using(fusion="never", small_ops="device"))
    next(outer)
    inner = _held(wk.config.using(fusion="always"))
    next(inner)
    assert wk.config.small_ops == "device"
    outer.close()
    assert wk.config.fusion == "always"
    assert wk.config.small_ops == usual
    inner.close()


def test_a_tape_that_ends_within_a_block_that_hides_it_does_not_come_back() -> None:
    tape = _held(wk.GradientTape())
    next(tape)
    hiding = _held(hidden_from_tapes())
    next(hiding)
    tape.close()
    hiding.close()
    assert context.current().interceptors == ()
