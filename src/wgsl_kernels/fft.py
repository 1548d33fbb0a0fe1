"""Fourier transforms: the extension ``fft`` of the array API standard, as ``wk.fft``.

Called, ``wk.fft(x)`` transforms the last axis of complex numbers, as TensorFlow.js's ``fft`` does.
"""

import sys as _sys

from wgsl_kernels.engine.public import publish as _publish
from wgsl_kernels.ops.shifts import fftshift as fftshift
from wgsl_kernels.ops.shifts import ifftshift as ifftshift
from wgsl_kernels.ops.transforms import Namespace as _Namespace
from wgsl_kernels.ops.transforms import fft as fft
from wgsl_kernels.ops.transforms import fftfreq as fftfreq
from wgsl_kernels.ops.transforms import fftn as fftn
from wgsl_kernels.ops.transforms import hfft as hfft
from wgsl_kernels.ops.transforms import ifft as ifft
from wgsl_kernels.ops.transforms import ifftn as ifftn
from wgsl_kernels.ops.transforms import ihfft as ihfft
from wgsl_kernels.ops.transforms import irfft as irfft
from wgsl_kernels.ops.transforms import irfftn as irfftn
from wgsl_kernels.ops.transforms import rfft as rfft
from wgsl_kernels.ops.transforms import rfftfreq as rfftfreq
from wgsl_kernels.ops.transforms import rfftn as rfftn

_sys.modules[__name__].__class__ = _Namespace
_publish(__name__, of="wgsl_kernels.ops")
