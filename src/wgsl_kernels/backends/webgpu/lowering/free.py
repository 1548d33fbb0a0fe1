"""Lowering shaders with their own ``main``: kernels, and what a function with full control runs.

It is one dispatch, and what its inputs and outputs need before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.host_values import words_of
from wgsl_kernels.backends.webgpu.declare.kernel import call_with, params_with
from wgsl_kernels.backends.webgpu.modules.kernel_source import has_variable
from wgsl_kernels.backends.webgpu.programs.arguments import tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import (
    Bound,
    Composition,
    build,
    fold,
    grid_of,
)
from wgsl_kernels.backends.webgpu.programs.call import FACT_ENDINGS
from wgsl_kernels.backends.webgpu.programs.dispatching import (
    NamedTensors,
    epilogue_of,
    fill,
    padded,
)
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
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
    shader, outputs = call.shader, call.outputs
    is_ours = shader.origin.is_ours
    given = {**dict(zip(call.names, arguments, strict=True)), **call.made()}
    tensors = NamedTensors.of(call.source, given, call.output_names, is_ours=is_ours)
    facts = {**call.attrs, **tensor_facts(tensors.bound)}
    if shader.params is not None:
        facts.update(params_with(shader.params, facts, call.kernel))
    known = [one for one in facts if one in call.attrs or not one.endswith(FACT_ENDINGS)]
    filled = starts(call)
    epilogue = "elements" if accepts_epilogue(call) else "none"
    composition = call.composition(tensors.inputs, known, epilogue=epilogue)
    composed = composition.composed()
    groups = shader.groups and grid_of(call.kernel, call_with(shader.groups, facts, call.kernel))
    grid = groups or _grid(composed, outputs[0].size)
    left = [n for n, spec in enumerate(outputs) if spec.size and n not in filled]
    if 0 in grid and left:
        name, shape = call.output_names[left[0]], show(outputs[left[0]].shape)
        raise ArgumentError(
            f"{call.kernel}: groups is {grid}, so nothing writes {name}, which is {shape}; "
            "want counts from 1. Return them from groups=, or pass init= for the output."
        )
    begun = [
        fill(adapter, tensors.bound[call.output_names[n]], words)
        for n, words in filled.items()
        if outputs[n].size
    ]
    prologue = [call.names[n] for n in prologues(call)]
    return _program(
        adapter, composition, tensors, grid, facts,
        is_ours=is_ours, outputs=outputs, first=len(outputs), begun=begun, prologue=prologue,
    )  # fmt: skip


def lower_custom(
    kernel: str,
    source: Source,
    arguments: Mapping[str, Argument],
    adapter: Adapter,
    *,
    params: Mapping[str, Any],
    groups: Sequence[int] | None = None,
    constants: Mapping[str, float] | None = None,
    windows: Mapping[str, tuple[int, int]] | None = None,
    is_ours: bool = True,
    is_whole: bool = True,
    first_buffer: int = 0,
    notes: Sequence[str] = (),
) -> Program:
    """Return the program of one dispatch; the tensors that it writes are among its inputs.

    An author's shader sees zeros behind its inputs, which takes a copy; see `padded`.

    ``params`` are the fields of its parameters beside the tensors' facts. By default there is an
    invocation per element of the first output. ``windows`` has of tensors above the binding limit
    the first byte and the bytes to bind. Unless it ``is_whole`` the shader may leave no tensor and
    no field unused. ``first_buffer`` is the number of the first buffer that it may make.

    Raises:
        ShaderError: The shader does not compose.
        ArgumentError: It writes none of the tensors, or leaves something unused.
    """
    if not is_ours and adapter.policy.ends_loops:
        from wgsl_kernels.backends.webgpu.composing.text.long_loops import long_loops

        source = source.checked if long_loops(source, "free") else source
    tensors = NamedTensors.of(source, arguments, is_ours=is_ours)
    if not tensors.outputs:
        raise ArgumentError(f"{kernel}: the shader writes none of {', '.join(arguments)}.")
    for one in tensors.outputs:
        if arguments[one.name].layout is not None:
            what = f"the shader writes {one.name}, which is a view"
            raise ArgumentError(f"{kernel}: {what}; write to a whole array of gpu.empty().")
    composition = Composition(
        kernel,
        source,
        tensors.inputs,
        tensors.outputs,
        tuple(params),
        constants=tuple((constants or {}).items()),
        epilogue=epilogue_of(source, tensors),
        notes=tuple(notes),
    )
    composed = composition.composed()
    if not (is_ours or is_whole):
        _refuse_unused(kernel, composed, arguments, params)
    size = arguments[tensors.outputs[0].name].size
    grid = _grid(composed, size) if groups is None else grid_of(kernel, groups)
    facts = {**tensor_facts(tensors.bound), **params}
    return _program(
        adapter, composition, tensors, grid, facts,
        is_ours=is_ours, first=first_buffer, windows=windows,
    )  # fmt: skip


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


def starts(call: ShaderCall) -> dict[int, Words]:
    """Return the outputs that start from a number, and its words.

    Raises:
        ArgumentError: There is no output of that name, or it cannot hold the number.
    """
    found: dict[int, Words] = {}
    for name, value in call.shader.init.items():
        if name not in call.output_names:
            known = ", ".join(call.output_names)
            raise ArgumentError(
                f"{call.kernel}: init names {name!r}, which is no output; known: {known}."
            )
        index = call.output_names.index(name)
        what = f"{call.kernel}: init of {name}"
        found[index] = words_of(value, call.outputs[index].dtype, what)
    return found


def _grid(composed: Composed, invocations: int) -> Grid:
    x, y, z = composed.workgroup_size
    return fold(-(-invocations // max(1, x * y * z)))  # a size of 0 the compiler refuses


def _program(
    adapter: Adapter,
    composition: Composition,
    tensors: NamedTensors,
    grid: Grid,
    facts: Mapping[str, Any],
    *,
    is_ours: bool,
    first: int,
    outputs: tuple[Spec, ...] = (),
    begun: Sequence[Dispatch] = (),
    windows: Mapping[str, tuple[int, int]] | None = None,
    prologue: Iterable[str] = (),
) -> Program:
    """Return the dispatch behind copies of an author's inputs, and what has ``begun`` outputs.

    ``first`` is the number of the first buffer that such a copy may be in.

    Raises:
        ShapeError: A view has more elements than an index can name.
    """
    tensors.refuse_beyond_indices(composition.kernel, composition.source)
    composed, bound = composition.composed(), dict(tensors.bound)
    dispatches: list[Dispatch] = []
    copies: list[Spec] = []
    if not is_ours:
        dispatches, copies = padded(adapter, composed, tensors.inputs, bound, first)
    where = Bound(bound, windows=windows)
    last = build(adapter, composition, composed, grid, where, facts, prologue=frozenset(prologue))
    made = tuple(range(len(outputs)))
    every = (*dispatches, *begun, last)
    return Program(every, (*outputs, *copies), made, (), tensors.packed)


def _refuse_unused(
    kernel: str, composed: Composed, arguments: Mapping[str, Argument], params: Mapping[str, Any]
) -> None:
    bound = {one.name for one in composed.bindings}
    for name in arguments:
        if name not in bound and not any(one.startswith(f"{name}_") for one in composed.wanted):
            known = ", ".join(sorted(bound & arguments.keys())) or "none"
            raise ArgumentError(f"{kernel}: arrays has {name!r}; the shader names {known}.")
    for name in params:
        if name not in composed.wanted:
            known = ", ".join(composed.wanted) or "none"
            raise ArgumentError(f"{kernel}: params has {name!r}; the shader's fields: {known}.")
