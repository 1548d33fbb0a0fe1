"""Is it portable: the lint, on what the samples run as."""

from __future__ import annotations

import functools
import itertools
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.declare.kernel import call_with
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import FOLD, grid_of
from wgsl_kernels.bench.checking import sizes
from wgsl_kernels.bench.checking.cases import is_drawn, plain
from wgsl_kernels.bench.checking.subject import Subject, once
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.engine.registry.registry import add_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.lint.choices import choices, may_give_either_zero
from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.lint.portability import binding_remarks
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid, ShaderModule
    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.lint.remarks import Remark

LARGE = (sizes.MOST_LARGE, 1 << 21, (1 << 22) + 7, 1 << 23)
"""Elements of a tensor for which a grid of the author's own is asked."""
HUGE = (1 << 28, 1 << 27)
"""Elements for which a grid is the same only where it grows no more."""
MOST_CONFIRMED = 1 << 25
"""Elements of an input of a case that is run to confirm what a small one shows."""
SEVERAL = (257, 1030)
"""Lengths of which several workgroups are made."""


def lint_findings(subject: Subject) -> list[Finding]:
    """Return what the lint says of the shaders that the samples run, the author's parts alone."""
    found: list[Finding] = []
    seen: set[str] = set()
    shader = subject.shader
    is_default = shader is not None and shader.groups is None
    for sample in subject.samples:
        found += [] if seen or is_default else _beyond(subject, sample)
        default_grid = is_default or any(_folded(subject, sample))
        for dispatch in subject.dispatches(sample):
            module = dispatch.module
            if module.digest in seen:
                continue
            seen.add(module.digest)
            is_free = default_grid and module.composed.form == "free"
            for one in lint(module.source_map.composed, default_grid=is_free):
                found += _placed(subject, dispatch, one)
            found += _shared_bindings(subject, module)
    return once(found, lambda one: (one.code, one.place))


def _shared_bindings(subject: Subject, module: ShaderModule) -> Iterator[Finding]:
    """Yield what the numbers of bindings in an author's files share; composed texts have others."""
    sources = dict.fromkeys(one.source for one in module.source_map.segments)
    for text in filter(None, sources):
        if subject.is_own(text.file):
            for one in binding_remarks(parse(text)):
                own, place = text.origin(one.span.begin)
                width = one.span.end - one.span.begin
                where = (place.file, place.line, place.column, width, own.line(place.line))
                yield Finding(one.code, one.words, subject.name, *where)


def _beyond(subject: Subject, sample: Sample) -> list[Finding]:
    """Return an error where few elements make a grid larger than devices run, else a note.

    A workgroup for each row is one of them; for 64 elements, a tensor is of millions first.
    """
    few = [one for one in _large(subject, sample) if one.elements <= sizes.MOST_LARGE]
    over = [one for one in few if one.grid[0] > FOLD and one.grid[1:] == (1, 1)]
    code = "over-grid-limit" if over else "grid-limit"
    over = over or [one for one in _large(subject, sample, short=False) if max(one.grid) > FOLD]
    if not over:
        return []
    x, y, z = over[0].grid
    words = (
        f"groups= gives {x} x {y} x {z} workgroups; devices run {FOLD:,} along an axis, and more "
        "are refused. Fold them: (min(n, 65535), ceil(n / 65535)), with an index that knows."
    )
    changes = ", ".join(
        f"{old} becomes {new}" for old, new in over[0].lengths.items() if old != new
    )
    evidence = (("where", f"a length of {changes}"),)
    return [of_groups(subject, subject.finding(code, words, evidence=evidence))]


def of_groups(subject: Subject, found: Finding) -> Finding:
    """Return a finding of the kernel as one of its ``groups=``, where that is written."""
    code = None if subject.shader is None else getattr(subject.shader.groups, "__code__", None)
    if code is None or code.co_filename != found.file:
        return found
    return replace(found, line=code.co_firstlineno)


@dataclass(frozen=True)
class _Large:
    """A size, and the grid that ``groups=`` gives for it.

    Attributes:
        lengths: Which lengths of a sample are replaced by which.
        elements: How many the largest input has.
        grid: What ``groups=`` gives.
    """

    lengths: Mapping[int, int]
    elements: int
    grid: Grid


@dataclass(frozen=True)
class OwnGrid:
    """A large case whose grid is another than small ones have, and a small case with such a grid.

    Attributes:
        lengths: Which lengths are replaced by which in the large case.
        small: The small one.
        change: What makes the grid of the small one like that.
    """

    lengths: Mapping[int, int]
    small: Case
    change: Callable[[Grid], Grid]


def own_grids(subject: Subject, sample: Sample) -> Iterator[OwnGrid]:
    """Yield large cases in which a grid of the author's own folds, and in which it grows no more.

    Whether it is right there is first asked of the small case, since the large one takes long.
    """
    small = _of_several_groups(subject, sample) if _has_own_grid(subject, sample) else None
    if small is None:
        return
    folded = itertools.islice(_folded(subject, sample), 1)
    capped = _capped(subject, sample)
    for large, change in itertools.chain(
        zip(folded, itertools.repeat(_fold)), zip(capped, itertools.repeat(_halve))
    ):
        yield OwnGrid(large.lengths, small, change)


@contextmanager
def regridded(subject: Subject, change: Callable[[Grid], Grid]) -> Iterator[None]:
    """Have an author's own grids be changed in a block."""
    kernel, shader = subject.kernel, subject.shader
    assert kernel is not None
    assert shader is not None
    groups = shader.groups
    assert groups is not None

    def changed(**facts: Any) -> Grid:
        return change(grid_of(subject.name, groups(**facts)))

    # a partial has no code of its own, so that its parameters are those of what it wraps
    named = functools.update_wrapper(functools.partial(changed), groups)
    before = take_snapshot()
    add_kernel(replace(kernel, func=replace(shader, groups=named)), override=True)
    try:
        yield
    finally:
        before.restore()


def _fold(grid: Grid) -> Grid:
    """Return a grid in two rows with workgroups to spare, as large ones have."""
    return (grid[0] // 2 + 1, 2, 1) if grid[1:] == (1, 1) else grid


def _halve(grid: Grid) -> Grid:
    return (max(1, grid[0] // 2), grid[1], grid[2])


def _total(grid: Grid) -> int:
    return grid[0] * grid[1] * grid[2]


def _has_own_grid(subject: Subject, sample: Sample) -> bool:
    """Say whether an author wrote ``groups=``, and lengths of a sample can be replaced."""
    shader = subject.shader
    return shader is not None and shader.groups is not None and is_drawn(sample)


def _of_several_groups(subject: Subject, sample: Sample) -> Case | None:
    """Return the sample, or a larger one, where the author's own grid has several workgroups."""
    for by in (None, *SEVERAL):
        for length in sizes.lengths_of(sample) if by else [0]:
            case = sizes.resized(sample, {length: by}) if by else plain(sample)
            shapes = [one.shape for one in case.arrays] if case is not None else []
            grid = _grid_of(subject, sample, shapes)
            if grid is not None and grid[0] > 2:
                return case
    return None


def _folded(subject: Subject, sample: Sample) -> Iterator[_Large]:
    return (one for one in _large(subject, sample) if _folds(one.grid))


def _capped(subject: Subject, sample: Sample) -> Iterator[_Large]:
    """Yield small sizes that have more to do than a grid that grows no more gives them."""
    for length, short in itertools.product(sizes.lengths_of(sample), (True, False)):
        at = functools.partial(_at, subject, sample, length, short)
        last, before, first = (at(_length_for(sample, length, short, n)) for n in (*HUGE, length))
        if last is None or before is None or first is None or last.grid != before.grid:
            continue
        low, high = length, before.lengths[length]
        if _total(first.grid) >= _total(last.grid):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            found = at(middle)
            low, high = (low, middle) if found and found.grid == last.grid else (middle, high)
        found = at(high + high // 64 + 1)
        if found is not None:
            yield found


def _length_for(sample: Sample, length: int, short: bool, elements: int) -> int:
    """Return what a length is replaced by, so that the largest input has so many elements."""
    most = 0
    for shape in sample.shapes:
        rest = int(np.prod([min(n, 2) if short else n for n in shape if n != length]))
        if length in shape and rest:
            most = max(most, int((elements / rest) ** (1 / shape.count(length))))
    return most


def _at(subject: Subject, sample: Sample, length: int, short: bool, by: int) -> _Large | None:
    """Return the grid for a length that is replaced, and the others short where that is asked."""
    others = sizes.lengths_of(sample) if short else []
    lengths = {**{one: min(one, 2) for one in others}, length: by}
    shapes = [tuple([lengths.get(n, n) for n in one]) for one in sample.shapes]
    grid = _grid_of(subject, sample, shapes)
    if grid is None:
        return None
    return _Large(lengths, max(math.prod(one) for one in shapes), grid)


def _large(subject: Subject, sample: Sample, *, short: bool = True) -> Iterator[_Large]:
    """Yield grids of the author's own for large sizes, the smallest first."""
    if not _has_own_grid(subject, sample):
        return
    kinds = (True, False) if short else (False,)
    for elements, one, length in itertools.product(LARGE, kinds, sizes.lengths_of(sample)[::-1]):
        by = _length_for(sample, length, one, elements)
        found = _at(subject, sample, length, one, by) if by > length else None
        if found is not None:
            yield found


def _folds(grid: Grid) -> bool:
    """Say whether a grid has so many workgroups that one axis cannot hold them."""
    return _total(grid) > FOLD and grid[1] > 1 and max(grid) <= FOLD


def _grid_of(subject: Subject, sample: Sample, shapes: Sequence[tuple[int, ...]]) -> Grid | None:
    """Return what ``groups=`` gives for shapes; None where they are refused, or more is needed."""
    declared, shader = find_signature(subject.name), subject.shader
    if declared is None or len(declared.inputs) != len(shapes):
        return None
    if shader is None or shader.groups is None:
        return None
    specs = [Spec(one, dtype) for one, dtype in zip(shapes, sample.input_dtypes, strict=True)]
    try:
        attrs = declared.check_attrs(dict(sample.attrs))
        made = declared.infer(specs, attrs)
        inputs = zip(subject.input_names, specs, strict=True)
        pairs = [*inputs, *zip(made.names, made.specs, strict=True)]
        facts = tensor_facts({name: Argument(one.shape, one.dtype) for name, one in pairs})
        return grid_of(subject.name, call_with(shader.groups, {**attrs, **facts}, subject.name))
    except Exception as error:  # the signature refuses the size, or params= gives what it needs
        faults.note(error)
        return None


def is_open_to_nan(subject: Subject, sample: Sample) -> bool:
    """Say whether an author's shader compares floats, and never asks for NaN itself.

    Our own kernels promise what they give for NaN, whatever they are made of.
    """
    if subject.is_ours:
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
