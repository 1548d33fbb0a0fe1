"""Derivatives that comments give: ``// @derivative f(x) = y`` above a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.rules import BUILTINS, DerivativeRule
from wgsl_kernels.wgsl.linking.joining import renamed
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Function

_CUSTOM = re.compile(r"//\s*@derivative\s+(\w+)\s*\(([^)]*)\)\s*=\s*(.+)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def rules_written(text: Text) -> Iterator[tuple[str, Span]]:
    """Yield the comments that give derivatives, and of what function."""
    for match in _CUSTOM.finditer(text.text):
        yield match[1], Span(*match.span())


def renamed_with_rules(names: Names, new: Mapping[str, str]) -> Text:
    """Return a file with other names, also where comments give derivatives; see `renamed`."""
    edits: list[Edit] = []
    for match in _CUSTOM.finditer(names.text.text):
        given = {one.strip() for one in match[2].split(",")}
        for group, kept in ((1, frozenset[str]()), (3, given)):
            edits += [
                Edit(Span(*word.span()), new[word[0]])
                for word in _WORD.finditer(names.text.text, *match.span(group))
                if word[0] in new and word[0] not in kept
            ]
    return renamed(names, new, edits)


def custom_rules(text: Text, functions: Mapping[str, Function]) -> dict[str, DerivativeRule]:
    """Return the derivatives that a file's comments give, by function.

    Raises:
        NotDerivableError: There is no such function, or it has another number of parameters.
    """
    found: dict[str, DerivativeRule] = {}
    for match in _CUSTOM.finditer(text.text):
        name, given, written = match.groups()
        names = [one.strip() for one in given.split(",")]
        partials = _parts(written.strip())
        if name not in functions and name not in BUILTINS:
            raise NotDerivableError(f"no function is called {name!r}.", match.start())
        count = len(functions[name].parameters) if name in functions else len(names)
        if not len(partials) == len(names) == count:
            message = f"{name} has {count} parameters; want a derivative by each."
            raise NotDerivableError(message, match.start())
        facts = dict(zip(names, ("{a}", "{b}", "{c}", "{d}"), strict=False)) | {"y": "{y}"}
        slopes = [_with_facts(one, facts) for one in partials]
        found[name] = DerivativeRule(tuple(["" if one in ("0", "0.0") else one for one in slopes]))
    return found


def _with_facts(written: str, facts: dict[str, str]) -> str:
    return _WORD.sub(lambda word: facts.get(word[0], word[0]), written)


def _parts(text: str) -> list[str]:
    """Return what commas separate that are in no parentheses."""
    found, depth = [""], 0
    for one in text:
        depth += (one == "(") - (one == ")")
        if one == "," and not depth:
            found.append("")
        else:
            found[-1] += one
    return [one.strip() for one in found]
