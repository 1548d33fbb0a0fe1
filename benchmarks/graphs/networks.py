"""Two whole networks in ONNX's operators: an encoder of text, and MobileNet."""

import onnx
from benchmarks.graphs.builder import Builder
from benchmarks.graphs.operators import gelu, layer_norm
from benchmarks.items.item import Draw


def encoder(draw: Draw, layers: int, width: int, heads: int, length: int) -> onnx.ModelProto:
    """Return an encoder of [1, length, width]: attention, and a hidden layer of four widths."""
    o = Builder(draw)

    def dense(x: str, rows: int, columns: int) -> str:
        product = o("MatMul", x, o.weights(rows, columns, scale=rows**-0.5))
        return o("Add", product, o.weights(columns, scale=0.02))

    def by_head(x: str, axes: list[int]) -> str:
        split = o("Reshape", x, o.lengths(0, 0, heads, width // heads))
        return o("Transpose", split, perm=axes)

    x = "x"
    for _ in range(layers):
        query, value = (by_head(dense(x, width, width), [0, 2, 1, 3]) for _ in range(2))
        key = by_head(dense(x, width, width), [0, 2, 3, 1])
        scores = o("Div", o("MatMul", query, key), o.number((width // heads) ** 0.5))
        seen = o("MatMul", o("Softmax", scores, axis=-1), value)
        seen = o("Reshape", o("Transpose", seen, perm=[0, 2, 1, 3]), o.lengths(0, 0, width))
        x = layer_norm(o, o("Add", x, dense(seen, width, width)), width)
        hidden = gelu(o, dense(x, width, 4 * width))
        x = layer_norm(o, o("Add", x, dense(hidden, 4 * width, width)), width)
    return o.model({"x": (1, length, width)}, x)


PLAN = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5
PLAN += [(1024, 2), (1024, 1)]
"""Channels and stride of each block. Source: Howard et al., MobileNets, 2017, table 1."""


def mobilenet(draw: Draw, side: int, divide: int, blocks: int, classes: int) -> onnx.ModelProto:
    """Return MobileNet's logits, batch norms folded, with a ``divide``-th of the channels."""
    o = Builder(draw)

    def conv(x: str, rows: int, columns: int, size: int, stride: int = 1, group: int = 1) -> str:
        fan = rows // group * size * size
        filters = o.weights(columns, rows // group, size, size, scale=(2 / fan) ** 0.5)
        reach = [size // 2] * 4
        y = o(
            "Conv", x, filters, o.weights(columns, scale=0.02),
            kernel_shape=[size, size], strides=[stride, stride], pads=reach, group=group,
        )  # fmt: skip
        return o("Clip", y, o.number(0.0), o.number(6.0))

    last = 32 // divide
    x = conv("x", 3, last, 3, 2)
    for channels, stride in PLAN[:blocks]:
        deep = conv(x, last, last, 3, stride, last)
        x = conv(deep, last, channels // divide, 1)
        last = channels // divide
    x = o("Flatten", o("GlobalAveragePool", x))
    weights = o.weights(last, classes, scale=last**-0.5)
    y = o("Gemm", x, weights, o.weights(classes, scale=0.02))
    return o.model({"x": (1, 3, side, side)}, y)
