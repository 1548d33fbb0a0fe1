"""What all commands share: where they print, in which form, and how they end."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.errors.findings import Finding

FAILED, WRONG_USAGE = 1, 2
"""Exit codes: a check failed, or something else did; the command was called wrongly."""

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def console(*, error: bool = False) -> Console:
    """Return where a command prints: colours in a terminal, plain text elsewhere."""
    return Console(highlight=False, markup=False, soft_wrap=True, stderr=error)


@contextmanager
def telling_errors() -> Iterator[None]:
    """End the process with a message and a code, and no traceback, where a command fails.

    It fails by an error of ours, or where a file cannot be read or written.

    Raises:
        typer.Exit: It failed: 2 where it was called wrongly, else 1.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        _tell(f"{error.filename}: {error.strerror}.")
        raise typer.Exit(FAILED) from None
    except WgslKernelsError as error:
        _tell("\n".join([str(error), *getattr(error, "__notes__", ())]))
        wrong = isinstance(error, (ArgumentError, KernelNotFound))
        raise typer.Exit(WRONG_USAGE if wrong else FAILED) from None


def _tell(message: str) -> None:
    console(error=True).print(message)


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def print_findings(to: Console, findings: Sequence[Finding]) -> None:
    """Print findings with lines and evidence, the first line in the colour of its severity."""
    for one in findings:
        lead, *rest = str(one).splitlines()
        to.print(Text(lead, style=_STYLES[one.severity]))
        for line in rest:
            is_mark = set(line.strip()) == {"^"}
            to.print(Text(line, style="green" if is_mark else ""))
