"""Composing maps: y[i] = op(a[i], b[i], ...), broadcast, with every access that inputs have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.expressions import GroupExpressions
from wgsl_kernels.backends.webgpu.composing.text.instances import fill_slot
from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES, choose_op
from wgsl_kernels.backends.webgpu.composing.text.structure import OWN, Kind, Leaf, Step, Structure
from wgsl_kernels.engine.environment.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.assembly import Generated
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Access, Operand
    from wgsl_kernels.backends.webgpu.composing.text.structure import Mode
    from wgsl_kernels.wgsl.syntax.tree import Function, Parameter

MAP_SLOTS = "templates/map_slots.wesl"


def add_map(
    composer: Composer, *, vec4: bool, held: Collection[str], in_parts: bool = False
) -> Function:
    """Add to ``composer`` what the map skeleton calls; return the chosen op.

    Loads of the inputs in ``held`` go through ``hold``. With ``in_parts`` an item is counted from
    ``wk_first`` on and contiguous tensors are bound ``wk_skipped`` elements earlier; four at a time
    skip none, and always count so.
    """
    output = composer.outputs[0]
    first = composer.inputs[0] if composer.inputs else output
    op = choose_op(composer.kernel, composer.source, first.dtype)
    composer.assembly.drop(OP_NAMES - {op.name})
    arguments = [_operand_of(composer, op, parameter) for parameter in op.parameters]
    for parameter, operand in zip(op.parameters, arguments, strict=True):
        expected = operand.value_type if operand else "u32"
        composer.check_type(op, parameter.type, expected, parameter.name)
    composer.check_type(op, op.returns, output.value_type, output.name)
    expressions = _alone(composer, op, arguments, vec4=vec4, held=held)
    if vec4 or in_parts:
        expressions.first = composer.word("wk_first", "wk_first")
    if in_parts and not vec4:
        expressions.place = f"{composer.word('wk_skipped', 'wk_skipped')} + wk_i"
    add_item(expressions, partial(fill_slot, MAP_SLOTS))
    composer.word("wk_size", f"{output.name}_size")
    return op


def add_item(
    expressions: GroupExpressions, fill: Callable[[str, Sequence[str]], str | Generated]
) -> None:
    """Add the function of one item that the map skeleton calls; ``fill`` writes it for a slot."""
    composer, values = expressions.composer, expressions.compute()
    # behind its outputs the composer has those of maps that follow
    for output, number in zip(composer.outputs, expressions.structure.outputs, strict=False):
        expressions.store(output, values[number])
    slot = "wk_item" if expressions.across is None else "wk_item_across"
    written = fill(slot, expressions.lines)
    composer.assembly.helpers[slot] = lambda: written


def _operand_of(composer: Composer, op: Function, parameter: Parameter) -> Operand | None:
    """Return the input that a parameter of op names, None where it is the flat index."""
    for operand in composer.inputs:
        if parameter.name in operand.spellings:
            return operand
    if parameter.name == "i":
        return None
    known = ", ".join([*(operand.wgsl for operand in composer.inputs), "i"])
    message = (
        f"{composer.kernel}: {op.name}'s parameter '{parameter.name}' names no input; "
        f"known: {known}."
    )
    text = composer.source.text_of(op)
    raise ShaderError(text.point(message, parameter.span.begin))


def _alone(
    composer: Composer,
    op: Function,
    arguments: list[Operand | None],
    *,
    vec4: bool,
    held: Collection[str],
) -> GroupExpressions:
    """Return what computes one item: a group of this one map, under the author's names."""
    read = list(dict.fromkeys(one for one in arguments if one is not None))
    output = composer.outputs[0]
    names, dtypes = tuple([one.name for one in read]), tuple([one.dtype for one in read])
    kind = Kind(composer.kernel, composer.source, names, dtypes, output.name, output.dtype, (), ())
    ranks = {one.rank for one in read if one.access == "strided"}
    structure = Structure(
        (Step(kind, tuple([~n for n in range(len(read))])),),
        tuple([Leaf(one.dtype, _MODES[one.access]) for one in read]),
        (max(ranks),) if ranks else (),
        (0,),
        vec4,
        few=False,
    )
    return GroupExpressions(
        structure,
        composer,
        dict(enumerate(read)),
        lambda kind, step: (op.name, op),
        OWN,
        held=frozenset([n for n, one in enumerate(read) if one.name in held]),
    )


_MODES: dict[Access, Mode] = {
    "flat": "flat",
    "absent": "flat",
    "value": "value",
    "strided": "strided",
}
