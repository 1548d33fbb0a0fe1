"""Composing how forms reach elements: their places, loads of the input and stores of the output.

Whatever reads the input goes through ``wk_load``, ``wk_load4`` and ``wk_load_vec4``, whatever
writes the output through ``wk_store``, ``wk_store4`` and ``wk_store_result``: a group of maps may
stand for the one, and take what the others are given. Of a row-major array a place is the element's
index.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.totals import add_totals
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceNames
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand

ELEMENTS = Instance("tensors/elements.wesl")
PLACES = Instance("tensors/places.wesl")


def add_elements(
    composer: Composer,
    stage: Stage,
    *,
    wide: bool,
    wide_result: bool = False,
    may_pass_end: bool = True,
    strided: bool = False,
) -> None:
    """Add what is done with accumulators, loads and stores.

    Input and output may be bound as vec4, so that four elements go together (``wide``,
    ``wide_result``); four results stored together may go past the end (``may_pass_end``); elements
    of a strided input may be loaded by their number in row-major order (``strided``).
    """
    add_totals(composer, stage)
    x, y, after = composer.inputs[0], composer.outputs[0], composer.after
    instance = ELEMENTS.given(
        VALUE=x.access == "value",
        COMPUTED=x.name in composer.before,
        STRIDED=strided,
        BYTES=x.dtype in BYTES,
        WIDE=wide,
        EPILOGUE=after is not None,
        EPILOGUE_VEC4=after is not None and after.structure.vec4,
        WIDE_RESULT=wide_result,
        ENDS=may_pass_end,
    )
    if x.access == "value":
        composer.value(x, "wk_x_value")
    composer.word("wk_n", "wk_n")
    composer.word("wk_y_size", f"{y.name}_size")
    arrays = {**arrays_of(composer, x, "X"), **arrays_of(composer, y, "Y")}
    composer.assembly.take(instance, InstanceNames({"X": "x", "Y": "y"}, arrays))


def add_places(
    composer: Composer,
    operand: Operand,
    name: str,
    *,
    kept: int,
    neighbours: bool = False,
    begin: str = "",
) -> None:
    """Add the functions from indices to places, ``wk_<name>_begin`` and ``wk_<name>_place``.

    The tensor is strided where the first input is. The first index goes along the first ``kept``
    axes of that input; the elements along the others may be adjacent (``neighbours``). ``begin`` is
    another name for the first function.
    """
    access, rank = composer.inputs[0].access, composer.inputs[0].rank
    is_output = operand in composer.outputs
    if access == "strided":
        composer.slots("wk_shape", "wk_shape", rank, pad=1)
        composer.slots(f"wk_{name}_strides", f"wk_{operand.name}_strides", rank)
        composer.word(f"wk_{name}_offset", f"wk_{operand.name}_offset")
    instance = PLACES.given(
        STRIDED=access == "strided",
        NOWHERE=access == "value",
        OFFSET=not is_output,
        RANK=rank,
        KEPT=kept,
        NEIGHBOURS=neighbours,
    )
    other = {"wk_X_begin": partial(str, begin)} if begin else {}
    composer.assembly.take(instance, InstanceNames({"X": name}, other))


def arrays_of(composer: Composer, operand: Operand, name: str) -> dict[str, Callable[[], str]]:
    """Return what names a tensor's array and the maps around it; ``name`` is its instance's."""
    wide, computed = f"vec4<{operand.storage_type}>", partial(str, f"wk_get_{operand.wgsl}")
    hands_on = partial(str, "wk_hand_on")
    return {
        name: partial(composer.variable, operand),
        f"{name}_vec4": partial(composer.variable, operand, wide),
        f"{name}_bytes": partial(composer.variable, operand),
        f"wk_byte_{name}": partial(str, f"wk_{operand.dtype}"),
        f"wk_get_{name}": computed,
        f"wk_get4_{name}": computed,
        "wk_hand_on": hands_on,
        "wk_hand_on4": hands_on,
    }
