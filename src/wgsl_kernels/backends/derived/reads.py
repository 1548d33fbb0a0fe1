"""Elements that a product's functions read, as views of their inputs.

``x[(batch * params.rows + row) * params.depth + k]`` reads x at strides: sums of multiples of a
batch, a row and a term. What reads each element of x once is x with other axes, and its gradient is
the transposition of that; along an axis of stride 0 the same elements are read again, and added.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.names import free_name
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor

Affine = tuple[int, int, int, int]
"""A number that does not depend on a place, and what each number of a place is multiplied by."""
_PLACES: tuple[Affine, ...] = ((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
"""Each number of a place by itself."""
_LOADS = re.compile(r"load4?_(\w+?)(_at)?")
_PARTS = "xyzw"


@dataclass(frozen=True)
class Read:
    """An element that a function reads.

    Attributes:
        function: The function.
        first: Which of its parameters is the first number of a place.
        input: The input's name.
        node: The whole expression.
        index: Which element.
    """

    function: tree.Function
    first: int
    input: str
    node: tree.Expression
    index: tree.Expression

    def strides(self, field: Callable[[str, int | None], int]) -> Affine:
        """Return the offset, and the strides of a place.

        Raises:
            NotDerivableError: It is not read at strides.
        """
        names = [one.ident.name for one in self.function.parameters][self.first :]
        known = dict(zip(names, _PLACES, strict=False))
        lets = {
            one.ident.name: one.value
            for one in descendants(self.function.body)
            if isinstance(one, tree.Value) and one.value is not None
        }
        return _Strides(self, known, lets, field).of(self.index)


@dataclass(frozen=True)
class _Strides:
    read: Read
    known: dict[str, Affine]
    lets: dict[str, tree.Expression]
    field: Callable[[str, int | None], int]

    def of(self, node: tree.Expression) -> Affine:
        """Return an index as a sum of multiples of a place."""
        if isinstance(node, tree.Paren):
            return self.of(node.inner)
        if isinstance(node, tree.Literal):
            return (int(node.text.rstrip("ui"), 0), 0, 0, 0)
        if isinstance(node, tree.Name) and node.name in self.known:
            return self.known[node.name]
        if isinstance(node, tree.Name) and node.name in self.lets:
            return self.of(self.lets[node.name])
        if isinstance(node, tree.Call) and node.callee.name == "u32":
            return self.of(node.arguments[0])
        found = self._field(node)
        if found is not None:
            return (found, 0, 0, 0)
        if isinstance(node, tree.Binary) and node.operator in ("+", "-", "*"):
            left, right = self.of(node.left), self.of(node.right)
            if node.operator != "*":
                sign = 1 if node.operator == "+" else -1
                return _four(a + sign * b for a, b in zip(left, right, strict=True))
            if not any(left[1:]):
                return _four(left[0] * b for b in right)
            if not any(right[1:]):
                return _four(a * right[0] for a in left)
        raise NotDerivableError(
            f"{self.read.input} is read at a place that is no sum of multiples of its parameters; "
            "read it at strides.",
            node.begin,
        )

    def _field(self, node: tree.Expression) -> int | None:
        part, at = None, node
        if isinstance(node, tree.Index) and isinstance(node.index, tree.Literal):
            part, at = int(node.index.text.rstrip("ui")), node.base
        elif isinstance(node, tree.Access) and isinstance(node.base, tree.Access):
            part, at = _PARTS.find(node.member.name), node.base
        if not isinstance(at, tree.Access) or not isinstance(at.base, tree.Name):
            return None
        return self.field(at.member.name, part) if at.base.name == "params" else None


def _four(values: Any) -> Affine:
    a, b, c, d = values
    return a, b, c, d


def reads_of(function: tree.Function, first: int, outside: Collection[str]) -> list[Read]:
    """Return what a function reads of inputs, which are among names from outside of its file.

    Raises:
        NotDerivableError: It reads at coordinates, or several elements of an input.
    """
    found: list[Read] = []
    for node in descendants(function.body):
        base: Any = node.base if isinstance(node, tree.Index) else None
        if isinstance(node, tree.Index) and isinstance(base, tree.Name) and base.name in outside:
            found.append(Read(function, first, base.name, node, node.index))
        elif isinstance(node, tree.Call) and node.callee.name in outside:
            load = _LOADS.fullmatch(node.callee.name)
            if load is None:
                continue
            if load.group(2) or node.callee.name.startswith("load4"):
                message = f"{node.callee.name} is not followed; read one element by its index."
                raise NotDerivableError(message, node.begin)
            found.append(Read(function, first, load.group(1), node, node.arguments[0]))
    seen: set[str] = set()
    for one in found:
        if one.input in seen:
            message = (
                f"{function.name} reads {one.input} a second time, and one element of each input "
                "is followed. Where both are the same, keep it in a let."
            )
            raise NotDerivableError(message, one.node.begin)
        seen.add(one.input)
    return found


def read_by(name: str) -> str:
    """Return the input that a name from outside of a file reads, if it reads one: itself, or x."""
    load = _LOADS.fullmatch(name)
    return name if load is None else load.group(1)


def operand_of(function: tree.Function, outside: Collection[str]) -> Read:
    """Return the one element that an operand is.

    Raises:
        NotDerivableError: It is something else.
    """
    reads = reads_of(function, 0, outside)
    returned = [one for one in descendants(function.body) if isinstance(one, tree.Return)]
    value = returned[0].value if len(returned) == 1 else None
    while isinstance(value, (tree.Paren, tree.Call)):
        if isinstance(value, tree.Paren):
            value = value.inner
        elif is_cast(value.callee.name):
            value = value.arguments[0]
        else:
            break
    if len(reads) != 1 or value is not reads[0].node:
        message = f"{function.name} does more than to return an element of an input; compute that "
        message += "by ops before, or in term."
        raise NotDerivableError(message, function.ident.begin)
    return reads[0]


def with_reads(text: str, finish: tree.Function, reads: Sequence[Read]) -> str:
    """Return ``finish`` as a function of what it reads."""
    written, last = "", finish.begin
    taken = {one.name for one in descendants(finish) if isinstance(one, (tree.Ident, tree.Name))}
    called = {one.input: free_name(f"{one.input}_read", taken) for one in reads}
    for one in sorted(reads, key=lambda read: read.node.begin):
        written += f"{text[last : one.node.begin]}{called[one.input]}"
        last = one.node.end
    written += text[last : finish.end]
    more = ", ".join([f"{called[one.input]}: T_{one.input}" for one in reads])
    end = finish.parameters[-1].end - finish.begin
    first = min([one.node.begin for one in reads], default=finish.end) - finish.begin
    assert end <= first
    return f"{written[:end]}, {more}{written[end:]}" if more else written


def is_cast(name: str) -> bool:
    """Say whether a function is that of a float type."""
    return name in ("f32", "f16") or name.startswith("T_")


@dataclass(frozen=True)
class IndexedView:
    """An input as it is read, in three axes; those along which it is read again have length 1.

    Attributes:
        axes: The three in the order in which the input has them.
        lengths: Their lengths.
    """

    axes: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(
        cls, rule: str, read: Read, shape: Sequence[int], sizes: Sequence[int], strides: Affine
    ) -> IndexedView:
        """Return the view of an input of a shape, for three lengths.

        Args:
            rule: What to say of what may be read, where it is not.
            read: How it is read.
            shape: The input's shape.
            sizes: The three lengths.
            strides: The offset of what is read first, and the step along each.

        Raises:
            ShapeError: It does not have each element of the input once.
        """
        offset, *along = strides
        if math.prod(shape) == math.prod(sizes) == 0:
            return cls((0, 1, 2), tuple(sizes))
        lengths = [n if step else 1 for n, step in zip(sizes, along, strict=True)]
        axes = sorted(range(3), key=lambda at: (-along[at] if lengths[at] > 1 else 0, at))
        axes = [at for at in axes if lengths[at] == 1] + [at for at in axes if lengths[at] > 1]
        step = 1
        is_whole = offset == 0 and math.prod(lengths) == math.prod(shape)
        for at in reversed(axes):
            if lengths[at] > 1:
                is_whole &= along[at] == step
                step *= lengths[at]
        if not is_whole:
            raise ShapeError(
                f"{rule}; {read.function.name} reads {read.input}, {show(tuple(shape))}, from "
                f"{offset} at strides {show(tuple(along))} for {show(tuple(sizes))} elements."
            )
        return cls(tuple(axes), tuple(lengths))

    def array(self, x: Any) -> Any:
        """Return a NumPy array as it is read."""
        return x.reshape([self.lengths[at] for at in self.axes]).transpose(self._back)

    def tensor(self, x: Tensor) -> Tensor:
        """Return a tensor as it is read."""
        x = run("Reshape", x, shape=tuple([self.lengths[at] for at in self.axes]))
        return x if self.axes == (0, 1, 2) else run("Transpose", x, perm=self._back)

    def back(self, dx: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return the gradient of an input of a shape, of that of all elements as they are read."""
        dx = unbroadcast(dx, self.lengths)
        dx = dx if self.axes == (0, 1, 2) else run("Transpose", dx, perm=self.axes)
        return run("Reshape", dx, shape=shape)

    @property
    def _back(self) -> tuple[int, ...]:
        return tuple([self.axes.index(at) for at in range(3)])
