"""The last step of composing: numbers for the bindings, the parameter block, the text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composed import (
    PARAMS,
    PARTIALS,
    STATUS,
    BindingAccess,
    BoundBuffer,
    Composed,
    Traced,
    uniform_head,
)
from wgsl_kernels.backends.webgpu.composing.text.uniforms import find_uniform, lay_out, uniform_type
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.instrument.rewrite import PRINT
from wgsl_kernels.wgsl.lint.remarks import functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit, TextBuilder, WrittenText
from wgsl_kernels.wgsl.syntax.tree import Name, Var
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.constants import ConstantValues, NotConstantError
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import F32, Array, Scalar, Vector, concrete, value_of
from wgsl_kernels.wgsl.types.layouts import UnknownTypeError, round_up

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.wgsl.syntax.places import Place, Text
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function
    from wgsl_kernels.wgsl.types.kinds import Type
    from wgsl_kernels.wgsl.types.layouts import TypeLayout


def bind(composer: Composer, entry: Function, start: tuple[Text, Place], *, vec4: bool) -> Composed:
    """Return the composed shader; errors without a place are shown at ``start``, an author's."""
    assembly = composer.assembly
    variable, struct = find_uniform(composer)
    assembly.resolve()
    assembly.refuse_unknown(composer.kernel, {assembly.uniform, *composer.bound})
    bindings = _numbered(composer)
    declaration, fields, size = lay_out(composer, variable, struct)
    declared = uniform_type(variable, struct)
    tail = declaration + _declarations(composer, bindings, declared)
    features = _features(composer)
    head = "enable f16;\n" if "shader-f16" in features else ""
    source_map = with_typed_prints(assembly.compose(head, tail))
    return Composed(
        kernel=composer.kernel,
        form=composer.form,
        text=source_map.composed.text,
        entry=_entry_name(composer, entry),
        bindings=bindings,
        fields=fields,
        params_size=size,
        workgroup_size=_workgroup_size(composer, entry),
        workgroup_bytes=_workgroup_bytes(composer),
        features=features,
        uses_status=composer.uses_status,
        vec4=vec4,
        partial_bytes=_partial_bytes(composer),
        _traced=partial(Traced, source_map, start),
    )


def _numbered(composer: Composer) -> tuple[BoundBuffer, ...]:
    """Return all bindings: inputs, outputs, partial results, parameters, status.

    The author's own keep their name, type and access, and get a new number.
    """
    found: list[BoundBuffer] = []
    declared = {
        d.name: d
        for d in composer.assembly.declarations()
        if isinstance(d, Var) and d.space == "storage"
    }
    tensors = {operand.wgsl: operand for operand in composer.operands}
    for stranger in [name for name in declared if name not in tensors]:
        known = ", ".join(tensors) or "none"
        message = f"binding '{stranger}' names no input or output; known: {known}."
        raise composer.wrong(message, declared[stranger])
    for name, operand in tensors.items():
        bound = _tensor(composer, operand, declared.get(name), len(found))
        if bound is not None:
            found.append(bound)
    if composer.partials is not None:
        access: BindingAccess = "read_write" if composer.writes_partials else "read"
        stride = _partial_bytes(composer)
        found.append(BoundBuffer(PARTIALS, access, len(found), "partials", stride))
    found.append(BoundBuffer(PARAMS, "uniform", len(found), "params"))
    if composer.uses_status:
        found.append(BoundBuffer(STATUS, "read_write", len(found), "status"))
    return tuple(found)


def _tensor(
    composer: Composer, operand: Operand, declared: Var | None, number: int
) -> BoundBuffer | None:
    is_output = operand in composer.outputs
    access: BindingAccess = "read_write" if is_output else "read"
    if declared is not None:
        access = "read_write" if declared.access == "read_write" else "read"
        header = f"@group(0) @binding({number}) var<storage, {access}> "
        span = Span(declared.span.begin, declared.name_span.begin)
        composer.assembly.edit(composer.source.text_of(declared), span, header)
        is_absent = operand.access == "absent"
        if is_output and access == "read":
            message = f"output '{operand.wgsl}' is read-only; want read_write."
            raise composer.wrong(message, declared)
        if not is_output and access == "read_write":
            message = f"input '{operand.wgsl}' is read_write, but tensors never change; want read."
            raise composer.wrong(message, declared)
        stride = _stride(composer, declared)
        return BoundBuffer(operand.name, access, number, "tensor", stride, is_absent)
    if operand.wgsl in composer.bound:
        stride = composer.layouts.written(composer.bound[operand.wgsl]).stride
        return BoundBuffer(operand.name, access, number, "tensor", stride)
    if is_output and not composer.writes_partials and composer.after is None:
        raise ShaderError(
            f"{composer.kernel}: {composer.source.file} writes no output '{operand.wgsl}'; declare "
            f"the binding, or call store_{operand.wgsl}."
        )
    return None


def _stride(composer: Composer, variable: Var) -> int:
    found = composer.types.of(variable.type)
    if isinstance(found, Array):
        return _layout(composer, found.element, variable).stride
    return _layout(composer, found or variable.type, variable).stride


def _declarations(
    composer: Composer, bindings: tuple[BoundBuffer, ...], uniform: str | None
) -> str:
    lines: list[str] = []
    tensors = {operand.name: operand for operand in composer.operands}
    for bound in bindings:
        head = f"@group(0) @binding({bound.number})"
        if bound.role == "tensor":
            operand = tensors[bound.name]
            element = composer.bound.get(operand.wgsl)
            name = composer.name_of(operand)
        elif bound.role == "partials":
            element, name = composer.partials, PARTIALS
        elif bound.role == "status":
            element, name = "atomic<u32>", STATUS
        else:
            _renumber_uniform(composer, bound.number)
            if uniform is not None:
                lines.append(
                    f"{uniform_head(bound.number)} {composer.assembly.uniform}: {uniform};"
                )
            continue
        if element is not None:
            lines.append(f"{head} var<storage, {bound.access}> {name}: array<{element}>;")
    return "\n".join(lines) + "\n"


def _renumber_uniform(composer: Composer, number: int) -> None:
    for declaration in composer.assembly.declarations():
        if isinstance(declaration, Var) and declaration.space == "uniform":
            span = Span(declaration.span.begin, declaration.name_span.begin)
            header = uniform_head(number)
            composer.assembly.edit(composer.source.text_of(declaration), span, f"{header} ")


def _features(composer: Composer) -> frozenset[str]:
    found: set[str] = set()
    enabled = {
        word
        for file in composer.source.files
        for directive in file.module.directives
        if directive.keyword == "enable"
        for word in directive.words
    }
    dtypes = {*composer.dtypes, *(one.dtype for one in composer.operands)}
    if "float16" in dtypes or "f16" in enabled:
        found.add("shader-f16")
    if any(name.startswith("subgroup") for name in composer.assembly.used):
        found.add("subgroup")
    return frozenset(found)


def _entry_name(composer: Composer, entry: Function) -> str:
    """Return the entry point's name in the text, where a skeleton's may have been changed."""
    is_skeleton = composer.assembly.skeleton is not None
    clashes = is_skeleton and entry.name in composer.source.declared
    return f"wk_{entry.name}" if clashes else entry.name


def _workgroup_size(composer: Composer, entry: Function) -> tuple[int, int, int]:
    skeleton = composer.assembly.skeleton
    declared = skeleton.module.constants if skeleton else composer.source.constants
    constants = ConstantValues(declared, composer.constants)
    sizes: list[int] = []
    for expression in entry.workgroup_size or ():
        try:
            sizes.append(int(constants.number(expression)))
        except NotConstantError as error:
            message = f"{composer.kernel}: @workgroup_size: {error}. Give it under constants=."
            text = composer.source.text_of(entry) if skeleton is None else skeleton.text
            raise ShaderError(text.point(message, entry.name_span.begin)) from None
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def _workgroup_bytes(composer: Composer) -> int:
    """Return the workgroup memory of all variables, each rounded up to 16 bytes."""
    total = 0
    for variable in composer.assembly.declarations():
        if isinstance(variable, Var) and variable.space == "workgroup":
            total += round_up(_layout(composer, variable.type, variable).size, 16)
    skeleton = composer.assembly.skeleton
    for variable in () if skeleton is None else skeleton.module.variables.values():
        if variable.space == "workgroup":  # an array of accumulators
            init = composer.source.functions["init"]
            total += round_up(_layout(composer, variable.type, init).size, 16)
    return total


def _partial_bytes(composer: Composer) -> int:
    if composer.partials is None:
        return 0
    return _layout(composer, composer.partials, composer.source.functions["init"]).stride


def _layout(
    composer: Composer, type_: Type | Name | str | None, declaration: Declaration
) -> TypeLayout:
    try:
        if type_ is None or isinstance(type_, (Name, str)):
            return composer.layouts.written(type_ or "")
        return composer.layouts.of(type_)
    except UnknownTypeError as error:
        message = f"the size of '{declaration.name}' is unknown: {error}."
        raise composer.wrong(message, declaration) from None


def with_typed_prints(source_map: SourceMap) -> SourceMap:
    """Return a text in which what is no ``f32`` is printed by a function for its type."""
    composed = source_map.composed
    if f"{PRINT}(" not in composed.text:
        return source_map
    written = WrittenText(COMPOSED, composed.text, source_map)
    module = parse(written)
    types = infer(module.declarations)
    edits: list[Edit] = []
    needed: dict[str, str] = {}
    for function in functions_of(module):
        for node in descendants(function.body):
            if not isinstance(node, tree.Call) or node.callee.name != PRINT:
                continue
            found = types.of(node.arguments[0]) if len(node.arguments) == 1 else None
            type_ = None if found is None else concrete(value_of(found))
            if isinstance(type_, (Scalar, Vector)) and type_ != F32:
                name = f"{PRINT}_{str(type_).replace('<', '_').rstrip('>')}"
                edits.append(Edit(node.callee.span, name))
                needed[name] = str(type_)
    if not edits:
        return source_map
    text = TextBuilder()
    edits.sort(key=lambda one: one.span.begin)
    text.quote(written, Span(0, len(composed.text)), edits)
    for name, type_name in needed.items():
        if name not in module.functions:
            text.generate("\n" + written_function(name, {"value": type_name}, None))
    return text.finish()
