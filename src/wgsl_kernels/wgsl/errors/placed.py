"""Messages of shader errors that are text alone, read as findings at their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.errors import ShaderError

_PLACED = re.compile(r"(?:(?P<kernel>[^:\n]+): )?(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): ")
_BELOW = re.compile(r"  (?P<file>\S[^\n]*?):(?P<line>\d+):(?P<column>\d+)")


def placed_finding(error: ShaderError, kernel: str = "") -> Finding | None:
    """Return an error as a finding at the place that leads its message, or stands alone below.

    None where none does.
    """
    first, *rest = str(error).split("\n")
    found = _PLACED.match(first)
    if found is None:
        below = _BELOW.fullmatch(rest[0]) if rest else None
        if below is None:
            return None
        source = rest[1].removeprefix("    ") if len(rest) > 1 else ""
        place = below["file"], int(below["line"]), int(below["column"])
        return Finding(error.code, first.removeprefix(f"{kernel}: "), kernel, *place, 1, source)
    source = rest[0].removeprefix("    ") if rest else ""
    evidence = (("more", "\n".join(rest[2:])),) if len(rest) > 2 else ()
    line, column = int(found["line"]), int(found["column"])
    words = first[found.end() :].removeprefix(f"{kernel}: ")
    return Finding(error.code, words, kernel, found["file"], line, column, 1, source, evidence)
