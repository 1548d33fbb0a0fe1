"""What the server finds is what ``check`` finds, at the same places, while the text is typed."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.testing.commands import RIGHT, WRONG

from wgsl_kernels.bench.checking.texts import lint_file
from wgsl_kernels.bench.checking.unsampled import file_findings

if TYPE_CHECKING:
    from lsprotocol import types as lsp
    from tests.lsp.editor import Editor

GOOD = """import wgsl_kernels::lib::safe_math::safe_exp;

fn op(x: T) -> T {
  return T(safe_exp(f32(x)));
}
"""
WRONGS = {
    "syntax": "fn op(x: T) -> T {\n  return x +;\n}\n",
    "not closed": "fn op(x: T) -> T {\n  return (x;\n}\n",
    "unknown name": "fn op(x: T) -> T {\n  return x * scale;\n}\n",
    "wrong type": "fn op(x: T) -> T {\n  let n = 3u;\n  return x * T(n * 2.0);\n}\n",
    "no such field": "struct Attrs { alpha: f32 }\n\nfn op(x: T) -> T { return T(attrs.alfa); }\n",
    "immutable": "fn op(x: T) -> T {\n  let y = 1.0;\n  y = 2.0;\n  return x;\n}\n",
    "no return": "fn op(x: T) -> T {\n  if (x > T(0)) { return x; }\n}\n",
    "reserved": "fn op(x: T) -> T {\n  let filter = x;\n  return filter;\n}\n",
    "zero": "fn op(x: T) -> T {\n  return T(4 / 0);\n}\n",
    "unknown import": GOOD.replace("safe_exp;", "safe_exq;"),
    "unknown module": GOOD.replace("safe_math::", "safe_maths::"),
    "type of an import": GOOD.replace("f32(x)", "3u"),
    "\U0001f600 before": "fn op(x: T) -> T {\n  /* \U0001f600 */ return x * scale;\n}\n",
}


def _listed(found: list[lsp.Diagnostic]) -> list[tuple[object, ...]]:
    return [(one.code, one.range.start.line + 1, one.message) for one in found]


@pytest.mark.parametrize("name", WRONGS)
def test_a_wrong_text_has_the_findings_of_check(name: str, editor: Editor) -> None:
    file = f"{name.replace(' ', '_')}.wesl"
    text = WRONGS[name]
    (editor.folder / file).write_text(text)
    said = [
        (one.code, one.line, "\n".join([one.words, *(f"{k}: {v}" for k, v in one.evidence)]))
        for one in lint_file(editor.folder / file)
    ]

    found = editor.open(file, text)

    assert said
    assert _listed(found) == said
    for one, told in zip(found, lint_file(editor.folder / file), strict=True):
        before = text.split("\n")[told.line - 1][: told.column - 1]
        assert one.range.start.character == len(before.encode("utf-16-le")) // 2
    assert editor.change(file, GOOD) == []


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["unknown name", "wrong type", "immutable", "zero"])
def test_a_compiler_refuses_what_is_found(name: str, tmp_path: Path) -> None:
    """So what is found while typing is no other than what a device says."""
    file = tmp_path / "own.wgsl"
    file.write_text(WRONGS[name])

    assert {one.code for one in lint_file(file)} <= {one.code for one in file_findings(file)}


@pytest.mark.gpu
def test_an_error_in_what_a_file_imports_names_the_file_that_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "more.wesl").write_text("fn more(x: f32) -> f32 {\n  return x + 1u;\n}\n")
    own = tmp_path / "own.wesl"
    own.write_text("import super::more::more;\nfn op(x: T) -> T {\n  return more(x);\n}\n")

    (found,) = file_findings(own)

    assert (found.code, found.place) == ("wrong-type", f"{tmp_path / 'more.wesl'}:2:14")


PYTHON = {
    "given": 'import wgsl_kernels as wk\n\nwk.wgsl_kernel("Own", """{}""")\n',
    "named": 'TEXT = """{}"""\nwk.wgsl_kernel(\n    "Own",\n    TEXT,\n)\n',
    "by keyword": 'wgsl_kernel(name="Own", source="""{}""")\n',
    "marked": 'x = [\n    # wgsl\n    """{}""",\n]\n',
    "dispatched": 'def f(gpu, x):\n    gpu.dispatch(\n        """{}""", {{"x": x}}\n    )\n',
    "raw": "wk.wgsl_kernel('Own', r'''{}''')\n",
    "behind wide letters": 'x = "\U0001f600"; wk.wgsl_kernel("Own", """{}""")\n',
    "half a program": 'def f(:\n  x = (\nwk.wgsl_kernel("Own", """{}"""\n',
}


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize(
    "text", [WRONGS["wrong type"], "fn op(x: T) -> T { return x * T(3u * 2f); }\n"]
)
def test_wgsl_in_python_has_its_places_there(name: str, text: str, editor: Editor) -> None:
    whole = PYTHON[name].format(text)

    (found,) = editor.open("given.py", whole)

    assert found.code == "wrong-type"
    assert editor.text_in(whole, found.range) in ("n", "3u")
    assert editor.change("given.py", PYTHON[name].format(GOOD)) == []


@pytest.mark.parametrize(
    "whole",
    [
        'wk.wgsl_kernel("Own", "// one\\nfn op(x: T) -> T {\\n  return x * (3u * 2.0);\\n}\\n")\n',
        'wgsl_kernel(\n  "Own",\n  "fn op(x: T) -> T {\\n"\n  "  return x * (3u * 2.0);\\n}"\n)',
        'wk.wgsl_kernel("Own", """\\\n\\tfn op(x: T) -> T { return x * (3u * 2.0); }""")\n',
        'wk.wgsl_kernel("Own", textwrap.dedent("""\n    fn op(x: T) -> T {\n'
        '      return x * (3u * 2.0);\n    }\n    """))\n',
    ],
)
def test_escapes_and_joined_strings_shift_no_place(whole: str, editor: Editor) -> None:
    (found,) = editor.open("escaped.py", whole)

    assert editor.text_in(whole, found.range) == "3u"


def test_other_strings_are_no_wgsl(editor: Editor) -> None:
    texts = [
        'x = """fn op(x: T) -> T { return y; }"""\n',
        'wk.wgsl_kernel("Own", "own.wgsl")\n',
        'wk.wgsl_kernel("Own", f"""fn op(x: T) -> T {{ return {name}; }}""")\n',
    ]
    assert [editor.open(f"other{n}.py", one) for n, one in enumerate(texts)] == [[], [], []]


def test_what_imports_a_file_sees_it_as_it_is_typed(editor: Editor) -> None:
    part = "fn half(x: f32) -> f32 { return x / 2.0; }\n"
    whole = "import package::part::half;\n\nfn op(x: T) -> T { return T(half(f32(x))); }\n"
    (editor.folder / "part.wesl").write_text(part)
    editor.open("part.wesl", part)
    assert editor.open("whole.wesl", whole) == []

    editor.type("part.wesl", part.replace("half", "third"))
    editor.wait(lambda: bool(editor.published[editor.uri("whole.wesl")].diagnostics))
    (found,) = editor.published[editor.uri("whole.wesl")].diagnostics

    assert "declares no 'half'" in found.message
    editor.close("part.wesl")


def test_a_closed_document_has_no_findings(editor: Editor) -> None:
    assert editor.open("shut.wgsl", WRONGS["unknown name"])

    editor.close("shut.wgsl")

    uri = editor.uri("shut.wgsl")
    editor.wait(lambda: not editor.published[uri].diagnostics)


def test_a_new_document_needs_no_file(editor: Editor) -> None:
    (found,) = editor.open("never_saved.wgsl", WRONGS["unknown name"])

    assert found.code == "unknown-name"


@pytest.mark.gpu
def test_saving_checks_what_runs_until_the_text_changes(editor: Editor) -> None:
    wrong = RIGHT.replace("return x * attrs.alpha + z", "return x * attrs.alpha - z")
    assert wrong != RIGHT
    assert editor.open("tinted.py", wrong) == []

    editor.save("tinted.py")
    editor.wait(lambda: editor.uri("tinted.py") in editor.published)
    found = editor.found("tinted.py")

    assert {one.code for one in found} == {"wrong-values"}
    assert "got: " in found[0].message
    assert editor.change("tinted.py", RIGHT) == []


@pytest.mark.gpu
def test_saving_finds_once_what_typing_found(editor: Editor) -> None:
    before = editor.open("alfa.py", WRONG)

    editor.save("alfa.py")
    editor.wait(lambda: editor.uri("alfa.py") in editor.published)

    assert [one.code for one in before] == ["unknown-field"]
    assert [one.code for one in editor.found("alfa.py")] == ["unknown-field"]


def test_the_wrong_kernels_are_found_as_check_reads_them(editor: Editor) -> None:
    folder = Path(__file__).parents[1] / "wrong_kernels"
    paths = sorted(folder.glob("*.wgsl"))
    for path in paths:
        (editor.folder / path.name).write_text(path.read_text())
        editor.begin(path.name, path.read_text())
    for path in paths:
        said = [(one.code, one.line) for one in lint_file(editor.folder / path.name)]

        found = editor.found(path.name)

        assert [(one.code, one.range.start.line + 1) for one in found] == said, path.name
        editor.close(path.name)


def test_our_own_python_files_are_right(editor: Editor) -> None:
    root = Path(__file__).parents[2]
    for path in sorted([*root.glob("examples/*.py"), *root.glob("docs/cookbook/*.py")]):
        assert editor.open(path.name, path.read_text()) == [], path.name


def test_lines_end_as_editors_say(editor: Editor) -> None:
    text = textwrap.dedent(WRONGS["wrong type"]).replace("\n", "\r\n")

    (found,) = editor.open("windows.wgsl", text)

    assert editor.text_in(text, found.range) == "n"
