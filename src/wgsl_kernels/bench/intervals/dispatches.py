"""A dispatch on intervals: its text, parameters and buffers, and all of its invocations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.bench.intervals.library import LIBRARY
from wgsl_kernels.bench.intervals.memory import pattern_of, words_of
from wgsl_kernels.bench.intervals.numbers import Number, OutOfReachError, exact, rounded
from wgsl_kernels.bench.intervals.statements import Machine
from wgsl_kernels.bench.intervals.values import (
    Address,
    Cell,
    Many,
    Value,
    coerced,
    zero,
)
from wgsl_kernels.bench.intervals.words import BufferRange, Words, decode
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.wgsl.lint.remarks import builtin_named
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.types.kinds import Scalar, Type, Vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.bench.intervals.numbers import Array

MOST_INVOCATIONS = 1 << 14
"""Invocations of a dispatch that is computed on intervals."""


class _Prepared(NamedTuple):
    """A text read.

    Attributes:
        module: Its tree.
        library: Its functions of which the library, or the composer, states the error.
    """

    module: tree.Module
    library: frozenset[str]


_prepared: Recent[str, _Prepared] = Recent(200_000)  # bytes of a tree, about


def _prepare(dispatch: Dispatch) -> _Prepared:
    digest = dispatch.module.digest
    known = _prepared[digest]
    return known or _prepared.keep(digest, _read(dispatch.module.composed))


def _read(composed: Composed) -> _Prepared:
    module = parse(composed.source_map.composed)
    return _Prepared(module, composed.shared_functions(module) & LIBRARY.keys())


def run_on_intervals(
    dispatch: Dispatch,
    params: bytes,
    groups: tuple[int, int, int],
    buffers: Sequence[tuple[Words, int, int]],
    noted: dict[int, tuple[float, float]] | None = None,
) -> bool:
    """Compute a dispatch on intervals, which changes its buffers.

    Args:
        dispatch: What runs.
        params: The bytes of its parameters.
        groups: Workgroups along x, y and z.
        buffers: Of each storage binding the words, the first byte and the bytes that it sees.
        noted: Gets what names may be, by where they begin in the text.

    Returns:
        Whether values were taken apart as bits: then they are not those of the formula alone.

    Raises:
        OutOfReachError: It does something of which no interval is known.
    """
    composed = dispatch.module.composed
    x, y, z = composed.workgroup_size
    size = x * y * z
    count = groups[0] * groups[1] * groups[2] * size
    if count > MOST_INVOCATIONS:
        raise OutOfReachError(f"{count} invocations")
    module, library = _prepare(dispatch)
    machine = Machine(module.declarations, library, count)
    machine.frames, machine.loops = [], []
    machine.is_refined = False
    machine.noted = noted
    lane = np.arange(count)
    for name, value in dispatch.module.constants:
        if name in machine.constants:
            machine.globals[name] = _override(machine, name, value)
    _bind(machine, module, composed, dispatch, params, buffers, lane // size)
    entry = machine.functions[composed.entry]
    given = _builtins(machine, entry, groups, (x, y, z), lane)
    with np.errstate(all="ignore"):
        machine.run(entry, given)
    return machine.is_refined


def _bind(
    machine: Machine,
    module: tree.Module,
    composed: Composed,
    dispatch: Dispatch,
    params: bytes,
    buffers: Sequence[tuple[Words, int, int]],
    group: Array,
) -> None:
    """Give the module's variables their memory."""
    slots = [one for one in composed.bindings if one.role != "params"]
    bound = {slot.number: one for slot, one in zip(slots, buffers, strict=True)}
    whole = np.zeros((), np.int64)
    for node in module.declarations:
        if not isinstance(node, tree.Var) or node.type is None:
            if isinstance(node, tree.Var):
                machine.globals[node.ident.name] = _own(machine, node)
            continue
        type_, name = machine.type_of(node.type), node.ident.name
        space = node.space
        if space == "storage":
            words, first, nbytes = bound[_binding(node)]
            words.see_as(pattern_of(type_))
            memory = BufferRange(words, nbytes // 4, np.asarray(first // 4))
            machine.globals[name] = Address(memory, whole, type_)
        elif space in ("uniform", "immediate"):
            words = _params(type_, composed, dispatch, params)
            machine.globals[name] = Address(BufferRange(words, len(words.v), whole), whole, type_)
        elif space == "workgroup":
            own, _ = words_of(type_)
            words = Words(pattern_of(type_), np.zeros(own * (int(group[-1]) + 1)))
            machine.globals[name] = Address(BufferRange(words, own, group * own), whole, type_)
        else:
            machine.globals[name] = _own(machine, node)


def _override(machine: Machine, name: str, value: float) -> Value:
    """Return a constant that the pipeline gives, of the type that it is declared with."""
    node = machine.constants[name]
    if node.type is not None:
        like = zero(machine.type_of(node.type))
    else:
        assert node.value is not None
        like = coerced(machine.value(node.value), None)
    assert isinstance(like, Number)
    return exact(like.kind, value)


def _own(machine: Machine, node: tree.Var) -> Cell:
    """Return a variable of each invocation's own."""
    type_ = None if node.type is None else machine.type_of(node.type)
    if node.value is not None:
        return Cell(coerced(machine.value(node.value), type_))
    assert type_ is not None
    return Cell(zero(type_))


def _binding(node: tree.Var) -> int:
    for one in node.attributes:
        if one.name == "binding" and one.arguments and isinstance(one.arguments[0], tree.Literal):
            return int(one.arguments[0].text.rstrip("iu"))
    raise OutOfReachError(f"the binding of {node.ident.name}")


def _params(type_: Type, composed: Composed, dispatch: Dispatch, params: bytes) -> Words:
    """Return parameters, of which floats may be what Python had or that as an f32."""
    pattern = pattern_of(type_)
    raw = np.frombuffer(params, np.uint32)
    raw = np.concatenate([raw, np.zeros(-len(raw) % len(pattern), np.uint32)])
    words = Words(pattern, decode(raw, pattern))
    facts: Mapping[str, Any] = dispatch.params.facts
    for field in composed.fields:
        value = facts.get(field.fact)
        if field.scalar != "f32" or field.slots != 1 or type(value) is not float:
            continue
        at = field.offset // 4
        near = rounded(np.asarray(value), np.asarray(value), np.asarray(value))
        if not near.is_exact and np.isfinite(value) and np.isfinite(words.v[at]):
            words.own()
            words.v[at] = value
            words.low[at], words.high[at] = near.low, near.high
    return words


def _builtins(
    machine: Machine,
    entry: tree.Function,
    groups: tuple[int, int, int],
    size: tuple[int, int, int],
    lane: Array,
) -> list[Value]:
    """Return what the entry point's parameters are."""
    x, y, z = size
    within, group = lane % (x * y * z), lane // (x * y * z)
    local = (within % x, within // x % y, within // (x * y))
    number = (group % groups[0], group // groups[0] % groups[1], group // (groups[0] * groups[1]))
    known: dict[str, Value] = {
        "local_invocation_id": _vector(local),
        "local_invocation_index": exact("u32", within),
        "workgroup_id": _vector(number),
        "num_workgroups": _vector(tuple(np.asarray(one) for one in groups)),
        "global_invocation_id": _vector(
            tuple(a * b + c for a, b, c in zip(number, size, local, strict=True))
        ),
    }
    found: list[Value] = []
    for one in entry.parameters:
        name = builtin_named(one)
        if name not in known:
            raise OutOfReachError(f"the built-in value {name or one.ident.name}")
        found.append(known[name])
    return found


def _vector(parts: Sequence[Any]) -> Many:
    return Many(Vector(len(parts), Scalar("u32")), tuple([exact("u32", one) for one in parts]))
