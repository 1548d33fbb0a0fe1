"""Composing scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.elements import add_elements, add_places

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.wgsl.syntax.tree import Function


def add_scan(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of scans call; return the author's ``combine``.

    Args:
        composer: The kernel being composed.
        stage: ``whole`` does everything at once; ``partial`` writes the total of each part,
            ``final`` scans a part, beginning with the totals before it.
        wide: The input is bound as vec4, so that four elements are loaded together.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    operand = composer.inputs[0]
    is_strided = operand.access == "strided"
    add_elements(composer, stage, wide=wide, strided=is_strided)
    if is_strided:
        add_places(composer, operand, "x", kept=operand.rank, begin="wk_at")
    return composer.source.functions["combine"]
