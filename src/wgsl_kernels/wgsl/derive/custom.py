"""Derivatives that comments give: ``// @derivative f(x) = y`` above a function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.rules import BUILTINS, DerivativeRule
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.joining import renamed
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.edited import EditedText
from wgsl_kernels.wgsl.syntax.made import made_function, made_name, made_parameter
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.places import Span, Text
from wgsl_kernels.wgsl.syntax.printer import spell_head
from wgsl_kernels.wgsl.syntax.source_map import Edit
from wgsl_kernels.wgsl.syntax.tree import Assign
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import ABSTRACT_INT, F32, FLOATS, Scalar, scalar_of, with_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function, Module

_BEGUN = re.compile(r"//[^\S\n]*@derivative\b")
_CUSTOM = re.compile(
    rf"{_BEGUN.pattern}[^\S\n]+(\w+)[^\S\n]*\(([^)\n]*)\)[^\S\n]*=[^\S\n]*(\S.*?)[^\S\n]*(?=//|$)",
    re.MULTILINE,
)
_WANTED = "want // @derivative f(x, k) = …, …: a derivative by each parameter."
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
        NotDerivableError: A comment is not understood, there is no such function, or it has another
            number of parameters.
    """
    found: dict[str, DerivativeRule] = {}
    for begun in _BEGUN.finditer(text.text):
        if _CUSTOM.match(text.text, begun.start()) is None:
            raise NotDerivableError(_WANTED, begun.start())
    for match in _CUSTOM.finditer(text.text):
        name, given, written = match.groups()
        names = [one.strip() for one in given.split(",")]
        partials = [one for one, _ in _parts(written)]
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


def check_rules(
    text: Text, functions: Mapping[str, Function], known: Sequence[Declaration]
) -> None:
    """Refuse derivatives in a file's comments that are no WGSL, or name what is not there.

    Args:
        text: The file.
        functions: Its functions.
        known: What is declared.

    Raises:
        NotDerivableError: One is; the place is that of the name, or of the expression.
    """
    declared = {one.name for one in known}
    for match in _CUSTOM.finditer(text.text):
        name, given, written = match.groups()
        function = functions.get(name)
        facts = [one.strip() for one in given.split(",")]
        kinds = [made_name("f32")] * (len(facts) + 1)
        if function is not None and function.returns is not None:
            kinds = [*[one.type for one in function.parameters], function.returns]
        types = {"wk_y": kinds[-1], "y": kinds[-1], **dict(zip(facts, kinds, strict=False))}
        parameters = [made_parameter(one, type_) for one, type_ in types.items()]
        head = f"{spell_head(made_function('wk_slope', parameters, None))} {{ _ = "
        for slope, begin in _parts(written):
            at = match.start(3) + begin
            if parse_expression(slope) is None:
                message = f"{slope!r} is no expression" if slope else "a derivative is missing"
                raise NotDerivableError(f"{message}; want a derivative of {name}.", at)
            made = resolve(Text(text.file, f"{head}{slope}; _ = wk_y; }}"))
            if not made.module.is_whole:
                raise NotDerivableError(_WANTED, match.start())
            for problem in made.problems({*declared, *_imported(text, made)}):
                raise NotDerivableError(problem.message, at + problem.begin - len(head))
            if function is not None:
                _check_type(made.module, known, at - len(head))


def _imported(text: Text, made: Names) -> set[str]:
    """Return what the author's file imports, if anything that is named is not declared."""
    if not made.unresolved:
        return set()
    while isinstance(text, EditedText):
        text = text.original
    return {one.name for one in parse_source(text).imports}


def _check_type(made: Module, known: Sequence[Declaration], begin: int) -> None:
    types = infer((*known, *made.declarations))
    for misfit in types.problems:
        if misfit.declaration is made.declarations[0]:
            raise NotDerivableError(misfit.message, begin + misfit.begin)
    nodes = sorted(descendants(made.functions["wk_slope"].body), key=lambda one: one.begin)
    slope, result = [one.value for one in nodes if isinstance(one, Assign)]
    given, wanted = types.value_of(slope), types.value_of(result)
    if given is None or wanted is None:
        return
    scalar = scalar_of(given)
    is_float = scalar is None or scalar.name in FLOATS or scalar == ABSTRACT_INT
    is_shaped = isinstance(given, Scalar) or with_scalar(given, F32) == with_scalar(wanted, F32)
    if not is_float or not is_shaped:
        message = f"want a derivative of {wanted}, found {given}."
        raise NotDerivableError(message, begin + slope.begin)


def _with_facts(written: str, facts: dict[str, str]) -> str:
    return _WORD.sub(lambda word: facts.get(word[0], word[0]), written)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield what commas separate that are in no parentheses, and where each begins."""
    begin = depth = 0
    for at, one in enumerate(f"{text},"):
        depth += (one in "([") - (one in ")]")
        if one == "," and (not depth or at == len(text)):
            part = text[begin:at]
            yield part.strip(), at - len(part.lstrip())
            begin = at + 1
