"""How many calls of this package's Python it takes to do again what was done before.

A lone map takes two more on OpenGL, where parameters do not travel with a dispatch and the adapter
runs inside of the submit: one call places them, and one watches it.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
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
    return fewest(lambda: calls_in(partial(wk.evaluate, f())))


def fewest(count: Callable[[], list[str]]) -> list[str]:
    """Return the shortest of three counts: while work is still under way, buffers are new."""
    found: list[list[str]] = []
    for _ in range(3):
        wk.synchronize()
        found.append(count())
    return min(found, key=len)


def calls_in(f: Callable[[], object]) -> list[str]:
    """Return the package's functions that a call calls."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("wgsl_kernels"):
            seen.append(f"{module.removeprefix('wgsl_kernels.')}.{frame.f_code.co_name}")

    gc.disable()
    sys.setprofile(note)
    try:
        f()
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


def _evaluated(f: Callable[[], wk.Tensor]) -> None:
    wk.evaluate(f())


def _users_kernel(x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel("CountedByHand", {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


@pytest.fixture(name="users_kernel")
def _registered() -> Iterator[Callable[[wk.Tensor], wk.Tensor]]:
    shader = """
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      store_y(id.x, load_x(id.x) + T(1));
    }
    """

    @wk.signature("CountedByHand")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.wgsl_kernel("CountedByHand")
    def _(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(shader, {"x": x, "y": y})
        return y

    yield _users_kernel
    wk.unregister_kernel("CountedByHand", "webgpu")


def test_an_op_takes_no_more_calls_than_it_did(
    users_kernel: Callable[[wk.Tensor], wk.Tensor],
) -> None:
    """From the call of the op on, its evaluation included."""
    x, rows, b = tensor(64, 64), wk.tensor(np.arange(4, dtype=np.int32)) + 0, tensor(64)
    waves = wk.cast(tensor(8, 64), "complex64")
    replay = wk.capture(lambda x: wk.relu(x @ x + b))
    ops: dict[str, tuple[Callable[[], wk.Tensor], int]] = {
        "sort": (lambda: wk.sort(x), 52),
        "concat": (lambda: wk.concat([x, x, x], axis=0), 69),
        "take": (lambda: wk.take(x, rows, axis=0), 74),
        "fft": (lambda: wk.fft.fft(waves), 72),
        "replay": (lambda: replay(x), 40),
        "user": (lambda: users_kernel(x), 52),
    }
    wk.evaluate([rows, waves])
    found: dict[str, list[str]] = {}
    for name, (f, _) in ops.items():
        for _ in range(5):
            wk.evaluate(f())
        found[name] = fewest(partial(calls_in, partial(_evaluated, f)))

    for name, seen in found.items():
        assert 0 < len(seen) <= ops[name][1] + 2 * more_calls(), (name, len(seen), seen)
