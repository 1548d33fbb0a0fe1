"""How many calls of this package's Python it takes to evaluate what was evaluated before.

A lone map takes two more on OpenGL, where parameters do not travel with a dispatch and the adapter
runs inside of the submit: one call places them, and one watches it.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import policy_of
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _on_webgpu() -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(fusion="auto"):
        yield


def calls_to_evaluate(f: Callable[[], wk.Tensor]) -> list[str]:
    for _ in range(5):
        wk.evaluate(f())
    wk.synchronize()
    made = f()
    seen: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("wgsl_kernels"):
            seen.append(f"{module.removeprefix('wgsl_kernels.')}.{frame.f_code.co_name}")

    gc.disable()
    sys.setprofile(note)
    try:
        wk.evaluate(made)
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen


def more_calls() -> int:
    """Return how many more it may take on this adapter."""
    choice = choose_adapter()
    assert choice is not None
    return 2 if policy_of(choice.info).has_one_context else 0


def tensor(*shape: int) -> wk.Tensor:
    return wk.tensor(RNG.standard_normal(shape).astype(np.float32))


def test_a_lone_map_takes_twenty_calls() -> None:
    x, y = tensor(64, 64), tensor(64, 64)

    seen = calls_to_evaluate(lambda: x + y)

    assert 0 < len(seen) <= 20 + more_calls(), seen


def test_a_dense_layer_takes_forty_calls() -> None:
    x, w, b = tensor(64, 64), tensor(64, 64), tensor(64)

    seen = calls_to_evaluate(lambda: wk.relu(x @ w + b))

    assert 0 < len(seen) <= 40, seen
