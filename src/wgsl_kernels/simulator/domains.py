"""Domains: what the simulator computes f32 and f16 in, and which functions it takes by name."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

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
    return Domain("float64", scalars, leaves, has_bits=False, views=shadowed)


# Memory of which more is known than its words.


class WideView:
    """Floats of memory, with the float64 of each.

    That counts so long as the float is what it was. Where it is not, somebody wrote the words
    since, and the float counts.

    Attributes:
        narrow: The floats.
        bits: Their bits.
        known: The bits that they had when the float64 was written.
        wide: The float64.
    """

    def __init__(self, narrow: Any) -> None:
        """Begin with what the floats are."""
        self.narrow, self.bits = narrow, narrow.view(f"u{narrow.itemsize}")
        self.known = self.bits.copy()
        with np.errstate(invalid="ignore"):  # words of any kind may be a signaling NaN's
            self.wide = narrow.astype(np.float64)

    def part(self, begin: int, end: int) -> Self:
        """Return those from one to another, which are the same memory."""
        found = copy.copy(self)
        vars(found).update({name: values[begin:end] for name, values in vars(self).items()})
        return found

    def __getitem__(self, at: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.where(self.known[at] == self.bits[at], self.wide[at], self.narrow[at])[()]

    def __setitem__(self, at: Any, value: Any) -> None:
        self.wide[at] = value
        with np.errstate(all="ignore"):
            self.narrow[at] = self.wide[at]
        self.known[at] = self.bits[at]


class ShadowedWords:
    """Words of memory, of whose floats more is known.

    Attributes:
        words: The words.
        views: What they are as each type of number.
    """

    def __init__(self, words: Words, view: type[WideView] = WideView) -> None:
        """Begin with what the words are."""
        self.words, self.views = words, plain_views(words)
        self.views.update({name: view(self.views[name]) for name in ("f32", "f16")})

    def part(self, begin: int, end: int) -> ShadowedWords:
        """Return those from one word to another, which are the same memory."""
        found = copy.copy(self)
        found.words = self.words[begin:end]
        floats, halves = self.views["f32"], self.views["f16"]
        parts = {"f32": floats.part(begin, end), "f16": halves.part(2 * begin, 2 * end)}
        found.views = {**plain_views(found.words), **parts}
        return found


def shadowed(memory: Words | ShadowedWords, view: type[WideView] = WideView) -> dict[str, Any]:
    """Return memory as each type of number, floats as a view has them."""
    return (memory if isinstance(memory, ShadowedWords) else ShadowedWords(memory, view)).views
