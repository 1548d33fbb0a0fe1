"""``wgsl-kernels check`` and its sisters: what they find, print, and end with."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.testing.commands import RIGHT, WRONG, run, written

from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.registered import drop_samples

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_before")


def test_without_arguments_the_commands_are_listed() -> None:
    done = run()

    for name in ("info", "kernels", "new", "check", "show", "tune"):
        assert name in done.output


def test_the_version_is_printed() -> None:
    assert run("--version").output.startswith("wgsl-kernels ")


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


def test_all_names_that_nobody_declares_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "own.wgsl"
    file.write_text("fn op(x: f32) -> f32 {\n  let a = foo(x);\n  return sinn(a + bar);\n}\n")

    found = json.loads(run("check", file, "--json").output)["findings"]

    assert {one["code"] for one in found} == {"unknown-name"}
    assert [(one["line"], one["words"].split("'")[1]) for one in found] == [
        (2, "foo"),
        (3, "sinn"),
        (3, "bar"),
    ]


@pytest.mark.gpu
def test_a_wrong_gradient_is_told_where_it_was_registered(tmp_path: Path) -> None:
    text = RIGHT.replace("unbroadcast(dy * alpha", "unbroadcast(dy")
    file = written(tmp_path, text)

    found = json.loads(run("check", file, "--section", "gradient", "--json").output)["findings"]

    line = 1 + text[: text.index("@wk.gradient")].count("\n")
    assert {one["line"] for one in found} == {line}
    assert "wrong-gradient" in {one["code"] for one in found}


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


def test_a_file_that_stops_before_its_samples_is_not_warned_of_having_none(tmp_path: Path) -> None:
    text = (
        'import wgsl_kernels as wk\nwk.wgsl_kernel("Bare", "fn op(x: T) -> T {\\n return x;\\n}")\n'
        "wk.nothing_here()\n"
    )

    found = json.loads(run("check", written(tmp_path, text), "--json").output)["findings"]

    assert [one["code"] for one in found] == ["file-failed"]


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
    ("before", "after", "said"),
    [
        ("attrs.alpha", "attrs.alfa", "Attrs has no 'alfa'; it has alpha."),
        ("attrs.alpha + z", "atrs.alpha + z", "nothing is called 'atrs' here."),
        ("struct Attrs", "struct Attributes", "Declare struct Attrs"),
        ("x * attrs.alpha", "x * (2u * 1.5)", "wrong-type"),
    ],
)
def test_names_and_types_are_told_without_a_gpu(
    before: str, after: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wgsl_kernels.cli.check.choose_adapter", lambda: None)
    assert before in RIGHT

    done = run("check", written(tmp_path, RIGHT.replace(before, after)), "--format", "gcc")

    assert done.exit_code == 1
    assert said in done.output


@pytest.mark.gpu
def test_a_quick_check_runs_the_samples_alone(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, RIGHT), "--json", "--quick", "--section", "right")
    (one,) = json.loads(done.output)["kernels"]

    assert {row["check"] for row in one["rows"]} == {"forward"}


@pytest.mark.gpu
def test_show_takes_a_shader_file_that_is_a_kernel_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "own.wgsl"
    file.write_text("fn op(x: T) -> T { return x + x; }\n")

    done = run("show", file)

    assert done.exit_code == 0
    assert f"{file}:1" in done.output
    file.write_text("fn half(x: f32) -> f32 { return x; }\n")
    assert run("show", file).exit_code != 0


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
def test_explain_says_what_a_call_does() -> None:
    found = json.loads(run("explain", "Softmax", "40x50", "--json").output)

    (one,) = found["dispatches"]
    assert one["kernels"] == ["Softmax"]
    assert (one["bytes_read"], one["bytes_written"]) == (8000, 8000)
    assert "variant" in one["configuration"]
    assert "logits reads input 0, 8000 bytes" in run("explain", "Softmax", "40x50").output
    assert run("explain", "NoSuchKernel").exit_code == 2


@pytest.mark.gpu
def test_a_kernel_of_given_shapes_takes_attributes() -> None:
    one = json.loads(run("explain", "Sum", "40x50", "--attr", "axis=0", "--json").output)
    several = json.loads(run("explain", "Sum", "40x50", "--attr", "axis=(0, 1)", "--json").output)
    assert [found["dispatches"][0]["bytes_written"] for found in (one, several)] == [200, 4]

    pool = ["MaxPool", "1x4x4x1", "--attr", "strides=2"]
    size = ["--attr", "filter_size=2", "--attr", "pad=same"]
    assert "64 bytes in, 16 out" in run("explain", *pool, *size).output
    for command in ("explain", "show", "step"):
        assert run(command, *pool, *size).exit_code == 0
        assert "'filter_size' is missing" in run(command, *pool).output
        assert "--attr is 'pad'; want a name" in run(command, *pool, "--attr", "pad").output
        assert "--attr wants the shapes" in run(command, "MaxPool", *size).output


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
def test_what_was_checked_is_remembered_of_the_file_that_was_checked(tmp_path: Path) -> None:
    """Of a kernel of the same name that another file registers nothing was checked."""
    for name, text in (("one", RIGHT), ("other", RIGHT), ("wrong", WRONG)):
        (tmp_path / name).mkdir()
        file = written(tmp_path / name, text)
        before = take_snapshot()
        try:
            run("check" if name != "other" else "explain", f"{file}:Tinted")
            (row,) = json.loads(run("kernels", "Tinted", "--json").output)
        finally:
            before.restore()
            drop_samples("Tinted")
        found = {"one": "ok", "wrong": "FAILED"}.get(name)
        assert (row["evidence"] or {"verdict": None})["verdict"] == found


@pytest.mark.gpu
def test_show_prints_json() -> None:
    (one,) = json.loads(run("show", "Exp", "3x4", "--json").output)["dispatches"]

    assert one["kernels"] == ["Exp"]
    assert [line["file"] for line in one["lines"] if "safe_exp(f32(x))" in line["wgsl"]] == [
        "elementwise/exponential/exp.wesl"
    ]


@pytest.mark.gpu
def test_a_cpu_kernel_that_raises_is_a_finding_in_every_section(tmp_path: Path) -> None:
    raising = RIGHT.replace("return x * alpha + z\n", "return np.no_such(x) * alpha + z\n")

    for section in ("right", "fast"):
        done = run("check", written(tmp_path, raising), "--section", section, "--json")

        assert done.exit_code == 1
        assert "no_such" in json.dumps(json.loads(done.stdout)["findings"])


@pytest.mark.gpu
def test_bench_and_tune_take_a_kernel_of_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, RIGHT)

    whole = json.loads(run("bench", file, "--json").output)
    one = json.loads(run("bench", f"{file}:Tinted", "--json").output)
    slip = run("bench", f"{file}:Tinte")

    assert {row["kernel"] for row in whole + one} == {"Tinted"}
    assert slip.exit_code == 2
    assert "has no kernel 'Tinte'; known: Tinted." in slip.output

    other = tmp_path / "toned.py"
    other.write_text(RIGHT.replace("Tinted", "Toned"))
    assert "nothing was measured" in run("tune", f"{other}:Toned").output


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("command", "what"),
    [("explain", "twice"), ("explain", "Tinted"), ("show", "twice"), ("tune", "twice"),
     ("step", "twice"), ("step", "Tinted")],
)  # fmt: skip
def test_commands_take_a_file_that_imports_a_module_beside_it(
    tmp_path: Path, command: str, what: str
) -> None:
    name = "a_module_that_stands_beside"
    (tmp_path / f"{name}.py").write_text("TIMES = 2.0\n")
    text = f"{RIGHT}\nimport {name}\n\n\ndef twice():\n"
    text += f"    return wk.relu(wk.ones((3, 4)) * {name}.TIMES)\n"
    done = run(command, f"{written(tmp_path, text)}:{what}")
    sys.modules.pop(name, None)

    assert done.exit_code == 0, done.output
    assert str(tmp_path) not in sys.path


@pytest.mark.gpu
@pytest.mark.parametrize("given", ["{0}/tinted.py", "tinted.py"])
def test_places_below_the_working_directory_are_all_relative(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in a shader's text, and those where something was registered."""
    monkeypatch.chdir(tmp_path)
    text = WRONG.replace("attrs.alfa", "attrs.alfa * 1.25")  # which no other test has
    text += 'wk.signature("Nowhere")(lambda x, /: x)\n'
    written(tmp_path, text)
    target = given.format(tmp_path)

    lines = run("check", target, "--format", "gcc").output.splitlines()
    found = json.loads(run("check", target, "--json").output)["findings"]

    codes = [one["code"] for one in found]
    assert {"unknown-field", "no-such-kernel"} <= set(codes)
    assert all(one.startswith("tinted.py:") for one in lines), lines
    assert {one["file"] for one in found} == {"tinted.py"}
