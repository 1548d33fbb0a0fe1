"""Dispatches of shaders with their own ``main``, on tensors that it names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.declare.sources import Sources
from wgsl_kernels.backends.webgpu.modules.kernel_source import declared_as_vec4, known_of_source
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition, build, fold
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.environment.origin import Origin
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.composing.text.operands import Access
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.building import Adapter, Epilogue
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid
    from wgsl_kernels.engine.values.dtypes import DType


INDICES = (1 << 32) - 1
"""How many elements a number of 32 bits counts."""
_OWN = Sources(Origin(__name__, __file__, 0))
"""The package's shaders that no kernel is registered with: copies and fills."""


@dataclass(frozen=True, eq=False, slots=True)
class NamedTensors:
    """What a shader with its own ``main`` reads and writes.

    Attributes:
        bound: The tensors that are there, by name; views that it cannot read as they are,
            contiguous.
        packed: The numbers of those.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    bound: Mapping[str, Argument]
    packed: frozenset[int]

    @classmethod
    def of(
        cls,
        source: Source,
        given: Mapping[str, Argument | None],
        outputs: Collection[str] | None = None,
        *,
        is_ours: bool = True,
    ) -> NamedTensors:
        """Take tensors; ``outputs`` are by default those that the shader writes."""
        if outputs is None:
            written = _written(source)
            outputs = [n for n in given if wgsl_name(n) in written or _is_stored(source, n)]
        read: list[Operand] = []
        made: list[Operand] = []
        bound: dict[str, Argument] = {}
        packed: set[int] = set()
        for number, (name, one) in enumerate(given.items()):
            if one is None:
                read.append(Operand(name, "float32", 0, "absent"))
                continue
            access: Access = "flat"
            if name not in outputs:
                access = _access(source, name, one, is_ours=is_ours)
            (made if name in outputs else read).append(
                Operand(name, one.dtype, len(one.shape), access)
            )
            bound[name] = one
            if access == "flat" and one.layout is not None:
                packed.add(number)
                bound[name] = one.contiguous()
        return cls(tuple(read), tuple(made), bound, frozenset(packed))

    def refuse_beyond_indices(self, kernel: str, source: Source) -> None:
        """Refuse broadcast views of which a shader reads elements by indices that do not reach all.

        Raises:
            ShapeError: There is one.
        """
        for one in self.inputs:
            if one.access != "strided":
                continue
            given = self.bound[one.name]
            if given.size > INDICES and _is_loaded_by_index(source, one.name):
                raise ShapeError(
                    f"{kernel}: {one.name} is a view of shape {show(given.shape)}, {given.size} "
                    f"elements; on the GPU at most {INDICES} can be looked up. Take a slice of it "
                    "first."
                )


def own_dispatch(
    adapter: Adapter,
    kernel: str,
    shader: str,
    arguments: Mapping[str, Argument],
    params: Mapping[str, Any],
    grid: Grid,
    configuration: Mapping[str, bool] | None = None,
) -> Dispatch:
    """Return a dispatch of one of the package's shaders, which takes these layouts as they are.

    ``shader`` is a path among the package's; ``configuration`` has values of its constants, if it
    is a template.
    """
    source = _OWN.find(shader, None, configuration)
    tensors = NamedTensors.of(source, arguments)
    composition = Composition(kernel, source, tensors.inputs, tensors.outputs, tuple(params))
    facts = {**tensor_facts(arguments), **params}
    return build(adapter, composition, composition.composed(), grid, Bound(arguments), facts)


def may_end_behind(source: Source, name: str, dtype: DType) -> bool:
    """Say whether the buffer that a view is in may have a half word or a part of a vec4 left."""
    return dtype == "float16" or declared_as_vec4(source, name)


def _access(source: Source, name: str, one: Argument, *, is_ours: bool) -> Access:
    """Return how a shader reads an input; a view that it cannot read as it is, contiguous."""
    allowed = allowed_access(source, name)
    if one.is_value and "value" in allowed:
        return "value"
    if one.layout is None or "strided" not in allowed:
        return "flat"
    return "flat" if not is_ours and may_end_behind(source, name, one.dtype) else "strided"


def epilogue_of(source: Source, tensors: NamedTensors) -> Epilogue:
    """Return whether a shader writes one tensor, through accessors alone, and how."""
    if len(tensors.outputs) != 1:
        return "none"
    (written,) = tensors.outputs
    stores = _stores(source, written.name, written.wgsl)
    is_whole = tensors.bound[written.name].size % 4 == 0
    return "elements" if stores == "vec4 alone" and not is_whole else stores


@known_of_source
def _stores(source: Source, name: str, wgsl: str) -> Epilogue:
    """Return how a shader stores the elements of a tensor, whose length is a multiple of four."""
    if not _is_stored(source, name):
        return "none"
    needs = frozenset[str]().union(*map(source.needs_of, source.functions.values()))
    if wgsl in needs:
        return "none"
    if declared_as_vec4(source, name):
        return "vec4"
    single = {f"store_{one}{end}" for one in (wgsl, name) for end in ("", "_at")}
    return "elements" if needs & single else "vec4 alone"


@known_of_source
def _written(source: Source) -> frozenset[str]:
    """Return the variables that a shader may write."""
    every = source.variables.values()
    return frozenset([one.name for one in every if one.access == "read_write"])


@known_of_source
def _is_stored(source: Source, name: str) -> bool:
    stores = {f"store_{name}", f"store_{wgsl_name(name)}", f"store4_{name}"}
    return any(stores & source.needs_of(one) for one in source.functions.values())


@known_of_source
def _is_loaded_by_index(source: Source, name: str) -> bool:
    """Say whether a shader reads elements of a tensor by their numbers in row-major order."""
    own = wgsl_name(name)
    loads = {f"load_{name}", f"load_{own}", f"load4_{name}", f"load4_{own}"}
    return any(not loads.isdisjoint(file.needs) for file in source.files)


def fill(adapter: Adapter, x: Argument, words: Words) -> Dispatch:
    """Return what makes all elements of a new tensor the number that these words are."""
    raw = as_words(x)
    groups = fold(math.ceil(math.ceil(raw.size / 4) / 64))
    params = {"even": words[0], "odd": words[1]}
    return own_dispatch(adapter, "Fill", "lowering/fill_words.wgsl", {"y": raw}, params, groups)


def as_words(x: Argument) -> Argument:
    """Return a contiguous tensor as the words that its elements fill, the last one perhaps half."""
    size = -(-x.size * ITEMSIZE[x.dtype] // 4)
    return Argument((size,), "int32", None, x.place)


def padded(
    adapter: Adapter,
    composed: Composed,
    inputs: Sequence[Operand],
    bound: dict[str, Argument],
    first: int,
) -> tuple[list[Dispatch], list[Spec]]:
    """Have copies bound of inputs that end within an element; return what makes them, and where.

    ``bound``, which the names are bound to, is changed; ``first`` is the number of the first
    buffer.
    """
    dispatches: list[Dispatch] = []
    buffers: list[Spec] = []
    flat = {operand.name for operand in inputs if operand.access == "flat"}
    for slot in composed.bindings:
        one = bound.get(slot.name) if slot.name in flat else None
        if one is None or not _nbytes(one) % max(slot.stride, 4):
            continue
        number = first + len(buffers)
        dispatch, spec, bound[slot.name] = _pad(adapter, one, slot.stride, number)
        dispatches.append(dispatch)
        buffers.append(spec)
    return dispatches, buffers


def _pad(
    adapter: Adapter, x: Argument, stride: int, number: int
) -> tuple[Dispatch, Spec, Argument]:
    """Return what copies a contiguous tensor, zero up to a multiple of ``stride`` bytes.

    Returns:
        The dispatch, the buffer that it writes, which is to have ``number``, and the copy.
    """
    words = as_words(x)
    step = max(stride, 4)
    spec = Spec((-(-words.size * 4 // step) * step // 4,), "int32")
    made = Argument.made(spec, number)
    params = {"mask": 0xFFFF if _nbytes(x) % 4 else 0xFFFFFFFF}
    arguments = {"x": words, "y": made}
    groups = fold(-(-spec.size // 64))
    one = own_dispatch(adapter, "Copy", "lowering/padded.wgsl", arguments, params, groups)
    return one, spec, Argument(x.shape, x.dtype, None, made.place)


def _nbytes(one: Argument) -> int:
    return one.size * ITEMSIZE[one.dtype]
