"""Is it safe: what shaders that watch themselves noted, and elements that nobody writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.runtime.debugging import SAYING, fault
from wgsl_kernels.backends.webgpu.runtime.watching import poisoned, watching
from wgsl_kernels.backends.webgpu.tuning import tuner
from wgsl_kernels.bench.checking import bits
from wgsl_kernels.bench.checking.simulated import JUDGED, accesses, shows_memory, unwritten
from wgsl_kernels.bench.checking.subject import Subject, labelled, once
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.testing.closeness import equal_or_nan, largest_at
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import call_of, tensors_for
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.wgsl.errors.findings import Finding

POISONS = (0x7FC0DEAD, 0)
"""What new memory holds: a NaN as a float and a large number as an integer; and zeros."""
_WRITE = "Write every element of the output, or pass init=."
UNWRITTEN = f" Nothing has written there. {_WRITE}"


def _device() -> Device:
    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    return driver.open()


def on_poison() -> AbstractContextManager[object]:
    """Fill new memory of a block with what no right result is."""
    return poisoned(_device(), POISONS[0])


def watched(subject: Subject, case: Case) -> list[Finding]:
    """Run a case on the simulator and with shaders that watch themselves; return what they noted.

    What the simulator can run it judges; the device's own notes of the same are left out. Loops
    that end there are too many rounds for some adapters, but no fault.
    """
    seen = faults.attempted(lambda: accesses(subject, case), None, ShaderError)
    if seen is None:  # it does what is not simulated
        return on_device(subject, case)
    noted = [
        replace(one, code="adapter-limit") if one.code == "runaway-loop" else one
        for one in on_device(subject, case)
        if one.code not in JUDGED
    ]
    return once([*seen, *noted], lambda one: (one.code, one.place))


def in_configurations(subject: Subject, case: Case) -> list[Finding]:
    """Run a case so in each configuration that may be chosen for it; return what was noted."""
    found: list[Finding] = []
    for name in bits.configurations_of(case)[0]:
        with tuner.forced(case.sample.kernel, name):
            noted = watched(subject, case)
        label = {"case": labelled(case, name)}
        found += [
            replace(one, evidence=tuple((dict(one.evidence) | label).items())) for one in noted
        ]
    return found


def on_device(subject: Subject, case: Case) -> list[Finding]:
    """Run a case with shaders that watch themselves; return what they noted."""
    sample = case.sample
    with only("webgpu", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(case.arrays)
        with watching(_device()) as seen:
            for one in outputs_of(call_of(sample), given):
                one.numpy()
    found = [
        replace(fault(one), kernel=subject.name, evidence=(("case", case.id),))
        for one in seen
        if one.record.event not in SAYING
    ]
    return once(found, lambda one: (one.code, one.place))


def undefined(subject: Subject, case: Case) -> list[Finding]:
    """Run a case on memory that holds different things, and return what shows through."""
    written: list[tuple[int, int]] = []
    odd: list[str] = []
    runs = [_on_poison(case, word, written, odd) for word in POISONS]
    if any(one.module.composed.form == "free" for one in subject.dispatches(case.sample)):
        runs.append(_simulated(case, runs[0]))
    if written:
        nbytes, byte = written[0]
        words = f"a buffer of {nbytes} bytes was written at byte {byte}, which is behind its end."
        return [subject.finding("out-of-bounds-write", words, evidence=(("case", case.id),))]
    for number, (one, *others) in enumerate(zip(*runs, strict=True)):
        if one.dtype == object:
            continue
        same = np.logical_and.reduce([equal_or_nan(one, two) for two in others])
        if same.all():
            continue
        at = largest_at(~same)
        count = int((~same).sum())
        cause = _cause(subject, case)
        if not cause:
            return []  # said of the access
        words = (
            f"output {number} at {list(at)} depends on what memory held before, as do {count} of "
            f"{same.size} elements{cause}"
        )
        found = subject.finding("never-written", words, evidence=(("case", case.id),))
        return [subject.at_write(found)]
    return [subject.finding("odd-bool", one, evidence=(("case", case.id),)) for one in odd[:1]]


def shows_poison(outputs: Iterable[tuple[object, Array]], index: tuple[int, ...]) -> bool:
    """Say whether an element of a result is what new memory held: nobody has written it."""
    for _, values in outputs:
        if values.ndim != len(index) or values.dtype.itemsize != 4:
            continue
        if all(at < size for at, size in zip(index, values.shape, strict=True)):
            word = values[tuple([slice(at, at + 1) for at in index])].reshape(1).view(np.uint32)
            if int(word[0]) == POISONS[0]:
                return True
    return False


def _cause(subject: Subject, case: Case) -> str:
    """Return of which memory results depend, and what to do; empty where a wrong access tells."""
    plain = f". {_WRITE}"
    found = faults.attempted(lambda: unwritten(case), None, ShaderError)
    if found is None:  # it does what is not simulated
        return plain
    holes, both, is_said = found
    between = [one for one in holes if one.reader]
    has_init = subject.shader is not None and bool(subject.shader.init)
    if len(holes) > len(between) and not has_init:
        return plain
    if between:
        one = between[0]
        return (
            f": {one.count} of {one.size} elements of the buffer that one dispatch writes as "
            f"{one.writer} and another reads as {one.reader} are written by nobody, the first at "
            f"[{one.at}]. Write each of them, make the buffer smaller, or fill it with gpu.full."
        )
    if is_said:
        return ""
    if both:
        return (
            f", though every element is written: {both[0]} is read, too, maybe before anybody "
            "wrote there. Keep the value in a variable, or pass init=."
        )
    shared = dict.fromkeys(
        name
        for dispatch in subject.dispatches(case.sample)
        for name, variable in parse(dispatch.module.source_map.composed).variables.items()
        if variable.space == "workgroup"
    )
    if not shared:
        return plain
    names = ", ".join(shared)
    return (
        f", though every element is written: what workgroup memory held, of {names}. Set each "
        "element that is read, and put a workgroupBarrier behind that."
    )


def _simulated(case: Case, found: Sequence[Array]) -> list[Array]:
    """Return a device's results, but NaN where memory of NaN shows through on the simulator."""
    # what is not simulated shows nothing
    simulated = faults.attempted(lambda: shows_memory(case, POISONS[0]), found, ShaderError)
    return [
        np.where(np.isnan(two) & ~np.isnan(one), two, one) if one.dtype.kind == "f" else one
        for one, two in zip(found, simulated, strict=True)
    ]


def _on_poison(
    case: Case, word: int, written: list[tuple[int, int]], odd: list[str]
) -> Sequence[Array]:
    """Return a case's results on memory of one word.

    What was written behind buffers is noted, and on memory of zeros what is stored as a bool and is
    none.
    """
    sample = case.sample
    with only("webgpu", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(case.arrays)
        with poisoned(_device(), word) as guards:
            outputs = outputs_of(call_of(sample), given)
            found = [one.numpy() for one in outputs]
            written += guards.broken()
            if not word:
                odd += [one for n, each in enumerate(outputs) for one in _odd_bools(n, each)]
            return found


def _odd_bools(number: int, output: Tensor) -> Iterator[str]:
    """Yield what to say of a bool that is stored as another word than 0 or 1."""
    storage = output._array.storage if output.dtype == "bool" else None
    if storage is None:
        return
    (stored,) = _device().peek([(storage, storage.nbytes)])
    words = stored.view(np.uint32)
    for at in np.flatnonzero(words > 1)[:1]:
        yield (
            f"output {number} has {words[at]} for a bool, {at} words from its start. Store 1 for "
            "true, as select(0u, 1u, condition) does: what reads the array counts on 0 or 1."
        )
