"""Is it portable: the lint, on what the samples run as."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.bench.checking.subject import Subject, once
from wgsl_kernels.wgsl.lint.choices import choices, may_give_either_zero
from wgsl_kernels.wgsl.lint.lint import lint

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding
    from wgsl_kernels.wgsl.lint.remarks import Remark


def lint_findings(subject: Subject) -> list[Finding]:
    """Return what the lint says of the shaders that the samples run, the author's parts alone."""
    found: list[Finding] = []
    seen: set[str] = set()
    shader = subject.shader
    default_grid = shader is not None and shader.groups is None
    for sample in subject.samples:
        for dispatch in subject.dispatches(sample):
            module = dispatch.module
            if module.digest in seen:
                continue
            seen.add(module.digest)
            is_free = default_grid and module.composed.form == "free"
            for one in lint(module.source_map.composed, default_grid=is_free):
                found += _placed(subject, dispatch, one)
    return once(found, lambda one: (one.code, one.place))


def is_open_to_nan(subject: Subject, sample: Sample) -> bool:
    """Say whether an author's shader compares floats, and never asks for NaN itself.

    Our own kernels promise what they give for NaN, whatever they are made of.
    """
    if subject.origin is None or subject.origin.is_ours:
        return False
    found = {
        what
        for dispatch in subject.dispatches(sample)
        for what, span in choices(dispatch.module.source_map.composed)
        if subject.is_own(_file(dispatch, span.begin))
    }
    return found == {"compares"}


def gives_either_zero(subject: Subject, sample: Sample) -> bool:
    """Say whether a shader may give a zero of either sign, as ``max`` and long sums do."""
    return any(
        one.module.composed.form not in ("map", "free")
        or may_give_either_zero(one.module.source_map.composed)
        for one in subject.dispatches(sample)
    )


def _placed(subject: Subject, dispatch: Dispatch, one: Remark) -> list[Finding]:
    """Return the finding of a remark; none where only shared code of the package is meant."""
    module = dispatch.module
    spans = [("", one.span), *one.related]
    own = [
        subject.placed(one.code, one.words, module, span)
        for _, span in spans
        if subject.is_own(_file(dispatch, span.begin))
    ]
    if not own:
        return []
    others = tuple(
        (name, subject.placed(one.code, "", module, span).place) for name, span in one.related
    )
    return [replace(own[0], evidence=(*own[0].evidence, *others))]


def _file(dispatch: Dispatch, offset: int) -> str:
    source_map = dispatch.module.source_map
    place = source_map.composed.place(offset)
    return source_map.find(place.line, place.column).file
