"""How each leaf of a dispatch is read: which layouts allow four elements at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.forms.expressions import FEW
from wgsl_kernels.backends.webgpu.composing.text.structure import Across, Leaf, Mode
from wgsl_kernels.backends.webgpu.programs.arguments import broadcast_strides, collapse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.engine.values.spec import Shape

Strides = tuple[int, ...]

LINE = 16
"""Elements of a line of memory: from so many on, lying side by side along an axis matters."""


class LeafReads:
    """The leaves of one dispatch.

    Attributes:
        spaces: The rank of each coordinate system.
        vec4: Whether an item is four elements.
        few: Whether coordinates are of at most FEW items.
        facts: What fills the parameter block, but for values, by names without a prefix.
        values: The leaves that travel as parameters.
        across: Where items are four elements, and a leaf lies side by side along another axis than
            the result.
    """

    def __init__(
        self,
        arrays: Sequence[GpuArray],
        shapes: Sequence[Shape],
        dtypes: set[str],
        *,
        vec4: bool = True,
        given: GpuArray | None = None,
    ) -> None:
        """Decide for each leaf, which is broadcast to its shape among ``shapes``.

        ``dtypes`` are those of outputs and steps; the kernel that the group is fused into gives the
        elements of the leaf ``given``.
        """
        self.facts: dict[str, Any] = {}
        self.values: list[int] = []
        strided: dict[Shape, list[int]] = {}
        flat: list[int] = []
        found: dict[int, Leaf] = {}
        for number, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
            if array is given:
                found[number] = Leaf(array.dtype, "given")
            elif array.is_scalar_on_host:
                self.values.append(number)
            elif array.layout is None and fills(array, shape):
                flat.append(number)
            else:
                strided.setdefault(shape, []).append(number)
        spaces = [
            (members, *collapse(shape, [broadcast_strides(arrays[n], shape) for n in members])[:2])
            for shape, members in strided.items()
        ]
        all_dtypes = dtypes | {array.dtype for array in arrays}
        self.vec4 = (
            vec4
            and "complex64" not in all_dtypes
            and all(shape and shape[-1] % 4 == 0 for _, shape, _ in spaces)
        )
        most = max((math.prod(shape) for _, shape, _ in spaces), default=0)
        self.few = most // (4 if self.vec4 else 1) <= FEW
        found |= {n: Leaf(arrays[n].dtype, "value") for n in self.values}
        found |= {n: Leaf(arrays[n].dtype, "flat") for n in flat}
        self.across: Across | None = None
        self.spaces = tuple(len(shape) for _, shape, _ in spaces)
        for space, (members, shape, strides) in enumerate(spaces):
            inner = shape[-1] // 4 if self.vec4 else 0
            self.facts[f"space{space}"] = (*shape[:-1], inner) if self.vec4 else shape
            for number, own in zip(members, strides, strict=True):
                mode = self._place(number, own, arrays[number].offset)
                if mode == "gather" and self.across is None:
                    self.across = _across(space, shape, own)
                found[number] = Leaf(arrays[number].dtype, mode, space)
        self.leaves = tuple(found[n] for n in range(len(arrays)))

    def _place(self, number: int, strides: Strides, offset: int) -> Mode:
        """Note the strides and the offset of a leaf in items; return how it is read."""
        mode: Mode = "strided"
        if self.vec4:
            inner = strides[-1]
            aligned = not any(one % 4 for one in (offset, *strides[:-1]))
            if inner == 0:
                mode = "splat"
            elif inner == 1 and aligned:
                mode = "wide"
                offset, strides = offset // 4, (*(one // 4 for one in strides[:-1]), 1)
            else:
                mode = "gather"
                self.facts[f"l{number}_step"] = inner
                strides = (*strides[:-1], 4 * inner)
        self.facts[f"l{number}_strides"] = strides
        self.facts[f"l{number}_offset"] = offset
        return mode


def _across(space: int, shape: Shape, strides: Strides) -> Across | None:
    for axis, (size, step) in enumerate(zip(shape[:-1], strides, strict=False)):
        if step == 1 and min(size, strides[-1]) >= LINE:
            return Across(space, axis, size, math.prod(shape[axis + 1 :]) // 4)
    return None


def fills(array: GpuArray, shape: Shape) -> bool:
    """Say whether a row-major array has the elements of ``shape`` in its order."""
    return array.size == math.prod(shape)
