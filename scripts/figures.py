"""Print the figures of the architecture for a commit: `python scripts/figures.py [REVISION]`.

Lines are those of Python files under ``src``; a line of code has a token that is neither comment,
docstring nor import. A circle is a set of folders, or of files, that all reach one another by
imports: of folders with type-only imports, of files with and without them.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "wgsl_kernels"
_QUIET = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_WGSL_FUNCTION = re.compile(r"\bfn\s+[\w{}]+\(")  # messages say `fn op (a map)`
_CACHES = {
    *("DeviceCache", "Recent", "Remembered", "remembered", "cache", "lru_cache"),
    *("WeakKeyDictionary", "WeakValueDictionary"),
}
_KINDS = {
    "syntax trees": ("wgsl/tree.py", "wgsl/syntax/tree.py", "wgsl/facts"),
    "type systems": ("/infer.py", "wgsl/types.py"),
    "evaluators of constants": (
        "/evaluate.py",
        "wgsl/lint/constants.py",
        "wgsl/specialize/values.py",
        "wgsl/types/constants.py",
    ),
}
"""Where the review of 2026-11 found each kind; paths of the plan stand beside those of today.
All are WGSL's: ``onnx/types.py``, of the element types that files name, is none.

What specialising folds is computed by the arithmetic that the one evaluator has
(``wgsl/types/values.py``); the folding itself writes trees anew and counts as no evaluator.
"""


@dataclass
class Module:
    """One file, read."""

    path: PurePosixPath
    tree: ast.Module
    lines: int
    code: int
    at_run_time: set[str] = field(default_factory=set)
    for_types: set[str] = field(default_factory=set)


def files_of(revision: str) -> dict[PurePosixPath, str]:
    """Return the texts of the files below ``src`` and ``shaders`` of a commit, links left out."""
    command = ["git", "archive", "--format=tar", revision, "src", "shaders"]
    found: dict[PurePosixPath, str] = {}
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for one in tar.getmembers():
            content = tar.extractfile(one) if one.isfile() else None
            if content is not None:
                found[PurePosixPath(one.name)] = content.read().decode()
    return found


def name_of(path: PurePosixPath) -> str:
    """Return the module that a file is: ``src/engine`` is ``wgsl_kernels.engine`` by a link."""
    parts = list(path.with_suffix("").parts[1:])
    if parts[-1] == "__init__":
        parts.pop()
    if parts and parts[0] not in (PACKAGE, "wgsl_kernels_dask", "wgsl_kernels_pytest"):
        parts.insert(0, PACKAGE)
    return ".".join(parts)


def docstrings(tree: ast.Module) -> set[int]:
    """Return the lines of strings that stand alone: docstrings, of attributes too."""
    found: set[int] = set()
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return found


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines with a token that is neither comment, docstring nor import."""
    other = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            other.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _QUIET:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - other)


def read(files: dict[PurePosixPath, str]) -> dict[str, Module]:
    """Return the modules by name, with what they import of one another."""
    found: dict[str, Module] = {}
    for path, text in files.items():
        if path.suffix == ".py":
            tree = ast.parse(text)
            lines = text.count("\n")
            found[name_of(path)] = Module(path, tree, lines, code_lines(text, tree))
    for name, module in found.items():
        collect_imports(name, module, found)
    return found


def collect_imports(name: str, module: Module, known: dict[str, Module]) -> None:
    """Note which of the known modules one imports when it runs, be it late, and for its types."""
    for_types = {
        id(one)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for one in ast.walk(node)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            target = module.for_types if id(node) in for_types else module.at_run_time
            target.update(imported(node, known) - {name})


def imported(node: ast.Import | ast.ImportFrom, known: dict[str, Module]) -> set[str]:
    """Return the known modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {one.name for one in node.names} & known.keys()
    base = node.module or ""
    return {
        f"{base}.{one.name}" if f"{base}.{one.name}" in known else base for one in node.names
    } & known.keys()


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of two and more that reach one another (Tarjan, 1972)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        stack.append(one)
        for other in sorted(arrows.get(one, ())):
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            at = stack.index(one)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for one in sorted(arrows):
        if one not in number:
            visit(one)
    return found


def folder_circles(modules: dict[str, Module]) -> list[list[str]]:
    """Return the circles of folders, types included."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        here = str(module.path.parent)
        there = {str(modules[one].path.parent) for one in module.at_run_time | module.for_types}
        arrows[here] |= there - {here}
    return circles(arrows)


def wgsl_in_strings(modules: dict[str, Module]) -> int:
    """Count the WGSL functions in strings of the backends and the language, docstrings aside."""
    return sum(
        len(_WGSL_FUNCTION.findall(text))
        for name, module in modules.items()
        if name.startswith((f"{PACKAGE}.backends", f"{PACKAGE}.wgsl"))
        for text in strings(module.tree)
    )


def strings(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module but docstrings; what is put into one is ``{}``."""
    alone = docstrings(tree)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in node.values}
    for node in joined:
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        yield "".join(map(str, parts))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for one in constants:
        if isinstance(one.value, str) and id(one) not in inside and one.lineno not in alone:
            yield one.value


def class_names(modules: dict[str, Module]) -> list[str]:
    """Return the names that classes of several files have."""
    places: dict[str, set[str]] = defaultdict(set)
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].add(name)
    return sorted(one for one, where in places.items() if len(where) > 1)


def linkers(modules: dict[str, Module]) -> set[str]:
    """Return the folders that give declarations of texts other names: what links, and who else."""
    found = {str(one.path.parent) for one in modules.values() if one.path.parts[-2] == "linking"}
    for module in modules.values():
        if any(one.endswith(".rename") for one in module.at_run_time):
            found.add(str(module.path.parent))
    return found


def caches(modules: dict[str, Module]) -> Counter[str]:
    """Count the places of each module that make a cache: a kind, called or as a decorator."""
    found: Counter[str] = Counter()
    for name, module in modules.items():
        if name == f"{PACKAGE}.engine.environment.recent":
            continue  # what the kinds are made of
        for node in ast.walk(module.tree):
            called: list[ast.expr] = [node.func] if isinstance(node, ast.Call) else []
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                called = [one for one in node.decorator_list if not isinstance(one, ast.Call)]
            found[name] += sum(last_name(one) in _CACHES for one in called)
    return +found


def last_name(node: ast.expr) -> str:
    """Return what a name or an attribute is called, without what is in its brackets."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "attr", None) or getattr(node, "id", "")


def table(revision: str) -> list[tuple[str, str]]:
    """Return the rows: what is counted, and how many there are."""
    files = files_of(revision)
    modules = read(files)
    webgpu = [one for name, one in modules.items() if f"{PACKAGE}.backends.webgpu" in name]
    folders = Counter(one.path.parent for one in modules.values())
    shaders = Counter(path.parent for path in files if path.suffix in (".wgsl", ".wesl"))
    launches = [
        node.name
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Launch")
    ]
    run_time = {name: one.at_run_time for name, one in modules.items()}
    typed = {name: one.at_run_time | one.for_types for name, one in modules.items()}
    rows = [
        ("lines of Python in src", sum(one.lines for one in modules.values())),
        ("  of these code", sum(one.code for one in modules.values())),
        ("files of Python in src", len(modules)),
        (
            "lines of backends/webgpu without the language",
            sum(one.lines for one in webgpu if "wgsl" not in one.path.parts),
        ),
        ("modules in the largest folder", max(folders.values())),
        ("shaders in the largest folder", max(shaders.values(), default=0)),
        ("circles of folders, types included", len(folder_circles(modules))),
        ("circles of files at run time", len(circles(run_time))),
        ("circles of files, types included", len(circles(typed))),
        ("launches", len(launches)),
        ("WGSL functions in Python strings", wgsl_in_strings(modules)),
        ("class names of several meanings", len(class_names(modules))),
        ("caches", caches(modules).total()),
        ("linkers", len(linkers(modules))),
    ]
    for kind, places in _KINDS.items():
        there = [one for one in places if any(one in str(path) for path in files)]
        rows.append((kind, len(there)))
    return [(what, f"{count:,}") for what, count in rows]


if __name__ == "__main__":
    for what, count in table(sys.argv[1] if len(sys.argv) > 1 else "HEAD"):
        print(f"{what:50}{count:>8}")
