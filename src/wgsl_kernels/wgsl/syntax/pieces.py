"""Expressions as pieces of text, each with the offset that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.source_map import Edit, TextBuilder

    Parts: TypeAlias = Sequence[tree.Node | str]
    """What is left to write of an expression: nodes, and marks between them."""


def listed(nodes: Sequence[tree.Node]) -> Iterator[tree.Node | str]:
    """Yield nodes with the commas between them."""
    for index, node in enumerate(nodes):
        if index:
            yield ", "
        yield node


class ExpressionPrinter:
    """Pieces of text, each with the offset that it stands for and whether it is what was there."""

    def __init__(self, edits: Iterable[Edit], blank: str = " ") -> None:
        """Begin with no text; ``blank`` stands around operators."""
        self.names = {edit.span.begin: edit.replacement for edit in edits}
        self.blank = blank
        self.pieces: list[tuple[str, int, bool]] = []
        self.rounds: list[tuple[int, int, str]] = []  # from one piece to another
        self.at = 0
        self.indent = "\n"

    def text(self) -> str:
        return "".join(piece for piece, _, _ in self.pieces)

    def write_to(self, text: TextBuilder, source: Text) -> None:
        """Append it to ``text``; the offsets are those of ``source``."""
        for begin, end, label in self.rounds:
            text.note(begin, end, label, is_round=True)
        text.write(self.pieces, source)

    # Pieces: what was there, and what merely stands near a place.

    def leaf(self, text: str, begin: int) -> None:
        self.pieces.append((text, begin, True))
        self.at = begin + len(text)

    def mark(self, text: str) -> None:
        """Write what merely stands near a place."""
        self.pieces.append((text, self.at, False))

    def ident(self, node: tree.Ident) -> None:
        """Write a name."""
        if (name := self.names.get(node.begin)) is not None:
            self.pieces.append((name, node.begin, False))
        else:
            exact = node.end - node.begin == len(node.name)  # false for a name given by a linker
            self.pieces.append((node.name, node.begin, exact))
        self.at = node.end

    def node(self, node: tree.Node) -> None:
        """Write any node; here, an expression."""
        self.expression(node)

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
        """Write a number or a member's name."""
        text = node.text if isinstance(node, tree.Literal) else node.name
        exact = node.end - node.begin == len(text)  # false for a value in the place of a name
        self.pieces.append((text, node.begin, exact))
        self.at = node.end
        return ()

    def name(self, node: tree.Name) -> Parts:
        """Write a name in use; return its template list."""
        self.ident(node.ident)
        return ("<", *listed(node.templates), ">") if node.templates else ()

    def call(self, node: tree.Call) -> Parts:
        return (node.callee, "(", *listed(node.arguments), ")")

    def unary(self, node: tree.Unary) -> Parts:
        """Write a prefix; return its operand."""
        self.leaf(node.operator, node.begin)
        if isinstance(node.operand, tree.Unary):
            return (" ", node.operand)  # two that touch would be one token
        return (node.operand,)

    def binary(self, node: tree.Binary) -> Parts:
        """Return the parts of two operands."""
        behind = " " if isinstance(node.right, tree.Unary) else self.blank
        return (node.left, f"{self.blank}{node.operator}{behind}", node.right)

    def index(self, node: tree.Index) -> Parts:
        return (node.base, "[", node.index, "]")

    def access(self, node: tree.Access) -> Parts:
        return (node.base, ".", node.member)

    def paren(self, node: tree.Paren) -> Parts:
        """Write what opens; return what is inside."""
        self.leaf("(", node.begin)
        return (node.inner, ")")


_PARTS: dict[type[tree.Node], Callable[[ExpressionPrinter, Any], Parts]] = {
    tree.Ident: ExpressionPrinter.word,
    tree.Literal: ExpressionPrinter.word,
    tree.Name: ExpressionPrinter.name,
    tree.Call: ExpressionPrinter.call,
    tree.Unary: ExpressionPrinter.unary,
    tree.Binary: ExpressionPrinter.binary,
    tree.Index: ExpressionPrinter.index,
    tree.Access: ExpressionPrinter.access,
    tree.Paren: ExpressionPrinter.paren,
}
