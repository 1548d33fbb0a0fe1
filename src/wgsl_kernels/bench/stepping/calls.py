"""How the stepper calls a kernel: by a sample, a case of one, or inputs of given shapes."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.programs.building import folding_at
from wgsl_kernels.backends.webgpu.tuning import tuner
from wgsl_kernels.bench.checking import cases, right, simulated, sizes, specials
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.stepping.launches import called
from wgsl_kernels.bench.stepping.step import stepped_call
from wgsl_kernels.engine.drivers.backends import backends, use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.testing.closeness import largest_at
from wgsl_kernels.testing.inputs import call_of
from wgsl_kernels.testing.stepping.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.testing.stepping.trace import Trace


@dataclass(frozen=True)
class Wanted:
    """Which invocation is wanted: by an element of a result, or by itself.

    Attributes:
        at: The element, as ``y[3, 5]``; "" for the one that is furthest from what is right.
        invocation: The invocation along x, y and z.
        workgroup: The workgroup, likewise.
        dispatch: The dispatch, from 1.
    """

    at: str = ""
    invocation: tuple[int, ...] | None = None
    workgroup: tuple[int, ...] | None = None
    dispatch: int | None = None

    @property
    def is_element(self) -> bool:
        """Whether it is an element of a result."""
        return (self.invocation, self.workgroup, self.dispatch) == (None, None, None)


def case_named(samples: Sequence[Sample], text: str) -> Case:
    """Return the first case that is made from samples with a text in its name.

    Raises:
        ArgumentError: There is none.
    """
    for sample in samples:
        exact = sizes.named(sample, text)
        for case in (exact,) if exact is not None else _cases_of(sample):
            if exact is not None or text in case.id or text.startswith(case.id):
                return case
    known = ", ".join(case.id for one in samples[:1] for case in _cases_of(one))
    raise ArgumentError(f"step: --case is {text!r}; there are: {known}.")


def what_else(case: Case, text: str) -> tuple[str, ...]:
    """Return what a finding's name of a case says of its run: a layout, a configuration, a fold."""
    rest = text.removeprefix(case.id).removeprefix(", ") if text.startswith(case.id) else ""
    return tuple([one for one in rest.split(", ") if one and one not in backends()])


def _cases_of(sample: Sample) -> Iterator[Case]:
    yield cases.plain(sample)
    yield from filter(None, [cases.with_equal_rows(cases.plain(sample))])
    for made in (sizes.sized, sizes.untied, sizes.broadcast, sizes.large):
        yield from made(sample)
    for made in (specials.special, specials.far, specials.edges, right.defined):
        yield from made(sample)
    for made in (specials.infinite, specials.of_domain, specials.of_one_sign):
        yield from made(sample)
    whole, half = specials.beyond_floats(sample), specials.squared_beyond_halves(sample)
    yield from filter(None, (whole, half))
    yield from specials.thresholds(sample, Subject(sample.kernel, (sample,), ()).thresholds)
    yield from (case for _, case in specials.rows(sample))


@contextmanager
def _run_as(kernel: str, what: Sequence[str]) -> Iterator[None]:
    """Have a kernel run in a block as a check ran it: folded, in subgroups, in a configuration.

    Raises:
        ArgumentError: The kernel has no such configuration.
    """
    with ExitStack() as stack:
        chosen: list[str] = []
        for one in what:
            if one == "folded":
                stack.enter_context(folding_at(2))
            elif one.startswith(_SUBGROUPS) and one.removeprefix(_SUBGROUPS).isdecimal():
                lanes = int(one.removeprefix(_SUBGROUPS))
                stack.enter_context(simulated.in_subgroups(lanes))
            elif one not in cases.VIEWS:
                chosen.append(one)
                stack.enter_context(tuner.forced(kernel, one))
        seen = stack.enter_context(tuner.watching())
        yield
        known = sorted(seen.get(kernel, ()))
        for one in chosen:
            if one not in known:
                listed = ", ".join(known) or "none"
                raise ArgumentError(
                    f"step: --case names the configuration {one!r}; {kernel} has: {listed}."
                )


_SUBGROUPS = "subgroups of "


def stepped_case(case: Case, wanted: Wanted, what: Sequence[str] = ()) -> Trace:
    """Return the trace of an invocation of a case; it notes what is right where that is known.

    Args:
        case: The case.
        wanted: The invocation.
        what: What else is special about the run, as the names of cases have it.

    Raises:
        ArgumentError: There is no such element or invocation, or no such configuration.
    """
    views = [cases.VIEWS[one] for one in what if one in cases.VIEWS]
    views += [cases.as_one_row] if case.what == "broadcast" else []
    with _run_as(case.sample.kernel, what), use_backend("simulator"):
        make = views[0] if views else tensor
        call = called(call_of(case.sample), [make(one) for one in case.arrays])
    at: Any = wanted.at or None
    # nothing where there is no kernel on cpu, or it refuses the case
    right = faults.attempted(lambda: case.exact, []) if wanted.is_element else []
    got = [one.numpy() for one in call.outputs] if right else []
    if at is None and right:
        written = next((n for n, name in enumerate(call.names()) if name), len(right))
        at = furthest(got[written], right[written]) if written < len(right) else None
    trace = stepped_call(
        call, at=at, invocation=wanted.invocation, workgroup=wanted.workgroup,
        dispatch=wanted.dispatch,
    )  # fmt: skip
    index = trace.index
    for one, exact in zip(got, right, strict=False):
        fits = index is not None and one.shape == exact.shape and len(index) == exact.ndim
        if fits and trace.got == one[index].item():
            note = f"right is {shown(exact[index].item())}, by the kernel on cpu in float64"
            return trace.with_note(note)
    return trace


def furthest(got: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """Return where a result is furthest from what is right, None where they cannot be compared."""
    if got.shape != right.shape or got.dtype == object or not got.size:
        return None
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.complex128) - right) / np.maximum(np.abs(right), 1e-30)
    off = np.where(
        (got != got) & (right != right) | (got == right), 0.0, np.nan_to_num(off, nan=np.inf)
    )
    return largest_at(off)
