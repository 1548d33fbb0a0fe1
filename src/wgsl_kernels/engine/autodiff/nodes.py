"""The entries of a tape: who came in, who went out, and what a rule needs to go back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wgsl_kernels.engine.autodiff.rule_calls import Zeros, call_rule, filled, zeros_for
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, GradientNotFound
from wgsl_kernels.engine.environment.suggestions import did_you_mean
from wgsl_kernels.engine.registry.gradients import (
    GradientRule,
    Keeping,
    RuleParameter,
    bind,
    find_rule,
    missing,
)
from wgsl_kernels.engine.registry.registrations import look_up
from wgsl_kernels.engine.registry.signature import output_names
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.execution.execute import Result
    from wgsl_kernels.engine.execution.plans import Plan
    from wgsl_kernels.engine.values.spec import Spec

Pullback = Callable[[list[Tensor | None]], Sequence[Any]]
"""From one upstream gradient per output (None: none came) to one value per input."""


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
        return Saved(value.spec, value._array, value._driver, value._id)
    return None if value is None else [save(one) for one in value]


def restore(saved: Any) -> Any:
    """Return the tensors that `save` kept."""
    if isinstance(saved, Saved):
        return saved.restore()
    return [restore(one) for one in saved] if isinstance(saved, list) else saved


class TapeNode:
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


def identities(inputs: Iterable[Any]) -> list[tuple[int, Spec] | None]:
    """Return id and spec of each input through which gradients flow, lists opened in place."""
    found: list[tuple[int, Spec] | None] = []
    for value in inputs:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            flows = one is not None and is_differentiable(one.dtype)
            found.append((one._id, one.spec) if flows else None)
    return found


def output_ids(outputs: Iterable[Tensor]) -> list[int]:
    """Return the id of each output, 0 for one that ends the tape (integers, bools, strings)."""
    return [one._id if is_differentiable(one.dtype) else 0 for one in outputs]


class _Form:
    """What the tape's entries of one plan have in common, where they do.

    Attributes:
        plan: The plan.
        specs: The specs of the inputs, None for absent ones.
        flows: For each input its spec where a gradient flows through it.
        ends: Whether the output ends the tape.
        facts: What the rule is given after dy, with None where a value belongs.
        values: Which of them are values: place, whether of an input, and its index.
        is_full: Whether no input is absent.
        saved: Where they come from: the number of an input, or -1 for the output.
        pull: The function that takes such facts with the values filled in, then the dys.
    """

    __slots__ = (
        "ends", "facts", "flows", "is_full", "plan", "pull", "saved", "specs", "values",
    )  # fmt: skip

    def __init__(self, plan: Plan, keeping: Keeping, inputs: Sequence[Tensor | None]) -> None:
        assert plan.output is not None
        self.flows = [
            None if one is None or not is_differentiable(one.dtype) else one.spec for one in inputs
        ]
        self.ends = not is_differentiable(plan.output.dtype)
        self.plan = plan
        self.specs = specs = tuple([None if one is None else one.spec for one in inputs])
        self.facts: list[Any] = []
        self.values: list[tuple[int, bool, int]] = []
        for place, wanted in enumerate(keeping.wanted):
            if wanted.source != "attr" and wanted.fact == "value":
                self.values.append((place, wanted.source == "input", int(wanted.index)))
                self.facts.append(None)
            else:
                self.facts.append(_fact(wanted, plan, specs, (plan.output,)))
        self.is_full = None not in specs
        self.saved = [index if is_input else -1 for _, is_input, index in self.values]
        lengths: list[int | None] = [None] * len(inputs)
        self.pull = partial(_pull, keeping.rule, plan.input_names, lengths, True, None)


Entry: TypeAlias = "tuple[_Form, tuple[int, ...], int, list[Any]]"
"""What becomes a `FormNode` when gradients go back through it: a plain tuple, as is quickest."""


class FormNode:
    """A `TapeNode` of a plan with a form."""

    __slots__ = ("_form", "_ids", "_kept", "outputs")

    outputs: tuple[int, ...]
    """The id of the output, 0 where it ends the tape."""

    def __init__(self, form: _Form, ids: tuple[int, ...], output: int, kept: list[Any]) -> None:
        """Take the ids of the inputs and of the output, and the arrays that the rule needs."""
        self._form = form
        self._ids = ids
        self._kept = kept
        self.outputs = (output,)

    @property
    def name(self) -> str:
        return self._form.plan.name

    @property
    def names(self) -> tuple[str, ...]:
        """What its inputs are called."""
        return self._form.plan.input_names

    @property
    def inputs(self) -> list[tuple[int, Spec] | None]:
        """Id and spec of each input through which gradients flow."""
        flowing = zip(self._ids, self._form.flows, strict=True)
        return [None if spec is None else (one, spec) for one, spec in flowing]

    @property
    def pullback(self) -> Pullback:
        """How gradients go back."""
        form = self._form
        facts = list(form.facts)
        for (place, is_input, index), kept in zip(form.values, self._kept, strict=True):
            if kept is None or isinstance(kept, Saved):
                facts[place] = kept
                continue
            spec = form.specs[index] if is_input else form.plan.output
            assert spec is not None
            identity = self._ids[index] if is_input else self.outputs[0]
            facts[place] = Saved(spec, kept, form.plan.driver, identity)
        return partial(form.pull, facts)


def _form_of(plan: Plan, inputs: tuple[Any, ...]) -> _Form | None:
    """Return the plan's form; None where there is no rule or where its entries differ in form."""
    keeping = plan.keeping
    if plan.output is None or keeping is None or keeping.rule.func is None:
        return None
    if any(isinstance(one, (list, tuple)) for one in inputs):
        return None
    form: _Form = _Form(plan, keeping, inputs)
    plan.form = form
    return form


_identity = attrgetter("_id")


def _identities(inputs: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([0 if one is None else one._id for one in inputs])


def entry_of(plan: Plan, inputs: tuple[Any, ...], result: Result) -> TapeNode | Entry:
    """Return the entry of a kernel that ran along ``plan``."""
    now = context.current()
    if now.watch is not None:
        inputs = now.watch.seen(inputs)
        look_up(("gradient", plan.name))
    overriding = now.gradients
    form = None if overriding and plan.name in overriding else plan.form or _form_of(plan, inputs)
    if form is None or not isinstance(result, Tensor):
        return _any_node(plan, inputs, result)
    kept: list[Any] = []
    driver = plan.driver
    for index in form.saved:
        one = result if index < 0 else inputs[index]
        kept.append(one._array if one is not None and one._driver is driver else save(one))
    ids = tuple(map(_identity, inputs)) if form.is_full else _identities(inputs)
    return form, ids, 0 if form.ends else result._id, kept


def _any_node(plan: Plan, inputs: tuple[Any, ...], result: Result) -> TapeNode:
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
    return TapeNode(
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
        named = zip(plan.input_names, inputs, strict=True)
        flowing = [one for one, value in named if any(identities([value]))]
        rule = None if keeping is None else keeping.rule
        return _refusing(plan.name, flowing or plan.input_names, rule)
    kept = [_fact(one, plan, inputs, outputs) for one in keeping.wanted]
    zeros = None if single or keeping.rule.none else zeros_for(outputs)
    return partial(_pull, keeping.rule, plan.input_names, lengths, single, zeros, kept)


def _pull(
    rule: GradientRule,
    names: tuple[str, ...],
    lengths: list[int | None],
    single: bool,
    zeros: Zeros | None,
    facts: list[Any],
    dys: list[Tensor | None],
) -> Sequence[Any]:
    """Call a rule on what was kept for it: a `Pullback`, once all but the dys is given."""
    func = rule.func
    assert func is not None
    dy = dys[0] if single else tuple(dys) if zeros is None else filled(dys, zeros)
    found = call_rule(rule.name, func, func, dy, *[restore(one) for one in facts])
    return _per_input(rule, found, names, lengths)


def _refusing(name: str, inputs: Sequence[str], rule: GradientRule | None) -> Pullback:
    def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
        if rule is not None and rule.refusal:
            raise GradientNotFound(rule.refusal)
        raise missing(name, inputs, "" if rule is None else rule.because)

    return pullback


def _fact(
    wanted: RuleParameter, plan: Plan, inputs: tuple[Any, ...], outputs: tuple[Any, ...]
) -> Any:
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
                f"the inputs are {', '.join(names)}.{did_you_mean(unknown[0], names)}"
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
    return [partial(call_rule, rule.name, rule.func, x) if callable(x) else x for x in opened]
