"""The uniform struct: the author's fields and the composer's, and what fills each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.params import Field, Offer, unfilled
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.tree import Ident, Name, Parameter, Struct
from wgsl_kernels.wgsl.types.kinds import Array, Scalar, StructType, Type, Vector
from wgsl_kernels.wgsl.types.layouts import UnknownTypeError, round_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.wgsl.syntax.tree import Var

FACTS = ("shape", "strides", "offset", "size")
_SCALARS = ("u32", "i32", "f32", "f16")


def find_uniform(composer: Composer) -> tuple[Var | None, Struct | None]:
    """Return the author's uniform variable and struct; maps and reductions may have ``Attrs``.

    Raises:
        ShaderError: There are several uniforms, or one that is no struct.
    """
    source = composer.source
    uniforms = [v for v in source.variables.values() if v.space == "uniform"]
    for extra in uniforms[1:]:
        raise composer.wrong(f"'{extra.name}' is a second uniform; want one struct.", extra)
    if not uniforms:
        attrs = source.structs.get("Attrs") if composer.form != "free" else None
        composer.assembly.uniform = "attrs" if attrs else PARAMS
        return None, attrs
    variable = uniforms[0]
    type_ = composer.types.of(variable.type)
    struct = source.structs.get(type_.name) if isinstance(type_, StructType) else None
    if struct is None or not struct.fields:
        what = f"uniform '{variable.name}' is {spell(variable.type)}"
        message = f"{what}; want a struct, whose fields are filled by name."
        raise composer.wrong(message, variable)
    composer.assembly.uniform = variable.name
    return variable, struct


def lay_out(
    composer: Composer, variable: Var | None, struct: Struct | None
) -> tuple[str, tuple[Field, ...], int]:
    """Return the parameter block: its struct's text if generated, its fields, its bytes.

    The composer's fields are appended to the author's struct.
    """
    offers = composer.assembly.fields
    own = struct.fields if struct else ()
    added = tuple(_field(name, offer) for name, offer in offers.items())
    try:
        offsets, layout = composer.layouts.members((*own, *added))
    except UnknownTypeError as error:
        raise _bad_type(composer, struct, str(error)) from None
    fields = [] if struct is None else author_fields(composer, struct, offsets)
    for member, offset in zip(added, offsets[len(own) :], strict=True):
        scalar, slots = _shape_of(composer, member.type) or ("u32", 1)
        fields.append(Field(member.name, offers[member.name], offset, scalar, slots))
    text = ", ".join(f"{name}: {offer.type}" for name, offer in offers.items())
    declaration = ""
    if struct is None:
        declaration = f"struct wk_Params {{ {text} }}\n"
    else:
        end = own[-1].end if own else struct.end - 1
        composer.assembly.edit(
            composer.source.text_of(struct), Span(end, end), f",\n  {text}" if own else text
        )
    return declaration, tuple(fields), round_up(layout.size, 16)


def author_fields(composer: Composer, struct: Struct, offsets: Sequence[int]) -> list[Field]:
    """Return the packing plan of the fields that the author wrote."""
    return [
        _author_field(composer, struct, member, offset)
        for member, offset in zip(struct.fields, offsets, strict=False)
    ]


def uniform_type(variable: Var | None, struct: Struct | None) -> str | None:
    """Return the type of a uniform that the composer declares, None where the author does."""
    if variable is not None:
        return None
    return struct.name if struct else "wk_Params"


def _author_field(composer: Composer, struct: Struct, member: Parameter, offset: int) -> Field:
    shape = _shape_of(composer, member.type)
    if shape is None:
        raise _bad_type(composer, struct, spell(member.type), member)
    scalar, slots = shape
    fact, is_absent = _fact_of(composer, member.name)
    if fact is None:
        known = [one for one in composer.attrs if not one.startswith("wk_")]
        known += [f"{operand.name}_shape" for operand in composer.operands]
        message = unfilled(composer.kernel, member.name, known)
        raise coded("unknown-field", _pointed(composer, struct, member, message))
    is_shape = fact == "shape" or fact.endswith("_shape")
    counts_steps = fact.endswith(("_strides", "_offset"))  # negative ones wrap
    is_vector = isinstance(composer.types.of(member.type), Vector)
    offer = Offer(
        spell(member.type),
        fact,
        pad=1 if is_shape else 0,
        constant=is_absent,
        is_exact=is_vector and not is_shape and not counts_steps,
        is_complex=is_vector and re.fullmatch(r"T|T_\w+", spell(member.type)) is not None,
        is_bounded=scalar in ("u32", "i32") and not counts_steps,
    )
    return Field(member.name, offer, offset, scalar, slots)


def _fact_of(composer: Composer, name: str) -> tuple[str | None, bool]:
    """Return the fact that a field names, and whether it is one of an absent input."""
    for spelling in (name, name.removesuffix("_")):
        if spelling in composer.attrs:
            return spelling, False
    for operand in composer.operands:
        for spelling in operand.spellings:
            for fact in FACTS:
                if name == f"{spelling}_{fact}":
                    return f"{operand.name}_{fact}", operand.access == "absent"
    return None, False


def _field(name: str, offer: Offer) -> Parameter:
    type_ = parse_expression(offer.type)
    assert isinstance(type_, Name), offer.type
    return Parameter(0, 0, (), Ident(0, 0, name), type_)


def _shape_of(composer: Composer, written: Name) -> tuple[str, int] | None:
    """Return a field type's element type and how many elements it has, None if it is no such."""
    type_: Type | None = composer.types.of(written)
    if isinstance(type_, Scalar) and type_.name in _SCALARS:
        return type_.name, 1
    if isinstance(type_, Vector) and type_.element.name in _SCALARS:
        return type_.element.name, type_.size
    if isinstance(type_, Array) and type_.count is not None:
        row = type_.element
        if isinstance(row, Vector) and row.size == 4 and row.element.name in _SCALARS[:3]:
            return row.element.name, composer.layouts.of(type_).size // 4
    return None


def _bad_type(
    composer: Composer, struct: Struct | None, type_: str, member: Parameter | None = None
) -> ShaderError:
    message = (
        f"{composer.kernel}: a shader field of type {type_} cannot be filled; want f32, i32, u32, "
        f"T, a vector of them or array<vec4<u32>, 2>."
    )
    return ShaderError(_pointed(composer, struct, member, message))


def _pointed(
    composer: Composer, struct: Struct | None, member: Parameter | None, message: str
) -> str:
    """Return ``message`` and, below it, the author's place, line and caret."""
    if struct is None:
        return message
    text = composer.source.text_of(struct)
    at = member.span.begin if member else struct.name_span.begin
    shown = text.point("", at).replace(": \n", "\n", 1)
    return f"{message}\n  {shown}"
