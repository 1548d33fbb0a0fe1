"""The pictures: loss curves, how the backends differ, predictions, and shares of tolerances.

Each function draws on the axes that it is given; `svg` makes a picture for the report whose ink is
the text colour of the page, light or dark, and `write_overview` one file with all of them.
"""

import io
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from findings import Findings

INK = "#57606a"
COLORS = {"cpu": "#2f7ed8", "webgpu": "#f07c24"}
WRONG = "#e5484d"
DIGITS = matplotlib.colormaps["bone"]
EXACT, SMALLEST = 1.5e-4, 4e-4
"""Where a share of 0 is drawn on a logarithmic scale, and one that is almost 0."""
STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": INK,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "digits",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}

Drawing = Callable[[Axes, Findings], None]


def draw_losses(axes: Axes, found: Findings) -> None:
    """Draw the loss of every step; of equal curves the thin one lies on the broad one."""
    for run, (width, alpha) in zip(found.runs, ((4.0, 0.4), (1.0, 1.0)), strict=False):
        color = COLORS[run.backend]
        axes.plot(run.losses, color=color, linewidth=width, alpha=alpha, label=run.backend)
    axes.set(xlabel="step", ylabel="loss", yscale="log")
    axes.grid(axis="y")
    axes.legend(loc="upper right")


def draw_difference(axes: Axes, found: Findings) -> None:
    """Draw how far the backends are apart: the loss at each step, the variables at each epoch."""
    cpu, gpu = found.runs
    apart = np.abs(np.array(cpu.losses) - np.array(gpu.losses))
    axes.plot(_positive(apart), ".", color=INK, markersize=3, alpha=0.6, label="loss, each step")
    per_epoch = len(cpu.losses) // len(cpu.values)
    ends = per_epoch * np.arange(1, len(cpu.values) + 1)
    epochs = zip(cpu.values, gpu.values, strict=True)
    most = [max(float(np.abs(a - b).max()) for a, b in zip(*pair, strict=True)) for pair in epochs]
    axes.plot(ends, most, "o-", color=WRONG, markersize=4, label="any variable, at most")
    axes.set(xlabel="step", ylabel="|webgpu - cpu|", yscale="log")
    axes.grid(axis="y")
    axes.legend(loc="lower right")


def draw_predictions(axes: Axes, found: Findings, most: int = 10_000) -> None:
    """Draw held-out digits, the mistakes framed and named: what it is, what was said."""
    chosen = _chosen(found, most)
    columns = math.ceil(math.sqrt(2 * len(chosen)))
    pitch = found.digits.test_images.shape[1] + 1
    corners = {
        index: (pitch * (place // columns), pitch * (place % columns))
        for place, index in enumerate(chosen)
    }
    rows = math.ceil(len(chosen) / columns)
    sheet = np.full((rows * pitch + 1, columns * pitch + 1), np.nan)
    for index, (top, left) in corners.items():
        image = found.digits.test_images[index, ..., 0]
        sheet[top + 1 : top + pitch, left + 1 : left + pitch] = image
    axes.imshow(sheet, cmap=DIGITS)
    for index in found.mistakes:
        _mark(axes, found, index, corners[index], pitch)
    axes.axis("off")


def _chosen(found: Findings, most: int) -> np.ndarray:
    """Return the digits to draw, by index in order: all mistakes, and others as there is room."""
    others = np.setdiff1d(np.arange(len(found.digits.test_labels)), found.mistakes)
    room = min(max(most - len(found.mistakes), 0), len(others))
    spread = others[np.linspace(0, len(others) - 1, room).astype(int)]
    return np.sort(np.concatenate([found.mistakes, spread]))


def _mark(axes: Axes, found: Findings, index: int, corner: tuple[int, int], pitch: int) -> None:
    top, left = corner
    label = found.digits.test_labels[index]
    said = next(p for run in found.runs if (p := run.predictions[index]) != label)
    axes.add_patch(Rectangle((left, top), pitch, pitch, fill=False, color=WRONG, linewidth=2))
    flag = {"facecolor": WRONG, "edgecolor": "none", "pad": 1}
    style: Any = {"fontsize": 6.5, "ha": "center", "va": "center", "bbox": flag}
    axes.text(left + pitch / 2, top + pitch, f"{label}→{said}", color="white", **style)


def draw_parity(axes: Axes, found: Findings) -> None:
    """Draw how much of its tolerance each kernel's worst element takes; 1 is the limit."""
    names = [one.kernel for one in found.parities]
    for offset, backend in zip((0.17, -0.17), COLORS, strict=True):
        for kind, marker, fill in (("forward", "o", COLORS[backend]), ("gradient", "D", "none")):
            shares = [
                (row + offset, checks[backend].used)
                for row, one in enumerate(found.parities)
                if backend in (checks := getattr(one, kind))
            ]
            axes.scatter(
                [max(share, SMALLEST) if share else EXACT for _, share in shares],
                [row for row, _ in shares],
                edgecolors=COLORS[backend],
                facecolors=fill,
                label=f"{backend}, {kind}" if shares else None,
                linewidths=1.0,
                marker=marker,
                s=16,
            )
    axes.axvline(1.0, color=WRONG, linewidth=1.2)
    axes.set(xscale="log", xlim=(EXACT / 1.5, 1.6), ylim=(len(names) - 0.5, -0.5))
    axes.set_xticks([EXACT, 1e-3, 1e-2, 1e-1, 1.0], ["exact", "0.1 %", "1 %", "10 %", "limit"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("share of the tolerance that the worst element takes")
    axes.grid(axis="both")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    above = {"bbox_to_anchor": (0.5, 1.0), "borderaxespad": 0.2}
    axes.legend(loc="lower center", ncols=4, fontsize=8, columnspacing=1.2, **above)


def svg(draw: Drawing, found: Findings, width: float, height: float) -> str:
    """Return a drawing of this size, in inches, as an element of a page."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure = Figure((width, height), layout="constrained")
        draw(figure.add_subplot(), found)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    picture = text.getvalue()
    return picture[picture.index("<svg") :].replace(INK, "currentColor")


def write_overview(path: Path, found: Findings) -> None:
    """Write all pictures as one, on white."""
    mistakes = f"{len(found.mistakes)} mistakes in {len(found.digits.test_labels)}"
    titles: dict[str, tuple[str, Drawing]] = {
        "losses": ("The same training on both backends", draw_losses),
        "difference": ("How far the backends are apart", draw_difference),
        "predictions": (f"Held-out digits: {mistakes}", partial(draw_predictions, most=128)),
        "parity": ("Every kernel against its tolerance", draw_parity),
    }
    left = [name for name in titles if name != "parity"]
    if len(found.runs) == 1:
        left.remove("difference")
    with matplotlib.rc_context(STYLE):
        figure = Figure((12, 8.6), layout="constrained", dpi=100)
        heights = [2.0 if name == "predictions" else 1.2 for name in left]
        layout: Any = [[name, "parity"] for name in left]
        for name, axes in figure.subplot_mosaic(layout, height_ratios=heights).items():
            title, draw = titles[str(name)]
            draw(axes, found)
            high = 22 if name == "parity" else 6
            axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=high)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, facecolor="white")


def _positive(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, np.nan)
