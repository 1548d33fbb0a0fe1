"""The program of a captured run: those of its dispatches, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.programs.program import BindingResource, ParamBlock, Program
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.capturing.notes import RecordedDispatch
    from wgsl_kernels.backends.webgpu.devices.pool import Block
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch


def concatenated(
    steps: Sequence[tuple[RecordedDispatch, Sequence[Block | int]]],
    inputs: int,
    made: Sequence[Spec],
) -> Program | None:
    """Return the dispatches of a run as one program; None where one of them is of no program.

    Its inputs are those of the run that are read, then what the run read besides; its buffers are
    the results, then what it worked in.

    Args:
        steps: Each dispatch, and its buffers: a slot, or one that stays the same in every replay.
        inputs: How many slots are inputs; the others are results.
        made: The results.
    """
    buffers = list(made)
    places: dict[Block, BindingResource] = {}
    others = inputs
    dispatches: list[Dispatch] = []
    for step, where in steps:
        if step.origin is None:
            return None
        dispatch: Dispatch = step.origin[1]
        bindings = []
        for binding, one in zip(dispatch.bindings, where, strict=True):
            place = binding.place
            if place.kind in ("input", "buffer"):
                if isinstance(one, int):
                    is_input = one < inputs
                    place = (
                        BindingResource("input", one)
                        if is_input
                        else BindingResource("buffer", one - inputs)
                    )
                else:
                    if one not in places and binding.access == "read":
                        places[one] = BindingResource("input", others)
                        others += 1
                    elif one not in places:
                        places[one] = BindingResource("buffer", len(buffers))
                        buffers.append(Spec((one.capacity // 4,), "int32"))
                    place = places[one]
            bindings.append(replace(binding, place=place))
        params = ParamBlock(step.params, (), dispatch.params.report, dispatch.params.facts)
        dispatches.append(replace(dispatch, bindings=tuple(bindings), params=params))
    return Program(tuple(dispatches), tuple(buffers), tuple(range(len(made))))
