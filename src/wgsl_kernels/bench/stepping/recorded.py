"""Recording one invocation of a dispatch, in float32 and in float64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.library import leaves_of
from wgsl_kernels.simulator.accesses import AccessLog
from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.domains import FLOAT32, Domain, float64
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.simulator.recording import InvocationRecording, MemoryEvent, StepEvent
from wgsl_kernels.simulator.tracing import TracedModule
from wgsl_kernels.wgsl.errors.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.bench.stepping.launches import Launched
    from wgsl_kernels.bench.stepping.places import AuthorsText


@dataclass(frozen=True)
class Recorded:
    """What an invocation did.

    Attributes:
        module: The module, compiled.
        events: What it did, in float32.
        doubles: The values of these events in float64, as far as it did the same.
        is_cut: Whether it did more.
        log: What was wrong with accesses of all invocations.
        refusal: Why there is nothing in float64, "" where there is.
    """

    module: TracedModule
    events: Sequence[StepEvent | MemoryEvent]
    doubles: Sequence[Any]
    is_cut: bool
    log: AccessLog
    refusal: str = ""

    @property
    def has_parted(self) -> bool:
        """Whether float64 goes another way from some event on."""
        return not self.refusal and len(self.doubles) < len(self.events)


def recorded(launched: Launched, invocation: int, author: AuthorsText) -> Recorded:
    """Run a dispatch again on the memory that it was given, and record an invocation.

    In float64 functions of the package's library are NumPy's; inside of them nothing is recorded.

    Raises:
        ShaderError: It does what is not simulated.
    """
    functions = launched.launch.entry.module.functions.items()
    shared = [name for name, one in functions if author.is_shared_function(one.name_span)]
    leaves = leaves_of(launched.dispatch.module.composed)
    make = partial(TracedModule, untraced=frozenset((*shared, *leaves)))
    single, module, log = _run(launched, invocation, make, FLOAT32)
    try:
        double, _, _ = _run(launched, invocation, make, float64(leaves))
    except RefusedError as error:
        return Recorded(module, single.events, (), single.is_cut, log, error.message)
    except ShaderError:
        refusal = "a loop does not end."
        return Recorded(module, single.events, (), single.is_cut, log, refusal)
    doubles: list[Any] = []
    for one, other in zip(single.events, double.events, strict=False):
        if _what(one) != _what(other):
            break
        doubles.append(other.value)
    return Recorded(module, single.events, doubles, single.is_cut, log)


def _run(
    launched: Launched, invocation: int, compiler: Any, domain: Domain
) -> tuple[InvocationRecording, TracedModule, AccessLog]:
    launch, plain = launched.launch, launched.launch.entry
    entry = compile_entry(plain.module.text, plain.node.name, plain.module.given, domain, compiler)
    recording, log = InvocationRecording(invocation), AccessLog()
    bound = {key: words.copy() for key, words in launched.before.items()}
    entry.run(launch.groups, bound, subgroup_size=launch.lanes, log=log, runs=recording.part)
    assert isinstance(entry.module, TracedModule)
    return recording, entry.module, log


def _what(one: StepEvent | MemoryEvent) -> tuple[Any, ...]:
    """Return what an event is, whatever its value."""
    if isinstance(one, StepEvent):
        return one.kind, one.number
    return one.memory.name, one.at, one.is_written
