"""What a kernel is composed for: its tensors, without their sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.modules.kernel_source import known_of_source
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.tree import Expression, Function

Access = Literal["flat", "strided", "value", "absent"]
Form = Literal["map", "reduce", "scan", "window", "free"]
DeclaredForm = Literal["scan", "window"]
"""A form that says what is done with the functions of a reduction, and not which there are."""

VALUE_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "f32",
        "float16": "f16",
        "int32": "i32",
        "int8": "i32",
        "uint8": "i32",
        "bool": "bool",
        "complex64": "vec2<f32>",
    }
)
"""What kernels compute each dtype in."""
STORAGE_TYPES: Mapping[str, str] = MappingProxyType({**VALUE_TYPES, "bool": "u32"})
"""What accessors give and take: a bool is a u32 of 0 or 1, a complex number a pair."""
BOUND_TYPES: Mapping[str, str] = MappingProxyType({**STORAGE_TYPES, **dict.fromkeys(BYTES, "u32")})
"""The elements of a buffer: of bytes a word holds four."""

VARIANTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "float32": ("op_f32",),
        "float16": ("op_f16", "op_f32"),
        "int32": ("op_i32",),
        "int8": ("op_i32",),
        "uint8": ("op_i32",),
        "bool": ("op_bool",),
        "complex64": ("op_complex",),
    }
)
OP_NAMES = frozenset({"op", *(name for names in VARIANTS.values() for name in names)})
HOOKS = (
    "op", "init", "combine", "lift", "append", "finish", "apply", "settle", "main",
    "a_at", "b_at", "b_vec4", "term",
)  # fmt: skip
"""The functions by which a form is known, or that it may have."""
_OF_DTYPE = rf"(?:{'|'.join(HOOKS)})_(?:[a-z]*\d+|int|float|half|bool|complex)"
"""What looks like a hook for one dtype alone, as maps have them of ``op``."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of a kernel.

    Attributes:
        name: As the signature has it; WGSL spells reserved words with a trailing underscore.
        rank: Its number of axes. Of a strided input of a map, the rank of the iteration; of a
            reduction's, kept axes and reduced axes together.
        access: ``flat``: contiguous from element 0 of its binding. ``strided``: strides and an
            offset come as parameters. ``value``: one number that comes as a parameter.
            ``absent``: an optional input that was not given.
    """

    name: str
    dtype: str
    rank: int
    access: Access = "flat"

    @property
    def wgsl(self) -> str:
        return wgsl_name(self.name)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The endings that accessors may have: the WGSL name, and the plain one."""
        return tuple(dict.fromkeys((self.wgsl, self.name)))

    @property
    def value_type(self) -> str:
        """The WGSL type of one element in a map or a reduction."""
        return VALUE_TYPES[self.dtype]

    @property
    def storage_type(self) -> str:
        """The WGSL type of one element as accessors give and take it."""
        return STORAGE_TYPES[self.dtype]

    @property
    def bound_type(self) -> str:
        """The WGSL type of what a buffer is made of: an element, or a word of four bytes."""
        return BOUND_TYPES[self.dtype]


def is_hook(name: str) -> bool:
    """Say whether a function is called as a hook, of whatever form, or as one for a dtype alone."""
    return name in HOOKS or name in OP_NAMES or re.fullmatch(_OF_DTYPE, name) is not None


def choose_op(kernel: str, source: Source, dtype: str) -> Function:
    """Return the function that serves ``dtype``: ``op_i32`` and the like before ``op``."""
    for name in (*VARIANTS.get(dtype, ()), "op"):
        if name in source.functions:
            return source.functions[name]
    have = ", ".join(sorted(OP_NAMES & source.functions.keys()))
    raise ShaderError(f"{kernel}: {source.file} has no op for {dtype}; found {have}.")


@known_of_source
def op_parameters(source: Source, kernel: str, dtype: str) -> tuple[str, ...]:
    """Return what the function that serves ``dtype`` calls its parameters."""
    return tuple([one.name for one in choose_op(kernel, source, dtype).parameters])


def classify(source: Source, declared: DeclaredForm | None = None) -> Form:
    """Return which form a kernel has, from what its files define unless it is declared.

    Raises:
        ShaderError: It defines neither a compute entry point, nor ``init`` and ``combine``, nor
            ``op``; or not what the declared form wants.
    """
    return _form(source, declared)


@known_of_source
def _form(source: Source, declared: DeclaredForm | None) -> Form:
    functions = source.functions
    if declared is not None:
        _require_totals(source, declared)
        return declared
    if any(function.is_entry for function in functions.values()):
        return "free"
    if "init" in functions and "combine" in functions:
        return "reduce"
    if OP_NAMES & functions.keys():
        return "map"
    found = ", ".join(f"fn {name}" for name in functions)
    message = (
        f"{source.file}: defines no kernel; want fn op (a map), fn init and fn combine "
        "(a reduction), or a @compute function." + (f" There is {found}." if found else "")
    )
    raise source.refused(coded("no-kernel", message))


def _require_totals(source: Source, form: DeclaredForm) -> None:
    """Refuse a file that lacks what a scan or a window is made of."""
    missing = next((name for name in ("init", "combine") if name not in source.functions), None)
    if missing is None:
        return
    from wgsl_kernels.backends.webgpu.composing.text.instances import wanted_function

    found = ", ".join(f"fn {name}" for name in source.functions) or "no function"
    wanted = wanted_function(missing) + ", of which nothing changes" * (missing == "init")
    message = f"a {form} needs fn {missing}, which is missing; want {wanted}. There is "
    first = next(iter(source.own.module.functions.values()), None)
    where = f"{source.file}: {message}{found}."
    if first is not None:
        where = source.point(f"{message}{found}.", first)
    raise source.refused(ShaderError(where))


@known_of_source
def allowed_access(source: Source, name: str) -> frozenset[Access]:
    """Return how the input ``name`` may be handed to the kernel without a copy.

    Maps and reductions take all forms. A free kernel that names the binding itself wants it
    flat, unless it declares the fields ``<name>_strides`` and ``<name>_offset``; one that reads
    only through ``load_<name>`` takes all forms.
    """
    if classify(source) != "free":
        return frozenset({"flat", "strided", "value"})
    wgsl = wgsl_name(name)
    if wgsl not in source.variables:
        return frozenset({"flat", "strided", "value"})
    fields = {field.name for struct in source.structs.values() for field in struct.fields}
    if {f"{wgsl}_strides", f"{wgsl}_offset"} <= fields:
        return frozenset({"flat", "strided"})
    if any(wgsl in source.needs_of(one) for one in source.functions.values()):
        return frozenset({"flat"})
    return frozenset({"flat", "strided", "value"})


def allowed_dtypes(
    source: Source, name: str, declared: DeclaredForm | None = None
) -> frozenset[str]:
    """Return the dtypes that the file's written types allow for the tensor ``name``.

    ``T`` and ``T_<name>`` allow every dtype that kernels compute in, except that a map serves
    complex64 only through ``op_complex``; a u32 in a buffer may hold the bits of any 4-byte dtype.
    """
    return _dtypes_allowed(source, name, declared)


@known_of_source
def _dtypes_allowed(source: Source, name: str, declared: DeclaredForm | None) -> frozenset[str]:
    form = classify(source, declared)
    if form == "free":
        variable = source.variables.get(wgsl_name(name))
        type_ = None if variable is None else variable.type
        return _dtypes_of(_spelled(type_.templates[0] if type_ and type_.templates else type_))
    ops = source.functions
    if form != "map":
        written = _parameter_type(source, "lift", 0) if name != "y" else ""
        return _dtypes_of(written)
    found: frozenset[str] = frozenset()
    for dtype in VARIANTS.keys() - BYTES:
        variants = VARIANTS[dtype]
        special = next((v for v in variants if v in ops), None)
        if special is not None or ("op" in ops and dtype != "complex64"):
            written = _named_type(source, special or "op", wgsl_name(name))
            found |= {dtype} & (_dtypes_of(written) if special is None else {dtype})
    return found


def _spelled(type_: Expression | None) -> str:
    from wgsl_kernels.wgsl.syntax.printer import spell  # what sources say is known mostly

    return spell(type_)


def _parameter_type(source: Source, function: str, index: int) -> str:
    found = source.functions.get(function)
    return _spelled(found.parameters[index].type) if found and len(found.parameters) > index else ""


def _named_type(source: Source, function: str, name: str) -> str:
    parameters = source.functions[function].parameters
    return _spelled(next((p.type for p in parameters if p.name == name), None))


def _dtypes_of(written: str) -> frozenset[str]:
    exact = {"f32": "float32", "f16": "float16", "i32": "int32", "bool": "bool"}
    if written in exact:
        return frozenset({exact[written]})
    if written in ("vec2<f32>", "vec2f"):
        return frozenset({"complex64", "float32"})
    if "u32" in written:
        return frozenset({"float32", "int32", "bool"})
    for scalar in ("f32", "f16", "i32"):
        if scalar in written:
            return frozenset({exact[scalar]})
    return frozenset(VALUE_TYPES) - BYTES
