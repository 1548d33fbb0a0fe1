"""The functions that a product's author writes, and what else may stand in the file."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.operands import is_hook
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.derive.custom import renamed_with_rules
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text

NUMBER = "a number"
SUM = "T_wide"
_PLACE = ("u32", "u32", "u32")
SLOTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "a_at": (_PLACE, NUMBER),
    "b_at": (_PLACE, NUMBER),
    "b_vec4": (_PLACE, "vec4 of numbers"),
    "c_at": (_PLACE, NUMBER),
    "init": ((), SUM),
    "term": ((SUM, SUM, SUM), SUM),
    "term_at": ((SUM, SUM, SUM, SUM), SUM),
    "combine": ((SUM, SUM), SUM),
    "finish": ((SUM, *_PLACE), NUMBER),
}
"""What an author may declare: the types of parameters, and what is returned."""
INNER_SLOTS = (
    "Params", "a", "b", "y", "params", "Sum", "Row", "row_at", "Place", "place_at", "fetch_a",
    "Col", "col_at", "b_start", "b_step", "fetch_b", "fetch_c", "term4", "row_of_y",
    "store", "store4",
)  # fmt: skip
"""What else ``templates/product_slots.wesl`` declares, which only our own products fill."""
_TAKEN = re.compile(
    rf"{'|'.join(INNER_SLOTS)}|parts|T|T_\w+|has_\w+|wk_\w+|\w+_as_vec4|store4?_y|WHOLE"
    r"|[Aa]ttrs|u32|i32|f32|f16|bool|array|vec[234]\w?"
)
"""The names in the text that is written behind a file, and in what is derived of it."""
_NUMBERS = frozenset({"f32", "f16", "i32", "u32", "bool"})
_SHORT = re.compile(r"vec4([fhiu])")


def private(text: Text, names: Names) -> Text:
    """Return a user's file in which nothing but the slots is called as the templates call it.

    Nor is anything called as what tells another form, which what is derived of the file may have.
    """
    module = names.module
    declared = {one.ident.name for one in _named(module) if not _is_bound(one)}
    taken = {s.name for s in names.symbols} | {use.ident.name for use in names.uses}
    new: dict[str, str] = {}
    for name in sorted(declared):
        if _TAKEN.fullmatch(name) or (is_hook(name) and name not in SLOTS):
            new[name] = _fresh(name, taken)
            taken.add(new[name])
    return renamed_with_rules(names, new) if new else text


def refuse_others(kernel: str, text: Text, names: Names) -> None:
    """Refuse what a product would leave unused, or has itself.

    Raises:
        ShaderError: There is an entry point, a function of another form, memory of the workgroup
            or a uniform, or the file writes the output.
    """
    used = {use.ident.name for use in names.uses}
    for node in _named(names.module):
        name = node.ident.name
        why = ""
        if isinstance(node, tree.Function) and (
            node.is_entry or (is_hook(name) and name not in SLOTS and name not in used)
        ):
            why = f"a product has no {name!r}; want {', '.join(SLOTS)}, and what they call."
        elif isinstance(node, tree.Var) and node.space in ("workgroup", "uniform"):
            why = f"a product has no variables in {node.space!r}: its template shares what is read."
        if why:
            raise ShaderError(text.point(f"{kernel}: {why}", node.ident.begin))
    for use in names.unresolved:
        if use.ident.name in ("store_y", "store4_y"):
            why = f"{kernel}: a product stores its results itself; return them from finish."
            raise ShaderError(text.point(why, use.ident.begin))


def check_counts(kernel: str, text: Text, functions: Mapping[str, tree.Function]) -> None:
    """Refuse a slot that takes more or fewer parameters than a product gives it.

    Raises:
        ShaderError: There is one.
    """
    for name, node in functions.items():
        given = len(node.parameters)
        wanted = len(SLOTS[name][0]) if name in SLOTS else given
        if given != wanted:
            why = f"{kernel}: {name!r} takes {given} parameters; want {wanted}."
            raise ShaderError(text.point(why, node.ident.begin))


def check_types(
    kernel: str, text: Text, module: tree.Module, types: Mapping[str, str], inputs: Collection[str]
) -> None:
    """Refuse slots of other types than a product's, where they are known.

    ``types`` has what ``T``, ``T_wide`` and ``T_<tensor>`` are.

    Raises:
        ShaderError: A type differs, or a parameter hides the input that is read.
    """
    aliases = {name: spell(one.type) for name, one in module.aliases.items()}
    known = {**types, "Sum": types[SUM], **aliases}

    def meant(spelled: str) -> str:
        for _ in aliases:
            spelled = known.get(spelled, spelled)
        return known.get(spelled, spelled)

    for node in module.declarations:
        if not isinstance(node, tree.Function):
            continue
        _refuse_hidden(kernel, text, node, inputs)
        parameters, returns = SLOTS.get(node.ident.name, ((), ""))
        if len(parameters) == len(node.parameters):
            for own, wanted in zip(node.parameters, parameters, strict=True):
                found, want = meant(spell(own.type)), meant(wanted)
                if found != want:
                    why = f"{kernel}: {node.ident.name!r} takes {found} here; want {want}."
                    raise ShaderError(text.point(why, own.begin))
        if returns:
            _check_returned(kernel, text, node, returns, meant)


def _check_returned(
    kernel: str, text: Text, node: tree.Function, wanted: str, meant: Callable[[str], str]
) -> None:
    name = node.ident.name
    if node.returns is None:
        message = f"{kernel}: {name!r} returns nothing; want {meant(wanted)}."
        raise ShaderError(text.point(message, node.ident.begin))
    found = meant(spell(node.returns))
    if name == "b_vec4":
        (element,) = [meant(spell(one)) for one in node.returns.templates] or [found]
        short = _SHORT.fullmatch(found)
        is_fit = short is not None or (node.returns.name == "vec4" and element in _NUMBERS)
    else:
        is_fit = found == meant(wanted) or (wanted == NUMBER and found in _NUMBERS)
    if not is_fit:
        message = f"{kernel}: {name!r} returns {found} here; want {meant(wanted)}."
        raise ShaderError(text.point(message, node.returns.begin))


def _refuse_hidden(kernel: str, text: Text, node: tree.Function, inputs: Collection[str]) -> None:
    """Refuse to read an input behind a parameter of its name."""
    hidden = {one.ident.name for one in node.parameters} & set(inputs)
    for one in descendants(node) if hidden else ():
        if isinstance(one, tree.Index) and isinstance(one.base, tree.Name):
            name = one.base.name
            if name in hidden:
                message = f"{kernel}: the parameter {name!r} hides the input of that name here."
                raise ShaderError(text.point(f"{message} Rename the parameter.", one.begin))


def _named(module: tree.Module) -> Iterator[tree.Named]:
    for node in module.declarations:
        if not isinstance(node, (tree.ConstAssert, tree.Broken)):
            yield node


def _is_bound(node: tree.Named) -> bool:
    return isinstance(node, tree.Var) and any(one.name == "binding" for one in node.attributes)


def _fresh(name: str, taken: Collection[str]) -> str:
    """Return a name that nothing else has, and that is like no slot's."""
    return next(n for n in (f"private_{name}{k}" for k in itertools.count()) if n not in taken)
