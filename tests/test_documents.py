"""What the pages show runs as it stands; what the docstrings show gives what they say."""

import codeop
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
SESSIONS = [page for page in PAGES if SESSION.search(page.read_text())]
SHOWING = [page for page in PAGES if CODE.search(page.read_text())]


@pytest.mark.gpu
@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_in_a_process_of_its_own(page: Path, tmp_path: Path) -> None:
    program = tmp_path / f"{page.stem.replace('-', '_')}.py"
    program.write_text("\n".join(CODE.findall(page.read_text())))
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert run.returncode == 0, run.stderr


GUIDE = ("README", "index", "quickstart", "tensors", "training", "saving", "random-numbers", "gpus")


@pytest.mark.parametrize("page", [one for one in SHOWING if one.stem in GUIDE], ids=str)
def test_the_guide_can_be_typed_line_by_line(page: Path) -> None:
    """As Python's prompt takes it: an empty line ends a block, and has to stand there."""
    for block in CODE.findall(page.read_text()):
        typed: list[str] = []
        for line in (*block.splitlines(), ""):
            typed.append(line)
            done = codeop.compile_command("\n".join(typed), str(page), "single")
            if done is not None:
                typed.clear()
        assert not typed, block


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.stem)
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_what_a_page_shows_in_a_session_is_what_comes_out(page: Path, backend: str) -> None:
    text = "\n".join(SESSION.findall(page.read_text()))
    session = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with wk.use_backend(backend):
        runner.run(session, out=said.append)

    assert session.examples
    assert runner.failures == 0, "".join(said)


def _examples() -> list[doctest.DocTest]:
    """Return the docstring examples of the public names and of their methods."""
    finder = doctest.DocTestFinder(recurse=False)
    public = {name: getattr(wk, name) for name in dir(wk) if not name.startswith("_")}
    names = {"wk": wk, "np": np, **public}
    found = {}
    for module in (
        wk,
        wk.testing,
        wk.train,
        wk.random,
        wk.linalg,
        wk.nn,
        wk.data,
        importlib.import_module("wgsl_kernels.fft"),
    ):
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and not isinstance(value, ModuleType):
                for part, documented in _with_methods(name, value):
                    for test in finder.find(documented, part, globs=dict(names)):
                        if test.examples:
                            found[test.docstring] = test
    return list(found.values())


def _with_methods(name: str, value: Any) -> list[tuple[str, Callable[..., Any]]]:
    parts: list[tuple[str, Callable[..., Any]]]
    parts = [(name, value)] if inspect.isclass(value) or inspect.isroutine(value) else []
    if inspect.isclass(value):
        parts += [
            (f"{name}.{member}", method)
            for member, method in vars(value).items()
            if inspect.isfunction(method)
        ]
    return parts


@pytest.mark.parametrize("example", _examples(), ids=lambda example: example.name)
def test_the_example_of_a_docstring_gives_what_it_says(example: doctest.DocTest) -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    with wk.use_backend("cpu"):
        runner.run(example, out=said.append, clear_globs=False)

    assert runner.failures == 0, "".join(said)


def test_every_public_op_has_an_example() -> None:
    """Those of the ops package, by whichever name; their examples are among those tried above."""
    spaces = (wk, wk.random, wk.linalg, importlib.import_module("wgsl_kernels.fft"))
    ops = {
        name: value
        for space in spaces
        for name, value in vars(space).items()
        if not name.startswith("_")
        and inspect.isfunction(value)
        and value.__module__.startswith("wgsl_kernels.ops")
    }

    assert len(ops) > 250
    assert [name for name, op in ops.items() if ">>>" not in (op.__doc__ or "")] == []


PACKAGE = ROOT / "src" / "wgsl_kernels"
CODE_PAGE = (ROOT / "docs" / "how-it-is-built.md").read_text()
CONTAINERS = ("bench", "ops", "backends.webgpu", "engine", "wgsl")
"""The packages whose own packages are in layers."""


def test_every_file_that_the_page_about_the_code_names_is_there() -> None:
    paths = re.findall(r"`([\w.-]+(?:/[\w.-]+)+|\w+\.(?:py|toml))`", CODE_PAGE)
    missing = [one for one in paths if not any((top / one).exists() for top in (PACKAGE, ROOT))]

    assert len(paths) > 80
    assert missing == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_page_about_the_code_names_every_package_in_its_section(container: str) -> None:
    section = CODE_PAGE.partition(f"### `{container}`\n")[2].partition("\n##")[0]
    folder = PACKAGE / container.replace(".", "/")
    inside = {file.parent.name for file in folder.rglob("__init__.py")} - {folder.name}

    assert len(inside) > 2
    assert {name for name in inside if f"`{name}`" not in section} == set()


def test_the_picture_of_the_floors_has_every_layer_from_top_to_bottom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    floors: Any = importlib.import_module("floors")
    house = floors.house(tomllib.loads((ROOT / "pyproject.toml").read_text()))
    drawn = floors.picture(house)
    written = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    names = [name for line in written for name in re.findall(r"[\w.]+", line)]
    wanted = [
        name
        for floor in house.floors
        for package in floor
        for name in (package, *(one for layer in house.inside.get(package, ()) for one in layer))
    ]

    assert set(CONTAINERS) == house.inside.keys()
    assert names == wanted
    assert all(
        float(x) + len(words) * floors.LETTER <= floors.WIDTH
        for x, words in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', drawn)
    )
