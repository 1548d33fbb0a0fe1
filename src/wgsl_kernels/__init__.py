"""Tensors and gradients whose kernels are WGSL compute shaders, with NumPy beside them."""

from wgsl_kernels.backends.cpu.kernel import cpu_kernel as cpu_kernel
from wgsl_kernels.backends.register import register_own as _register_own
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel as wgsl_kernel
from wgsl_kernels.engine.autodiff import GradientTape as GradientTape
from wgsl_kernels.engine.autodiff import grad as grad
from wgsl_kernels.engine.autodiff import grads as grads
from wgsl_kernels.engine.autodiff import stop_gradient as stop_gradient
from wgsl_kernels.engine.autodiff import value_and_grad as value_and_grad
from wgsl_kernels.engine.autodiff import value_and_grads as value_and_grads
from wgsl_kernels.engine.autodiff import variable_grads as variable_grads
from wgsl_kernels.engine.backends import backends as backends
from wgsl_kernels.engine.backends import get_backend as get_backend
from wgsl_kernels.engine.backends import register_backend as register_backend
from wgsl_kernels.engine.backends import set_backend as set_backend
from wgsl_kernels.engine.backends import use_backend as use_backend
from wgsl_kernels.engine.config import config as config
from wgsl_kernels.engine.custom import custom_grad as custom_grad
from wgsl_kernels.engine.errors import AlreadyRegistered as AlreadyRegistered
from wgsl_kernels.engine.errors import ArgumentError as ArgumentError
from wgsl_kernels.engine.errors import DeviceLostError as DeviceLostError
from wgsl_kernels.engine.errors import DisposedTensorError as DisposedTensorError
from wgsl_kernels.engine.errors import DTypeError as DTypeError
from wgsl_kernels.engine.errors import GradientNotFound as GradientNotFound
from wgsl_kernels.engine.errors import IndexOutOfRange as IndexOutOfRange
from wgsl_kernels.engine.errors import KernelNotFound as KernelNotFound
from wgsl_kernels.engine.errors import OutOfMemoryError as OutOfMemoryError
from wgsl_kernels.engine.errors import ShaderError as ShaderError
from wgsl_kernels.engine.errors import ShapeError as ShapeError
from wgsl_kernels.engine.errors import WgslKernelsError as WgslKernelsError
from wgsl_kernels.engine.facade import engine as engine
from wgsl_kernels.engine.gradients import get_gradient as get_gradient
from wgsl_kernels.engine.gradients import gradient as gradient
from wgsl_kernels.engine.gradients import gradients_in_force as gradients_in_force
from wgsl_kernels.engine.gradients import no_gradient as no_gradient
from wgsl_kernels.engine.gradients import override_gradient as override_gradient
from wgsl_kernels.engine.gradients import register_gradient as register_gradient
from wgsl_kernels.engine.gradients import unbroadcast as unbroadcast
from wgsl_kernels.engine.gradients import unregister_gradient as unregister_gradient
from wgsl_kernels.engine.memory import memory as memory
from wgsl_kernels.engine.profile import evaluate as evaluate
from wgsl_kernels.engine.profile import flush as flush
from wgsl_kernels.engine.profile import profile as profile
from wgsl_kernels.engine.profile import synchronize as synchronize
from wgsl_kernels.engine.profile import time as time
from wgsl_kernels.engine.registry import copy_registered_kernels as copy_registered_kernels
from wgsl_kernels.engine.registry import get_kernel as get_kernel
from wgsl_kernels.engine.registry import kernels_for_backend as kernels_for_backend
from wgsl_kernels.engine.registry import register_kernel as register_kernel
from wgsl_kernels.engine.registry import unregister_kernel as unregister_kernel
from wgsl_kernels.engine.scopes import dispose as dispose
from wgsl_kernels.engine.scopes import keep as keep
from wgsl_kernels.engine.scopes import tidy as tidy
from wgsl_kernels.engine.signature import signature as signature
from wgsl_kernels.engine.spec import Spec as Spec
from wgsl_kernels.engine.tensor import Tensor as Tensor
from wgsl_kernels.engine.tensor import Variable as Variable
from wgsl_kernels.engine.tensor import from_dlpack as from_dlpack
from wgsl_kernels.engine.tensor import tensor as tensor
from wgsl_kernels.engine.tensor import variable as variable

__version__ = "0.1.0"

_register_own()
