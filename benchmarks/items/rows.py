"""Normalising rows, and moving elements about."""

from typing import Any

from benchmarks.items.item import Draw, Item, Work


def _softmax(draw: Draw, rows: int, columns: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.softmax(x)

    return Work({"x": draw.normal(rows, columns)}, program)


def _log_softmax(draw: Draw, rows: int, columns: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.log_softmax(x)

    return Work({"x": draw.normal(rows, columns)}, program)


def _layer_norm(draw: Draw, rows: int, columns: int) -> Work:
    def program(o: Any, x: Any, scale: Any, offset: Any) -> Any:
        return o.layer_norm(x, scale, offset)

    inputs = {
        "x": draw.normal(rows, columns),
        "scale": draw.normal(columns),
        "offset": draw.normal(columns),
    }
    return Work(inputs, program)


def _transpose(draw: Draw, shape: tuple[int, ...], axes: tuple[int, ...]) -> Work:
    def program(o: Any, x: Any) -> Any:
        return o.transpose(x, axes=axes)

    return Work({"x": draw.normal(*shape)}, program)


SQUARE = {"rows": 1024, "columns": 1024}
TINY = {"rows": 3, "columns": 12}
TO_NCHW = (0, 3, 1, 2)
A_VIEW = {"ours-cpu": "a transpose is a view there, as in NumPy, and nothing asks to move it"}
ITEMS = [
    Item("softmax", "rows", _softmax, SQUARE, TINY),
    Item("log-softmax", "rows", _log_softmax, SQUARE, TINY),
    Item("layer-norm", "rows", _layer_norm, {"rows": 1024, "columns": 768}, TINY),
    Item(
        "transpose",
        "rows",
        _transpose,
        {"shape": (2048, 2048), "axes": (1, 0)},
        {"shape": (8, 12), "axes": (1, 0)},
        calls=4,
        without=A_VIEW,
    ),
    Item(
        "permute-4d",
        "rows",
        _transpose,
        {"shape": (8, 56, 56, 64), "axes": TO_NCHW},
        {"shape": (2, 4, 4, 8), "axes": TO_NCHW},
        calls=4,
        without=A_VIEW,
    ),
    Item("softmax-4096", "rows", _softmax, {"rows": 4096, "columns": 4096}, TINY, large=True),
    Item(
        "transpose-4096",
        "rows",
        _transpose,
        {"shape": (4096, 4096), "axes": (1, 0)},
        {"shape": (12, 8), "axes": (1, 0)},
        calls=4,
        without=A_VIEW,
        large=True,
    ),
]
