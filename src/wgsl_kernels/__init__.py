"""Tensors and gradients whose kernels are WGSL compute shaders, with NumPy beside them."""

import math as _math
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import wgsl_kernels.fft as _fft  # noqa: F401  a namespace that can be called
from wgsl_kernels import linalg as linalg
from wgsl_kernels import tuning as tuning
from wgsl_kernels.backends.cpu.kernel import cpu_kernel as cpu_kernel
from wgsl_kernels.backends.register import register_own as _register_own
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel as wgsl_kernel
from wgsl_kernels.backends.webgpu.modules.packages import shader_package as shader_package
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
from wgsl_kernels.engine.environment.suggestions import no_attribute as _no_attribute
from wgsl_kernels.engine.execution.dlpack import from_dlpack as from_dlpack
from wgsl_kernels.engine.execution.op import op as op
from wgsl_kernels.engine.execution.run import run as run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast as unbroadcast
from wgsl_kernels.engine.execution.variables import Variable as Variable
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
from wgsl_kernels.engine.registry.public import imported as _imported
from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.engine.registry.registry import Kernel as Kernel
from wgsl_kernels.engine.registry.registry import copy_registered_kernels as copy_registered_kernels
from wgsl_kernels.engine.registry.registry import get_kernel as get_kernel
from wgsl_kernels.engine.registry.registry import kernels_for_backend as kernels_for_backend
from wgsl_kernels.engine.registry.registry import register_kernel as register_kernel
from wgsl_kernels.engine.registry.registry import reload_kernels as reload_kernels
from wgsl_kernels.engine.registry.registry import unregister_kernel as unregister_kernel
from wgsl_kernels.engine.registry.signature import signature as signature
from wgsl_kernels.engine.tensors.scopes import dispose as dispose
from wgsl_kernels.engine.tensors.scopes import keep as keep
from wgsl_kernels.engine.tensors.scopes import tidy as tidy
from wgsl_kernels.engine.tensors.tensor import Tensor as Tensor
from wgsl_kernels.engine.values.dtypes import bool_ as _bool
from wgsl_kernels.engine.values.spec import Spec as Spec
from wgsl_kernels.linking import Linked as Linked
from wgsl_kernels.linking import link as link
from wgsl_kernels.ops.names.foreign_names import provide_foreign_names as _provide_foreign_names
from wgsl_kernels.ops.names.methods import bind_methods as _bind_methods
from wgsl_kernels.ops.names.namespace import __array_namespace_info__ as __array_namespace_info__
from wgsl_kernels.ops.names.operators import bind_operators as _bind_operators
from wgsl_kernels.ops.names.public_ops import *  # noqa: F403  it re-exports the ops
from wgsl_kernels.ops.random import random as random

# The constants of the array API standard.
bool = _bool
e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

# `wk.backends`, `wk.engine` and `wk.fft` are modules that can be called, as checkers see here.
if _TYPE_CHECKING:
    from wgsl_kernels import data as data
    from wgsl_kernels import dev as dev
    from wgsl_kernels import metrics as metrics
    from wgsl_kernels import nn as nn
    from wgsl_kernels import onnx as onnx
    from wgsl_kernels import testing as testing
    from wgsl_kernels import tfjs as tfjs
    from wgsl_kernels import train as train
    from wgsl_kernels import web as web
    from wgsl_kernels.engine.drivers.backends import backends as backends
    from wgsl_kernels.engine.observe.facade import engine as engine
    from wgsl_kernels.nn.summary import summary as summary
    from wgsl_kernels.nn.weights import load_weights as load_weights
    from wgsl_kernels.ops.control.batching import vmap as vmap
    from wgsl_kernels.ops.control.rematerialization import checkpoint as checkpoint
    from wgsl_kernels.ops.signal.transforms import Namespace as _Transforms
    from wgsl_kernels.saving import load as load
    from wgsl_kernels.saving import save as save
    from wgsl_kernels.tfjs import *  # noqa: F403  TensorFlow.js's names, which serve here too

    fft: _Transforms

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

_register_own()
_bind_methods()  # all ops are loaded
_bind_operators()
_provide_foreign_names()
_LAZY = ("data", "dev", "metrics", "nn", "onnx", "testing", "tfjs", "train", "web")
_LAZY_FUNCTIONS = {
    "checkpoint": "wgsl_kernels.ops.control.rematerialization",
    "load": "wgsl_kernels.saving",
    "load_weights": "wgsl_kernels.nn.weights",
    "save": "wgsl_kernels.saving",
    "summary": "wgsl_kernels.nn.summary",
    "vmap": "wgsl_kernels.ops.control.batching",
}


def _lazily(name: str) -> _Any:
    """Return a module that not every program needs, or the op of TensorFlow.js's name."""
    import importlib

    if name in _LAZY:
        return importlib.import_module(f"wgsl_kernels.{name}")
    if name in _LAZY_FUNCTIONS:
        return _imported(__name__, name, _LAZY_FUNCTIONS[name])
    from wgsl_kernels.ops.names.names import aliases

    if name in aliases():
        return _imported(__name__, name, "wgsl_kernels.tfjs")
    said = "" if name.startswith("_") else _advice("wk", name, globals()["__dir__"]())
    raise _no_attribute("module 'wgsl_kernels'", name, said)


if not _TYPE_CHECKING:  # checkers know the names
    __getattr__ = _lazily
_publish(__name__, lazy=(*_LAZY, *_LAZY_FUNCTIONS), aliases="wgsl_kernels.tfjs")
