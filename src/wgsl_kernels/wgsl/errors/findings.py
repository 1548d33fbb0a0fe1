"""A finding: one thing that a check has to say, as a value that others only print."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.errors.finding_codes import CODES
from wgsl_kernels.wgsl.errors.notebook import shown_file

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.finding_codes import Code, Section, Severity

_SHOWN = 160
"""Characters of a line that a finding shows at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found in a kernel, and where.

    Attributes:
        code: What kind of thing it is; `finding_codes` lists all.
        words: What is wrong here, and what to write instead where that is known.
        kernel: The kernel's name, "" where there is none yet.
        file: The author's file, "" where the finding has no place.
        line: The line, counted from 1; 0 without a place.
        column: The column, counted from 1 in characters.
        span: How many characters are meant, at least 1.
        source: The author's line.
        evidence: What shows it, in pairs of a name and a text: ``got``, ``expected``, ``inputs``.
        waived: Why it fails nothing, where a sample says so; "" where it counts.
    """

    code: str
    words: str
    kernel: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    span: int = 1
    source: str = ""
    evidence: tuple[tuple[str, str], ...] = ()
    waived: str = ""

    @property
    def about(self) -> Code:
        """What is known of all findings of this code."""
        return CODES[self.code]

    @property
    def section(self) -> Section:
        """The section of a check that it belongs to."""
        return self.about.section

    @property
    def severity(self) -> Severity:
        """``error``, ``warning`` or ``note``, which it is where it is waived."""
        return "note" if self.waived else self.about.severity

    @property
    def place(self) -> str:
        """``file:line:column`` as editors read it, "" without a place.

        A file below the working directory is relative to that.
        """
        if not self.file:
            return ""
        parts = [shown_file(self.file), self.line, self.column]
        return ":".join(str(one) for one in parts if one)

    @property
    def message(self) -> str:
        """What an error says of it: kernel, place, words, line with carets."""
        lead = ": ".join(part for part in (self.kernel, self.place) if part)
        return "\n".join([f"{lead}: {self.words}" if lead else self.words, *self.marked()])

    def with_evidence(self, **facts: str) -> Finding:
        """Return the same finding with more evidence."""
        return replace(self, evidence=(*self.evidence, *facts.items()))

    def __str__(self) -> str:
        """Return the finding as a terminal shows it: place, words, line with carets, evidence."""
        lead = ": ".join(one for one in (self.place, self.kernel) if one)
        lines = [f"{self.severity}[{self.code}] {lead}: {self.words}" if lead else self._bare()]
        lines += self.marked()
        shown = (*self.evidence, *((("waived", self.waived),) if self.waived else ()))
        width = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            first, *rest = value.splitlines() or [""]
            lines.append(f"    {name:<{width}}  {first}")
            lines += [f"    {'':<{width}}  {one}" for one in rest]
        return "\n".join(lines)

    def _bare(self) -> str:
        return f"{self.severity}[{self.code}] {self.words}"

    def marked(self) -> list[str]:
        """Return the author's line and one of carets below it; of a long line the part around."""
        if not self.source.strip() or not self.column:
            return []
        begin = max(0, self.column - 1 - _SHOWN // 2) if len(self.source) > _SHOWN else 0
        shown = self.source[begin : begin + _SHOWN]
        before = shown[: self.column - 1 - begin]
        blanks = "".join("\t" if letter == "\t" else " " for letter in before)
        count = max(1, min(self.span, len(shown) - len(before)))
        return [f"    {shown}", f"    {blanks}{'^' * count}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in plain Python, as JSON has it."""
        return {
            "code": self.code,
            "section": self.section,
            "severity": self.severity,
            "words": self.words,
            "kernel": self.kernel,
            "file": shown_file(self.file),
            "line": self.line,
            "column": self.column,
            "span": self.span,
            "source": self.source,
            "evidence": dict(self.evidence),
            **({"waived": self.waived} if self.waived else {}),
        }

    def _repr_html_(self) -> str:
        """Return the finding as a notebook shows it."""
        lead, *rest = str(self).splitlines()
        colour = {"error": "#b00020", "warning": "#9a6700"}.get(self.severity, "#57606a")
        body = f"<pre>{html.escape(chr(10).join(rest))}</pre>" if rest else ""
        return f'<div><b style="color:{colour}">{html.escape(lead)}</b>{body}</div>'
