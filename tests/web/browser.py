"""Exported programs in Node (Dawn) and in Chromium, held against Python: `make browser`.

`python -m tests.web.browser` runs both and fails where either is missing. Both run on SwiftShader,
which comes with Debian's ``chromium``.
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
from tests.web.cases import cases

import wgsl_kernels as wk
from wgsl_kernels.engine.values.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tests.web.cases import Arrays, Case

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "build" / "browser"
PACKAGES = {"webgpu": NODE_PACKAGES["webgpu"], "puppeteer-core": "24.43.1"}
SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")
SECONDS = 900


def main() -> int:
    """Export all, run them in both; return how many results are wrong."""
    chromium = _needed("chromium", "chromium-browser", "google-chrome")
    node = _needed("node")
    _install()
    start = time.perf_counter()
    folder = HOME / "programs"
    shutil.rmtree(folder, ignore_errors=True)
    found = list(cases())
    for case in found:
        wk.web.export(case.f, folder / case.name, case.runs[0])
    given = [{"name": one.name, "runs": [_encoded(run) for run in one.runs]} for one in found]
    (folder / "cases.json").write_text(json.dumps(given))
    shutil.copy(HERE / "runner.mjs", folder)
    print(f"{len(found)} programs exported in {time.perf_counter() - start:.1f} s")
    module = files("wgsl_kernels.web") / "page" / "wgsl-kernels.js"
    wrong = 0
    with wk.web.serve(folder, open=False) as server:
        for name, script, last in (
            ("Node", "node.mjs", module),
            ("Chromium", "chromium.mjs", chromium),
        ):
            start = time.perf_counter()
            wrong += _judged(name, found, _run(node, HERE / script, server.url, str(last)))
            print(f"{name}: {time.perf_counter() - start:.1f} s")
    print(f"{2 * len(found) - wrong} passed, {wrong} failed")
    return min(wrong, 1)


def _needed(*names: str) -> str:
    for one in names:
        place = shutil.which(one)
        if place is not None:
            return place
    raise SystemExit(f"browser: {names[0]} is not installed; want Node 20 and Debian's chromium.")


def _install() -> None:
    """Have the packages in `HOME`; what npm says where it cannot goes to the terminal."""
    stamp, wanted = HOME / ".installed", json.dumps(PACKAGES)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
    subprocess.run(command, cwd=HOME, check=True, timeout=SECONDS)
    stamp.write_text(wanted)


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


def _judged(place: str, wanted: list[Case], rows: list[dict[str, Any]]) -> int:
    """Print what is wrong; return of how many programs."""
    found = {row["name"]: row for row in rows}
    wrong = 0
    for case in wanted:
        words = _wrong(case, found.get(case.name, {"runs": []})["runs"])
        if words:
            print(f"{place}: {case.name}: {words}")
            wrong += 1
    page = found.get("page")
    if place == "Chromium" and (page is None or "Results, after" not in page["shown"]):
        print(f"{place}: the page of an export shows no result: {page}")
        wrong += 1
    return wrong


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
