"""The gradient of a scan: a scan in reverse, whose steps run the forward step once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.nodes import TapeNode, identities, output_ids, restore, save
from wgsl_kernels.engine.autodiff.tape import Tape, active_tapes, recording
from wgsl_kernels.engine.tensors.tensor import Tensor, with_values_of
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.values.dtypes import OBJECTS, is_differentiable
from wgsl_kernels.ops.control.steps import run_steps
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.ops.control.purity import Leaves
    from wgsl_kernels.ops.control.steps import Body

_NAME = "scan"


def recorded(
    body: Body, carry: Leaves, xs: Leaves, closed_over: Leaves, steps: int, reverse: bool
) -> tuple[Leaves, Leaves]:
    """Run steps and record them as one node on every tape that follows an input.

    The carries that steps began at are outputs of the node too: the gradient reads them, and where
    that is differentiated in turn, gradients flow to them.
    """
    inputs = [*carry, *xs, *closed_over]
    tapes = [tape for tape in active_tapes() if tape.depends(inputs)]
    keep = bool(tapes)
    with hidden_from_tapes():
        final, ys, carries = run_steps(body, carry, xs, closed_over, steps, reverse, keep)
    final = [with_values_of(one) for one in final]
    if tapes:
        outputs = [*final, *ys, *carries]
        backward = _Backward(body, len(carry), len(xs), len(ys), outputs, steps, reverse)
        saved = save([*carries, *xs, *closed_over])

        def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
            return backward(dys, restore(saved))

        names = tuple(f"input {index}" for index in range(len(inputs)))
        node = TapeNode(_NAME, names, identities(inputs), output_ids(outputs), pullback)
        for tape in tapes:
            tape.record(node)
    return final, ys


class _Backward:
    """What the gradient of one scan needs to know.

    Attributes:
        carries: How many tensors the carry is; ``xs`` and ``ys`` likewise.
        flows: Of the final carry, the outputs and the kept carries: whether gradients flow.
    """

    def __init__(
        self,
        body: Body,
        carries: int,
        xs: int,
        ys: int,
        outputs: Leaves,
        steps: int,
        reverse: bool,
    ) -> None:
        self.body = body
        self.carries = carries
        self.xs = xs
        self.ys = ys
        self.flows = [is_differentiable(one.dtype) for one in outputs]
        self.specs = [one.spec for one in outputs]
        self.steps = steps
        self.reverse = reverse

    def __call__(self, dys: list[Tensor | None], kept: Leaves) -> list[Tensor | None]:
        """Return the gradients of carry, ``xs`` and what is closed over."""
        count = self.carries
        carries, xs, closed_over = (
            kept[:count],
            kept[count : count + self.xs],
            kept[count + self.xs :],
        )
        given = [
            dy
            if dy is not None or not flows
            else creation.zeros(spec.shape, dtype=OBJECTS[spec.dtype])
            for dy, flows, spec in zip(dys, self.flows, self.specs, strict=True)
        ]
        last = [one for one in given[:count] if one is not None]
        upstream = [one for one in given[count : count + self.ys] if one is not None]
        to_carries = [one for one in given[count + self.ys :] if one is not None]
        if all(dy is None for dy in dys[count + self.ys :]):
            to_carries = []
        sloped = [one for one in closed_over if is_differentiable(one.dtype)]
        start = [*last, *[creation.zeros_like(one) for one in sloped]]
        step = _step_of(self.body, count, self.xs, len(upstream), len(to_carries))
        final, slopes = recorded(
            step,
            start,
            [*carries, *xs, *upstream, *to_carries],
            closed_over,
            self.steps,
            not self.reverse,
        )
        return [
            *_in_place(final[: len(last)], carries),
            *_in_place(slopes, xs),
            *_in_place(final[len(last) :], closed_over),
        ]


def _step_of(body: Body, *counts: int) -> _BackwardStep:
    """Return the gradient of a step, that of earlier scans where those are kept."""
    if getattr(body, "recordings", None) is None:
        return _BackwardStep(body, *counts)
    derived: dict[Any, _BackwardStep] = body.derived  # type: ignore[attr-defined]  # what keeps has both
    if counts not in derived:
        derived[counts] = _BackwardStep(body, *counts)
        derived[counts].recordings = {}
    return derived[counts]


class _BackwardStep:
    """One step of the gradient: upstream gradients of a step's results to those of its inputs."""

    def __init__(self, body: Body, carries: int, xs: int, ys: int, to_carries: int) -> None:
        self._body = body
        self._carries = carries
        self._xs = xs
        self._ys = ys
        self._to_carries = to_carries
        self.recordings: dict[int, Any] | None = None
        self.derived: dict[Any, _BackwardStep] = {}
        self.__qualname__ = f"the gradient of {getattr(body, '__qualname__', 'a function')}"

    def __call__(self, slopes: Leaves, given: Leaves, closed_over: Leaves) -> tuple[Leaves, Leaves]:
        """Return the gradients of the carry, with the sums of those closed over, and of ``x``."""
        count = self._carries
        carry, x = given[:count], given[count : count + self._xs]
        rest = given[count + self._xs :]
        upstream, to_carries = rest[: self._ys], rest[self._ys :]
        sources = [one for one in (*carry, *x, *closed_over) if is_differentiable(one.dtype)]
        tape = Tape(watch_variables=False)
        with recording(tape):
            for one in sources:
                tape.watch(one)
            new, ys = self._body(carry, x, closed_over)
        targets = [one for one in (*new, *ys) if is_differentiable(one.dtype)]
        flowing = len([one for one in new if is_differentiable(one.dtype)])
        arriving = [*slopes[:flowing], *upstream]
        found = tape.backward(targets, arriving, [one._id for one in sources])
        all_slopes = [
            found[one._id] if one._id in found else creation.zeros_like(one) for one in sources
        ]
        own = all_slopes[:flowing]
        if self._to_carries:
            own = [a + b for a, b in zip(own, to_carries, strict=True)]
        inputs = len([one for one in x if is_differentiable(one.dtype)])
        sums = [
            a + b for a, b in zip(slopes[flowing:], all_slopes[flowing + inputs :], strict=True)
        ]
        return [*own, *sums], all_slopes[flowing : flowing + inputs]


def _in_place(slopes: Leaves, like: Leaves) -> list[Tensor | None]:
    """Return gradients at the places of tensors through which they flow, None at the others."""
    rest = iter(slopes)
    return [next(rest) if is_differentiable(one.dtype) else None for one in like]
