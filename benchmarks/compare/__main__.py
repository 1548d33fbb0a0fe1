"""Compare the speed of two heads in one run, and fail where the new one is slower.

Each head is a process, or a new process each time, that imports its own package; both take turns,
and the least time of a turn counts. A row fails if the 95 % interval of new time divided by old
time is beyond 1.10 as a whole, that of a first result's processor time beyond 1.03, and the
geometric mean of all rows beyond 1.03. Nothing is measured while others use the machine.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import items, results
from benchmarks.compare.heads import Head, HeadError, head
from benchmarks.compare.ratios import Clock, Verdict, verdict, verdict_on_mean
from benchmarks.compare.rounds import Pairs, TooBusyError, alternate, wait_until_idle
from benchmarks.compare.subjects import BESIDE, Subject, item_on, process_of
from benchmarks.conductor import WrongResultError
from benchmarks.peers.process import PeerError, PeerProcess
from benchmarks.peers.setup import ROOT
from benchmarks.targets import in_digits
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

LEAST_ROUNDS = 9
CLOCKS: tuple[Clock, ...] = ("wall", "CPU")
BUSY = "--busy: whatever else runs is measured along; these figures are not to be trusted."


def main() -> int:
    """Measure and print; return 1 if anything is slower or was not measured, 2 if nothing was."""
    options = _options()
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(width=140, highlight=False)
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        try:
            heads = [
                head(name, given, Path(folder, name))
                for name, given in (("old", options.old), ("new", options.new))
            ]
            found, errors = _measured(console, heads, options)
        except (HeadError, PeerError, TooBusyError) as error:
            console.print(f"Not compared: {error}.")
            return 2
    if not found and not errors:
        console.print(f"Not compared: nothing is called {options.items!r}.")
        return 2
    verdicts = [verdict(row, by_clock) for row, by_clock in found.items()]
    if found:
        verdicts.append(verdict_on_mean(found.values()))
    console.print(_table(verdicts, found))
    for name, why in errors.items():
        console.print(f"{name}: not measured: {why}")
    if options.busy:
        console.print(BUSY)
    return int(bool(errors) or any(one.failed for one in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.compare", description=__doc__)
    parser.add_argument("old", help="a revision, or a folder that holds src")
    parser.add_argument("new", nargs="?", default=str(ROOT), help="by default this checkout")
    parser.add_argument("--items", default=".", help="a regular expression; by default all")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help="at least 9")
    parser.add_argument("--busy", action="store_true", help="do not wait until nothing else runs")
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds: {options.rounds} are too few for an interval; want at least 9.")
    return options


def _measured(
    console: Console, heads: list[Head], options: argparse.Namespace
) -> tuple[Pairs, dict[str, str]]:
    """Return what both heads took by row, and why subjects were not measured.

    Raises:
        PeerError: A head finds no adapter.
        TooBusyError: The machine was not idle in time.
    """
    found: Pairs = {}
    errors: dict[str, str] = {}
    processes = {one.name: process_of(one) for one in heads}
    wait = (lambda: None) if options.busy else partial(wait_until_idle, console.print)
    try:
        facts = {name: one.facts() for name, one in processes.items()}
        for one in heads:
            console.print(f"{one.name}: {one.label}; on {_adapter(facts[one.name])}")
        large = facts["new"]["type"] != "CPU"
        for name, subject in _subjects(options.items, processes, large=large):
            try:
                with subject(heads) as take, console.status(name):
                    found |= alternate(take, heads, options.rounds, wait)
            except (PeerError, WrongResultError) as error:
                errors[name] = str(error)
    finally:
        for process in processes.values():
            process.close()
    return found, errors


def _subjects(
    pattern: str, processes: dict[str, PeerProcess], *, large: bool
) -> Iterator[tuple[str, Subject]]:
    for item in [*items.chosen(pattern, large=large), *items.HOST.values()]:
        if re.search(pattern, item.name):
            yield item.name, partial(item_on, item, processes)
    for name, subject in BESIDE.items():
        if re.search(pattern, name):
            yield name, subject


def _adapter(facts: dict[str, str]) -> str:
    return results.in_words({**facts, "name": facts["adapter"]})


def _table(verdicts: list[Verdict], found: Pairs) -> Table:
    """Return a row per verdict: each clock's least times, ratio and interval."""
    shown = Table(
        box=SIMPLE_HEAD,
        title=f"new / old, {len(os.sched_getaffinity(0))} cores",
        title_justify="left",
    )
    shown.add_column("")
    for clock in CLOCKS:
        shown.add_column(f"{clock}, ms", justify="right")
        shown.add_column(f"{clock}: ratio [95 %]", justify="right")
    shown.add_column("verdict")
    for one in verdicts:
        cells = []
        for clock in CLOCKS:
            pairs = found.get(one.row, {}).get(clock, [])
            old, new = (
                (in_digits(min(times)) for times in zip(*pairs, strict=True)) if pairs else ("", "")
            )
            cells += [f"{old} → {new}" if pairs else "", str(one.ratios.get(clock, ""))]
        said = f"slower: {', '.join(one.failed)}" if one.failed else "holds"
        shown.add_row(one.row, *cells, said)
    return shown


if __name__ == "__main__":
    sys.exit(main())
