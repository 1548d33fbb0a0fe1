"""``check --watch``: each save gets its own verdict, and the last good kernel runs on."""

from __future__ import annotations

import io
import random
import threading
import time
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.modes import ALL_MODES
from tests.testing.commands import RIGHT, WRONG, written

import wgsl_kernels as wk
from wgsl_kernels.cli.check import CheckOptions
from wgsl_kernels.cli.watching import WatchSession, session_of, watch_file
from wgsl_kernels.testing.program import KernelScript

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_before")


@pytest.mark.gpu
def test_an_edit_never_gives_the_verdict_on_the_text_before(tmp_path: Path) -> None:
    file = written(tmp_path, RIGHT)
    session = WatchSession(KernelScript.at(file), CheckOptions())
    other = RIGHT.replace("x * attrs.alpha + z;", "x * attrs.alpha - z;")
    texts = [RIGHT, WRONG, other, RIGHT, "import nowhere_to_be_found\n", RIGHT, WRONG, WRONG, RIGHT]
    for text in texts:
        file.write_text(text)

        verdict = session.turn()

        assert verdict.passed() == (text == RIGHT)
        codes = {WRONG: "unknown-field", other: "wrong-values", texts[4]: "file-failed"}
        expected = [codes[text]] if text in codes else []
        assert [one.code for one in verdict.findings][:1] == expected
        x = wk.tensor([2.0])
        with wk.use_backend("webgpu"):  # the last good version runs on
            y = wk.engine().run_kernel("Tinted", {"x": x, "z": x}, {"alpha": 0.5})
        assert y.tolist() == [3.0]


SESSION = 300 if ALL_MODES else 30
EDITS = (
    ("x * attrs.alpha + z;", ""),
    ("x * attrs.alpha - z;", "wrong-values"),
    ("z * attrs.alpha + x;", "wrong-values"),
    ("x * attrs.alfa + z;", "unknown-field"),
    ("x * attrs.alpha + z", "syntax"),
    ("max(x * attrs.alpha + z;", "syntax"),
    ("x * attrs.alpha + 2u;", "wrong-type"),
    ("w * attrs.alpha + z;", "unknown-name"),
    ("z + attrs.alpha * x;", ""),
)
"""What the formula is replaced by, and the code of what must be found."""


@pytest.mark.gpu
def test_a_session_of_random_edits_is_never_stale(tmp_path: Path) -> None:
    """Each edit is another text than all before, by its comment; some break the Python file."""
    draw = random.Random(0)
    file = written(tmp_path, RIGHT)
    session = WatchSession(KernelScript.at(file), CheckOptions())
    assert session.turn().passed()
    good = 0.5
    x = wk.tensor([2.0])
    for turn in range(SESSION):
        formula, code = draw.choice(EDITS)
        scale = draw.choice((0.25, 0.5, 2.0))
        text = RIGHT.replace("x * attrs.alpha + z;", f"{formula} // edit {turn}")
        text = text.replace("alpha=0.5", f"alpha={scale}")
        if draw.random() < 0.15:
            text, code = text.replace("import numpy", f"import numpy_{turn}", 1), "file-failed"
        file.write_text(text)

        verdict = session.turn()

        assert [one.code for one in verdict.findings][:1] == ([code] if code else []), text
        good = good if code else scale
        with wk.use_backend("webgpu"):  # the last good version runs on, with its own default
            y = wk.engine().run_kernel("Tinted", {"x": x, "z": x})
        assert y.tolist() == [2.0 * good + 2.0]


@pytest.mark.gpu
def test_a_module_beside_the_file_is_read_anew_at_each_turn(tmp_path: Path) -> None:
    own = tmp_path / "tinted_formula_of_this_test.py"
    text = "import tinted_formula_of_this_test as formula\n" + RIGHT
    text = text.replace("    return x * alpha + z\n", "    return formula.right(x, z, alpha)\n")
    session = WatchSession(KernelScript.at(written(tmp_path, text)), CheckOptions())
    for sign, passes in (("+", True), ("-", False), ("+", True)):
        own.write_text(f"def right(x, z, alpha):\n    return x * alpha {sign} z\n")

        assert session.turn().passed() is passes


@pytest.mark.gpu
def test_watching_gives_a_verdict_at_a_save(tmp_path: Path) -> None:
    file = written(tmp_path, RIGHT)
    to = Console(record=True, width=100, file=io.StringIO())

    def save() -> None:
        for _ in range(100):
            if "kernel, 0 failed" in to.export_text(clear=False):
                break
            time.sleep(0.05)
        file.write_text(WRONG)

    saver = threading.Thread(target=save)
    saver.start()
    watch_file(to, str(file), CheckOptions(), turns=2)
    saver.join()

    said = to.export_text()
    assert "error[unknown-field]" in said
    assert "the last good version stays registered" in said


@pytest.mark.gpu
def test_one_kernel_of_a_file_is_watched(tmp_path: Path) -> None:
    file = written(tmp_path, RIGHT + WRONG.replace("Tinted", "Toned").replace("tinted", "toned"))

    right = session_of(f"{file}:Tinted", CheckOptions())
    assert right.turn().passed()
    assert [one.reports[0].kernel for one in right.rest() if one is not None] == ["Tinted"]
    right.program.drop()
    wrong = session_of(f"{file}:Toned", CheckOptions())
    assert [one.code for one in wrong.turn().findings][:1] == ["unknown-field"]
    wrong.program.drop()
    (missing,) = session_of(f"{file}:Tainted", CheckOptions()).turn().findings
    assert missing.words == "the file has no kernel 'Tainted'; known: Tinted, Toned."
