"""A module that is written once for many kernels, and the modules that come of it."""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.templates.constants import (
    ConfigurationConstant,
    constants_in,
    shown,
)
from wgsl_kernels.backends.webgpu.templates.prelude import PRELUDE
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.environment.recent import remembered
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.linker import link_project
from wgsl_kernels.wgsl.linking.project import Project
from wgsl_kernels.wgsl.specialize.module import specialize
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.source_map import WrittenText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wgsl_kernels.backends.webgpu.templates.constants import Value
    from wgsl_kernels.wgsl.linking.linker import LinkedModule
    from wgsl_kernels.wgsl.linking.project import ModulePath
    from wgsl_kernels.wgsl.syntax.places import Text

Configuration = Mapping[str, "Value"]
Texts = tuple[tuple["ModulePath", "Text"], ...]

_SLOTS = re.compile(r"^// @slots\b", re.MULTILINE)
_MODULE_BYTES = 200_000
"""What a specialised module takes with its tree, about."""
_NONE: Configuration = MappingProxyType({})


def is_slots(text: Text) -> bool:
    """Say whether a module holds defaults: a kernel's module takes its place."""
    return _SLOTS.search(text.text) is not None


@dataclass(frozen=True, slots=True, eq=False)
class TemplateModule:
    """A template with its slots filled and its configuration in place: plain WGSL.

    Attributes:
        text: What it says, each place of which leads to its author's.
        configuration: All constants' values, the defaults among them.
    """

    module: LinkedModule
    text: WrittenText
    configuration: Configuration
    hash: str


@dataclass(frozen=True)
class Template:
    """A module with what it imports, and the module that fills its slots.

    Attributes:
        texts: The files by where they are: the template's, the slots' and all that these import.
        slots: The module that takes the place of the defaults, None for the defaults alone.
    """

    texts: Texts = field(repr=False)
    root: ModulePath
    slots: ModulePath | None = None

    @property
    def file(self) -> str:
        """The name that errors give it."""
        return dict(self.texts)[self.root].file

    @functools.cached_property
    def hash(self) -> str:
        """What tells it from others by the texts of its files, wherever they are."""
        return hash_of(text.text for _, text in self.texts)

    @functools.cached_property
    def constants(self) -> Mapping[str, ConfigurationConstant]:
        """The configuration constants by name.

        Raises:
            ShaderError: Two modules declare one of the same name.
        """
        found: dict[str, ConfigurationConstant] = {}
        for _, text in self.texts:
            for one in constants_in(text):
                first = found.setdefault(one.name, one)
                if first is not one:
                    place = first.text.place(first.begin).label
                    message = f"{one.name!r} is configuration twice; first at {place}."
                    raise ShaderError(one.text.point(message, one.begin))
        return MappingProxyType(found)

    @property
    def tuned(self) -> tuple[str, ...]:
        return tuple([name for name, one in self.constants.items() if one.chooser == "tune"])

    def configurations(
        self, given: Configuration = _NONE, rules: tuple[Callable[[Configuration], bool], ...] = ()
    ) -> Iterator[Configuration]:
        """Yield what the tuner may choose, with what is ``given``, by rules that all must hold."""
        self.check(given)
        tuned = [self.constants[name] for name in self.tuned if name not in given]
        for values in itertools.product(*(one.values for one in tuned)):
            chosen = dict(zip((one.name for one in tuned), values, strict=True))
            found = self.whole({**given, **chosen})
            if all(rule(found) for rule in rules):
                yield found

    def whole(self, given: Configuration) -> Configuration:
        """Return the values of all constants: those given, else the defaults."""
        return {name: given.get(name, one.default) for name, one in self.constants.items()}

    def check(self, given: Configuration) -> None:
        """Refuse names that are not declared, and values that are none of those declared."""
        for name, value in given.items():
            one = self.constants.get(name)
            if one is None:
                known = ", ".join(self.constants) or "none"
                near = difflib.get_close_matches(name, self.constants, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"configuration has {name!r}; known: {known}.{hint}"
                raise ArgumentError(f"{self.file}: {message}")
            if not one.takes(value):
                values = ", ".join(map(shown, one.values))
                message = f"configuration has {name} = {value!r}; want one of {values}."
                raise ArgumentError(one.text.point(message, one.begin))

    @functools.cached_property
    def slot_texts(self) -> tuple[Text, ...]:
        return tuple(text for path, text in self.texts if path != self.slots and is_slots(text))

    def module(
        self, configuration: Configuration = _NONE, *, leaves_slots: bool = False, only: str = ""
    ) -> TemplateModule:
        """Return plain WGSL for a configuration; what was used last is kept.

        Args:
            configuration: Values of constants; others keep their defaults.
            leaves_slots: Whether what the slots' defaults declare is left out: somebody else
                declares those names.
            only: The one declaration that is wanted; all by default.

        Raises:
            ArgumentError: The configuration is not as declared.
            ShaderError: The modules do not link, a slot does not fit its default, or a loop cannot
                be written out.
        """
        self.check(configuration)
        whole = self.whole(configuration)
        left = self.slot_texts if leaves_slots else ()
        return _module[self.texts, self.root, self.slots, tuple(whole.items()), left, only]


def hash_of(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}\n{text}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


@remembered(_MODULE_BYTES)
def _module(
    texts: Texts,
    root: ModulePath,
    slots: ModulePath | None,
    configuration: tuple[tuple[str, Value], ...],
    left: tuple[Text, ...],
    only: str,
) -> TemplateModule:
    by_path = dict(texts)
    chosen = dict(configuration)
    asked = frozenset[str]().union(*(parse_source(text).conditions for text in by_path.values()))
    linked = _linked[texts, root, slots, tuple(one for one in configuration if one[0] in asked)]
    if left:
        kept = tuple(part for part in linked.declarations if part.text not in left)
        linked = replace(linked, declarations=kept)
    names = _linked_names(linked, by_path.values(), chosen)
    if only:
        kept = tuple(part for part in linked.declarations if _is_part_of(part.node, only))
        linked = replace(linked, declarations=kept)
    special = specialize(linked, names)
    source_map = special.write()
    text = WrittenText(by_path[root].file, source_map.composed.text, source_map)
    digest = hashlib.sha256(text.text.encode()).hexdigest()
    return TemplateModule(special, text, MappingProxyType(chosen), digest)


@remembered(_MODULE_BYTES)
def _linked(
    texts: Texts,
    root: ModulePath,
    slots: ModulePath | None,
    conditions: tuple[tuple[str, Value], ...],
) -> LinkedModule:
    """Return a template linked under some conditions, whatever its other constants are."""
    by_path = dict(texts)
    defaults = [path for path, text in texts if path != slots and is_slots(text)]
    stand_ins = {} if slots is None else dict.fromkeys(defaults, slots)
    if slots is not None and not defaults:
        message = f"it imports no module that says // @slots, so {slots} fills no slot."
        raise ShaderError(f"{by_path[root].file}: {message}")
    known = {name: value for name, value in conditions if isinstance(value, bool)}
    return link_project(Project(by_path, known, PRELUDE, stand_ins), root)


def _is_part_of(node: tree.Declaration, only: str) -> bool:
    """Say whether a declaration is the one that is wanted, or one of the constants in it."""
    if isinstance(node, tree.Value):
        return True
    return isinstance(node, (tree.Function, tree.Alias)) and node.ident.name == only


def _linked_names(
    linked: LinkedModule, texts: Iterable[Text], chosen: Configuration
) -> dict[str, Value]:
    """Return the values by what the link calls the constants, of those that it reaches."""
    at = {(one.text, one.begin): chosen[one.name] for text in texts for one in constants_in(text)}
    found: dict[str, Value] = {}
    for part in linked.declarations:
        node = part.node
        if isinstance(node, tree.Value) and (part.text, node.ident.begin) in at:
            found[node.ident.name] = at[part.text, node.ident.begin]
    return found
