"""Composing scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k).

Whatever reads the input goes through ``wk_load(i)`` and ``wk_load4(i)``, whatever writes the output
through ``wk_store`` and ``wk_store4``: ``i`` is the element's row-major index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.elements import add_elements, load_text
from wgsl_kernels.backends.webgpu.composing.forms.totals import add_partials
from wgsl_kernels.backends.webgpu.composing.text.indexing import dot, unravel

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.wgsl.facts.facts import FunctionDeclaration


def add_scan(composer: Composer, stage: Stage, *, wide: bool) -> FunctionDeclaration:
    """Add what the templates of scans call; return the author's ``combine``.

    Args:
        composer: The kernel being composed.
        stage: ``whole`` does everything at once; ``partial`` writes the total of each part,
            ``final`` scans a part, beginning with the totals before it.
        wide: The input is bound as vec4, so that four elements are loaded together.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    add_elements(composer, wide=wide)
    add_partials(composer, stage)
    operand = composer.inputs[0]
    composer.assembly.helpers["wk_load"] = lambda: _load(composer, operand)
    return composer.source.functions["combine"]


def _load(composer: Composer, operand: Operand) -> str:
    if operand.access != "strided":
        return load_text(composer, operand, "i")
    sizes = composer.slots("wk_shape", "wk_shape", operand.rank, pad=1)
    lines, coordinates = unravel("i", sizes, "wk_c")
    name = f"wk_{operand.wgsl}"
    strides = composer.slots(f"{name}_strides", f"wk_{operand.name}_strides", operand.rank)
    offset = composer.word(f"{name}_offset", f"wk_{operand.name}_offset")
    return load_text(composer, operand, dot(coordinates, strides, offset), lines)
