"""Measure ours beside its peers, in turns, on one adapter; show the table and keep the results.

``--items`` narrows it to the items whose name holds a regular expression; the others keep the
results that they have. ``cold`` is how long new processes take. Peers are set up below build/bench
first; one that cannot be is left out.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import conductor, items, results, table, targets
from benchmarks.items.item import PEERS as OF_PROGRAMS
from benchmarks.items.item import Item
from benchmarks.peers.process import PeerError, PeerProcess
from benchmarks.peers.setup import HOME, ROOT, set_up
from benchmarks.starts import Starts
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

README = ROOT / "README.md"
PAGES = ROOT / "docs" / "benchmarks"
BEGIN, END = "<!-- figures:begin -->\n", "<!-- figures:end -->"
PEERS = ("ort-cpu", *OF_PROGRAMS, "ort")
"""In the order in which they are prepared and timed: an item's first one is its reference."""
MEASURES = ("host_cost", "steady", "import_time", "ceilings", "recurrence", "first_result")
MINUTES = 45.0
MEASURES_SECONDS = 180.0
"""Kept back for what is measured beside the items."""
ITEM_SECONDS = (0.5, 8.0)
"""The turns of one item take at least and at most so long."""


def main() -> None:
    """Set up, measure, print, and write results and pages."""
    options = _options()
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(width=200, highlight=False)
    if options.render:
        for path in sorted(results.RESULTS.glob("*.json")):
            console.print(f"{_render(path).relative_to(ROOT)}")
            if options.readme:
                _renew_readme(results.load(path))
        return
    start = time.perf_counter()
    wanted = {name for item in items.chosen(options.items, large=True) for name in item.peers}
    wanted &= set(options.peers.split(","))
    driver, missing = set_up(console.print, wanted or ("tfjs",))
    peers, facts = _start(wanted, driver, missing)
    ours = facts["ours"]
    adapter = {name: ours[name] for name in ("driver", "backend", "type")}
    adapter["name"] = ours["adapter"]
    console.print(results.in_words(adapter))
    path = results.path_of(adapter)
    found = results.load(path)
    found |= {
        "adapter": adapter,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "packages": {
            **found.get("packages", {}),
            **{
                name: version
                for one in facts.values()
                for name, version in one.items()
                if name not in ("adapter", "driver", "backend", "type")
            },
        },
        "missing": {
            **{name: why for name, why in found.get("missing", {}).items() if name not in wanted},
            **missing,
        },
    }
    chosen = items.chosen(options.items, large=adapter["type"] != "CPU")
    measures = options.measures.split(",") if options.measures else []
    left = options.minutes * 60 - (time.perf_counter() - start)
    left -= MEASURES_SECONDS if measures else 0
    found["items"] = {**found.get("items", {}), **dict(_measured(console, chosen, peers, left))}
    for peer in peers:
        peer.close()
    for name in measures:
        with console.status(name):
            found[name] = _measure(name, driver)
    results.save(path, found)
    _show(console, found)
    console.print(f"kept in {path.relative_to(ROOT)} and {_render(path).relative_to(ROOT)}")
    if options.readme:
        _renew_readme(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", default=".", help="a regular expression; by default all")
    parser.add_argument("--peers", default=",".join(PEERS), help="names with commas between")
    parser.add_argument("--measures", help="what else is measured: names with commas between")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long it may take")
    parser.add_argument("--render", action="store_true", help="only write the kept results' pages")
    parser.add_argument("--readme", action="store_true", help="also renew the README's table")
    options = parser.parse_args()
    if options.measures is None:
        every = options.items == "."
        cold = "first_result" if re.search(options.items, "cold") else ""
        options.measures = ",".join(MEASURES) if every else cold
    return options


def _render(path: Path) -> Path:
    """Write the page of a file of results."""
    PAGES.mkdir(exist_ok=True)
    page = PAGES / f"{path.stem}.md"
    page.write_text(table.markdown(results.load(path)), encoding="utf-8")
    return page


def _start(
    names: Collection[str], driver: dict[str, str], missing: dict[str, str]
) -> tuple[list[PeerProcess], dict[str, dict[str, str]]]:
    """Start the peers; one that does not answer goes to ``missing``."""
    peers, facts = [], {}
    for name in PEERS:
        if name in missing or (name not in names and name != "ours"):
            continue
        peer = PeerProcess(name, driver, HOME / f"{name}.log")
        try:
            facts[name] = peer.facts()
            peers.append(peer)
        except PeerError as error:
            missing[name] = str(error)
    if "ours" not in facts:
        raise SystemExit(f"Nothing can be measured on webgpu: {missing['ours']}")
    return peers, facts


def _measured(
    console: Console, chosen: list[Item], peers: list[PeerProcess], seconds: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each item's name and what was found, along with its row of the table."""
    start = time.perf_counter()
    starts = Starts(HOME / "bytecode")
    columns = TextColumn("{task.description:>18}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        for done, item in enumerate(chosen):
            progress.update(task, description=item.name, completed=done)
            left = seconds - (time.perf_counter() - start)
            if left <= 0:
                progress.print(
                    f"Out of time: {len(chosen) - done} items keep the results they had."
                )
                return
            least, most = ITEM_SECONDS
            share = max(least, min(most, left / (len(chosen) - done) / 2))  # half is preparing
            found = conductor.measure(item, peers, share)
            if item.name in items.GRAPHS:
                starts.measure(item, peers, found)
            progress.print(_row(item.name, found))
            yield item.name, found


def _row(name: str, found: dict[str, dict[str, Any]]) -> str:
    parts = []
    for peer, facts in found.items():
        if "ms" in facts:
            parts.append(f"{peer} {targets.in_digits(facts['ms'])}")
        elif "error" in facts:
            parts.append(f"{peer} fails ({facts['error'][:60]})")
    return f"{name:>18}  {'  '.join(parts)}"


def _measure(name: str, driver: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.measures.{name}"]
    environment = {**os.environ, **driver}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _show(console: Console, found: results.Results) -> None:
    shown = Table(box=SIMPLE_HEAD, title=results.in_words(found["adapter"]), title_justify="left")
    for heading in ("target", "wanted", "reached", ""):
        shown.add_column(heading)
    for one in targets.lines(found):
        shown.add_row(one.target, one.wanted, one.reached, table.VERDICTS[one.met].strip("*"))
    console.print(shown)


def _renew_readme(found: results.Results) -> None:
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    lines = "\n".join(table.figures(found))
    README.write_text(head + BEGIN + lines + "\n" + END + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
