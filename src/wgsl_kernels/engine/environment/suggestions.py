"""Did you mean: what a wrong name may stand for, also where it is another library's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_foreign: dict[str, dict[str, str]] = {}


def provide_foreign(kind: str, names: Mapping[str, str]) -> None:
    """Set what to write for other libraries' names.

    Args:
        kind: Where they are looked up: ``"wk"``, a namespace such as ``"wk.random"``, ``"tensor"``,
            ``"optimizer"`` or ``"keyword"``.
        names: By the name there, what is written here.
    """
    _foreign[kind] = dict(names)


def written_for(kind: str, name: str) -> str:
    """Return what to write in place of another library's name: a sentence, or nothing."""
    written = _foreign.get(kind, {}).get(name)
    return f" Use {written}." if written else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like ``name``, or None where none is.

    It begins with the same letter: other names are seldom what a slip of the fingers meant.
    """
    return _nearest(name, tuple(known), 0.75, 0.66)


@functools.lru_cache(maxsize=512)  # libraries ask by hasattr for names that are not there
def _nearest(name: str, known: tuple[str, ...], cutoff: float, of_same_length: float) -> str | None:
    import difflib

    alike = [one for one in known if one[:1].lower() == name[:1].lower()]
    as_long = [one for one in alike if len(one) == len(name)]
    for given, limit in ((alike, cutoff), (as_long, of_same_length)):
        found = difflib.get_close_matches(name, given, n=1, cutoff=limit)
        if found:
            return found[0]
    return None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the nearest known name, to stand behind a sentence; '' without one."""
    near = nearest(name, known)
    return "" if near is None else f" Did you mean {near!r}?"


def advice(kind: str, name: str, known: Iterable[str]) -> str:
    """Return what to write in place of a wrong name: a sentence, or nothing."""
    names = _foreign.get(kind, {})
    meant = None if name in names else nearest(name, known)
    if meant is not None:
        return f" Did you mean {meant!r}?"
    if name in names:
        return written_for(kind, name)
    meant = _misspelled(name, tuple(names))
    return written_for(kind, meant or "")


def no_attribute(owner: str, name: str, said: str) -> AttributeError:
    """Return the error of a name that is not there, with our advice.

    Python adds a guess of its own to what names an object, where we have advised already, too.
    """
    text = f"{owner} has no attribute {name!r}.{said}"
    return AttributeError(text, name=name, obj=None) if said else AttributeError(text)


def _misspelled(name: str, foreign: tuple[str, ...]) -> str | None:
    """Return another library's name where letters of it were exchanged, or hardly any differs."""
    same = [one for one in foreign if sorted(one) == sorted(name)]
    return same[0] if same else _nearest(name, foreign, 0.85, 0.85)
