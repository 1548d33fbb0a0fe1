"""What an author says of a shader's outputs before it runs: the numbers that they start from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from wgsl_kernels.backends.webgpu.arrays.host_values import check_number
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.operands import DeclaredForm, Form
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.environment.origin import Origin
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


class DeclaredShader(Protocol):
    """A kernel that is a shader, as far as its outputs go."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> Origin: ...

    @property
    def form(self) -> DeclaredForm | None: ...

    @property
    def init(self) -> Mapping[str, complex]:
        """The number that an output starts from, by name."""

    @property
    def source(self) -> Source: ...


def look_at_outputs(shader: DeclaredShader) -> None:
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


def _warn_of_atomics(shader: DeclaredShader, source: Source) -> None:
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
