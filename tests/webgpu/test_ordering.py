"""The order of a replay's dispatches: each finds what it found. No device needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from wgsl_kernels.backends.webgpu.capturing.recording import sparing_order

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.capturing.recording import Use


def use(reads: str, writes: str) -> Use:
    """Return what a dispatch names, a letter for each buffer."""
    return frozenset(reads + writes), frozenset(writes)


def most_kept(uses: Sequence[Use], sizes: Mapping[Hashable, int]) -> int:
    """Return the most bytes that are kept during a dispatch."""
    spans = {name: [at for at, (names, _) in enumerate(uses) if name in names] for name in sizes}
    return max(
        sum(sizes[name] for name, at in spans.items() if at and at[0] <= step <= at[-1])
        for step in range(len(uses))
    )


def seen_by(uses: Sequence[Use], order: Sequence[int]) -> dict[int, list[tuple[Hashable, int]]]:
    """Return for each dispatch, and for the end, who wrote last what it names; -1: nobody."""
    writer: dict[Hashable, int] = {}
    found: dict[int, list[tuple[Hashable, int]]] = {}
    for number in order:
        names, written = uses[number]
        found[number] = sorted((name, writer.get(name, -1)) for name in names)
        writer |= dict.fromkeys(written, number)
    found[-1] = sorted(writer.items())
    return found


def draw_uses(seed: int) -> tuple[list[Use], dict[Hashable, int]]:
    """Return random dispatches on few buffers, and the sizes of some."""
    draw = np.random.default_rng(seed)
    letters = "abcdefghij"
    uses = [
        use(
            "".join(draw.choice(list(letters), int(draw.integers(4)))),
            "".join(draw.choice(list(letters), int(draw.integers(1, 3)))),
        )
        for _ in range(int(draw.integers(1, 200)))
    ]
    return uses, {name: int(draw.integers(1, 1000)) for name in letters[:7]}


@pytest.mark.parametrize("seed", range(30))
def test_every_dispatch_finds_what_it_found(seed: int) -> None:
    uses, sizes = draw_uses(seed)
    order = sparing_order(uses, sizes)

    assert sorted(order) == list(range(len(uses)))
    assert seen_by(uses, order) == seen_by(uses, range(len(uses)))


def test_a_buffer_is_read_before_it_is_written_again() -> None:
    uses = [use("", "a"), use("a", "b"), use("", "a"), use("a", "c")]

    assert sparing_order(uses, {"a": 1, "b": 100, "c": 1}) == [0, 1, 2, 3]


def test_what_is_used_late_for_no_reason_is_used_early() -> None:
    """Two layers back: Python asks for both gradients of weights (u, v) only at the end."""
    uses = [
        use("x", "h"), use("h", "k"), use("k", "d"), use("d", "e"), use("e", "f"),
        use("kd", "u"), use("he", "v"), use("xf", "w"),
    ]  # fmt: skip
    sizes: dict[Hashable, int] = dict.fromkeys("hkdef", 100)
    order = sparing_order(uses, sizes)

    assert most_kept(uses, sizes) == 500
    assert most_kept([uses[number] for number in order], sizes) == 300


def test_without_a_reason_the_order_stays() -> None:
    uses = [use("x", letter) for letter in "abcdefgh"]

    assert sparing_order(uses, {}) == list(range(8))
    assert sparing_order([], {}) == []
