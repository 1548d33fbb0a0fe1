"""Exported programs in Node (Dawn) and in Chromium, held against Python: `make browser`.

`python -m tests.web.browser` runs both and fails where either is missing. Both run on SwiftShader,
which comes with Debian's ``chromium``. In Chromium pages of the examples are used, too: digits are
drawn by pointer events.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.peers.setup import NODE_PACKAGES
from tests.web.cases import EXAMPLES, cases, drawn_digits
from tests.web.drawing import touches

import wgsl_kernels as wk
from wgsl_kernels.engine.values.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tests.web.cases import Arrays, Case

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "build" / "browser"
PACKAGES = {"webgpu": NODE_PACKAGES["webgpu"], "puppeteer-core": "24.43.1"}
SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")
SECONDS = 900
PAGES = 3
"""Pages that are looked at in Chromium: of an export, of the digits, of reaction and diffusion."""

WITHOUT = "As root on Debian `make browser` installs all; WITHOUT=browser has .ci/run leave it out."


def main() -> int:
    """Export all, run them in both; return how many results are wrong."""
    chromium, node = _needed()
    start = time.perf_counter()
    folder = HOME / "programs"
    shutil.rmtree(folder, ignore_errors=True)
    found = list(cases())
    for case in found:
        wk.web.export(case.f, folder / case.name, case.runs[0])
    given = [{"name": one.name, "runs": [_encoded(run) for run in one.runs]} for one in found]
    (folder / "cases.json").write_text(json.dumps(given))
    shutil.copy(HERE / "runner.mjs", folder)
    shutil.copy(EXAMPLES / "digits" / "draw.html", folder / "index.html")
    shutil.copy(EXAMPLES / "coral.html", folder / "coral" / "index.html")
    drawings = [(digit, *touches(counts[0, :, :, 0])) for counts, digit in drawn_digits()]
    (folder / "drawings.json").write_text(json.dumps([one[1] for one in drawings]))
    print(f"{len(found)} programs exported in {time.perf_counter() - start:.1f} s")
    module = files("wgsl_kernels.web") / "page" / "wgsl-kernels.js"
    wrong = 0
    with wk.web.serve(folder, open=False) as server:
        for name, script, last in (
            ("Node", "node.mjs", module),
            ("Chromium", "chromium.mjs", chromium),
        ):
            start = time.perf_counter()
            rows = {one["name"]: one for one in _run(node, HERE / script, server.url, str(last))}
            wrong += _judged(name, found, rows)
            if name == "Chromium":
                wrong += _pages(rows, drawings)
            print(f"{name}: {time.perf_counter() - start:.1f} s")
    print(f"{2 * len(found) + PAGES - wrong} passed, {wrong} failed")
    return min(wrong, 1)


def _needed() -> tuple[str, str]:
    """Return where Chromium and Node are, and have the packages in `HOME`.

    Raises:
        SystemExit: One of them is missing: the message names all that are.
    """
    places = {
        "Chromium (Debian's chromium)": _place("chromium", "chromium-browser", "google-chrome"),
        "Node 18 or later (node)": _place("node"),
        "Node's npm (npm)": _place("npm"),
    }
    missing = [name for name, place in places.items() if place is None]
    if missing:
        raise SystemExit(f"browser: missing {', '.join(missing)}. {WITHOUT}")
    stamp, wanted = HOME / ".installed", json.dumps(PACKAGES)
    if not stamp.is_file() or stamp.read_text() != wanted:
        HOME.mkdir(parents=True, exist_ok=True)
        (HOME / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            subprocess.run(command, cwd=HOME, check=True, timeout=SECONDS)
        except subprocess.SubprocessError as error:
            names = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
            raise SystemExit(f"browser: npm cannot install {names}: {error}. {WITHOUT}") from None
        stamp.write_text(wanted)
    chromium, node, _ = map(str, places.values())
    return chromium, node


def _place(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def _run(node: str, script: Path, *arguments: str) -> list[dict[str, Any]]:
    drivers = {} if not SWIFTSHADER.is_file() else {"VK_DRIVER_FILES": str(SWIFTSHADER)}
    done = subprocess.run(
        [node, str(script), *arguments],
        cwd=HOME,
        env={**os.environ, **drivers},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _judged(place: str, wanted: list[Case], rows: dict[str, Any]) -> int:
    """Print what is wrong; return of how many programs."""
    wrong = 0
    for case in wanted:
        words = _wrong(case, rows.get(case.name, {"runs": []})["runs"])
        if words:
            print(f"{place}: {case.name}: {words}")
            wrong += 1
    return wrong


def _pages(rows: dict[str, Any], drawings: list[tuple[int, Any, Any]]) -> int:
    """Print what is wrong with the pages; return with how many."""
    judges = {
        "page of an export": _wrong_export,
        "page of the digits": lambda found: _wrong_digits(found or [], drawings),
        "page of reaction and diffusion": _wrong_coral,
    }
    wrong = 0
    for name, judge in judges.items():
        words = judge(rows.get(name, {}).get("found"))
        if words:
            print(f"Chromium: the {name} {words}")
            wrong += 1
    return wrong


def _wrong_export(shown: Any) -> str:
    return "" if "Results, after" in (shown or "") else f"shows no result: {shown!r}"


def _wrong_digits(found: list[Any], drawings: list[tuple[int, Any, Any]]) -> str:
    if len(found) != len(drawings):
        return f"recognised {len(found)} times, want {len(drawings)}"
    right = 0
    for one, (digit, _, counts) in zip(found, drawings, strict=True):
        blocks = np.reshape(one["cells"], (8, 4, 8, 4)).sum((1, 3))
        if not np.array_equal(blocks, counts):
            return f"has other cells than were touched, in a {digit}"
        right += one["digit"] == digit
    print(f"Chromium: {right} of {len(drawings)} drawn digits are right")
    return "" if right >= 0.95 * len(drawings) else f"gets {right} of {len(drawings)} right"


def _wrong_coral(found: Any) -> str:
    if found is None:
        return "did not run"
    before, after = (np.reshape(found[one]["red"], (64, 64)) for one in ("before", "after"))
    if len(np.unique(before)) < 20:
        return f"shows no pattern: {found['before']['said']}"
    changed = np.abs(after - before)[54:61, 26:33].mean()
    return "" if changed > 50 else f"shows no drop: {found['after']['said']}"


def _wrong(case: Case, runs: list[dict[str, Any]]) -> str:
    if len(runs) != len(case.runs) and not any("error" in one for one in runs):
        return f"ran {len(runs)} times, want {len(case.runs)}"
    for number, run in enumerate(runs):
        said = run.get("error", "")
        if case.error or said:
            if not case.error or not said.startswith(case.error):
                return f"says {said!r}, want {case.error or 'results'!r}"
            continue
        words = case.judge(number, {name: _decoded(one) for name, one in run["outputs"].items()})
        if words:
            return words
    return ""


def _encoded(arrays: Arrays) -> dict[str, str]:
    return {
        name: base64.b64encode(np.ascontiguousarray(one).tobytes()).decode()
        for name, one in arrays.items()
    }


def _decoded(one: dict[str, Any]) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(one["data"]), numpy_dtype(one["dtype"]))
    return values.reshape(one["shape"])


if __name__ == "__main__":
    raise SystemExit(main())
