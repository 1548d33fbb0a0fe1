"""Composing windows: y[place, channel] = finish(combine of lift(x) over the window there)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.assembly import Offer
from wgsl_kernels.backends.webgpu.composing.elements import add_elements, load_text
from wgsl_kernels.backends.webgpu.composing.source import load_skeleton
from wgsl_kernels.backends.webgpu.composing.totals import (
    held,
    loaded_partial,
    partials_type,
    stored_partial,
    total_type,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.totals import Stage
    from wgsl_kernels.backends.webgpu.wgsl.facts import Function

Unit = Literal["one", "fours", "small"]

PLACE = "band * wk_params.wk_size + i"
"""Where the total of a band of a window lies."""
WORDS = ("wk_x_offset", "wk_channels", "wk_size", "wk_bands", "wk_bands_across")
PAIRS = ("wk_image", "wk_places", "wk_window", "wk_step", "wk_dilation", "wk_before", "wk_extent")


@dataclass(frozen=True, slots=True)
class Window:
    """One stage of a window kernel, being composed.

    Attributes:
        composer: The kernel.
        unit: What an invocation takes: ``one`` channel of a place; ``fours``: four channels;
            ``small``: four channels of two places, windows being of few elements.
        stage: ``whole`` does everything at once; ``partial`` writes the total of each band of a
            window, ``final`` joins them.
        wide: The input is bound as vec4, so that four elements are loaded together.
    """

    composer: Composer
    unit: Unit
    stage: Stage
    wide: bool


def window_skeleton(unit: str, stage: Stage) -> str:
    """Return the path of the loop around a stage."""
    return f"families/window_{'totals' if stage == 'final' else unit}.wgsl"


def add_window(window: Window) -> Function:
    """Add what the window skeletons call; return the author's ``combine``.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    composer, stage = window.composer, window.stage
    add_elements(composer, wide=window.wide)
    offers, helpers = composer.assembly.offers, composer.assembly.helpers
    offers["wk_x_strides"] = Offer("vec4<u32>", "wk_x_strides")
    offers |= {name: Offer("u32", name) for name in WORDS}
    offers |= {name: Offer("vec2<u32>", name) for name in PAIRS}
    helpers["wk_window_at"] = lambda: load_skeleton("families/window_part.wgsl").facts.text.text
    helpers["wk_load"] = lambda: load_text(composer, composer.inputs[0], "i")
    in_bands = stage == "partial"
    helpers["wk_band"] = lambda: _BAND if in_bands else _ONE_BAND
    helpers["wk_band_begin"] = lambda: _BAND_BEGIN if in_bands else _BEGIN
    helpers["wk_band_end"] = lambda: _BAND_END if in_bands else _END
    helpers["wk_emit"] = lambda: _emit(window)
    helpers["wk_emit4"] = lambda: _EMIT_PARTS if in_bands else _EMIT_FOUR
    helpers["wk_held"] = lambda: _held(composer)
    helpers["wk_partial"] = lambda: _partial(composer)
    if stage != "whole":
        composer.partials = partials_type(composer)
        composer.writes_partials = in_bands
    return composer.source.functions["combine"]


def _emit(window: Window) -> str:
    signature = "fn wk_emit(i: u32, band: u32, total: wk_Total, n: u32)"
    if window.stage != "partial":
        return f"{signature} {{ wk_store(i, wk_finished(total, n)); }}"
    return f"{signature} {{ {stored_partial(window.composer, PLACE)} }}"


def _held(composer: Composer) -> str:
    value = held(composer.types, total_type(composer), "total")
    return f"fn wk_held(total: wk_Total) -> wk_Total {{ return {value}; }}"


def _partial(composer: Composer) -> str:
    value = loaded_partial(composer, PLACE)
    return f"fn wk_partial(i: u32, band: u32) -> wk_Total {{ return {value}; }}"


_ONE_BAND = "fn wk_band(number: u32, units: u32) -> u32 { return 0u; }"
_BAND = "fn wk_band(number: u32, units: u32) -> u32 { return number / units; }"
_BEGIN = "fn wk_band_begin(window: wk_Window, band: u32) -> vec2<u32> { return window.begin; }"
_END = "fn wk_band_end(window: wk_Window, band: u32) -> vec2<u32> { return window.end; }"
_BAND_BEGIN = """fn wk_band_begin(window: wk_Window, band: u32) -> vec2<u32> {
  let across = wk_params.wk_bands_across;
  let first = vec2<u32>(band / across, band % across) * wk_params.wk_extent;
  return max(window.begin, first);
}"""
_BAND_END = """fn wk_band_end(window: wk_Window, band: u32) -> vec2<u32> {
  let across = wk_params.wk_bands_across;
  let first = vec2<u32>(band / across, band % across) * wk_params.wk_extent;
  return min(window.end, first + wk_params.wk_extent);
}"""
_EMIT_FOUR = """fn wk_emit4(i: u32, band: u32, totals: array<wk_Total, 4>, n: u32) {
  wk_store4(i, vec4<T_y>(
    wk_finished(totals[0], n), wk_finished(totals[1], n),
    wk_finished(totals[2], n), wk_finished(totals[3], n)
  ));
}"""
_EMIT_PARTS = """fn wk_emit4(i: u32, band: u32, totals: array<wk_Total, 4>, n: u32) {
  wk_emit(i, band, totals[0], n);
  wk_emit(i + 1u, band, totals[1], n);
  wk_emit(i + 2u, band, totals[2], n);
  wk_emit(i + 3u, band, totals[3], n);
}"""
