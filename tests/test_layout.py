"""The house rules that no other tool holds: what is where, how long it is, what it is called."""

import ast
import functools
import importlib
import itertools
import os
import re
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from setuptools import find_namespace_packages

import wgsl_kernels
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.unit import unit_of
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "wgsl_kernels"
LINKS = {
    "src/engine": "wgsl_kernels/engine",
    "src/backends": "wgsl_kernels/backends",
    "shaders": "src/wgsl_kernels/shaders",
}
"""For those who look there; the program and its packaging need none of them."""
MOST_MODULES, MOST_SHADERS = 20, 40
"""Files of one folder."""
BANNED_MODULES = {"utils", "helpers", "common", "misc", "base"}
MAX_LINES = 500
WRITTEN_FOLDERS = ("src", "tests", "examples", "benchmarks", "docs")


def _files(*suffixes: str) -> list[Path]:
    """Return our files of these suffixes, each once: links are not followed."""
    found = []
    for folder in WRITTEN_FOLDERS:
        for parent, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name not in {"_build", "__pycache__"}]
            found += [Path(parent, name) for name in names if name.endswith(suffixes)]
    return sorted(found)


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _below_package(*suffixes: str) -> list[Path]:
    return [one for one in _files(*suffixes) if one.is_relative_to(PACKAGE)]


def test_every_folder_of_modules_and_shaders_is_shipped() -> None:
    settings = _project()["tool"]["setuptools"]
    found = settings["packages"]["find"]
    shipped = set(find_namespace_packages(ROOT / found["where"][0], include=found["include"]))

    on_disk = {
        ".".join(file.parent.relative_to(ROOT / "src").parts)
        for file in _below_package(".py", ".wesl", ".wgsl")
    }
    assert on_disk <= shipped
    assert {one.partition(".")[0] for one in shipped} == {"wgsl_kernels"}
    assert {"*.wesl", "*.wgsl", "wesl.toml"} <= set(settings["package-data"]["*"])


def test_a_folder_holds_few_files_and_no_module_alone() -> None:
    modules = Counter(one.parent for one in _below_package(".py") if one.name != "__init__.py")
    shaders = Counter(one.parent for one in _below_package(".wesl", ".wgsl"))
    inner = {one.parent for one in modules}  # of folders that hold folders, too
    samples = PACKAGE / "testing" / "samples"  # which follow the folders of the ops

    assert {folder: n for folder, n in modules.items() if n > MOST_MODULES} == {}
    assert {folder: n for folder, n in shaders.items() if n > MOST_SHADERS} == {}
    alone = {folder for folder, n in modules.items() if n == 1} - inner
    assert {folder for folder in alone if not folder.is_relative_to(samples)} == set()


@functools.cache
def _trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text()) for file in _below_package(".py")}


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("figures")


def _modules(figures: Any) -> dict[str, Any]:
    modules = {}
    for file, found in _trees().items():
        path = file.relative_to(ROOT)
        modules[figures.name_of(path)] = figures.Module(path, found, 0, 0)
    return modules


def test_no_folders_import_one_another_in_a_circle(figures: Any) -> None:
    """Imports for types count; import-linter holds the floors and, for files, run time."""
    modules = _modules(figures)
    for name, module in modules.items():
        figures.collect_imports(name, module, modules)

    assert len(modules) > 500
    assert figures.folder_circles(modules) == []


def test_each_cache_is_in_the_table_of_what_is_kept(figures: Any) -> None:
    row = r"^\| `([\w.]+)` \| (\d+) " + r"\| \S[^|]* " * 4 + r"\|$"  # what, bound, why, owner
    rows = re.findall(row, (ROOT / "docs/caches.md").read_text(), re.M)
    there = figures.caches(_modules(figures))

    assert {f"wgsl_kernels.{name}": int(count) for name, count in rows} == there
    assert there.total() <= 40  # that is all: say in the table what a new one is for


def test_one_module_is_imported_by_name_from_a_floor_above() -> None:
    """import-linter sees no such import: `check_kernel` has the bench run its sections."""
    layers = _project()["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = [tuple(f"wgsl_kernels.{one}." for one in re.findall(r"[\w.]+", f)) for f in layers]

    def above(file: Path) -> tuple[str, ...]:
        module = ".".join(file.relative_to(ROOT / "src").parts)
        own = next((at for at, names in enumerate(floors) if module.startswith(names)), 0)
        return tuple(itertools.chain(*floors[:own]))

    found = [
        (file.relative_to(PACKAGE).as_posix(), node.value)
        for file, module in _trees().items()
        for higher in [above(file)]
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.startswith(higher)
    ]

    assert found == [("testing/kernel.py", "wgsl_kernels.bench.checking.check")]


def test_the_package_ships_its_type_marker() -> None:
    assert "py.typed" in _project()["tool"]["setuptools"]["package-data"]["wgsl_kernels"]
    assert (ROOT / "src/wgsl_kernels/py.typed").is_file()


@pytest.mark.parametrize(("link", "target"), LINKS.items())
def test_links_are_links(link: str, target: str) -> None:
    assert (ROOT / link).is_symlink()
    assert (ROOT / link).readlink() == Path(target)


def test_no_file_is_longer_than_500_lines() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in _files(".py", ".wesl", ".wgsl")}

    assert {file: lines for file, lines in lengths.items() if lines > MAX_LINES} == {}


def test_no_function_of_the_webgpu_backend_is_longer_than_60_lines() -> None:
    """Docstrings are not counted."""
    long: list[str] = []
    for file in (PACKAGE / "backends" / "webgpu").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                said = node.body[0] if ast.get_docstring(node) is not None else None
                skipped = 0 if said is None else (said.end_lineno or 0) - said.lineno + 1
                if (node.end_lineno or 0) - node.lineno + 1 - skipped > 60:
                    long.append(f"{file.name}: {node.name}")

    assert long == []


def test_no_shader_is_only_imports_and_a_main() -> None:
    files = [one for one in _files(".wesl", ".wgsl") if one.is_relative_to(PACKAGE / "shaders")]
    bare: list[Path] = []
    for file in files:
        source = parse_source(Text(file.name, file.read_text()))
        declared = [getattr(one, "ident", None) for one in source.module.declarations]
        if source.imports and {one.name for one in declared if one} <= {"main"}:
            bare.append(file)

    assert bare == []


def test_no_shader_declares_a_name_twice() -> None:
    """Whatever its conditions are; a file of plain WGSL has none."""
    for file in _files(".wesl", ".wgsl"):
        text = Text(file.relative_to(ROOT).as_posix(), file.read_text())
        if file.suffix == ".wgsl":
            times = Counter(one.name for one in parse(text).declarations if one.name)
            assert {name: n for name, n in times.items() if n > 1} == {}, file
            continue
        names = sorted(parse_source(text).conditions)
        for values in itertools.product((False, True), repeat=len(names)):
            unit_of(text, dict(zip(names, values, strict=True)))


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = [file for file in _files(".py", ".wesl", ".wgsl") if file.stem in BANNED_MODULES]
    folders = [file for file in _files(".py") if BANNED_MODULES & set(file.relative_to(ROOT).parts)]

    assert named + folders == []


def test_every_module_and_every_shader_says_what_is_in_it() -> None:
    opening = {".py": ('"""', 'r"""'), ".wesl": ("//",), ".wgsl": ("//", "#include")}
    silent = [
        file
        for file in _files(".py", ".wesl", ".wgsl")
        if file.stat().st_size and not file.read_text().startswith(opening[file.suffix])
    ]

    assert silent == []


def test_imports_are_absolute_and_by_the_full_name() -> None:
    short = re.compile(r"^\s*(from|import) (\.|engine|backends|shaders|src)\b", re.MULTILINE)

    assert [file for file in _files(".py") if short.search(file.read_text())] == []


def test_nothing_is_skipped_or_left_to_do() -> None:
    skipping = re.compile(r"pytest\.(mark\.)?" r"(skip|skipif|xfail|importorskip)\b")
    todo = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b(?!.*#\d+)")

    texts = {file: file.read_text() for file in _files(".py", ".wesl", ".wgsl")}
    assert [file for file, text in texts.items() if skipping.search(text)] == []
    assert [file for file, text in texts.items() if todo.search(text)] == []


def test_a_checker_is_silenced_only_with_its_code_and_a_reason() -> None:
    mark = re.compile(r"# (?:type: ignore\b|noqa\b|pyright: ignore\b)(?P<rest>.*)")
    reasoned = re.compile(r"(\[[\w, -]+\]|: [A-Z]+\d+(, ?[A-Z]+\d+)*)\W.*[a-z]{2}")

    bare = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in _files(".py")
        for line in file.read_text().splitlines()
        if (found := mark.search(line)) and not reasoned.match(found["rest"])
    ]
    assert bare == []


def test_a_test_is_a_sentence() -> None:
    short = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in _files(".py")
        if file.is_relative_to(ROOT / "tests")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
        if name.count("_") < 2
    ]
    assert short == []


def test_every_public_name_is_documented() -> None:
    for name, value in vars(wgsl_kernels).items():
        is_type = value is wgsl_kernels.DTypeLike  # a union, which can have no docstring
        if name.startswith("_") or isinstance(value, ModuleType) or is_type or not callable(value):
            continue
        assert value.__doc__, f"wgsl_kernels.{name} has no docstring"


RETIRED_WORDS = {
    "anchor", "anchors", "anyhow", "burden", "doors", "eights", "elsewhere", "fours",
    "handed", "hangs", "hasty", "hears", "hindrance", "homes", "lie", "lies", "lying",
    "roomy", "rooms", "sealed", "swallow", "swallows", "told", "waiting", "waits",
}  # fmt: skip
"""Words in names of the library that gave way to those of the field."""
RETIRED_NAMES = {
    "Asked", "Home", "Job", "Kept", "Room", "Stand", "Way", "Ways", "compiles_apart",
    "first_sight", "home_of", "is_apart", "is_settled", "make_room", "may_wait", "note_home",
    "put_off", "ran_apart", "room_around", "spread_strides", "submit_apart", "taken_apart",
    "turns_of", "was_apart", "weight_of",
}  # fmt: skip
"""Names likewise, of which each word may serve elsewhere."""


DOTTED = re.compile(r"(?<!`)`((?:[a-z_]+\.)+[A-Za-z_]+)`(?!`)")
SEEN_FROM = ("", "backends.webgpu.", "engine.", "ops.", "bench.")
"""Packages from which docstrings name what is below them."""


def _is_there(dotted: str) -> bool:
    """Say whether a module of ours, or what is in it, has this name."""
    parts = dotted.removeprefix("wgsl_kernels.").split(".")
    for before in SEEN_FROM:
        for count in range(len(parts), -1, -1):
            module = f"wgsl_kernels.{before}{'.'.join(parts[:count])}".rstrip(".")
            try:
                found: Any = importlib.import_module(module)
            except ImportError:
                continue
            for name in parts[count:]:
                found = getattr(found, name, None)
            if found is not None:
                return True
            break
    return False


def test_docstrings_name_modules_that_there_are() -> None:
    """But for what users write, as `wk.save`, and for files."""
    named = {
        (str(path.relative_to(ROOT)), dotted)
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        for dotted in DOTTED.findall(ast.get_docstring(node) or "")
        if not dotted.startswith(("wk.", "config.", "np.", "copy.", "time."))
        and not dotted.endswith((".wesl", ".py"))
    }

    assert len(named) > 20
    assert [one for one in sorted(named) if not _is_there(one[1])] == []


def _names_in(file: Path) -> set[str]:
    """Return the names that a Python file uses, its own among them."""
    found = {file.stem}
    for node in ast.walk(ast.parse(file.read_text())):
        for key in ("id", "attr", "arg", "name"):
            name = getattr(node, key, None)
            if isinstance(name, str):
                found.add(name)
    return found


def test_names_that_gave_way_do_not_come_back() -> None:
    back: dict[str, set[str]] = {}
    for file in [one for one in _files(".py") if one.is_relative_to(ROOT / "src")]:
        for name in _names_in(file):
            words = set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower()))
            if words & RETIRED_WORDS or name.lstrip("_") in RETIRED_NAMES:
                back.setdefault(file.relative_to(ROOT).as_posix(), set()).add(name)

    assert back == {}
