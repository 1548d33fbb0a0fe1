"""Our templates with the tools of others: linked by npm ``wesl``, compiled by Tint.

`python -m tests.templates.other_compilers` does so; CI runs it. It needs Node, and installs two
packages below build/ where npm can reach a registry; where not it says so and counts as passed.
naga reads the same texts in `test_corners`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.setup import NODE_PACKAGES
from tests.templates.corners import corners, template_of, templates

from wgsl_kernels.backends.webgpu.modules.source import shaders_folder

HOME = Path(__file__).resolve().parents[2] / "build" / "other_compilers"
PACKAGES = {"wesl": "0.7.31", "webgpu": NODE_PACKAGES["webgpu"]}
SECONDS = 300


def main() -> int:
    """Link and compile; return how many templates and texts failed."""
    try:
        _install()
    except (OSError, subprocess.SubprocessError) as error:
        words = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        print(f"other compilers: NOT RUN, since Node's packages cannot be had: {words}")
        return 0
    done = subprocess.run(
        ["node", str(Path(__file__).with_suffix(".mjs"))],
        input=json.dumps(_work()),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [row for row in rows if row["problems"]]
    for row in wrong:
        print(f"{row['name']}: {'; '.join(row['problems'])}")
    if done.returncode or not rows:
        print(done.stderr, file=sys.stderr)
        return 1
    print(f"other compilers: {len(rows)} templates and texts, {len(wrong)} refused")
    return len(wrong)


def _install() -> None:
    """Have the packages in `HOME`.

    Raises:
        OSError, subprocess.SubprocessError: Node is missing, or a package cannot be had.
    """
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise OSError(f"{tool} is not installed")
    stamp = HOME / ".installed"
    wanted = json.dumps(PACKAGES)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
    subprocess.run(command, cwd=HOME, check=True, capture_output=True, text=True, timeout=SECONDS)
    stamp.write_text(wanted)


def _work() -> dict[str, Any]:
    folder = shaders_folder()
    files = [one for ending in ("wesl", "wgsl") for one in folder.rglob(f"*.{ending}")]
    modules = {f"./{one.relative_to(folder).as_posix()}": one.read_text() for one in files}
    links: list[dict[str, Any]] = []
    texts: list[dict[str, str]] = []
    for path in templates():
        template = template_of(path)
        for given in corners(path):
            whole = template.whole(given)
            conditions = {name: one for name, one in whole.items() if isinstance(one, bool)}
            # the constants of these names keep their defaults there, so only those compile
            links.append({"root": path, "conditions": conditions, "compiles": not given})
            shown = " ".join(f"{name}={value}" for name, value in given.items()) or "as it stands"
            texts.append({"name": f"{path} {shown}", "text": template.module(given).text.text})
    return {"packages": str(HOME), "modules": modules, "links": links, "texts": texts}


if __name__ == "__main__":
    raise SystemExit(main())
