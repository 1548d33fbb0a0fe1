"""An allocation that cannot be had is refused before anything happens, on both backends alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.refusal import refusal

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
HUGE = (2**29, 2**29)  # 2^60 bytes of float32: beyond any machine's addresses


@BACKENDS
@pytest.mark.parametrize("limit", [None, "auto"])
def test_an_allocation_beyond_the_device_says_what_was_asked(backend: str, limit: Any) -> None:
    with wk.config.using(memory_limit=limit):
        made = refusal(backend, lambda: wk.ones(HUGE), wk.OutOfMemoryError)
        wide, high = (2**29, 1), (1, 2**29)
        product = refusal(
            backend,
            lambda: wk.broadcast_to(wk.tensor(1.0), wide) @ wk.broadcast_to(wk.tensor(1.0), high),
            wk.OutOfMemoryError,
        )
    asked = "asked for 1152921504606846976 bytes ([536870912, 536870912] float32)."
    assert made.splitlines()[0] == product.splitlines()[0] == asked


@BACKENDS
@pytest.mark.parametrize(
    "f",
    [
        lambda: wk.ones((1024, 1024)),
        lambda: wk.tensor(np.ones((1024, 1024), np.float32)),
        lambda: wk.broadcast_to(wk.tensor([1.0]), (1024, 1024)) + 1.0,
    ],
    ids=["an op", "values", "a view"],
)
def test_an_allocation_beyond_the_limit_says_what_was_asked(
    f: Callable[[], object], backend: str
) -> None:
    with wk.config.using(memory_limit=3 << 20):
        message = refusal(backend, f, wk.OutOfMemoryError)

    assert message.splitlines()[0] == "asked for 4194304 bytes ([1024, 1024] float32)."
    assert "memory_limit" in message


@BACKENDS
def test_many_small_allocations_meet_the_limit_too(backend: str) -> None:
    with wk.config.using(memory_limit=3 << 20):
        message = refusal(
            backend,
            lambda: wk.evaluate([wk.ones((1024, 100)) for _ in range(20)]),
            wk.OutOfMemoryError,
        )

    assert message.splitlines()[0] == "asked for 409600 bytes ([1024, 100] float32)."


@pytest.mark.gpu
def test_what_is_beyond_the_largest_buffer_says_how_large_that_is() -> None:
    with wk.config.using(memory_limit=None):
        message = refusal("webgpu", lambda: wk.ones((2**20, 2**20)), wk.OutOfMemoryError)

    first, second = message.splitlines()
    assert first == "asked for 4398046511104 bytes ([1048576, 1048576] float32)."
    assert "max-buffer-size" in second


@BACKENDS
def test_a_backend_goes_on_after_a_refusal(backend: str) -> None:
    with wk.use_backend(backend):
        with wk.config.using(memory_limit=3 << 20), pytest.raises(wk.OutOfMemoryError):
            wk.ones((1024, 1024))
        assert wk.sum(wk.ones((1024, 1024))).item() == 2.0**20
