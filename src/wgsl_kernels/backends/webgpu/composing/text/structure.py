"""What a fused shader is made for: its steps, leaves and outputs, without sizes and values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.backends.webgpu.composing.text.operands import Operand

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.engine.values.dtypes import DType

Mode = Literal["flat", "value", "given", "strided", "wide", "splat", "gather"]
OWN = "wk_"
"""What the names of a text's own maps begin with, which are not fused into another kernel."""
AFTER = "wk_wk_"
"""The same of the group behind a kernel; no input has such a name, which is the composer's."""


def prefix_of(name: str) -> str:
    """Return what names of a group begin with that stands for the input ``name``."""
    return f"wk_{name}_wk_"


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array that a fused shader reads.

    Attributes:
        mode: How one item is found. ``flat``: at the item's index. ``value``: a parameter.
            ``given``: by the kernel that the group is fused into. ``strided``: by coordinates.
            Of items of four elements: ``wide``, four neighbours as one vec4; ``splat``, one
            element for all four; ``gather``, four apart.
        space: Which of the shader's coordinate systems it is seen from.
    """

    dtype: DType
    mode: Mode
    space: int = 0

    @property
    def is_bound(self) -> bool:
        return self.mode not in ("value", "given")


@dataclass(frozen=True, slots=True)
class Across:
    """An axis along which what is read lies side by side, while what is written does not.

    Attributes:
        space: A coordinate system that has the axis.
        size: Its length, which the text does not know.
        inner: The items of what follows it, likewise.
    """

    space: int
    axis: int
    size: int = field(compare=False, repr=False)
    inner: int = field(compare=False, repr=False)


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """A map kernel for certain dtypes: one copy of its functions.

    Attributes:
        attrs: Names of attributes and of fields that ``params=`` returns.
    """

    kernel: str
    source: Source
    names: tuple[str, ...]
    dtypes: tuple[DType, ...]
    output_name: str
    output: DType
    attrs: tuple[str, ...]
    key: tuple[Any, ...]


Ref = int
"""An operand: the number of an earlier step, or ``~n`` for leaf ``n``."""


@dataclass(frozen=True, slots=True)
class Step:
    """One map of a group and where its operands come from."""

    kind: Kind
    operands: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """A group of maps.

    Attributes:
        steps: In an order in which operands come first.
        spaces: The rank of each coordinate system.
        vec4: Whether an item is four elements.
        few: Whether there are so few items that coordinates can be found without a division.
    """

    steps: tuple[Step, ...]
    leaves: tuple[Leaf, ...]
    spaces: tuple[int, ...]
    outputs: tuple[int, ...]
    vec4: bool
    few: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal where the text is."""
        return (self.maps, self.leaves, self.spaces, self.outputs, self.vec4, self.few)

    @property
    def maps(self) -> tuple[Any, ...]:
        """What is equal where the same maps are done, however the leaves lie."""
        return tuple((step.kind.key, step.operands) for step in self.steps)

    def reads(self, prefix: str) -> dict[int, Operand]:
        """Return the leaves, but for what a kernel gives, as operands of the text it is in."""
        return {
            number: Operand(
                f"{prefix}l{number}", leaf.dtype, 1, "value" if leaf.mode == "value" else "flat"
            )
            for number, leaf in enumerate(self.leaves)
            if leaf.mode != "given"
        }

    def writes(self, prefix: str) -> tuple[Operand, ...]:
        return tuple(
            [Operand(f"{prefix}y{one}", self.steps[one].kind.output, 1) for one in self.outputs]
        )


@dataclass(frozen=True, slots=True)
class Before:
    """A group of maps whose one output stands for the input ``name``."""

    name: str
    structure: Structure

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal where the text is."""
        return self.name, self.structure.key


@dataclass(frozen=True, slots=True)
class After:
    """A group of maps of what a kernel writes.

    Attributes:
        keeps: Whether the kernel's own result is written, too.
        loops: Whether four elements that are written together are handed on in a loop, so that the
            maps are in the text once.
    """

    structure: Structure
    keeps: bool
    loops: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal where the text is."""
        return self.structure.key, self.keeps, self.loops
