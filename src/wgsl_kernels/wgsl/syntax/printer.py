"""Writing a syntax tree as text that still knows where its author had each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.pieces import ExpressionPrinter, listed
from wgsl_kernels.wgsl.syntax.source_map import SourceMap, TextBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.source_map import Edit


def print_module(module: tree.Module, edits: Iterable[Edit] = ()) -> SourceMap:
    """Return ``module`` as text in our layout, each place leading to the author's.

    Args:
        module: What to write. Comments are not in a tree, so they go.
        edits: Other names, as ``rename`` returns them.
    """
    text = TextBuilder()
    writer = _Printer(edits)
    for node in (*module.directives, *module.includes, *module.declarations):
        writer.top(node)
    writer.write_to(text, module.text)
    return text.finish()


def print_declaration(
    text: TextBuilder,
    source: Text,
    node: tree.Node,
    edits: Iterable[Edit] = (),
    constants: str = "",
) -> None:
    """Append one part of the file ``source`` to ``text``; see ``print_module``.

    ``constants`` says which values were put into it; errors in it tell them.
    """
    writer = _Printer(edits)
    writer.top(node)
    if constants:
        text.note(0, len(writer.pieces), constants)
    writer.write_to(text, source)


def spell(node: tree.Expression | None, *, blank: str = "") -> str:
    """Return an expression or a type in one line, with ``blank`` around operators; '' for none."""
    if node is None:
        return ""
    writer = _Printer((), blank=blank)
    writer.node(node)
    return writer.text()


def spell_head(node: tree.Function) -> str:
    """Return a function in one line up to where its body begins."""
    writer = _Printer(())
    writer.head(node)
    return writer.text()


class _Printer(ExpressionPrinter):
    """Declarations and statements."""

    def node(self, node: tree.Node) -> None:
        if (write := _WRITES.get(type(node))) is not None:
            write(self, node)
        else:
            self.expression(node)

    def list(self, nodes: Sequence[tree.Node]) -> None:
        for one in listed(nodes):
            if isinstance(one, str):
                self.mark(one)
            else:
                self.node(one)

    # Parts.

    def templates(self, nodes: tuple[tree.Expression, ...]) -> None:
        if nodes:
            self.mark("<")
            self.list(nodes)
            self.mark(">")

    def attributes(self, nodes: tuple[tree.Attribute, ...]) -> None:
        for node in nodes:
            self.leaf(f"@{node.name}", node.begin)
            if node.arguments is not None:
                self.mark("(")
                self.list(node.arguments)
                self.mark(")")
            self.mark(" ")

    def parameter(self, node: tree.Parameter) -> None:
        self.attributes(node.attributes)
        self.ident(node.ident)
        self.mark(": ")
        self.node(node.type)

    def typed(self, node: tree.Var | tree.Value) -> None:
        self.ident(node.ident)
        if node.type is not None:
            self.mark(": ")
            self.node(node.type)
        if node.value is not None:
            self.mark(" = ")
            self.node(node.value)

    def keyword(self, text: str, begin: int) -> None:
        self.pieces.append((text, begin, True))
        self.at = begin

    # Statements. Semicolons are written by those who hold them.

    def var(self, node: tree.Var) -> None:
        self.attributes(node.attributes)
        self.mark("var")
        self.templates(node.templates)
        self.mark(" ")
        self.typed(node)

    def value(self, node: tree.Value) -> None:
        self.attributes(node.attributes)
        self.mark(f"{node.keyword} ")
        self.typed(node)

    def const_assert(self, node: tree.ConstAssert) -> None:
        self.keyword("const_assert ", node.begin)
        self.node(node.condition)

    def block(self, node: tree.CompoundStatement) -> None:
        self.attributes(node.attributes)
        self.mark("{")
        outer, self.indent = self.indent, f"{self.indent}  "
        self.statements(node.statements)
        self.indent = outer
        self.at = max(node.end - 1, 0)
        self.mark(f"{outer}}}" if node.statements else "}")

    def statements(self, nodes: tuple[tree.Statement, ...]) -> None:
        for statement in nodes:
            if isinstance(statement, tree.Round) and not _declares(statement.body):
                begin = len(self.pieces)
                self.statements(statement.body.statements)
                self.note(begin, statement)
                continue
            self.mark(self.indent)
            self.at = statement.begin
            self.node(statement)
            if not isinstance(statement, _COMPOUND):
                self.mark(";")

    def round(self, node: tree.Round) -> None:
        begin = len(self.pieces)
        self.block(node.body)
        self.note(begin, node)

    def note(self, begin: int, node: tree.Round) -> None:
        self.rounds.append((begin, len(self.pieces), f"{node.name} = {node.value}"))

    def assign(self, node: tree.Assign) -> None:
        if node.target is None:
            self.keyword("_", node.begin)
        else:
            self.node(node.target)
        self.mark(f" {node.operator} ")
        self.node(node.value)

    def step(self, node: tree.IncrementStatement) -> None:
        self.node(node.target)
        self.mark(node.operator)

    def return_(self, node: tree.Return) -> None:
        self.keyword("return", node.begin)
        if node.value is not None:
            self.mark(" ")
            self.node(node.value)

    def jump(self, node: tree.Jump) -> None:
        self.keyword(node.keyword, node.begin)

    def break_if(self, node: tree.BreakIf) -> None:
        self.keyword("break if ", node.begin)
        self.node(node.condition)

    def if_(self, node: tree.If) -> None:
        otherwise: tree.If | tree.CompoundStatement | None = node
        while isinstance(otherwise, tree.If):
            self.attributes(otherwise.attributes)
            self.mark("if ")
            self.node(otherwise.condition)
            self.mark(" ")
            self.block(otherwise.body)
            otherwise = otherwise.otherwise
            if otherwise is not None:
                self.mark(" else ")
        if otherwise is not None:
            self.block(otherwise)

    def switch(self, node: tree.Switch) -> None:
        self.attributes(node.attributes)
        self.mark("switch ")
        self.node(node.selector)
        self.mark(" ")
        self.attributes(node.body_attributes)
        self.mark("{")
        outer, self.indent = self.indent, f"{self.indent}  "
        for clause in node.clauses:
            self.mark(self.indent)
            self.clause(clause)
        self.indent = outer
        self.mark(f"{outer}}}")

    def clause(self, node: tree.Clause) -> None:
        if node.selectors == (None,):
            self.keyword("default", node.begin)
        else:
            self.keyword("case ", node.begin)
            for index, selector in enumerate(node.selectors):
                self.mark(", " if index else "")
                if selector is None:
                    self.mark("default")
                else:
                    self.node(selector)
        self.mark(" ")
        self.block(node.body)

    def loop(self, node: tree.Loop | tree.Continuing) -> None:
        if isinstance(node, tree.Loop):
            self.attributes(node.attributes)
            self.mark("loop ")
        else:
            self.keyword("continuing ", node.begin)
        self.block(node.body)

    def while_(self, node: tree.While) -> None:
        self.attributes(node.attributes)
        self.mark("while ")
        self.node(node.condition)
        self.mark(" ")
        self.block(node.body)

    def for_(self, node: tree.For) -> None:
        self.attributes(node.attributes)
        self.mark("for (")
        for index, part in enumerate((node.first, node.condition, node.update)):
            if index:
                self.mark("; " if part is not None else ";")
            if part is not None:
                self.node(part)
        self.mark(") ")
        self.block(node.body)

    # Module level.

    def top(self, node: tree.Node) -> None:
        self.at = node.begin
        self.node(node)
        self.mark(";\n" if isinstance(node, (tree.Var, tree.Value, tree.ConstAssert)) else "\n")

    def directive(self, node: tree.Directive) -> None:
        opener, closer = ("(", ")") if node.keyword == "diagnostic" else (" ", "")
        self.keyword(f"{node.keyword}{opener}", node.begin)
        self.list(node.arguments)
        self.mark(f"{closer};")

    def include(self, node: tree.Include) -> None:
        self.keyword(f'#include "{node.path}"', node.begin)

    def function(self, node: tree.Function) -> None:
        self.head(node)
        self.mark(" ")
        self.node(node.body)

    def head(self, node: tree.Function) -> None:
        self.at = node.begin
        self.attributes(node.attributes)
        self.mark("fn ")
        self.ident(node.ident)
        self.mark("(")
        self.list(node.parameters)
        self.mark(")")
        if node.returns is not None:
            self.mark(" -> ")
            self.attributes(node.return_attributes)
            self.node(node.returns)

    def struct(self, node: tree.Struct) -> None:
        self.keyword("struct ", node.begin)
        self.ident(node.ident)
        self.mark(" {")
        for member in node.fields:
            self.mark("\n  ")
            self.parameter(member)
            self.mark(",")
        self.mark("\n}")

    def alias(self, node: tree.Alias) -> None:
        self.keyword("alias ", node.begin)
        self.ident(node.ident)
        self.mark(" = ")
        self.node(node.type)
        self.mark(";")

    def broken(self, node: tree.Broken) -> None:
        self.leaf(node.text, node.begin)


def _declares(block: tree.CompoundStatement) -> bool:
    return any(isinstance(one, (tree.Var, tree.Value)) for one in block.statements)


_COMPOUND = (
    tree.CompoundStatement, tree.Round, tree.If, tree.Switch, tree.Loop, tree.Continuing,
    tree.While, tree.For,
)  # fmt: skip
_WRITES: dict[type[tree.Node], Callable[[_Printer, Any], None]] = {
    tree.Parameter: _Printer.parameter,
    tree.Var: _Printer.var,
    tree.Value: _Printer.value,
    tree.ConstAssert: _Printer.const_assert,
    tree.CompoundStatement: _Printer.block,
    tree.Round: _Printer.round,
    tree.Assign: _Printer.assign,
    tree.IncrementStatement: _Printer.step,
    tree.CallStatement: lambda self, node: self.node(node.call),
    tree.Return: _Printer.return_,
    tree.Jump: _Printer.jump,
    tree.BreakIf: _Printer.break_if,
    tree.If: _Printer.if_,
    tree.Switch: _Printer.switch,
    tree.Loop: _Printer.loop,
    tree.Continuing: _Printer.loop,
    tree.While: _Printer.while_,
    tree.For: _Printer.for_,
    tree.Directive: _Printer.directive,
    tree.Include: _Printer.include,
    tree.Function: _Printer.function,
    tree.Struct: _Printer.struct,
    tree.Alias: _Printer.alias,
    tree.Broken: _Printer.broken,
}
