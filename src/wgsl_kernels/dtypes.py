"""The dtypes of tensors under their public names, but for bool, which is a builtin's name."""

from wgsl_kernels.engine.values.dtypes import DTypeLike as DTypeLike
from wgsl_kernels.engine.values.dtypes import DTypeName as DTypeName
from wgsl_kernels.engine.values.dtypes import complex64 as complex64
from wgsl_kernels.engine.values.dtypes import complex128 as complex128
from wgsl_kernels.engine.values.dtypes import float16 as float16
from wgsl_kernels.engine.values.dtypes import float32 as float32
from wgsl_kernels.engine.values.dtypes import float64 as float64
from wgsl_kernels.engine.values.dtypes import int8 as int8
from wgsl_kernels.engine.values.dtypes import int32 as int32
from wgsl_kernels.engine.values.dtypes import string as string
from wgsl_kernels.engine.values.dtypes import uint8 as uint8
