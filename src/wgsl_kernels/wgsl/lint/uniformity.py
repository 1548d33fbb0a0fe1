"""Barriers that some invocations of a workgroup may not reach.

WGSL demands uniform control flow at a barrier; naga does not look, browsers refuse such a shader,
and GPUs hang. The analysis is that of the specification, forward: at each point it knows which
variables are not uniform, a loop is walked until its rounds add nothing to what is known at its
head, and a function is looked at once for each combination of uniform and non-uniform arguments.

Source: WebGPU Shading Language, section 15.2, uniformity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.wgsl.lint.remarks import Remark, bare, builtins_of, entries_of, functions_of
from wgsl_kernels.wgsl.lint.uniform_values import (
    Activation,
    Flow,
    FlowAfter,
    Head,
    JumpTarget,
    Referred,
    joined,
)
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.lint.uniform_values import Values
    from wgsl_kernels.wgsl.names.resolve import Symbol

BARRIERS = frozenset({"workgroupBarrier", "storageBarrier", "textureBarrier", "subgroupBarrier"})
LOADS = "workgroupUniformLoad"
_UNIFORM = frozenset({"workgroup_id", "num_workgroups", "num_subgroups", "subgroup_size"})
_NO_JUMPS: frozenset[str] = frozenset()


class _Outcome(NamedTuple):
    """Why a function's value differs, and what its parameters point to, None for no pointers."""

    returns: str
    pointers: tuple[str | None, ...]


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
    """The walk over a module from its entry points.

    What is found is never taken back: what a loop's later rounds know is no less.
    """

    def __init__(self, module: tree.Module) -> None:
        self.module = module
        names = names_of(module)
        self.meant = names.meant
        self.declared = {symbol.ident.begin: symbol for symbol in names.symbols}
        self.aliases = module.aliases
        self.functions = {one.ident.name: one for one in functions_of(module)}
        self.sources = self._shared_memory()
        self.found: dict[int, Remark] = {}
        self.known: dict[tuple[object, ...], _Outcome] = {}
        self.open: list[str] = []
        self.members: dict[tuple[Symbol, str], str] = {}
        self.at: Activation

    def _shared_memory(self) -> dict[Symbol, str]:
        """Return the variables of the module whose values differ, and pointers to such memory."""
        found: dict[Symbol, str] = {}
        for name, one in self.module.variables.items():
            if one.space == "storage" and one.access == "read_write":
                found[self.declared[one.ident.begin]] = f"{name} is written in this dispatch"
            elif one.space == "workgroup":
                found[self.declared[one.ident.begin]] = f"{name} is workgroup memory"
            elif one.space == "private":
                found[self.declared[one.ident.begin]] = f"{name} is each invocation's own"
        for parameter in (one for each in self.functions.values() for one in each.parameters):
            space, *others = self.pointed(parameter)
            is_written = space == "storage" and "read_write" in others
            if space in ("private", "workgroup") or is_written:
                why = f"{parameter.name} points to {space} memory"
                found[self.declared[parameter.ident.begin]] = why
        return found

    def pointed(self, parameter: tree.Parameter) -> tuple[str, ...]:
        """Return the words in the type of a pointer: its address space first, "" for none."""
        type_ = parameter.type
        for _ in self.aliases:
            alias = self.aliases.get(type_.name)
            type_ = type_ if alias is None else alias.type
        words = [one.name for one in type_.templates if isinstance(one, tree.Name)]
        return tuple(words) if type_.name == "ptr" else ("",)

    def enter(self, function: tree.Function) -> None:
        """Look at an entry point and all that it calls."""
        taints = {one.name: "" for one in function.parameters}
        asked = list(builtins_of(function, self.module))
        for parameter, member, builtin in asked:
            if builtin and builtin not in _UNIFORM:
                why = f"{parameter.name}{f'.{member}' if member else ''} is {builtin}"
                taints[parameter.name] = taints[parameter.name] or why
                self.members[(self.declared[parameter.ident.begin], member)] = why
        for parameter, member, builtin in asked:
            if member and builtin in _UNIFORM and taints[parameter.name]:
                self.members[(self.declared[parameter.ident.begin], member)] = (
                    f"{taints[parameter.name]}: a struct is uniform as a whole, so make {member} a "
                    "parameter of its own"
                )
        self.run(function, tuple(taints.values()), None)

    def run(self, function: tree.Function, taints: tuple[str, ...], flow: Flow | None) -> _Outcome:
        """Return what comes of a function with these arguments, called in this control flow."""
        name = function.ident.name
        key = (name, tuple(map(bool, taints)), flow is not None)
        if key in self.known:
            return self.known[key]
        if name in self.open:
            return _Outcome("", (None,) * len(taints))
        self.open.append(name)
        outer = getattr(self, "at", None)
        own = [self.declared[one.ident.begin] for one in function.parameters]
        self.at = at = Activation({one: why for one, why in zip(own, taints, strict=True) if why})
        assert isinstance(function.body, tree.CompoundStatement)
        self.block(function.body.statements, flow)
        left = joined(at.left, at.values) or {}
        spaces = [self.pointed(one)[0] for one in function.parameters]
        pointers = tuple(
            [left.get(one, "") if space else None for one, space in zip(own, spaces, strict=True)]
        )
        outcome = self.known[key] = _Outcome(at.returns, pointers)
        self.open.pop()
        if outer is not None:
            self.at = outer
        return outcome

    # Statements. Each returns the control flow behind it.

    def block(self, statements: Sequence[tree.Statement], flow: Flow | None) -> FlowAfter:
        """Walk statements in order, as far as control flow comes."""
        jumps = _NO_JUMPS
        for one in statements:
            if self.at.values is None:
                break
            flow, more = self.statement(one, flow)
            jumps |= more
        return FlowAfter(flow, jumps)

    def statement(self, node: tree.Statement, flow: Flow | None) -> FlowAfter:
        if isinstance(node, tree.CompoundStatement):
            return self.block(node.statements, flow)
        if isinstance(node, (tree.Round, tree.Continuing)):
            return self.block(node.body.statements, flow)
        if isinstance(node, tree.If):
            return self.branches(node, flow)
        if isinstance(node, tree.Switch):
            return self.switch(node, flow)
        if isinstance(node, (tree.Loop, tree.While, tree.For)):
            return self.loop(node, flow)
        if isinstance(node, tree.BreakIf):
            inner = self.condition(node.condition, flow)
            self.jump("break")
            return FlowAfter(inner, frozenset({"break"}))
        if isinstance(node, tree.Jump) and node.keyword != "discard":
            self.jump(node.keyword)
            self.at.values = None
            return FlowAfter(flow, frozenset({node.keyword}))
        if isinstance(node, tree.Return):
            why = "" if node.value is None else self.taint(node.value, flow)
            at = self.at
            at.returns = at.returns or why or (flow.why if flow and node.value else "")
            at.left, at.values = joined(at.left, at.values), None
            return FlowAfter(flow, frozenset({"return"}))
        self.simple(node, flow)
        return FlowAfter(flow, _NO_JUMPS)

    def simple(self, node: tree.Statement, flow: Flow | None) -> None:
        """Walk a statement behind which the next one comes."""
        if isinstance(node, (tree.Var, tree.Value)):
            why = "" if node.value is None else self.taint(node.value, flow)
            self.declare(self.declared[node.ident.begin], node, why)
        elif isinstance(node, tree.Assign):
            why = self.taint(node.value, flow)
            if node.target is not None:
                if node.operator != "=":
                    why = why or self.taint(node.target, flow)
                self.write(node.target, why, flow)
        elif isinstance(node, tree.IncrementStatement):
            self.write(node.target, self.taint(node.target, flow), flow)
        elif isinstance(node, tree.CallStatement):
            self.taint(node.call, flow)
        elif isinstance(node, tree.ConstAssert):
            self.taint(node.condition, flow)

    def declare(self, symbol: Symbol, node: tree.Var | tree.Value, why: str) -> None:
        """Note what a declaration gives its name: a value, or a pointer."""
        at = self.at
        value = None if node.value is None else bare(node.value)
        if symbol.kind == "let" and isinstance(value, (tree.Unary, tree.Name)):
            referred = self.referred(value, None)
            is_kept = isinstance(value, tree.Unary) and value.operator == "&"
            if isinstance(value, tree.Name):  # a pointer's name, or that of what keeps its value
                meant = self.meant.get(value.ident.begin)
                is_kept = meant is not None and (meant in at.pointers or meant.kind == "parameter")
            if is_kept and referred is not None:
                at.pointers[symbol] = referred
                return
        assert at.values is not None
        at.values.pop(symbol, None)
        if why:
            at.values[symbol] = why

    def jump(self, keyword: str) -> None:
        """Keep what is known here for where a jump leads."""
        around = [one for one in self.at.targets if keyword == "break" or one.is_loop]
        if around and keyword == "break":
            around[-1].breaks = joined(around[-1].breaks, self.at.values)
        elif around:
            around[-1].continues = joined(around[-1].continues, self.at.values)

    def write(self, target: tree.Expression, why: str, flow: Flow | None) -> None:
        """Note what an assignment makes of the variable that it writes."""
        at = self.at
        referred = self.referred(target, flow)
        if referred is None or at.values is None:
            return
        why = why or referred.why or (flow.why if flow is not None else "")
        if referred.is_whole:
            at.values.pop(referred.variable, None)
        if why:
            at.values.setdefault(referred.variable, why)

    def referred(self, node: tree.Expression, flow: Flow | None) -> Referred | None:
        """Return what a reference or a pointer leads to, None where that is no variable."""
        why, is_whole = "", True
        while not isinstance(node, tree.Name):
            if isinstance(node, tree.Index):
                why = why or self.taint(node.index, flow)
                node, is_whole = node.base, False
            elif isinstance(node, tree.Access):
                node, is_whole = node.base, False
            elif isinstance(node, tree.Paren):
                node = node.inner
            elif isinstance(node, tree.Unary) and node.operator in "*&":
                node = node.operand
            else:
                return None
        symbol = self.meant.get(node.ident.begin)
        if symbol is None:
            return None
        through = self.at.pointers.get(symbol)
        if through is None:
            return Referred(symbol, is_whole, why)
        return Referred(through.variable, is_whole and through.is_whole, through.why or why)

    def condition(self, node: tree.Expression, flow: Flow | None) -> Flow | None:
        """Return the control flow where a condition has been asked."""
        why = self.taint(node, flow)
        return flow or (Flow(node, why) if why else None)

    def branches(self, node: tree.If, flow: Flow | None) -> FlowAfter:
        """Walk an ``if`` with its else-ifs."""
        at = self.at
        behind: Values | None = None
        taken: list[tuple[Flow | None, FlowAfter]] = []
        branch: tree.If | tree.CompoundStatement | None = node
        while isinstance(branch, tree.If):
            around, flow = flow, self.condition(branch.condition, flow)
            others = dict(at.values or {})
            taken.append((around, self.block(branch.body.statements, flow)))
            behind, at.values = joined(behind, at.values), others
            branch = branch.otherwise
        after = FlowAfter(flow, _NO_JUMPS)
        if branch is not None:
            after = self.block(branch.statements, flow)
        at.values = joined(behind, at.values)
        for around, one in reversed(taken):  # each else-if stands in the else before it
            jumps = one.jumps | after.jumps
            after = FlowAfter(one.flow or after.flow if jumps else around, jumps)
        return after

    def switch(self, node: tree.Switch, flow: Flow | None) -> FlowAfter:
        """Walk a ``switch``."""
        at = self.at
        end = inner = self.condition(node.selector, flow)
        before, behind, jumps = at.values, None, _NO_JUMPS
        target = JumpTarget(is_loop=False)
        at.targets.append(target)
        for clause in node.clauses:
            at.values = dict(before or {})
            after = self.block(clause.body.statements, inner)
            behind, end = joined(behind, at.values), end or after.flow
            jumps |= after.jumps
        at.targets.pop()
        at.values = joined(behind, target.breaks)
        jumps -= {"break"}
        return FlowAfter(end if jumps else flow, jumps)

    def loop(self, node: tree.Loop | tree.While | tree.For, flow: Flow | None) -> FlowAfter:
        """Walk a loop until its rounds add nothing to what is known where they begin."""
        at = self.at
        if isinstance(node, tree.For) and node.first is not None:
            self.statement(node.first, flow)
        head = at.heads.setdefault(node.begin, Head())
        head.flow = head.flow or flow
        head.values = joined(head.values, at.values) or {}
        while True:
            before = (len(head.values), head.flow is None)
            at.values = dict(head.values)
            target = JumpTarget(is_loop=True)
            at.targets.append(target)
            after = self.round(node, head.flow, target)
            at.targets.pop()
            head.flow = head.flow or after.flow
            head.values = joined(head.values, at.values) or {}
            if before == (len(head.values), head.flow is None):
                break
        at.values = target.breaks
        jumps = after.jumps - {"break", "continue"}
        return FlowAfter(head.flow if jumps else flow, jumps)

    def round(
        self, node: tree.Loop | tree.While | tree.For, flow: Flow | None, target: JumpTarget
    ) -> FlowAfter:
        """Walk a round of a loop, from its condition to what comes before the next round."""
        at = self.at
        statements = node.body.statements
        if not isinstance(node, tree.Loop) and node.condition is not None:
            flow = self.condition(node.condition, flow)
            target.breaks = joined(target.breaks, at.values)
        last = statements[-1] if statements else None
        update: tree.Statement | None = node.update if isinstance(node, tree.For) else None
        if isinstance(last, tree.Continuing):
            statements, update = statements[:-1], last
        after = self.block(statements, flow)
        at.values = joined(at.values, target.continues)
        if update is None or at.values is None:
            return after
        behind = self.statement(update, after.flow)
        return FlowAfter(behind.flow, after.jumps | behind.jumps)

    # Expressions.

    def taint(self, node: tree.Expression, flow: Flow | None) -> str:
        """Return why a value differs between invocations, "" where it does not."""
        node = bare(node)
        if isinstance(node, tree.Literal):
            return ""
        if isinstance(node, tree.Name):
            symbol = self.meant.get(node.ident.begin)
            return "" if symbol is None else self.held(symbol)
        if isinstance(node, tree.Call):
            return self.call(node, flow)
        if isinstance(node, tree.Binary):
            return self.operands(node, flow)
        if isinstance(node, tree.Index):
            index = self.taint(node.index, flow)
            return self.taint(node.base, flow) or index
        if isinstance(node, tree.Access):
            return self.access(node, flow)
        return self.taint(node.operand if isinstance(node, tree.Unary) else node.inner, flow)

    def held(self, symbol: Symbol) -> str:
        """Return the same of what a name holds, or of what it leads to as a pointer."""
        through = self.at.pointers.get(symbol)
        if through is not None:
            return self.held(through.variable) or through.why
        return self.sources.get(symbol, "") or (self.at.values or {}).get(symbol, "")

    def operands(self, node: tree.Binary, flow: Flow | None) -> str:
        """Return the same of an operation; a sum may be longer than Python's stack."""
        open_ = [node]
        left = bare(node.left)
        while isinstance(left, tree.Binary):
            open_.append(left)
            left = bare(left.left)
        why = self.taint(left, flow)
        for one in reversed(open_):
            inner = flow
            if why and one.operator in ("&&", "||"):  # what is right of it is asked by some only
                inner = flow or Flow(one.left, why)
            why = self.taint(one.right, inner) or why
        return why

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
        if name in BARRIERS or name == LOADS:
            if flow is not None:
                self.report(node, flow)
            elif name == LOADS:
                self.one_element(node)
            return ""
        if name in self.functions:
            outcome = self.run(self.functions[name], taints, flow)
            for argument, why in zip(node.arguments, outcome.pointers, strict=True):
                if why is not None:
                    self.write(argument, why, None)
            return outcome.returns
        if name.startswith(("atomic", "subgroup", "quad")):
            return f"{name} differs between invocations"
        if name == "arrayLength":
            return ""
        return next((one for one in taints if one), "")

    def report(self, node: tree.Call, flow: Flow) -> None:
        """Note a barrier that not all invocations reach."""
        text = self.module.text.text[flow.condition.begin : flow.condition.end]
        words = (
            f"{node.callee.name} is reached by some invocations only: it depends on `{text}`, and "
            f"{flow.why}. Move it out of the condition; let all invocations reach it."
        )
        related = (("condition", flow.condition.span),)
        self.found[node.begin] = Remark("non-uniform-barrier", words, node.span, related)

    def one_element(self, node: tree.Call) -> None:
        """Note a load for all invocations whose element differs between them."""
        referred = self.referred(node.arguments[0], None) if node.arguments else None
        if referred is not None and referred.why:
            words = (
                f"{LOADS} reads one element for all invocations, and {referred.why}. Write "
                "workgroupBarrier(), and read the element by its index."
            )
            self.found[node.begin] = Remark("non-uniform-barrier", words, node.span)
