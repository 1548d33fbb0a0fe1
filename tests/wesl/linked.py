"""Comparing linked text with what is expected, whatever the layout and the order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import wgsl_kernels as wk
from wgsl_kernels.wgsl.linking.given import texts_of
from wgsl_kernels.wgsl.linking.project import ModulePath
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.syntax.tree import Declaration, Directive

# "// file" lines cut one text into the modules of a project: shorter to read than dicts.
MARK = "// === "


def project(text: str) -> dict[str, str]:
    """Return the modules of a text that has a line ``// === file`` before each."""
    parts = text.split(MARK)[1:]
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in parts}


def parts(text: str) -> Counter[Declaration | Directive]:
    """Return the directives and declarations of plain WGSL; equal ones compare equal."""
    module = parse(Text("expected", text))
    assert module.problems == (), module.problems
    return Counter((*module.directives, *module.declarations))


def check(text: str, expected: str, **options: Any) -> wk.Linked:
    """Assert that the modules of ``text`` link to ``expected``, and return what was linked."""
    linked = wk.link(project(text), **options)
    assert parts(linked.text) == parts(expected), linked.text
    return linked


def refusal(modules: str | Mapping[str, str], **options: Any) -> str:
    """Return what the ShaderError says with which linking ends."""
    try:
        linked = wk.link(project(modules) if isinstance(modules, str) else modules, **options)
    except wk.ShaderError as error:
        return str(error)
    raise AssertionError(f"linked without an error:\n{linked.text}")


def module_path(path: str) -> ModulePath:
    """Return the path that an import would write as ``package::a::b``."""
    package, *segments = path.split("::")
    return ModulePath(package, tuple(segments))


def modules_of(text: str) -> dict[ModulePath, Text]:
    """Return the modules of a text that has a line ``// === file`` before each."""
    return texts_of(project(text), {}, {})
