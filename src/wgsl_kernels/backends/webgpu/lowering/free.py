"""Lowering free kernels: their one dispatch, and what their inputs and outputs need before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.host_values import words_of
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.declare.kernel import call_with, params_with
from wgsl_kernels.backends.webgpu.lowering.padding import fill, may_end_behind, padded
from wgsl_kernels.backends.webgpu.modules.kernel_source import has_variable
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import Bound, build, fold, grid_of
from wgsl_kernels.backends.webgpu.programs.call import FACT_ENDINGS
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid
    from wgsl_kernels.engine.values.spec import Spec


def lower_free(call: ShaderCall, arguments: Sequence[Argument | None], adapter: Adapter) -> Program:
    """Return the program of a kernel with its own ``main``.

    Its ``groups=`` and ``params=`` are called here, and so once for the layouts of its inputs.

    Raises:
        ShaderError: It does not compose.
        ArgumentError: What ``groups=`` returns is no grid, or leaves an output undefined.
    """
    operands, bound, packed = _inputs(call, arguments)
    bound |= call.made()
    facts = {**call.attrs, **tensor_facts(bound)}
    if call.shader.params is not None:
        facts.update(params_with(call.shader.params, facts, call.kernel))
    known = [one for one in facts if one in call.attrs or not one.endswith(FACT_ENDINGS)]
    filled = starts(call)
    epilogue = "elements" if accepts_epilogue(call) else "none"
    composition = call.composition(operands, known, epilogue=epilogue)
    composed = composition.composed()
    grid = _grid(call, composed, facts, {index for index, _ in filled})
    dispatches: list[Dispatch] = []
    copies: list[Spec] = []
    if not call.shader.origin.is_ours:
        dispatches, copies = padded(adapter, composed, operands, bound, len(call.outputs))
    for index, words in filled:
        if call.outputs[index].size:
            dispatches.append(fill(adapter, bound[call.output_names[index]], words))
    where = Bound(bound, numbers=call.numbers())
    prologue = frozenset([call.names[n] for n in prologues(call)])
    dispatches.append(build(adapter, composition, composed, grid, where, facts, prologue=prologue))
    outputs = tuple(range(len(call.outputs)))
    return Program(tuple(dispatches), (*call.outputs, *copies), outputs, (), frozenset(packed))


def _inputs(
    call: ShaderCall, arguments: Sequence[Argument | None]
) -> tuple[list[Operand], dict[str, Argument], list[int]]:
    """Return the inputs for the composer, what they are bound to, and those to be packed first."""
    operands: list[Operand] = []
    bound: dict[str, Argument] = {}
    packed: list[int] = []
    for index, (name, one) in enumerate(zip(call.names, arguments, strict=True)):
        if one is None:
            operands.append(Operand(name, "float32", 0, "absent"))
            continue
        access = _access(call, name, one)
        if access == "flat" and one.layout is not None:
            packed.append(index)
        operands.append(Operand(name, one.dtype, len(one.shape), access))
        bound[name] = one.contiguous() if access == "flat" else one
    return operands, bound, packed


def prologues(call: ShaderCall) -> tuple[int, ...]:
    """Return the inputs that are read through accessors alone."""
    source = call.source
    names = enumerate(call.names)
    return tuple([n for n, name in names if not has_variable(source, wgsl_name(name))])


def accepts_epilogue(call: ShaderCall) -> bool:
    """Say whether every element of the result is written through an accessor.

    Where it starts from a number, an element that is never stored keeps that.
    """
    return not has_variable(call.source, wgsl_name(call.output_names[0])) and not starts(call)


def starts(call: ShaderCall) -> list[tuple[int, Words]]:
    """Return the outputs that start from a number, and its words.

    Raises:
        ArgumentError: There is no output of that name, or it cannot hold the number.
    """
    found: list[tuple[int, Words]] = []
    for name, value in call.shader.init.items():
        if name not in call.output_names:
            known = ", ".join(call.output_names)
            raise ArgumentError(
                f"{call.kernel}: init names {name!r}, which is no output; known: {known}."
            )
        index = call.output_names.index(name)
        what = f"{call.kernel}: init of {name}"
        found.append((index, words_of(value, call.outputs[index].dtype, what)))
    return found


def _access(call: ShaderCall, name: str, one: Argument) -> Any:
    """Return how the kernel reads an input; a view that it cannot read as it is, contiguous."""
    source = call.source
    allowed = allowed_access(source, name)
    if one.is_value:
        return "value" if "value" in allowed else "flat"
    if one.layout is None or "strided" not in allowed:
        return "flat"
    whole = not call.shader.origin.is_ours and may_end_behind(source, name, one.dtype)
    return "flat" if whole else "strided"


def _grid(call: ShaderCall, composed: Composed, facts: dict[str, Any], filled: set[int]) -> Grid:
    """Return the workgroup counts.

    Raises:
        ArgumentError: They are none, or there is no work and an output would stay undefined.
    """
    if call.shader.groups is None:
        x, y, z = composed.workgroup_size
        groups = fold(-(-call.outputs[0].size // (x * y * z)))
    else:
        groups = grid_of(call.kernel, call_with(call.shader.groups, facts, call.kernel))
    left = [n for n, spec in enumerate(call.outputs) if spec.size and n not in filled]
    if 0 in groups and left:
        name, shape = call.output_names[left[0]], show(call.outputs[left[0]].shape)
        raise ArgumentError(
            f"{call.kernel}: groups is {groups}, so nothing writes {name}, which is {shape}; "
            "want counts from 1. Return them from groups=, or pass init= for the output."
        )
    return groups
