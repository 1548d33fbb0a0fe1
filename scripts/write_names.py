"""Write what editors and type checkers must find as text, from what ops say of their names.

Each op's ``@public(…)`` says it; see `wgsl_kernels.engine.registry.public_names`. The package is
not imported, so that this runs where that fails. `python scripts/write_names.py` writes anew:

- in ops/names/public_ops.py, linalg.py and fft.py what the package and its namespaces import of
  the ops;
- in engine/tensors/methods.py the methods of tensors;
- in tfjs.py TensorFlow.js's names that are not ours;
- ops/names/foreign_names.py without what was advised for want of an op or method that is there.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wgsl_kernels"
NAMES = runpy.run_path(str(PACKAGE / "engine/registry/public_names.py"))
Op = tuple[str, Any, Any]
"""The module of a public function, its definition, its names."""

IMPORTS = r"(?:^from wgsl_kernels\.\S+ import (?:\(\s+)?(\w+) as \1(?:,\s+\))?\n)+"
METHODS = r"(?<=        # Written by scripts/write_names.py.\n)(?:.+\n)+"
ALIASES = r"(?:^\w+ = _wk\.\S+\n)+"


def ops() -> list[Op]:
    """Return all that is declared public, file by file."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "\n@public(" in text:
            module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            for node in ast.parse(text).body:
                for one in getattr(node, "decorator_list", ()):
                    if isinstance(one, ast.Call) and ast.unparse(one.func) == "public":
                        found.append((module, node, _names(node, one)))
    return found


def _names(node: Any, decorator: ast.Call) -> Any:
    """Return what the decorator would note, had the function been defined."""
    facts = {str(one.arg): ast.literal_eval(one.value) for one in decorator.keywords}
    node.__name__ = node.name
    return NAMES["all_public"]()[NAMES["public"](**facts)(node)]


def _imports(found: list[Op], space: str) -> str:
    return "".join(
        f"from {module} import {names.own} as {names.own}\n"
        for module, _, names in found
        if space in names.spaces
    )


def _methods(found: list[Op]) -> str:
    table = sorted((name, _typed(op)) for _, op, names in found for name in names.methods)
    return "".join(f"        def {name}{typed}: ...\n" for name, typed in table)


def _typed(op: ast.FunctionDef) -> str:
    """Return what a method takes and gives: what the op does, without names of modules."""
    arguments = re.sub(r"^\w+: \w+", "self", ast.unparse(op.args))
    returns = "None" if op.returns is None else ast.unparse(op.returns)
    return re.sub(r"\b\w+\.(?=[A-Z])", "", f"({arguments}) -> {returns}")


def _aliases(found: list[Op]) -> str:
    known = {theirs: names.path for _, _, names in found for theirs in names.tfjs}
    table = sorted(NAMES["aliases_of"](known).items())
    return "".join(f"{theirs} = _wk.{ours}\n" for theirs, ours in table)


def _advice(found: list[Op], file: Path) -> str:
    """Return the tables of advice without rows for what is ours."""
    functions = {names.own for _, _, names in found if "wk" in names.spaces}
    methods = {name for _, _, names in found for name in names.methods}
    text = file.read_text(encoding="utf-8")
    for table, ours in (("FUNCTIONS", functions), ("METHODS", methods)):
        rows = re.search(rf"(?<=^{table} = {{\n)(?:    .+\n)+", text, re.MULTILINE)
        assert rows is not None, f"{file} has no {table}"
        kept = (one for one in rows[0].splitlines(keepends=True) if one.split('"')[1] not in ours)
        text = text[: rows.start()] + "".join(kept) + text[rows.end() :]
    return text


def written() -> dict[Path, str]:
    """Return each file as it should be."""
    found = ops()
    parts = [
        ("ops/names/public_ops.py", IMPORTS, _imports(found, "wk")),
        ("linalg.py", IMPORTS, _imports(found, "linalg")),
        ("fft.py", IMPORTS, _imports(found, "fft")),
        ("engine/tensors/methods.py", METHODS, _methods(found)),
        ("tfjs.py", ALIASES, _aliases(found)),
    ]
    texts = {PACKAGE / name: _replaced(PACKAGE / name, *part) for name, *part in parts}
    advice = PACKAGE / "ops/names/foreign_names.py"
    return {**texts, advice: _advice(found, advice)}


def _replaced(file: Path, pattern: str, text: str) -> str:
    """Return a file with ``text`` in place of the first of what ``pattern`` finds, and no other."""
    present = file.read_text(encoding="utf-8")
    first = re.search(pattern, present, re.MULTILINE)
    assert first is not None, f"{file} has no place for what is written"
    others = re.sub(pattern, "", present[first.end() :], flags=re.MULTILINE)
    return _formatted(present[: first.start()] + text + others, file)


def _formatted(text: str, file: Path) -> str:
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        line = [
            sys.executable,
            "-m",
            "ruff",
            *command,
            "--quiet",
            "--stdin-filename",
            str(file),
            "-",
        ]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    for file, text in written().items():
        file.write_text(text, encoding="utf-8")
