"""Modules of ours that texts are made of: templates in a configuration, printed with open slots."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.params import Offer
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.joining import Excerpt, join, members_of
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.printer import spell, spell_head
from wgsl_kernels.wgsl.syntax.source_map import Edit
from wgsl_kernels.wgsl.syntax.tree import Function, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
    from wgsl_kernels.backends.webgpu.templates.template import Template
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Span, Text
    from wgsl_kernels.wgsl.syntax.tree import Declaration


TENSORS = "tensors/slots.wesl"
STRUCT = "wk_Params"
"""What slots call the struct of the parameters that they want of the host, in ``wk_params``."""


@dataclass(frozen=True, slots=True)
class InstanceNames:
    """What the names of an instance are in a text.

    Attributes:
        words: What stands for a word of a name, words being joined by underscores.
        whole: What gives a name in the place of another, and has what it names bound.
    """

    words: Mapping[str, str]
    whole: Mapping[str, Callable[[], str]] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, name: str) -> str:
        """Return what a name is in the text."""
        if name in self.whole:
            return self.whole[name]()
        return "_".join([self.words.get(word, word) for word in name.split("_")])


_AS_THEY_ARE = InstanceNames({})


@dataclass(frozen=True)
class InstanceFunction:
    """A declaration of an instance, which a text takes where somebody names it.

    Attributes:
        check: What refuses an author's functions that it does not fit, when it is taken.
    """

    instance: Instance
    name: str
    naming: InstanceNames
    check: Callable[[], None] | None = None

    @functools.cached_property
    def printed(self) -> Names:
        """The printed text that has it, and it alone."""
        named = _opened(self.instance.path).functions[self.name]
        given = sorted(dict(self.instance.configuration).items())
        of_it = tuple([one for one in given if one[0] in named])
        return _printed(self.instance.path, of_it, self.name)

    @property
    def declaration(self) -> Declaration:
        (found,) = self.printed.module.declarations
        return found

    @functools.cached_property
    def fields(self) -> Mapping[Span, str]:
        """The fields of the parameters that it reads: their names in the text, by the places."""
        members = members_of(self.printed, PARAMS)
        return {span: self.naming.of(member) for _, member, span in members}

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """What its own name and those that it takes from outside are in the text."""
        names = (self.name, *sorted(self.printed.needs))
        return {name: self.naming.of(name) for name in names}

    def excerpt(self, new: Mapping[str, str]) -> Excerpt:
        """Return the declaration with the names of the text, some of which are new ones."""
        names = {name: new.get(here, here) for name, here in self.names.items()}
        changes = [Edit(span, name) for span, name in self.fields.items()]
        return Excerpt(self.printed, (self.declaration,), names, changes)

    def written(self) -> str:
        return join([self.excerpt({})]).composed.text.removesuffix("\n")


def functions_of(
    instance: Instance,
    naming: InstanceNames,
    checks: Mapping[str, Callable[[], None]] = MappingProxyType({}),
) -> dict[str, InstanceFunction]:
    return {
        naming.of(name): InstanceFunction(instance, name, naming, checks.get(name))
        for name in _opened(instance.path).functions
    }


def names_of(instance: Instance) -> Names:
    """Return the text of an instance without the slots, which the kernel declares."""
    return _printed(instance.path, instance.configuration, "")


def offers_of(instance: Instance) -> Mapping[str, Offer]:
    """Return the fields of parameters that its slots declare."""
    return _opened(instance.path).offers


def template_hash(path: str) -> str:
    """Return what tells one of our templates from others, by the texts of its files."""
    return _opened(path).template.hash


@dataclass(frozen=True, slots=True)
class _OpenTemplate:
    """A template, and what its text and its slots declare.

    Attributes:
        functions: Its own functions by name, with the constants that they may depend on.
    """

    template: Template
    text: Text
    functions: Mapping[str, frozenset[str]]
    offers: Mapping[str, Offer]


@functools.lru_cache(maxsize=64)
def _opened(path: str) -> _OpenTemplate:
    template = find_template(path, None, shaders_folder(), path)
    own = dict(template.texts)[template.root]
    functions = _functions_in(own, template.constants.keys())
    structs = [resolve(text).module.structs.get(STRUCT) for text in template.slot_texts]
    fields = [one for struct in structs if struct is not None for one in struct.fields]
    offers = {one.name: Offer(spell(one.type), one.name) for one in fields}
    return _OpenTemplate(template, own, functions, offers)


_WORD = re.compile(r"@?\w+")


def _functions_in(text: Text, constants: AbstractSet[str]) -> Mapping[str, frozenset[str]]:
    """Return the functions of a template, and the constants that stand in each.

    Its conditions are before it, and those of an ``@else`` before the one before it. Constants may
    be made of others.
    """
    found: dict[str, frozenset[str]] = {}
    made_of: dict[str, set[str]] = {}
    before: set[str] = set()
    at = 0
    for node in parse_source(text).module.declarations:
        words = set(_WORD.findall(text.text, at, node.end))
        at = node.end
        if words & {"@else", "@elif"}:
            words |= before
        before = words
        if isinstance(node, Function):
            found[node.name] = found.get(node.name, frozenset()) | words
        elif isinstance(node, Value):
            made_of[node.name] = words
    return {name: _constants_of(words, made_of) & constants for name, words in found.items()}


def _constants_of(words: Iterable[str], made_of: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return words, and those of the constants among them."""
    found: set[str] = set()
    pending = [*words]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += made_of.get(one, ())
    return frozenset(found)


@functools.lru_cache(maxsize=1024)
def _printed(path: str, given: tuple[tuple[str, bool | int], ...], only: str) -> Names:
    module = _opened(path).template.module(dict(given), leaves_slots=True, only=only)
    return resolve(module.text)


# Functions that are written for slots of our modules: these have the heads, the bodies come.

_NAME = re.compile(r"\w+")


def head_of_slot(path: str, name: str, naming: InstanceNames = _AS_THEY_ARE) -> str:
    """Return how a slot's function begins, under the names that it has in a text."""
    head = _heads(_opened(path).text)[name]
    return _NAME.sub(lambda found: naming.of(found[0]), head)


def fill_slot(
    path: str, name: str, lines: Sequence[str], naming: InstanceNames = _AS_THEY_ARE
) -> str:
    """Return a slot's function with a body of generated lines; see ``head_of_slot``."""
    return f"{head_of_slot(path, name, naming)} {{\n  " + "\n  ".join(lines) + "\n}"


def wanted_function(name: str, total: str = "A") -> str:
    """Return the head of an author's function of accumulators, whose type is called ``total``."""
    types = {"wk_Total": total, "wk_Input": "T", "wk_Result": "T_y"}
    whole = {slot: functools.partial(str, type_) for slot, type_ in types.items()}
    return head_of_slot(TENSORS, name, InstanceNames({}, whole))


@once_per_text
def _heads(text: Text) -> Mapping[str, str]:
    functions = parse_source(text).module.functions
    return {name: spell_head(one) for name, one in functions.items()}
