"""In a notebook: errors without frames, names of cells, paths beside it, tables, re-runs."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CELLS = {
    "registers": (
        "import wgsl_kernels as wk\nwk.set_backend('webgpu')\nx = wk.tensor([1.0, 2.0])\n"
        "wk.wgsl_kernel('Celled', '''\nfn op(x: T) -> T {\n  return x + nowhere;\n}\n''')"
    ),
    "fails": "wk.engine().run_kernel('Celled', {'x': x}).numpy()",
    "shapes": "def product(a):\n    return a @ a\n\nproduct(wk.ones((3, 4)))",
    "index": "wk.ones(3)[5]",
    "keyword": "wk.ones((2, 3)).sum(dim=1)",
    "positions": "wk.conv2d(x, x, 1, 'same')",
    "attribute": "x.size()",
    "full": "with wk.config.using(tracebacks='full'):\n"
    "    wk.config.tracebacks = 'full'\n    wk.engine().run_kernel('Celled', {'x': x}).numpy()",
    "path": "wk.wgsl_kernel('Beside', 'beside.wgsl')\n"
    "print(wk.engine().run_kernel('Beside', {'x': x}).tolist())",
    "again": "%run own.py",
    "edited": "open('own.py', 'a').write('\\n')\n_ = open('own.py').read()\n"
    "_ = open('own.py', 'w').write('# above\\n' + _)",
    "once more": "%run own.py",
    "table": "wk.memory()",
}
"""Cells of a notebook, in order."""

SESSION = """
import io, json, sys
from contextlib import redirect_stdout
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
said = {}
for name, cell in json.load(sys.stdin).items():
    out = io.StringIO()
    with redirect_stdout(out):
        done = shell.run_cell(cell, store_history=True)
    shown = shell.display_formatter.format(done.result)[0] if done.result is not None else {}
    said[name] = [out.getvalue(), done.success, shown.get("text/html", "")]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return of each cell what it prints, whether it ran, and the table that it shows."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "beside.wgsl").write_text("fn op(x: T) -> T { return -x; }\n")
    (folder / "own.py").write_text(
        "import wgsl_kernels as wk\n\n"
        "wk.cpu_kernel('Owned')(lambda x: x)\nwk.gradient('Owned')(lambda dy: dy)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", SESSION],
        input=json.dumps(CELLS), capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.gpu
def test_a_shader_error_shows_the_place_in_the_cell_and_no_frames(said: dict[str, Any]) -> None:
    lines = said["fails"][0].splitlines()

    assert lines[0] == f"In[2]:1: {CELLS['fails']}"
    assert lines[2].startswith("ShaderError: Celled: In[1]:6:14: nothing is called 'nowhere' here.")
    assert lines[3:5] == ["      return x + nowhere;", "                 ^"]
    assert len(lines) < 12


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("shapes", ["product(wk.ones((3, 4)))", "return a @ a", "ShapeError: ", "inner sizes"]),
        ("index", ["wk.ones(3)[5]", "IndexOutOfRange"]),
        ("keyword", ["sum(dim=1)", "argument 'dim'", "wk.sum: Use axis."]),
        ("positions", ["conv2d(x, x, 1", "wk.conv2d: Give strides= and pad= by keyword."]),
        ("attribute", ["x.size()", "size is an attribute here"]),
    ],
)
def test_an_error_shows_the_users_lines_and_the_message(
    said: dict[str, Any], cell: str, words: list[str]
) -> None:
    printed, ran, _ = said[cell]

    assert not ran
    assert len(printed.splitlines()) <= 25
    assert [word for word in words if word not in printed] == []


@pytest.mark.gpu
def test_a_switch_shows_all_frames(said: dict[str, Any]) -> None:
    assert said["full"][0].count("wgsl_kernels") > 10
    assert "In[1]:6:14: nothing is called" in said["full"][0]


@pytest.mark.gpu
def test_a_path_is_looked_for_beside_the_notebook(said: dict[str, Any]) -> None:
    assert said["path"][:2] == ["[-1.0, -2.0]\n", True]


@pytest.mark.gpu
def test_a_file_that_is_run_again_may_register_again(said: dict[str, Any]) -> None:
    assert [said[one][:2] for one in ("again", "once more")] == [["", True]] * 2
    assert "<table>" in said["table"][2]


@pytest.fixture
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


@pytest.mark.usefixtures("_as_before")
def test_a_file_that_runpy_runs_again_may_register_and_another_may_not(
    tmp_path: Path,
) -> None:
    text = "import wgsl_kernels as wk\nwk.cpu_kernel('RunOwned')(lambda x: x)\n"
    own, other = tmp_path / "own.py", tmp_path / "other.py"
    own.write_text(text)
    runpy.run_path(str(own))
    own.write_text(f"# another line above\n{text}")
    runpy.run_path(str(own))
    other.write_text(text)
    with pytest.raises(wk.AlreadyRegistered):
        runpy.run_path(str(other))
    own.write_text(text + text.splitlines()[1])
    with pytest.raises(wk.AlreadyRegistered):  # twice in one run
        runpy.run_path(str(own))


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (lambda: wk.memory(), ["backend", "pooled bytes"]),
        (lambda: wk.coverage(), ["Softmax", "float32", "gradient"]),
        (lambda: wk.config, ["fusion", "auto", "tracebacks"]),
        (lambda: wk.get_kernel("Softmax", "cpu"), ["Softmax", "logits", "registered by"]),
        (lambda: wk.profile(lambda: wk.exp(wk.tensor(np.ones(3)))), ["Exp", "wall ms"]),
        (lambda: wk.explain(lambda: wk.exp(wk.tensor(np.ones(3)))), ["dispatches for 1 kernel"]),
        (lambda: wk.testing.Report("<Odd>"), ["section"]),
        (lambda: wk.testing.Finding("syntax", "want <"), ["want &lt;"]),
    ],
)  # fmt: skip
def test_tables_have_forms_for_notebooks(shown: Any, words: list[str]) -> None:
    with wk.use_backend("cpu"):
        html = shown()._repr_html_()

    assert all(one in html for one in words), html
