"""What is said of a shader before it runs: how its outputs start, and what is misspelt."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.arrays.host_values import check_number
from wgsl_kernels.backends.webgpu.modules.files import is_wgsl
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
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


def refuse_init(kernel: str, form: Form) -> None:
    """Refuse numbers to start from where the form writes every element."""
    if form != "free":
        raise ArgumentError(
            f"{kernel}: init is for a shader with its own main; a {form} writes every element. "
            "Leave it out."
        )


def look_at_outputs(shader: ShaderKernel) -> None:
    """Say at its registration what is wrong with how a shader's outputs start.

    A file that cannot be read is left to the first run, whose error says why.
    """
    from wgsl_kernels.backends.webgpu.composing.text.operands import classify

    try:
        source = shader.source
        form = classify(source, shader.form)
    except (WgslKernelsError, OSError, ValueError):
        return
    if shader.init:
        refuse_init(shader.name, form)
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


HOOKS = (
    "op", "init", "combine", "lift", "append", "finish", "apply", "settle", "main",
    "a_at", "b_at", "b_vec4", "term",
)  # fmt: skip
"""The functions by which a form is known, or that it may have."""
_OF_TEXT = ("fn ", ";", "->")
"""What a path has not."""


class MisspeltHook(NamedTuple):
    """A function that nothing calls and whose name is nearly that of a hook."""

    name: str
    near: str
    place: Place
    line: str

    @property
    def words(self) -> str:
        return f"nothing calls {self.name}. Did you mean {self.near!r}?"


def misspelt_hooks(source: Source) -> Iterator[MisspeltHook]:
    """Yield functions that nothing calls and whose names are nearly those of hooks."""
    file = source.own
    have = set(file.module.functions)
    for name, function in file.module.functions.items():
        if name in HOOKS or name in file.needs or function.is_entry or name.startswith("op_"):
            continue
        near = difflib.get_close_matches(name, [one for one in HOOKS if one not in have], 1, 0.7)
        if near:
            place = file.text.place(function.name_span.begin)
            yield MisspeltHook(name, near[0], place, file.text.line(place.line))


def warn_of_slips(shader: ShaderKernel) -> None:
    """Warn at a shader's registration of hooks that are misspelt, and of text taken for a path."""
    words: list[str] = []
    try:
        found = list(misspelt_hooks(shader.source))
        words += [f"{one.place.label}: {one.words}" for one in found]
    except (WgslKernelsError, OSError, ValueError):  # its first run says why
        if not is_wgsl(shader.given) and any(one in shader.given for one in _OF_TEXT):
            words.append(
                f"{shader.given!r} is taken for a path, and there is no such file. WGSL text has "
                "a newline or a brace."
            )
    for one in words:
        message = f"{shader.name}: {one}"
        warnings.warn_explicit(message, RuntimeWarning, shader.origin.file, shader.origin.line)
