"""Composing windows: y[place, channel] = finish(combine of lift(x) over the window there)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.elements import add_elements
from wgsl_kernels.backends.webgpu.composing.forms.totals import held, total_type
from wgsl_kernels.backends.webgpu.composing.text.slots import fill_slot

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.wgsl.syntax.tree import Function


def add_window(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of windows call; return the author's ``combine``.

    Args:
        composer: The kernel being composed.
        stage: ``whole`` does everything at once; ``partial`` leaves the total of each band of a
            window, ``final`` joins them.
        wide: The input is bound as vec4, so that four elements are loaded together.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    add_elements(composer, stage, wide=wide)
    composer.assembly.helpers["wk_held"] = lambda: _held(composer)
    return composer.source.functions["combine"]


def _held(composer: Composer) -> str:
    value = held(composer.layouts, composer.types.of(total_type(composer)), "total")
    return fill_slot("templates/window_slots.wesl", "wk_held", [f"return {value};"])
