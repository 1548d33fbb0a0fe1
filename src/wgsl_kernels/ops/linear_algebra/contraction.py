"""Sums of products by subscripts, as steps that either backend can take.

A subscript names the axes of an operand by letters. A contraction of several operands is a path of
pairs, which opt_einsum finds; a pair is a stack of products of matrices, or a product element by
element where it sums over nothing. Axes that only one operand has and the result has not are summed
before.

Source: Smith and Gray, opt_einsum: A Python package for optimizing contraction order for
einsum-like expressions, 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.recent import remembered
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.spec import Shape


class Shaped(Protocol):
    """An array of either backend."""

    @property
    def shape(self) -> Shape:
        """The lengths of its axes."""
        ...


A = TypeVar("A", bound=Shaped)
Groups = tuple[tuple[int, ...], ...]
"""For each axis of a view the axes that it goes along, at once: a diagonal, or none of length 1."""


class Arrays(Protocol[A]):
    """What a contraction does with the arrays of a backend."""

    def along(self, x: A, groups: Groups) -> A:
        """Return a view of ``x`` with an axis for each group."""
        ...

    def reshaped(self, x: A, shape: Shape) -> A:
        """Return ``x`` in another shape."""
        ...

    def summed(self, x: A) -> A:
        """Return the sums [rows] of ``x``, [rows, columns]."""
        ...

    def multiplied(self, a: A, b: A, shape: Shape) -> A:
        """Return the products of elements, broadcast to ``shape``."""
        ...

    def product(self, a: A, b: A) -> A:
        """Return the products of matrices [batch, rows, terms] and [batch, terms, columns]."""
        ...


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation whose subscripts are all letters.

    Attributes:
        inputs: The subscript of each operand.
        output: That of the result.
        lengths: The length of each letter's axis.
        path: Which operands are taken in each step; the result is put behind those that are left.
    """

    inputs: tuple[str, ...]
    output: str
    lengths: dict[str, int]
    path: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> Shape:
        return tuple(self.lengths[letter] for letter in self.output)


@remembered(3000)
def read_equation(equation: str, shapes: tuple[Shape, ...]) -> Equation:
    """Return what an equation says of operands of these shapes.

    Raises:
        ArgumentError: It cannot be read, or is of another number of operands.
        ShapeError: The shapes do not fit.
    """
    from opt_einsum import parser

    try:
        text, output, _ = parser.parse_einsum_input((equation, *shapes), shapes=True)
    except ValueError as error:
        said = str(error).rstrip(".")
        raise ArgumentError(
            f"Einsum: equation is {equation!r} for {len(shapes)} operands: {said}."
        ) from None
    inputs = tuple(text.split(","))
    odd = [letter for letter in text if letter != "," and not letter.isalpha()]
    if odd:
        raise ArgumentError(f"Einsum: equation is {equation!r}; want letters for axes.")
    lengths: dict[str, int] = {}
    for place, (subscript, shape) in enumerate(zip(inputs, shapes, strict=True)):
        if len(subscript) != len(shape):
            raise ShapeError(
                f"Einsum: inputs[{place}] has shape {show(shape)}; want {len(subscript)} axes, as "
                f"{equation!r} has."
            )
        for letter, length in zip(subscript, shape, strict=True):
            known = lengths.setdefault(letter, length)
            if 1 not in (known, length) and known != length:
                raise ShapeError(
                    f"Einsum: inputs[{place}] has shape {show(shape)}, but axis {letter!r} of "
                    f"{equation!r} has length {known} elsewhere; want equal lengths or 1."
                )
            lengths[letter] = length if known == 1 else known
    path = _path(inputs, output, lengths)
    return Equation(inputs, output, lengths, path)


def _path(
    inputs: Sequence[str], output: str, lengths: dict[str, int]
) -> tuple[tuple[int, ...], ...]:
    if len(inputs) < 3:
        return (tuple(range(len(inputs))),)
    from opt_einsum import contract_path

    whole = [tuple(lengths[letter] for letter in one) for one in inputs]
    text = ",".join(inputs) + "->" + output
    found, _ = contract_path(text, *whole, shapes=True)
    return tuple(tuple(one) for one in found)


@dataclass(frozen=True, slots=True)
class _LabelledArray(Generic[A]):
    """An array and the letters of its axes, each of which occurs once."""

    array: A
    letters: str


def contract(arrays: Arrays[A], equation: Equation, operands: Sequence[A]) -> A:
    """Return the result of an equation, none of whose lengths is 0."""
    given = zip(operands, equation.inputs, strict=True)
    left = [_with_diagonals(arrays, x, letters, equation.lengths) for x, letters in given]
    for taken in equation.path:
        those = [left[place] for place in taken]
        left = [one for place, one in enumerate(left) if place not in taken]
        wanted = {*equation.output, *(letter for one in left for letter in one.letters)}
        found = _without(arrays, those[0], wanted | _letters(those[1:]), equation.lengths)
        for place, other in enumerate(those[1:], 2):
            kept = wanted | _letters(those[place:])
            other = _without(arrays, other, kept | set(found.letters), equation.lengths)
            found = _pair(arrays, found, other, kept, equation.lengths)
        left.append(found)
    (last,) = left
    order = [one if one in last.letters else "" for one in equation.output]
    return arrays.along(last.array, _groups(last.letters, order))


def _letters(held: Sequence[_LabelledArray[Any]]) -> set[str]:
    return {letter for one in held for letter in one.letters}


def _with_diagonals(
    arrays: Arrays[A], x: A, letters: str, lengths: dict[str, int]
) -> _LabelledArray[A]:
    """Return the diagonal where a letter occurs twice; axes of length 1 are left out."""
    kept = [letter for letter in dict.fromkeys(letters) if lengths[letter] > 1]
    groups = tuple(
        tuple(axis for axis, one in enumerate(letters) if one == letter and x.shape[axis] > 1)
        for letter in kept
    )
    present = [(letter, group) for letter, group in zip(kept, groups, strict=True) if group]
    return _LabelledArray(
        arrays.along(x, tuple(group for _, group in present)),
        "".join(letter for letter, _ in present),
    )


def _without(
    arrays: Arrays[A], x: _LabelledArray[A], wanted: set[str], lengths: dict[str, int]
) -> _LabelledArray[A]:
    """Return the sums over axes that nothing else has."""
    kept = [letter for letter in x.letters if letter in wanted]
    gone = [letter for letter in x.letters if letter not in wanted]
    if not gone:
        return x
    view = arrays.along(x.array, _groups(x.letters, kept + gone))
    rows, columns = (math.prod(lengths[letter] for letter in some) for some in (kept, gone))
    sums = arrays.summed(arrays.reshaped(view, (rows, columns)))
    shape = tuple(lengths[letter] for letter in kept)
    return _LabelledArray(arrays.reshaped(sums, shape), "".join(kept))


def _pair(
    arrays: Arrays[A],
    a: _LabelledArray[A],
    b: _LabelledArray[A],
    wanted: set[str],
    lengths: dict[str, int],
) -> _LabelledArray[A]:
    """Return the product of two operands, without the axes that are not wanted any more."""
    both = [letter for letter in a.letters if letter in b.letters]
    batch = [letter for letter in both if letter in wanted]
    terms = [letter for letter in both if letter not in wanted]
    rows = [letter for letter in a.letters if letter not in both]
    columns = [letter for letter in b.letters if letter not in both]
    letters = "".join(batch + rows + columns)
    shape = tuple(lengths[letter] for letter in letters)
    if not terms:
        left = arrays.along(a.array, _groups(a.letters, [*batch, *rows, *[""] * len(columns)]))
        right = arrays.along(b.array, _groups(b.letters, [*batch, *[""] * len(rows), *columns]))
        return _LabelledArray(arrays.multiplied(left, right, shape), letters)
    sizes = [math.prod(lengths[one] for one in some) for some in (batch, rows, terms, columns)]
    left = arrays.along(a.array, _groups(a.letters, batch + rows + terms))
    right = arrays.along(b.array, _groups(b.letters, batch + terms + columns))
    y = arrays.product(
        arrays.reshaped(left, (sizes[0], sizes[1], sizes[2])),
        arrays.reshaped(right, (sizes[0], sizes[2], sizes[3])),
    )
    return _LabelledArray(arrays.reshaped(y, shape), letters)


def _groups(letters: str, wanted: Sequence[str]) -> Groups:
    """Return for each letter its axis; for an empty one none, which makes an axis of length 1."""
    return tuple((letters.index(one),) if one else () for one in wanted)
