"""Commands whose output a page shows, recorded when the page is built; a wrong exit is a warning.

``{terminal}`` runs its lines, each a command behind ``$``, in a folder that the page's directives
share; ``:exit:`` says with what the last one ends. ``{edit} FILE`` replaces lines of a file there:
those that begin with ``-`` by those that begin with ``+``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import OptionSpec

logger = logging.getLogger(__name__)
WIDTH = "110"


def scratch(env: Any) -> Path:
    """Return the folder of a page, which is empty where its first directive runs."""
    known: dict[str, tempfile.TemporaryDirectory[str]] = env.temp_data.setdefault("terminal", {})
    if env.docname not in known:
        known[env.docname] = tempfile.TemporaryDirectory()
    return Path(known[env.docname].name)


def output_of(command: str, folder: Path) -> tuple[str, int]:
    """Return what a command prints in a folder, as a terminal of fixed width, and its exit code."""
    run = subprocess.run(
        command,
        shell=True, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "WGSL_KERNELS_CACHE": str(folder / ".cache"),
            "COLUMNS": WIDTH,
            "NO_COLOR": "1",
        },
        check=False,
    )  # fmt: skip
    return run.stdout.replace(f"{folder}{os.sep}", ""), run.returncode


class Terminal(SphinxDirective):
    """``{terminal}``: commands with what they print."""

    has_content = True
    option_spec: ClassVar[OptionSpec | None] = {"exit": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Run the commands and return the block."""
        shown: list[str] = []
        lines = list(self.content)
        wanted = [0] * (len(lines) - 1) + [self.options.get("exit", 0)]
        for line, want in zip(lines, wanted, strict=True):
            said, code = output_of(line.removeprefix("$ "), scratch(self.env))
            shown += [line, said.rstrip("\n")]
            if code != want:
                logger.warning("%s ended with %s:\n%s", line, code, shown[-1])
        return [block("\n".join(one for one in shown if one), "text")]


class Edit(SphinxDirective):
    """``{edit} FILE``: lines that are replaced, shown as a difference."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Edit the file and return the block."""
        file = scratch(self.env) / self.arguments[0]
        old = "\n".join(line[1:] for line in self.content if line[:1] in ("-", " "))
        new = "\n".join(line[1:] for line in self.content if line[:1] in ("+", " "))
        text = file.read_text()
        if text.count(old) != 1:
            logger.warning("%s has these lines %s times:\n%s", file.name, text.count(old), old)
        file.write_text(text.replace(old, new))
        return [block("\n".join(self.content), "diff")]


def block(text: str, language: str) -> nodes.literal_block:
    """Return text as a page shows code."""
    found = nodes.literal_block(text, text)
    found["language"] = language
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives with Sphinx."""
    app.add_directive("terminal", Terminal)
    app.add_directive("edit", Edit)
    return {"parallel_read_safe": False}
