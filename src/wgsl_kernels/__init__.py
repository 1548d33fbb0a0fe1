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
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel as wgsl_kernel
from wgsl_kernels.backends.webgpu.link import Linked as Linked
from wgsl_kernels.backends.webgpu.link import link as link
from wgsl_kernels.backends.webgpu.packages import shader_package as shader_package
from wgsl_kernels.composed import *  # noqa: F403  it re-exports ops made of others
from wgsl_kernels.dtypes import *  # noqa: F403  it re-exports dtypes
from wgsl_kernels.engine.autodiff import GradientTape as GradientTape
from wgsl_kernels.engine.autodiff import grad as grad
from wgsl_kernels.engine.autodiff import grads as grads
from wgsl_kernels.engine.autodiff import stop_gradient as stop_gradient
from wgsl_kernels.engine.autodiff import value_and_grad as value_and_grad
from wgsl_kernels.engine.autodiff import value_and_grads as value_and_grads
from wgsl_kernels.engine.autodiff import variable_grads as variable_grads
from wgsl_kernels.engine.backends import get_backend as get_backend
from wgsl_kernels.engine.backends import register_backend as register_backend
from wgsl_kernels.engine.backends import set_backend as set_backend
from wgsl_kernels.engine.backends import use_backend as use_backend
from wgsl_kernels.engine.capture import Captured as Captured
from wgsl_kernels.engine.capture import capture as capture
from wgsl_kernels.engine.config import config as config
from wgsl_kernels.engine.coverage import coverage as coverage
from wgsl_kernels.engine.custom import custom_grad as custom_grad
from wgsl_kernels.engine.derivatives import hessian as hessian
from wgsl_kernels.engine.derivatives import hvp as hvp
from wgsl_kernels.engine.derivatives import jacobian as jacobian
from wgsl_kernels.engine.derivatives import jvp as jvp
from wgsl_kernels.engine.derivatives import vjp as vjp
from wgsl_kernels.engine.dlpack import from_dlpack as from_dlpack
from wgsl_kernels.engine.driver import Backend as Backend
from wgsl_kernels.engine.driver import Usage as Usage
from wgsl_kernels.engine.dtypes import bool_ as _bool
from wgsl_kernels.engine.errors import AlreadyRegistered as AlreadyRegistered
from wgsl_kernels.engine.errors import ArgumentError as ArgumentError
from wgsl_kernels.engine.errors import DeviceLostError as DeviceLostError
from wgsl_kernels.engine.errors import DisposedTensorError as DisposedTensorError
from wgsl_kernels.engine.errors import DTypeError as DTypeError
from wgsl_kernels.engine.errors import FallbackWarning as FallbackWarning
from wgsl_kernels.engine.errors import GradientNotFound as GradientNotFound
from wgsl_kernels.engine.errors import IndexOutOfRange as IndexOutOfRange
from wgsl_kernels.engine.errors import KernelFault as KernelFault
from wgsl_kernels.engine.errors import KernelNotFound as KernelNotFound
from wgsl_kernels.engine.errors import NumericsError as NumericsError
from wgsl_kernels.engine.errors import OutOfMemoryError as OutOfMemoryError
from wgsl_kernels.engine.errors import ShaderError as ShaderError
from wgsl_kernels.engine.errors import ShadowMismatch as ShadowMismatch
from wgsl_kernels.engine.errors import ShapeError as ShapeError
from wgsl_kernels.engine.errors import WgslKernelsError as WgslKernelsError
from wgsl_kernels.engine.explain import explain as explain
from wgsl_kernels.engine.gradients import get_gradient as get_gradient
from wgsl_kernels.engine.gradients import gradient as gradient
from wgsl_kernels.engine.gradients import gradients_in_force as gradients_in_force
from wgsl_kernels.engine.gradients import no_gradient as no_gradient
from wgsl_kernels.engine.gradients import override_gradient as override_gradient
from wgsl_kernels.engine.gradients import register_gradient as register_gradient
from wgsl_kernels.engine.gradients import unbroadcast as unbroadcast
from wgsl_kernels.engine.gradients import unregister_gradient as unregister_gradient
from wgsl_kernels.engine.memory import empty_cache as empty_cache
from wgsl_kernels.engine.memory import memory as memory
from wgsl_kernels.engine.objective import to_scipy as to_scipy
from wgsl_kernels.engine.op import op as op
from wgsl_kernels.engine.profile import evaluate as evaluate
from wgsl_kernels.engine.profile import flush as flush
from wgsl_kernels.engine.profile import profile as profile
from wgsl_kernels.engine.profile import synchronize as synchronize
from wgsl_kernels.engine.profile import time as time
from wgsl_kernels.engine.public import publish as _publish
from wgsl_kernels.engine.registry import Kernel as Kernel
from wgsl_kernels.engine.registry import copy_registered_kernels as copy_registered_kernels
from wgsl_kernels.engine.registry import get_kernel as get_kernel
from wgsl_kernels.engine.registry import kernels_for_backend as kernels_for_backend
from wgsl_kernels.engine.registry import register_kernel as register_kernel
from wgsl_kernels.engine.registry import reload_kernels as reload_kernels
from wgsl_kernels.engine.registry import unregister_kernel as unregister_kernel
from wgsl_kernels.engine.run import run as run
from wgsl_kernels.engine.scopes import dispose as dispose
from wgsl_kernels.engine.scopes import keep as keep
from wgsl_kernels.engine.scopes import tidy as tidy
from wgsl_kernels.engine.shadow import shadow as shadow
from wgsl_kernels.engine.signature import signature as signature
from wgsl_kernels.engine.spec import Spec as Spec
from wgsl_kernels.engine.suggestions import advice as _advice
from wgsl_kernels.engine.tensor import Tensor as Tensor
from wgsl_kernels.engine.tensor import Variable as Variable
from wgsl_kernels.engine.tensor import tensor as tensor
from wgsl_kernels.engine.tensor import variable as variable
from wgsl_kernels.engine.warmup import Warmup as Warmup
from wgsl_kernels.engine.warmup import warmup as warmup
from wgsl_kernels.ops import elsewhere as _elsewhere  # noqa: F401  other libraries' names
from wgsl_kernels.ops import methods as _methods  # noqa: F401  binds the methods of tensors
from wgsl_kernels.ops import operators as _operators  # noqa: F401  binds the operators of tensors
from wgsl_kernels.ops import random as random
from wgsl_kernels.ops.activation import elu as elu
from wgsl_kernels.ops.activation import leaky_relu as leaky_relu
from wgsl_kernels.ops.activation import prelu as prelu
from wgsl_kernels.ops.activation import relu as relu
from wgsl_kernels.ops.activation import relu6 as relu6
from wgsl_kernels.ops.activation import selu as selu
from wgsl_kernels.ops.activation import sigmoid as sigmoid
from wgsl_kernels.ops.activation import softplus as softplus
from wgsl_kernels.ops.activation import step as step
from wgsl_kernels.ops.binary import add as add
from wgsl_kernels.ops.binary import add_n as add_n
from wgsl_kernels.ops.binary import divide as divide
from wgsl_kernels.ops.binary import floor_divide as floor_divide
from wgsl_kernels.ops.binary import maximum as maximum
from wgsl_kernels.ops.binary import minimum as minimum
from wgsl_kernels.ops.binary import multiply as multiply
from wgsl_kernels.ops.binary import pow as pow
from wgsl_kernels.ops.binary import subtract as subtract
from wgsl_kernels.ops.bitwise import bitwise_and as bitwise_and
from wgsl_kernels.ops.bitwise import bitwise_invert as bitwise_invert
from wgsl_kernels.ops.bitwise import bitwise_left_shift as bitwise_left_shift
from wgsl_kernels.ops.bitwise import bitwise_or as bitwise_or
from wgsl_kernels.ops.bitwise import bitwise_right_shift as bitwise_right_shift
from wgsl_kernels.ops.bitwise import bitwise_xor as bitwise_xor
from wgsl_kernels.ops.blocks import batch_to_space_nd as batch_to_space_nd
from wgsl_kernels.ops.blocks import depth_to_space as depth_to_space
from wgsl_kernels.ops.blocks import space_to_batch_nd as space_to_batch_nd
from wgsl_kernels.ops.cast import astype as astype
from wgsl_kernels.ops.classify import isfinite as isfinite
from wgsl_kernels.ops.classify import isinf as isinf
from wgsl_kernels.ops.classify import isnan as isnan
from wgsl_kernels.ops.colors import grayscale_to_rgb as grayscale_to_rgb
from wgsl_kernels.ops.colors import rgb_to_grayscale as rgb_to_grayscale
from wgsl_kernels.ops.colors import threshold as threshold
from wgsl_kernels.ops.compare import equal as equal
from wgsl_kernels.ops.compare import greater as greater
from wgsl_kernels.ops.compare import greater_equal as greater_equal
from wgsl_kernels.ops.compare import less as less
from wgsl_kernels.ops.compare import less_equal as less_equal
from wgsl_kernels.ops.compare import not_equal as not_equal
from wgsl_kernels.ops.complex import complex as complex
from wgsl_kernels.ops.complex import conj as conj
from wgsl_kernels.ops.complex import imag as imag
from wgsl_kernels.ops.complex import real as real
from wgsl_kernels.ops.compositions import UniqueAll as UniqueAll
from wgsl_kernels.ops.compositions import UniqueCounts as UniqueCounts
from wgsl_kernels.ops.compositions import UniqueInverse as UniqueInverse
from wgsl_kernels.ops.compositions import broadcast_arrays as broadcast_arrays
from wgsl_kernels.ops.compositions import diff as diff
from wgsl_kernels.ops.compositions import div_no_nan as div_no_nan
from wgsl_kernels.ops.compositions import empty as empty
from wgsl_kernels.ops.compositions import empty_like as empty_like
from wgsl_kernels.ops.compositions import log_sigmoid as log_sigmoid
from wgsl_kernels.ops.compositions import meshgrid as meshgrid
from wgsl_kernels.ops.compositions import positive as positive
from wgsl_kernels.ops.compositions import signbit as signbit
from wgsl_kernels.ops.compositions import tensordot as tensordot
from wgsl_kernels.ops.compositions import trunc as trunc
from wgsl_kernels.ops.compositions import unique_all as unique_all
from wgsl_kernels.ops.compositions import unique_counts as unique_counts
from wgsl_kernels.ops.compositions import unique_inverse as unique_inverse
from wgsl_kernels.ops.compositions import unique_values as unique_values
from wgsl_kernels.ops.compositions import vecdot as vecdot
from wgsl_kernels.ops.conv import conv2d as conv2d
from wgsl_kernels.ops.conv import conv2d_transpose as conv2d_transpose
from wgsl_kernels.ops.conv1d import conv1d as conv1d
from wgsl_kernels.ops.conv1d import conv1d_transpose as conv1d_transpose
from wgsl_kernels.ops.conv3d import conv3d as conv3d
from wgsl_kernels.ops.conv3d import conv3d_transpose as conv3d_transpose
from wgsl_kernels.ops.counting import bincount as bincount
from wgsl_kernels.ops.counting import count_nonzero as count_nonzero
from wgsl_kernels.ops.counting import dense_bincount as dense_bincount
from wgsl_kernels.ops.counting import nonzero as nonzero
from wgsl_kernels.ops.creation import eye as eye
from wgsl_kernels.ops.creation import full as full
from wgsl_kernels.ops.creation import full_like as full_like
from wgsl_kernels.ops.creation import one_hot as one_hot
from wgsl_kernels.ops.creation import ones as ones
from wgsl_kernels.ops.creation import ones_like as ones_like
from wgsl_kernels.ops.creation import zeros as zeros
from wgsl_kernels.ops.creation import zeros_like as zeros_like
from wgsl_kernels.ops.crop import crop_and_resize as crop_and_resize
from wgsl_kernels.ops.depthwise import depthwise_conv2d as depthwise_conv2d
from wgsl_kernels.ops.depthwise import separable_conv2d as separable_conv2d
from wgsl_kernels.ops.diagonals import band_part as band_part
from wgsl_kernels.ops.diagonals import diag as diag
from wgsl_kernels.ops.diagonals import tril as tril
from wgsl_kernels.ops.diagonals import triu as triu
from wgsl_kernels.ops.differences import squared_difference as squared_difference
from wgsl_kernels.ops.dilation import dilation2d as dilation2d
from wgsl_kernels.ops.dtype_facts import can_cast as can_cast
from wgsl_kernels.ops.dtype_facts import finfo as finfo
from wgsl_kernels.ops.dtype_facts import iinfo as iinfo
from wgsl_kernels.ops.dtype_facts import isdtype as isdtype
from wgsl_kernels.ops.dtype_facts import result_type as result_type
from wgsl_kernels.ops.einsum import einsum as einsum
from wgsl_kernels.ops.exponential import cos as cos
from wgsl_kernels.ops.exponential import erf as erf
from wgsl_kernels.ops.exponential import exp as exp
from wgsl_kernels.ops.exponential import expm1 as expm1
from wgsl_kernels.ops.exponential import log as log
from wgsl_kernels.ops.exponential import log1p as log1p
from wgsl_kernels.ops.exponential import sin as sin
from wgsl_kernels.ops.exponential import tan as tan
from wgsl_kernels.ops.exponential import tanh as tanh
from wgsl_kernels.ops.extremes import argmax as argmax
from wgsl_kernels.ops.extremes import argmin as argmin
from wgsl_kernels.ops.extremes import max as max
from wgsl_kernels.ops.extremes import min as min
from wgsl_kernels.ops.float_pairs import copysign as copysign
from wgsl_kernels.ops.float_pairs import hypot as hypot
from wgsl_kernels.ops.float_pairs import logaddexp as logaddexp
from wgsl_kernels.ops.float_pairs import nextafter as nextafter
from wgsl_kernels.ops.float_pairs import remainder as remainder
from wgsl_kernels.ops.fused import fused_conv2d as fused_conv2d
from wgsl_kernels.ops.fused_depthwise import fused_depthwise_conv2d as fused_depthwise_conv2d
from wgsl_kernels.ops.fused_matrix import fused_mat_mul as fused_mat_mul
from wgsl_kernels.ops.gather import take as take
from wgsl_kernels.ops.gather import take_along_axis as take_along_axis
from wgsl_kernels.ops.hyperbolic import acosh as acosh
from wgsl_kernels.ops.hyperbolic import asinh as asinh
from wgsl_kernels.ops.hyperbolic import atanh as atanh
from wgsl_kernels.ops.hyperbolic import cosh as cosh
from wgsl_kernels.ops.hyperbolic import sinh as sinh
from wgsl_kernels.ops.joining import concat as concat
from wgsl_kernels.ops.joining import pad as pad
from wgsl_kernels.ops.joining import stack as stack
from wgsl_kernels.ops.joining import tile as tile
from wgsl_kernels.ops.local_response import (
    local_response_normalization as local_response_normalization,
)
from wgsl_kernels.ops.logarithms import log2 as log2
from wgsl_kernels.ops.logarithms import log10 as log10
from wgsl_kernels.ops.logical import logical_and as logical_and
from wgsl_kernels.ops.logical import logical_not as logical_not
from wgsl_kernels.ops.logical import logical_or as logical_or
from wgsl_kernels.ops.logical import logical_xor as logical_xor
from wgsl_kernels.ops.logical import where as where
from wgsl_kernels.ops.matrix import dot as dot
from wgsl_kernels.ops.matrix import matmul as matmul
from wgsl_kernels.ops.matrix import outer as outer
from wgsl_kernels.ops.moving import broadcast_args as broadcast_args
from wgsl_kernels.ops.moving import flip_left_right as flip_left_right
from wgsl_kernels.ops.moving import mirror_pad as mirror_pad
from wgsl_kernels.ops.moving import moveaxis as moveaxis
from wgsl_kernels.ops.moving import repeat as repeat
from wgsl_kernels.ops.moving import roll as roll
from wgsl_kernels.ops.multinomial import multinomial as multinomial
from wgsl_kernels.ops.namespace import __array_namespace_info__ as __array_namespace_info__
from wgsl_kernels.ops.namespace import asarray as asarray
from wgsl_kernels.ops.normalization import batch_norm as batch_norm
from wgsl_kernels.ops.normalization import layer_norm as layer_norm
from wgsl_kernels.ops.ordered import argsort as argsort
from wgsl_kernels.ops.ordered import lower_bound as lower_bound
from wgsl_kernels.ops.ordered import searchsorted as searchsorted
from wgsl_kernels.ops.ordered import sort as sort
from wgsl_kernels.ops.ordered import upper_bound as upper_bound
from wgsl_kernels.ops.pixels import draw as draw
from wgsl_kernels.ops.pixels import from_pixels as from_pixels
from wgsl_kernels.ops.places import gather_nd as gather_nd
from wgsl_kernels.ops.places import scatter_nd as scatter_nd
from wgsl_kernels.ops.pool import avg_pool as avg_pool
from wgsl_kernels.ops.pool import max_pool as max_pool
from wgsl_kernels.ops.pool3d import avg_pool3d as avg_pool3d
from wgsl_kernels.ops.pool3d import max_pool3d as max_pool3d
from wgsl_kernels.ops.pool_any import pool as pool
from wgsl_kernels.ops.pool_places import max_pool_with_argmax as max_pool_with_argmax
from wgsl_kernels.ops.ragged import RaggedRows as RaggedRows
from wgsl_kernels.ops.ragged import ragged_gather as ragged_gather
from wgsl_kernels.ops.ragged_dense import ragged_tensor_to_tensor as ragged_tensor_to_tensor
from wgsl_kernels.ops.ragged_range import RaggedNumbers as RaggedNumbers
from wgsl_kernels.ops.ragged_range import ragged_range as ragged_range
from wgsl_kernels.ops.random import random_normal as random_normal
from wgsl_kernels.ops.random import random_uniform as random_uniform
from wgsl_kernels.ops.ranges import arange as arange
from wgsl_kernels.ops.ranges import linspace as linspace
from wgsl_kernels.ops.reduce import all as all
from wgsl_kernels.ops.reduce import any as any
from wgsl_kernels.ops.reduce import mean as mean
from wgsl_kernels.ops.reduce import prod as prod
from wgsl_kernels.ops.reduce import sum as sum
from wgsl_kernels.ops.resize import resize_bilinear as resize_bilinear
from wgsl_kernels.ops.resize import resize_nearest_neighbor as resize_nearest_neighbor
from wgsl_kernels.ops.scan import cumulative_prod as cumulative_prod
from wgsl_kernels.ops.scan import cumulative_sum as cumulative_sum
from wgsl_kernels.ops.segment import unsorted_segment_sum as unsorted_segment_sum
from wgsl_kernels.ops.shape import broadcast_to as broadcast_to
from wgsl_kernels.ops.shape import clone as clone
from wgsl_kernels.ops.shape import expand_dims as expand_dims
from wgsl_kernels.ops.shape import flip as flip
from wgsl_kernels.ops.shape import matrix_transpose as matrix_transpose
from wgsl_kernels.ops.shape import permute_dims as permute_dims
from wgsl_kernels.ops.shape import reshape as reshape
from wgsl_kernels.ops.shape import squeeze as squeeze
from wgsl_kernels.ops.slicing import slice as slice
from wgsl_kernels.ops.slicing import split as split
from wgsl_kernels.ops.slicing import strided_slice as strided_slice
from wgsl_kernels.ops.slicing import unstack as unstack
from wgsl_kernels.ops.softmax import log_softmax as log_softmax
from wgsl_kernels.ops.softmax import logsumexp as logsumexp
from wgsl_kernels.ops.softmax import softmax as softmax
from wgsl_kernels.ops.sort import topk as topk
from wgsl_kernels.ops.sort import unique as unique
from wgsl_kernels.ops.sparse import FilledRows as FilledRows
from wgsl_kernels.ops.sparse import SparseIndices as SparseIndices
from wgsl_kernels.ops.sparse import sparse_fill_empty_rows as sparse_fill_empty_rows
from wgsl_kernels.ops.sparse import sparse_reshape as sparse_reshape
from wgsl_kernels.ops.sparse_segments import sparse_segment_mean as sparse_segment_mean
from wgsl_kernels.ops.sparse_segments import sparse_segment_sum as sparse_segment_sum
from wgsl_kernels.ops.spectral import ifft as ifft
from wgsl_kernels.ops.standards import ledger as ledger
from wgsl_kernels.ops.statistics import moments as moments
from wgsl_kernels.ops.statistics import std as std
from wgsl_kernels.ops.statistics import var as var
from wgsl_kernels.ops.strings import SplitStrings as SplitStrings
from wgsl_kernels.ops.strings import string_split as string_split
from wgsl_kernels.ops.suppression import PaddedBoxes as PaddedBoxes
from wgsl_kernels.ops.suppression import ScoredBoxes as ScoredBoxes
from wgsl_kernels.ops.suppression import non_max_suppression as non_max_suppression
from wgsl_kernels.ops.suppression import non_max_suppression_padded as non_max_suppression_padded
from wgsl_kernels.ops.suppression import (
    non_max_suppression_with_score as non_max_suppression_with_score,
)
from wgsl_kernels.ops.texts import NGrams as NGrams
from wgsl_kernels.ops.texts import static_regex_replace as static_regex_replace
from wgsl_kernels.ops.texts import string_n_grams as string_n_grams
from wgsl_kernels.ops.texts import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from wgsl_kernels.ops.trigonometry import acos as acos
from wgsl_kernels.ops.trigonometry import asin as asin
from wgsl_kernels.ops.trigonometry import atan as atan
from wgsl_kernels.ops.trigonometry import atan2 as atan2
from wgsl_kernels.ops.unary import abs as abs
from wgsl_kernels.ops.unary import ceil as ceil
from wgsl_kernels.ops.unary import clip as clip
from wgsl_kernels.ops.unary import floor as floor
from wgsl_kernels.ops.unary import negative as negative
from wgsl_kernels.ops.unary import reciprocal as reciprocal
from wgsl_kernels.ops.unary import round as round
from wgsl_kernels.ops.unary import rsqrt as rsqrt
from wgsl_kernels.ops.unary import sign as sign
from wgsl_kernels.ops.unary import sqrt as sqrt
from wgsl_kernels.ops.unary import square as square
from wgsl_kernels.ops.updates import sparse_to_dense as sparse_to_dense
from wgsl_kernels.ops.updates import tensor_scatter_update as tensor_scatter_update
from wgsl_kernels.ops.warp import rotate_with_offset as rotate_with_offset
from wgsl_kernels.ops.warp import transform as transform
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
    from wgsl_kernels.engine.backends import backends as backends
    from wgsl_kernels.engine.facade import engine as engine
    from wgsl_kernels.ops.transforms import Namespace as _Transforms
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
    from wgsl_kernels.ops.names import aliases

    if name in aliases():
        found = getattr(importlib.import_module("wgsl_kernels.tfjs"), name)
        globals()[name] = found
        return found
    said = "" if name.startswith("_") else _advice("wk", name, globals()["__dir__"]())
    raise AttributeError(f"module 'wgsl_kernels' has no attribute {name!r}.{said}")


if not _TYPE_CHECKING:  # checkers know the names
    __getattr__ = _lazily
_publish(__name__, lazy=_LAZY, aliases="wgsl_kernels.tfjs")
