"""Fourier transforms: the extension ``fft`` of the array API standard, as ``wk.fft``.

Called, ``wk.fft(x)`` transforms the last axis of complex numbers, as TensorFlow.js's ``fft`` does.
"""

import sys as _sys

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.ops.signal.shifts import fftshift as fftshift
from wgsl_kernels.ops.signal.shifts import ifftshift as ifftshift
from wgsl_kernels.ops.signal.transforms import Namespace as _Namespace
from wgsl_kernels.ops.signal.transforms import fft as fft
from wgsl_kernels.ops.signal.transforms import fftfreq as fftfreq
from wgsl_kernels.ops.signal.transforms import fftn as fftn
from wgsl_kernels.ops.signal.transforms import hfft as hfft
from wgsl_kernels.ops.signal.transforms import ifft as ifft
from wgsl_kernels.ops.signal.transforms import ifftn as ifftn
from wgsl_kernels.ops.signal.transforms import ihfft as ihfft
from wgsl_kernels.ops.signal.transforms import irfft as irfft
from wgsl_kernels.ops.signal.transforms import irfftn as irfftn
from wgsl_kernels.ops.signal.transforms import rfft as rfft
from wgsl_kernels.ops.signal.transforms import rfftfreq as rfftfreq
from wgsl_kernels.ops.signal.transforms import rfftn as rfftn

_sys.modules[__name__].__class__ = _Namespace
_publish(__name__, of="wgsl_kernels.ops")
