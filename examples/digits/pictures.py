"""The pictures: loss curves, how the backends differ, predictions, and shares of tolerances.

Each function draws on the axes that it is given; `svg` makes a picture for the report whose ink is
the text colour of the page, light or dark, and `write_overview` one file with all of them.
"""

import io
import math
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from findings import Findings
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

INK = "#57606a"
COLORS = {"cpu": "#2f7ed8", "webgpu": "#f07c24"}
WRONG = "#e5484d"
DIGITS = matplotlib.colormaps["bone"]
STYLE = {
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
    pairs = zip(cpu.values, gpu.values, strict=True)
    most = [max(float(np.abs(a[name] - b[name]).max()) for name in a) for a, b in pairs]
    axes.plot(ends, most, "o-", color=WRONG, markersize=4, label="any variable, at most")
    axes.set(xlabel="step", ylabel="|webgpu - cpu|", yscale="log")
    axes.grid(axis="y")
    axes.legend(loc="lower right")


def draw_predictions(axes: Axes, found: Findings) -> None:
    """Draw all held-out digits, the mistakes framed and named: what it is, what was said."""
    images, labels = found.digits.test_images[..., 0], found.digits.test_labels
    columns = math.ceil(math.sqrt(2 * len(images)))
    rows, pitch = math.ceil(len(images) / columns), images.shape[1] + 1
    sheet = np.full((rows * pitch + 1, columns * pitch + 1), np.nan)
    corners = [(pitch * (i // columns) + 1, pitch * (i % columns) + 1) for i in range(len(images))]
    for image, (top, left) in zip(images, corners, strict=True):
        sheet[top : top + pitch - 1, left : left + pitch - 1] = image
    axes.imshow(sheet, cmap=DIGITS, interpolation="nearest")
    for index in found.mistakes:
        top, left = corners[index]
        place, size = (left - 1.0, top - 1.0), pitch
        axes.add_patch(Rectangle(place, size, size, fill=False, color=WRONG, linewidth=1.8))
        said = next(p for run in found.runs if (p := run.predictions[index]) != labels[index])
        words = f"{labels[index]}→{said}"
        flag = {"facecolor": WRONG, "edgecolor": "none", "pad": 0.8}
        where = (left + pitch / 2 - 1, top + pitch - 2)
        axes.text(*where, words, color="white", fontsize=5.5, ha="center", va="center", bbox=flag)
    axes.axis("off")


def draw_parity(axes: Axes, found: Findings) -> None:
    """Draw how much of its tolerance each kernel's worst element takes; 1 is the limit."""
    names = [one.kernel for one in found.parities]
    floor = 2e-4
    for offset, backend in zip((0.17, -0.17), COLORS, strict=True):
        if backend not in found.costs:
            continue
        for kind, marker, fill in (("forward", "o", COLORS[backend]), ("gradient", "D", "none")):
            points = [
                (max(checks[backend].used, floor), row + offset)
                for row, one in enumerate(found.parities)
                if backend in (checks := getattr(one, kind))
            ]
            style = {"facecolors": fill, "edgecolors": COLORS[backend], "linewidths": 1.0}
            where = zip(*points, strict=True)
            axes.scatter(*where, s=16, marker=marker, label=f"{backend}, {kind}", **style)
    axes.axvline(1.0, color=WRONG, linewidth=1.2)
    axes.set(xscale="log", xlim=(floor / 1.5, 1.6), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("share of the tolerance that the worst element takes")
    axes.grid(axis="both")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, 1.09), ncols=4, fontsize=8)


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
    titles: dict[str, tuple[str, Drawing]] = {
        "a": ("The same training on both backends", draw_losses),
        "b": ("How far they are apart", draw_difference),
        "c": (f"Held-out digits: {len(found.mistakes)} mistakes", draw_predictions),
        "d": ("Every kernel against its tolerance", draw_parity),
    }
    if len(found.runs) == 1:
        del titles["b"]
    with matplotlib.rc_context(STYLE):
        figure = Figure((12, 7.6), layout="constrained", dpi=110)
        layout = "ad;bd;cd" if "b" in titles else "ad;cd"
        panels = figure.subplot_mosaic(layout, height_ratios=[1] * (layout.count(";")) + [1.35])
        for name, (title, draw) in titles.items():
            draw(panels[name], found)
            high = 24 if name == "d" else 6
            panels[name].set_title(title, loc="left", fontsize=11, fontweight="bold", pad=high)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, facecolor="white")


def _positive(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, np.nan)
