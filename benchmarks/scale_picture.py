"""The picture of what the simulation says of up to 1,024 workers, with its assumptions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.plots import GRID, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = ("#0b6e4f", "#1f5fa8", "#e4572e", "#7b4ea3")
Trained = Mapping[tuple[float, float, str], Sequence[float]]
"""Efficiencies by milliseconds of computing, MB of gradient, and its dtype."""
Overlapped = Mapping[float, Sequence[float]]
"""Speed-ups by milliseconds of computing a chunk."""


def draw(
    workers: Sequence[int], trained: Trained, overlapped: Overlapped, words: str, path: Path
) -> None:
    """Draw efficiencies of training beside speed-ups of ``map_overlap``, and ``words`` below."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.9))
    figure.subplots_adjust(left=0.065, right=0.985, top=0.9, bottom=0.25, wspace=0.16)
    left, right = figure.subplots(1, 2)
    _draw_training(left, workers, trained)
    _draw_overlap(right, workers, overlapped)
    figure.text(0.01, 0.015, words, fontsize=7.5, color="#5b6570", linespacing=1.35)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})


def _draw_training(axes: "Axes", workers: Sequence[int], trained: Trained) -> None:
    sizes = list(dict.fromkeys((compute, megabytes) for compute, megabytes, _ in trained))
    for shade, (compute, megabytes) in zip(SHADES, sizes, strict=False):
        for dtype, dashes in (("float32", "-"), ("float16", "--")):
            line = [100 * one for one in trained[compute, megabytes, dtype]]
            label = f"{compute:g} ms, {megabytes:g} MB" if dtype == "float32" else None
            axes.plot(workers, line, dashes, color=shade, marker="o", markersize=3, label=label)
    axes.plot([], [], "--", color=INK, label="the same, summed in float16")
    axes.set_ylim(0, 102)
    _frame(axes, workers, "Training: part of the time that workers compute, %")
    axes.legend(fontsize=8, frameon=False, loc="lower left")


def _draw_overlap(axes: "Axes", workers: Sequence[int], overlapped: Overlapped) -> None:
    axes.plot(workers, workers, ":", color=INK, linewidth=1, label="linear")
    for shade, (compute, line) in zip(SHADES, overlapped.items(), strict=False):
        axes.plot(workers, line, color=shade, marker="o", markersize=3, label=f"{compute:g} ms")
    axes.set_yscale("log", base=2)
    axes.set_yticks(workers, [f"{one:,}" for one in workers])
    _frame(axes, workers, "map_overlap: speed-up, by the time to compute a chunk")
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def _frame(axes: "Axes", workers: Sequence[int], title: str) -> None:
    axes.set_title(title, loc="left", fontsize=9.5, fontweight="bold", color=INK)
    axes.set_xscale("log", base=2)
    axes.set_xticks(workers, [f"{one:,}" for one in workers])
    axes.set_xlabel("workers", fontsize=8, color=INK)
    axes.tick_params(labelsize=8, colors=INK, length=0)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(False)
