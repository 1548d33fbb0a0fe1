"""Composing maps: y[i] = op(a[i], b[i], ...), broadcast, with every access that inputs have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composer import element_at
from wgsl_kernels.backends.webgpu.composing.text.indexing import dot, unravel
from wgsl_kernels.backends.webgpu.composing.text.operands import OP_NAMES, VARIANTS
from wgsl_kernels.backends.webgpu.composing.text.slots import fill_slot
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from collections.abc import Collection

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.syntax.tree import Function, Parameter

LANES = "xyzw"
MAP_SLOTS = "templates/map_slots.wesl"


def choose_op(kernel: str, source: Source, dtype: str) -> Function:
    """Return the function that serves ``dtype``: ``op_i32`` and the like before ``op``."""
    for name in (*VARIANTS[dtype], "op"):
        if name in source.functions:
            return source.functions[name]
    have = ", ".join(sorted(OP_NAMES & source.functions.keys()))
    raise ShaderError(f"{kernel}: {source.file} has no op for {dtype}; found {have}.")


def can_vec4(inputs: tuple[Operand, ...], output: Operand) -> bool:
    """Say whether a map can move four elements at a time."""
    tensors = [operand for operand in inputs if operand.access != "value"]
    return all(o.access == "flat" for o in tensors) and all(
        o.dtype != "complex64" for o in (*inputs, output)
    )


def add_map(
    composer: Composer, *, vec4: bool, held: Collection[str], in_parts: bool = False
) -> Function:
    """Add to ``composer`` what the map skeleton calls; return the chosen op.

    Args:
        composer: The kernel being composed.
        vec4: Whether four elements are moved at a time.
        held: Names of inputs whose loads go through ``hold``.
        in_parts: Whether an item is counted from ``wk_first`` on and contiguous tensors are bound
            ``wk_skipped`` elements earlier; four at a time skip none, and always count so.
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
    composer.assembly.helpers["wk_item"] = lambda: (
        _four_items(composer, op, arguments, held)
        if vec4
        else _one_item(composer, op, arguments, held, in_parts=in_parts)
    )
    composer.word("wk_size", f"{output.name}_size")
    return op


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


def _one_item(
    composer: Composer,
    op: Function,
    arguments: list[Operand | None],
    held: Collection[str],
    *,
    in_parts: bool,
) -> str:
    output = composer.outputs[0]
    index = place = "wk_i"
    if in_parts:
        index = f"({composer.word('wk_first', 'wk_first')} + wk_i)"
        place = f"{composer.word('wk_skipped', 'wk_skipped')} + wk_i"
    body, places = _places(composer, [a for a in arguments if a is not None], index, place)
    loads: list[str] = []
    for argument in arguments:
        if argument is None:
            loads.append(index)
        elif argument.access == "value":
            loads.append(composer.value(argument))
        else:
            raw = element_at(composer.variable(argument), argument.dtype, places[argument.name])
            loads.append(_held(_loaded(raw, argument), argument, held))
    result = _stored(f"{op.name}({', '.join(loads)})", output)
    body.append(f"{composer.variable(output)}[{place}] = {result};")
    return fill_slot(MAP_SLOTS, "wk_item", body)


def _four_items(
    composer: Composer,
    op: Function,
    arguments: list[Operand | None],
    held: Collection[str],
) -> str:
    output = composer.outputs[0]
    body: list[str] = []
    loads: dict[str, str] = {}
    for argument in arguments:
        if argument is None or argument.name in loads:
            continue
        if argument.access == "value":
            loads[argument.name] = composer.value(argument)
            continue
        is_word = argument.dtype in BYTES  # which holds all four
        wide = argument.bound_type if is_word else f"vec4<{argument.storage_type}>"
        array = composer.variable(argument, wide)
        loads[argument.name] = f"wk_{argument.wgsl}_vec4"  # wk_i is the index, whatever i is
        body.append(f"let {loads[argument.name]} = {array}[wk_i];")
    results: list[str] = []
    for number in range(len(LANES)):
        lanes = [_lane(composer, argument, loads, number, held) for argument in arguments]
        results.append(_stored(f"{op.name}({', '.join(lanes)})", output))
    element = f"vec4<{output.storage_type}>"
    values = ", ".join(results)
    body.append(f"{composer.variable(output, element)}[wk_i] = {element}({values});")
    return fill_slot(MAP_SLOTS, "wk_item", body)


def _lane(
    composer: Composer,
    argument: Operand | None,
    loads: dict[str, str],
    number: int,
    held: Collection[str],
) -> str:
    if argument is None:
        first = composer.word("wk_first", "wk_first")  # above the binding limit maps go in parts
        return f"{first} + wk_i * 4u + {number}u"
    if argument.access == "value":
        return loads[argument.name]
    if argument.dtype in BYTES:
        return f"wk_{argument.dtype}({loads[argument.name]}, {number}u)"
    return _held(_loaded(f"{loads[argument.name]}.{LANES[number]}", argument), argument, held)


def _places(
    composer: Composer, arguments: list[Operand], index: str, place: str
) -> tuple[list[str], dict[str, str]]:
    """Return the statements that find the operands' indices, and the index of each."""
    strided = {a.name: a for a in arguments if a.access == "strided"}
    body: list[str] = []
    coordinates: list[str] = []
    if strided:
        rank = max(operand.rank for operand in strided.values())
        sizes = composer.slots("wk_shape", "wk_shape", rank, pad=1)
        body, coordinates = unravel(index, sizes, "wk_c")
    places = {argument.name: place for argument in arguments}
    for name, operand in strided.items():
        strides = composer.slots(
            f"wk_{operand.wgsl}_strides", f"wk_{name}_strides", len(coordinates)
        )
        offset = composer.word(f"wk_{operand.wgsl}_offset", f"wk_{name}_offset")
        places[name] = dot(coordinates, strides, offset)
    return body, places


def _loaded(raw: str, operand: Operand) -> str:
    return f"({raw} != 0u)" if operand.dtype == "bool" else raw


def _stored(value: str, operand: Operand) -> str:
    return f"u32({value})" if operand.dtype == "bool" else value


def _held(value: str, operand: Operand, held: Collection[str]) -> str:
    """Return ``value`` behind a ``hold``, if it is to be held and of a type that needs it."""
    holds = {"float32": "hold", "float16": "wk_hold_f16", "complex64": "wk_hold_vec2"}
    if operand.name in held and operand.dtype in holds:
        return f"{holds[operand.dtype]}({value})"
    return value
