"""Functions with their derivatives: tangents beside values, statement by statement.

Control flow stays as it is written, so loops, branches and early returns need no tape. What has no
tangent is copied as it stands; of a function that is called a copy is made for each set of its
arguments that have one.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.derive.activity import Activity, NotDerivableError, root_name
from wgsl_kernels.wgsl.derive.custom import check_rules, custom_rules
from wgsl_kernels.wgsl.derive.duals import VECTORS, Dual, is_plain, wrapped
from wgsl_kernels.wgsl.derive.rules import BUILTINS, DerivativeRule
from wgsl_kernels.wgsl.derive.ties import pairs_of_max, rule_at_ties
from wgsl_kernels.wgsl.derive.typed import TypedText
from wgsl_kernels.wgsl.linking.joining import unhidden
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.depth import deep_stack, is_deep
from wgsl_kernels.wgsl.syntax.edited import EditedText
from wgsl_kernels.wgsl.syntax.made import made_function, made_name, made_parameter
from wgsl_kernels.wgsl.syntax.printer import spell, spell_head
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import (
    Scalar,
    Type,
    value_of,
)
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from wgsl_kernels.wgsl.names.resolve import Names

_WORD = re.compile(r"[A-Za-z_]\w*")


class Forward(TypedText):
    """Derives functions of one file."""

    def __init__(
        self,
        names: Names,
        others: Iterable[tree.Declaration],
        rules: Mapping[str, DerivativeRule],
        generic: str = "",
        label: Callable[[int], str] | None = None,
    ) -> None:
        """Take the file.

        Args:
            names: It.
            others: What it names that is declared elsewhere.
            rules: The derivatives of functions of a library.
            generic: A type that stands for ``f32`` in what is made.
            label: Says where the author wrote what is at a place of the file, if so.
        """
        others = tuple(others)
        written = custom_rules(names.text, names.module.functions)
        imported = [path for rule in rules.values() for path in rule.imports]
        meant = {*[one.name for one in others], *[path.rpartition("::")[2] for path in imported]}
        own = unhidden(names, meant).module
        self.text = text = own.text
        self._edited = text if isinstance(text, EditedText) and text is not names.text else None
        known = (*others, *own.declarations)
        check_rules(names.text, names.module.functions, known)
        self.functions = own.functions
        self.rules = {**BUILTINS, **rules, **written}
        types = infer(known)
        activity = Activity(types, NamedTypes(known), self.functions, self.rules)
        super().__init__(types, activity, generic)
        self._label = label or (lambda begin: names.text.origin(begin)[1].label)
        self._words = set(_WORD.findall(text.text))
        self._prefix = "d_"
        while self._starts_with(self._prefix):
            self._prefix = f"d{self._prefix}"
        self._count = 0
        self._made: dict[tuple[str, tuple[bool, ...]], str] = {}
        self._structs: dict[str, str] = {}
        self._texts: list[str] = []
        self._imports: list[str] = []
        self._lines: list[str] = []
        self._indent = "  "
        self._returns = ""
        self._pairs: Set[tuple[str, str]] = set()

    @property
    def written(self) -> str:
        """The functions that were made, and the structs that they return."""
        duals = [
            f"struct {one} {{\n  value: {type_},\n  tangent: {type_},\n}}\n"
            for type_, one in self._structs.items()
        ]
        return "\n".join((*duals, *self._texts))

    @property
    def imports(self) -> tuple[str, ...]:
        """What these functions name that must be imported."""
        return tuple(dict.fromkeys(self._imports))

    def gives_tangent(self, name: str, active: tuple[bool, ...]) -> bool:
        """Say whether what a function returns depends on those parameters that are active."""
        with self._placed():
            return self.activity.gives_tangent(self.functions[name], active)

    def named(self, node: tree.Expression | None) -> Type | None:
        """Return the type that an expression names, None where it names none."""
        return self.activity.named.of(node)

    def dual(self, returns: str) -> str:
        """Return the struct of a value of this type and its tangent."""
        return self._structs.setdefault(returns, self._free(f"Dual{len(self._structs) or ''}"))

    def function(self, name: str, active: tuple[bool, ...]) -> str:
        """Return the function of values and tangents that another gives, made the first time.

        Args:
            name: The other.
            active: Of its parameters, which have a tangent; these follow all values.
        """
        with self._placed():
            return self._function(self.functions[name], active)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Have places in errors be those in the file that was given, however deep it is."""
        try:
            with deep_stack():
                yield
        except NotDerivableError as error:
            raise NotDerivableError(error.message, self._begin(error.begin)) from None

    def _begin(self, begin: int) -> int:
        """Return where the file that was given has what is at a place of the text."""
        return begin if self._edited is None else self._edited.original_offset(begin)

    # Functions.

    def _function(self, node: tree.Function, active: tuple[bool, ...]) -> str:
        """Return the name of a function of values and tangents, which is made the first time."""
        key = (node.name, active)
        if key in self._made:
            return self._made[key]
        suffix = "" if all(active) else "_" + "".join("01"[one] for one in active)
        name = self._made[key] = self._free(f"{self._prefix}{node.name}{suffix}")
        returns = spell(node.returns)
        dual = self.dual(returns)
        outer = self._lines, self._indent, self._returns, self._pairs, self.activity.names
        self._lines, self._indent, self._returns, self._pairs = [], "  ", dual, pairs_of_max(node)
        self.activity.enter(node, active)
        tangents = [
            made_parameter(f"{self._prefix}{one.name}", one.type)
            for one, is_active in zip(node.parameters, active, strict=True)
            if is_active
        ]
        body = node.body
        if not isinstance(body, tree.CompoundStatement):
            self._refuse("its body is not understood", node)
        for one in body.statements:
            self._statement(one)
        where = self._label(self._begin(node.begin))
        note = f"// The value and the tangent of {node.name}{where and f', {where}'}."
        made = made_function(name, (*node.parameters, *tangents), made_name(dual))
        lines = (note, f"{spell_head(made)} {{", *self._lines, "}", "")
        self._lines, self._indent, self._returns, self._pairs, self.activity.names = outer
        self._texts.append("\n".join(lines))
        return name

    # Statements.

    def _statement(self, node: tree.Statement) -> None:
        if isinstance(node, (tree.Value, tree.Var)):
            self._declared(node)
        elif isinstance(node, tree.Assign):
            self._assigned(node)
        elif isinstance(node, tree.Return):
            self._returned(node)
        elif isinstance(node, tree.If):
            self._branch(node)
        elif isinstance(node, (tree.For, tree.While, tree.Loop)):
            self._loop(node)
        elif isinstance(node, tree.Switch):
            self._switch(node)
        elif isinstance(node, tree.Continuing):
            self._block("continuing {", node.body)
        elif isinstance(node, tree.CompoundStatement):
            self._block("{", node)
        else:
            self._write(f"{self._copy(node)};")

    def _declared(self, node: tree.Value | tree.Var) -> None:
        tangent = None
        if node.name in self.activity.names.active and self._is_float_type(self._type(node)):
            tangent = self._zero(self._type(node))
        if node.value is not None and self.activity.has_tangent(node.value):
            dual = self._dual(node.value)
            word, type_ = self._head(node)
            self._write(f"{word} {node.name}{type_} = {dual.value};")
            tangent = dual.tangent or tangent
        else:
            self._write(self._copy(node).rstrip(";") + ";")
        if tangent is not None:
            word, type_ = self._head(node)
            self._write(f"{word} {self._prefix}{node.name}{type_} = {tangent};")

    def _head(self, node: tree.Value | tree.Var) -> tuple[str, str]:
        type_ = "" if node.type is None else f": {spell(node.type)}"
        return ("var" if isinstance(node, tree.Var) else "let"), type_

    def _assigned(self, node: tree.Assign) -> None:
        target = node.target
        if target is None or root_name(target) not in self.activity.names.active:
            self._write(f"{self._copy(node).rstrip(';')};")
            return
        place = self._copy(target)
        if not self._is_float_type(self.types.value_of(target)):
            self._write(f"{self._copy(node).rstrip(';')};")
            return
        if place.startswith(("*", "(")):
            self._refuse("a derivative behind a pointer is not followed; return the value", target)
        given = self._dual(node.value)
        if node.operator == "=":
            dual = given
        else:
            store = value_of(self.types.of(target) or Scalar("f32"))
            before = Dual(place, f"{self._prefix}{place}")
            other = self.types.value_of(node.value) or store
            dual = self._combined(node.operator[:-1], before, store, given, other, store, node)
        zero = self._zero(self.types.value_of(target) or Scalar("f32"))
        self._write(f"{self._prefix}{place} = {dual.tangent or zero};")
        self._write(f"{place} = {dual.value};")

    def _returned(self, node: tree.Return) -> None:
        assert node.value is not None
        dual = self._dual(node.value)
        zero = self._zero(self.types.value_of(node.value) or Scalar("f32"))
        self._write(f"return {self._returns}({dual.value}, {dual.tangent or zero});")

    def _branch(self, node: tree.If) -> None:
        branch: tree.If | tree.CompoundStatement | None = node
        head = "if"
        while isinstance(branch, tree.If):
            self._block(f"{head} ({self._copy(branch.condition)}) {{", branch.body)
            head, branch = "else if", branch.otherwise
        if branch is not None:
            self._block("else {", branch)

    def _loop(self, node: tree.For | tree.While | tree.Loop) -> None:
        if isinstance(node, tree.Loop):
            self._block("loop {", node.body)
            return
        if isinstance(node, tree.While):
            self._block(f"while ({self._copy(node.condition)}) {{", node.body)
            return
        for part in (node.first, node.update):
            if part is not None and self.activity.touches(part):
                self._refuse("a counter of a loop that has a derivative is not followed", part)
        parts = [
            "" if one is None else self._copy(one).rstrip(";")
            for one in (node.first, node.condition, node.update)
        ]
        self._block(f"for ({'; '.join(parts)}) {{", node.body)

    def _switch(self, node: tree.Switch) -> None:
        self._write(f"switch ({self._copy(node.selector)}) {{")
        outer, self._indent = self._indent, self._indent + "  "
        for clause in node.clauses:
            selectors = ["default" if one is None else spell(one) for one in clause.selectors]
            head = "default" if selectors == ["default"] else f"case {', '.join(selectors)}:"
            self._block(f"{head} {{", clause.body)
        self._indent = outer
        self._write("}")

    def _block(self, head: str, body: tree.CompoundStatement) -> None:
        self._write(head)
        outer, self._indent = self._indent, self._indent + "  "
        for one in body.statements:
            self._statement(one)
        self._indent = outer
        self._write("}")

    # Expressions.

    def _dual(self, node: tree.Expression) -> Dual:
        """Return a value with its tangent; what is deep in either gets a name."""
        value, tangent = (made := self._made_of(node)).value, made.tangent
        if tangent is None:
            return made
        value = self.let(value) if is_deep(value) else value
        return Dual(value, self.let(tangent) if is_deep(tangent) else tangent)

    def _made_of(self, node: tree.Expression) -> Dual:
        if not self.activity.has_tangent(node):
            return Dual(self._copy(node))
        if isinstance(node, tree.Name):
            return Dual(node.name, f"{self._prefix}{node.name}")
        if isinstance(node, tree.Paren):
            inner = self._dual(node.inner)
            return Dual(wrapped(inner.value), inner.tangent)
        if isinstance(node, tree.Unary) and node.operator == "-":
            inner = self._dual(node.operand)
            tangent = None if inner.tangent is None else f"-{wrapped(inner.tangent)}"
            return Dual(f"-{wrapped(inner.value)}", tangent)
        if isinstance(node, tree.Binary):
            left, right = self._dual(node.left), self._dual(node.right)
            types = self._of(node.left), self._of(node.right), self._of(node)
            return self._combined(node.operator, left, types[0], right, types[1], types[2], node)
        if isinstance(node, tree.Index):
            return self._part(node.base, f"[{self._copy(node.index)}]")
        if isinstance(node, tree.Access):
            return self._part(node.base, f".{node.member.name}")
        if not isinstance(node, tree.Call):
            self._refuse("this is not followed", node)
        return self._called(node)

    def _part(self, base: tree.Expression, part: str) -> Dual:
        dual = self._dual(base)
        return Dual(f"{self._held(dual.value)}{part}", f"{self._held(dual.tangent)}{part}")

    def _combined(
        self,
        operator: str,
        left: Dual,
        left_type: Type,
        right: Dual,
        right_type: Type,
        type_: Type,
        node: tree.Node,
    ) -> Dual:
        """Return what an operator makes of two values with their tangents."""
        if operator in ("+", "-"):
            value = f"{left.value} {operator} {wrapped(right.value)}"
            one = self._spread(left.tangent, left_type, type_)
            other = self._spread(right.tangent, right_type, type_)
            if one is None:
                tangent = other if operator == "+" or other is None else f"-{wrapped(other)}"
            elif other is None:
                tangent = one
            else:
                tangent = f"{one} {operator} {wrapped(other)}"
            return Dual(f"({value})", tangent)
        a, b = self._operand(left, left_type, type_), self._operand(right, right_type, type_)
        if operator == "*":
            both = [] if left.tangent is None else [f"{wrapped(left.tangent)} * {b}"]
            both += [] if right.tangent is None else [f"{a} * {wrapped(right.tangent)}"]
            return Dual(f"({a} * {b})", " + ".join(both) or None)
        if operator == "/":
            if right.tangent is None:
                tangent = f"{wrapped(left.tangent or '')} / {b}"
                return Dual(f"({a} / {b})", None if left.tangent is None else tangent)
            quotient = self.let(f"{a} / {b}")
            change = f"{quotient} * {wrapped(right.tangent)}"
            top = f"-{change}" if left.tangent is None else f"{left.tangent} - {change}"
            return Dual(quotient, f"({top}) / {b}")
        if operator == "%":
            tangent = left.tangent
            if right.tangent is not None:
                change = f"trunc({a} / {b}) * {wrapped(right.tangent)}"
                tangent = f"-{change}" if tangent is None else f"{tangent} - {change}"
            return Dual(f"({a} % {b})", tangent)
        return self._refuse(f"the operator {operator} is not followed", node)

    def _called(self, node: tree.Call) -> Dual:
        name, type_ = node.callee.name, self._of(node)
        if name == "bitcast":
            self._refuse("bitcast takes a number apart as bits, which have no derivative", node)
        arguments = [self._dual(one) for one in node.arguments]
        if name == "select":
            return self._selected(arguments, type_)
        if name in self.rules:
            rule = rule_at_ties(node, self.rules[name], self._pairs)
            return self._by_rule(node, arguments, rule, type_)
        if name in self.functions:
            active = tuple([one.tangent is not None for one in arguments])
            made = self._function(self.functions[name], active)
            given = [one.value for one in arguments]
            given += [one.tangent for one in arguments if one.tangent is not None]
            found = self.let(f"{made}({', '.join(given)})")
            return Dual(f"{found}.value", f"{found}.tangent")
        if name in VECTORS:
            values = self._operands(node, arguments, type_)
            return VECTORS[name](self, values, [one.tangent for one in arguments])
        if name in ("f32", "f16") or self._makes(node):
            tangents = [
                self._zero(wanted) if dual.tangent is None else dual.tangent
                for wanted, dual in zip(self._parts_of(type_, node), arguments, strict=True)
            ]
            written = spell(node.callee)
            given = [one.value for one in arguments]
            return Dual(f"{written}({', '.join(given)})", f"{written}({', '.join(tangents)})")
        reason = f"{name} has no derivative that is known; write // @derivative above it"
        return self._refuse(reason, node)

    def _makes(self, node: tree.Call) -> bool:
        """Say whether a call makes a vector, a matrix, an array or a struct."""
        name = node.callee.name
        return name not in self.functions and (
            bool(node.callee.templates) or re.match(r"(vec|mat)\d|array$|[A-Z]", name) is not None
        )

    def _selected(self, arguments: Sequence[Dual], type_: Type) -> Dual:
        no, yes, which = arguments
        condition = self._held(which.value)
        zero = self._zero(type_)
        tangent = f"select({no.tangent or zero}, {yes.tangent or zero}, {condition})"
        return Dual(f"select({no.value}, {yes.value}, {condition})", tangent)

    def _by_rule(
        self, node: tree.Call, arguments: Sequence[Dual], rule: DerivativeRule, type_: Type
    ) -> Dual:
        values = self._operands(node, arguments, type_)
        value = self.let(f"{spell(node.callee)}({', '.join(values)})")
        facts = dict(zip("abcd", values, strict=False))
        facts |= {"y": value, "zero": self._zero(type_), "one": self._one(type_)}
        parts: list[str] = []
        for one, partial in zip(arguments, rule.partials, strict=True):
            if one.tangent is None or not partial:
                continue
            self._imports += rule.imports
            slope = partial.format(**facts)
            parts.append(
                one.tangent if partial == "{one}" else f"{wrapped(slope)} * {wrapped(one.tangent)}"
            )
        return Dual(value, " + ".join(parts) or None)

    def _operands(self, node: tree.Call, arguments: Sequence[Dual], type_: Type) -> list[str]:
        given = zip(node.arguments, arguments, strict=True)
        return [self._operand(dual, self._of(one), type_) for one, dual in given]

    # Text.

    def _write(self, line: str) -> None:
        self._lines.append(f"{self._indent}{line}")

    def _copy(self, node: tree.Node) -> str:
        return self.text.text[node.begin : node.end]

    def let(self, value: str, type_: str = "") -> str:
        """Return a name for a value, which is computed once, as a type if that is not its own."""
        if is_plain(value):
            return value
        name = self._free("t")
        self._write(f"let {name}{type_ and f': {type_}'} = {value};")
        return name

    def _held(self, value: str | None) -> str:
        assert value is not None
        return self.let(value)

    def _operand(self, dual: Dual, type_: Type, result: Type) -> str:
        """Return a name for a value that is combined to a result, whose scalar literals take."""
        return self.let(dual.value, self._literal_type(type_, result))

    def _free(self, stem: str) -> str:
        name = stem
        while name in self._words or name == "t":
            self._count += 1
            name = f"{stem}{self._count}"
        self._words.add(name)
        return name

    def _starts_with(self, prefix: str) -> bool:
        return any(one.startswith(prefix) for one in self._words)
