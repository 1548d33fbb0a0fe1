"""Findings as others read them: JSON, SARIF, lines as compilers print them, and HTML."""

from __future__ import annotations

import html
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.wgsl.errors.finding_codes import CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.wgsl.errors.findings import Finding

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(findings: Sequence[Finding]) -> str:
    """Return what a terminal shows: each finding with its line, carets and evidence."""
    return "\n".join(map(str, findings))


def as_gcc(findings: Sequence[Finding]) -> str:
    """Return ``file:line:column: severity: words [code]``, a line for each."""
    return "\n".join(
        f"{_place(one)}: {one.severity}: {_headed(one)} [{one.code}]" for one in findings
    )


def as_json(findings: Sequence[Finding]) -> str:
    """Return a JSON list of findings, each an object with the fields of `Finding`."""
    return json.dumps([one.to_dict() for one in findings], indent=1, ensure_ascii=False)


def as_sarif(findings: Sequence[Finding]) -> str:
    """Return a SARIF 2.1.0 log with one run, as code hosts show it beside a change."""
    used = sorted({one.code for one in findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "defaultConfiguration": {"level": CODES[code].severity},
            "properties": {"section": CODES[code].section},
        }
        for code in used
    ]
    driver = {"name": "wgsl-kernels", "version": version("wgsl-kernels"), "rules": rules}
    results = [_result(one, used.index(one.code)) for one in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False)


def as_html(findings: Sequence[Finding]) -> str:
    """Return a table for a notebook or a page."""
    rows = "".join(
        f"<tr><td>{one.severity}</td><td>{one.code}</td><td>{html.escape(_place(one))}</td>"
        f"<td>{html.escape(_headed(one))}<pre>{html.escape(_behind(one))}</pre></td></tr>"
        for one in findings
    )
    head = "<tr><th></th><th>code</th><th>place</th><th>what</th></tr>"
    return f"<table>{head}{rows}</table>"


FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": as_text,
    "gcc": as_gcc,
    "json": as_json,
    "sarif": as_sarif,
    "html": as_html,
}
"""The printers, by the name that ``--format`` takes."""


def printed(findings: Sequence[Finding], form: str) -> str:
    """Return findings in a format.

    Raises:
        ArgumentError: There is no such format.
    """
    check_format(form)
    return FORMATS[form](findings)


def check_format(form: str) -> None:
    """Refuse a format that there is not.

    Raises:
        ArgumentError: There is no such format.
    """
    if form not in FORMATS:
        raise ArgumentError(f"format is {form!r}; want one of {', '.join(FORMATS)}.")


def _place(one: Finding) -> str:
    return one.place or "wgsl-kernels"


def _headed(one: Finding) -> str:
    words = " ".join(one.words.split())
    return f"{one.kernel}: {words}" if one.kernel else words


def _behind(one: Finding) -> str:
    return "\n".join([*one.marked(), *(f"{name}: {value}" for name, value in one.evidence)])


def _result(one: Finding, rule: int) -> dict[str, Any]:
    facts = "".join(f"\n{name}: {value}" for name, value in one.evidence)
    found: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": one.severity,
        "message": {"text": f"{_headed(one)}{facts}"},
        "properties": {"kernel": one.kernel, "evidence": dict(one.evidence)},
    }
    if one.file and not one.file.startswith("<"):
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(one.file)}}
        if one.line:
            place["region"] = {
                "startLine": one.line,
                "startColumn": max(one.column, 1),
                "endColumn": max(one.column, 1) + one.span,
            }
        found["locations"] = [{"physicalLocation": place}]
    return found


def _uri(file: str) -> str:
    """Return a file as SARIF names it: relative to the working directory where it is below."""
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_uri()
