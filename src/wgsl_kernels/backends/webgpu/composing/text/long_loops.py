"""Loops of users' kernels that an adapter may end before they are done: found, and reported.

Mesa's software adapters let the loops of an invocation turn 65,535 times in all; then each ends
after its next round, and what follows goes on with wrong values. A shader cannot see how often
they have turned, since lanes of a vector turn together, but at its end it can try: a loop of two
rounds, whose number no compiler knows, then has one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.files import is_ours
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.lint.loops import BUDGET, CHECK, LoopCounter
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Place, Text
    from wgsl_kernels.wgsl.syntax.tree import Function

_ROUNDS: dict[Form, int] = {"free": BUDGET - 2, "map": BUDGET // 64 - 2}
"""Rounds below which no adapter ends the loops of a call: a map's invocation takes 64 elements."""
_UNROLLED = 8
"""The same of what is called for each element of a row: so few rounds are written out."""


def long_loops(source: Source, form: Form) -> list[tuple[Text, Place]]:
    """Return where the author's loops are, of a kernel in some form, that an adapter may end.

    Those that may not end by themselves come first.
    """
    most = _ROUNDS.get(form, _UNROLLED)
    texts = [file.text for file in source.files if not is_ours(file.text.file)]
    loops = [(counted, text, at) for text in texts for counted, at in _loops_above(text, most)]
    loops.sort(key=itemgetter(0))
    found = [text.origin(at) for _, text, at in loops]
    return [one for one in found if not is_ours(one[1].file)]  # ours are cut to size


@once_per_text
def _loops_above(text: Text, most: int) -> tuple[tuple[bool, int], ...]:
    return tuple(LoopCounter(parse(text)).loops_above(most))


def check_loops(assembly: Assembly, entry: Function, file: Names) -> None:
    """Have an entry point look, wherever it ends, whether the adapter has ended its loops."""
    ends = [one.begin for one in descendants(entry.body) if isinstance(one, tree.Return)]
    for at in sorted({*ends, entry.body.end - 1}):
        assembly.edit(file.text, Span(at, at), f"{CHECK}(); ")
    assembly.wanted.append(CHECK)


def what_ended(kernel: str, loops: Sequence[tuple[Text, Place]]) -> Finding:
    (text, place), *others = loops
    what, more = "this loop", ""
    if others:
        what = "one of its loops"
        more = f" Others are at {', '.join(one.label for _, one in others[:3])}."
    words = (
        f"the adapter has ended {what}, and values are wrong: the loops of an invocation turn "
        f"{BUDGET} times at most, all together. Either it does not end, and needs a condition that "
        f"its rounds come to, or the work is to be spread over more invocations.{more}"
    )
    line = text.line(place.line)
    span = len(line[place.column - 1 :].partition(" ")[0])
    return Finding("runaway-loop", words, kernel, place.file, place.line, place.column, span, line)
