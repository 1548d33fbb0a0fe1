"""Is it right: values against exact ones, over cases that are made from the samples."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.backends.webgpu.programs.building import folding_at
from wgsl_kernels.bench.checking import cases, simulated
from wgsl_kernels.bench.checking.shrinking import shrunk
from wgsl_kernels.bench.checking.subject import Subject, findings_of, with_case
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.derived import run_bounded
from wgsl_kernels.bench.comparison.judging import exact_of, mismatch
from wgsl_kernels.engine.capture.capture import capture
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import (
    DeviceLostError,
    OutOfMemoryError,
    WgslKernelsError,
)
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.observe.facade import engine
from wgsl_kernels.ops.elementwise import unary
from wgsl_kernels.ops.shapes import shape as shape_ops
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import LAYOUTS, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.bench.comparison.derived import BoundedResults
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.simulator.dispatch import Order
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

Make = "Callable[[Array], Tensor]"


def ran(subject: Subject, sample: Sample) -> list[Finding]:
    """Return a finding where a sample never runs the kernel that it names."""
    names: list[str] = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        names.append(call.name)
        return proceed(call)

    case = cases.plain(sample)
    try:
        with only("cpu", sample), engine().intercept(note):
            outputs_of(lambda *xs: sample.f(*xs, **sample.attrs), tensors_for(case.arrays))
    except Exception as error:  # a kernel may raise anything; the check tells
        if sample.kernel not in names:
            return with_case(findings_of(error, subject, "raises"), f"{case.id}, cpu")
    if sample.kernel in names:
        return []
    others = ", ".join(dict.fromkeys(names)) or "none"
    words = f"sample {sample.id} never runs {sample.kernel!r}; it runs {others}."
    return [subject.finding("kernel-not-run", words)]


def values_of(case: Case, backend: str, make: Callable[[Array], Tensor] = tensor) -> BoundedResults:
    """Return what a case gives on a backend, with its inputs made by ``make``, and may give."""
    sample = case.sample
    with only(backend, sample):
        return run_bounded(sample, [make(one) for one in case.arrays], backend)


def judged(
    subject: Subject,
    case: Case,
    backend: str,
    code: str,
    make: Callable[[Array], Tensor] = tensor,
    what: str = "",
) -> list[Finding]:
    """Return a finding where a case gives values outside of the bound, or raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NaN and infinity, which are meant
        return _judged(subject, case, backend, code, make, what)


def _judged(
    subject: Subject,
    case: Case,
    backend: str,
    code: str,
    make: Callable[[Array], Tensor],
    what: str,
) -> list[Finding]:
    label = f"{case.id}{f', {what}' if what else ''}, {backend}"
    try:
        alternatives = [exact_of(case.sample, one) for one in (case.arrays, *case.twins)]
    except Exception:  # a shape rule refused the case: on all backends alike
        return []
    try:
        run = values_of(case, backend, make)
    except DeviceLostError:
        raise
    except OutOfMemoryError:
        return []  # a shape that a device cannot hold is no fault of the kernel
    except Exception as error:  # a kernel may raise anything; the check tells
        return with_case(findings_of(error, subject, "raises"), label)
    try:
        wrong = mismatch(run.bounds, case.arrays, run.found, alternatives)
    except (ValueError, IndexError):
        if all(one.size for one in case.arrays):
            raise
        return []  # a bound that knows nothing of empty inputs
    if wrong is None:
        return []
    if code == "wrong-at-extreme" and np.asarray(wrong.got).dtype.kind in "biu":
        return []  # a choice by numbers that are rounded may fall either way
    if wrong.got is None:
        words = f"{wrong.what}."
    else:
        words = f"got {wrong.got}, expected {wrong.expected} at {list(wrong.index)}."
    evidence = (
        *wrong.evidence(),
        *((("bound", run.words),) if run.words else ()),
        ("case", label),
        ("repeat", repeat(case, what)),
        *((("step", step_command(subject.origin, case, wrong.index)),) if wrong.index else ()),
    )
    return [subject.finding(code, words, evidence=evidence)]


def repeat(case: Case, what: str = "") -> str:
    """Return the arguments of a command that runs one case again."""
    label = f"{case.id}{f', {what}' if what else ''}"
    return f'--only {case.sample.kernel} --case "{label}"'


def step_command(origin: Origin | None, case: Case, index: Sequence[int]) -> str:
    """Return the command that steps through what a case gives at an index."""
    name = case.sample.kernel
    target = [name]
    if origin is not None and not origin.is_ours and origin.file.endswith(".py"):
        file = Path(origin.file)
        here = Path.cwd()
        target = [str(file.relative_to(here) if file.is_relative_to(here) else file), name]
    place = f"[{','.join(map(str, index))}]"
    return shlex.join(["wgsl-kernels", "step", *target, "--case", case.id, "--at", place])


def sizes(subject: Subject, sample: Sample, groups: Sequence[int]) -> Iterator[list[Finding]]:
    """Check a sample at other sizes, the smallest that fails alone."""
    done: set[int] = set()
    for case in cases.sized(sample, groups):
        (length, size), *_ = cases.changes_of(case.what)
        if length in done:
            continue
        found = judged(subject, case, "webgpu", "wrong-at-size")
        if found:
            done.add(length)
            found = shrunk(sample, {length: size}, found, lambda one: at_size(subject, one))
        yield found


def at_size(subject: Subject, case: Case) -> list[Finding]:
    """Check one case of other lengths."""
    return judged(subject, case, "webgpu", "wrong-at-size")


FOLDED = 1030
"""A length that takes several workgroups."""


def folded(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample of several workgroups where grids fold at two, as large ones do."""
    if sample.values is not None:
        return
    lengths = {one for shape in sample.shapes for one in shape}
    for case in (cases.resized(sample, {one: FOLDED}) for one in sorted(lengths)):
        if case is None:
            continue
        try:
            exact_of(case.sample, case.arrays)
        except Exception:  # a shape rule refused the case
            continue
        with folding_at(2):
            yield judged(subject, case, "webgpu", "wrong-where-folded", what="folded")
        return


def views(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with inputs that are views."""
    case = cases.plain(sample)
    makers: dict[str, Callable[[Array], Tensor]] = {
        **{name: make for name, make in LAYOUTS.items() if name != "default"},
        "offset": _offset,
    }
    for name, make in makers.items():
        yield judged(subject, case, "webgpu", "wrong-view", make, name)
    wide = _broadcast_values(case)
    if wide is not None:
        yield judged(subject, wide, "webgpu", "wrong-view", _broadcast)


def nonfinite(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with NaN, infinities, zeros and subnormals, and with large numbers."""
    for case in cases.special(sample):
        if not _is_complex_all_through(case):
            yield judged(subject, case, "webgpu", "wrong-nonfinite")
    for case in cases.extreme(sample):
        yield judged(subject, case, "webgpu", "wrong-at-extreme")


def _is_complex_all_through(case: Case) -> bool:
    """Say whether results are complex: which part of them is NaN then depends on the formula."""
    if not any(one.dtype.kind == "c" for one in case.arrays):
        return False
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return any(one.dtype.kind == "c" for one in exact_of(case.sample, case.arrays))


def dtypes(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with every other dtype that the kernel claims."""
    kernel = subject.kernel
    served = None if kernel is None else kernel.served
    first = sample.input_dtypes[0] if sample.input_dtypes else ""
    if served is None or sample.values is not None or first not in ("float32", "float16"):
        return
    choice = choose_adapter()
    for dtype in sorted(served - {one for other in subject.samples for one in other.input_dtypes}):
        has_f16 = choice is not None and "shader-f16" in choice.info.features
        if dtype in ("bool", "complex64", "string") or (dtype == "float16" and not has_f16):
            continue
        case = cases.of_dtype(sample, dtype)
        try:
            exact_of(case.sample, case.arrays)
            values_of(case, "cpu")
        except Exception:  # the CPU kernel or the shape rule does not take it either
            continue
        found = judged(subject, case, "webgpu", "wrong-dtype")
        broken = [one for one in found if one.section == "compiles"]
        if broken:
            words = (
                f"coverage() claims {dtype}, for which it does not compile: {broken[0].words} "
                'Write the formula in T, or pass dtypes=["float32"].'
            )
            found = [subject.finding("claimed-dtype", words, evidence=broken[0].evidence)]
        yield found


def fused(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare bits where maps before and behind the kernel may share its dispatch."""
    case = cases.plain(sample)
    if not any(one.dtype.kind == "f" for one in case.arrays):
        return
    want = _attempt(lambda: _alone(sample, case.arrays))
    if want is None:
        return

    def negated(values: Array) -> Tensor:
        return unary.negative(tensor(-values)) if values.dtype.kind == "f" else tensor(values)

    for what in ("before", "behind"):
        with only("webgpu", sample), config.using(fusion="always", small_ops="device"):
            make = negated if what == "before" else tensor
            given = [make(one) for one in case.arrays]
            outputs = outputs_of(lambda *xs: sample.f(*xs, **sample.attrs), given)
            got = [
                -unary.negative(one).numpy()
                if what == "behind" and one.dtype.startswith("float")
                else one.numpy()
                for one in outputs
            ]
        yield _same_bits(subject, case, want, got, "wrong-fused", f"fused {what}")


def captured(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the bits of a replay, where the kernel can be captured."""
    case = cases.plain(sample)
    want = _attempt(lambda: _alone(sample, case.arrays))
    if want is None or any(one.dtype == object for one in case.arrays):
        return
    fast = capture(lambda *xs: sample.f(*xs, **sample.attrs))
    with only("webgpu", sample), config.using(small_ops="device"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            got: list[Array] = []
            for _ in range(3):
                given = tensors_for(case.arrays)
                got = [one.numpy() for one in outputs_of(fast, given)]
        finally:
            fast.dispose()
    yield _same_bits(subject, case, want, got, "wrong-captured", "captured")


def stable(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the bits of three runs."""
    case = cases.plain(sample)
    want = _attempt(lambda: _alone(sample, case.arrays))
    for _ in range(2 if want is not None else 0):
        found = _same_bits(
            subject, case, want or [], _alone(sample, case.arrays), "unstable", "again"
        )
        if found:
            yield found
            return
    yield _in_orders(subject, case)


def _in_orders(subject: Subject, case: Case) -> list[Finding]:
    """Compare the bits of runs whose invocations come in other orders, on the simulator."""
    want = _attempt(lambda: simulated.results(case, "forward"))
    orders: tuple[Order, ...] = ("reversed", "shuffled")
    for order in orders if want is not None else ():
        got, what = simulated.results(case, order), f"invocations {order}"
        found = _same_bits(subject, case, want or [], got, "order-dependent", what)
        if found:
            return found
    return []


def _alone(sample: Sample, arrays: Sequence[Array]) -> list[Array]:
    with only("webgpu", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(arrays)
        return [one.numpy() for one in outputs_of(lambda *xs: sample.f(*xs, **sample.attrs), given)]


def _attempt(run: Callable[[], list[Array]]) -> list[Array] | None:
    try:
        return run()
    except WgslKernelsError:
        return None  # said where values are compared


def _same_bits(
    subject: Subject,
    case: Case,
    want: Sequence[Array],
    got: Sequence[Array],
    code: str,
    what: str,
) -> list[Finding]:
    for number, (one, other) in enumerate(zip(want, got, strict=True)):
        if one.dtype == object:
            same = np.asarray(one == other)
        else:
            same = np.asarray((one == other) | ((one != one) & (other != other)))
        if same.all():
            continue
        at = tuple(int(i) for i in np.unravel_index(int(np.argmin(same)), same.shape))
        race = " A race?" if code == "unstable" else ""
        words = f"{what}: got {other[at]}, alone {one[at]} at {list(at)} of output {number}.{race}"
        evidence = (
            ("got", f"{other[at]}"),
            ("expected", f"{one[at]}"),
            ("wrong", f"{int((~same).sum())} of {same.size} elements"),
            ("case", f"{case.id}, {what}"),
            ("repeat", repeat(case, what)),
        )
        return [subject.finding(code, words, evidence=evidence)]
    return []


def _offset(values: Array) -> Tensor:
    """Return the values behind others, in one buffer."""
    if values.ndim == 0 or values.dtype == object:
        return tensor(values)
    poison = np.full_like(values[:1], np.nan if values.dtype.kind in "fc" else 1)
    if not poison.size:
        return tensor(values)
    return tensor(np.concatenate([poison, values]))[1:]


def _broadcast_values(case: Case) -> Case | None:
    """Return the case with inputs that are equal along their first axis."""
    if not any(one.ndim and one.shape[0] > 1 and one.dtype != object for one in case.arrays):
        return None
    if case.sample.values is not None:
        return None
    arrays = tuple(
        np.broadcast_to(one[:1], one.shape).copy() if one.ndim else one for one in case.arrays
    )
    return cases.Case(case.sample, "broadcast", arrays)


def _broadcast(values: Array) -> Tensor:
    """Return equal rows as one row that is seen several times."""
    is_view = values.ndim and values.shape[0] > 1 and values.dtype != object
    if not is_view or not (values == values[:1]).all():
        return tensor(values)
    return shape_ops.broadcast_to(tensor(values[:1].copy()), values.shape)
