"""Barriers that some invocations of a workgroup may not reach.

WGSL demands uniform control flow at a barrier; naga does not look, browsers refuse such a shader,
and GPUs hang. The analysis is that of the specification, coarser in two ways: a variable is
non-uniform everywhere if it is so anywhere, and a function is looked at once for each combination
of uniform and non-uniform arguments.

Source: WebGPU Shading Language, section 15.2, uniformity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import (
    Remark,
    builtins_of,
    entries_of,
    functions_of,
    jumps_in,
    root_of,
)
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.names.resolve import Symbol

BARRIERS = frozenset({"workgroupBarrier", "storageBarrier", "textureBarrier", "subgroupBarrier"})
LOADS = "workgroupUniformLoad"
_UNIFORM = frozenset({"workgroup_id", "num_workgroups", "num_subgroups", "subgroup_size"})


@dataclass(frozen=True, slots=True)
class Flow:
    """Why not all invocations are here: a condition, and what in it differs between them."""

    condition: tree.Expression
    why: str


@dataclass
class _Activation:
    """One function with certain arguments."""

    function: tree.Function
    tainted: dict[Symbol, str] = field(default_factory=dict["Symbol", str])
    returns: str = ""
    gone: Flow | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What comes of a function: why its value and what it points to differ, and its barriers."""

    returns: str
    pointers: tuple[str, ...]
    found: dict[int, Remark] = field(default_factory=dict[int, Remark])


def barrier_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark for each barrier in control flow that is not uniform."""
    texts = module.text.text
    if not any(one in texts for one in (*BARRIERS, LOADS)):
        return
    walk = _Uniformity(module)
    for entry in entries_of(module):
        walk.enter(entry)
    yield from walk.found.values()


class _Uniformity:
    """The walk over a module from its entry points."""

    def __init__(self, module: tree.Module) -> None:
        self.module = module
        names = names_of(module)
        self.meant = {use.ident.begin: use.symbol for use in names.uses if use.symbol is not None}
        self.declared = {symbol.ident.begin: symbol for symbol in names.symbols}
        self.functions = {one.ident.name: one for one in functions_of(module)}
        self.sources = self._module_sources()
        self.found: dict[int, Remark] = {}
        self.known: dict[tuple[object, ...], _Outcome] = {}
        self.open: list[str] = []
        self.members: dict[tuple[Symbol, str], str] = {}
        self.at: _Activation

    def _module_sources(self) -> dict[Symbol, str]:
        """Return the variables of the module whose values differ between invocations."""
        found: dict[Symbol, str] = {}
        for name, one in self.module.variables.items():
            if one.space == "storage" and one.access == "read_write":
                found[self.declared[one.ident.begin]] = f"{name} is written in this dispatch"
            elif one.space == "workgroup":
                found[self.declared[one.ident.begin]] = f"{name} is workgroup memory"
            elif one.space == "private":
                found[self.declared[one.ident.begin]] = f"{name} is each invocation's own"
        return found

    def enter(self, function: tree.Function) -> None:
        """Look at an entry point and all that it calls."""
        taints = {one.ident.begin: "" for one in function.parameters}
        for parameter, member, builtin in builtins_of(function, self.module):
            if builtin and builtin not in _UNIFORM:
                why = f"{parameter.ident.name}{f'.{member}' if member else ''} is {builtin}"
                if member:
                    symbol = self.declared[parameter.ident.begin]
                    self.members[(symbol, member)] = why
                else:
                    taints[parameter.ident.begin] = why
        self.run(function, tuple(taints.values()), None)

    def run(self, function: tree.Function, taints: tuple[str, ...], flow: Flow | None) -> _Outcome:
        """Return what comes of a function with these arguments, called in this control flow."""
        name = function.ident.name
        key = (name, tuple(map(bool, taints)), flow is not None)
        if key in self.known:
            outcome = self.known[key]
            self.found.update(outcome.found)  # a walk that is repeated forgot them
            return outcome
        if name in self.open:
            return _Outcome("", ("",) * len(taints))
        self.open.append(name)
        others, self.found = self.found, {}
        outer = getattr(self, "at", None)
        self.at = at = _Activation(function)
        for parameter, why in zip(function.parameters, taints, strict=True):
            if why:
                at.tainted[self.declared[parameter.ident.begin]] = why
        assert isinstance(function.body, tree.CompoundStatement)
        before = -1
        while before != len(at.tainted):  # what an assignment at the end makes of the beginning
            before = len(at.tainted)
            at.gone = None
            kept = dict(self.found)
            self.block(function.body, flow)
            if before != len(at.tainted):
                self.found = kept
        own = [self.declared[one.ident.begin] for one in function.parameters]
        pointers = tuple(at.tainted.get(one, "") for one in own)
        outcome = _Outcome(at.returns, pointers, self.found)
        self.found = {**others, **self.found}
        self.open.pop()
        self.known[key] = outcome
        if outer is not None:
            self.at = outer
        return outcome

    # Statements. Each returns the control flow behind it.

    def block(self, node: tree.CompoundStatement, flow: Flow | None) -> Flow | None:
        for one in node.statements:
            flow = self.statement(one, flow)
        return flow

    def statement(self, node: tree.Statement, flow: Flow | None) -> Flow | None:
        if isinstance(node, tree.CompoundStatement):
            return self.block(node, flow)
        if isinstance(node, tree.Round):
            return self.block(node.body, flow)
        if isinstance(node, tree.If):
            return self.branches(node, flow)
        if isinstance(node, tree.Switch):
            return self.switch(node, flow)
        if isinstance(node, (tree.Loop, tree.While, tree.For)):
            return self.loop(node, flow)
        if isinstance(node, tree.Continuing):
            return self.block(node.body, flow)
        self.simple(node, flow)
        return flow

    def simple(self, node: tree.Statement, flow: Flow | None) -> None:
        """Walk a statement without statements inside."""
        here = flow or self.at.gone
        if isinstance(node, (tree.Var, tree.Value)):
            why = "" if node.value is None else self.taint(node.value, flow)
            symbol = self.declared.get(node.ident.begin)
            if why and symbol is not None:
                self.at.tainted.setdefault(symbol, why)
        elif isinstance(node, tree.Assign):
            why = self.taint(node.value, flow)
            if node.target is not None:
                self.write(node.target, why or self.indices(node.target, flow), here)
        elif isinstance(node, tree.IncrementStatement):
            self.write(node.target, self.indices(node.target, flow), here)
        elif isinstance(node, tree.CallStatement):
            self.taint(node.call, flow)
        elif isinstance(node, tree.Return) and node.value is not None:
            why = self.taint(node.value, flow)
            self.at.returns = self.at.returns or why or (here.why if here else "")
        elif isinstance(node, (tree.BreakIf, tree.ConstAssert)):
            self.taint(node.condition, flow)

    def write(self, target: tree.Expression, why: str, here: Flow | None) -> None:
        """Note what an assignment makes of the variable that it writes."""
        root = root_of(target)
        symbol = None if root is None else self.meant.get(root.ident.begin)
        why = why or (here.why if here is not None else "")
        if why and symbol is not None:
            self.at.tainted.setdefault(symbol, why)

    def indices(self, target: tree.Expression, flow: Flow | None) -> str:
        """Return why the place that is written differs between invocations."""
        why = ""
        while isinstance(target, (tree.Index, tree.Access, tree.Paren, tree.Unary)):
            if isinstance(target, tree.Index):
                why = why or self.taint(target.index, flow)
                target = target.base
            elif isinstance(target, tree.Access):
                target = target.base
            else:
                target = target.inner if isinstance(target, tree.Paren) else target.operand
        return why

    def branches(self, node: tree.If, flow: Flow | None) -> Flow | None:
        """Walk an ``if`` with its else-ifs."""
        branch: tree.If | tree.CompoundStatement | None = node
        inner, behind = flow, flow
        while branch is not None:
            body = branch
            if isinstance(branch, tree.If):
                why = self.taint(branch.condition, inner)
                inner = inner or (Flow(branch.condition, why) if why else None)
                body = branch.body
            assert isinstance(body, tree.CompoundStatement)
            behind = self.joined(body, inner, flow, behind)
            branch = branch.otherwise if isinstance(branch, tree.If) else None
        return behind

    def switch(self, node: tree.Switch, flow: Flow | None) -> Flow | None:
        """Walk a ``switch``."""
        why = self.taint(node.selector, flow)
        inner = flow or (Flow(node.selector, why) if why else None)
        behind = flow
        for clause in node.clauses:
            behind = self.joined(clause.body, inner, flow, behind, {"break"})
        return behind

    def joined(
        self,
        body: tree.CompoundStatement,
        inner: Flow | None,
        outer: Flow | None,
        behind: Flow | None,
        caught: set[str] | frozenset[str] = frozenset(),
    ) -> Flow | None:
        """Walk a branch; return the control flow where all branches have met again."""
        after = self.block(body, inner)
        jumps = jumps_in(body) - caught
        if after is not None and "return" in jumps:
            self.at.gone = self.at.gone or after
        if inner is None:  # all took it: what it leaves behind is what is behind
            return behind or after
        return behind or (inner if jumps - {"return"} else outer)

    def loop(self, node: tree.Loop | tree.While | tree.For, flow: Flow | None) -> Flow | None:
        """Walk a loop, twice: what leaves it early matters from its second round on."""
        if isinstance(node, tree.For) and node.first is not None:
            self.statement(node.first, flow)
        inner = flow
        for _ in range(2):
            condition = None if isinstance(node, tree.Loop) else node.condition
            if condition is not None:
                why = self.taint(condition, inner)
                inner = inner or (Flow(condition, why) if why else None)
            after = self.block(node.body, inner)
            inner = inner or after or self._break_if(node.body, inner)
            if isinstance(node, tree.For) and node.update is not None:
                self.statement(node.update, inner)
        if inner is not None and "return" in jumps_in(node.body):
            self.at.gone = self.at.gone or inner
        return flow

    def _break_if(self, body: tree.CompoundStatement, flow: Flow | None) -> Flow | None:
        last = body.statements[-1] if body.statements else None
        if isinstance(last, tree.Continuing) and last.body.statements:
            end = last.body.statements[-1]
            if isinstance(end, tree.BreakIf):
                why = self.taint(end.condition, flow)
                return Flow(end.condition, why) if why else None
        return None

    # Expressions.

    def taint(self, node: tree.Expression, flow: Flow | None) -> str:
        """Return why a value differs between invocations, "" where it does not."""
        if isinstance(node, tree.Literal):
            return ""
        if isinstance(node, tree.Name):
            symbol = self.meant.get(node.ident.begin)
            if symbol is None:
                return ""
            return self.sources.get(symbol, "") or self.at.tainted.get(symbol, "")
        if isinstance(node, tree.Call):
            return self.call(node, flow)
        if isinstance(node, tree.Binary):
            left = self.taint(node.left, flow)
            return self.taint(node.right, flow) or left
        if isinstance(node, tree.Index):
            index = self.taint(node.index, flow)
            return self.taint(node.base, flow) or index
        if isinstance(node, tree.Access):
            return self.access(node, flow)
        return self.taint(node.operand if isinstance(node, tree.Unary) else node.inner, flow)

    def access(self, node: tree.Access, flow: Flow | None) -> str:
        """Return the same of a member, which may be a built-in value of its own."""
        if isinstance(node.base, tree.Name):
            symbol = self.meant.get(node.base.ident.begin)
            if symbol is not None and (symbol, node.member.name) in self.members:
                return self.members[(symbol, node.member.name)]
        return self.taint(node.base, flow)

    def call(self, node: tree.Call, flow: Flow | None) -> str:
        """Return the same of what a call returns, and look at a barrier."""
        name = node.callee.name
        taints = tuple([self.taint(one, flow) for one in node.arguments])
        here = flow or self.at.gone
        if name in BARRIERS or name == LOADS:
            if here is not None:
                self.report(node, here)
            return ""
        if name in self.functions:
            outcome = self.run(self.functions[name], taints, here)
            self._written(node.arguments, outcome.pointers)
            return outcome.returns
        if name.startswith(("atomic", "subgroup", "quad")):
            return f"{name} differs between invocations"
        if name == "arrayLength":
            return ""
        return next((one for one in taints if one), "")

    def _written(self, arguments: Sequence[tree.Expression], pointers: Sequence[str]) -> None:
        for argument, why in zip(arguments, pointers, strict=True):
            if why and isinstance(argument, tree.Unary) and argument.operator == "&":
                self.write(argument.operand, why, None)

    def report(self, node: tree.Call, here: Flow) -> None:
        """Note a barrier that not all invocations reach."""
        text = self.module.text.text[here.condition.begin : here.condition.end]
        words = (
            f"{node.callee.name} is reached by some invocations only: it depends on `{text}`, and "
            f"{here.why}. Move it out of the condition; let all invocations reach it."
        )
        related = (("condition", here.condition.span),)
        self.found[node.begin] = Remark("non-uniform-barrier", words, node.span, related)
