"""What TensorFlow.js calls our ops.

ops/names.py is the table, and a test holds these lines to it.
"""

from wgsl_kernels.engine.tensor import tensor
from wgsl_kernels.ops.binary import divide, floor_divide, multiply, subtract
from wgsl_kernels.ops.cast import astype
from wgsl_kernels.ops.classify import isfinite, isinf, isnan
from wgsl_kernels.ops.creation import full
from wgsl_kernels.ops.extremes import argmax, argmin
from wgsl_kernels.ops.float_pairs import remainder
from wgsl_kernels.ops.gather import take
from wgsl_kernels.ops.joining import concat, pad
from wgsl_kernels.ops.matrix import matmul, outer
from wgsl_kernels.ops.normalization import batch_norm
from wgsl_kernels.ops.ordered import searchsorted
from wgsl_kernels.ops.pixels import draw
from wgsl_kernels.ops.ranges import arange
from wgsl_kernels.ops.scan import cumulative_prod, cumulative_sum
from wgsl_kernels.ops.shape import flip, permute_dims
from wgsl_kernels.ops.slicing import slice
from wgsl_kernels.ops.softmax import logsumexp
from wgsl_kernels.ops.unary import clip, negative

arg_max = argmax
arg_min = argmin
batch_norm2d = batch_norm
batch_norm3d = batch_norm
batch_norm4d = batch_norm
cast = astype
clip_by_value = clip
concat1d = concat
concat2d = concat
concat3d = concat
concat4d = concat
cumprod = cumulative_prod
cumsum = cumulative_sum
div = divide
fill = full
floor_div = floor_divide
gather = take
is_finite = isfinite
is_inf = isinf
is_nan = isnan
log_sum_exp = logsumexp
mat_mul = matmul
mod = remainder
mul = multiply
neg = negative
outer_product = outer
pad1d = pad
pad2d = pad
pad3d = pad
pad4d = pad
range = arange
reverse = flip
reverse1d = flip
reverse2d = flip
reverse3d = flip
reverse4d = flip
scalar = tensor
search_sorted = searchsorted
slice1d = slice
slice2d = slice
slice3d = slice
slice4d = slice
sub = subtract
tensor1d = tensor
tensor2d = tensor
tensor3d = tensor
tensor4d = tensor
tensor5d = tensor
tensor6d = tensor
to_pixels = draw
transpose = permute_dims
