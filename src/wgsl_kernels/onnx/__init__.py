"""Models from ONNX: loaded as functions of tensors, run on any backend, fine-tuned.

It needs the extra ``onnx``: ``pip install 'wgsl-kernels[onnx]'``.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.onnx.coverage import CoverageRow as CoverageRow
from wgsl_kernels.onnx.coverage import coverage as coverage
from wgsl_kernels.onnx.graph import ValueInfo as ValueInfo
from wgsl_kernels.onnx.model import Model as Model
from wgsl_kernels.onnx.model import load as load

if _TYPE_CHECKING:
    from wgsl_kernels.onnx.writing import save as save

_publish(__name__, lazy={"save": "wgsl_kernels.onnx.writing"})
