"""Domains: what the simulator computes f32 and f16 in, and which functions it takes by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Words = np.ndarray[Any, np.dtype[np.uint32]]

_NARROW: Mapping[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "i32": np.int32,
    "u32": np.uint32,
    "bool": np.bool_,
}


def plain_views(words: Words) -> dict[str, Any]:
    """Return words seen as the types of WGSL's scalars."""
    return {name: words.view(_NARROW[name]) for name in ("u32", "i32", "f32", "f16")}


@dataclass(frozen=True)
class Domain:
    """What numbers are computed in.

    Attributes:
        name: Its name.
        scalars: What makes a number of each of WGSL's scalar types.
        leaves: Functions of NumPy values that are called in place of a module's own of that name.
        has_bits: Whether a float has the bits that it has on a device. If not, what takes floats
            apart as bits is refused.
        views: Returns words of memory as each type of number, by its name; as ``u32`` the words.
        names: What compiled functions name, beside or in place of what is there for arrays.
    """

    name: str
    scalars: Mapping[str, Any]
    leaves: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, "Callable[..., Any]"]
    )
    has_bits: bool = True
    views: Callable[[Any], dict[str, Any]] = plain_views
    names: Mapping[str, Any] = field(default_factory=dict[str, Any])


FLOAT32 = Domain("float32", _NARROW)
"""What a device computes in."""


def float32(leaves: Mapping[str, Callable[..., Any]]) -> Domain:
    """Return the domain of a device in which functions are taken by name."""
    return Domain("float32", _NARROW, leaves)


def float64(leaves: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> Domain:
    """Return the domain in which f32 and f16 are float64, and integers what they are.

    Args:
        leaves: Functions that are called in place of a module's own: of what a library compensates
            or takes apart as bits.
    """
    scalars = {**_NARROW, "f32": np.float64, "f16": np.float64}
    return Domain("float64", scalars, leaves, has_bits=False, views=wide_views)


# Memory of float64.


class WideWords:
    """Words of memory with the float64 of each f32 and f16 in them.

    A float64 counts where it rounds to what is in the words. Where it does not, somebody wrote the
    words since, and their f32 or f16 counts.

    Attributes:
        words: The words.
        floats: A float64 for each word.
        halves: A float64 for each half of a word.
    """

    def __init__(self, words: Words) -> None:
        """Begin with what the words are."""
        self.words = words
        with np.errstate(invalid="ignore"):  # words of any kind may be a signaling NaN's
            self.floats = words.view(np.float32).astype(np.float64)
            self.halves = words.view(np.float16).astype(np.float64)

    def part(self, begin: int, end: int) -> WideWords:
        """Return those from one word to another, which are the same memory."""
        found = WideWords.__new__(WideWords)
        found.words, found.floats = self.words[begin:end], self.floats[begin:end]
        found.halves = self.halves[2 * begin : 2 * end]
        return found


class _WideView:
    """Words seen as float64: ``narrow`` is what they are, ``wide`` the float64 of each."""

    def __init__(self, narrow: Any, wide: Any) -> None:
        self.narrow, self.wide = narrow, wide
        self.bits = narrow.view(f"u{narrow.itemsize}")

    def __getitem__(self, at: Any) -> Any:
        wide = self.wide[at]
        with np.errstate(all="ignore"):
            near = np.asarray(wide, self.narrow.dtype).view(self.bits.dtype)
            return np.where(near == self.bits[at], wide, self.narrow[at])[()]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.wide[at] = value
        with np.errstate(all="ignore"):
            self.narrow[at] = self.wide[at]


def wide_views(memory: Words | WideWords) -> dict[str, Any]:
    """Return memory as each type of number, floats as float64."""
    wide = memory if isinstance(memory, WideWords) else WideWords(memory)
    plain = plain_views(wide.words)
    return {
        **plain,
        "f32": _WideView(plain["f32"], wide.floats),
        "f16": _WideView(plain["f16"], wide.halves),
    }
