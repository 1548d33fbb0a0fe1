"""The module that fills a product's slots, made of a user's file and of what follows from it."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceFunction,
    InstanceNames,
    head_of_slot,
)
from wgsl_kernels.backends.webgpu.products.slots import (
    INNER_SLOTS,
    SLOTS,
    check_counts,
    check_types,
    private,
    refuse_others,
)
from wgsl_kernels.backends.webgpu.products.tilings import STRIDED, Vec4Axes
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.environment.suggestions import did_you_mean
from wgsl_kernels.wgsl.derive.linear import accumulates
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.specialize.vectors import (
    VEC4,
    HostFacts,
    ScalarLoads,
    Vec4Load,
    vec4_load,
)
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.edited import EditedText
from wgsl_kernels.wgsl.syntax.names import RESERVED, wgsl_name
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text

PRODUCT_SLOTS = "templates/product_slots.wesl"
ELEMENTS = Instance("templates/product_elements.wesl")
_PLACES = {one: f"wgsl_kernels::templates::product_slots::{one}" for one in ("Place", "Col")}
NAMES = InstanceNames(
    {"Y": "y"},
    {old: functools.partial(str, new) for old, new in {**_PLACES, "wk_b_at": "b_at"}.items()},
)
"""What names of ELEMENTS are behind a user's file."""
_READ = "@group(0) @binding(0) var<storage, read>"
OWN_FIELDS = (
    "batches", "rows", "cols", "taps", "channels", "tap_block", "channel_block", "part_size",
    "across",
)  # fmt: skip
"""What the templates want to know."""
OWN_NAMES = ("y", "parts", "params")
"""What the templates bind beside the inputs."""
SLOT_NAMES = (*SLOTS, *(name for name in INNER_SLOTS if name not in "ab"))
"""What the templates import from a kernel's module, but for the operands."""


@dataclass(frozen=True)
class ProductFile:
    """A user's file, read.

    Attributes:
        text: The file, with other names for what is not a product's.
    """

    kernel: str
    text: Text
    functions: Mapping[str, tree.Function]
    names: Names
    original: Text

    @property
    def declared(self) -> frozenset[str]:
        return frozenset(one.name for one in self.names.symbols if one.is_global)

    @functools.cached_property
    def unbroken(self) -> str:
        """Why parts of a sum cannot be added, empty where they can."""
        if "combine" in self.functions:
            return ""
        missing = "; declare combine(x, y), the sum of two parts, to have it split"
        if "init" in self.functions:
            return f"a sum is unbroken: it starts at init{missing}"
        term = self.functions.get("term_at", self.functions.get("term"))
        if term is None or accumulates(term, self.declared):
            return ""
        place = self.text.place(term.ident.begin).label
        return f"a sum is unbroken: term is not seen to add to it ({place}){missing}"

    @property
    def uses(self) -> frozenset[str]:
        """The names that the file takes from outside."""
        return frozenset(use.ident.name for use in self.names.unresolved)

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of ``params`` that it reads."""
        return tuple(dict.fromkeys([one.member.name for one in field_reads(self.names)]))

    def check_fields(self, known: Collection[str]) -> None:
        """Refuse to read a field of ``params`` that is none of these.

        Raises:
            ShaderError: One is; the message points at it.
        """
        for one in field_reads(self.names):
            name = one.member.name
            if name not in known:
                message = f"{self.kernel}: params has no field {name!r}; known: {', '.join(known)}."
                hint = did_you_mean(name, known)
                raise ShaderError(self.text.point(f"{message}{hint}", one.member.begin))


@dataclass(frozen=True, slots=True)
class WrittenProduct:
    """What fills the slots for arrays of one layout.

    Attributes:
        vec4: The arrays that are bound as vec4, too, by their names in WGSL.
        loads: How each operand is read, and why: what ``explain`` prints.
    """

    text: Text
    layout: Vec4Axes
    vec4: tuple[str, ...]
    loads: Mapping[str, Vec4Load | ScalarLoads]


def field_reads(names: Names) -> list[tree.Access]:
    """Return where a file reads fields of ``params``, in the order of the text."""
    begins = {use.ident.begin for use in names.unresolved if use.ident.name == "params"}
    found = [
        node
        for declaration in names.module.declarations
        for node in descendants(declaration)
        if isinstance(node, tree.Access)
        and isinstance(node.base, tree.Name)
        and node.base.begin in begins
    ]
    return sorted(found, key=lambda one: one.begin)


def read_product(kernel: str, text: Text) -> ProductFile:
    """Return what a user's file declares.

    Raises:
        ShaderError: It is no WESL, lacks ``a_at``, or both ``b_at`` and ``b_vec4``, or has what is
            of no use in a product, or a slot of more or fewer parameters.
    """
    original = text
    names = names_of(parse_source(text).module)
    if names.module.is_whole:
        refuse_others(kernel, text, names)
        text = private(text, names)
    module = parse_source(text).module
    functions = module.functions
    check_counts(kernel, text, functions)
    known = ", ".join(f"fn {name}" for name in functions) or "no function"
    for name, others in (("a_at", {"a_at"}), ("b_at", {"b_at", "b_vec4"})):
        if not others & functions.keys():
            wanted = head_of_slot(PRODUCT_SLOTS, name).partition(" -> ")[0]
            raise ShaderError(f"{kernel}: {text.file}: a product wants {wanted}; found {known}.")
    for name, other in (("c_at", "term_at"), ("term_at", "c_at")):
        if name in functions and other not in functions:
            wanted = head_of_slot(PRODUCT_SLOTS, other).partition(" -> ")[0]
            why = f"{kernel}: {name!r} goes with {wanted}, which is missing."
            raise ShaderError(text.point(why, functions[name].ident.begin))
    return ProductFile(kernel, text, functions, names_of(module), original)


def write_product(
    file: ProductFile,
    inputs: Collection[str],
    strided: Collection[str],
    sizes: tuple[int, int, int],
    fields: Mapping[str, Any],
    types: Mapping[str, str],
    absent: Collection[str] = (),
) -> WrittenProduct:
    """Return the module for arrays of one layout.

    The arrays in ``strided`` are views that only accessors read; ``sizes`` are rows, columns and
    terms; ``fields`` has the values of ``params`` that are not the templates' own; ``types`` has
    what ``T``, ``T_wide`` and ``T_<tensor>`` are.

    Raises:
        ArgumentError: A field has no type in WGSL.
        ShaderError: A slot is of other types than a product's.
    """
    spelled = {wgsl_name(name) for name in inputs}
    views = {wgsl_name(name) for name in strided}
    rows, cols, depth = sizes
    known = {"rows": rows, "cols": cols, "channels": depth, **fields}
    facts = HostFacts(frozenset(spelled - views), frozenset(views), _divisors(known))
    layout, loads = _layout(file, facts, rows, cols, depth)
    check_types(file.kernel, file.text, file.names.module, types, spelled)
    proved = [one for one in loads.values() if isinstance(one, Vec4Load) and one.text]
    vec4 = [name for one in proved for name in one.buffers]
    lines = [_params(file, fields), "alias Sum = T_wide;"]
    bound = [name for name in sorted(spelled) if name in file.uses]
    lines += [f"{_READ} {name}: array<T_{name}>;" for name in bound]
    lines += [f"{_READ} {name}{VEC4}: array<vec4<T_{name}>>;" for name in dict.fromkeys(vec4)]
    lines += _optional(file, sorted(spelled), sorted(map(wgsl_name, absent)))
    lines += _functions(file, layout, loads)
    behind = "\n".join(("\n// What follows is written by the library.", *lines, ""))
    text = file.text.with_more(behind)
    if isinstance(file.text, EditedText):
        original = file.original.with_more(behind)
        text = replace(file.text, text=text.text, original=original, known=None)
    return WrittenProduct(text, layout, tuple(dict.fromkeys(vec4)), loads)


def _optional(file: ProductFile, given: Sequence[str], absent: Sequence[str]) -> list[str]:
    """Return which inputs are given, and what stands for those that are not."""
    lines = [f"const has_{n} = true;" for n in given if f"has_{n}" in file.uses]
    for name in absent:
        if file.uses & {f"has_{name}", name, f"T_{name}", f"load_{name}"}:
            lines += (
                f"const has_{name} = false;",
                f"alias T_{name} = T_y;",
                f"var<private> {name}: array<T_{name}, 1>;",
                InstanceFunction(ELEMENTS, "load_X", InstanceNames({"X": name})).written(),
            )
    return lines


def _layout(
    file: ProductFile, facts: HostFacts, rows: int, cols: int, depth: int
) -> tuple[Vec4Axes, Mapping[str, Vec4Load | ScalarLoads]]:
    """Return along which axes the operands are read as vec4, of what the templates have."""
    place = file.text.place(0).label

    def proof(name: str, at: int, along: str, size: int) -> Vec4Load | ScalarLoads:
        function = file.functions.get(name)
        if function is None or len(function.parameters) != 3:
            return ScalarLoads(f"there is no {name} of three parameters", place)
        if size % 4:
            return ScalarLoads(f"{along} is {size}, no multiple of 4", place)
        along = function.parameters[at].ident.name
        return vec4_load(file.text, function, along, facts, file.declared)

    along_k, along_m = proof("a_at", 2, "depth", depth), proof("a_at", 1, "rows", rows)
    across, inner = proof("b_at", 2, "cols", cols), proof("b_at", 1, "depth", depth)
    if "b_vec4" in file.functions and depth % 4 == 0:
        inner = Vec4Load("", ("b_vec4",))
    is_k, is_m = isinstance(along_k, Vec4Load), isinstance(along_m, Vec4Load)
    is_n, is_inner = isinstance(across, Vec4Load), isinstance(inner, Vec4Load) and cols % 4 == 0
    if is_k and is_n:
        return Vec4Axes("k", "n"), {"a": along_k, "b": across}
    if is_k and is_inner:
        return Vec4Axes("k", "k"), {"a": along_k, "b": inner}
    if is_m and is_n:
        return Vec4Axes("m", "n"), {"a": along_m, "b": across}
    if is_n:
        return Vec4Axes("", "n"), {"a": _scalar(along_k, place), "b": across}
    return STRIDED, {"a": _scalar(along_k, place), "b": _scalar(across, place)}


def _scalar(one: Vec4Load | ScalarLoads, place: str) -> ScalarLoads:
    if isinstance(one, ScalarLoads):
        return one
    return ScalarLoads("the other operand has no vec4 form that goes with it", place)


def _functions(
    file: ProductFile, layout: Vec4Axes, loads: Mapping[str, Vec4Load | ScalarLoads]
) -> list[str]:
    """Return the slots that follow from the user's functions."""
    lines = [one.text for one in loads.values() if isinstance(one, Vec4Load) and one.text]
    instance = ELEMENTS.given(
        A_ALONG_K=layout.a == "k",
        A_ALONG_M=layout.a == "m",
        B_ALONG_K=layout.b == "k",
        B_ALONG_N=layout.b == "n",
        OWN_VEC4="b_vec4" in file.functions,
        FINISH="finish" in file.functions,
    )
    names = ["fetch_a", "fetch_b", "fetch_c", "wk_whole", "store", "store4"]
    if "c_at" not in file.functions:
        names.remove("fetch_c")
    if "b_at" not in file.functions:
        names.append("wk_b_at")
    written = [InstanceFunction(instance, name, NAMES).written() for name in names]
    whole = "const WHOLE = false; // @given false true: a part is the whole sum"
    return [*lines, whole, *written]


def _params(file: ProductFile, fields: Mapping[str, Any]) -> str:
    """Return the uniform's struct and variable: what templates want, and what the file names."""
    rows = [f"{name}: u32" for name in OWN_FIELDS]
    rows += [f"{n}: {_type_of(file.kernel, n, fields[n])}" for n in fields if n not in OWN_FIELDS]
    struct = f"struct Params {{ {', '.join(rows)} }}"
    return f"{struct}\n@group(0) @binding(0) var<uniform> params: Params;"


def _type_of(kernel: str, name: str, value: object) -> str:
    if _FIELD.fullmatch(name) is None or name in RESERVED:
        raise ArgumentError(
            f"{kernel}: params= gave a field {name!r}; want a name of WGSL that does not begin "
            "with '__' or 'wk_'."
        )
    if isinstance(value, bool) or (isinstance(value, int) and 0 <= value < 2**32):
        return "u32"
    if isinstance(value, float):
        return "f32"
    if (
        isinstance(value, tuple)
        and 2 <= len(value) <= 4
        and not any(isinstance(one, tuple) for one in value)
    ):
        types = {_type_of(kernel, name, one) for one in value}
        if len(types) == 1:
            return f"vec{len(value)}<{types.pop()}>"
    raise ArgumentError(
        f"{kernel}: params= gave {name} = {value!r}; want a float, an int from 0 to "
        "4294967295, a bool, or two to four of one kind in a tuple."
    )


_FIELD = re.compile(r"(?!__|wk_|_$)[A-Za-z_]\w*", re.ASCII)


def _divisors(fields: Mapping[str, Any]) -> dict[str, int]:
    """Return what four has in common with each integer that ``params`` holds."""
    found: dict[str, int] = {}
    for name, value in fields.items():
        if isinstance(value, int) and not isinstance(value, bool):
            found[f"params.{name}"] = math.gcd(value, 4)
        elif isinstance(value, tuple):
            for at, one in enumerate(value[:4]):
                if isinstance(one, int):
                    for spelling in (f"[{at}]", f"[{at}u]", f".{'xyzw'[at]}"):
                        found[f"params.{name}{spelling}"] = math.gcd(one, 4)
    return found
