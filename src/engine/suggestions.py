"""Did you mean: what a wrong name may stand for, also where it is another library's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_elsewhere: dict[str, dict[str, str]] = {}


def provide_elsewhere(kind: str, names: Mapping[str, str]) -> None:
    """Set what to write for other libraries' names.

    Args:
        kind: Where they are looked up: ``"wk"``, ``"tensor"`` or ``"keyword"``.
        names: By the name there, what is written here.
    """
    _elsewhere[kind] = dict(names)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like ``name``, or None where none is."""
    return _nearest(name, tuple(known))


@functools.lru_cache(maxsize=512)  # libraries ask by hasattr for names that are not there
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    import difflib

    found = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return found[0] if found else None


def advice(kind: str, name: str, known: Iterable[str]) -> str:
    """Return what to write in place of a wrong name: a sentence, or nothing."""
    written = _elsewhere.get(kind, {}).get(name)
    if written is not None:
        return f" Use {written}."
    meant = nearest(name, known)
    return f" Did you mean {meant!r}?" if meant else ""
