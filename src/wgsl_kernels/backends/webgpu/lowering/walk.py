"""The order in which a reduction meets the elements of its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.lowering.collapse import collapse

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument


class Walk:
    """Kept axes, then reduced ones, merged where they lie so.

    Attributes:
        kept: How many of the merged axes are kept.
        inner: How many neighbouring rows have neighbouring elements, 1 where there are none.
        step: Elements from one of a row to the next.
    """

    def __init__(self, array: Argument, reduced: tuple[int, ...], *, strided: bool) -> None:
        axes = range(len(array.shape))
        order = [axis for axis in axes if axis not in reduced] + list(reduced)
        self.dtype = array.dtype
        self.offset = array.offset
        self.rank = len(order)
        self.kept = len(order) - len(reduced)
        self.inner = self.step = 1
        self.access: Any = "value" if array.is_value or array.size == 0 else "strided"
        self.shape: tuple[int, ...] = ()
        self.own: tuple[int, ...] = ()
        self.written: tuple[int, ...] = ()
        if self.access == "value":
            return
        shape = tuple(array.shape[axis] for axis in order)
        plain = row_major(array.shape)
        strides = [[one[axis] for axis in order] for one in (array.strides, plain)]
        self.shape, (self.own, self.written), self.kept = collapse(
            shape, [tuple(one) for one in strides], self.kept
        )
        self.rank = len(self.shape)
        if not strided and array.layout is None and order == sorted(order):
            self.access = "flat"
            return
        self.step = self.own[-1] if self.rank > self.kept else 1
        beside = self.kept > 0 and self.own[self.kept - 1] == self.written[self.kept - 1] == 1
        if beside and self.step != 1 and not strided:
            self.inner = self.shape[self.kept - 1]

    @property
    def is_even(self) -> bool:
        """Whether the elements of a row lie along one axis of a view, ``step`` apart."""
        return self.access == "strided" and self.rank == self.kept + 1

    def operand(self, name: str) -> Operand:
        return Operand(name, self.dtype, self.rank, self.access)

    def add_facts(self, facts: dict[str, Any], name: str, output: str) -> None:
        if self.access == "value":
            facts.setdefault(f"{name}_value", 0)
            return
        facts |= {
            "wk_shape": self.shape,
            f"wk_{name}_strides": self.own,
            f"wk_{name}_offset": self.offset,
            f"wk_{output}_strides": self.written,
            "wk_step": self.step,
        }

    def is_wide(self, rows: int, maps: bool) -> bool:
        """Say whether the vectors that are loaded and stored lie at multiples of four.

        Of several neighbouring rows of an invocation, elements are neighbours across. With ``maps``
        fours are stored, too.
        """
        if self.access == "value" or self.dtype == "complex64" or self.offset % 4:
            return False
        both = [self.own, self.written] if maps else [self.own]
        if rows > 1:
            others = [one[: self.kept - 1] + one[self.kept :] for one in both]
            return self.inner % 4 == 0 and all(s % 4 == 0 for one in others for s in one)
        if any(one[self.kept :] != (1,) for one in both):
            return False
        return all(s % 4 == 0 for one in both for s in one[: self.kept])
