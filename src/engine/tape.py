"""The tape: what ran, in order, and the walk back over it that computes gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine import context
from wgsl_kernels.engine.dtypes import is_differentiable
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import (
    GradientRule,
    Keeping,
    Wanted,
    bind,
    find_rule,
    missing,
)
from wgsl_kernels.engine.run import Call, Proceed, Result, run
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.signature import output_names
from wgsl_kernels.engine.tensor import Tensor, Variable

if TYPE_CHECKING:
    from wgsl_kernels.engine.driver import Driver
    from wgsl_kernels.engine.plans import Plan
    from wgsl_kernels.engine.spec import Spec

Lazy = Tensor | Callable[[], Tensor]
"""What a rule may return for one input: its gradient, or what computes it if it is wanted."""

Pullback = Callable[[list[Tensor | None]], Sequence[Any]]
"""From one arriving gradient per output (None: none came) to one value per input."""


class Saved(NamedTuple):
    """The values of a tensor, safe from disposing and assigning, and its identity for tapes."""

    spec: Spec
    array: Any
    driver: Driver
    id: int

    def restore(self) -> Tensor:
        """Return a tensor of these values that tapes take for the one that was saved."""
        return Tensor(self.spec, self.array, self.driver, self.id)


def save(value: Any) -> Any:
    """Return what keeps the values of a tensor, of a list of them, or of an absent one."""
    if isinstance(value, Tensor):
        return Saved(value.spec, value.array, value.driver, value.id)
    return None if value is None else [save(one) for one in value]


def restore(saved: Any) -> Any:
    """Return the tensors that `save` kept."""
    if isinstance(saved, Saved):
        return saved.restore()
    return [restore(one) for one in saved] if isinstance(saved, list) else saved


class Node:
    """One kernel run on the tape: who came in, who went out, and how gradients go back."""

    __slots__ = ("inputs", "name", "names", "outputs", "pullback")

    def __init__(
        self,
        name: str,
        names: tuple[str, ...],
        inputs: list[tuple[int, Spec] | None],
        outputs: list[int],
        pullback: Pullback,
    ) -> None:
        self.name = name
        self.names = names
        self.inputs = inputs
        self.outputs = outputs
        self.pullback = pullback


class Tape:
    """Records kernel runs that depend on something watched; an interceptor of `run_kernel`."""

    def __init__(self, *, watch_variables: bool = True) -> None:
        self.nodes: list[Node] = []
        self.tracked: set[int] = set()
        self.variables: dict[int, Variable] = {}
        self.watch_variables = watch_variables

    def stop(self) -> None:
        """Forget what was recorded, and record nothing more, also where still in force."""
        self.nodes.clear()
        self.tracked.clear()
        self.variables.clear()
        self.watch_variables = False

    def watch(self, tensor: Tensor) -> None:
        """Record what depends on ``tensor`` from now on."""
        self.tracked.add(tensor.id)

    def __call__(self, call: Call, proceed: Proceed) -> Result:
        """Let the kernel run, then record it where an input is tracked."""
        depends = self.depends(call.inputs)  # before another interceptor replaces a variable
        result = proceed(call)
        if depends and call.plan is not None:
            self.record(_node_of(call.plan, call.inputs, result))
        return result

    def depends(self, inputs: Iterable[Any]) -> bool:
        """Say whether any input is tracked; a trainable variable is from now on."""
        found = False
        for one in flat(inputs):
            if one.trainable and self.watch_variables and one.id not in self.variables:
                self.variables[one.id] = one  # type: ignore[assignment]  # only these are trainable
                self.tracked.add(one.id)
            found = found or one.id in self.tracked
        return found

    def record(self, node: Node) -> None:
        """Append ``node``; its outputs are tracked from now on."""
        self.nodes.append(node)
        self.tracked.update(one for one in node.outputs if one)

    def backward(
        self, targets: Sequence[Tensor], arriving: Sequence[Tensor], sources: Sequence[int]
    ) -> dict[int, Tensor]:
        """Return the gradients of ``targets``, weighted by ``arriving``, by id of source.

        A source that no target depends on is left out, and so is one that this tape did not watch:
        what ran before is not recorded, so its gradient would be a part only.

        Raises:
            GradientNotFound: A kernel on the way has no gradient.
        """
        sources = [one for one in sources if one in self.tracked]
        between = self._between(sources)
        gradients: dict[int, Tensor] = {}
        for target, dy in zip(targets, arriving, strict=True):
            _accumulate(gradients, target.id, dy)
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

    def _between(self, sources: Sequence[int]) -> list[tuple[Node, set[int]]]:
        """Return the nodes that depend on a source, each with the inputs that do."""
        reached = set(sources)
        found: list[tuple[Node, set[int]]] = []
        for node in self.nodes:
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


@contextmanager
def recording(tape: Tape) -> Iterator[Tape]:
    """Let ``tape`` see the kernel runs of the block."""
    context.push_interceptor(tape)
    try:
        yield tape
    finally:
        context.pop_interceptor(tape)


def active_tapes() -> list[Tape]:
    """Return the tapes that record in this thread, outermost first."""
    return [one for one in context.current().interceptors if isinstance(one, Tape)]


@contextmanager
def hidden_from_tapes() -> Iterator[None]:
    """Let no tape see the kernel runs of the block; other interceptors do."""
    kept = tuple(one for one in context.current().interceptors if not isinstance(one, Tape))
    with context.changed(interceptors=kept):
        yield


def identities(inputs: Iterable[Any]) -> list[tuple[int, Spec] | None]:
    """Return id and spec of each input through which gradients flow, lists opened in place."""
    found: list[tuple[int, Spec] | None] = []
    for value in inputs:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            flows = one is not None and is_differentiable(one.dtype)
            found.append((one.id, one.spec) if flows else None)
    return found


def output_ids(outputs: Iterable[Tensor]) -> list[int]:
    """Return the id of each output, 0 for one that ends the tape (integers, bools, strings)."""
    return [one.id if is_differentiable(one.dtype) else 0 for one in outputs]


def _node_of(plan: Plan, inputs: tuple[Any, ...], result: Result) -> Node:
    single = not isinstance(result, tuple)
    outputs = result if isinstance(result, tuple) else (result,)
    keeping = plan.keeping
    rule = context.current().gradients.get(plan.name)
    if rule is None and plan.pattern is None:
        rule = find_rule(plan.name)  # without a signature, outputs are known only now
    if rule is not None and rule.func is not None:
        count = None if single else len(outputs)
        names = plan.output_names or output_names(plan.input_names, count)
        keeping = bind(rule, plan.input_names, names, tuple(plan.attrs))
    elif rule is not None:
        keeping = Keeping(rule, ())
    return Node(
        plan.name,
        plan.input_names,
        identities(inputs),
        output_ids(outputs),
        _pullback(plan, keeping, inputs, outputs, single),
    )


def _pullback(
    plan: Plan,
    keeping: Keeping | None,
    inputs: tuple[Any, ...],
    outputs: tuple[Tensor, ...],
    single: bool,
) -> Pullback:
    lengths = [len(one) if isinstance(one, (list, tuple)) else None for one in inputs]
    if keeping is None or keeping.rule.func is None:
        because = "" if keeping is None else keeping.rule.because
        named = zip(plan.input_names, inputs, strict=True)
        flowing = [one for one, value in named if any(identities([value]))]
        return _refusing(plan.name, flowing or plan.input_names, because)
    kept = [_fact(one, plan, inputs, outputs) for one in keeping.wanted]
    rule = keeping.rule

    def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
        dy = dys[0] if single else tuple(dys)
        func = rule.func
        assert func is not None
        found = func(dy, *[restore(one) for one in kept])
        return _per_input(rule, found, plan.input_names, lengths)

    return pullback


def _refusing(name: str, inputs: Sequence[str], because: str) -> Pullback:
    def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
        raise missing(name, inputs, because)

    return pullback


def _fact(wanted: Wanted, plan: Plan, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> Any:
    if wanted.source == "attr":
        return plan.attrs[str(wanted.index)]
    value = (inputs if wanted.source == "input" else outputs)[int(wanted.index)]
    if wanted.fact == "value":
        return save(value)
    if isinstance(value, (list, tuple)):
        return [getattr(one, wanted.fact) for one in value]
    return None if value is None else getattr(value, wanted.fact)


def _per_input(
    rule: GradientRule, found: Any, names: tuple[str, ...], lengths: list[int | None]
) -> list[Any]:
    """Return one gradient per input, lists opened, of whatever form the rule returned."""
    if isinstance(found, dict):
        unknown = [one for one in found if one not in names]
        if unknown:
            raise ArgumentError(
                f"{rule.name}: the gradient function gave {unknown[0]!r}; "
                f"the inputs are {', '.join(names)}."
            )
        values: Sequence[Any] = [found.get(one) for one in names]
    elif len(names) == 1 and (found is None or isinstance(found, Tensor) or lengths[0] is not None):
        bare = isinstance(found, tuple) and len(found) == 1 and isinstance(found[0], (list, tuple))
        values = found if bare else [found]
    else:
        values = found if isinstance(found, (tuple, list)) else [found]
    if len(values) != len(names):
        raise ArgumentError(
            f"{rule.name}: the gradient function gave {len(values)} values; "
            f"want one for each of {', '.join(names)} (None allowed)."
        )
    opened: list[Any] = []
    for value, length in zip(values, lengths, strict=True):
        if length is None:
            opened.append(value)
        else:
            opened.extend([None] * length if value is None else value)
    return opened


def _spread(
    node: Node, active: set[int], found: Sequence[Any], gradients: dict[int, Tensor]
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
        if dx.dtype != spec.dtype:
            dx = run("Cast", dx, dtype=spec.dtype)
        _accumulate(gradients, identity, dx)


def _accumulate(gradients: dict[int, Tensor], identity: int, dx: Tensor) -> None:
    present = gradients.get(identity)
    gradients[identity] = dx if present is None else run("Add", present, dx)
