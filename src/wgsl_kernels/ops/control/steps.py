"""The steps of a scan: called one by one, or recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.tape import Tape
from wgsl_kernels.engine.capture.capture import Captured
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.execute import ReplayObserver
from wgsl_kernels.ops.control.purity import Leaves
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.shapes import joining, slicing

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor

Body = Callable[[Leaves, Leaves, Leaves], tuple[Leaves, Leaves]]
"""One step: state, inputs of the step and what it closes over to the next state and outputs."""

Recordings = dict[int, Any]
"""Captured steps, by the direction in which they move."""

SHORTEST = 3
"""Steps from which on recording one is worth it."""


def run_steps(
    body: Body,
    carry: Leaves,
    xs: Leaves,
    closed_over: Leaves,
    steps: int,
    reverse: bool,
    keep: bool,
) -> tuple[Leaves, Leaves, Leaves]:
    """Return the last carry, the outputs and, if ``keep``, the carries that each step began at.

    Both are stacked in the order of ``xs``.
    """
    is_worth_it = steps >= SHORTEST and all(x.size for x in xs)  # of nothing nothing is taken
    run = _replayed if is_worth_it and can_replay() else _one_by_one
    return run(body, carry, xs, closed_over, steps, reverse, keep)


def _one_by_one(
    body: Body,
    carry: Leaves,
    xs: Leaves,
    closed_over: Leaves,
    steps: int,
    reverse: bool,
    keep: bool,
) -> tuple[Leaves, Leaves, Leaves]:
    """Call the function for each step."""
    rows = [slicing.unstack(x) for x in xs]
    carries: list[Leaves] = []
    outputs: list[Leaves] = []
    for place in reversed(range(steps)) if reverse else range(steps):
        carries.append(carry if keep else [])
        carry, ys = body(carry, [row[place] for row in rows], closed_over)
        outputs.append(ys)
    return carry, _stacked(outputs, reverse), _stacked(carries, reverse)


def _replayed(
    body: Body,
    carry: Leaves,
    xs: Leaves,
    closed_over: Leaves,
    steps: int,
    reverse: bool,
    keep: bool,
) -> tuple[Leaves, Leaves, Leaves]:
    fast = _recorded(body, -1 if reverse else 1)
    place = tensor(steps - 1 if reverse else 0, dtype="int32")
    carries: list[Leaves] = []
    outputs: list[Leaves] = []
    for _ in range(steps):
        carries.append(carry if keep else [])
        place, carry, ys = fast(place, carry, xs, closed_over)
        outputs.append(ys)
    return carry, _stacked(outputs, reverse), _stacked(carries, reverse)


def _recorded(body: Body, move: int) -> Any:
    """Return a captured step, the one of earlier scans where those are kept."""
    recordings: Recordings | None = getattr(body, "recordings", None)
    found = None if recordings is None else recordings.get(move)
    if found is None:
        found = Captured(_step_by_place(body, move), is_checked=False)
        if recordings is not None:
            recordings[move] = found
    return found


def _step_by_place(body: Body, move: int) -> Callable[..., tuple[Tensor, Leaves, Leaves]]:
    """Return a step that takes its inputs' place as a tensor: one recording serves all."""

    def step(
        place: Tensor, carry: Leaves, xs: Leaves, closed_over: Leaves
    ) -> tuple[Tensor, Leaves, Leaves]:
        x = [gather.take(one, place) for one in xs]
        new, ys = body(carry, x, closed_over)
        return place + move, new, ys

    step.__qualname__ = f"scan of {getattr(body, '__qualname__', 'a function')}"
    return step


def can_replay() -> bool:
    """Say whether steps can be recorded here; inside a capture they are part of that."""
    now = context.current()
    if now.watch is not None or now.double or config.check_numerics or config.debug:
        return False
    if not all(isinstance(one, (ReplayObserver, Tape)) for one in now.interceptors):
        return False
    return abilities_of(active_driver()).recording is not None


def _stacked(rows: list[Leaves], reverse: bool) -> Leaves:
    columns = zip(*(reversed(rows) if reverse else rows), strict=True)
    return [joining.stack(column) for column in columns]
