"""A kernel's files with all that they import, and what is known of them without their text."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from wgsl_kernels.wgsl.errors.errors import REFUSED, ShaderError, coded
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wgsl_kernels.backends.webgpu.kept.kept_values import KeptValues
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Alias, Declaration, Function, Struct, Value, Var

_Fact = TypeVar("_Fact")
_More = TypeVarTuple("_More")


@dataclass(frozen=True)
class Source:
    """A kernel's own file and, of the files that it imports from, the declarations it needs.

    Attributes:
        offered: What its own file has by ``public import``: an entry point, a form's functions.
        checks_loops: Whether its kernel reports where the adapter has ended its loops.
    """

    own: Names
    imported: tuple[Names, ...] = field(default_factory=tuple["Names", ...])
    offered: tuple[str, ...] = field(default_factory=tuple[str, ...])
    checks_loops: bool = False

    @property
    def file(self) -> str:
        """The name that errors give the kernel's own file."""
        return self.own.text.file

    @functools.cached_property
    def files(self) -> tuple[Names, ...]:
        return (self.own, *self.imported)

    @functools.cached_property
    def digest(self) -> bytes:
        """What is equal where all files have the same names and texts."""
        pairs = [(file.text.file, file.text.text) for file in self.files]
        what = repr((pairs, self.checks_loops) if self.checks_loops else pairs)
        return hashlib.blake2b(what.encode(), digest_size=16).digest()

    @functools.cached_property
    def checked(self) -> Source:
        """The same, for a kernel that reports where the adapter has ended its loops."""
        return Source(self.own, self.imported, self.offered, checks_loops=True)

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        found: dict[str, Function] = {}
        for file in self.files[::-1]:
            found |= file.module.functions
        return RequiredFunctions(self.file, found)

    @functools.cached_property
    def variables(self) -> Mapping[str, Var]:
        return {name: v for file in self.files[::-1] for name, v in file.module.variables.items()}

    @functools.cached_property
    def structs(self) -> Mapping[str, Struct]:
        return {name: s for file in self.files[::-1] for name, s in file.module.structs.items()}

    @functools.cached_property
    def constants(self) -> Mapping[str, Value]:
        """The consts and overrides of all files, by name."""
        return {name: c for file in self.files[::-1] for name, c in file.module.constants.items()}

    @functools.cached_property
    def aliases(self) -> Mapping[str, Alias]:
        return {name: a for file in self.files[::-1] for name, a in file.module.aliases.items()}

    @property
    def declarations(self) -> Iterator[Declaration]:
        """The declarations of all files, the kernel's own first."""
        return (one for file in self.files for one in file.module.declarations)

    @functools.cached_property
    def declared(self) -> frozenset[str]:
        return frozenset(one.name for one in self.declarations if one.name)

    @functools.cached_property
    def _files(self) -> Mapping[int, Names]:
        return {id(d): file for file in self.files for d in file.module.declarations}

    def refused(self, error: ShaderError) -> ShaderError:
        """Return an error with the first declaration that could not be read, if there is one.

        The error may only be there because that declaration is missing.
        """
        for file in self.files:
            if not file.module.is_declared:
                problem = file.module.problems[0]
                code = problem.code if error.code == REFUSED else error.code
                read = f"Part of the text could not be read:\n{problem.describe(file.text)}"
                return coded(code, f"{error}\n{read}")
        return error

    def text_of(self, declaration: Declaration) -> Text:
        return self._files[id(declaration)].text

    def needs_of(self, declaration: Declaration) -> frozenset[str]:
        return self._files[id(declaration)].needs_of(declaration)

    def point(self, message: str, declaration: Declaration) -> str:
        """Return ``message`` led by the declaration's place, with its line and a caret."""
        return self.text_of(declaration).point(message, declaration.name_span.begin)

    def known(self, f: Callable[[Source, *_More], _Fact], *more: *_More) -> _Fact:
        """Return what a function of sources gives for this one; see `known_of_source`."""
        return f(self, *more)


class KeptSource(Source):
    """One of the package's, which is read when something is asked that is not known of it.

    What other processes found out of it is known here without its text.
    """

    _values: KeptValues
    _read: Callable[[], Source]
    _facts: dict[tuple[object, ...], Any]

    def __init__(self, values: KeptValues, digest: bytes, read: Callable[[], Source]) -> None:
        """Take where values are kept, the digest of the source, and what reads it."""
        own = {"digest": digest, "checks_loops": False, "_values": values, "_read": read}
        self.__dict__.update(own, _facts={})

    def __getattr__(self, name: str) -> Any:
        if name not in ("own", "imported", "offered"):
            raise AttributeError(name)
        self.__dict__.update(vars(self._read()))
        return self.__dict__[name]

    def known(self, f: Callable[[Source, *_More], _Fact], *more: *_More) -> _Fact:
        key = (f, *more)
        found: _Fact | None = self._facts.get(key)
        if found is None:
            what = (f.__module__, f.__qualname__, self.digest, *more)
            found = self._values.find(*what)
            if found is None:
                found = f(self, *more)
                self._values.keep(found, *what)
            self._facts[key] = found
        return found


def known_of_source(
    f: Callable[[Source, *_More], _Fact],
) -> Callable[[Source, *_More], _Fact]:
    """Have what a function tells of a source kept with it: of plain types, and never None.

    What it takes besides is of plain types, too, and given by position.
    """

    @functools.wraps(f)
    def found(source: Source, /, *more: *_More) -> _Fact:
        return source.known(f, *more)

    return found


class RequiredFunctions(dict[str, "Function"]):
    """Functions by name, of which one that is asked for and missing is the shader's fault."""

    def __init__(self, file: str, found: Mapping[str, Function]) -> None:
        super().__init__(found)
        self.file = file

    def __missing__(self, name: str) -> Function:
        known = ", ".join(f"fn {one}" for one in self) or "none"
        raise ShaderError(f"{self.file}: fn {name} is missing; found {known}.")


# What a source says of how its kernel may run: by itself, later, or as a part of others.


@known_of_source
def is_light(source: Source) -> bool:
    """Say whether a map is one expression without calls, so that a text with many compiles fast."""
    op = source.own.module.functions.get("op")
    if op is None:
        return False
    body = source.own.text.text[op.span.begin : op.span.end].partition("{")[2]
    return "(" not in body


@known_of_source
def can_wait(source: Source) -> bool:
    """Say whether a kernel of another form may be deferred: whole, and silent about indices."""
    whole = all(file.module.is_whole for file in source.files)
    return whole and not reports(source)


@known_of_source
def reports(source: Source) -> bool:
    """Say whether a kernel tells something of single elements: what is behind the last is none."""
    noted = ("report_index", "wk_print", "wk_assert")
    return any(one.startswith(noted) for file in source.files for one in file.needs)


@known_of_source
def is_plain(source: Source) -> bool:
    """Say whether a fused text can hold a map: it has no variables, overrides or ranks."""
    directives = [one for file in source.files for one in file.module.directives]
    asked = {name for file in source.files for name in file.needs}
    return (
        can_wait(source)
        and not source.variables
        and all(one.keyword != "override" for one in source.constants.values())
        and all(one.keyword == "enable" and one.words == ("f16",) for one in directives)
        and not any(name.endswith("_rank") for name in asked)
    )


@known_of_source
def attributes_of(source: Source) -> tuple[str, ...]:
    """Return the fields of the attributes that a map declares."""
    struct = source.structs.get("Attrs")
    return () if struct is None else tuple([one.name for one in struct.fields])


@known_of_source
def names_fields(source: Source, endings: tuple[str, ...]) -> bool:
    """Say whether any struct has a field whose name ends so."""
    structs = source.structs.values()
    return any(one.name.endswith(endings) for struct in structs for one in struct.fields)


@known_of_source
def has_variable(source: Source, name: str) -> bool:
    """Say whether a variable of the module is called so."""
    return name in source.variables


@known_of_source
def is_normalization(source: Source) -> bool:
    """Say whether a reduction also maps the elements that it has reduced."""
    return "apply" in source.functions


@known_of_source
def apply_parameters(source: Source) -> tuple[str, ...]:
    """Return what the function that maps them calls its parameters."""
    return tuple([one.name for one in source.functions["apply"].parameters])


@known_of_source
def declared_as_vec4(source: Source, name: str) -> bool:
    """Say whether the author declares a tensor's array as one of vec4, which move whole."""
    variable = source.variables.get(wgsl_name(name))
    type_ = None if variable is None else variable.type
    if type_ is None or type_.name != "array":
        return False
    from wgsl_kernels.wgsl.syntax.tree import Name  # what sources say is known mostly

    element = type_.templates[0]
    return isinstance(element, Name) and element.name == "vec4"
