"""Does it compile: all errors, at the author's places, within the limits of every device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.declare.slips import slips
from wgsl_kernels.bench.checking.subject import About, Subject, findings_of, once, with_case
from wgsl_kernels.bench.checking.texts import errors_in
from wgsl_kernels.bench.checking.tint import tint_findings
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import KernelFault, WgslKernelsError
from wgsl_kernels.engine.observe.facade import engine
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import arrays_for, call_of, tensors_for
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.bench.checking.cases import Array
    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.testing.sample import Sample


def compile_findings(subject: Subject) -> list[Finding]:
    """Return why the kernel does not compile, and what it needs beyond the default limits."""
    found: list[Finding] = []
    for sample in subject.samples:
        try:
            for one in subject.dispatches(sample):
                found += [*_over_limits(subject, one), *tint_findings(subject, one)]
        except KernelFault:
            break  # it compiles; what it does is for other sections
        except WgslKernelsError as error:
            if error.blames_kernel and (wrong := cpu_findings(subject, sample)):
                found += wrong  # the CPU kernel gives that, too: it is the signature that is wrong
                break
            found += findings_of(error, subject, "raises")
            found += _in_the_file(subject, known={one.place for one in found})
            break
        except Exception as error:  # a kernel may raise anything; the check tells
            found += findings_of(error, subject, "raises")
            break
    return once([*misspelt(subject), *found], lambda one: (one.code, one.place, one.words))


def cpu_findings(subject: Subject, sample: Sample) -> list[Finding]:
    """Return a finding where a sample never runs the kernel that it names."""
    names: list[str] = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        names.append(call.name)
        return proceed(call)

    arrays = arrays_for(sample)
    try:
        with only("cpu", sample), engine().intercept(note):
            outputs_of(call_of(sample), tensors_for(arrays))
    except Exception as error:  # a kernel may raise anything; the check tells
        if getattr(error, "blames_kernel", False):
            return [_of_signature(subject, sample, arrays, str(error))]
        is_endless = getattr(error, "code", "") == "runaway-loop"
        if is_endless or sample.kernel not in names:
            return with_case(findings_of(error, subject, "raises", "cpu"), f"{sample.id}, cpu")
    if sample.kernel in names:
        return []
    others = ", ".join(dict.fromkeys(names)) or "none"
    words = f"sample {sample.id} never runs {sample.kernel!r}; it runs {others}."
    return [subject.finding("kernel-not-run", words)]


def _of_signature(subject: Subject, sample: Sample, arrays: Sequence[Array], error: str) -> Finding:
    """Return that the CPU kernel gives other than the signature says, once for all that follows.

    The place is the signature, unless the shader is held to a shape by its form and gives that.
    """
    words = error.removeprefix(f"{subject.name}: ")
    shader = subject.shader
    is_free = shader is None or classify(shader.source, shader.form) == "free"
    try:
        with only("webgpu", sample), config.using(small_ops="device"):
            outputs_of(call_of(sample), tensors_for(arrays))
    except Exception as other:  # a kernel may raise anything; the check tells
        is_free |= getattr(other, "blames_kernel", False)
    evidence = (("cpu kernel", subject.finding("wrong-shape", "", "cpu").place),)
    about: About = "signature" if is_free else "cpu"
    return subject.finding("wrong-shape", words, about, evidence=evidence)


def _over_limits(subject: Subject, dispatch: Dispatch) -> Iterator[Finding]:
    composed = dispatch.module.composed
    x, y, z = composed.workgroup_size
    storages = sum(one.access != "uniform" for one in composed.bindings)
    needs = (
        ("max-storage-buffers-per-shader-stage", "storage bindings", storages),
        (
            "max-compute-workgroup-storage-size",
            "bytes of workgroup memory",
            composed.workgroup_bytes,
        ),
        ("max-compute-workgroup-size-x", "invocations along x", x),
        ("max-compute-workgroup-size-y", "invocations along y", y),
        ("max-compute-workgroup-size-z", "invocations along z", z),
        ("max-compute-invocations-per-workgroup", "invocations in a workgroup", x * y * z),
    )
    for limit, noun, needed in needs:
        if needed > DEFAULT_LIMITS[limit]:
            words = (
                f"needs {needed} {noun}; every WebGPU device has {DEFAULT_LIMITS[limit]}, and not "
                f"all have more ({limit})."
            )
            start = composed.start
            if start is None:
                yield subject.finding("over-default-limits", words)
            else:
                text, place = start
                yield Finding(
                    "over-default-limits", words, subject.name, place.file, place.line,
                    place.column, 1, text.line(place.line),
                )  # fmt: skip


def _source(subject: Subject) -> Source | None:
    shader = subject.shader
    try:
        return None if shader is None else shader.source
    except WgslKernelsError:
        return None  # what cannot be read was said already


def _in_the_file(subject: Subject, known: set[str]) -> Iterator[Finding]:
    """Yield what else is wrong in the author's file, of which composing says the first alone."""
    source = _source(subject)
    if source is None:
        return
    found = errors_in(source.own.text, subject.name)  # whether a name is known the composer says
    yield from (one for one in found if one.place not in known)


def misspelt(subject: Subject) -> Iterator[Finding]:
    """Yield what the author's file says and nothing reads, where something else was meant."""
    source = _source(subject)
    if source is None or subject.shader is None:
        return
    for one in slips(source, subject.shader.form):
        place = one.place
        yield Finding(
            one.code, one.words, subject.name, place.file, place.line, place.column, one.width,
            one.line,
        )  # fmt: skip
