"""scan: a function run once per step on a state, recorded once and replayed, with a gradient.

Its gradient is a scan over the steps in reverse, in which each step is run again from the state
that it began at; so it is recorded once as well, and has a gradient itself. See
docs/decisions/0073-a-scan-is-a-captured-step.md.
"""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.tape import active_tapes
from wgsl_kernels.engine.capture.capture import Captured
from wgsl_kernels.engine.capture.watch import assign_all
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.trees.structure import OpaqueError, TreeDefinition
from wgsl_kernels.engine.values.attributes import flag, function, integer
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.control import recurrence_gradient
from wgsl_kernels.ops.control.purity import (
    Leaves,
    Needs,
    Pure,
    loses_gradient,
    needs_of,
    trainable_variables_kept,
    values_of,
)
from wgsl_kernels.ops.control.steps import Recordings, can_replay, run_steps
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

KEPT = 8
"""Forms of one function that are kept: one per set of tensors that it closes over."""


@public()
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    *,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Run ``carry, y = f(carry, x)`` for each ``x`` of ``xs`` and return the last carry and all y.

    On a backend that can replay, ``f`` runs in Python for the first steps only; then what the
    device did is replayed for each of the others, as by `capture`: what changes from step to step
    must be in the carry, in ``xs``, or a variable. Inside a captured function it is part of that.

    Gradients flow to ``init``, to ``xs``, and to whatever ``f`` closes over. Only the carries are
    kept for them: the gradient runs each step once more, with the values that variables which ``f``
    assigns, a random stream among them, had in that step.

    The recording goes with the call; that of a captured ``f``, as `capture` gives it, is kept for
    the next one, and what it closes over besides variables must then stay as it is.

    Args:
        f: Takes a carry and a part of ``xs`` and returns the next carry and an output, each a
            tensor or tensors in tuples, lists and dicts; None for no output.
        init: The first carry; every carry has its form, shapes and dtypes.
        xs: Tensors of one length along their first axis, in tuples, lists and dicts; None where
            ``f`` gets None.
        length: The number of steps; needed where ``xs`` is None.
        reverse: Whether to begin at the end of ``xs``; outputs stand where their inputs do.

    Returns:
        The last carry, and the outputs stacked along a new first axis.

    Raises:
        ShapeError: The lengths differ or are 0, or a carry has another shape than the first.
        ArgumentError: ``f`` does not return a pair, a carry has another form or dtype, or ``f``
            assigns a trainable variable while gradients are recorded.

    Example:
        >>> carry, sums = scan(lambda total, x: (total + x, total + x), 0.0, [1.0, 2.0, 3.0])
        >>> carry.item(), sums.tolist()
        (6.0, [1.0, 3.0, 6.0])
        >>> grad(lambda x: scan(lambda p, x: (p * x, None), 1.0, x)[0])(tensor([2.0, 3.0])).tolist()
        [3.0, 2.0]
    """
    function("scan", "f", f)
    backwards = flag("scan", "reverse", reverse)
    first, inputs = _flattened("init", init), _flattened("xs", xs)
    steps = _length(inputs.tensors, length)
    structure = _structure_of(f, first, inputs)
    if not active_tapes() or not can_replay():
        # without replays the tapes see each step itself, and no step runs twice
        with trainable_variables_kept() if active_tapes() else nullcontext():
            carry, ys, _ = run_steps(
                structure, first.tensors, inputs.tensors, [], steps, backwards, False
            )
    else:
        carry, ys = _differentiable(structure, first.tensors, inputs.tensors, steps, backwards)
    outputs = structure.outputs
    assert outputs is not None  # at least one step ran
    return first.filled(carry), outputs.filled(ys)


def _differentiable(
    structure: _FlatFunction, carry: Leaves, xs: Leaves, steps: int, reverse: bool
) -> tuple[Leaves, Leaves]:
    """Return the last carry and the outputs of steps that tapes see as one."""
    place = steps - 1 if reverse else 0
    with hidden_from_tapes():
        probe = [x[place] for x in xs]
    needs = needs_of(lambda: structure(carry, probe, []))
    for one in needs.assigned:
        if one.trainable:
            raise loses_gradient(one)
    body = structure.pure(needs)
    state = [values_of(variable) for variable in needs.assigned]
    final, ys = recurrence_gradient.recorded(
        body, [*carry, *state], xs, needs.closed_over, steps, reverse
    )
    count = len(carry)
    with hidden_from_tapes():
        assign_all(list(zip(needs.assigned, final[count:], strict=True)))
    return final[:count], ys


class _FlatFunction:
    """A user's function on flat lists of tensors.

    Attributes:
        outputs: The form of its outputs, once it ran.
        recordings: What is kept of it from scan to scan, if anything is; see `run_steps`.
    """

    def __init__(
        self, f: Callable[[Any, Any], Any], carry: TreeDefinition, xs: TreeDefinition
    ) -> None:
        self._f = f
        self._carry = carry
        self._xs = xs
        self._form = repr(_emptied(carry))
        self._pure: dict[Hashable, Pure] = {}
        self.outputs: TreeDefinition | None = None
        self.recordings: Recordings | None = None
        self.__qualname__ = str(getattr(f, "__qualname__", f))

    def pure(self, needs: Needs) -> Pure:
        """Return the step with what it needs as arguments, that of an earlier scan if kept."""
        if self.recordings is None:
            return Pure(self, needs)
        key = (
            tuple([one._id for one in needs.closed_over]),
            tuple([one._id for one in needs.assigned]),
        )
        found = self._pure.get(key)
        if found is None:
            if len(self._pure) >= KEPT:
                self._pure.clear()
            found = self._pure[key] = Pure(self, needs)
            found.recordings = {}
        return found

    def __call__(self, carry: Leaves, x: Leaves, closed_over: Leaves) -> tuple[Leaves, Leaves]:
        """Run a step; what the function closes over is as it is."""
        del closed_over
        pair = self._f(self._carry.filled(carry), self._xs.filled(x))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(f"scan: f gave {shown(pair)}; want (carry, output).")
        new, self.outputs = _flattened("the new carry", pair[0]), _flattened("y", pair[1])
        if repr(_emptied(new)) != self._form:
            raise ArgumentError(
                f"scan: f gave the carry {_emptied(new)}; want the form of init, "
                f"{_emptied(self._carry)}."
            )
        for before, after in zip(carry, new.tensors, strict=True):
            if before.spec != after.spec:
                kind = ShapeError if before.shape != after.shape else ArgumentError
                raise kind(
                    f"scan: a carry of {before.dtype}{show(before.shape)} became "
                    f"{after.dtype}{show(after.shape)}; want the same in each step."
                )
        return new.tensors, self.outputs.tensors


def _structure_of(
    f: Callable[[Any, Any], Any], carry: TreeDefinition, xs: TreeDefinition
) -> _FlatFunction:
    """Return a function on flat lists; of a captured one that of earlier scans of this form."""
    if not isinstance(f, Captured):
        return _FlatFunction(f, carry, xs)
    form = repr((_emptied(carry), _emptied(xs)))
    found: _FlatFunction | None = f._flat_forms.get(form)
    if found is None:
        found = f._flat_forms[form] = _FlatFunction(f.function, _form_of(carry), _form_of(xs))
        found.recordings = {}
    return found


def _form_of(template: TreeDefinition) -> TreeDefinition:
    """Return a template that holds no tensors."""
    found = copy(template)
    found.tensors = []
    return found


def _flattened(name: str, value: Any) -> TreeDefinition:
    """Return the form of nested tensors, with numbers and arrays made tensors."""
    try:
        return TreeDefinition(_as_tensors(value))
    except OpaqueError:
        raise ArgumentError(
            f"scan: {name} is {shown(value)}; want tensors in tuples, lists and dicts."
        ) from None


def _as_tensors(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, dict):
        return {name: _as_tensors(one) for name, one in value.items()}
    if isinstance(value, tuple):
        items = [_as_tensors(one) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list) and any(_is_nested(one) for one in value):
        return [_as_tensors(one) for one in value]
    return as_tensor(value)


def _is_nested(value: Any) -> bool:
    """Say whether a value is, or a list holds at any depth, a tensor, a tuple, a dict or None."""
    open_, seen = [value], set[int]()
    while open_:
        one = open_.pop()
        if one is None or isinstance(one, (Tensor, dict, tuple)):
            return True
        if isinstance(one, list) and id(one) not in seen:  # it may hold itself
            seen.add(id(one))
            open_ += one
    return False


def _emptied(template: TreeDefinition) -> Any:
    """Return the form with a word in place of each tensor."""
    return template.filled(["tensor"] * template.count)  # type: ignore[list-item]  # to be shown


def _length(xs: Sequence[Tensor], length: int | None) -> int:
    found = {one.shape[0] if one.ndim else None for one in xs}
    if None in found:
        raise ShapeError("scan: xs holds a scalar; want tensors of [steps, ...].")
    if length is not None:
        found.add(integer("scan", "length", length))
    if not found:
        raise ArgumentError("scan: xs and length are None; want one of them.")
    if len(found) > 1:
        known = ", ".join(str(one) for one in sorted(one for one in found if one is not None))
        raise ShapeError(f"scan: xs and length have lengths {known}; want one.")
    (steps,) = found
    if steps is None or steps < 1:
        raise ShapeError(f"scan: there are {steps} steps; want at least 1.")
    return steps
