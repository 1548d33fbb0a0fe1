"""What tests of bad input ask: the words of a refusal, and that nothing is left behind."""

import gc
from collections.abc import Callable

import pytest

import wgsl_kernels as wk


def held() -> tuple[int, int, int]:
    """Return how many tensors and buffers live, and their bytes."""
    now = wk.memory()
    return now.num_tensors, now.num_buffers, now.num_bytes


def refusal(backend: str, f: Callable[[], object], error: type[Exception]) -> str:
    """Return the message with which ``f`` is refused; what is held must be as before.

    Cycles may go later: where something is held, it is tried again between full collections. They
    take 0.1 s each, so they are not made for each refusal.
    """
    with wk.use_backend(backend):
        before = held()
        message = _message(f, error)
        if held() != before:
            gc.collect()
            before = held()
            assert _message(f, error) == message
            gc.collect()
            assert held() == before
    return message


def _message(f: Callable[[], object], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        f()
    assert type(caught.value) is error
    message = str(caught.value)
    del caught
    return message
