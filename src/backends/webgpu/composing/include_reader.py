"""Reading our own files that still share code by ``#include``: the products, until they import.

This module goes with them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.files import label, read_text, shaders_folder
from wgsl_kernels.backends.webgpu.packages import is_there
from wgsl_kernels.backends.webgpu.wgsl.dependencies import check_dependencies
from wgsl_kernels.backends.webgpu.wgsl.edited import edited
from wgsl_kernels.backends.webgpu.wgsl.linking.grammar import parse_source
from wgsl_kernels.backends.webgpu.wgsl.reader import read
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.wgsl.facts import Facts
    from wgsl_kernels.backends.webgpu.wgsl.places import Text


def gather(facts: Facts, real: Path) -> tuple[tuple[Facts, ...], Mapping[str, frozenset[str]]]:
    """Return the files that a file includes, and by which files each is included."""
    walk = _Walk()
    walk.visit(facts, (real,))
    above: dict[str, frozenset[str]] = {facts.file: frozenset()}
    for file, included in reversed(walk.visited):  # each behind all that include it
        for one in included:
            above[one] = above.get(one, frozenset()) | above[file] | {file}
    files = tuple(sorted(walk.found.values(), key=lambda one: len(above[one.file])))
    _check((facts.text, *(one.text for one in files)))
    return files, above


@functools.lru_cache(maxsize=512)
def _check(texts: tuple[Text, ...]) -> None:
    check_dependencies(tuple(read(text) for text in texts))


@functools.lru_cache(maxsize=512)
def _read_module(text: Text) -> tuple[Facts, tuple[Path, ...]]:
    """Return a module's declarations, and the modules that it imports from."""
    source = parse_source(text)
    paths = dict.fromkeys(
        shaders_folder().joinpath(*one.path[1:-1]).with_suffix(".wesl") for one in source.imports
    )
    return read(edited(text, (), source.extra)), tuple(paths)


@dataclass
class _Walk:
    """A walk over what a file includes, directly or not, that comes to each file once."""

    found: dict[Path, Facts] = field(default_factory=dict["Path", "Facts"])
    visited: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])

    def visit(self, facts: Facts, chain: tuple[Path, ...]) -> None:
        """Visit what a file includes; ``chain`` has the files that led to it, and itself."""
        names: list[str] = []
        for include in facts.includes:
            path = _find(include.path)
            if path is None:
                message = "there is no such file."
                raise ShaderError(facts.text.point(message, include.span.begin))
            names.append(self.take(path, chain))
        self.visited.append((facts.file, names))

    def take(self, path: Path, chain: tuple[Path, ...]) -> str:
        """Take in a file with all that it needs, unless that is done; return its name."""
        if path in chain:
            circle = " -> ".join(label(one) for one in (*chain[chain.index(path) :], path))
            raise ShaderError(f"{label(path)}: its includes close a cycle: {circle}.")
        if path not in self.found:
            if path.suffix == ".wesl":
                facts, imported = _read_module(read_text(path))
                self.found[path] = facts
                names = [self.take(one, (*chain, path)) for one in imported]
                self.visited.append((facts.file, names))
            else:
                self.found[path] = read(read_text(path))
                self.visit(self.found[path], (*chain, path))
        return self.found[path].file


def _find(given: str) -> Path | None:
    path = shaders_folder() / given
    library = shaders_folder() / given.replace("include/", "lib/").replace(".wgsl", ".wesl")
    return next((one for one in (path, library) if is_there(one)), None)
