"""Every item's own program gives NumPy's result at a tiny size, on both backends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from benchmarks.conductor import WrongResultError, check
from benchmarks.items import ITEMS, chosen
from benchmarks.items.item import Array, Item
from benchmarks.peers.numpy_peer import OPS, NumpyPeer, arrays_of
from benchmarks.peers.our_peer import OurPeer
from benchmarks.peers.peer import Peer
from benchmarks.peers.trace import trace
from benchmarks.peers.vocabulary import WORDS, spoken

import wgsl_kernels as wk

STEPS = 3
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
EVERY_ITEM = pytest.mark.parametrize("item", ITEMS.values(), ids=lambda item: item.name)


def result_of(peer: Peer, item: Item) -> list[Array]:
    """Return what the third call gives: of a training step, the third loss."""
    (running,) = peer.start(item, item.work(tiny=True)).values()
    for _ in range(STEPS - 1):
        running.call()
        running.finish()
    return running.fetch(running.call())


@BACKENDS
@EVERY_ITEM
def test_an_item_gives_what_numpy_gives(item: Item, backend: str) -> None:
    with wk.use_backend(backend):
        found = result_of(OurPeer(backend), item)

    check(found, result_of(NumpyPeer(), item))


@pytest.mark.gpu
@EVERY_ITEM
def test_a_captured_item_gives_what_numpy_gives(item: Item) -> None:
    with wk.use_backend("webgpu"):
        found = result_of(OurPeer("webgpu", captured=True), item)

    check(found, result_of(NumpyPeer(), item))


@EVERY_ITEM
def test_an_item_has_the_same_arrays_for_every_peer(item: Item) -> None:
    one, other = item.work(tiny=True), item.work(tiny=True)

    for name, values in {**one.inputs, **one.variables}.items():
        np.testing.assert_array_equal(values, {**other.inputs, **other.variables}[name])


def run_steps(steps: Sequence[Any], result: Any, arrays: dict[str, Array]) -> Any:
    """Run a traced program in NumPy, as the peer that is not written in Python does."""
    found: list[Any] = []

    def value(argument: Any) -> Any:
        if isinstance(argument, dict):
            return argument["number"]
        return arrays[argument] if isinstance(argument, str) else found[argument]

    for word, args, attrs in steps:
        found.append(getattr(OPS, word)(*map(value, args), **attrs))
    return value(result)


@EVERY_ITEM
def test_a_traced_program_says_what_the_program_does(item: Item) -> None:
    work = item.work(tiny=True)
    arrays = {**work.inputs, **work.variables}

    traced = trace(work)

    found = run_steps(traced["steps"], traced["result"], arrays)
    check(arrays_of(found), arrays_of(work.program(OPS, **arrays)))


def test_a_pattern_chooses_items_and_large_ones_want_a_real_gpu() -> None:
    found = [one.name for one in chosen("softmax", large=False)]
    assert found == ["softmax", "log-softmax", "onnx-softmax"]
    assert "matmul-4096" in [one.name for one in chosen("matmul", large=True)]
    assert "matmul-4096" not in [one.name for one in chosen("matmul", large=False)]


def test_a_peer_that_lacks_a_word_is_refused() -> None:
    words: dict[str, Any] = {name: abs for name in WORDS if name != "fft"}

    with pytest.raises(ValueError, match="fft"):
        spoken(words)


def test_a_result_that_is_off_is_refused() -> None:
    exact = np.array([1.0, -4.0], np.float32)

    check([exact * np.float32(1 + 1e-5)], [exact])
    with pytest.raises(WrongResultError, match="off by"):
        check([exact * np.float32(1.01)], [exact])
    with pytest.raises(WrongResultError, match="off by nan"):
        check([exact * np.float32(np.nan)], [exact])
    with pytest.raises(WrongResultError, match="3 elements, not 2"):
        check([np.zeros(3, np.float32)], [exact])
