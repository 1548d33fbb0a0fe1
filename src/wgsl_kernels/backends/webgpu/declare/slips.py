"""What is said of a shader before it runs: how its outputs start, and what is misspelt."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.arrays.host_values import check_number
from wgsl_kernels.backends.webgpu.composing.text.operands import HOOKS, OP_NAMES, classify, is_hook
from wgsl_kernels.backends.webgpu.modules.files import is_wgsl
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.composing.text.operands import DeclaredForm, Form
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.places import Place
    from wgsl_kernels.wgsl.syntax.tree import Expression


def checked_init(kernel: str, init: Any) -> dict[str, Any]:
    """Return ``init`` as a dictionary from outputs to numbers; refuse anything else."""
    if not isinstance(init, Mapping):
        raise ArgumentError(f"{kernel}: init is {init!r}; want numbers by output, as {{'y': 0}}.")
    found: dict[str, Any] = {}
    for name, value in init.items():
        if not isinstance(name, str):
            raise ArgumentError(f"{kernel}: init names {name!r}; want an output, as {{'y': 0}}.")
        found[name] = check_number(value, f"{kernel}: init of {name}")
    return found


def refuse_for_main(shader: ShaderKernel, form: Form) -> None:
    """Refuse a grid, and numbers to start from, where the form has its own and writes all."""
    if form == "free":
        return
    for word, given, instead in (
        ("groups", shader.groups is not None, "has its own grid"),
        ("init", bool(shader.init), "writes every element"),
    ):
        if given:
            raise ArgumentError(
                f"{shader.name}: {word} is for a shader with its own main; a {form} {instead}. "
                "Leave it out."
            )


def look_at_outputs(shader: ShaderKernel) -> None:
    """Say at its registration what is wrong with how a shader's outputs start.

    A file that cannot be read is left to the first run, whose error says why.
    """
    try:
        source = shader.source
        form = classify(source, shader.form)
    except (WgslKernelsError, OSError, ValueError):
        return
    refuse_for_main(shader, form)
    if form == "free" and not shader.origin.is_ours:
        _warn_of_atomics(shader, source)


def _warn_of_atomics(shader: ShaderKernel, source: Source) -> None:
    """Warn of outputs that a shader adds to, but that start from what the memory held before."""
    for name, variable in source.variables.items():
        is_output = variable.space == "storage" and variable.access == "read_write"
        started = {name, name.removesuffix("_")} & shader.init.keys()
        if is_output and not started and _is_atomic(source, variable.type):
            message = (
                f"{shader.name}: output '{name}' is atomic, but starts from whatever its memory "
                f"held before. Pass init={{{name!r}: 0}} to wgsl_kernel."
            )
            warnings.warn_explicit(
                source.point(message, variable),
                RuntimeWarning,
                shader.origin.file,
                shader.origin.line,
            )


def _is_atomic(source: Source, type_: Expression | None, depth: int = 0) -> bool:
    """Say whether a type holds atomics: as an element, a field, or by another name."""
    from wgsl_kernels.wgsl.syntax.tree import Name  # of authors' shaders alone

    if not isinstance(type_, Name):
        return False
    if type_.name == "atomic":
        return True
    if depth > len(source.aliases) + len(source.structs):  # a type that holds itself
        return False
    parts = list(type_.templates)
    if type_.name in source.aliases:
        parts.append(source.aliases[type_.name].type)
    if type_.name in source.structs:
        parts += [field.type for field in source.structs[type_.name].fields]
    return any(_is_atomic(source, one, depth + 1) for one in parts)


_OF_TOTALS = frozenset({"init", "combine", "lift", "append", "finish"})
_READ: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "map": OP_NAMES,
        "reduce": _OF_TOTALS,
        "normalize": (_OF_TOTALS - {"finish"}) | {"settle", "apply"},
        "scan": _OF_TOTALS,
        "window": _OF_TOTALS,
        "free": frozenset[str](),
    }
)
"""The functions that each form calls by their names; a reduction with ``apply`` normalizes."""
_NOUN = {"reduce": "reduction", "normalize": "reduction with apply", "free": "kernel with a main"}
_OF_TEXT = ("fn ", ";", "->")
"""What a path has not."""


class Slip(NamedTuple):
    """What a shader's author wrote and nothing reads, where something else was meant.

    Attributes:
        code: Its code; `wgsl.errors.finding_codes` lists all.
        width: How many characters are meant.
        line: The line of the file.
    """

    code: str
    words: str
    place: Place
    width: int
    line: str


def slips(source: Source, form: DeclaredForm | None = None) -> Iterator[Slip]:
    """Yield functions that nothing calls and whose names are hooks, or nearly, and marks in vain.

    ``form`` is the one that is declared.
    """
    from wgsl_kernels.wgsl.lint import marks  # of authors' shaders alone

    text = source.own.text
    for code, words, begin, width in _unread(source, form):
        place = text.place(begin)
        yield Slip(code, words, place, width, text.line(place.line))
    for one in (*marks.misspelt_marks(text), *marks.marks_of_choices(text)):
        place = text.place(one.span.begin)
        width = one.span.end - one.span.begin
        yield Slip(one.code, one.words, place, width, text.line(place.line))


def _unread(source: Source, form: DeclaredForm | None) -> Iterator[tuple[str, str, int, int]]:
    file = source.own
    have = set(file.module.functions)
    kind = _kind(source, form)
    for name, function in file.module.functions.items():
        if name in file.needs or function.is_entry or (kind and name in _READ[kind]):
            continue
        if kind and is_hook(name):
            noun = _NOUN.get(kind, kind)
            known = ", ".join(sorted(_READ[kind])) or "its main alone"
            code, words = "unread-hook", f"a {noun} has no {name}; it reads {known}."
        elif near := difflib.get_close_matches(name, [n for n in HOOKS if n not in have], 1, 0.7):
            code, words = "misspelt-hook", f"nothing calls {name}. Did you mean {near[0]!r}?"
        else:
            continue
        yield code, words, function.name_span.begin, len(name)


def _kind(source: Source, declared: DeclaredForm | None) -> str:
    """Return by which hooks a shader is read; empty where it is none, which its first run says."""
    try:
        form = classify(source, declared)
    except WgslKernelsError:
        return ""
    return "normalize" if form == "reduce" and "apply" in source.functions else form


def warn_of_slips(shader: ShaderKernel) -> None:
    """Warn at a shader's registration of its slips, and of text taken for a path."""
    words: list[str] = []
    try:
        words += [f"{one.place.label}: {one.words}" for one in slips(shader.source, shader.form)]
    except (WgslKernelsError, OSError, ValueError):  # its first run says why
        if not is_wgsl(shader.given) and any(one in shader.given for one in _OF_TEXT):
            words.append(
                f"{shader.given!r} is taken for a path, and there is no such file. WGSL text has "
                "a newline or a brace."
            )
    for one in words:
        message = f"{shader.name}: {one}"
        warnings.warn_explicit(message, RuntimeWarning, shader.origin.file, shader.origin.line)
