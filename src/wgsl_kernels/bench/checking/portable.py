"""Is it portable: the lint, on what the samples run as."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.declare.kernel import call_with
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import FOLD, grid_of
from wgsl_kernels.bench.checking import sizes
from wgsl_kernels.bench.checking.subject import Subject, once
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.lint.choices import choices, may_give_either_zero
from wgsl_kernels.wgsl.lint.lint import lint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid
    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding
    from wgsl_kernels.wgsl.lint.remarks import Remark

LARGE = (1 << 21, (1 << 22) + 7, 1 << 23)
"""Elements of a tensor for which a grid of the author's own is asked."""


def lint_findings(subject: Subject) -> list[Finding]:
    """Return what the lint says of the shaders that the samples run, the author's parts alone."""
    found: list[Finding] = []
    seen: set[str] = set()
    shader = subject.shader
    is_default = shader is not None and shader.groups is None
    for sample in subject.samples:
        large = None if seen or is_default else _large(subject, sample)
        found += [] if large is None else _beyond(subject, large)
        default_grid = is_default or (large is not None and large.grid[1] > 1)
        for dispatch in subject.dispatches(sample):
            module = dispatch.module
            if module.digest in seen:
                continue
            seen.add(module.digest)
            is_free = default_grid and module.composed.form == "free"
            for one in lint(module.source_map.composed, default_grid=is_free):
                found += _placed(subject, dispatch, one)
    return once(found, lambda one: (one.code, one.place))


@dataclass(frozen=True)
class _Large:
    """A size at which an author's own grid is larger than one axis of a grid may be.

    Attributes:
        length: The length of a sample that is replaced.
        by: What by.
        grid: What ``groups=`` gives then.
    """

    length: int
    by: int
    grid: Grid


def unfolded(subject: Subject, sample: Sample) -> Case | None:
    """Return a large case where ``groups=`` folds the grid and the shader seems not to know."""
    large = _large(subject, sample)
    if large is None or max(large.grid) > FOLD:
        return None
    texts = [one.module.source_map.composed for one in subject.dispatches(sample)]
    remarks = [one.code for text in texts for one in lint(text, default_grid=True)]
    if "unfolded-grid" not in remarks:
        return None
    return sizes.resized(sample, {large.length: large.by}, most=LARGE[-1])


def _beyond(subject: Subject, large: _Large) -> list[Finding]:
    """Return a note where a grid has more workgroups along an axis than devices run."""
    if max(large.grid) <= FOLD:
        return []
    x, y, z = large.grid
    words = (
        f"groups= gives {x} x {y} x {z} workgroups; devices run {FOLD:,} along an axis, and more "
        "are refused. Fold them: (min(n, 65535), ceil(n / 65535)), with an index that knows."
    )
    evidence = (("where", f"a length of {large.length} becomes {large.by}"),)
    return [subject.finding("grid-limit", words, evidence=evidence)]


def _large(subject: Subject, sample: Sample) -> _Large | None:
    """Return the smallest of a few large sizes at which an author's own grid folds, or should."""
    shader = subject.shader
    if shader is None or shader.groups is None or sample.values is not None or sample.make:
        return None
    for length in sizes.lengths_of(sample)[::-1]:
        rest = max(int(np.prod(one)) for one in sample.shapes if length in one) // max(length, 1)
        for by in (elements // rest for elements in LARGE if length and rest):
            shapes = [tuple([by if n == length else n for n in one]) for one in sample.shapes]
            grid = _grid_of(subject, sample, shader.groups, shapes)
            if grid is not None and (max(grid) > FOLD or _folds(grid)):
                return _Large(length, by, grid)
    return None


def _folds(grid: Grid) -> bool:
    """Say whether a grid has so many workgroups that one axis cannot hold them."""
    return grid[0] * grid[1] * grid[2] > FOLD and grid[1] > 1


def _grid_of(
    subject: Subject,
    sample: Sample,
    groups: Callable[..., Any],
    shapes: Sequence[tuple[int, ...]],
) -> Grid | None:
    """Return what ``groups=`` gives for shapes; None where they are refused, or more is needed."""
    declared = find_signature(subject.name)
    if declared is None or len(declared.inputs) != len(shapes):
        return None
    specs = [Spec(one, dtype) for one, dtype in zip(shapes, sample.input_dtypes, strict=True)]
    try:
        attrs = declared.check_attrs(dict(sample.attrs))
        made = declared.infer(specs, attrs)
        inputs = zip(subject.input_names, specs, strict=True)
        pairs = [*inputs, *zip(made.names, made.specs, strict=True)]
        facts = tensor_facts({name: Argument(one.shape, one.dtype) for name, one in pairs})
        return grid_of(subject.name, call_with(groups, {**attrs, **facts}, subject.name))
    except Exception as error:  # the signature refuses the size, or params= gives what it needs
        faults.note(error)
        return None


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
