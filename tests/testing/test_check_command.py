"""``wgsl-kernels check``, ``new`` and ``kernels``: what they find, print, and end with."""

from __future__ import annotations

import io
import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from tests.modes import ALL_MODES
from typer.testing import CliRunner

import wgsl_kernels as wk
from wgsl_kernels.cli.app import app
from wgsl_kernels.cli.check import Asked
from wgsl_kernels.cli.new import FORMS, text_of, wanted
from wgsl_kernels.cli.watching import Session, watch_file
from wgsl_kernels.engine.snapshot import take_snapshot
from wgsl_kernels.testing.program import Program
from wgsl_kernels.testing.registered import drop_samples, sampled_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

RIGHT = text_of(wanted("Tinted", "map", "x,z", ["alpha=0.5"]))
WRONG = RIGHT.replace("x * attrs.alpha + z", "x * attrs.alfa + z")


@pytest.fixture(autouse=True)
def _as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    before = take_snapshot()
    known = set(sampled_kernels())
    yield
    before.restore()
    for name in set(sampled_kernels()) - known:
        drop_samples(name)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def written(folder: Path, text: str) -> Path:
    file = folder / "tinted.py"
    file.write_text(text)
    return file


def test_without_arguments_the_commands_are_listed() -> None:
    done = run()

    for name in ("info", "kernels", "new", "check", "show", "tune"):
        assert name in done.output


def test_the_version_is_printed() -> None:
    assert run("--version").output.startswith("wgsl-kernels ")


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS)
def test_a_new_file_of_every_form_passes_as_it_is(form: str, tmp_path: Path) -> None:
    made = run(
        "new", f"Own{form.title()}", "--form", form, "--attr", "alpha=0.5", "--folder", tmp_path
    )
    assert made.exit_code == 0, made.output
    (file,) = tmp_path.glob("own_*.py")

    done = run("check", file, "--strict", "--section", "compiles", "--section", "portable",
               "--section", "right", "--section", "gradient", "--section", "safe")  # fmt: skip

    assert done.exit_code == 0, done.output
    assert "1 kernel, 0 failed, 0 errors, 0 warnings" in done.output


@pytest.mark.gpu
def test_a_new_file_takes_several_inputs_and_one_that_is_called_y(tmp_path: Path) -> None:
    for form in ("map", "free"):
        run("new", f"Two{form.title()}", "--form", form, "--inputs", "x,y", "--folder", tmp_path)
        done = run("check", tmp_path / f"two_{form}.py", "--section", "right")

        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("swish",), "want letters and digits"),
        (("Swish", "--form", "round"), "want one of map, reduce"),
        (("Swish", "--inputs", "filter"), "input is 'filter'"),
        (("Swish", "--attr", "alpha"), "as alpha=0.1"),
        (("Swish", "--form", "scan", "--inputs", "x,z"), "a scan has 1 inputs"),
        (("Swish", "--attr", "lambda=1.0"), "attribute is 'lambda'"),
        (("Swish", "--attr", "np=1"), "attribute is 'np'"),
        (("Swish", "--attr", "x=1.0"), "x is an input already"),
        (("Swish", "--attr", "beta=nan"), "a finite number"),
        (("Relu",), "Relu is a kernel already"),
    ],
)
def test_new_refuses_what_makes_no_kernel(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run("new", *arguments, "--folder", tmp_path)

    assert done.exit_code == 2
    assert message in done.output
    assert list(tmp_path.glob("*.py")) == []


def test_new_and_kernels_refuse_folders_and_backends_that_are_not_there(tmp_path: Path) -> None:
    for arguments, message in [
        (("new", "Swish", "--folder", tmp_path / "none"), "is no folder"),
        (("kernels", "--backend", "bogus"), "want one of cpu, webgpu"),
    ]:
        done = run(*arguments)

        assert done.exit_code == 2
        assert message in done.output.replace("\n", " ")


@pytest.mark.gpu
def test_a_wrong_kernel_ends_with_1_and_its_place(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, WRONG), "--section", "compiles")

    assert done.exit_code == 1
    assert "error[unknown-field]" in done.output
    assert "Attrs has no 'alfa'; it has alpha. Did you mean 'alpha'?" in done.output
    line = 1 + WRONG[: WRONG.index("attrs.alfa")].count("\n")  # of the Python file itself
    assert f"tinted.py:{line}:20: Tinted" in done.output
    assert "return x * attrs.alfa + z;" in done.output
    assert "                      ^^^^\n" in done.output


@pytest.mark.gpu
def test_findings_are_printed_for_other_programs(tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)

    gcc = run("check", file, "--section", "compiles", "--format", "gcc").output
    found = json.loads(run("check", file, "--section", "compiles", "--json").output)
    sarif = json.loads(run("check", file, "--section", "compiles", "--format", "sarif").output)

    assert ": error: Tinted: Attrs has no 'alfa'" in gcc
    assert gcc.strip().endswith("[unknown-field]")
    (finding,) = found["findings"]
    assert (finding["code"], finding["span"], found["passed"]) == ("unknown-field", 4, False)
    (result,) = sarif["runs"][0]["results"]
    (rule,) = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert (result["ruleId"], rule["id"], result["level"]) == (*["unknown-field"] * 2, "error")


def test_a_python_file_that_raises_is_a_finding_at_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "import wgsl_kernels as wk\n\nwk.nothing_here()\n")

    found = json.loads(run("check", file, "--json").output)["findings"]

    assert [(one["code"], one["line"]) for one in found] == [("file-failed", 3)]


def test_a_kernel_without_samples_is_a_warning(tmp_path: Path) -> None:
    text = (
        'import wgsl_kernels as wk\nwk.wgsl_kernel("Bare", "fn op(x: T) -> T {\\n return x;\\n}")\n'
    )

    done = run("check", written(tmp_path, text))

    assert done.exit_code == 0
    assert "warning[no-samples]" in done.output
    assert run("check", tmp_path / "tinted.py", "--strict").exit_code == 1


def test_a_shader_file_is_looked_through_without_a_device(tmp_path: Path) -> None:
    file = tmp_path / "own.wgsl"
    file.write_text("fn op(x: T) -> T {\n  if (x > T(0)) {\n    return x;\n  }\n}\n")

    done = run("check", file, "--format", "gcc")

    assert done.exit_code == 1
    assert f"{file}:1:4: error: op may end without a value" in done.output


def test_several_files_are_looked_through_in_one_run(tmp_path: Path) -> None:
    """As a pre-commit hook names them."""
    files = [tmp_path / "own.wgsl", tmp_path / "other.wgsl"]
    for file in files:
        file.write_text("fn op(x: T) -> T {\n  return x;\n}\n")
    assert run("check", *files, "--section", "portable").exit_code == 0

    files[1].write_text("fn op(x: T) -> T {\n  return x\n}\n")
    done = run("check", *files, "--format", "gcc")

    assert done.exit_code == 1
    assert done.output.startswith(f"{files[1]}:3:1: error: want ';'")


def test_text_in_a_python_file_is_looked_through_without_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wgsl_kernels.cli.check.choose_adapter", lambda: None)
    wrong = RIGHT.replace("return x * attrs.alpha + z;", "if (x > T(0)) { return x; }")

    done = run("check", written(tmp_path, wrong), "--format", "gcc")

    assert done.exit_code == 1
    line = 1 + wrong[: wrong.index("fn op")].count("\n")
    assert f"tinted.py:{line}:4: error: Tinted: op may end without a value" in done.output
    assert run("check", written(tmp_path, RIGHT), "--strict").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [("NoSuchKernel",), ("nowhere.py",), ("Exp", "--section", "fun"), ("Exp", "--backend", "tpu")],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert run("check", *arguments).exit_code == 2


@pytest.mark.gpu
def test_a_case_can_be_repeated_by_its_name(tmp_path: Path) -> None:
    file = written(
        tmp_path, RIGHT.replace("x * attrs.alpha + z;", "min(x, T(50)) * attrs.alpha + z;")
    )
    (first, *_) = [
        one
        for one in json.loads(run("check", file, "--json", "--section", "right").output)["findings"]
        if one["code"] == "wrong-at-extreme"
    ]
    case = first["evidence"]["case"].split(",")[0]

    again = json.loads(run("check", file, "--json", "--section", "right", "--case", case).output)

    assert [one["code"] for one in again["findings"]] == ["wrong-at-extreme"]
    assert case in first["evidence"]["repeat"]


@pytest.mark.gpu
def test_an_edit_never_gives_the_verdict_on_the_text_before(tmp_path: Path) -> None:
    file = written(tmp_path, RIGHT)
    session = Session(Program.at(file), Asked())
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
    session = Session(Program.at(file), Asked())
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
    session = Session(Program.at(written(tmp_path, text)), Asked())
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
    watch_file(to, str(file), Asked(), turns=2)
    saver.join()

    said = to.export_text()
    assert "error[unknown-field]" in said
    assert "the last good version stays registered" in said


@pytest.mark.gpu
def test_explain_says_what_a_call_does() -> None:
    found = json.loads(run("explain", "Softmax", "40x50", "--json").output)

    (one,) = found["dispatches"]
    assert one["kernels"] == ["Softmax"]
    assert (one["bytes_read"], one["bytes_written"]) == (8000, 8000)
    assert "variant" in one["configuration"]
    assert "logits reads input 0, 8000 bytes" in run("explain", "Softmax", "40x50").output
    assert run("explain", "NoSuchKernel").exit_code == 2


@pytest.mark.gpu
def test_bench_compares_with_an_earlier_run(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.json"
    (row,) = json.loads(run("bench", "Square", "--most", 1, "--json").output)
    earlier.write_text(json.dumps([{**row, "cpu_ms": 10 * row["cpu_ms"]}]))

    (again,) = json.loads(
        run("bench", "Square", "--most", 1, "--json", "--compare", earlier).output
    )

    assert again["cpu_ms"] > 0
    assert again["cpu_times_as_fast"] == pytest.approx(
        10 * row["cpu_ms"] / again["cpu_ms"], rel=0.01
    )
    assert run("bench", "Square", "--compare", tmp_path / "nothing.json").exit_code == 2


@pytest.mark.gpu
def test_parity_writes_a_record_of_the_adapter(tmp_path: Path) -> None:
    out = tmp_path / "record.json"

    done = run("parity", "--only", "Square", "--out", out)

    assert done.exit_code == 0, done.output
    (record,) = json.loads(out.read_text())
    assert record["failures"] == []
    assert record["worst_ulp"]["Square"]["float32 forward"] <= 4
    assert all(record[one] for one in ("adapter", "driver", "versions"))


def test_the_ledger_tells_what_is_missing_and_what_was_found_last(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = json.loads(run("kernels", "softmax", "--json").output)

    assert {"Softmax", "LogSoftmax"} <= {one["name"] for one in rows}
    assert all(one["samples"] and one["gradient"] for one in rows if one["name"] == "Softmax")
    assert run("kernels", "no such kernel").exit_code == 2
    assert json.loads(run("kernels", "--missing", "--backend", "webgpu", "--json").output)


@pytest.mark.gpu
def test_what_was_checked_is_remembered(tmp_path: Path) -> None:
    run("check", written(tmp_path, RIGHT), "--section", "right")

    (row,) = json.loads(run("kernels", "Tinted", "--json").output)

    assert row["evidence"]["verdict"] == "ok"
    assert row["missing"] == []


@pytest.mark.gpu
def test_show_and_tune_print_json() -> None:
    (one,) = json.loads(run("show", "Exp", "3x4", "--json").output)["dispatches"]

    assert one["kernels"] == ["Exp"]
    assert [line["file"] for line in one["lines"] if "safe_exp(f32(x))" in line["wgsl"]] == [
        "unary/exp.wesl"
    ]

    found = json.loads(run("tune", "--only", "no such item", "--json").output)

    assert found["measured"] == []
    assert found["adapter"]
