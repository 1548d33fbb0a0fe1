"""Hovering, definitions, completion and what runs: for shader files and for WGSL in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types as lsp
from tests.testing.commands import RIGHT

from wgsl_kernels.backends.webgpu.templates.prelude import TABLE

if TYPE_CHECKING:
    from tests.lsp.editor import Editor

PART = """// Twice as much.
fn twice(v: f32) -> f32 { return v + v; }

struct Pair { first: f32, second: vec2<f32> }
"""
WHOLE = """// y = 2 e^x
import wgsl_kernels::lib::safe_math::safe_exp as grown;
import package::pair::{twice, Pair};

struct Attrs { alpha: f32, count: i32 }

const HALF = 2.0 / 4.0;

fn op(x: T) -> T {
  /* \U0001f600 */ let wide = vec3<f32>(1.0, 2.0, f32(x));
  var pair = Pair(wide.x, wide.yz);
  let n = 3u;
  return T(grown(f32(x)) * attrs.alpha + twice(wide.z) * HALF + clamp(pair.first, 0.0, wk_inf()));
}
"""
SUM = """fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return f32(x); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
FREE = """@group(0) @binding(0) var<storage, read> table: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x + id.y * 4u;
  store_y(i, load_table(i));
}
"""


def _in_python(text: str) -> str:
    return f'import wgsl_kernels as wk\n\nx = "\U0001f600"\nwk.wgsl_kernel("Own", """{text}""")\n'


@pytest.fixture(scope="module", params=["whole.wesl", "whole.py"])
def whole(request: pytest.FixtureRequest, editor: Editor) -> str:
    """The name of a document that holds WHOLE, which is right."""
    name: str = request.param
    (editor.folder / "pair.wesl").write_text(PART)
    text = _in_python(WHOLE) if name.endswith(".py") else WHOLE
    assert editor.open(name, text) == []
    return name


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("wide =", "let wide: vec3<f32>"),
        ("wide.z", "let wide: vec3<f32>"),
        ("n =", "let n: u32"),
        ("pair =", "var pair: Pair"),
        ("x: T", "parameter x: f32"),
        ("HALF +", "const HALF: f32 = 0.5"),
        ("grown(", "fn safe_exp(x: f32) -> f32"),
        ("twice(", "fn twice(v: f32) -> f32"),
        ("alpha +", "alpha: f32"),
        ("yz)", "yz: vec2<f32>"),
        ("first,", "first: f32"),
        ("Attrs {", "struct Attrs { alpha: f32, count: i32 }"),
        ("2.0 / 4", "2.0: AbstractFloat"),
        ("clamp", "fn clamp(number, number, number) -> same"),
        ("wk_inf", "fn wk_inf() -> f32"),
        ("T {", "alias T = f32"),
    ],
)
def test_hovering_shows_the_type(what: str, shown: str, whole: str, editor: Editor) -> None:
    assert editor.hover(whole, what).startswith(f"```wgsl\n{shown}\n```")


def test_hovering_shows_comments_and_what_the_guide_says(whole: str, editor: Editor) -> None:
    assert "Twice as much." in editor.hover(whole, "twice(")
    assert TABLE["wk_inf()"] in editor.hover(whole, "wk_inf")
    assert editor.hover(whole, "\n\nstruct", 1) == ""


@pytest.mark.parametrize(
    ("what", "declared"),
    [
        ("wide.z", ("", "wide")),
        ("x)) *", ("", "x")),
        ("HALF +", ("", "HALF")),
        ("alpha +", ("", "alpha")),
        ("grown(", ("safe_math.wesl", "safe_exp")),
        ("safe_exp as", ("safe_math.wesl", "safe_exp")),
        ("twice(", ("pair.wesl", "twice")),
        ("twice,", ("pair.wesl", "twice")),
        ("Pair(", ("pair.wesl", "Pair")),
        ("wk_inf", ("any_kernel.wgsl", "wk_inf")),
        ("T {", ("slots.wesl", "T_X")),
        ("op(", ("map_slots.wesl", "wk_item")),
        ("clamp", None),
    ],
)
def test_definitions_are_found_wherever_they_are(
    what: str, declared: tuple[str, str] | None, whole: str, editor: Editor
) -> None:
    wanted = None if declared is None else (declared[0] or whole, declared[1])

    assert editor.definition(whole, what) == wanted


def test_accessors_and_hooks_lead_into_templates(editor: Editor) -> None:
    editor.open("sum.wgsl", SUM)
    editor.open("free.wgsl", FREE)

    assert editor.definition("sum.wgsl", "combine") == ("reduce_slots.wesl", "combine")
    assert editor.definition("sum.wgsl", "lift") == ("reduce_slots.wesl", "wk_lift")
    assert editor.definition("free.wgsl", "load_table") == ("accessors.wesl", "load_X")
    assert editor.definition("free.wgsl", "store_y") == ("accessors.wesl", "store_X")
    assert "fn load_table(i: u32) -> f32" in editor.hover("free.wgsl", "load_table")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("let q = wi", {"wide", "pair", "n", "x", "HALF", "op", "twice", "Attrs"}),
        ("let q = ", {"attrs", "wk_inf", "T", "T_y", "clamp", "vec3", "safe_log", "grown"}),
        ("let q = wide.", {"x", "y", "z", "xy", "xyz"}),
        ("let q = wide.y", {"x", "y", "z"}),
        ("let q = attrs.", {"alpha", "count"}),
        ("pair.", {"first", "second"}),
        ("let q = Pair(1.0, wide.xy).second.", {"x", "y", "xy"}),
        ("if (wide.", {"x", "y", "z"}),
        ("let q = package::pair::", {"twice", "Pair"}),
    ],
)
def test_completion_in_half_a_statement(
    typed: str, offered: set[str], whole: str, editor: Editor
) -> None:
    before = editor.texts[editor.uri(whole)]
    editor.type(whole, before.replace("let n = 3u;\n", f"let n = 3u;\n  {typed}\n"))

    found = editor.completion(whole, typed)

    assert offered <= set(found)
    if typed.endswith("."):
        assert not {"clamp", "op"} & set(found)
    editor.change(whole, before)


def test_completion_knows_what_is_not_in_scope(editor: Editor) -> None:
    text = "fn other() { let inner = 1; }\n\nfn op(x: T) -> T {\n  return \n}\n"
    editor.open("scope.wgsl", text)

    found = editor.completion("scope.wgsl", "return ")

    assert "x" in found
    assert "inner" not in found


def test_completion_offers_modules_and_hooks(editor: Editor) -> None:
    (editor.folder / "pair.wesl").write_text(PART)
    editor.open("modules.wesl", "import wgsl_kernels::lib::\n")
    assert {"safe_math", "random"} <= set(editor.completion("modules.wesl", "lib::"))
    editor.change("modules.wesl", "import package::\n")
    assert "pair" in editor.completion("modules.wesl", "package::")
    editor.change("modules.wesl", "// y = x\n\n")
    hooks = editor.completion("modules.wesl", "x\n")

    assert {"op", "init", "combine", "a_at", "main"} <= set(hooks)
    assert (hooks["op"].insert_text or "").startswith("fn op(x: T)")


def test_a_function_of_the_library_comes_with_its_import(editor: Editor) -> None:
    text = "// y = log x\n\nfn op(x: T) -> T {\n  return T(safe_lo);\n}\n"
    editor.open("log.wesl", text)

    edits = editor.completion("log.wesl", "safe_lo")["safe_log"].additional_text_edits
    assert edits is not None
    line, lines = edits[0].range.start.line, text.replace("safe_lo", "safe_log(f32(x))").split("\n")
    whole = "\n".join((*lines[:line], edits[0].new_text.rstrip("\n"), *lines[line:]))

    assert editor.change("log.wesl", whole) == []


@pytest.mark.gpu
def test_the_code_lens_shows_what_runs(editor: Editor) -> None:
    (editor.folder / "own.wgsl").write_text("fn op(x: T) -> T { return x + x; }\n")
    (editor.folder / "tinted.py").write_text(RIGHT)
    editor.open("own.wgsl", "fn op(x: T) -> T { return x + x; }\n")
    editor.open("tinted.py", RIGHT)
    for name, target in (("own.wgsl", "own.wgsl"), ("tinted.py", "tinted.py:Tinted")):
        asked = lsp.CodeLensParams(lsp.TextDocumentIdentifier(editor.uri(name)))
        lenses = editor.run(editor.client.text_document_code_lens_async(asked))
        assert lenses is not None
        assert len(lenses) == 1
        assert lenses[0].command is not None
        lens = lenses[0].command
        command = lsp.ExecuteCommandParams(lens.command, lens.arguments)

        found = editor.run(editor.client.workspace_execute_command_async(command))

        shown = subprocess.run(
            [sys.executable, "-m", "wgsl_kernels", "show", str(editor.folder / target)],
            cwd=editor.folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found == shown.stdout
        assert "fn op(" in shown.stdout


@pytest.mark.gpu
def test_hovering_shows_what_a_name_may_be_for_the_samples(editor: Editor) -> None:
    """As long as the text is the one that ran."""
    text = RIGHT.replace("return x * attrs.alpha", "let square = x * x;\n  return x * attrs.alpha")
    noisy = text.replace("import numpy", 'print("{\\n")\nimport numpy')
    (editor.folder / "squares.py").write_text(noisy)
    editor.open("squares.py", noisy)
    assert "In [" not in editor.hover("squares.py", "square =")

    editor.save("squares.py")
    editor.wait_for(lambda: "In [" in editor.hover("squares.py", "square ="))
    shown = re.search(r"In \[(.*), (.*)\] for the samples", editor.hover("squares.py", "square ="))

    assert shown is not None
    assert 0.0 <= float(shown[1]) < 1.0 < float(shown[2]) < 100.0
    editor.change("squares.py", noisy.replace("square", "second"))
    assert "In [" not in editor.hover("squares.py", "second =")
