"""The dtypes of tensors under their public names, but for bool, which is a builtin's name."""

from wgsl_kernels.engine.dtypes import DTypeLike as DTypeLike
from wgsl_kernels.engine.dtypes import DTypeName as DTypeName
from wgsl_kernels.engine.dtypes import complex64 as complex64
from wgsl_kernels.engine.dtypes import complex128 as complex128
from wgsl_kernels.engine.dtypes import float16 as float16
from wgsl_kernels.engine.dtypes import float32 as float32
from wgsl_kernels.engine.dtypes import float64 as float64
from wgsl_kernels.engine.dtypes import int8 as int8
from wgsl_kernels.engine.dtypes import int32 as int32
from wgsl_kernels.engine.dtypes import string as string
from wgsl_kernels.engine.dtypes import uint8 as uint8
