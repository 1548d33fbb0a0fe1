"""Is it safe: what the simulator sees of each access to memory, on any machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.simulator.backend import SimulatorBackend
from wgsl_kernels.backends.simulator.noting import (
    MOST_ROUNDS,
    following,
    having,
    noting,
)
from wgsl_kernels.backends.webgpu.runtime.debugging import ACCESS_WORDS
from wgsl_kernels.backends.webgpu.runtime.watching import poisoned
from wgsl_kernels.bench.checking.subject import once
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.digits import UNSIMULATED, digits_of
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.simulator.accesses import AccessLog
from wgsl_kernels.simulator.module import EndlessLoopError
from wgsl_kernels.testing.closeness import equal_or_nan, largest_at
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import call_of, tensors_for
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from wgsl_kernels.backends.simulator.noting import WrongAccess
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.simulator.dispatch import Order
    from wgsl_kernels.wgsl.errors.findings import Finding

JUDGED = frozenset(
    {
        "out-of-bounds-read",
        "out-of-bounds-write",
        "write-race",
        "same-write-race",
        "read-race",
        "unset-workgroup-read",
        "unordered-atomics",
    }
)
"""What is judged here where a case can be simulated."""


def accesses(subject: Subject, case: Case) -> list[Finding]:
    """Run a case on the simulator, and return what is wrong with its accesses to memory.

    Raises:
        ShaderError: It does what is not simulated.
    """
    with noting(_device()) as wrong:
        plain = results(case, "forward")
    found = once([_finding(subject, case, o) for o in wrong], lambda one: (one.code, one.place))
    atomics = [one for one in found if one.code == "unordered-atomics"]
    late = results(case, "late stores") if atomics else plain
    return [_depending(one, plain, late) if one in atomics else one for one in found]


def _depending(one: Finding, plain: Sequence[Array], late: Sequence[Array]) -> Finding:
    """Return a finding of atomic functions as an error, as results depend on who comes first."""
    for number, (a, b) in enumerate(zip(plain, late, strict=True)):
        same = equal_or_nan(a, b)
        if not same.all():
            at = largest_at(~same)
            words = f"{one.words} Output {number} at {list(at)} is {a[at]}, or {b[at]}."
            return replace(one, code="atomic-race", words=words)
    return one


def results(case: Case, order: Order) -> list[Array]:
    """Run a case on the simulator with its invocations in an order, and return the results.

    Raises:
        ShaderError: It does what is not simulated.
    """
    sample = case.sample
    with only("simulator", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(case.arrays)
        with having(_device(), "order", order):
            return [one.numpy() for one in outputs_of(call_of(sample), given)]


def wide(case: Case) -> list[Array | None] | None:
    """Return what a case gives in float64, None for what no kernel wrote, or is not simulated."""
    found = faults.attempted(lambda: digits_of(case.sample, case.arrays), None, UNSIMULATED)
    return None if found is None else [None if one is None else one.wide for one in found]


@dataclass(frozen=True)
class Hole:
    """Memory that dispatches wrote in part.

    Attributes:
        writer: What the shader that wrote it last calls it.
        reader: What a later one calls it that reads it; empty where none does.
        at: The first number of it that nobody wrote.
        count: How many nobody wrote.
        size: Of how many.
    """

    writer: str
    reader: str
    at: int
    count: int
    size: int


def unwritten(case: Case) -> tuple[list[Hole], list[str], bool]:
    """Return which buffers a case wrote in part, which it also reads, and if an access was wrong.

    Raises:
        ShaderError: It does what is not simulated.
    """
    logs: list[AccessLog] = []

    def log(*_: object) -> AccessLog:
        logs.append(AccessLog(most_rounds=MOST_ROUNDS))
        return logs[-1]

    with following(_device(), log):
        results(case, "forward")
    written: dict[tuple[int, int], tuple[str, str, Array]] = {}
    for one in logs:
        for memory, size, who in one.written():
            if memory.is_workgroup or size != 4:
                continue
            key = memory.words.ctypes.data, len(who)
            writer, reader, done = written.get(key, ("", "", np.zeros(len(who), np.bool_)))
            if (who >= 0).any():
                written[key] = memory.name, reader, done | (who >= 0)
            elif writer:
                written[key] = writer, memory.name, done
    holes = [
        Hole(writer, reader, int(np.argmin(done)), int((~done).sum()), len(done))
        for writer, reader, done in written.values()
        if not done.all()
    ]
    both = [name for one in logs for name in one.read_and_written()]
    return holes, both, any(one.found for one in logs)


def shows_memory(case: Case, word: int) -> list[Array]:
    """Run a case on the simulator, on new memory that holds one word, and return the results.

    Compilers for devices may fold ``0 * y`` and keep what memory held from showing.

    Raises:
        ShaderError: It does what is not simulated.
    """
    with poisoned(_device(), word):
        return results(case, "forward")


def ending() -> AbstractContextManager[None]:
    """Have loops of more than 65,536 rounds be endless in a block, as where accesses are noted."""
    return having(_device(), "most_rounds", MOST_ROUNDS)


_HEAD = re.compile(r"\w+")


def endless_loop(subject: Subject, case: Case) -> Finding | None:
    """Return the loop of a case that does not end on the simulator either, None where all do."""
    under_way: list[Dispatch] = []

    def note(dispatch: Dispatch, _: object) -> None:
        under_way.append(dispatch)

    try:
        with following(_device(), note), ending():
            results(case, "forward")
    except ShaderError as error:
        if isinstance(error.__cause__, EndlessLoopError):
            module, begin = under_way[-1].module, error.__cause__.begin
            head = _HEAD.match(module.source_map.composed.text, begin)
            span = Span(begin, head.end() if head else begin + 1)
            words = (
                f"this loop has more than {MOST_ROUNDS:,} rounds, or never ends: adapters end it, "
                "and values are wrong, or a GPU hangs. Have its condition become false, or spread "
                "the work over more invocations."
            )
            evidence = (("case", f"{case.id}, simulator"),)
            return subject.placed("runaway-loop", words, module, span, evidence=evidence)
    return None


def in_subgroups(size: int) -> AbstractContextManager[None]:
    """Have subgroups of so many invocations in a block."""
    return having(_device(), "lanes", size)


def _device() -> Device:
    driver = find_driver("simulator")
    assert isinstance(driver, SimulatorBackend)
    return driver.open()


def _finding(subject: Subject, case: Case, wrong: WrongAccess) -> Finding:
    code, words = _said(wrong)
    module = wrong.dispatch.module
    evidence = [("case", case.id)]
    if wrong.other is not None and wrong.other.span != wrong.site.span:
        other = subject.placed(code, words, module, wrong.other.span)
        evidence.append(("other access", other.place))
    return subject.placed(code, words, module, wrong.site.span, evidence=tuple(evidence))


_SAID = {
    **ACCESS_WORDS,
    "atomics": (
        "unordered-atomics",
        "{at} has what invocation {other} wrote there, or what was there before, when invocation "
        "{who} comes: atomic functions order nothing. Put a barrier between them.",
    ),
    "same-write": (
        "same-write-race",
        "{at} is written by invocations {other} and {who}, which write the same. WGSL orders them "
        "not at all; an atomicStore says that this is meant.",
    ),
}


def _said(wrong: WrongAccess) -> tuple[str, str]:
    """Return the code and the words of an access that is wrong."""
    one = wrong.access
    at = one.memory if one.at < 0 and one.kind != "outside" else f"{one.memory}[{one.at}]"
    if one.kind == "outside":
        code = "out-of-bounds-write" if wrong.site.is_written else "out-of-bounds-read"
        return code, f"{at} of {one.length}, invocation {one.invocation}."
    code, words = _SAID[one.kind]
    if one.is_across:
        cure = "of another workgroup, which no barrier orders. Make two dispatches."
    else:
        cure = f"with nothing between. {_cure(wrong)}"
    return code, words.format(at=at, who=one.invocation, other=one.other, cure=cure)


def _cure(wrong: WrongAccess) -> str:
    """Return what orders two accesses of one workgroup."""
    composed = wrong.dispatch.module.source_map.composed
    memory = parse(composed).variables.get(wrong.access.memory)
    if memory is None or memory.space != "workgroup":
        return (
            "Put a storageBarrier there, which orders one workgroup alone; where others access the "
            "same, write to another buffer, or make two dispatches."
        )
    lines = {
        composed.place(one.span.begin).line for one in (wrong.site, wrong.other) if one is not None
    }
    if wrong.other is None or len(lines) > 1:
        return "Put a barrier there."
    return (
        "Both are in this line: between rounds of a loop, put a barrier at its end; within one, "
        "let no invocation write what another reads, or read into a variable and put a barrier "
        "before the write."
    )
