"""The stepper reaches the wrong line of seeded bugs, and shows what an invocation does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.testing.seeded_bugs import BUGS, SeededBug

import wgsl_kernels as wk


def traced(bug: SeededBug, tmp_path: Path, **wanted: Any) -> Any:
    """Return the trace of a seeded bug's wrong element, and its wrong line."""
    file = tmp_path / "seeded.wgsl"
    file.write_text(bug.text)
    wk.wgsl_kernel("Seeded", str(file))
    wk.signature("Seeded")(_reduced if "combine" in bug.text else lambda x, /: x.like())
    x = wk.tensor(bug.x)
    attrs = {"axis": (1,)} if "combine" in bug.text else {}
    (line,) = (n for n, one in enumerate(bug.text.split("\n"), 1) if one.endswith("// wrong"))
    wanted = wanted or {"at": bug.at}
    call = wk.engine().run_kernel
    return wk.dev.step(lambda x: call("Seeded", {"x": x}, attrs), x, **wanted), line


def _reduced(x: Any, /, *, axis: Any) -> Any:
    return x.like(shape=x.shape[:-1])


def test_there_are_twenty_seeded_bugs_at_least() -> None:
    assert len(BUGS) >= 20


@pytest.mark.parametrize("name", BUGS)
def test_the_stepper_reaches_the_wrong_line_of(name: str, tmp_path: Path) -> None:
    bug = BUGS[name]
    trace, line = traced(bug, tmp_path)
    there = [one for one in trace if one.is_own and one.line == line]
    values = [one.result.value for one in there if one.result is not None]

    assert there, str(trace)
    assert all(one.file.endswith("seeded.wgsl") for one in there)
    if bug.note != "nothing orders them":  # by luck it is right here
        assert not np.isclose(trace.got, bug.right(bug.x), rtol=1e-4)
    if bug.shown is not None:
        assert np.isclose(values[-1], bug.shown(bug.x), rtol=1e-6), str(trace)
    if bug.marked:
        assert line in {trace[one].line for one in (trace.first, trace.worst) if one is not None}
        assert np.isclose(trace.double, bug.right(bug.x), rtol=1e-4)
    noted = [one for one in trace.notes if bug.note in one and f"seeded.wgsl:{line}:" in one]
    assert noted or not bug.note


def test_the_text_of_a_trace_has_the_authors_lines_and_both_values(tmp_path: Path) -> None:
    trace, line = traced(BUGS["cancellation"], tmp_path)
    text = str(trace)
    (marked,) = (one for one in text.splitlines() if "<- first, worst:" in one)

    assert text.startswith("Seeded: workgroup 0, invocation 0 of it, ")
    assert marked.split()[0] == str(line)
    assert "return t.z / t.x - m * m" in marked
    assert f"float64 {trace.double:.9g}" in marked
    assert "24 bits lost" in marked
    assert "m * m = " in text
    assert "… rounds 3 to " in text


def test_memory_that_another_invocation_wrote_names_it(tmp_path: Path) -> None:
    trace, line = traced(BUGS["missing barrier"], tmp_path)
    (read,) = (a for one in trace if one.line == line for a in one.accesses if not a.is_written)

    assert read.place == "t[58]"
    assert read.writer == f"invocation 58 at {tmp_path / 'seeded.wgsl'}:{line - 1}"


def test_an_invocation_is_named_by_the_grid_or_by_its_workgroup(tmp_path: Path) -> None:
    bug = SeededBug("", np.zeros(256, np.float32), (0,), float)
    bug = SeededBug(BUGS["integer division"].text, bug.x, (0,), float)
    one, line = traced(bug, tmp_path, invocation=70)
    other, _ = traced(bug, tmp_path, workgroup=1, invocation=6)

    assert one.invocation == other.invocation == (70, 0, 0)
    assert one.workgroup == (1, 0, 0)
    assert [step.result.value for step in one if step.line == line] == [35.0]
    assert one.to_dict() == other.to_dict()


def test_of_a_map_only_the_calls_for_the_element_are_kept() -> None:
    x = wk.tensor(np.arange(8, dtype=np.float32))
    trace = wk.dev.step(wk.square, x, at="y[6]")
    own = [one for one in trace if one.is_own]

    assert [one.text for one in own] == ["fn op(x: T) -> T", "return x * x"]
    assert own[1].result is not None
    assert own[1].result.value == trace.got == 36.0


def test_a_trace_is_json_and_a_notebook_shows_it(tmp_path: Path) -> None:
    trace, line = traced(BUGS["overflow"], tmp_path)
    found = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    page = trace._repr_html_()

    assert found["got"] == "NaN"
    assert found["steps"][found["first"]]["line"] == line
    assert found["steps"][found["first"]]["result"]["value"] == "Infinity"
    assert "<details open>" in page
    assert "let e = exp(x)" in page


def test_where_float64_is_out_of_reach_it_says_why(tmp_path: Path) -> None:
    bug = SeededBug(
        "fn op(x: T) -> T {\n  return f32(bitcast<u32>(x)); // wrong\n}\n",
        np.ones(3, np.float32), (1,), float,
    )  # fmt: skip
    trace, _ = traced(bug, tmp_path)

    assert trace.double is None
    assert trace.notes == (
        "Nothing is computed in float64: bitcast takes a number apart as bits, which are none of "
        "a float64.",
    )


def test_what_is_printed_is_shown_with_its_label(tmp_path: Path) -> None:
    text = "fn op(x: T) -> T {\n  wk_print(vec2<f32>(x, 1.0)); // @pair\n  return -x; // wrong\n}\n"
    trace, _ = traced(SeededBug(text, np.ones(3, np.float32), (1,), float), tmp_path)

    assert any(one.endswith("pair: (1, 1)") for one in str(trace).splitlines())


def test_an_element_that_nobody_writes_is_said_to_be_one(tmp_path: Path) -> None:
    text = (
        "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
        "@compute @workgroup_size(8)\n"
        "fn main(@builtin(local_invocation_index) i: u32) {\n"
        "  if (i > 0u) { y[i] = x[i]; } // wrong\n}\n"
    )
    bug = SeededBug(text, np.ones(8, np.float32), (1,), float)

    with pytest.raises(wk.ArgumentError, match=r"y\[0\], which no invocation writes; y\[1\] is"):
        traced(bug, tmp_path, at="y[0]")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"at": "y[9]"}, r"step: at is y\[9\]; the result has shape \[9\]\."),
        ({"at": "z[1]"}, r"step: at is 'z'; results: y\."),
        ({"at": "1,x"}, r"step: at is '1,x'; want an element, as 'y\[3, 5\]' or \(3, 5\)\."),
        ({"at": 1, "dispatch": 1}, r"step: at is given beside an invocation; want one of them\."),
        ({"dispatch": 4}, r"step: dispatch is 4; want 1 to 1\."),
        ({"workgroup": 7}, r"step: workgroup is \[7, 0, 0\]; there are \[1, 1, 1\]\."),
        ({"invocation": "1"}, r"step: invocation is '1'; want numbers along x, y and z\."),
    ],
)
def test_what_is_asked_for_wrongly_says_what_there_is(
    wanted: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(wk.ArgumentError, match=message):
        traced(BUGS["wrong sign"], tmp_path, **wanted)


def test_a_function_without_shaders_is_refused() -> None:
    with pytest.raises(wk.ArgumentError, match=r"^step: the function runs no shader\.$"):
        wk.dev.step(lambda: wk.tensor([1.0]))
