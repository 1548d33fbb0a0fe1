"""Composing what combines elements: reductions, scans and windows.

- Reductions: y[row] = finish(combine of lift(x[row, i]) over i), and the maps of rows.
- Scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k).
- Windows: y[place, channel] = finish(combine of lift(x) over the window there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.forms.elements import add_elements, add_places
from wgsl_kernels.backends.webgpu.composing.forms.exchanges import exchanged
from wgsl_kernels.backends.webgpu.composing.forms.normalizations import add_writes
from wgsl_kernels.backends.webgpu.composing.forms.totals import held, total_type
from wgsl_kernels.backends.webgpu.composing.text.instances import fill_slot

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.syntax.tree import Function

CHUNK = 16384
"""The most elements that one workgroup or one invocation reduces. Longer rows take two stages."""

Variant = Literal["rows", "columns", "eights", "lanes", "subgroups"]


def is_normalization(source: Source) -> bool:
    """Say whether a reduction also maps the elements that it has reduced."""
    return "apply" in source.functions


def add_reduction(
    composer: Composer, stage: Stage, kept: int, *, wide: bool, beside: bool
) -> Function:
    """Add what the templates of reductions call; return the author's ``combine``.

    The first ``kept`` axes of the input remain. Stage ``partial`` reduces each part of a row,
    ``final`` the partial results, ``apply`` does too and maps one part. With ``wide`` the input,
    and a normalization's output, is bound as vec4: all four elements loaded together lie together,
    at a multiple of four. With ``beside`` an invocation takes neighbouring rows, whose elements are
    neighbours.
    """
    has_writes = is_normalization(composer.source) and stage in ("whole", "apply")
    add_elements(composer, stage, wide=wide, wide_result=has_writes and wide, may_pass_end=False)
    together = wide and not beside
    add_places(composer, composer.inputs[0], "x", kept=kept, neighbours=together)
    composer.assembly.helpers["wk_exchanged"] = lambda: exchanged(composer)
    if has_writes:
        add_writes(composer, beside=beside)
        add_places(composer, composer.outputs[0], "y", kept=kept, neighbours=together)
    return composer.source.functions["combine"]


def add_scan(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of scans call; return the author's ``combine``.

    Stage ``partial`` writes the total of each part, ``final`` scans a part, beginning with the
    totals before it.
    """
    operand = composer.inputs[0]
    is_strided = operand.access == "strided"
    add_elements(composer, stage, wide=wide, strided=is_strided)
    if is_strided:
        add_places(composer, operand, "x", kept=operand.rank, begin="wk_at")
    return composer.source.functions["combine"]


def add_window(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of windows call; return the author's ``combine``.

    Stage ``partial`` leaves the total of each band of a window, ``final`` joins them.
    """
    add_elements(composer, stage, wide=wide)
    composer.assembly.helpers["wk_held"] = lambda: _held(composer)
    return composer.source.functions["combine"]


def _held(composer: Composer) -> str:
    value = held(composer.layouts, composer.types.of(total_type(composer)), "total")
    return fill_slot("templates/window_slots.wesl", "wk_held", [f"return {value};"])
