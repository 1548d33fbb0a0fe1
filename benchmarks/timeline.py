"""Draw one training step in time: op by op, fused, and captured; a picture for the docs."""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.plots import GRID, INK
from benchmarks.replays import training_step
from benchmarks.results import in_words

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURE = Path("docs/images/training-step.png")
WARM = 6
"""Steps before the first that counts: structures are fused from their second run on, and variants
of kernels are measured, which never happens in a profile."""
ROUNDS = 60
FAMILIES = {
    "matrix product": "#1f5fa8",
    "product with maps": "#7b4ea3",
    "reduction": "#e0a526",
    "reduction with maps": "#e4572e",
    "map": "#9ad5b4",
    "several maps": "#0b6e4f",
    "copy": "#8a8d91",
}
REDUCTIONS = {"Sum", "Mean", "Max", "Softmax", "LogSoftmax", "LogSumExp"}
WAYS = {
    "never": 'Op by op, with fusion = "never"',
    "auto": 'Fused, as it is without asking: fusion = "auto"',
    "captured": "Captured with wk.capture",
}
FAINT = "#5b6570"


@dataclass
class Way:
    """One way to run the step, and the least that was seen of it.

    Attributes:
        kernels: Those of each dispatch.
        device_ms: Each dispatch's time on the device.
        host_ms: What a step took of the calling thread's own time.
        wall_ms: A step by the clock, the wait for its end included.
        peak_bytes: The most that live arrays held during a step, the replay's memory included.
    """

    kernels: tuple[tuple[str, ...], ...] = ()
    device_ms: list[float] = field(default_factory=list)
    host_ms: float = float("inf")
    wall_ms: float = float("inf")
    peak_bytes: int = 0


def measure(rounds: int = ROUNDS) -> dict[str, Way]:
    """Return what a step takes in each way, taken in turns.

    Raises:
        RuntimeError: The adapter has no timestamps.
    """
    found: dict[str, Way] = {}
    with wk.use_backend("webgpu"):
        for name in WAYS:
            with _fused(name), _one_step(name) as step:
                found[name] = _first(step)
        for _ in range(rounds // 10):
            for name, way in found.items():
                with _fused(name), _one_step(name) as step:
                    for _ in range(10):
                        _time(way, step)
    return found


@contextmanager
def _fused(name: str) -> Iterator[None]:
    with wk.config.using(fusion="never" if name == "never" else "auto"):
        yield


@contextmanager
def _one_step(name: str) -> Iterator[Callable[[], Any]]:
    """Give a step with weights of its own, warmed up."""
    plain, arguments = training_step()
    chosen = wk.capture(plain) if name == "captured" else plain
    for _ in range(WARM):
        chosen(*arguments)
    for _ in range(WARM):
        wk.profile(lambda: chosen(*arguments))
    yield lambda: chosen(*arguments)
    if name == "captured":
        chosen.dispose()  # type: ignore[attr-defined]  # only a captured function has it


def _first(step: Callable[[], Any]) -> Way:
    """Return what a step consists of, and what it holds."""
    usual = Counter(
        tuple(row.kernels for row in wk.profile(step).dispatches) for _ in range(3)
    ).most_common(1)[0][0]
    live = wk.profile(step).peak_bytes
    kept = wk.memory().by_backend["webgpu"].captured_bytes
    return Way(usual, [float("inf")] * len(usual), peak_bytes=live + kept)


def _time(way: Way, step: Callable[[], Any]) -> None:
    rows = wk.profile(step).dispatches
    if tuple(row.kernels for row in rows) == way.kernels:
        for number, row in enumerate(rows):
            if row.device_ms is None:
                raise RuntimeError("the adapter cannot tell how long a dispatch takes")
            way.device_ms[number] = min(way.device_ms[number], row.device_ms)
    wk.synchronize()
    clock, thread = time.perf_counter(), time.thread_time()
    result = step()
    way.host_ms = min(way.host_ms, (time.thread_time() - thread) * 1e3)
    wk.synchronize()
    way.wall_ms = min(way.wall_ms, (time.perf_counter() - clock) * 1e3)
    del result


def family(kernels: Sequence[str]) -> str:
    """Return under which colour a dispatch of these kernels is drawn."""
    several = len(kernels) > 1
    if any("MatMul" in kernel for kernel in kernels):
        return "product with maps" if several else "matrix product"
    if kernels[0] == "Copy":
        return "copy"
    if REDUCTIONS.intersection(kernels):
        return "reduction with maps" if several else "reduction"
    return "several maps" if several else "map"


def draw(ways: dict[str, Way], adapter: str) -> "Figure":
    """Draw for each way its dispatches as a row of tiles, and as bars in time."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(11, 6.1), dpi=150, facecolor="white")
    most = max(len(way.kernels) for way in ways.values())
    longest = max(sum(way.device_ms) for way in ways.values())
    for number, (name, way) in enumerate(ways.items()):
        top = 0.815 - 0.272 * number
        tiles: Any = figure.add_axes((0.085, top - 0.056, 0.9, 0.033))
        bars: Any = figure.add_axes((0.085, top - 0.158, 0.9, 0.088))
        _tiles(tiles, way, most)
        _bars(bars, way, longest, is_last=number == len(ways) - 1)
        figure.text(0.085, top, WAYS[name], fontsize=10.5, fontweight="bold", color=INK)
        figure.text(0.985, top, _facts(way), fontsize=9.5, color=INK, ha="right")
    figure.text(
        0.015,
        0.962,
        "One training step of a network 784-256-10 with Adam, batch 64",
        fontsize=13.5,
        fontweight="bold",
        color=INK,
    )
    figure.text(0.015, 0.93, adapter, fontsize=9, color=FAINT)
    seen = {family(kernels) for way in ways.values() for kernels in way.kernels}
    figure.legend(
        handles=[Patch(color=FAMILIES[name], label=name) for name in FAMILIES if name in seen],
        loc="upper left",
        bbox_to_anchor=(0.006, 0.92),
        ncols=len(FAMILIES),
        fontsize=9,
        frameon=False,
        handlelength=1.1,
        handleheight=1.0,
        columnspacing=1.6,
    )
    return figure


def _facts(way: Way) -> str:
    dispatches = f"{len(way.kernels)} dispatches"
    device = f"{sum(way.device_ms):.1f} ms on the device"
    host = f"{_two_digits(way.host_ms)} ms of Python"
    return f"{dispatches}   ·   {device}   ·   {host}   ·   peak {way.peak_bytes / 1e6:.1f} MB"


def _two_digits(milliseconds: float) -> str:
    return f"{milliseconds:.1f}" if milliseconds >= 1 else f"{milliseconds:.2f}"


def _tiles(axes: "Axes", way: Way, most: int) -> None:
    """Draw a tile per dispatch, with the number of its kernels where there are several."""
    for number, kernels in enumerate(way.kernels):
        colour = FAMILIES[family(kernels)]
        axes.barh(0, 0.86, left=number, height=1, color=colour, linewidth=0)
        if len(kernels) > 1:
            axes.text(
                number + 0.43, 0, str(len(kernels)), color="white", fontsize=5.4,
                ha="center", va="center_baseline", fontweight="bold",
            )  # fmt: skip
    axes.set_xlim(0, most)
    axes.set_ylim(-0.5, 0.5)
    _bare(axes, "dispatches")
    axes.set_xticks([])


def _bars(axes: "Axes", way: Way, longest: float, *, is_last: bool) -> None:
    """Draw each dispatch as long as it takes, one after the other."""
    at = 0.0
    for kernels, spent in zip(way.kernels, way.device_ms, strict=True):
        axes.barh(0, spent, left=at, height=1, color=FAMILIES[family(kernels)], linewidth=0)
        axes.plot([at, at], [-0.5, 0.5], color="white", linewidth=0.35)
        if spent > 0.055 * longest:
            axes.text(
                at + spent / 2, 0, f"{_name(kernels)}\n{spent:.1f} ms", fontsize=7.5,
                color=INK if family(kernels) == "map" else "white", ha="center", va="center",
            )  # fmt: skip
        at += spent
    axes.axvline(at, color=INK, linewidth=0.9)
    axes.set_xlim(0, longest * 1.01)
    axes.set_ylim(-0.5, 0.5)
    _bare(axes, "their time")
    axes.tick_params(axis="x", labelsize=8, colors=INK, length=2.5)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    if is_last:
        axes.set_xlabel("milliseconds on the device, without the gaps between", fontsize=8.5)


def _name(kernels: Sequence[str]) -> str:
    return kernels[0] if len(kernels) == 1 else f"{len(kernels)} kernels"


def _bare(axes: "Axes", label: str) -> None:
    axes.set_yticks([0], [label], fontsize=8.5, color=FAINT)
    axes.tick_params(axis="y", length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=PICTURE, help="the picture, a PNG")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="steps that are timed")
    options = parser.parse_args()
    chosen = choose_adapter()
    if chosen is None:
        raise SystemExit("No WebGPU adapter was found.")
    info = chosen.info
    adapter = in_words({"name": info.name, "backend": info.backend, "driver": info.driver})
    ways = measure(options.rounds)
    for name, way in ways.items():
        print(f"{name}: {_facts(way)}, {way.wall_ms:.1f} ms by the clock")
    draw(ways, adapter).savefig(options.to, metadata={"Software": None})


if __name__ == "__main__":
    main()
