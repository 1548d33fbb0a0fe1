"""What tests of bad input ask: the words of a refusal, and that nothing is left behind."""

import gc
from collections.abc import Callable

import pytest

import wgsl_kernels as wk


def held() -> tuple[int, int, int]:
    """Return how many tensors and buffers live, and their bytes."""
    gc.collect()
    now = wk.memory()
    return now.num_tensors, now.num_buffers, now.num_bytes


def refusal(backend: str, f: Callable[[], object], error: type[Exception]) -> str:
    """Return the message with which ``f`` is refused; what is held must be as before."""
    with wk.use_backend(backend):
        before = held()
        with pytest.raises(error) as caught:
            f()
        assert type(caught.value) is error
        message = str(caught.value)
        del caught
        assert held() == before
    return message
