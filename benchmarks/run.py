"""Run every benchmark in a process of its own; show the figures and keep them by adapter."""

import argparse
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from wgsl_kernels.backends.webgpu.adapter import choose_adapter

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
NAMES = ("host_cost", "steady", "import_time")
BEGIN, END = "<!-- figures:begin -->\n", "<!-- figures:end -->"


def main() -> None:
    """Measure, print the table, and write the results, into the README too if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", action="store_true", help="also renew the README's table")
    options = parser.parse_args()
    console = Console(highlight=False)
    chosen = choose_adapter()
    if chosen is None:
        raise SystemExit("No WebGPU adapter was found; the benchmarks need one.")
    adapter = {
        "name": chosen.info.name,
        "driver": chosen.info.driver,
        "backend": chosen.info.backend,
    }
    results = {}
    for name in NAMES:
        with console.status(name):
            results[name] = _results_of(name)
    rows = list(_rows(results))
    console.print(_table(rows, _in_words(adapter)))
    console.print(f"kept in {_write(adapter, results)}")
    if options.readme:
        _renew_readme(rows, _in_words(adapter))


def _results_of(name: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / f"{name}.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _in_words(adapter: dict[str, str]) -> str:
    return f"{adapter['name']} through {adapter['backend']}, {adapter['driver']}"


def _rows(results: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield measure, figure and target."""
    host, steady, imports = (results[name] for name in NAMES)
    own = f"{host['own_us_median']:.1f} µs (least {host['own_us_min']:.1f})"
    yield "an eager op, the calling thread's own time", own, "15 µs"
    wall = f"{host['wall_us_median']:.1f} µs (least {host['wall_us_min']:.1f})"
    yield "an eager op, by the clock", wall, ""
    grown, steps = steady["grown"], f"{steady['series'][-1]['step']:,} training steps"
    alive = f"{grown['tensors']:+} tensors, {grown['buffers']:+} buffers, {grown['bytes']:+} bytes"
    yield f"alive after {steps}", alive, "flat"
    yield f"resident size after {steps}", f"{grown['resident_mib']:+.1f} MiB", "flat"
    seconds = f"{imports['seconds_median']:.3f} s (least {imports['seconds_min']:.3f})"
    yield "import, beyond NumPy's own", seconds, "0.08 s"
    left = "wgpu" if imports["imports_wgpu"] else "no wgpu"
    yield "what import brings along", f"{left}, {imports['shaders_read']} shaders", "neither"


def _table(rows: list[tuple[str, str, str]], adapter: str) -> Table:
    table = Table(box=SIMPLE_HEAD, title=adapter, title_justify="left")
    for heading in ("measure", "figure", "target"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    return table


def _write(adapter: dict[str, str], results: dict[str, Any]) -> Path:
    words = f"{adapter['name']} {adapter['backend']}".lower()
    path = HERE / "results" / f"{re.sub('[^a-z0-9]+', '-', words).strip('-')}.json"
    path.parent.mkdir(exist_ok=True)
    packages = {name: version(name) for name in ("wgsl-kernels", "wgpu", "numpy")}
    facts = {
        "adapter": adapter,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "packages": packages,
        **results,
    }
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return path.relative_to(HERE.parent)


def _renew_readme(rows: list[tuple[str, str, str]], adapter: str) -> None:
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    lines = ["| measure | figure | adapter and driver |", "|---|---|---|"]
    lines += [f"| {measure} | {figure} | {adapter} |" for measure, figure, _ in rows]
    README.write_text(head + BEGIN + "\n".join(lines) + "\n" + END + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
