"""TensorFlow.js's names, as Python writes them: ``wk.tfjs.tensor2d``, ``wk.tfjs.mat_mul``.

Those that are not ours serve as ``wk.mat_mul`` too, where `dir` and completion do not show them.
ops/names/names.py is the table, and a test holds these lines to it.
"""

from importlib import import_module as _import_module
from operator import attrgetter as _attrgetter
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import wgsl_kernels as _wk
from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.engine.registry.public import unknown as _unknown
from wgsl_kernels.ops.names.names import public_names as _public_names

arg_max = _wk.argmax
arg_min = _wk.argmin
batch_norm2d = _wk.batch_norm
batch_norm3d = _wk.batch_norm
batch_norm4d = _wk.batch_norm
cast = _wk.astype
clip_by_value = _wk.clip
concat1d = _wk.concat
concat2d = _wk.concat
concat3d = _wk.concat
concat4d = _wk.concat
cumprod = _wk.cumulative_prod
cumsum = _wk.cumulative_sum
div = _wk.divide
fill = _wk.full
floor_div = _wk.floor_divide
gather = _wk.take
is_finite = _wk.isfinite
is_inf = _wk.isinf
is_nan = _wk.isnan
log_sum_exp = _wk.logsumexp
mat_mul = _wk.matmul
mod = _wk.remainder
mul = _wk.multiply
neg = _wk.negative
outer_product = _wk.outer
pad1d = _wk.pad
pad2d = _wk.pad
pad3d = _wk.pad
pad4d = _wk.pad
range = _wk.arange
reverse = _wk.flip
reverse1d = _wk.flip
reverse2d = _wk.flip
reverse3d = _wk.flip
reverse4d = _wk.flip
scalar = _wk.tensor
search_sorted = _wk.searchsorted
slice1d = _wk.slice
slice2d = _wk.slice
slice3d = _wk.slice
slice4d = _wk.slice
sub = _wk.subtract
tensor1d = _wk.tensor
tensor2d = _wk.tensor
tensor3d = _wk.tensor
tensor4d = _wk.tensor
tensor5d = _wk.tensor
tensor6d = _wk.tensor
to_pixels = _wk.draw
transpose = _wk.permute_dims


_LOADERS = {
    "load_graph_model": "wgsl_kernels.graphdef.model",
    "load_layers_model": "wgsl_kernels.nn.tfjs_model",
    "save_graph_model": "wgsl_kernels.graphdef.saving",
}

if _TYPE_CHECKING:
    from wgsl_kernels.graphdef.model import load_graph_model as load_graph_model
    from wgsl_kernels.graphdef.saving import save_graph_model as save_graph_model
    from wgsl_kernels.nn.tfjs_model import load_layers_model as load_layers_model


def _same(name: str) -> _Any:
    """Return an op that has the same name here and there, or another one of ours."""
    if name in _LOADERS:
        return getattr(_import_module(_LOADERS[name]), name)
    if name in _NAMES:
        return _attrgetter(_NAMES[name])(_wk)
    raise _unknown("wk.tfjs", name, globals()["__dir__"]())


_NAMES = _public_names()

if not _TYPE_CHECKING:  # checkers know the names
    __getattr__ = _same
_publish(__name__, lazy=[*_NAMES, *_LOADERS])
