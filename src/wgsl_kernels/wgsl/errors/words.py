"""How messages print what was given, whatever it is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

_LONGEST = 200
_ITEMS = 12


def shown(value: Any) -> str:
    """Return a value on one line, not too long, whatever its ``repr`` does.

    Of a type with ``_shown_as`` that is shown (tensors, which are not read for it), and Python
    prints no integer of more than 4,300 digits.
    """
    try:
        text = " ".join(_shown(value).split())
    except Exception:
        kind = type(value).__name__
        return f"an int of {value.bit_length()} bits" if kind == "int" else f"a value of {kind}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _shown(value: Any) -> str:
    name = getattr(type(value), "_shown_as", None)
    if isinstance(name, str):
        return name
    if type(value) is dict:
        pairs = itertools.islice(value.items(), _ITEMS)
        return "{" + _joined([f"{shown(name)}: {shown(one)}" for name, one in pairs], value) + "}"
    if type(value) is list:
        return f"[{_joined(map(shown, value[:_ITEMS]), value)}]"
    if type(value) is tuple:
        end = "," if len(value) == 1 else ""
        return f"({_joined(map(shown, value[:_ITEMS]), value)}{end})"
    return repr(value)


def _joined(texts: Iterable[str], whole: Sized) -> str:
    return ", ".join(texts) + (", …" if len(whole) > _ITEMS else "")
