"""What is known of texts, each thing found once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.wgsl.syntax.places import Text

_Value = TypeVar("_Value")
_More = TypeVarTuple("_More")
MOST = 1024
"""How many texts are remembered, those that were used last."""


@functools.lru_cache(maxsize=MOST)
def _known(text: Text) -> dict[object, Any]:
    del text
    return {}


def forget_texts() -> None:
    """Forget what is known of all texts, of which none may come again."""
    _known.cache_clear()


def once_per_text(f: Callable[[Text, *_More], _Value]) -> Callable[[Text, *_More], _Value]:
    """Have what a function gives for a text kept with all else that is known of the text.

    What it takes besides is given by position, and can be a dictionary's key.
    """

    @functools.wraps(f)
    def found(text: Text, /, *more: *_More) -> _Value:
        known = _known(text)
        key = (f, more) if more else f
        if key not in known:
            known[key] = f(text, *more)
        value: _Value = known[key]
        return value

    return found
