"""Samples of the ops that build a larger tensor from smaller ones."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

MOVED = exact()
EDGES = ((1, 2), (0, 3))


def concat(*arrays: wk.Tensor, **attrs: Any) -> wk.Tensor:
    """Call `wk.concat`, which takes a list, on tensors as samples pass them."""
    return wk.concat(arrays, **attrs)


def stack(*arrays: wk.Tensor, **attrs: Any) -> wk.Tensor:
    """Call `wk.stack`, which takes a list, on tensors as samples pass them."""
    return wk.stack(arrays, **attrs)


SAMPLES = [
    Sample("Concat", concat, ((2, 3), (4, 3)), bound=MOVED),
    Sample("Concat", concat, ((2, 3), (2, 0), (2, 5)), attrs={"axis": -1}, bound=MOVED),
    Sample("Concat", concat, ((3,),) * 9, bound=MOVED),
    Sample("Concat", concat, ((2,), (3,)), ("float32", "int32"), bound=MOVED),
    Sample("Concat", concat, ((2,), (3,)), "bool", low=0, high=2),
    Sample("Concat", concat, ((2, 1), (2, 2)), "complex64", {"axis": 1}, bound=MOVED),
    Sample("Pack", stack, ((2, 3), (2, 3)), bound=MOVED),
    Sample("Pack", stack, ((2, 3),) * 3, attrs={"axis": 1}, bound=MOVED),
    Sample("Pack", stack, ((),) * 9, attrs={"axis": -1}, bound=MOVED),
    Sample("Pack", stack, ((2,), (2,)), "int32", {"axis": 1}),
    Sample("Pack", stack, ((2,), (2,)), "bool", low=0, high=2),
    Sample("Pack", stack, ((2,), (2,)), "complex64", bound=MOVED),
    Sample("PadV2", wk.pad, ((2, 3),), attrs={"paddings": EDGES}, bound=MOVED),
    Sample(
        "PadV2", wk.pad, ((3,),), attrs={"paddings": ((2, 1),), "constant_value": 0.1}, bound=MOVED
    ),
    Sample("PadV2", wk.pad, ((1, 2, 1, 2, 1, 2),), attrs={"paddings": ((1, 0),) * 6}, bound=MOVED),
    Sample("PadV2", wk.pad, ((2, 3),), "int32", {"paddings": EDGES, "constant_value": -7}),
    Sample("PadV2", wk.pad, ((2, 3),), "bool", {"paddings": EDGES, "constant_value": True}, 0, 2),
    Sample(
        "PadV2", wk.pad, ((2, 3),), "complex64", {"paddings": EDGES, "constant_value": 2},
        bound=MOVED,
    ),
    Sample("Tile", wk.tile, ((2, 3),), attrs={"repetitions": (2, 3)}, bound=MOVED),
    Sample("Tile", wk.tile, ((2, 1, 3),), attrs={"repetitions": (1, 4, 2)}, bound=MOVED),
    Sample("Tile", wk.tile, ((1, 2, 1, 2, 1, 2),), attrs={"repetitions": (2,) * 6}, bound=MOVED),
    Sample("Tile", wk.tile, ((3,),), "int32", {"repetitions": (2,)}),
    Sample("Tile", wk.tile, ((3,),), "bool", {"repetitions": (2,)}, 0, 2),
    Sample("Tile", wk.tile, ((3,),), "complex64", {"repetitions": (2,)}, bound=MOVED),
]  # fmt: skip
