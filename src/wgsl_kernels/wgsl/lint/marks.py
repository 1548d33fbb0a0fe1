"""The marks that comments hold, as ``// @tune 1 2``: those that nothing reads."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark
from wgsl_kernels.wgsl.syntax.places import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.syntax.places import Text

MARKS = ("tune", "given", "slots", "unroll", "derivative")
_COMMENT = re.compile(r"//[ \t]*(@([A-Za-z_]\w*))")
_LABELLED = re.compile(r"\bwk_print")
"""What a line has whose comment is a label, which may be any word."""
_CHOICE = re.compile(r"//[ \t]*(@(?:tune\b|given\b(?=[ \t]+(?:-?[0-9]|true\b|false\b))))")
"""A mark of a configuration constant; behind ``@given`` a comment may say anything else."""
_NEAR = 0.75
UNCHOSEN = "nothing chooses what is behind"
"""How is said that a mark is for a function with full control, which may be in another file."""


def misspelt_marks(text: Text) -> Iterator[Remark]:
    """Yield words at the beginning of comments that are nearly marks, which nothing reads."""
    for found in _COMMENT.finditer(text.text):
        word = found[2]
        if word in MARKS:
            continue
        near = difflib.get_close_matches(word.lower(), MARKS, 1, _NEAR)
        line = text.text[text.text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if near and _LABELLED.search(line) is None:
            words = f"nothing reads {found[1]} in a comment. Did you mean '@{near[0]}'?"
            yield Remark("unread-mark", words, Span(found.start(1), found.end(1)))


def marks_of_choices(text: Text) -> Iterator[Remark]:
    """Yield the marks of values among which something is to choose."""
    for found in _CHOICE.finditer(text.text):
        words = f"{UNCHOSEN} {found[1]} here. A function with full control does, by gpu.configure."
        yield Remark("unread-mark", words, Span(found.start(1), found.end(1)))
