"""How kernels are written in models of ONNX and of TensorFlow.js: a table, found by writing.

For each kernel the first of its samples that can be written is, and the operators of what was
written are listed; so the table says what the rules do.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wgsl_kernels import WgslKernelsError, use_backend
from wgsl_kernels.graphdef.node_writer import NodeWriter
from wgsl_kernels.graphdef.saving import RULES as OF_TFJS
from wgsl_kernels.onnx.rules.table import CONSTANT, RULES, UNSAID
from wgsl_kernels.onnx.rules.writer import OPSET, ModelWriter
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS
from wgsl_kernels.onnx.saving.varying import GraphFormat, write_function
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.testing import Sample

FORMATS = (
    GraphFormat("save", "ONNX", functools.partial(ModelWriter, opset=OPSET), RULES, COMPOSITIONS),
    GraphFormat("save_graph_model", "TensorFlow.js", NodeWriter, OF_TFJS, COMPOSITIONS),
)


def saved_kernel_rows() -> Iterator[tuple[str, str, str]]:
    """Yield each kernel with the operators that it is in either format, or why it is none."""
    by_kernel: dict[str, list[Sample]] = {}
    for sample in all_samples():
        by_kernel.setdefault(sample.kernel, []).append(sample)
    with use_backend("cpu"):
        for kernel, samples in sorted(by_kernel.items()):
            in_onnx, in_tfjs = (_said(format_, kernel, samples) for format_ in FORMATS)
            yield kernel, in_onnx, in_tfjs


def _said(format_: GraphFormat, kernel: str, samples: list[Sample]) -> str:
    if kernel in CONSTANT:
        return "its values"
    if kernel not in format_.rules and kernel not in format_.compositions:
        return f"no: {UNSAID.get(kernel, 'no operator')}"
    found = (_operators(format_, sample) for sample in samples)
    return ", ".join(next(filter(None, found), ["only within a model"]))


def _operators(format_: GraphFormat, sample: Sample) -> list[str]:
    """Return the operators of what is written for a sample; none where it cannot be."""
    arrays = {f"x{i}": array for i, array in enumerate(arrays_for(sample))}
    if not all(array.size for array in arrays.values()):
        return []

    def f(**given: Any) -> Any:
        return sample.f(*given.values(), **sample.attrs)

    try:
        written = write_function(format_, f, arrays, None)
    except WgslKernelsError:
        return []
    return list(dict.fromkeys(one.op for one in written.writer.nodes))
