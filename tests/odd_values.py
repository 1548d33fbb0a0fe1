"""Values that nobody should pass, and some that few do; each is made anew for every call."""

import datetime
import decimal
import enum
import fractions
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wgsl_kernels as wk

Make = Callable[[], Any]


class Refusing:
    """An object whose every hook raises an error of its own."""

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise OSError("an error of the object's own")

    __index__ = __int__ = __float__ = __complex__ = __len__ = __iter__ = __getitem__ = _raise
    __array__ = __bool__ = __repr__ = __str__ = __call__ = __enter__ = _raise


class Unhashable:
    """An object that equals everything and that no dictionary takes."""

    __hash__ = None  # type: ignore[assignment]  # that is its point

    def __eq__(self, other: object) -> bool:
        return True


class Lying:
    """An object that says that it is a length, and is none."""

    def __index__(self) -> int:
        return "2"  # type: ignore[return-value]  # that is its point

    def __len__(self) -> int:
        return -1


class Colour(enum.IntEnum):
    """An integer by another name."""

    RED = 1


def _holding_itself() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def _deep(levels: int) -> Any:
    found: Any = 1.0
    for _ in range(levels):
        found = [found]
    return found


def _generator() -> Iterator[int]:
    yield 2
    yield 3


def _disposed() -> wk.Tensor:
    x = wk.tensor([[1.0, 2.0, 3.0]])
    x.dispose()
    return x


def _constant(value: Any) -> Make:
    return lambda: value


_PLAIN: tuple[Any, ...] = (
    None, True, False, "", "a", "float32", "int32", "string", "complex64", "valid", "same", "sum",
    b"x", bytearray(b"xy"), 0, 1, -1, 2, 3, 7, 10**6, 2**31, 2**32, 2**63, -(2**63), 2**63 - 1,
    10**30, 10**400, 10**5000, 1.0, 0.5, -0.0, 2.0, float("nan"), float("inf"), -float("inf"),
    1e300, 1e-320, 1j, complex(float("nan"), 1.0), (), (1,), (2, 3), (3, 2), (6,), (-1,), (True,),
    (2.0, 3), (None, 2), ("a",), (2**63, 0), (0, 2**62), (2**40, 2**40), (2**31, 2**31, 0),
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1), (0, 0), (1, -1), ((1, 1), (0, 2)), ((1, 2, 3),), frozenset({1}),
    range(2), slice(0, 1), Ellipsis, int, np.float32, np.dtype("f4"), np.int64(2), np.int64(-1),
    np.bool_(True), np.float64(1.5), np.float16(2), np.uint64(2**63), np.complex128(1j),
    np.str_("a"), np.datetime64("2020-01-01"), np.timedelta64(1, "s"), np.newaxis,
    fractions.Fraction(1, 2), decimal.Decimal(1), datetime.date(2020, 1, 1), Colour.RED,
)  # fmt: skip

_DTYPES = (
    "bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "F", "D", "G",
    "O", "S3", "U3", "V4", "M8[s]", "m8[s]", ">f4", [("a", "f4"), ("b", "i4")],
)  # fmt: skip


def _array(dtype: Any) -> Make:
    return lambda: np.zeros((2, 3), dtype)


_MADE: tuple[Make, ...] = (
    dict, set, list, object, Refusing, Unhashable, Lying, _holding_itself, _generator, _disposed,
    lambda: {"a": 1}, lambda: {1, 2}, lambda: [1], lambda: [1.5, 2.5], lambda: [[1, 2], [3]],
    lambda: [[]], lambda: [[1.0, 2.0], [3.0, 4.0]], lambda: [None], lambda: ["a", 1],
    lambda: [True, 2], lambda: [2, 3], lambda: [0, 1], lambda: [10**30], lambda: [[1], 2],
    lambda: _deep(20), lambda: _deep(100), lambda: lambda x: x, lambda: lambda: None,
    lambda: memoryview(b"ab"), lambda: np.array(2), lambda: np.array(True), lambda: np.array([2]),
    lambda: np.array([2, 3]), lambda: np.array([2.0, 3.0]), lambda: np.array([], "i4"),
    lambda: np.array([None, {}], object), lambda: np.array([wk, 1], object), lambda: np.array("a"),
    lambda: np.full((2, 3), np.nan, "f4"), lambda: np.asfortranarray(np.ones((3, 2))),
    lambda: np.ma.masked_array([1.0, 2.0], mask=[True, False]), lambda: np.zeros((0, 3)),
    lambda: wk.tensor(2), lambda: wk.tensor(2.0), lambda: wk.tensor([[1.0, 2.0, 3.0], [4.0, 5, 6]]),
    lambda: wk.tensor([[1, 0, 1], [0, 1, 0]]), lambda: wk.tensor([True, False]),
    lambda: wk.tensor(["a", "b"]), lambda: wk.tensor([1j, 2.0]), lambda: wk.zeros((0, 3)),
    lambda: wk.zeros((2, 0, 3)), lambda: wk.ones((1, 2, 1, 2, 1)), lambda: wk.tensor([7, -9]),
    lambda: wk.variable([1.0, 2.0], name="odd"), lambda: [wk.ones((1,)), wk.ones((2,))],
    lambda: [wk.tensor([1.0]), wk.tensor([2])], lambda: {"x": wk.tensor([1.0])},
    lambda: [_disposed()], lambda: (wk.tensor(1.0), None), lambda: wk.zeros((2**40, 0)),
    lambda: [wk.tensor(1), "a"],
)  # fmt: skip

ODD: tuple[Make, ...] = (*map(_constant, _PLAIN), *map(_array, _DTYPES), *_MADE)
