"""Writing a syntax tree as text that still knows where its author had each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from wgsl_kernels.backends.webgpu.wgsl import tree
from wgsl_kernels.backends.webgpu.wgsl.source_map import Composition, SourceMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wgsl_kernels.backends.webgpu.wgsl.places import Text
    from wgsl_kernels.backends.webgpu.wgsl.source_map import Edit

    Parts: TypeAlias = Sequence[tree.Node | str]
    """What is left to write of an expression: nodes, and marks between them."""


def print_module(module: tree.Module, edits: Iterable[Edit] = ()) -> SourceMap:
    """Return ``module`` as text in our layout, each place leading to the author's.

    Args:
        module: What to write. Comments are not in a tree, so they go.
        edits: Other names, as ``rename`` returns them.
    """
    text = Composition()
    writer = _Printer(edits)
    for node in (*module.directives, *module.includes, *module.declarations):
        writer.top(node)
    writer.write_to(text, module.text)
    return text.finish()


def print_declaration(
    text: Composition, source: Text, node: tree.Node, edits: Iterable[Edit] = ()
) -> None:
    """Append one part of the file ``source`` to ``text``; see ``print_module``."""
    writer = _Printer(edits)
    writer.top(node)
    writer.write_to(text, source)


def spell(node: tree.Expression) -> str:
    """Return an expression or a type in the fewest characters, but for a blank after commas."""
    writer = _Printer((), blank="")
    writer.node(node)
    return writer.text()


def _listed(nodes: Sequence[tree.Node]) -> Iterator[tree.Node | str]:
    for index, node in enumerate(nodes):
        if index:
            yield ", "
        yield node


class _Printer:
    """Pieces of text, each with the offset that it stands for and whether it is what was there."""

    def __init__(self, edits: Iterable[Edit], blank: str = " ") -> None:
        self.names = {edit.span.begin: edit.replacement for edit in edits}
        self.blank = blank
        self.pieces: list[tuple[str, int, bool]] = []
        self.at = 0
        self.indent = "\n"

    def text(self) -> str:
        return "".join(piece for piece, _, _ in self.pieces)

    def write_to(self, text: Composition, source: Text) -> None:
        for piece, offset, exact in self.pieces:
            text.write(piece, source, offset, exact=exact)

    # Pieces: what was there, and what merely stands near a place.

    def leaf(self, text: str, begin: int) -> None:
        self.pieces.append((text, begin, True))
        self.at = begin + len(text)

    def mark(self, text: str) -> None:
        self.pieces.append((text, self.at, False))

    def ident(self, node: tree.Ident) -> None:
        if (name := self.names.get(node.begin)) is not None:
            self.pieces.append((name, node.begin, False))
        else:
            exact = node.end - node.begin == len(node.name)  # false for a name given by a linker
            self.pieces.append((node.name, node.begin, exact))
        self.at = node.end

    def node(self, node: tree.Node) -> None:
        if (write := _WRITES.get(type(node))) is not None:
            write(self, node)
        else:
            self.expression(node)

    def list(self, nodes: Sequence[tree.Node]) -> None:
        for one in _listed(nodes):
            if isinstance(one, str):
                self.mark(one)
            else:
                self.node(one)

    # Expressions, whose depth is no matter of Python's stack: each says what is left to write.

    def expression(self, node: tree.Node) -> None:
        left: list[tree.Node | str] = [node]
        while left:
            one = left.pop()
            if isinstance(one, str):
                self.mark(one)
            else:
                left += reversed(_PARTS[type(one)](self, one))

    def word(self, node: tree.Literal | tree.Ident) -> Parts:
        self.leaf(node.text if isinstance(node, tree.Literal) else node.name, node.begin)
        return ()

    def name(self, node: tree.Name) -> Parts:
        self.ident(node.ident)
        return ("<", *_listed(node.templates), ">") if node.templates else ()

    def call(self, node: tree.Call) -> Parts:
        return (node.callee, "(", *_listed(node.arguments), ")")

    def unary(self, node: tree.Unary) -> Parts:
        self.leaf(node.operator, node.begin)
        if isinstance(node.operand, tree.Unary):
            return (" ", node.operand)  # two that touch would be one token
        return (node.operand,)

    def binary(self, node: tree.Binary) -> Parts:
        behind = " " if isinstance(node.right, tree.Unary) else self.blank
        return (node.left, f"{self.blank}{node.operator}{behind}", node.right)

    def index(self, node: tree.Index) -> Parts:
        return (node.base, "[", node.index, "]")

    def access(self, node: tree.Access) -> Parts:
        return (node.base, ".", node.member)

    def paren(self, node: tree.Paren) -> Parts:
        self.leaf("(", node.begin)
        return (node.inner, ")")

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

    def block(self, node: tree.Block) -> None:
        self.attributes(node.attributes)
        self.mark("{")
        outer, self.indent = self.indent, f"{self.indent}  "
        for statement in node.statements:
            self.mark(self.indent)
            self.at = statement.begin
            self.node(statement)
            if not isinstance(statement, _COMPOUND):
                self.mark(";")
        self.indent = outer
        self.at = max(node.end - 1, 0)
        self.mark(f"{outer}}}" if node.statements else "}")

    def assign(self, node: tree.Assign) -> None:
        if node.target is None:
            self.keyword("_", node.begin)
        else:
            self.node(node.target)
        self.mark(f" {node.operator} ")
        self.node(node.value)

    def step(self, node: tree.Step) -> None:
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
        otherwise: tree.If | tree.Block | None = node
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
        self.at = node.begin
        self.attributes(node.attributes)
        self.mark("fn ")
        self.ident(node.ident)
        self.mark("(")
        self.list(node.parameters)
        self.mark(") ")
        if node.returns is not None:
            self.mark("-> ")
            self.attributes(node.return_attributes)
            self.node(node.returns)
            self.mark(" ")
        self.node(node.body)

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


_COMPOUND = (
    tree.Block, tree.If, tree.Switch, tree.Loop, tree.Continuing, tree.While, tree.For,
)  # fmt: skip
_PARTS: dict[type[tree.Node], Callable[[_Printer, Any], Parts]] = {
    tree.Ident: _Printer.word,
    tree.Literal: _Printer.word,
    tree.Name: _Printer.name,
    tree.Call: _Printer.call,
    tree.Unary: _Printer.unary,
    tree.Binary: _Printer.binary,
    tree.Index: _Printer.index,
    tree.Access: _Printer.access,
    tree.Paren: _Printer.paren,
}
_WRITES: dict[type[tree.Node], Callable[[_Printer, Any], None]] = {
    tree.Parameter: _Printer.parameter,
    tree.Var: _Printer.var,
    tree.Value: _Printer.value,
    tree.ConstAssert: _Printer.const_assert,
    tree.Block: _Printer.block,
    tree.Assign: _Printer.assign,
    tree.Step: _Printer.step,
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
