"""Samples of the ops that take what indices name."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

MOVED = exact()
FLOATS = ("float32", "int32")
LOW = (-2.0, 0)
SPLITS = (0, 2, 2, 5)


def gather_rows(values: wk.Tensor, rows: wk.Tensor) -> tuple[wk.Tensor, ...]:
    """Gather rows of a ragged tensor of three rows, the splits beside the values."""
    splits = wk.tensor(SPLITS)
    found = wk.ragged_gather([splits], values, rows)
    return (*found.output_nested_splits, found.output_dense_values)


SAMPLES = [
    Sample("GatherV2", wk.take, ((4, 3), (5,)), FLOATS, low=LOW, high=(2.0, 4), bound=MOVED),
    Sample(
        "GatherV2", wk.take, ((2, 3, 4), (2, 2)), FLOATS, {"axis": 1}, LOW, (2.0, 3), bound=MOVED
    ),
    Sample(
        "GatherV2", wk.take, ((2, 3, 4, 2), (2, 3)), FLOATS, {"axis": 2, "batch_dims": 1}, LOW,
        (2.0, 4), bound=MOVED,
    ),
    Sample("GatherV2", wk.take, ((3, 2), ()), FLOATS, {"axis": -1}, LOW, (2.0, 2), bound=MOVED),
    Sample("GatherV2", wk.take, ((4, 3), (5,)), "int32", low=(-9, 0), high=(9, 4)),
    Sample("GatherV2", wk.take, ((4, 3), (5,)), ("bool", "int32"), low=0, high=(2, 4)),
    Sample(
        "GatherV2", wk.take, ((4,), (5,)), ("complex64", "int32"), low=LOW, high=(2.0, 4),
        bound=MOVED,
    ),
    Sample("GatherV2", lambda x: x[:, [0, -1, 0]], ((2, 3, 2),), bound=MOVED),
    Sample("RaggedGather", gather_rows, ((5,), (4,)), FLOATS, {}, LOW, (2.0, 3), MOVED),
    Sample("RaggedGather", gather_rows, ((5, 2), (2, 2)), FLOATS, {}, LOW, (2.0, 3), MOVED),
    Sample("RaggedGather", gather_rows, ((5,), ()), "int32", {}, (-9, 0), (9, 3)),
]  # fmt: skip
