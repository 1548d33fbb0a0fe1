"""The results as pictures of ratios: against TensorFlow.js, the raw limit, and on the CPU."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.items import ITEMS
from benchmarks.results import Results, in_words, times_faster
from benchmarks.table import TITLES
from benchmarks.targets import AGAINST_TFJS, in_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "ours": "#0b6e4f",
    "captured": "#2fbf71",
    "limit": "#8a8d91",
    "tfjs": "#e4572e",
    "tinygrad": "#7b4ea3",
    "ours-cpu": "#1f5fa8",
    "numpy": "#e0a526",
    "torch": "#c2185b",
}
MARKERS = {
    "ours": "o",
    "captured": "o",
    "limit": "|",
    "tinygrad": "D",
    "ours-cpu": "o",
    "torch": "s",
}
GRID, INK, BAND = "#d9dce0", "#24292f", "#f4f6f8"
WELL_KNOWN = (
    "matmul-1024", "sum-rows", "softmax", "layer-norm", "conv-3x3", "cumulative-sum", "fft",
    "mlp-step", "cnn-step", "mobilenet", "transformer",
)  # fmt: skip
"""The items of the summary: what a visitor looks for."""
FEWEST = 3
"""The rows that a picture has room for, at least."""
ROW = 0.215
"""The height of an item, in inches."""


def draw(results: Results, folder: Path, stem: str) -> list[tuple[Path, str]]:
    """Draw the plots for which there are results into ``folder``.

    Returns:
        Each picture's file, and what it shows in a sentence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for name, (plot, words) in PLOTS.items():
        figure = plot(results)
        if figure is not None:
            path = folder / f"{stem}-{name}.svg"
            figure.savefig(path, metadata={"Date": None})
            pictures.append((path, words))
    return pictures


def draw_summary(results: Results, folder: Path, stem: str) -> Path | None:
    """Draw a few well-known items on one picture into ``folder``, where they were measured."""
    figure = summary(results)
    if figure is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-summary.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def summary(results: Results) -> "Figure | None":
    """Draw how many times faster than TensorFlow.js ours and tinygrad are, for a few items."""
    return _dots(
        results,
        "tfjs",
        ("tinygrad", "captured"),
        "Times faster than TensorFlow.js on the same adapter",
        among=WELL_KNOWN,
    )


def against_tensorflow_js(results: Results) -> "Figure | None":
    """Draw how many times faster than TensorFlow.js each peer on the GPU is."""
    peers = ("tinygrad", "limit", "ours", "captured")
    title = "How many times faster than TensorFlow.js"
    figure = _dots(results, "tfjs", peers, title)
    if figure is not None:
        rows = _rows(results, "tfjs", peers)
        wanted = {item: ratio for ratio, names in AGAINST_TFJS.values() for item in names}
        axes = figure.axes[0]
        marks = [(wanted[name], i) for i, name in enumerate(rows) if name in wanted]
        if marks:
            ratios, places = zip(*marks, strict=True)
            axes.scatter(ratios, places, marker="4", s=70, color=INK, zorder=4)
            axes.scatter([], [], marker="4", s=70, color=INK, label="target")
            _legend(axes)
    return figure


def against_the_limit(results: Results) -> "Figure | None":
    """Draw which part of the raw shader's speed ours reaches."""
    peers = ("ours", "captured")
    title = "Which part of the best raw WGSL's speed ours reaches"
    return _dots(results, "limit", peers, title, mark=0.9)


def on_the_cpu(results: Results) -> "Figure | None":
    """Draw how our CPU backend and PyTorch compare with plain NumPy."""
    return _dots(results, "numpy", ("torch", "ours-cpu"), "How many times faster than NumPy")


PLOTS: dict[str, tuple[Callable[[Results], "Figure | None"], str]] = {
    "tfjs": (
        against_tensorflow_js,
        "Each dot is a time of TensorFlow.js divided by a peer's on the same adapter.",
    ),
    "limit": (
        against_the_limit,
        "The raw shader's time divided by ours: at 1 the library costs nothing.",
    ),
    "cpu": (
        on_the_cpu,
        "NumPy's time divided by that of our CPU backend, and by PyTorch's on the same cores.",
    ),
}


def _rows(
    results: Results, than: str, peers: Sequence[str], among: Sequence[str] | None = None
) -> list[str]:
    """Return the items for which there is a ratio, of all or of those ``among`` them."""
    return [
        name
        for name in (ITEMS if among is None else among)
        if any(times_faster(results, name, than, ours=peer) is not None for peer in peers)
    ]


def _dots(
    results: Results,
    than: str,
    peers: Sequence[str],
    title: str,
    mark: float = 1.0,
    among: Sequence[str] | None = None,
) -> "Figure | None":
    """Draw a row per item with a dot per peer, on a logarithmic scale of ratios."""
    from matplotlib.figure import Figure

    rows = _rows(results, than, peers, among)
    if not rows:
        return None
    figure = Figure(figsize=(8.6, 1.35 + ROW * max(len(rows), FEWEST)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xscale("log")
    for begin, end, family in _families(rows):
        axes.axhspan(begin - 0.5, end - 0.5, color=BAND if family % 2 else "white", zorder=0)
    for peer in peers:
        ratios = [times_faster(results, name, than, ours=peer) for name in rows]
        known = [(one, i) for i, one in enumerate(ratios) if one is not None]
        if known:
            _scatter(axes, known, peer)
    _label_best(axes, results, rows, than, peers)
    _frame(axes, rows, mark, than)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    axes.set_title(in_words(results["adapter"]), loc="left", fontsize=8, color="#5b6570", pad=36)
    _legend(axes)
    return figure


def _scatter(axes: "Axes", points: list[tuple[float, int]], peer: str) -> None:
    large = peer in ("ours", "captured", "ours-cpu", "limit")
    ratios, places = zip(*points, strict=True)
    axes.scatter(
        ratios,
        places,
        s={True: 44, False: 22}[large] if peer != "limit" else 110,
        marker=MARKERS.get(peer, "o"),
        color=COLOURS[peer],
        linewidths=2 if peer == "limit" else 0.6,
        edgecolors=None if peer == "limit" else "white",
        label=TITLES[peer],
        zorder=3 if large else 2,
    )


def _label_best(
    axes: "Axes", results: Results, rows: list[str], than: str, peers: Sequence[str]
) -> None:
    """Write the ratio of our best at the right edge."""
    own = [peer for peer in peers if peer in ("ours", "captured", "ours-cpu")]
    for i, name in enumerate(rows):
        ratios = [times_faster(results, name, than, ours=peer) for peer in own]
        best = max((one for one in ratios if one is not None), default=None)
        if best is not None:
            place: Any = axes.get_yaxis_transform()
            axes.text(
                1.01,
                i,
                f"{in_digits(best)}×",
                transform=place,
                va="center",
                fontsize=7.5,
                color=INK if best >= 1 or than == "limit" else "#b3261e",
            )


def _frame(axes: "Axes", rows: list[str], mark: float, than: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.axvline(1.0, color=COLOURS[than], linewidth=1.4, zorder=1, label=TITLES[than])
    if mark != 1.0:
        dashes = (0, (4, 3))
        axes.axvline(mark, color=INK, linewidth=0.8, linestyle=dashes, zorder=1, label="target")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.8), max(high, 1.3))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.tick_params(axis="x", labelsize=8, colors=INK, top=True, labeltop=True)
    axes.set_yticks(range(len(rows)), rows, fontsize=8, color=INK)
    axes.set_ylim(max(len(rows), FEWEST) - 0.5, -0.5)
    axes.grid(axis="x", color=GRID, linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(False)


def _legend(axes: "Axes") -> None:
    """Put the legend on a line of its own, between the adapter's name and the scale."""
    inches = ROW * axes.get_ylim()[0]
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1 + 0.24 / inches),
        ncols=6,
        fontsize=8,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.4,
        borderaxespad=0.0,
    )


def _families(rows: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield where each family begins and ends among the rows, and its number."""
    begin, number = 0, 0
    for i in range(1, len(rows) + 1):
        if i == len(rows) or ITEMS[rows[i]].family != ITEMS[rows[begin]].family:
            yield begin, i, number
            begin, number = i, number + 1
