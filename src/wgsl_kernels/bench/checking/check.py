"""A check under way: the rows of every section, for the samples of one kernel."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.bench.checking import (
    bits,
    cases,
    derived,
    fast,
    gradient,
    lossy,
    right,
    safe,
    sizes,
)
from wgsl_kernels.bench.checking.compiles import compile_findings, cpu_findings, misspelt
from wgsl_kernels.bench.checking.portable import lint_findings
from wgsl_kernels.bench.checking.sizes import shrunk
from wgsl_kernels.bench.checking.subject import Subject, findings_of, with_case
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import check_forward, check_leaks, has_gradient
from wgsl_kernels.bench.laws.combined import combined_by
from wgsl_kernels.bench.laws.laws import broken_laws
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.testing.report import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.programs.program import ShaderModule
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.finding_codes import Section
    from wgsl_kernels.wgsl.errors.findings import Finding

THOROUGH = 6
"""Samples of a kernel from which cases are made, and whose accesses are watched; all are compared
as they stand."""
WATCHED_SIZES = (0, 1, 65)
"""The sizes, beside a sample's own, at which accesses are watched."""
OF_FOUR = 63
"""That at which they are watched, too, where a loop is the author's own: 3 remain of groups of
four, as 1 of 65."""
COVERED = {"same-write-race": "write-race", "unordered-atomics": "atomic-race"}
"""Codes that a waiver of another covers, too: the lesser case of it."""
TILED_SIZE = 257
"""The size at which those of kernels with workgroup memory are watched, too: a loop over tiles then
has several rounds."""


_Cases: TypeAlias = "Callable[[Subject, Sample], Iterator[list[Finding]]]"
_GENERATED: Mapping[str, _Cases] = {
    "sizes": right.of_sizes,
    "folded grid": right.folded,
    "views": right.views,
    "special values": right.nonfinite,
    "signs of zero": bits.signs_of_zero,
    "domain": right.domain,
    "edges": right.edges,
    "thresholds": right.thresholds,
    "large mean": lossy.with_large_mean,
    "rows": right.rows,
    "attributes": right.attributes,
    "dtypes": lossy.dtypes,
    "configurations": right.configurations,
    "subgroups": right.subgroups,
    "fused": bits.fused,
    "captured": bits.captured,
    "repeated": bits.stable,
}
"""What is tried of a sample whose values are right as it stands."""
_OF_GRADIENTS: Mapping[str, _Cases] = {
    "other cases": gradient.of_cases,
    "special values": gradient.extreme,
    "derived": derived.compared,
    "upstream": gradient.layouts,
    "each output": gradient.alone,
    "repeated": gradient.repeated,
}
"""What is tried of its gradient."""


def rows_of(
    name: str,
    samples: tuple[Sample, ...],
    backends: tuple[str, ...],
    sections: Sequence[Section],
    case: str,
    rows_only: bool,
) -> list[Row]:
    """Return a row for each check of a kernel; see `wgsl_kernels.testing.check_kernel`."""
    check = _KernelCheck(name, samples, backends, sections, case)
    if rows_only:
        check.thorough = set()
    with faults.collecting() as raised, cases.quiet():
        rows = [*check.rows()]
    if raised:
        rows.append(check.row("right", "check itself", "", "all", lambda: check.failed(raised)))
    return [_waived(row, samples) for row in rows]


class _KernelCheck:
    """One check under way."""

    def __init__(
        self,
        name: str,
        samples: tuple[Sample, ...],
        backends: tuple[str, ...],
        sections: Sequence[Section],
        case: str,
    ) -> None:
        self.sections = sections
        self.case = case
        self.holding = [(one, _holding(one, backends)) for one in samples]
        on_gpu = tuple(one for one, held in self.holding if "webgpu" in held)
        self.whole = Subject(name, samples, backends)
        self.on_gpu = Subject(name, on_gpu, backends)
        self.cases, self.is_lawful = 0, True
        self.is_endless = self.is_contradicted = False
        step = max(1, -(-len(samples) // THOROUGH))
        self.thorough = {id(one) for one in samples[::step]}

    def rows(self) -> Iterator[Row]:
        """Yield a row for each check that was asked for."""
        broken = False
        is_there = get_kernel(self.on_gpu.name, "webgpu") is not None
        if self.on_gpu.samples and is_there and not self.case:
            compiled = self.row(
                "compiles", "compiles", "", "webgpu", lambda: compile_findings(self.on_gpu)
            )
            broken = not compiled.passed
            if "compiles" in self.sections or broken:
                yield compiled
            if "portable" in self.sections and not broken:
                yield self.row("portable", "lint", "", "webgpu", self._linted)
        for sample, backends in self.holding:
            usable = [one for one in backends if not (broken and one == "webgpu")]
            yield from self._of_sample(sample, usable)

    def _linted(self) -> list[Finding]:
        """Return what the lint says; not of subgroups where results are right for every size."""
        found = lint_findings(self.on_gpu)
        is_of_width = [one.code == "subgroup-width" for one in found]
        samples = [one for one in self.on_gpu.samples if id(one) in self.thorough]
        if not any(is_of_width) or any(any(right.subgroups(self.on_gpu, s)) for s in samples):
            return found
        return [one for one, is_one in zip(found, is_of_width, strict=True) if not is_one]

    def failed(self, raised: Sequence[str]) -> list[Finding]:
        """Return what the check itself raised."""
        return [
            self.whole.finding(
                "check-failed",
                f"part of the check failed by itself, which says nothing of the kernel: {one}. "
                "Please report it with the kernel.",
            )
            for one in raised
        ]

    def _of_sample(self, sample: Sample, backends: Sequence[str]) -> Iterator[Row]:
        if self.is_endless or self.is_contradicted:
            return  # whatever runs it again takes as long, or says the same
        right_on: dict[str, bool] = {}
        is_endless = False
        if "right" in self.sections:
            ran = cpu_findings(self.whole, sample)
            self.is_endless = right.is_ended(ran)
            self.is_contradicted = any(one.code == "wrong-shape" for one in ran)
            if self.is_endless or self.is_contradicted:
                yield self.row("right", "forward", sample.id, "cpu", lambda: ran)
                return
            for backend in backends:
                row = self._forward(sample, backend).with_findings(ran)
                is_ended = right.is_ended(row.findings)
                right_on[backend] = row.passed and not is_ended
                is_endless |= is_ended
                if not self.case or self.case in row.sample:
                    yield row
            named = sizes.named(sample, self.case)
            if named is not None and "webgpu" in backends:
                yield self.row(
                    "right", "sizes", sample.id, "webgpu", lambda: right.at_size(self.on_gpu, named)
                )
            elif right_on.get("webgpu") and id(sample) in self.thorough:
                yield from self._generated(sample)
        if is_endless:
            return  # whatever runs it again takes as long, and says the same
        if "right" in self.sections and id(sample) in self.thorough and not self.case:
            yield from self._laws(sample)
        raised = False
        if "gradient" in self.sections and has_gradient(sample) and not self.case:
            for row in self._gradients(sample, backends):
                raised |= any(one.code == "gradient-raises" for one in row.findings)
                yield row
        if "right" in self.sections and id(sample) in self.thorough and not self.case:
            for backend in backends:
                yield self._leaks(sample, backend, with_gradient=not raised)
        if "safe" in self.sections and "webgpu" in backends and id(sample) in self.thorough:
            yield from self._safe(sample)
        if "fast" in self.sections and not self.case:
            yield self.timed("fast", "time", sample, "all", lambda: self._fast(sample, backends))

    def _forward(self, sample: Sample, backend: str) -> Row:
        row = self.timed(
            "right", "forward", sample, backend, lambda: check_forward(sample, backend)
        )
        if row.passed:
            is_here = backend == "webgpu"
            return row.with_findings(lossy.wide_bound(self.on_gpu, sample, row) if is_here else ())
        is_ended = backend == "webgpu" and right.is_ended(row.findings)
        if row.findings and not is_ended:
            return row
        plain = cases.plain(sample)

        def judge(case: cases.Case) -> list[Finding]:
            return right.judged(self.whole, case, backend, "wrong-values")

        noted, case = judge(plain), plain
        if is_ended or (noted and all(one.severity == "warning" for one in noted)):
            return replace(row, passed=True, note="", findings=()).with_findings(noted)
        if noted and not self.case:
            case, noted = shrunk(sample, {}, plain, noted, judge)
        if backend == "webgpu":
            noted = lossy.explained(self.on_gpu, case, noted)
            noted = right.explained(self.on_gpu, case, noted)
        slips = list(misspelt(self.on_gpu)) if noted and backend == "webgpu" else []
        if slips and noted[0].code.startswith("wrong-"):
            words = f"{slips[0].words} It is the likely cause: {noted[0].words}"
            noted[0] = replace(
                slips[0], code=noted[0].code, words=words, evidence=noted[0].evidence
            )
        else:
            noted = lossy.blamed(self.whole, case, backend, noted)
        return row.with_findings(noted or [self.whole.finding("wrong-values", row.note)])

    def _generated(self, sample: Sample) -> Iterator[Row]:
        """Yield the rows of cases that are made from a sample that is right as it stands."""
        for row in self._of_cases("right", self.on_gpu, sample, _GENERATED):
            noun = "case" if self.cases == 1 else "cases"
            yield replace(row, note=row.note or f"{self.cases} {noun}")

    def _of_cases(
        self, section: Section, subject: Subject, sample: Sample, checks: Mapping[str, _Cases]
    ) -> Iterator[Row]:
        """Yield a row for each check that has cases, or findings."""
        for check, cases_of in checks.items():
            find = partial(self._gathered, cases_of(subject, sample))
            row = self.row(section, check, sample.id, "webgpu", find)
            if self.cases or row.findings:
                yield row

    def _laws(self, sample: Sample) -> Iterator[Row]:
        """Yield the row of what init and combine promise; one sample that breaks it is enough."""
        combined = faults.attempted(lambda: combined_by(sample), None)
        if combined is None or not self.is_lawful:
            return

        find = partial(faults.attempted, partial(broken_laws, sample, combined), [])
        row = self.row("right", "laws", sample.id, "cpu", find)
        self.is_lawful = row.passed
        yield row

    def _gathered(self, found: Iterator[list[Finding]]) -> list[Finding]:
        """Return the findings of cases, the first of each code, and count the cases."""
        self.cases = 0
        kept: dict[str, Finding] = {}
        for several in found:
            self.cases += 1
            for one in several:
                if not self.case or self.case in dict(one.evidence).get("case", ""):
                    kept.setdefault(one.code, one)
        return list(kept.values())

    def _gradients(self, sample: Sample, backends: Sequence[str]) -> Iterator[Row]:
        one = self.whole
        yield self.timed(
            "gradient", "gradient", sample, "cpu", lambda: gradient.by_numbers(one, sample)
        )
        for backend in backends:
            yield self.timed(
                "gradient",
                "gradient parity",
                sample,
                backend,
                lambda: gradient.parity(one, sample, backend),  # noqa: B023  called at once
            )
        if sample.second_order:
            yield self.timed(
                "gradient", "second order", sample, "cpu", lambda: gradient.second(one, sample)
            )
        if "webgpu" in backends:
            yield from self._of_cases("gradient", one, sample, _OF_GRADIENTS)

    def _leaks(self, sample: Sample, backend: str, *, with_gradient: bool) -> Row:
        row = self.timed(
            "right",
            "leaks",
            sample,
            backend,
            lambda: check_leaks(sample, backend, with_gradient=with_gradient),
        )
        if row.passed or row.findings:
            return row
        return row.with_findings([self.whole.finding("leaks", row.note)])

    def _safe(self, sample: Sample) -> Iterator[Row]:
        one = self.on_gpu
        modules = _modules(one, sample)
        is_tiled = any("var<workgroup>" in each.source_map.composed.text for each in modules)
        watched = (*WATCHED_SIZES, TILED_SIZE) if is_tiled else WATCHED_SIZES
        tried = (cases.plain(sample), *sizes.sized(sample, among=watched))
        chosen = [case for case in tried if self.case in case.id and cases.is_taken(case)]
        has_own_loop = not one.is_ours and any(each.composed.form == "free" for each in modules)
        own = sizes.sized(sample, among=(OF_FOUR,)) if has_own_loop else ()
        rest = [case for case in own if cases.is_taken(case)]
        rest = sorted(rest, key=lambda case: sum(each.size for each in case.arrays))[:1]
        for check, judge, several in (
            ("accesses", safe.watched, [*chosen, *rest]), ("undefined", safe.undefined, chosen)
        ):  # fmt: skip
            runs = [partial(judge, one, case) for case in several]
            if check == "accesses" and has_own_loop:
                runs.append(partial(safe.in_configurations, one, cases.plain(sample)))
            found = (faults.attempted(run, []) for run in runs)
            yield self.row("safe", check, sample.id, "webgpu", partial(self._gathered, found))

    def _fast(self, sample: Sample, backends: Sequence[str]) -> Row:
        begin = time.perf_counter()
        having = [one for one in backends if get_kernel(sample.kernel, one) is not None]
        timings = fast.sample_timings(sample, having)
        noted = "; ".join(
            f"{one.backend} {1e3 * one.seconds:.3g} ms, {one.gigabytes_per_second:.3g} GB/s"
            + (f", {fast.sample_rates(sample, one)}" if one.backend == "webgpu" else "")
            for one in timings
        )
        spent = time.perf_counter() - begin
        return Row("time", sample.id, "all", True, note=noted, section="fast", seconds=spent)

    def row(
        self,
        section: Section,
        check: str,
        sample: str,
        backend: str,
        find: Callable[[], list[Finding]],
    ) -> Row:
        """Return the row of a check that gives findings."""
        begin = time.perf_counter()
        try:
            found = find()
        except Exception as error:  # a kernel may raise anything; the report tells
            code = "gradient-raises" if section == "gradient" else "raises"
            found = with_case(findings_of(error, self.whole, code), f"{check} {sample}".strip())
        passed = not any(one.severity == "error" for one in found)
        spent = time.perf_counter() - begin
        note = found[0].words if found and not passed else ""
        return Row(
            check, sample, backend, passed, note=note, section=section,
            findings=tuple(found), seconds=spent,
        )  # fmt: skip

    def timed(
        self, section: Section, check: str, sample: Sample, backend: str, run: Callable[[], Row]
    ) -> Row:
        """Return the row that a check gives, or what it raises as one."""
        begin = time.perf_counter()
        try:
            row = run()
        except Exception as error:  # a kernel may raise anything; the report tells
            note = f"{type(error).__name__}: {error}"
            code = "gradient-raises" if section == "gradient" else "raises"
            where = "cpu" if backend == "all" else backend  # times are taken there first
            found = findings_of(error, self.whole, code, where)
            noted = with_case(found, f"{sample.id}, {backend}")
            row = Row(check, sample.id, backend, not noted, note=note, findings=tuple(noted))
        return replace(row, section=section, seconds=time.perf_counter() - begin)


def _waived(row: Row, samples: Sequence[Sample]) -> Row:
    """Return a row of which those findings fail nothing that a sample waives with a reason."""
    reasons: dict[str, str] = {}
    for one in samples:
        if row.sample in ("", one.id):
            reasons |= one.waive
    for code, wider in COVERED.items():
        if wider in reasons:
            reasons.setdefault(code, reasons[wider])
    if not any(one.code in reasons for one in row.findings):
        return row
    found = tuple([replace(one, waived=reasons.get(one.code, "")) for one in row.findings])
    return replace(row, findings=found, passed=not any(one.severity == "error" for one in found))


def _modules(subject: Subject, sample: Sample) -> list[ShaderModule]:
    """Return the shaders that a sample runs."""
    return faults.attempted(lambda: [one.module for one in subject.dispatches(sample)], [])


def _holding(sample: Sample, backends: Sequence[str]) -> tuple[str, ...]:
    """Return the backends that can hold the sample's dtypes; strings live on cpu for all."""
    dtypes = set(sample.input_dtypes) - {"string"}
    return tuple(name for name in backends if all(map(find_driver(name).supports, dtypes)))
