"""Parsing WESL: WGSL's grammar with import statements, paths for names, and conditions.

Source: WESL specification, edition 2026_pre, Imports and Conditional Translation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.linking.source import (
    SEPARATOR,
    WESL_KEYWORDS,
    WILDCARD,
    Guard,
    Import,
    SourceFile,
)
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.expressions import WantedError
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import DIRECTIVES, Parser, nearer
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.tokens import END, INCLUDE, NAME, UnbalancedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.problem import Problem

_CONDITIONAL = frozenset({"if", "elif", "else"})
_DECLARED = frozenset({"fn", "struct", "alias", "var", "const", "override"})
_IMPORTS, _DIRECTIVES, _DECLARATIONS = range(3)


@once_per_text
def parse_source(text: Text) -> SourceFile:
    """Return what ``text`` holds.

    Raises:
        ShaderError: It is not WESL; the message names the first place that is not.
    """
    try:
        parser = _WeslParser(text)
    except UnbalancedError as error:
        raise nearer(
            error, text, lambda: _WeslParser(text, is_balanced=False).source_file()
        ) from None
    try:
        return parser.source_file()
    except WantedError as error:
        parser.problems.append(error.problem)
    first = min(parser.problems, key=lambda problem: problem.begin)
    raise first.error(text)


class _WeslParser(Parser):
    """WGSL's parser with what WESL adds.

    ``chain`` is the condition that an ``@elif`` or ``@else`` at the cursor would follow, None where
    there is none; ``open_guards`` where attributes of conditions stand that no element of a list
    has taken.
    """

    def __init__(self, text: Text, *, is_balanced: bool = True) -> None:
        super().__init__(text, is_balanced=is_balanced)
        self.chain: Guard | None = None
        self.open_guards: set[int] = set()
        self.guards: dict[int, Guard] = {}
        self.conditions: set[str] = set()
        self.imports: list[Import] = []
        self.private: set[int] = set()
        self.is_wildcardable = False
        self.extra: list[Span] = []

    def source_file(self) -> SourceFile:
        """Read the whole file."""
        directives: list[tree.Directive] = []
        declarations: list[tree.Declaration] = []
        stage = _IMPORTS
        while self.kinds[self.at] is not END:
            if self.skip(";"):
                continue
            if self.kinds[self.at] is INCLUDE:
                message = "#include is not known here; want 'import package::module::name;'."
                raise WantedError(message, self.begins[self.at])
            start = self.at
            if self.texts[start] == "@" and self.texts[start + 1] == "!":
                stage = self._next_stage(stage, _DIRECTIVES)
                self._module_attribute()
                self._note_extra(start)
                continue
            begin, attributes = self.leading()
            if self._is_import():
                stage = self._next_stage(stage, _IMPORTS)
                self._import(begin, turned_off(attributes))
                self._note_extra(start)
            elif self.texts[self.at] in DIRECTIVES:
                stage = self._next_stage(stage, _DIRECTIVES)
                directives.append(self.directive())
            else:
                stage = _DECLARATIONS
                declarations.append(self._visible_declaration(begin, attributes))
        if self.open_guards:
            message = "a condition cannot decorate this; want a declaration or a statement."
            raise WantedError(message, min(self.open_guards))
        if self.problems:
            raise WantedError(*_earliest(self.problems))
        module = tree.Module(self.source, tuple(directives), (), tuple(declarations), ())
        return SourceFile(
            module,
            tuple(self.imports),
            self.guards,
            frozenset(self.private),
            frozenset(self.conditions),
            self.is_wildcardable,
            tuple(self.extra),
        )

    def _note_extra(self, start: int) -> None:
        """Note that the tokens from ``start`` up to the cursor are not WGSL."""
        self.extra.append(Span(self.begins[start], self.ends[self.at - 1]))

    def _next_stage(self, stage: int, wanted: int) -> int:
        if stage > wanted:
            what = "an import" if wanted == _IMPORTS else "a directive"
            behind = "declarations" if stage == _DECLARATIONS else "directives"
            raise WantedError(f"{what} stands before all {behind}.", self.begins[self.at])
        return wanted

    def _module_attribute(self) -> None:
        self.at += 2
        if not self.texts[self.at].isidentifier():
            self.fail("the name of a module attribute")
        self.is_wildcardable |= self.texts[self.at] == "wildcardable"
        self.at += 1
        if self.texts[self.at] == "(":
            self.arguments()
        self.expect(";")

    def _visible_declaration(
        self, begin: int, attributes: tuple[tree.Attribute, ...]
    ) -> tree.Declaration:
        word = self.texts[self.at]
        if word in ("public", "private") and self.texts[self.at + 1] in _DECLARED:
            self.at += 1
            self._note_extra(self.at - 1)
            if not attributes:
                guard = self.guards.pop(begin, None)
                begin = self.begins[self.at]
                if guard is not None:
                    self.guards[begin] = guard
            if word == "private":
                self.private.add(begin)
        return self.declaration(begin, attributes)

    # Imports.

    def _is_import(self) -> bool:
        text = self.texts[self.at]
        return text == "import" or (text == "public" and self.texts[self.at + 1] == "import")

    def _import(self, statement: int, off: frozenset[str]) -> None:
        is_public = self.skip("public")
        self.expect("import")
        prefix: tuple[str, ...] = ()
        if self.skip("package"):
            self.expect(SEPARATOR)
            prefix = ("package",)
        while self.texts[self.at] == "super" and not (prefix and prefix[0] == "package"):
            self.at += 1
            self.expect(SEPARATOR)
            prefix += ("super",)
        for path, name, begin in self._import_tree(prefix, is_public):
            self.imports.append(Import(path, name, begin, statement, is_public, off))
        self.expect(";")

    def _import_tree(
        self, prefix: tuple[str, ...], is_public: bool
    ) -> Iterator[tuple[tuple[str, ...], str, int]]:
        """Read what follows ``prefix``: items, and collections in braces to any depth.

        Yields:
            The path of each item, the name that it gets, and where its last segment stands.
        """
        around: list[tuple[str, ...]] = []  # the prefix of each collection that is open
        path = prefix
        can_open = True
        while True:
            begin = self.begins[self.at]
            if can_open and self.skip("{"):
                around.append(path)
                can_open = False
                continue
            if path and self.skip(WILDCARD):
                if is_public:
                    raise WantedError("want names; 'public import' takes no '*'.", begin)
                yield (*path, WILDCARD), WILDCARD, begin
            else:
                path += (self._segment(),)
                if self.skip(SEPARATOR):
                    can_open = True
                    continue
                yield path, self._segment() if self.skip("as") else path[-1], begin
            can_open = False
            if not self._goes_on(around):
                return
            path = around[-1]

    def _goes_on(self, around: list[tuple[str, ...]]) -> bool:
        """Pass what is behind an item; say whether another follows in an open collection."""
        while around:
            if self.skip(",") and self.texts[self.at] != "}":
                return True
            if not self.skip("}"):
                self.fail("',' or '}'")
            around.pop()
        return False

    def _segment(self) -> str:
        if self.texts[self.at] in WESL_KEYWORDS:
            self.fail("a name")
        return self.ident("what is imported").name

    # Paths in place of names.

    def _name(self, what: str) -> tree.Ident:
        """Read a name or a path; the path is one name, its segments joined by ``::``."""
        at = self.at
        if self.kinds[at] is not NAME or self.texts[at + 1] != SEPARATOR:
            return super()._name(what)
        segments = [self.texts[at]]
        if segments[0] in WESL_KEYWORDS - {"package", "super"}:
            self.fail("a path")
        while self.texts[self.at + 1] == SEPARATOR:
            segments.append(self._next_segment(segments[-1]))
        if segments[-1] == "super":
            self.fail("a name behind '::'")
        self.at += 1
        return tree.Ident(self.begins[at], self.ends[self.at - 1], SEPARATOR.join(segments))

    def _next_segment(self, last: str) -> str:
        self.at += 2
        word = self.texts[self.at]
        climbs = word == "super" and last == "super"
        if self.kinds[self.at] is not NAME or (word in WESL_KEYWORDS and not climbs):
            self.fail("a name")
        return word

    # Conditions.

    def attribute(self) -> tree.Attribute:
        """Read one attribute; conditions have forms of their own."""
        word = self.texts[self.at + 1]
        if word not in _CONDITIONAL:
            return super().attribute()
        begin = self.begins[self.at]
        self.open_guards.add(begin)
        if word == "else":
            self.at += 2
            return tree.Attribute(begin, self.ends[self.at - 1], word, None)
        found = super().attribute()
        if found.arguments is None or len(found.arguments) != 1:
            raise WantedError(f"want @{word}(condition).", begin)
        self._check_condition(found.arguments[0])
        return found

    def _check_condition(self, node: tree.Expression) -> None:
        pending = [node]
        while pending:
            one = pending.pop()
            if isinstance(one, tree.Paren):
                pending.append(one.inner)
            elif isinstance(one, tree.Unary) and one.operator == "!":
                pending.append(one.operand)
            elif isinstance(one, tree.Binary) and one.operator in ("&&", "||"):
                pending += (one.left, one.right)
            elif isinstance(one, tree.Name) and not one.templates and SEPARATOR not in one.name:
                self.conditions.add(one.name)
            elif not (isinstance(one, tree.Literal) and one.text in ("true", "false")):
                message = "a condition is made of names, true, false, !, &&, || and parentheses."
                raise WantedError(message, one.begin)

    def leading(self) -> tuple[int, tuple[tree.Attribute, ...]]:
        """Read the attributes before an element of a list; a condition is kept beside the tree."""
        attributes = self.attributes()
        conditions = [one for one in attributes if one.name in _CONDITIONAL]
        rest = tuple(one for one in attributes if one.name not in _CONDITIONAL)
        begin = rest[0].begin if rest else self.begins[self.at]
        if len(conditions) > 1:
            message = "one element takes one of @if, @elif and @else; join conditions with &&."
            raise WantedError(message, conditions[1].begin)
        if not conditions:
            self.chain = None
            return begin, rest
        guard = conditions[0]
        self.open_guards.discard(guard.begin)
        before: Guard | None = None
        if guard.name != "if":
            if self.chain is None:
                message = f"@{guard.name} wants an @if or @elif on what stands before it."
                raise WantedError(message, guard.begin)
            before = self.chain
        condition = guard.arguments[0] if guard.arguments else None
        self.guards[begin] = found = Guard(condition, before)
        self.chain = None if condition is None else found
        return begin, rest

    # Each list has siblings of its own.

    def block(self, attributes: tuple[tree.Attribute, ...] = ()) -> tree.CompoundStatement:
        """Read ``{ statements }``."""
        outer, self.chain = self.chain, None
        found = super().block(attributes)
        self.chain = outer
        return found

    def parameters(self, closer: str) -> tuple[tree.Parameter, ...]:
        """Read ``name: type, ...`` up to and with ``closer``."""
        outer, self.chain = self.chain, None
        found = super().parameters(closer)
        self.chain = outer
        return found

    def switch(self, begin: int, attributes: tuple[tree.Attribute, ...]) -> tree.Switch:
        """Read ``switch``."""
        outer, self.chain = self.chain, None
        found = super().switch(begin, attributes)
        self.chain = outer
        return found

    def clause(self) -> tree.Clause:
        """Read ``case`` or ``default``, behind a condition if there is one."""
        _, attributes = self.leading()
        if attributes:
            raise WantedError("a clause takes no attribute but a condition.", attributes[0].begin)
        return super().clause()


def turned_off(nodes: Iterable[tree.Attribute | tree.Directive]) -> frozenset[str]:
    """Return the rules that diagnostic attributes or directives make less than an error."""
    found: set[str] = set()
    for node in nodes:
        name = node.name if isinstance(node, tree.Attribute) else node.keyword
        words = [one.name for one in node.arguments or () if isinstance(one, tree.Name)]
        if name == "diagnostic" and len(words) == 2 and words[0] != "error":
            found.add(words[1])
    return frozenset(found)


def _earliest(problems: list[Problem]) -> tuple[str, int, str]:
    first = min(problems, key=lambda problem: problem.begin)
    return first.message, first.begin, first.code
