"""custom_grad: a function with a gradient of its own, past the registry."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.nodes import (
    Pullback,
    TapeNode,
    identities,
    output_ids,
    restore,
    save,
)
from wgsl_kernels.engine.autodiff.rule_calls import Zeros, call_rule, filled, zeros_for
from wgsl_kernels.engine.autodiff.tape import (
    Tape,
    active_tapes,
    recording,
    refuse_beyond_boundary,
)
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.gradients import missing
from wgsl_kernels.engine.tensors.entries import substituted
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike, with_values_of
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NAME = "custom_grad"


def custom_grad(f: Callable[..., Any], *, none: bool = False) -> Callable[..., Any]:
    """Return ``f`` with the gradient that it gives itself.

    ``f(*tensors, save)`` returns ``(value, grad_func)``. Call ``save([t, ...])`` for tensors that
    the gradient needs; it is left out where ``f`` takes no ``save``. ``grad_func(dy, saved)``
    returns one gradient or None per tensor, or a bare one where ``f`` takes one tensor. Where the
    value is a tuple, so is ``dy``: zeros stand for values that nobody used, and None for those
    through which no gradient flows (integers, bools, strings). The registry is never consulted.

    Args:
        f: The function.
        none: Whether values that nobody used have None in place of zeros.

    Example:
        >>> def both(x):
        ...     return (x * x, x + x), lambda dy, saved: dy[0] * 100.0 + dy[1]
        >>> wk.grad(lambda x: wk.custom_grad(both)(x)[1])(wk.tensor(3.0)).item()
        1.0

    Raises:
        ArgumentError: ``f`` does not return such a pair, or reads a trainable variable that is
            not among its arguments while a tape records.
    """
    function("custom_grad", "f", f)
    takes_save = "save" in parameters_of(f).names

    @functools.wraps(f)
    def wrapped(*xs: TensorLike) -> Any:
        refuse_beyond_boundary(_NAME)
        inputs = [substituted(as_tensor(x)) for x in xs]
        saved: list[Tensor] = []
        keywords = {"save": saved.extend} if takes_save else {}
        probe = Tape()
        with hidden_from_tapes(), recording(probe):
            for x in inputs:
                probe.watch(x)
            found = f(*inputs, **keywords)
        value, grad_func = _checked(found)
        values = [_fresh(one) for one in value] if isinstance(value, tuple) else [_fresh(value)]
        tapes = active_tapes()
        if tapes:
            _refuse_unpassed(probe, inputs)
            kept = _kept(saved, inputs, value if isinstance(value, tuple) else (value,), values)
            zeros = None if none or not isinstance(value, tuple) else zeros_for(values)
            node = _node(inputs, values, kept, grad_func, isinstance(value, tuple), zeros)
            foreign = _foreign(probe, inputs, values, kept)
            for tape in tapes:
                if tape.depends(inputs):
                    tape.record(node)
                    for one in foreign:
                        tape.record(_closed(inputs, one))
        return tuple(values) if isinstance(value, tuple) else values[0]

    return wrapped


def _checked(found: Any) -> tuple[Any, Callable[..., Any]]:
    if isinstance(found, tuple) and len(found) == 2 and callable(found[1]):
        return found
    raise ArgumentError(f"{_NAME}: f gave {found!r}; want (value, grad_func).")


def _takes_two(grad_func: Callable[..., Any]) -> bool:
    try:
        inspect.signature(grad_func).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # nothing says what it takes
        pass
    return True


def _fresh(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{_NAME}: the value is {value!r}; want a tensor or a tuple of them.")
    return with_values_of(value)


def _kept(
    saved: Sequence[Tensor],
    inputs: Sequence[Tensor],
    originals: Sequence[Tensor],
    values: Sequence[Tensor],
) -> list[Tensor]:
    """Return what was saved, as tapes outside know it: an input as itself, a value as returned."""
    renamed = dict(zip([one._id for one in originals], values, strict=True))
    renamed.update({one._id: one for one in inputs})
    return [renamed.get(one._id, one) for one in saved]


def _refuse_unpassed(probe: Tape, inputs: Sequence[Tensor]) -> None:
    passed = {one._id for one in inputs}
    for identity, variable in probe.variables.items():
        if identity not in passed:
            raise ArgumentError(
                f"{_NAME}: f reads the trainable variable {variable.name!r}, which is not among "
                "its arguments, so its gradient would be lost. Pass it, or stop_gradient it."
            )


def _node(
    inputs: Sequence[Tensor],
    values: Sequence[Tensor],
    kept: Sequence[Tensor],
    grad_func: Callable[..., Any],
    several: bool,
    zeros: Zeros | None,
) -> TapeNode:
    saved = save(list(kept))

    def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
        dy = dys[0] if not several else tuple(dys) if zeros is None else filled(dys, zeros)
        try:
            found = call_rule(_NAME, grad_func, grad_func, dy, restore(saved))
        except TypeError as error:
            if not _takes_two(grad_func):
                error.args = (f"{error}; want grad_func(dy, saved), saved what save was given.",)
            raise
        given = found if isinstance(found, (tuple, list)) else [found]
        if len(given) != len(inputs_ids):
            raise ArgumentError(
                f"{_NAME}: grad_func gave {len(given)} gradients for {len(inputs_ids)} inputs; "
                "want one or None for each."
            )
        later = functools.partial(call_rule, _NAME, grad_func)
        return [functools.partial(later, x) if callable(x) else x for x in given]

    inputs_ids = identities(inputs)
    names = tuple(f"input {index}" for index in range(len(inputs)))
    return TapeNode(_NAME, names, inputs_ids, output_ids(values), pullback)


def _foreign(
    probe: Tape, inputs: Sequence[Tensor], values: Sequence[Tensor], kept: Sequence[Tensor]
) -> list[Tensor]:
    """Return what was saved, depends on the inputs, and is neither input nor value."""
    known = {one._id for one in (*inputs, *values)}
    return [one for one in kept if one._id not in known and one._id in probe.tracked]


def _closed(inputs: Sequence[Tensor], saved: Tensor) -> TapeNode:
    def pullback(dys: list[Tensor | None]) -> Sequence[Any]:
        raise missing(
            _NAME,
            ["a saved tensor"],
            "it is neither input nor value of the function, so how it depends on the inputs is "
            "not recorded. Save inputs or values only and compute it from them in grad_func",
        )

    handler: Pullback = pullback
    return TapeNode(_NAME, ("saved",), identities(inputs), [saved._id], handler)
