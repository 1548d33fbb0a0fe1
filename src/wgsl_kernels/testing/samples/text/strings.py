"""Samples of the ops on strings."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("StringSplit", wk.string_split, ((4,),), "string"),
    Sample("StringSplit", wk.string_split, ((3,),), "string", {"skip_empty": False}),
]
