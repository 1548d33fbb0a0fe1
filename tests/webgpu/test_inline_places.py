"""Text in a Python file has its places there, however it is indented or quoted."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

import wgsl_kernels as wk
from wgsl_kernels.wgsl.syntax.inline import inline_text, note_python_file

if TYPE_CHECKING:
    from pathlib import Path

SHADER = "// twice\nfn op(x: T) -> T {\n  return x + x;\n}\n"


@pytest.mark.parametrize(
    ("before", "indent", "after", "line", "column"),
    [
        ('TEXT = """', "", '"""\n', 4, 10),
        ('TEXT = """\n', "", '"""\n', 5, 10),
        ('    run(\n        """\n', "        ", '        """\n    )\n', 6, 18),
    ],
)
def test_a_place_is_the_python_files(
    before: str, indent: str, after: str, line: int, column: int, tmp_path: Path
) -> None:
    file = tmp_path / "own.py"
    body = "".join(f"{indent}{one}\n" for one in SHADER.splitlines())
    if not before.endswith("\n"):
        body = body.removeprefix(indent)
    file.write_text(f"# first\n{before}{body}{after}")
    given = ("\n" if before.endswith('"""\n') else "") + SHADER
    note_python_file("<inline in own.py:1>", str(file))
    text = inline_text("<inline in own.py:1>", given)

    place = text.place(given.index("x + x"))

    assert (place.file, place.line, place.column) == (str(file), line, column)
    assert text.line(place.line)[column - 1 :] == "x + x;"


@pytest.mark.parametrize("times", [0, 2])
def test_what_is_not_there_once_keeps_its_own_places(times: int, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("".join(f'TEXT{n} = """\n{SHADER}"""\n' for n in range(times)))
    note_python_file("<inline in own.py:7>", str(file))
    text = inline_text("<inline in own.py:7>", SHADER)

    place = text.place(SHADER.index("x + x"))

    assert (place.file, place.line, place.column) == ("<inline in own.py:7>", 3, 10)
    assert text.line(3) == "  return x + x;"


@pytest.mark.gpu
@pytest.mark.parametrize("is_found", [True, False])
def test_files_of_one_name_with_the_same_text_keep_their_own_places(
    is_found: bool, tmp_path: Path
) -> None:
    names = "First", "Second"
    text = "fn op(x: T) -> T {\n  return x + 1u;\n}\n"
    written = f'"""\n{text}"""' if is_found else repr(text)
    for name in names:
        file = tmp_path / name / "own.py"
        file.parent.mkdir()
        file.write_text(
            f"import wgsl_kernels as wk\nwk.wgsl_kernel({name!r}, {written}, override=True)\n"
        )
        runpy.run_path(str(file))

    for name in names:
        file = tmp_path / name / "own.py"
        place = f"{file}:4:14" if is_found else f"<inline in {file}:2>:2:14"
        with wk.use_backend("webgpu"), pytest.raises(wk.ShaderError) as error:
            wk.engine().run_kernel(name, {"x": wk.tensor([1.0])})
        assert str(error.value).startswith(f"{name}: {place}: ")
