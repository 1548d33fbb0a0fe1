"""Statements with dead branches pruned and marked loops written out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.specialize.folding import node_of
from wgsl_kernels.wgsl.specialize.jumps import ends, own_jump, without_last_break
from wgsl_kernels.wgsl.specialize.unrolling import Unrolling
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.values import (
    Known,
    combined,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_CONTEXTUAL = frozenset({"builtin", "interpolate", "diagnostic"})
"""Attributes whose arguments are words and no expressions."""


class StatementSpecializer(Unrolling):
    """A walk over functions."""

    def function(self, node: tree.Function) -> tree.Function:
        """Return a function with what is known in place."""
        if isinstance(node.body, tree.Broken):
            return node
        self.count = 0
        depth = self.depth
        attributes = self.attributes(node.attributes)
        parameters = tuple([self.parameter(one) for one in node.parameters])
        returns = None if node.returns is None else self.type(node.returns)
        for one in node.parameters:
            self.declare(one.ident.name, None)
        body = self.block(node.body)
        self.close(depth)
        return replace(
            node, attributes=attributes, parameters=parameters, returns=returns, body=body
        )

    def parameter(self, node: tree.Parameter) -> tree.Parameter:
        """Return a parameter or a field with what is known in place."""
        type_ = self.type(node.type)
        attributes = self.attributes(node.attributes)
        if type_ is node.type and attributes is node.attributes:
            return node
        return replace(node, type=type_, attributes=attributes)

    def attributes(self, nodes: tuple[tree.Attribute, ...]) -> tuple[tree.Attribute, ...]:
        """Return attributes with what is known in place."""
        if not any(node.arguments and node.name not in _CONTEXTUAL for node in nodes):
            return nodes
        return tuple(
            node
            if not node.arguments or node.name in _CONTEXTUAL
            else replace(node, arguments=self.all_written(node.arguments))
            for node in nodes
        )

    # Statements: each appends what is left of it.

    def block(self, node: tree.CompoundStatement) -> tree.CompoundStatement:
        """Return a block in a scope of its own; what comes behind its end is left out."""
        depth = self.depth
        found = self.statements(node.statements)
        self.close(depth)
        attributes = self.attributes(node.attributes)
        return tree.CompoundStatement(node.begin, node.end, attributes, tuple(found))

    def statements(self, nodes: tuple[tree.Statement, ...]) -> list[tree.Statement]:
        """Return what is left of statements in the scope at hand."""
        out: list[tree.Statement] = []
        for at, node in enumerate(nodes):
            before = len(out)
            _STATEMENTS[type(node)](self, node, out)
            if len(out) == before:
                continue
            if type(out[-1]) is type(node) and type(node) is not tree.CompoundStatement:
                self.count += 1
            if ends(out[-1]):
                if isinstance(nodes[-1], tree.Continuing) and at + 1 < len(nodes):
                    _STATEMENTS[tree.Continuing](self, nodes[-1], out)
                break
        return out

    def _var(self, node: tree.Var, out: list[tree.Statement]) -> None:
        value = None if node.value is None else self.written(node.value)
        type_ = None if node.type is None else self.type(node.type)
        if value is None and type_ is not None and self.in_loop:
            value = tree.Call(type_.end, type_.end, type_, ())  # naga clears it in round one only
        self.declare(node.ident.name, None)
        if value is not node.value or type_ is not node.type:
            node = tree.Var(
                node.begin, node.end, node.attributes, node.templates, node.ident, type_, value
            )
        out.append(node)

    def _value(self, node: tree.Value, out: list[tree.Statement]) -> None:
        assert node.value is not None
        found = self.fold(node.value)
        if type(found) is Known:
            known = self.declared(node, found)
            if known is not None:
                self.declare(node.ident.name, known)
                return
            found = node_of(found, node.value)
        type_ = None if node.type is None else self.type(node.type)
        self.declare(node.ident.name, None)
        if node.keyword == "const" and type_ is None:
            self.note_const(node.ident.name)
        if found is not node.value or type_ is not node.type:
            node = tree.Value(
                node.begin, node.end, node.keyword, node.attributes, node.ident, type_, found
            )
        out.append(node)

    def _const_assert(self, node: tree.ConstAssert, out: list[tree.Statement]) -> None:
        left = self.assertion(node)
        if left is not None:
            out.append(left)

    def assertion(self, node: tree.ConstAssert) -> tree.ConstAssert | None:
        """Return what is left of an assertion, None where it holds.

        Raises:
            ShaderError: It does not hold.
        """
        found = self.fold(node.condition)
        if type(found) is Known and found.kind == "bool":
            if found.value:
                return None
            self.fail("this const_assert does not hold.", node)
        condition = node_of(found, node.condition) if type(found) is Known else found
        return replace(node, condition=condition)

    def _assign(self, node: tree.Assign, out: list[tree.Statement]) -> None:
        value = self.written(node.value)
        target = None if node.target is None else self.written(node.target)
        if value is not node.value or target is not node.target:
            node = tree.Assign(node.begin, node.end, target, node.operator, value)
        out.append(node)

    def _step(self, node: tree.IncrementStatement, out: list[tree.Statement]) -> None:
        target = self.written(node.target)
        if target is not node.target:
            node = tree.IncrementStatement(node.begin, node.end, target, node.operator)
        out.append(node)

    def _call_statement(self, node: tree.CallStatement, out: list[tree.Statement]) -> None:
        call = self._rebuilt(node.call)
        out.append(node if call is node.call else replace(node, call=call))

    def _return(self, node: tree.Return, out: list[tree.Statement]) -> None:
        if node.value is not None:
            value = self.written(node.value)
            if value is not node.value:
                node = tree.Return(node.begin, node.end, value)
        out.append(node)

    def _jump(self, node: tree.Jump, out: list[tree.Statement]) -> None:
        out.append(node)

    def _break_if(self, node: tree.BreakIf, out: list[tree.Statement]) -> None:
        out.append(replace(node, condition=self.written(node.condition)))

    def _plain_block(self, node: tree.CompoundStatement, out: list[tree.Statement]) -> None:
        _splice(self.block(node), out)

    def _if(self, node: tree.If, out: list[tree.Statement]) -> None:
        left: list[tuple[tree.If, tree.Expression, tree.CompoundStatement]] = []
        branch: tree.If | tree.CompoundStatement | None = node
        last: tree.CompoundStatement | None = None
        while isinstance(branch, tree.If):
            condition = self.fold(branch.condition)
            if type(condition) is Known and condition.kind == "bool":
                if condition.value:
                    last = self.block(branch.body)
                    branch = None
                    break
            else:
                kept = (
                    node_of(condition, branch.condition) if type(condition) is Known else condition
                )
                left.append((branch, kept, self.block(branch.body)))
            branch = branch.otherwise
        if branch is not None:
            last = self.block(branch)
        if not left:
            if last is not None:
                _splice(last, out)
            return
        otherwise: tree.If | tree.CompoundStatement | None = (
            last if last and last.statements else None
        )
        for one, kept, body in reversed(left):
            otherwise = tree.If(one.begin, one.end, one.attributes, kept, body, otherwise)
        assert isinstance(otherwise, tree.If)
        out.append(otherwise)

    def _switch(self, node: tree.Switch, out: list[tree.Statement]) -> None:
        found = self.fold(node.selector)
        chosen = self._chosen(node, found) if type(found) is Known else None
        if chosen is not None:
            body = without_last_break(self.block(chosen.body))
            if own_jump(body, ("break",)) is None:
                _splice(body, out)
                return
            clauses: tuple[tree.Clause, ...] = (replace(chosen, selectors=(None,), body=body),)
        else:
            clauses = tuple(
                tree.Clause(
                    one.begin,
                    one.end,
                    tuple([None if s is None else self.written(s) for s in one.selectors]),
                    self.block(one.body),
                )
                for one in node.clauses
            )
        selector = node_of(found, node.selector) if type(found) is Known else found
        out.append(replace(node, selector=selector, clauses=clauses))

    def _chosen(self, node: tree.Switch, selector: Known) -> tree.Clause | None:
        """Return the clause that is run, None where that is not known."""
        default: tree.Clause | None = None
        for clause in node.clauses:
            for one in clause.selectors:
                if one is None:
                    default = clause
                    continue
                value = self.value(one)
                same = None if value is None else combined("==", selector, value)
                if same is None:
                    return None
                if same.value:
                    return clause
        return default

    # Loops.

    def _body(self, node: tree.CompoundStatement) -> tree.CompoundStatement:
        outer, self.in_loop = self.in_loop, True
        found = self.block(node)
        self.in_loop = outer
        return found

    def _loop(self, node: tree.Loop | tree.Continuing, out: list[tree.Statement]) -> None:
        self._refuse_mark(node)
        out.append(replace(node, body=self._body(node.body)))

    def _while(self, node: tree.While, out: list[tree.Statement]) -> None:
        self._refuse_mark(node)
        condition = self.fold(node.condition)
        if type(condition) is Known:
            if not condition.value:
                return
            condition = node_of(condition, node.condition)
        out.append(replace(node, condition=condition, body=self._body(node.body)))

    def _refuse_mark(self, node: tree.Loop | tree.Continuing | tree.While) -> None:
        if self.is_marked(node) and not isinstance(node, tree.Continuing):
            self.fail("@unroll is for 'for' loops.", node)

    def _for(self, node: tree.For, out: list[tree.Statement]) -> None:
        if self.is_marked(node):
            self.unroll(node, out)
            return
        depth = self.depth
        first: list[tree.Statement] = []
        if node.first is not None:
            _STATEMENTS[type(node.first)](self, node.first, first)
        if not self._has_no_rounds(node):
            condition = None if node.condition is None else self.written(node.condition)
            body = self._body(node.body)
            update: list[tree.Statement] = []
            if node.update is not None:
                _STATEMENTS[type(node.update)](self, node.update, update)
            out.append(
                tree.For(
                    node.begin,
                    node.end,
                    node.attributes,
                    first[0] if first else None,
                    condition,
                    update[0] if update else None,
                    body,
                )
            )
        self.close(depth)

    def _has_no_rounds(self, node: tree.For) -> bool:
        """Say whether a loop's condition is false from the start."""
        if node.condition is None:
            return False
        depth = self.depth
        first = node.first
        if isinstance(first, tree.Var) and first.value is not None:
            value = self.value(first.value)
            if value is not None:
                self.declare(first.ident.name, self.declared(first, value))
        elif first is not None and not isinstance(first, tree.Value):
            return False
        found = self.value(node.condition)
        self.close(depth)
        return found is not None and not found.value


def _splice(block: tree.CompoundStatement, out: list[tree.Statement]) -> None:
    """Append a block, without its braces where it declares nothing."""
    if block.attributes or any(isinstance(one, (tree.Var, tree.Value)) for one in block.statements):
        out.append(block)
    else:
        out += block.statements


_STATEMENTS: dict[type[tree.Node], Callable[[Any, Any, list[tree.Statement]], None]] = {
    tree.CompoundStatement: StatementSpecializer._plain_block,
    tree.Var: StatementSpecializer._var,
    tree.Value: StatementSpecializer._value,
    tree.ConstAssert: StatementSpecializer._const_assert,
    tree.Assign: StatementSpecializer._assign,
    tree.IncrementStatement: StatementSpecializer._step,
    tree.CallStatement: StatementSpecializer._call_statement,
    tree.Return: StatementSpecializer._return,
    tree.Jump: StatementSpecializer._jump,
    tree.BreakIf: StatementSpecializer._break_if,
    tree.If: StatementSpecializer._if,
    tree.Switch: StatementSpecializer._switch,
    tree.Loop: StatementSpecializer._loop,
    tree.Continuing: StatementSpecializer._loop,
    tree.While: StatementSpecializer._while,
    tree.For: StatementSpecializer._for,
}
