"""Findings of an open document: those of its text as it is typed, those of ``check`` once saved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from wgsl_kernels.bench.checking.texts import lint_file, lint_inline
from wgsl_kernels.lsp.documents import Document, path_of, saved
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_WORD = re.compile(r"[\w.]+")


def findings_of(document: Document) -> list[Finding]:
    """Return what ``check`` says of a document's WGSL without running it."""
    found: list[Finding] = []
    for one in document.shaders:
        if one.is_inline:
            name = str(document.path)
            found += lint_inline(one.text, name, document.path.parent, one.kernel)
        else:
            found += lint_file(document.path)
    return found


def finding_from(row: dict[str, Any]) -> Finding:
    """Return a finding that ``check --json`` printed."""
    evidence = tuple(row["evidence"].items())
    plain = {key: row[key] for key in ("code", "words", "kernel", "file", "line", "column", "span")}
    return Finding(**plain, source=row["source"], evidence=evidence)


def diagnostics(document: Document, found: Iterable[Finding]) -> dict[str, list[lsp.Diagnostic]]:
    """Return findings as editors show them, by the documents in which they are; each once."""
    files = {document.path.resolve(): document}
    shown: dict[tuple[str, ...], tuple[str, lsp.Diagnostic]] = {}
    for one in found:
        has_file = one.file and not one.file.startswith("<")
        path = path_of(one.file, document.path.parent) if has_file else document.path
        real = path.resolve()
        if real not in files:
            files[real] = saved(path, document.encoding)
        home = files[real]
        key = (home.uri, one.code, str(one.line), str(one.column), one.words)
        shown.setdefault(key, (home.uri, _diagnostic(home, one)))
    by_uri: dict[str, list[lsp.Diagnostic]] = {document.uri: []}
    for uri, diagnostic in shown.values():
        by_uri.setdefault(uri, []).append(diagnostic)
    return by_uri


def _diagnostic(home: Document, one: Finding) -> lsp.Diagnostic:
    begin = home.place(one.line, one.column)
    word = _WORD.match(home.text, begin)
    end = max(begin + one.span, begin if word is None else word.end()) if one.column else begin
    facts = "".join(f"\n{name}: {value}" for name, value in one.evidence)
    return lsp.Diagnostic(
        home.range(begin, min(end, len(home.text))),
        f"{one.words}{facts}",
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source="wgsl-kernels",
    )
