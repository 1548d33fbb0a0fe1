"""Messages of shader errors that are text alone, read as findings: their place, their code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.errors import ShaderError

_PLACED = re.compile(r"(?:(?P<kernel>[^:\n]+): )?(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): ")
_WORDS = {
    "nothing is called": "unknown-name",
    "matches no attr": "unknown-field",
    "defines no kernel": "no-kernel",
    "is a keyword": "reserved-word",
    "is missing; tried": "no-kernel",
    "this device allows": "over-default-limits",
    ", found ": "syntax",
    "closes nothing": "syntax",
    "never closed": "syntax",
    "is not closed": "syntax",
}


def placed_finding(error: ShaderError, kernel: str = "") -> Finding | None:
    """Return an error as a finding at the place that leads its message, None where none does."""
    message = str(error)
    first, *rest = message.split("\n")
    found = _PLACED.match(first)
    if found is None:
        return None
    source = rest[0].removeprefix("    ") if rest else ""
    evidence = (("more", "\n".join(rest[2:])),) if len(rest) > 2 else ()
    line, column = int(found["line"]), int(found["column"])
    words = first[found.end() :]
    code = code_of(message)
    return Finding(code, words, kernel, found["file"], line, column, 1, source, evidence)


def code_of(message: str) -> str:
    """Return the code of a message, by its words."""
    return next((code for words, code in _WORDS.items() if words in message), "does-not-compile")
