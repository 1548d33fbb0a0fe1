"""Graph models of TensorFlow.js as functions of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.formats.tfjs_files import model_file, read_graph_model, saying_what_is_damaged
from wgsl_kernels.graphdef import kernels, shapes, values, windows
from wgsl_kernels.graphdef.reading import read_graph
from wgsl_kernels.onnx.model import Model
from wgsl_kernels.onnx.optimizing import optimise

if TYPE_CHECKING:
    import os

FAMILIES = (kernels, shapes, values, windows)
"""The modules that fill the table of operators."""


def load_graph_model(path: str | os.PathLike[str], *, trainable: bool = False) -> Model:
    """Return a graph model of TensorFlow.js as a function of tensors.

    It is called with the inputs of its signature, in order or by name, and returns a tensor, or a
    tuple in the signature's order; see `wgsl_kernels.onnx.Model`. Types are written as ONNX writes
    them; int64 is carried in int32, as in TensorFlow.js, and quantized weights become float32.
    Everything that can be wrong with the files is said before anything runs.

    Args:
        path: ``model.json``, as the converter writes it, with its files of weights beside it; or
            the folder of these.
        trainable: Whether the floating-point weights become variables, which a gradient tape
            watches and optimisers change.

    Returns:
        The model; ``parameters`` has its weights by name.

    Raises:
        ArgumentError: The files are none, damaged, or are outside of the folder; or operators are
            not known, all of them at once, control flow among them; or nodes do not fit together.
        OSError: A file cannot be read.

    Source: TensorFlow.js, tf.loadGraphModel.
    """
    place = model_file("load_graph_model", path)
    file = read_graph_model(place)
    with saying_what_is_damaged("load_graph_model", f"{place.name} has no graph"):
        graph = read_graph(file)
    return Model(graph, optimise(graph, trainable=trainable), trainable=trainable)
