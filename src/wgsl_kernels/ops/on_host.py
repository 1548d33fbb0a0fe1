"""Which kernels give the same bits on the host, so that tiny ones run where their numbers are.

Those that WGSL's accuracy table leaves some room are not among them: quotients, roots, powers and
all that is made of these; sums of floats, whose order differs; float16, which NumPy rounds twice.
"""

from __future__ import annotations

from wgsl_kernels.engine.exact import declare_exact
from wgsl_kernels.ops import (  # noqa: F401  they register the kernels
    activation,
    binary,
    cast,
    compare,
    creation,
    extremes,
    gather,
    joining,
    logical,
    random,
    reduce,
    shape,
    slicing,
    unary,
)
from wgsl_kernels.ops.elementwise import NUMBERS

WHOLE = ("int32", "bool")

# Rounded once, or not at all.
declare_exact(
    ("Abs", "Add", "Cast", "Ceil", "ClipByValue", "Floor", "Multiply", "Neg", "Relu", "Relu6",
     "Round", "Sign", "Square", "SquaredDifference", "Sub"), NUMBERS,
)  # fmt: skip

# They compare and choose.
declare_exact(
    ("All", "Any", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual",
     "LogicalAnd", "LogicalNot", "LogicalOr", "Max", "Maximum", "Min", "Minimum", "NotEqual",
     "Select"), NUMBERS,
)  # fmt: skip

# Of integers only.
declare_exact(("AdvanceKey", "FloorDiv", "Prod", "Sum"), WHOLE)

# They move numbers; on the device some of them only look at these in another way.
declare_exact(("Concat", "GatherV2", "Pack", "PadV2", "Tile"), NUMBERS)
declare_exact(
    ("BroadcastTo", "ExpandDims", "Identity", "Reshape", "Reverse", "Slice", "SplitV",
     "StridedSlice", "Transpose", "Unpack"), NUMBERS, moves=True,
)  # fmt: skip

# They make numbers from none. With several elements they are better fused into what reads them.
declare_exact(("Fill", "OnesLike", "ZerosLike"), NUMBERS, reads=False)
