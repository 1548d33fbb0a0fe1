"""What the tuner remembers from one process to the next: a JSON file per adapter.

The file may be damaged, written by several processes at once, or impossible to write: then choices
are measured again, and nothing else happens.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo

FORMAT = 2
"""2: a choice is a template's hash and configuration; in 1 it was a name."""

Entries = dict[str, dict[str, Any]]
"""What was chosen, by what the choice is called."""

_logger = logging.getLogger("wgsl_kernels")


def file_for(info: AdapterInfo) -> KeptFile:
    """Return the file for an adapter with its driver, under these versions of library and wgpu."""
    from importlib.metadata import version  # imports email and sockets: most programs tune nothing

    versions = (version("wgsl-kernels"), version("wgpu"), str(FORMAT))
    digest = hashlib.sha256("\n".join((words_of(info), *versions)).encode()).hexdigest()[:12]
    slug = re.sub("[^a-z0-9]+", "-", f"{info.name} {info.backend}".lower()).strip("-")[:60]
    return KeptFile(cache_folder(), "tuning", f"{slug}-{digest}.json")


def words_of(info: AdapterInfo) -> str:
    """Return what tells an adapter with its driver from others."""
    return "\n".join((info.name, info.vendor, info.driver, info.backend, info.type))


def entries_in(choices: Any) -> Entries:
    """Return what is well-formed of the choices that a file has."""
    if not isinstance(choices, dict):
        return {}
    return {key: one for key, one in choices.items() if _is_choice(one)}


class TuningFile:
    """Choices by what they are for, each with what was measured."""

    def __init__(self, file: KeptFile) -> None:
        self.file = file
        self._found: Entries | None = None

    def find(self, key: str) -> dict[str, Any] | None:
        if self._found is None:
            self._found = _read(self.file)
        return self._found.get(key)

    def keep(self, key: str, entry: Mapping[str, Any], seconds: Mapping[str, float]) -> None:
        """Remember a choice, beside those that other processes have written meanwhile."""
        times = {name: round(1e3 * time, 4) for name, time in seconds.items()}
        own = {key: {**entry, "milliseconds": times}}
        self._found = {**(self._found or {}), **_read(self.file), **own}
        content = {"format": FORMAT, "choices": self._found}
        try:
            text = json.dumps(content, indent=1, sort_keys=True)
            self.file.write(text.encode())
        except (OSError, ArgumentError, ValueError, RecursionError) as error:
            _logger.info("tuning is not remembered: %s", error)


def _read(file: KeptFile) -> Entries:
    """Return the choices of a file; whatever is wrong with it, it then has none."""
    try:
        content = json.loads((file.read() or b"{}").decode())
    except (ValueError, RecursionError, MemoryError):
        return {}
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return {}
    return entries_in(content.get("choices"))


def _is_choice(one: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("configuration"), dict):
        return False
    return isinstance(one.get("variant"), str) and isinstance(one.get("template"), str)
