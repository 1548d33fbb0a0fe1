"""Functions of tensors as models of ONNX: the kernels of one run, written as nodes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.onnx.extra import needing_onnx
from wgsl_kernels.onnx.rules.table import rules_of
from wgsl_kernels.onnx.rules.writer import NEWEST, OLDEST, OPSET, ModelWriter
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS
from wgsl_kernels.onnx.saving.varying import GraphFormat, write_function

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.tensors.tensor import TensorLike


def save(
    f: Callable[..., Any],
    path: str | os.PathLike[str],
    inputs: Mapping[str, TensorLike],
    *,
    dynamic_axes: Mapping[str, Mapping[int, str]] | None = None,
    opset: int = OPSET,
) -> None:
    """Write a function of tensors as a model of ONNX.

    ``f`` runs once; the kernels that it runs become nodes. What does not depend on the inputs is
    written as it is in that run: variables, and what is computed of them. Shapes are those of the
    examples, but for axes in ``dynamic_axes``: for these ``f`` runs at several lengths, 1 among
    them, and what of its graphs differs is computed from the inputs' shapes, or refused.
    Variables, optimizers and `wk.random` are afterwards as before.

    Args:
        f: Called with ``inputs`` by name. It returns a tensor, or several in a tuple or list, which
            are called ``y``, or ``y0``, ``y1`` and so on, or in a dictionary under their names.
            Where an input is called so, ``_`` follows.
        path: The file, which is replaced when all is well.
        inputs: An example of each input, by name, of which shape and dtype count.
        dynamic_axes: Axes whose length may be another one, named: ``{"x": {0: "batch"}}``. Those of
            one name have one length. At most three names.
        opset: The version of ONNX's operators to write, from 13 to 25.

    Raises:
        ArgumentError: A kernel has no rule in ONNX here: all of them are named, each with the line
            that ran it; or ``f`` does not take its inputs, or reads values that depend on them, or
            draws random numbers; or it cannot be said for any length of the dynamic axes, and by
            which line; or it returns something else than tensors, none, or one under the name of an
            input; or ``path`` is no path of a file; or ``onnx`` is missing.
        DTypeError: A dtype is none that ONNX has here, or an example makes no tensor.
        OSError: The file cannot be written.
    """
    with needing_onnx("save"):
        import onnx
    place = path_of("save", path)
    if type(opset) is not int or not OLDEST <= opset <= NEWEST:
        raise ArgumentError(f"save: opset is {opset!r}; want {OLDEST} to {NEWEST}.")
    writer = functools.partial(ModelWriter, opset=opset)
    target = GraphFormat("save", "ONNX", writer, rules_of(opset), COMPOSITIONS)
    found = write_function(target, f, inputs, dynamic_axes)
    model = found.writer.model(found.inputs, found.outputs)
    onnx.checker.check_model(model)
    write_whole(place, [model.SerializeToString()])
