"""Tensors and gradients whose kernels are WGSL compute shaders, with NumPy beside them."""

import math as _math
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import wgsl_kernels.fft as _fft  # noqa: F401  a namespace that can be called
from wgsl_kernels import linalg as linalg
from wgsl_kernels import train as train
from wgsl_kernels import tuning as tuning
from wgsl_kernels.backends.cpu.kernel import cpu_kernel as cpu_kernel
from wgsl_kernels.backends.register import register_own as _register_own
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel as wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.link import Linked as Linked
from wgsl_kernels.backends.webgpu.declare.link import link as link
from wgsl_kernels.backends.webgpu.modules.packages import shader_package as shader_package
from wgsl_kernels.composed import *  # noqa: F403  it re-exports ops made of others
from wgsl_kernels.dtypes import *  # noqa: F403  it re-exports dtypes
from wgsl_kernels.engine.autodiff.autodiff import GradientTape as GradientTape
from wgsl_kernels.engine.autodiff.autodiff import grad as grad
from wgsl_kernels.engine.autodiff.autodiff import grads as grads
from wgsl_kernels.engine.autodiff.autodiff import stop_gradient as stop_gradient
from wgsl_kernels.engine.autodiff.autodiff import value_and_grad as value_and_grad
from wgsl_kernels.engine.autodiff.autodiff import value_and_grads as value_and_grads
from wgsl_kernels.engine.autodiff.autodiff import variable_grads as variable_grads
from wgsl_kernels.engine.autodiff.custom import custom_grad as custom_grad
from wgsl_kernels.engine.autodiff.derivatives import hessian as hessian
from wgsl_kernels.engine.autodiff.derivatives import hvp as hvp
from wgsl_kernels.engine.autodiff.derivatives import jacobian as jacobian
from wgsl_kernels.engine.autodiff.derivatives import jvp as jvp
from wgsl_kernels.engine.autodiff.derivatives import vjp as vjp
from wgsl_kernels.engine.autodiff.objective import to_scipy as to_scipy
from wgsl_kernels.engine.capture.capture import Captured as Captured
from wgsl_kernels.engine.capture.capture import capture as capture
from wgsl_kernels.engine.capture.warmup import Warmup as Warmup
from wgsl_kernels.engine.capture.warmup import warmup as warmup
from wgsl_kernels.engine.drivers.backends import get_backend as get_backend
from wgsl_kernels.engine.drivers.backends import register_backend as register_backend
from wgsl_kernels.engine.drivers.backends import set_backend as set_backend
from wgsl_kernels.engine.drivers.backends import use_backend as use_backend
from wgsl_kernels.engine.drivers.driver import Backend as Backend
from wgsl_kernels.engine.drivers.driver import Usage as Usage
from wgsl_kernels.engine.drivers.memory import empty_cache as empty_cache
from wgsl_kernels.engine.drivers.memory import memory as memory
from wgsl_kernels.engine.environment.config import config as config
from wgsl_kernels.engine.environment.errors import AlreadyRegistered as AlreadyRegistered
from wgsl_kernels.engine.environment.errors import ArgumentError as ArgumentError
from wgsl_kernels.engine.environment.errors import DeviceLostError as DeviceLostError
from wgsl_kernels.engine.environment.errors import DisposedTensorError as DisposedTensorError
from wgsl_kernels.engine.environment.errors import DTypeError as DTypeError
from wgsl_kernels.engine.environment.errors import FallbackWarning as FallbackWarning
from wgsl_kernels.engine.environment.errors import GradientNotFound as GradientNotFound
from wgsl_kernels.engine.environment.errors import IndexOutOfRange as IndexOutOfRange
from wgsl_kernels.engine.environment.errors import KernelFault as KernelFault
from wgsl_kernels.engine.environment.errors import KernelNotFound as KernelNotFound
from wgsl_kernels.engine.environment.errors import NumericsError as NumericsError
from wgsl_kernels.engine.environment.errors import OutOfMemoryError as OutOfMemoryError
from wgsl_kernels.engine.environment.errors import ShaderError as ShaderError
from wgsl_kernels.engine.environment.errors import ShadowMismatch as ShadowMismatch
from wgsl_kernels.engine.environment.errors import ShapeError as ShapeError
from wgsl_kernels.engine.environment.errors import WgslKernelsError as WgslKernelsError
from wgsl_kernels.engine.environment.suggestions import advice as _advice
from wgsl_kernels.engine.observe.coverage import coverage as coverage
from wgsl_kernels.engine.observe.explain import explain as explain
from wgsl_kernels.engine.observe.profile import evaluate as evaluate
from wgsl_kernels.engine.observe.profile import flush as flush
from wgsl_kernels.engine.observe.profile import profile as profile
from wgsl_kernels.engine.observe.profile import synchronize as synchronize
from wgsl_kernels.engine.observe.profile import time as time
from wgsl_kernels.engine.observe.shadow import shadow as shadow
from wgsl_kernels.engine.registry.gradients import get_gradient as get_gradient
from wgsl_kernels.engine.registry.gradients import gradient as gradient
from wgsl_kernels.engine.registry.gradients import gradients_in_force as gradients_in_force
from wgsl_kernels.engine.registry.gradients import no_gradient as no_gradient
from wgsl_kernels.engine.registry.gradients import override_gradient as override_gradient
from wgsl_kernels.engine.registry.gradients import register_gradient as register_gradient
from wgsl_kernels.engine.registry.gradients import unregister_gradient as unregister_gradient
from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.engine.registry.registry import Kernel as Kernel
from wgsl_kernels.engine.registry.registry import copy_registered_kernels as copy_registered_kernels
from wgsl_kernels.engine.registry.registry import get_kernel as get_kernel
from wgsl_kernels.engine.registry.registry import kernels_for_backend as kernels_for_backend
from wgsl_kernels.engine.registry.registry import register_kernel as register_kernel
from wgsl_kernels.engine.registry.registry import reload_kernels as reload_kernels
from wgsl_kernels.engine.registry.registry import unregister_kernel as unregister_kernel
from wgsl_kernels.engine.registry.signature import signature as signature
from wgsl_kernels.engine.tensors.dlpack import from_dlpack as from_dlpack
from wgsl_kernels.engine.tensors.op import op as op
from wgsl_kernels.engine.tensors.run import run as run
from wgsl_kernels.engine.tensors.scopes import dispose as dispose
from wgsl_kernels.engine.tensors.scopes import keep as keep
from wgsl_kernels.engine.tensors.scopes import tidy as tidy
from wgsl_kernels.engine.tensors.tensor import Tensor as Tensor
from wgsl_kernels.engine.tensors.tensor import Variable as Variable
from wgsl_kernels.engine.tensors.tensor import tensor as tensor
from wgsl_kernels.engine.tensors.tensor import variable as variable
from wgsl_kernels.engine.tensors.unbroadcast import unbroadcast as unbroadcast
from wgsl_kernels.engine.values.dtypes import bool_ as _bool
from wgsl_kernels.engine.values.spec import Spec as Spec
from wgsl_kernels.ops.convolution.conv import conv2d as conv2d
from wgsl_kernels.ops.convolution.conv import conv2d_transpose as conv2d_transpose
from wgsl_kernels.ops.convolution.conv1d import conv1d as conv1d
from wgsl_kernels.ops.convolution.conv1d import conv1d_transpose as conv1d_transpose
from wgsl_kernels.ops.convolution.conv3d import conv3d as conv3d
from wgsl_kernels.ops.convolution.conv3d import conv3d_transpose as conv3d_transpose
from wgsl_kernels.ops.convolution.depthwise import depthwise_conv2d as depthwise_conv2d
from wgsl_kernels.ops.convolution.depthwise import separable_conv2d as separable_conv2d
from wgsl_kernels.ops.convolution.dilation import dilation2d as dilation2d
from wgsl_kernels.ops.convolution.fused import fused_conv2d as fused_conv2d
from wgsl_kernels.ops.convolution.fused_depthwise import (
    fused_depthwise_conv2d as fused_depthwise_conv2d,
)
from wgsl_kernels.ops.elementwise.activation import elu as elu
from wgsl_kernels.ops.elementwise.activation import leaky_relu as leaky_relu
from wgsl_kernels.ops.elementwise.activation import prelu as prelu
from wgsl_kernels.ops.elementwise.activation import relu as relu
from wgsl_kernels.ops.elementwise.activation import relu6 as relu6
from wgsl_kernels.ops.elementwise.activation import selu as selu
from wgsl_kernels.ops.elementwise.activation import sigmoid as sigmoid
from wgsl_kernels.ops.elementwise.activation import softplus as softplus
from wgsl_kernels.ops.elementwise.activation import step as step
from wgsl_kernels.ops.elementwise.binary import add as add
from wgsl_kernels.ops.elementwise.binary import add_n as add_n
from wgsl_kernels.ops.elementwise.binary import divide as divide
from wgsl_kernels.ops.elementwise.binary import floor_divide as floor_divide
from wgsl_kernels.ops.elementwise.binary import maximum as maximum
from wgsl_kernels.ops.elementwise.binary import minimum as minimum
from wgsl_kernels.ops.elementwise.binary import multiply as multiply
from wgsl_kernels.ops.elementwise.binary import pow as pow
from wgsl_kernels.ops.elementwise.binary import subtract as subtract
from wgsl_kernels.ops.elementwise.bitwise import bitwise_and as bitwise_and
from wgsl_kernels.ops.elementwise.bitwise import bitwise_invert as bitwise_invert
from wgsl_kernels.ops.elementwise.bitwise import bitwise_left_shift as bitwise_left_shift
from wgsl_kernels.ops.elementwise.bitwise import bitwise_or as bitwise_or
from wgsl_kernels.ops.elementwise.bitwise import bitwise_right_shift as bitwise_right_shift
from wgsl_kernels.ops.elementwise.bitwise import bitwise_xor as bitwise_xor
from wgsl_kernels.ops.elementwise.cast import astype as astype
from wgsl_kernels.ops.elementwise.classify import isfinite as isfinite
from wgsl_kernels.ops.elementwise.classify import isinf as isinf
from wgsl_kernels.ops.elementwise.classify import isnan as isnan
from wgsl_kernels.ops.elementwise.compare import equal as equal
from wgsl_kernels.ops.elementwise.compare import greater as greater
from wgsl_kernels.ops.elementwise.compare import greater_equal as greater_equal
from wgsl_kernels.ops.elementwise.compare import less as less
from wgsl_kernels.ops.elementwise.compare import less_equal as less_equal
from wgsl_kernels.ops.elementwise.compare import not_equal as not_equal
from wgsl_kernels.ops.elementwise.complex import complex as complex
from wgsl_kernels.ops.elementwise.complex import conj as conj
from wgsl_kernels.ops.elementwise.complex import imag as imag
from wgsl_kernels.ops.elementwise.complex import real as real
from wgsl_kernels.ops.elementwise.differences import squared_difference as squared_difference
from wgsl_kernels.ops.elementwise.exponential import cos as cos
from wgsl_kernels.ops.elementwise.exponential import erf as erf
from wgsl_kernels.ops.elementwise.exponential import exp as exp
from wgsl_kernels.ops.elementwise.exponential import expm1 as expm1
from wgsl_kernels.ops.elementwise.exponential import log as log
from wgsl_kernels.ops.elementwise.exponential import log1p as log1p
from wgsl_kernels.ops.elementwise.exponential import sin as sin
from wgsl_kernels.ops.elementwise.exponential import tan as tan
from wgsl_kernels.ops.elementwise.exponential import tanh as tanh
from wgsl_kernels.ops.elementwise.float_pairs import copysign as copysign
from wgsl_kernels.ops.elementwise.float_pairs import hypot as hypot
from wgsl_kernels.ops.elementwise.float_pairs import logaddexp as logaddexp
from wgsl_kernels.ops.elementwise.float_pairs import nextafter as nextafter
from wgsl_kernels.ops.elementwise.float_pairs import remainder as remainder
from wgsl_kernels.ops.elementwise.hyperbolic import acosh as acosh
from wgsl_kernels.ops.elementwise.hyperbolic import asinh as asinh
from wgsl_kernels.ops.elementwise.hyperbolic import atanh as atanh
from wgsl_kernels.ops.elementwise.hyperbolic import cosh as cosh
from wgsl_kernels.ops.elementwise.hyperbolic import sinh as sinh
from wgsl_kernels.ops.elementwise.logarithms import log2 as log2
from wgsl_kernels.ops.elementwise.logarithms import log10 as log10
from wgsl_kernels.ops.elementwise.logical import logical_and as logical_and
from wgsl_kernels.ops.elementwise.logical import logical_not as logical_not
from wgsl_kernels.ops.elementwise.logical import logical_or as logical_or
from wgsl_kernels.ops.elementwise.logical import logical_xor as logical_xor
from wgsl_kernels.ops.elementwise.logical import where as where
from wgsl_kernels.ops.elementwise.trigonometry import acos as acos
from wgsl_kernels.ops.elementwise.trigonometry import asin as asin
from wgsl_kernels.ops.elementwise.trigonometry import atan as atan
from wgsl_kernels.ops.elementwise.trigonometry import atan2 as atan2
from wgsl_kernels.ops.elementwise.unary import abs as abs
from wgsl_kernels.ops.elementwise.unary import ceil as ceil
from wgsl_kernels.ops.elementwise.unary import clip as clip
from wgsl_kernels.ops.elementwise.unary import floor as floor
from wgsl_kernels.ops.elementwise.unary import negative as negative
from wgsl_kernels.ops.elementwise.unary import reciprocal as reciprocal
from wgsl_kernels.ops.elementwise.unary import round as round
from wgsl_kernels.ops.elementwise.unary import rsqrt as rsqrt
from wgsl_kernels.ops.elementwise.unary import sign as sign
from wgsl_kernels.ops.elementwise.unary import sqrt as sqrt
from wgsl_kernels.ops.elementwise.unary import square as square
from wgsl_kernels.ops.elementwise.unary import trunc as trunc
from wgsl_kernels.ops.images.colors import grayscale_to_rgb as grayscale_to_rgb
from wgsl_kernels.ops.images.colors import rgb_to_grayscale as rgb_to_grayscale
from wgsl_kernels.ops.images.colors import threshold as threshold
from wgsl_kernels.ops.images.crop import crop_and_resize as crop_and_resize
from wgsl_kernels.ops.images.pixels import draw as draw
from wgsl_kernels.ops.images.pixels import from_pixels as from_pixels
from wgsl_kernels.ops.images.resize import resize_bilinear as resize_bilinear
from wgsl_kernels.ops.images.resize import resize_nearest_neighbor as resize_nearest_neighbor
from wgsl_kernels.ops.images.suppression import PaddedBoxes as PaddedBoxes
from wgsl_kernels.ops.images.suppression import ScoredBoxes as ScoredBoxes
from wgsl_kernels.ops.images.suppression import non_max_suppression as non_max_suppression
from wgsl_kernels.ops.images.suppression import (
    non_max_suppression_padded as non_max_suppression_padded,
)
from wgsl_kernels.ops.images.suppression import (
    non_max_suppression_with_score as non_max_suppression_with_score,
)
from wgsl_kernels.ops.images.warp import rotate_with_offset as rotate_with_offset
from wgsl_kernels.ops.images.warp import transform as transform
from wgsl_kernels.ops.indexing.counting import bincount as bincount
from wgsl_kernels.ops.indexing.counting import count_nonzero as count_nonzero
from wgsl_kernels.ops.indexing.counting import dense_bincount as dense_bincount
from wgsl_kernels.ops.indexing.counting import nonzero as nonzero
from wgsl_kernels.ops.indexing.gather import take as take
from wgsl_kernels.ops.indexing.gather import take_along_axis as take_along_axis
from wgsl_kernels.ops.indexing.ordered import argsort as argsort
from wgsl_kernels.ops.indexing.ordered import lower_bound as lower_bound
from wgsl_kernels.ops.indexing.ordered import searchsorted as searchsorted
from wgsl_kernels.ops.indexing.ordered import sort as sort
from wgsl_kernels.ops.indexing.ordered import upper_bound as upper_bound
from wgsl_kernels.ops.indexing.places import gather_nd as gather_nd
from wgsl_kernels.ops.indexing.places import scatter_nd as scatter_nd
from wgsl_kernels.ops.indexing.ragged import RaggedRows as RaggedRows
from wgsl_kernels.ops.indexing.ragged import ragged_gather as ragged_gather
from wgsl_kernels.ops.indexing.ragged_dense import (
    ragged_tensor_to_tensor as ragged_tensor_to_tensor,
)
from wgsl_kernels.ops.indexing.ragged_range import RaggedNumbers as RaggedNumbers
from wgsl_kernels.ops.indexing.ragged_range import ragged_range as ragged_range
from wgsl_kernels.ops.indexing.segment import unsorted_segment_sum as unsorted_segment_sum
from wgsl_kernels.ops.indexing.sort import topk as topk
from wgsl_kernels.ops.indexing.sort import unique as unique
from wgsl_kernels.ops.indexing.sparse import FilledRows as FilledRows
from wgsl_kernels.ops.indexing.sparse import SparseIndices as SparseIndices
from wgsl_kernels.ops.indexing.sparse import sparse_fill_empty_rows as sparse_fill_empty_rows
from wgsl_kernels.ops.indexing.sparse import sparse_reshape as sparse_reshape
from wgsl_kernels.ops.indexing.sparse_segments import sparse_segment_mean as sparse_segment_mean
from wgsl_kernels.ops.indexing.sparse_segments import sparse_segment_sum as sparse_segment_sum
from wgsl_kernels.ops.indexing.updates import sparse_to_dense as sparse_to_dense
from wgsl_kernels.ops.indexing.updates import tensor_scatter_update as tensor_scatter_update
from wgsl_kernels.ops.linear_algebra.diagonals import band_part as band_part
from wgsl_kernels.ops.linear_algebra.diagonals import diag as diag
from wgsl_kernels.ops.linear_algebra.diagonals import tril as tril
from wgsl_kernels.ops.linear_algebra.diagonals import triu as triu
from wgsl_kernels.ops.linear_algebra.einsum import einsum as einsum
from wgsl_kernels.ops.linear_algebra.fused_matrix import fused_mat_mul as fused_mat_mul
from wgsl_kernels.ops.linear_algebra.matrix import dot as dot
from wgsl_kernels.ops.linear_algebra.matrix import matmul as matmul
from wgsl_kernels.ops.linear_algebra.matrix import outer as outer
from wgsl_kernels.ops.names import foreign_names as _foreign_names  # noqa: F401  of other libraries
from wgsl_kernels.ops.names import methods as _methods  # noqa: F401  binds the methods of tensors
from wgsl_kernels.ops.names import operators as _operators  # noqa: F401  binds the operators of tensors
from wgsl_kernels.ops.names.compositions import UniqueAll as UniqueAll
from wgsl_kernels.ops.names.compositions import UniqueCounts as UniqueCounts
from wgsl_kernels.ops.names.compositions import UniqueInverse as UniqueInverse
from wgsl_kernels.ops.names.compositions import diff as diff
from wgsl_kernels.ops.names.compositions import div_no_nan as div_no_nan
from wgsl_kernels.ops.names.compositions import empty as empty
from wgsl_kernels.ops.names.compositions import empty_like as empty_like
from wgsl_kernels.ops.names.compositions import log_sigmoid as log_sigmoid
from wgsl_kernels.ops.names.compositions import meshgrid as meshgrid
from wgsl_kernels.ops.names.compositions import positive as positive
from wgsl_kernels.ops.names.compositions import signbit as signbit
from wgsl_kernels.ops.names.compositions import tensordot as tensordot
from wgsl_kernels.ops.names.compositions import unique_all as unique_all
from wgsl_kernels.ops.names.compositions import unique_counts as unique_counts
from wgsl_kernels.ops.names.compositions import unique_inverse as unique_inverse
from wgsl_kernels.ops.names.compositions import unique_values as unique_values
from wgsl_kernels.ops.names.compositions import vecdot as vecdot
from wgsl_kernels.ops.names.dtype_facts import can_cast as can_cast
from wgsl_kernels.ops.names.dtype_facts import finfo as finfo
from wgsl_kernels.ops.names.dtype_facts import iinfo as iinfo
from wgsl_kernels.ops.names.dtype_facts import isdtype as isdtype
from wgsl_kernels.ops.names.dtype_facts import result_type as result_type
from wgsl_kernels.ops.names.namespace import __array_namespace_info__ as __array_namespace_info__
from wgsl_kernels.ops.names.namespace import asarray as asarray
from wgsl_kernels.ops.names.standards import ledger as ledger
from wgsl_kernels.ops.normalization.local_response import (
    local_response_normalization as local_response_normalization,
)
from wgsl_kernels.ops.normalization.normalization import batch_norm as batch_norm
from wgsl_kernels.ops.normalization.normalization import layer_norm as layer_norm
from wgsl_kernels.ops.pooling.pool import avg_pool as avg_pool
from wgsl_kernels.ops.pooling.pool import max_pool as max_pool
from wgsl_kernels.ops.pooling.pool3d import avg_pool3d as avg_pool3d
from wgsl_kernels.ops.pooling.pool3d import max_pool3d as max_pool3d
from wgsl_kernels.ops.pooling.pool_any import pool as pool
from wgsl_kernels.ops.pooling.pool_places import max_pool_with_argmax as max_pool_with_argmax
from wgsl_kernels.ops.random import random as random
from wgsl_kernels.ops.random.multinomial import multinomial as multinomial
from wgsl_kernels.ops.random.random import random_normal as random_normal
from wgsl_kernels.ops.random.random import random_uniform as random_uniform
from wgsl_kernels.ops.reductions.extremes import argmax as argmax
from wgsl_kernels.ops.reductions.extremes import argmin as argmin
from wgsl_kernels.ops.reductions.extremes import max as max
from wgsl_kernels.ops.reductions.extremes import min as min
from wgsl_kernels.ops.reductions.reduce import all as all
from wgsl_kernels.ops.reductions.reduce import any as any
from wgsl_kernels.ops.reductions.reduce import mean as mean
from wgsl_kernels.ops.reductions.reduce import prod as prod
from wgsl_kernels.ops.reductions.reduce import sum as sum
from wgsl_kernels.ops.reductions.scan import cumulative_prod as cumulative_prod
from wgsl_kernels.ops.reductions.scan import cumulative_sum as cumulative_sum
from wgsl_kernels.ops.reductions.softmax import log_softmax as log_softmax
from wgsl_kernels.ops.reductions.softmax import logsumexp as logsumexp
from wgsl_kernels.ops.reductions.softmax import softmax as softmax
from wgsl_kernels.ops.reductions.statistics import moments as moments
from wgsl_kernels.ops.reductions.statistics import std as std
from wgsl_kernels.ops.reductions.statistics import var as var
from wgsl_kernels.ops.shapes.blocks import batch_to_space_nd as batch_to_space_nd
from wgsl_kernels.ops.shapes.blocks import depth_to_space as depth_to_space
from wgsl_kernels.ops.shapes.blocks import space_to_batch_nd as space_to_batch_nd
from wgsl_kernels.ops.shapes.creation import eye as eye
from wgsl_kernels.ops.shapes.creation import full as full
from wgsl_kernels.ops.shapes.creation import full_like as full_like
from wgsl_kernels.ops.shapes.creation import one_hot as one_hot
from wgsl_kernels.ops.shapes.creation import ones as ones
from wgsl_kernels.ops.shapes.creation import ones_like as ones_like
from wgsl_kernels.ops.shapes.creation import zeros as zeros
from wgsl_kernels.ops.shapes.creation import zeros_like as zeros_like
from wgsl_kernels.ops.shapes.joining import concat as concat
from wgsl_kernels.ops.shapes.joining import pad as pad
from wgsl_kernels.ops.shapes.joining import stack as stack
from wgsl_kernels.ops.shapes.joining import tile as tile
from wgsl_kernels.ops.shapes.moving import broadcast_args as broadcast_args
from wgsl_kernels.ops.shapes.moving import broadcast_arrays as broadcast_arrays
from wgsl_kernels.ops.shapes.moving import flip_left_right as flip_left_right
from wgsl_kernels.ops.shapes.moving import mirror_pad as mirror_pad
from wgsl_kernels.ops.shapes.moving import moveaxis as moveaxis
from wgsl_kernels.ops.shapes.moving import repeat as repeat
from wgsl_kernels.ops.shapes.moving import roll as roll
from wgsl_kernels.ops.shapes.ranges import arange as arange
from wgsl_kernels.ops.shapes.ranges import linspace as linspace
from wgsl_kernels.ops.shapes.shape import broadcast_to as broadcast_to
from wgsl_kernels.ops.shapes.shape import clone as clone
from wgsl_kernels.ops.shapes.shape import expand_dims as expand_dims
from wgsl_kernels.ops.shapes.shape import flip as flip
from wgsl_kernels.ops.shapes.shape import matrix_transpose as matrix_transpose
from wgsl_kernels.ops.shapes.shape import permute_dims as permute_dims
from wgsl_kernels.ops.shapes.shape import reshape as reshape
from wgsl_kernels.ops.shapes.shape import squeeze as squeeze
from wgsl_kernels.ops.shapes.slicing import slice as slice
from wgsl_kernels.ops.shapes.slicing import split as split
from wgsl_kernels.ops.shapes.slicing import strided_slice as strided_slice
from wgsl_kernels.ops.shapes.slicing import unstack as unstack
from wgsl_kernels.ops.signal.spectral import ifft as ifft
from wgsl_kernels.ops.text.strings import SplitStrings as SplitStrings
from wgsl_kernels.ops.text.strings import string_split as string_split
from wgsl_kernels.ops.text.texts import NGrams as NGrams
from wgsl_kernels.ops.text.texts import static_regex_replace as static_regex_replace
from wgsl_kernels.ops.text.texts import string_n_grams as string_n_grams
from wgsl_kernels.ops.text.texts import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from wgsl_kernels.saving import load as load
from wgsl_kernels.saving import save as save

# The constants of the array API standard.
bool = _bool
e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

# `wk.backends`, `wk.engine` and `wk.fft` are modules that can be called, as checkers see here.
if _TYPE_CHECKING:
    from wgsl_kernels import dev as dev
    from wgsl_kernels import testing as testing
    from wgsl_kernels import tfjs as tfjs
    from wgsl_kernels.engine.drivers.backends import backends as backends
    from wgsl_kernels.engine.observe.facade import engine as engine
    from wgsl_kernels.ops.signal.transforms import Namespace as _Transforms
    from wgsl_kernels.tfjs import *  # noqa: F403  TensorFlow.js's names, which serve here too

    fft: _Transforms

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

_register_own()
_LAZY = ("dev", "testing", "tfjs")


def _lazily(name: str) -> _Any:
    """Return a module that not every program needs, or the op of TensorFlow.js's name."""
    import importlib

    if name in _LAZY:
        return importlib.import_module(f"wgsl_kernels.{name}")
    from wgsl_kernels.ops.names.names import aliases

    if name in aliases():
        found = getattr(importlib.import_module("wgsl_kernels.tfjs"), name)
        globals()[name] = found
        return found
    said = "" if name.startswith("_") else _advice("wk", name, globals()["__dir__"]())
    raise AttributeError(f"module 'wgsl_kernels' has no attribute {name!r}.{said}")


if not _TYPE_CHECKING:  # checkers know the names
    __getattr__ = _lazily
_publish(__name__, lazy=_LAZY, aliases="wgsl_kernels.tfjs")
