"""The comments that mark loops to be written out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.known import once_per_text

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text

_MARK = re.compile(r"//[^\n]*?@unroll\b")


@once_per_text
def unrolled_lines(text: Text) -> frozenset[int]:
    """Return the lines that end in a comment ``// @unroll``, counted from 1."""
    return frozenset(text.place(found.start()).line for found in _MARK.finditer(text.text))
