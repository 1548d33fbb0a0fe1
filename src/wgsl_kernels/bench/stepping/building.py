"""Making steps of events: which statement each value, round and access belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.simulator.recording import StepEvent
from wgsl_kernels.simulator.tracing import result_of
from wgsl_kernels.testing.stepping.steps import MemoryAccess, TracedValue, TraceStep
from wgsl_kernels.wgsl.instrument.rewrite import LABEL, PRINT
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.bench.stepping.places import AuthorsText
    from wgsl_kernels.bench.stepping.recorded import Recorded
    from wgsl_kernels.simulator.recording import MemoryEvent
    from wgsl_kernels.wgsl.syntax.places import Span

_LOOPS = (tree.For, tree.While, tree.Loop)
_KINDS: dict[type[tree.Node], str] = {
    tree.Function: "enter", tree.Var: "let", tree.Value: "let", tree.Assign: "assign",
    tree.IncrementStatement: "assign", tree.CallStatement: "call", tree.Return: "return",
    tree.If: "if", tree.Switch: "if", tree.BreakIf: "if", tree.Jump: "jump",
    tree.For: "loop", tree.While: "loop", tree.Loop: "loop",
}  # fmt: skip


@dataclass
class _Draft:
    """A step under way."""

    node: tree.Node
    function: str
    depth: int
    rounds: tuple[tuple[int, int], ...]
    instance: tuple[int, ...]
    result: TracedValue | None = None
    values: dict[str, TracedValue] = field(default_factory=dict[str, TracedValue])
    accesses: list[MemoryAccess] = field(default_factory=list[MemoryAccess])
    hits_target: bool = False
    writes_beside: bool = False


@dataclass
class _Open:
    """A statement or a function that the invocation is in.

    Attributes:
        node: What it is.
        step: Its step; of a loop that of the round's condition, None before there is one.
        round: Of a loop, the round.
        number: Which visit of a loop it is.
    """

    node: tree.Node
    step: _Draft | None
    round: int = 0
    number: int = 0


class StepBuilder:
    """Makes steps of the events of an invocation.

    Attributes:
        seen: The events.
        author: The author's text.
        target: The memory and the byte that were asked for, None where none were.
        drafts: The steps so far.
        got: What was written there last, in float32 and in float64.
    """

    def __init__(self, seen: Recorded, author: AuthorsText, target: tuple[str, int] | None) -> None:
        self.seen, self.author, self.target = seen, author, target
        self.drafts: list[_Draft] = []
        self.got: tuple[Any, Any] = (None, None)
        self._open: list[_Open] = []
        self._component: list[tuple[int, int, int]] = []
        self._left: list[tuple[str, int, int]] = []
        self._entered: list[int] = []
        self._visits = 0
        self._wanted: int | None = None

    def steps(self) -> list[TraceStep]:
        """Return the steps, without those that are for other elements than the target alone."""
        for number, event in enumerate(self.seen.events):
            double = self.seen.doubles[number] if number < len(self.seen.doubles) else None
            if isinstance(event, StepEvent):
                self._take(event, double)
            else:
                self._access(event, double)
        hidden = self._beside()
        return [self._step(one) for at, one in enumerate(self.drafts) if at not in hidden]

    # Events.

    def _take(self, event: StepEvent, double: Any) -> None:
        if event.kind == "leave":
            while not isinstance(node := self._open.pop().node, tree.Function):
                pass
            self._left.append((node.name, self._entered.pop(), len(self.drafts)))
            return
        traced = self.seen.module.traced[event.number]
        node = traced.node
        if event.kind == "enter":
            assert isinstance(node, tree.Function)
            self._entered.append(len(self.drafts))
            draft = self._draft(node)
            self._open.append(_Open(node, draft))
            draft.function, draft.depth = node.name, len(self._entered) - 1
            doubles = dict(double or ())
            for name, value in event.value:
                draft.values[name] = TracedValue(name, plain(value), _plain(doubles.get(name)))
            return
        self._close(node.span, is_round=event.kind == "round")
        if event.kind == "begin":
            is_loop = isinstance(node, _LOOPS)
            self._visits += is_loop
            step = None if is_loop else self._draft(node)
            self._open.append(_Open(node, step, number=self._visits))
        elif event.kind == "round":
            self._current()
            self._open[-1].round += 1
            self._open[-1].step = None
        else:
            self._value(event, node, double, traced.component)

    def _value(self, event: StepEvent, node: tree.Node, double: Any, component: int | None) -> None:
        if isinstance(node, tree.Call):
            self._came_from(node.callee.name, component)
        draft = self._current()
        is_result = event.kind == "result"
        shown = _result_node(node) if is_result else node
        text = self.author.at((shown or node).span).text
        value = TracedValue(text, plain(event.value), _plain(double))
        if is_result:
            draft.result = value
        else:
            draft.values[text] = value

    def _came_from(self, function: str, component: int | None) -> None:
        """Note of which component of a vector the steps of a call are, whose value is used now."""
        for at, (name, first, last) in enumerate(self._left):
            if name == function:
                del self._left[at]
                if component is not None:
                    self._component.append((first, last, component))
                return

    def _access(self, event: MemoryEvent, double: Any) -> None:
        module = self.seen.module
        span = module.sites[event.site].span
        if not self._is_here(span):
            return  # in a function in which nothing is noted
        self._close(span, is_round=False)
        draft = self._current()
        byte = event.at * event.nbytes
        place, problem, writer = event.memory.name, "", ""
        if event.is_inside:
            place = module.path(event.memory.name, byte)
        else:
            size = event.memory.stride or event.nbytes
            place = f"{place}[{byte // size}]"
            problem = f"outside: there are {event.memory.count * 4 // size}"
        if not event.is_written and event.is_inside:
            writer, problem = self._writer(event)
        access = MemoryAccess(
            place, plain(event.value), _plain(double), event.is_written, writer, problem
        )
        draft.accesses.append(access)
        if self.target is None or not event.is_written or event.memory.name != self.target[0]:
            return
        if byte == self.target[1] // event.nbytes * event.nbytes and event.is_inside:
            draft.hits_target = True
            self.got = access.value, access.double
            self._wanted = "xyzw".find(place[-1]) if place[-2:-1] == "." else None
        else:
            draft.writes_beside = True

    def _writer(self, event: MemoryEvent) -> tuple[str, str]:
        """Return who wrote what is read, and what is wrong with reading it."""
        if event.writer < 0:
            return "", "read before anybody wrote it" if event.memory.is_workgroup else ""
        place = self.author.at(self.seen.module.sites[event.writer_site].span).place
        who = f"invocation {event.writer}"
        return f"{who} at {place.file}:{place.line}", ""

    # Where it is.

    def _is_here(self, span: Span) -> bool:
        function = next(
            one.node for one in reversed(self._open) if isinstance(one.node, tree.Function)
        )
        return function.begin <= span.begin and span.end <= function.end

    def _close(self, span: Span, *, is_round: bool) -> None:
        """Leave the statements that do not hold a part of the text."""
        while self._open:
            node = self._open[-1].node
            inside = node.begin <= span.begin and span.end <= node.end
            if isinstance(node, tree.Function):
                return
            if inside and (not is_round or isinstance(node, _LOOPS)):
                return
            self._open.pop()

    def _current(self) -> _Draft:
        """Return the step of the innermost statement; of a loop that of its next round."""
        top = self._open[-1]
        if top.step is None:
            top.step = self._draft(top.node, top)
        return top.step

    def _draft(self, node: tree.Node, loop: _Open | None = None) -> _Draft:
        rounds: list[tuple[int, int]] = []
        instance: list[int] = []
        function = ""
        for one in self._open:
            if isinstance(one.node, tree.Function):
                function = one.node.name
            elif isinstance(one.node, _LOOPS):
                number = one.round + (one is loop)
                rounds.append((self.author.at(one.node.span).place.line, number))
                if not self.author.at(one.node.span).is_own:
                    instance += [one.number, number]
        depth = max(len(self._entered) - 1, 0)
        draft = _Draft(node, function, depth, tuple(rounds), tuple(instance))
        self.drafts.append(draft)
        return draft

    def _beside(self) -> set[int]:
        """Return the steps that lead to other elements of the target's memory alone."""
        hidden: set[int] = set()
        if not any(one.hits_target for one in self.drafts):
            return hidden
        if self._wanted is not None:
            for first, last, component in self._component:
                if component != self._wanted:
                    hidden |= set(range(first, last))
        rounds: dict[tuple[int, ...], list[int]] = {}
        for at, one in enumerate(self.drafts):
            for end in range(2, len(one.instance) + 1, 2):
                rounds.setdefault(one.instance[:end], []).append(at)
        for several in rounds.values():
            drafts = [self.drafts[at] for at in several]
            if any(one.writes_beside for one in drafts) and not any(
                one.hits_target for one in drafts
            ):
                hidden |= set(several)
        return hidden

    def _step(self, draft: _Draft) -> TraceStep:
        node = draft.node
        head = _head_of(node)
        written = self.author.at(head)
        context = self.author.context(head)
        if isinstance(node, tree.CallStatement) and node.call.callee.name.startswith(PRINT):
            label = LABEL.search(written.line)
            context = label[1] if label else context
        values = [one for text, one in draft.values.items() if not _is_result(draft, text)]
        return TraceStep(
            written.place.file,
            written.place.line,
            written.place.column,
            written.text,
            draft.function,
            draft.depth,
            _KINDS[type(node)],
            draft.rounds,
            draft.result,
            tuple(values),
            tuple(draft.accesses),
            written.is_own,
            context,
        )


def plain(value: Any) -> Any:
    """Return a NumPy value as Python has it."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if hasattr(value, "item") else value


def _plain(value: Any) -> Any:
    return None if value is None else plain(value)


def _is_result(draft: _Draft, text: str) -> bool:
    return draft.result is not None and draft.result.text == text


def _result_node(node: tree.Node) -> tree.Node | None:
    """Return what a statement's value is the value of."""
    if isinstance(node, (tree.Var, tree.Value)):
        return node.ident
    if isinstance(node, (tree.Assign, tree.IncrementStatement)):
        return node.target
    return result_of(node)


def _head_of(node: tree.Node) -> Span:
    """Return the part of a statement before its block."""
    body: Sequence[tree.Node] = ()
    if isinstance(node, (tree.Function, tree.If, tree.For, tree.While, tree.Loop)):
        body = (node.body,)
    elif isinstance(node, tree.Switch):
        body = node.clauses[:1]
    end = min([one.begin for one in body], default=node.end)
    return type(node.span)(node.begin, end)
