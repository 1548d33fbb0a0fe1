"""What a caller of ``link`` gives, checked and keyed by module path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from wgsl_kernels.wgsl.errors.errors import ArgumentError
from wgsl_kernels.wgsl.errors.words import shown
from wgsl_kernels.wgsl.linking.project import CONSTANTS, OWN, ModulePath
from wgsl_kernels.wgsl.linking.source import SEPARATOR, WESL_KEYWORDS
from wgsl_kernels.wgsl.syntax.names import KEYWORDS
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.tree import Name
from wgsl_kernels.wgsl.syntax.walk import descendants

_ENDINGS = (".wesl", ".wgsl")
_SUFFIXES = {"int32": "i", "uint32": "u", "float32": "f", "float16": "h"}


def texts_of(
    modules: Mapping[str, str],
    packages: Mapping[str, Mapping[str, str]],
    constants: Mapping[str, Any],
) -> dict[ModulePath, Text]:
    """Return the files of all packages by where they are, what the host gives among them."""
    for name, given in {"modules": modules, "packages": packages, "constants": constants}.items():
        if not isinstance(given, Mapping):
            raise ArgumentError(f"link: {name} is {given!r}; want a mapping.")
    texts = _package(OWN, modules, "")
    for name, files in packages.items():
        _check_name(name, "package")
        if name in WESL_KEYWORDS or (name == CONSTANTS and constants):
            raise ArgumentError(f"link: no package can be called {name!r}. Give it another name.")
        if not isinstance(files, Mapping):
            raise ArgumentError(f"link: package {name!r} is {files!r}; want texts by file path.")
        texts |= _package(name, files, f"{name}/")
    if constants:
        _refuse_cycles(constants)
        lines = [f"const {name} = {_literal(name, value)};" for name, value in constants.items()]
        texts[ModulePath(CONSTANTS, ())] = Text(CONSTANTS, "\n".join((*lines, "")))
    return texts


def root_of(root: str, texts: Mapping[ModulePath, Text]) -> ModulePath:
    """Return the module that ``root`` names: ``main``, ``main.wgsl``, ``package::main``."""
    if not isinstance(root, str):
        raise ArgumentError(f"link: root is {shown(root)}; want the name of a module.")
    path = ModulePath(OWN, _segments(root.removeprefix(OWN + SEPARATOR).replace(SEPARATOR, "/")))
    if path not in texts:
        known = ", ".join(sorted(str(one) for one in texts if one.package == OWN))
        raise ArgumentError(f"link: root={root!r} is none of the modules: {known or 'none given'}.")
    return path


def conditions_of(conditions: Mapping[str, bool]) -> dict[str, bool]:
    if not isinstance(conditions, Mapping):
        raise ArgumentError(f"link: conditions is {conditions!r}; want a mapping.")
    for name, value in conditions.items():
        _check_name(name, "condition")
        if not isinstance(value, (bool, np.bool_)):
            raise ArgumentError(f"link: condition {name!r} is {value!r}; want True or False.")
    return {name: bool(value) for name, value in conditions.items()}


def _package(package: str, files: Mapping[str, str], prefix: str) -> dict[ModulePath, Text]:
    found: dict[ModulePath, Text] = {}
    for file, text in files.items():
        if not isinstance(file, str):
            raise ArgumentError(f"link: module {shown(file)} has no path; want a file path.")
        if not file.endswith(_ENDINGS):
            raise ArgumentError(f"link: module {file!r} has no ending; want .wesl or .wgsl.")
        if not isinstance(text, str):
            raise ArgumentError(f"link: module {file!r} is {type(text).__name__}; want its text.")
        segments = _segments(file)
        path = ModulePath(package, () if segments == (OWN,) else segments)
        if path in found:
            first = found[path].file
            raise ArgumentError(f"link: module {file!r} is given twice; {first!r} is the same.")
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        found[path] = Text(prefix + file.removeprefix("./"), lines)
    return found


def _segments(file: str) -> tuple[str, ...]:
    plain = file.replace("\\", "/").removeprefix("./")
    for ending in _ENDINGS:
        plain = plain.removesuffix(ending)
    segments = tuple(plain.split("/"))
    if not all(segments) or ".." in segments or "." in segments:
        raise ArgumentError(f"link: {file!r} is no path within the package; want 'folder/module'.")
    return segments


def _refuse_cycles(constants: Mapping[str, Any]) -> None:
    """Refuse constants that are made of themselves."""
    needs: dict[str, set[str]] = {}
    for name, value in constants.items():
        node = parse_expression(value) if isinstance(value, str) else None
        used = () if node is None else descendants(node)
        needs[name] = {one.name for one in used if isinstance(one, Name)} & constants.keys()
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        names = " -> ".join(error.args[1][::-1])
        raise ArgumentError(f"link: constants need themselves: {names}. Give numbers.") from None


def _literal(name: str, value: Any) -> str:
    """Return how WGSL writes a constant of the host's."""
    _check_name(name, "constant")
    if isinstance(value, str):
        if parse_expression(value) is None:
            raise ArgumentError(f"link: constant {name!r} is {value!r}, which is no expression.")
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    suffix = _SUFFIXES.get(value.dtype.name, "") if isinstance(value, np.generic) else ""
    if isinstance(value, (int, np.integer)):
        return f"{int(value)}{suffix}"
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return f"{float(value)!r}{suffix}"
    raise ArgumentError(f"link: constant {name!r} is {value!r}; want a finite number or WGSL text.")


def _check_name(name: object, what: str) -> None:
    if (
        not isinstance(name, str)
        or not name.isidentifier()
        or name in KEYWORDS
        or name == "_"
        or name.startswith("__")
    ):
        raise ArgumentError(f"link: {what} {shown(name)} is no name in WGSL. Give it another name.")
