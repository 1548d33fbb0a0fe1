"""Linking modules of WGSL for any project: imports, conditions and constants, without a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.syntax.source_map import SourceMap

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Linked:
    """One plain WGSL module that was linked from several.

    Attributes:
        text: The WGSL.
        source_map: Where each place of it comes from: ``source_map.find(line, column)`` returns
            the author's ``file``, ``line`` and ``column``.
    """

    text: str
    source_map: SourceMap = field(repr=False)


def link(
    modules: Mapping[str, str],
    root: str = "main",
    *,
    packages: Mapping[str, Mapping[str, str]] = _NONE,
    conditions: Mapping[str, bool] = _NONE,
    constants: Mapping[str, Any] = _NONE,
    mangle: Literal["clash", "path"] = "clash",
) -> Linked:
    """Return one plain WGSL module for ``root`` and all that it imports.

    The dialect is WESL, edition ``2026_pre``. All declarations of the root are kept; of other
    modules those that are used. No device is needed.

    Args:
        modules: The texts of the package's files by their paths in it: ``"main.wgsl"``,
            ``"util/math.wesl"``.
        root: The module to start from, without its ending.
        packages: Other packages by the name that imports give them, each like ``modules``.
        conditions: The names that ``@if`` and ``@elif`` ask for.
        constants: Numbers, bools or WGSL expressions that modules import from ``constants``.
        mangle: ``"clash"`` keeps names, and numbers one that is taken; ``"path"`` names what is
            not the root's after its path, counting underscores.

    Raises:
        ShaderError: A module is not WESL, or a name, module, package or condition that is used
            is not there; the message names file, line and column.
        ArgumentError: An argument is not what it should be.

    Example:
        >>> main = "import package::math::twice; fn f() -> f32 { return twice(2.0); }"
        >>> math = "const UNUSED = 1; fn twice(x: f32) -> f32 { return 2.0 * x; }"
        >>> linked = link({"main.wgsl": main, "math.wgsl": math})
        >>> print(linked.text)
        fn f() -> f32 {
          return twice(2.0);
        }
        fn twice(x: f32) -> f32 {
          return 2.0 * x;
        }
        >>> linked.source_map.find(4, 4)
        Place(file='math.wgsl', line=1, column=22)

    Source: WESL specification, edition 2026_pre.
    """
    from wgsl_kernels.wgsl.linking.linker import link_modules

    if mangle not in ("clash", "path"):
        raise ArgumentError(f"link: mangle={mangle!r} is unknown; want 'clash' or 'path'.")
    linked = link_modules(modules, root, packages, conditions, constants, mangle).write()
    return Linked(linked.composed.text, linked)
