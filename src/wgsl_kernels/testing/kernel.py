"""check_kernel: every check of one kernel, section by section, as one report."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.attributes import sequence, text
from wgsl_kernels.testing.registered import samples_of
from wgsl_kernels.testing.report import Report, Row
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.wgsl.errors.finding_codes import SECTIONS
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.finding_codes import Section

_BENCH = "wgsl_kernels.bench.checking.check"
"""What runs the sections: on a floor above, so it is imported by name, when a kernel is checked."""


def check_kernel(
    name: str,
    samples: Sequence[Sample] | None = None,
    backends: Sequence[str] = ("cpu", "webgpu"),
    sections: Sequence[Section] = SECTIONS[:-1],
    case: str = "",
    *,
    rows_only: bool = False,
) -> Report:
    """Check a kernel on samples and return what was found; it raises for no fault of the kernel.

    *compiles*: all errors with the author's places, and needs above WebGPU's default limits.
    *portable*: the lint. *right*: results against the CPU kernel in float64 within the sample's
    bound, at other sizes, of views, with NaN and infinities, of every dtype that the kernel claims,
    fused, captured, again; and whether tensors or buffers remain. *gradient*: the rule against
    differences in float64, each backend's gradient against that in float64, the second gradient,
    upstream gradients that are views. *safe*: accesses that shaders note by themselves, and
    elements that nobody writes. *fast*: times; only where it is asked for.

    Args:
        name: The kernel's name.
        samples: How it is called; without them, those of `add_samples` and of the package.
        backends: Where it must run, without falling back to ``cpu``; samples of a dtype that a
            backend cannot hold are left out there.
        sections: Which sections run, in their own order.
        case: Only the cases whose names contain this, as a finding's ``repeat`` has it.
        rows_only: Whether samples are tried as they stand alone, without cases made from them.

    Raises:
        ArgumentError: There are no samples, or some of another kernel; or a section or a backend
            is unknown, or there is none; or no case has ``case`` in its name.
    """
    text("check_kernel", "name", name)
    text("check_kernel", "case", case)
    several: Any
    for word, several in (("sections", sections), ("backends", backends)):
        if isinstance(several, str) or not isinstance(several, Sequence) or not several:
            raise ArgumentError(f"check_kernel: {word} is {shown(several)}; want some, in a tuple.")
    unknown = [one for one in sections if one not in SECTIONS]
    if unknown:
        known = ", ".join(SECTIONS)
        raise ArgumentError(f"check_kernel: section is {unknown[0]!r}; want some of {known}.")
    for one in backends:
        find_driver(one)
    given = samples_of(name) if samples is None else _samples(name, samples)
    own = tuple(row for one in given for row in one.rows())
    if not own:
        raise ArgumentError(
            f"check_kernel: there are no samples for {name!r}; give samples=[Sample(...)]."
        )
    check = importlib.import_module(_BENCH)
    rows: list[Row] = check.rows_of(name, own, tuple(backends), sections, case, rows_only)
    if case and not rows:
        raise ArgumentError(f"check_kernel: {name} has no case with {case!r} in its name.")
    return Report(name, rows)


def _samples(name: str, given: Any) -> list[Sample]:
    """Return the samples that a caller gave.

    Raises:
        ArgumentError: They are none, or of another kernel.
    """
    found = sequence("check_kernel", "samples", given, "samples")
    for one in found:
        if not isinstance(one, Sample) or one.kernel != name:
            what = f"a sample of {one.kernel!r}" if isinstance(one, Sample) else shown(one)
            raise ArgumentError(f"check_kernel: samples has {what}; want Sample({name!r}, f, …).")
    return found
