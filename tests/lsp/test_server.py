"""The server outlives every text, counts columns as asked, and is loaded by nobody else."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types as lsp
from tests.lsp.test_language import PART, WHOLE, _in_python

from wgsl_kernels.lsp.documents import document
from wgsl_kernels.lsp.embedded import shaders_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lsp.editor import Editor

PIECES = [
    *"(){}[]<>;:,.@=+-*/\n \"'\\#",
    "fn ", "let x = ", "var<private> ", "import package::", "/*", "*/", "//", '"""', "vec3<", "::",
    "struct S { ", "return ", "if (", "for (var i = 0; ", "@compute ", "\U0001f600", "\u2028", "\v",
    "wgsl_kernel(", "# wgsl", "attrs.", "0x", "1e", "\r\n", "\t", "é", "@if(A) ", "@else ", "_ = ",
]  # fmt: skip
CHARACTERS = 10_000
"""That the random edits type or take away, at least."""


def test_no_half_typed_text_ends_it(editor: Editor) -> None:
    """Each beginning of a right text is one that somebody types."""
    (editor.folder / "pair.wesl").write_text(PART)
    editor.open("typed.wesl", "")
    for end in range(0, len(WHOLE), 3):
        editor.type("typed.wesl", WHOLE[:end])
        at = {**editor.at("typed.wesl", WHOLE[:end], end)}
        found = editor.run(editor.client.text_document_completion_async(lsp.CompletionParams(**at)))
        assert isinstance(found, list)

    assert editor.change("typed.wesl", "fn op(x: T) -> T { return x; }\n") == []


@pytest.mark.parametrize("name", ["edited.wesl", "edited.py"])
def test_random_edits_do_not_end_it(name: str, editor: Editor) -> None:
    rng = random.Random(22)
    (editor.folder / "pair.wesl").write_text(PART)
    good = _in_python(WHOLE) if name.endswith(".py") else WHOLE
    text, edited, turn = good, 0, 0
    editor.open(name, text)
    while edited < CHARACTERS:
        begin = rng.randrange(len(text) + 1)
        gone = rng.choice((0, 0, 1, 2, 20)) if len(text) > 200 else 0
        added = "".join(rng.choices(PIECES, k=rng.choice((1, 2, 8))))
        edited += len(text[begin : begin + gone]) + len(added)
        text = text[:begin] + added + text[begin + gone :]
        turn += 1
        if turn % 40 == 0:
            text = good
        editor.type(name, text)
        if turn % 3 == 0:
            _ask(editor, name, rng)

    editor.found(name)
    assert editor.change(name, good) == []
    assert editor.change(name, good.replace("grown(f32", "grwn(f32"))


def _ask(editor: Editor, name: str, rng: random.Random) -> None:
    """Ask for everything at a place that may not exist."""
    identifier = lsp.TextDocumentIdentifier(editor.uri(name))
    place = lsp.Position(rng.randrange(30), rng.randrange(90))
    client = editor.client

    async def all_of_it() -> None:
        await asyncio.gather(
            client.text_document_hover_async(lsp.HoverParams(identifier, place)),
            client.text_document_definition_async(lsp.DefinitionParams(identifier, place)),
            client.text_document_completion_async(lsp.CompletionParams(identifier, place)),
            client.text_document_code_lens_async(lsp.CodeLensParams(identifier)),
        )

    editor.run(all_of_it())


def test_typing_is_answered_while_texts_are_read(editor: Editor) -> None:
    """A large text is under way; what is typed meanwhile is taken in, and the last text counts."""
    large = "\n".join(f"fn f{n}(x: f32) -> f32 {{ return x * {n}.0 + 1.0; }}" for n in range(3000))
    editor.open("large.wgsl", "")
    begin = time.perf_counter()
    for n in range(20):
        editor.type("large.wgsl", f"{large}\n// {n}")
    sent = time.perf_counter() - begin
    found = editor.change("large.wgsl", "fn op(x: T) -> T { return y; }\n")

    assert sent < 5.0
    assert [one.code for one in found] == ["unknown-name"]


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns_are_counted_as_the_editor_asks(encoding: str, units: int) -> None:
    one = document("file:///own.wgsl", "/own.wgsl", "a\r\n\U0001f600b", encoding)

    assert one.position(3) == lsp.Position(1, units)
    assert one.offset(lsp.Position(1, units)) == 3
    assert one.offset(lsp.Position(1, 99)) == one.offset(lsp.Position(9, 99)) == len(one.text)
    assert one.text == "a\n\U0001f600b"


def test_the_wgsl_of_a_python_file_keeps_every_place() -> None:
    source = 'x = 1\nwk.wgsl_kernel("Own", "fn op(x: T) -> T {\\n  return x;\\n}")\n'
    (found,) = shaders_in(source)

    assert len(found.text) == len(source)
    assert found.text.index("return") == source.index("return")
    assert found.text.count("\n") == source.count("\n")
    assert found.kernel == "Own"


def test_nothing_else_imports_the_server() -> None:
    code = (
        "import sys, wgsl_kernels, wgsl_kernels.cli.app; "
        "sys.exit(bool({'pygls', 'lsprotocol', 'wgsl_kernels.lsp'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pygls'] = None; sys.argv = ['wgsl-kernels', 'lsp']; "
        "from wgsl_kernels.cli import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert 'lsp: wants pygls; pip install "wgsl-kernels[lsp]".' in done.stderr
