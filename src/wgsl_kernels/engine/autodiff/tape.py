"""The tape: what ran, in order, and the walk back over it that computes gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.nodes import Entry, FormNode, TapeNode, entry_of
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.execute import Observer, Result
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import WatchingTape, tapes_within
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.plans import Plan
    from wgsl_kernels.engine.execution.variables import Variable

Lazy = Tensor | Callable[[], Tensor]
"""What a rule may return for one input: its gradient, or what computes it if it is wanted."""


class Tape(Observer, WatchingTape):
    """Records kernel runs that depend on something watched; an interceptor of `run_kernel`.

    Attributes:
        reads: The lines at which watched values were read, in order; see `watched_reads`.
    """

    def __init__(self, *, watch_variables: bool = True) -> None:
        self.nodes: list[TapeNode | Entry] = []
        self.tracked: set[int] = set()
        self.variables: dict[int, Variable] = {}
        self.watch_variables = watch_variables
        self.reads: dict[str, None] = {}

    def stop(self) -> None:
        """Forget what was recorded, and record nothing more, also where still in force."""
        self.nodes.clear()
        self.tracked.clear()
        self.variables.clear()
        self.reads.clear()
        self.watch_variables = False

    def watch(self, tensor: Tensor) -> None:
        """Record what depends on ``tensor`` from now on."""
        self.tracked.add(tensor._id)

    def watches(self, tensor: Tensor) -> bool:
        """Say whether what depends on ``tensor`` is recorded; unlike `depends`, change nothing."""
        return tensor._id in self.tracked or (tensor.trainable and self.watch_variables)

    def ran(self, plan: Plan, inputs: tuple[Any, ...], result: Result) -> None:
        """Record a kernel that ran along ``plan``; its outputs are tracked from now on."""
        entry = entry_of(plan, inputs, result)
        if isinstance(entry, TapeNode):
            self.record(entry)
            return
        self.nodes.append(entry)
        if entry[2]:
            self.tracked.add(entry[2])

    def depends(self, inputs: Iterable[Any]) -> bool:
        """Say whether any input is tracked; a trainable variable is from now on."""
        found = False
        tracked = self.tracked
        for one in inputs:
            if type(one) is Tensor:
                if one._id in tracked:
                    found = True
                continue
            if not isinstance(one, Tensor):
                found = (one is not None and self.depends(one)) or found
                continue
            if one.trainable and self.watch_variables and one._id not in self.variables:
                self.variables[one._id] = one  # type: ignore[assignment]  # only these are trainable
                tracked.add(one._id)
            if one._id in tracked:
                found = True
        return found

    def record(self, node: TapeNode) -> None:
        """Append ``node``; its outputs are tracked from now on."""
        self.nodes.append(node)
        for one in node.outputs:
            if one:
                self.tracked.add(one)

    def backward(
        self, targets: Sequence[Tensor], upstream: Sequence[Tensor], sources: Sequence[int]
    ) -> dict[int, Tensor]:
        """Return the gradients of ``targets``, weighted by ``upstream``, by id of source.

        A source that no target depends on is left out, and so is one that this tape did not watch:
        what ran before is not recorded, so its gradient would be a part only.

        Raises:
            GradientNotFound: A kernel on the way has no gradient.
        """
        sources = [one for one in sources if one in self.tracked]
        between = self._between(sources)
        gradients: dict[int, Tensor] = {}
        for target, dy in zip(targets, upstream, strict=True):
            _accumulate(gradients, target._id, dy)
        wanted = set(sources)
        for node, active in reversed(between):
            dys = [
                gradients.get(one) if one in wanted else gradients.pop(one, None)
                for one in node.outputs
            ]
            if all(dy is None for dy in dys):
                continue
            _spread(node, active, node.pullback(dys), gradients)
        return {one: gradients[one] for one in sources if one in gradients}

    def _between(self, sources: Sequence[int]) -> list[tuple[TapeNode | FormNode, set[int]]]:
        """Return the nodes that depend on a source, each with the inputs that do."""
        reached = set(sources)
        found: list[tuple[TapeNode | FormNode, set[int]]] = []
        for entry in self.nodes:
            node = entry if isinstance(entry, TapeNode) else FormNode(*entry)
            active = {one[0] for one in node.inputs if one is not None and one[0] in reached}
            if active:
                reached.update(one for one in node.outputs if one)
                found.append((node, active))
        return found


def flat(inputs: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among inputs, lists opened, absent ones left out."""
    for one in inputs:
        if isinstance(one, Tensor):
            yield one
        elif one is not None:
            yield from one


def recording(tape: Tape) -> context.ContextBlock:
    """Let ``tape`` see the kernel runs of a block."""
    return context.intercepted(tape)


def active_tapes() -> list[Tape]:
    """Return the tapes that record in this thread, outermost first; none beyond a boundary."""
    return [one for one in tapes_within(context.current().interceptors) if isinstance(one, Tape)]


def refuse_beyond_boundary(op: str) -> None:
    """Refuse what records a rule of its own where a tape beyond a boundary would miss it.

    Raises:
        ArgumentError: There is one.
    """
    interceptors = context.current().interceptors
    known = tapes_within(interceptors)
    if any(isinstance(one, Tape) and one not in known for one in interceptors):
        raise ArgumentError(
            f"{op}: under vmap its gradient is taken inside, not outside: write vmap(grad(f)) in "
            "place of grad(vmap(f))."
        )


def _spread(
    node: TapeNode | FormNode, active: set[int], found: Sequence[Any], gradients: dict[int, Tensor]
) -> None:
    for given, dx in zip(node.inputs, found, strict=True):
        if given is None or dx is None or given[0] not in active:
            continue
        identity, spec = given
        if callable(dx):
            dx = dx()
            if dx is None:
                continue
        if not isinstance(dx, Tensor):
            raise ArgumentError(f"{node.name}: the gradient function gave {dx!r}; want a tensor.")
        if dx.shape != spec.shape:
            raise ShapeError(
                f"{node.name}: a gradient has shape {show(dx.shape)}, its input "
                f"{show(spec.shape)}; sum over broadcast axes with unbroadcast(dy, x_shape)."
            )
        if dx.spec.dtype != spec.dtype:
            dx = run("Cast", dx, dtype=spec.dtype)
        _accumulate(gradients, identity, dx)


def _accumulate(gradients: dict[int, Tensor], identity: int, dx: Tensor) -> None:
    present = gradients.get(identity)
    gradients[identity] = dx if present is None else run("Add", present, dx)
