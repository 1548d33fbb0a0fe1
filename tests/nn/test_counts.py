"""Counts that layers, schedules, optimizers, metrics and batches are made with are integers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COUNTS = ("int", "int | None", "Pair", "Padding", "str | int", "int | tuple[int, ...]")
"""How parameters are annotated that are counts, or may be."""
SEVERAL = ("Sequence[int]",)
RESULTS = {"LayerSummary", "Summary"}
"""Classes that nobody makes by hand."""


def ones(*shape: int) -> wk.Variable:
    return wk.variable(np.ones(shape, np.float32))


def dense() -> Any:
    return wk.nn.dense(4, 4)


GIVEN: dict[str, Callable[[], dict[str, Any]]] = {
    "AUC": dict,
    "Batches": lambda: {
        "x": np.ones(8), "y": None, "size": 2, "shuffle": False, "seed": 0, "drop_last": False,
        "pad_last": False, "prefetch": 1,
    },
    "Conv": lambda: {"weight": ones(3, 3, 2, 8)},
    "ConvTranspose": lambda: {"weight": ones(3, 3, 2, 8)},
    "CosineDecay": lambda: {"initial": 1.0, "steps": 2},
    "ExponentialDecay": lambda: {"initial": 1.0, "steps": 2, "factor": 0.5},
    "GroupNorm": lambda: {"scale": ones(4), "offset": ones(4), "groups": 2},
    "LinearWarmup": lambda: {"steps": 2, "then": 1.0},
    "LossScale": lambda: {"optimizer": wk.train.SGD(0.1)},
    "MultiHeadAttention": lambda: {
        "query": dense(), "key": dense(), "value": dense(), "out": dense(), "heads": 2,
        "key_heads": 2,
    },
    "PiecewiseConstant": lambda: {"boundaries": [2], "rates": [1.0, 0.5]},
    "PolynomialDecay": lambda: {"initial": 1.0, "steps": 2},
    "ReduceLROnPlateau": lambda: {"optimizer": wk.train.SGD(0.1)},
    "TopKAccuracy": lambda: {"right": wk.metrics.mean(), "k": 2},
    "batch_norm": lambda: {"channels": 4},
    "batches": lambda: {"x": np.ones(8), "y": None, "size": 2},
    "confusion_matrix": lambda: {"num_classes": 2},
    "conv": lambda: {"inputs": 4, "outputs": 8, "window": 3},
    "conv_transpose": lambda: {"inputs": 4, "outputs": 8, "window": 3},
    "dense": lambda: {"inputs": 4, "outputs": 8},
    "depthwise_conv": lambda: {"channels": 4, "window": 3},
    "embedding": lambda: {"rows": 4, "features": 8},
    "group_norm": lambda: {"channels": 4, "groups": 2},
    "gru": lambda: {"inputs": 4, "units": 8},
    "layer_norm": lambda: {"features": 4},
    "lstm": lambda: {"inputs": 4, "units": 8},
    "multi_head_attention": lambda: {"features": 4, "heads": 2},
    "rms_norm": lambda: {"features": 4},
}  # fmt: skip
"""What must be given to each, beside what has a default."""


def makers() -> Iterator[tuple[str, Any, str, str]]:
    """Yield what makes something, by name, with each parameter that is a count."""
    for module in (wk.nn, wk.train, wk.metrics, wk.data):
        for name in module.__all__:
            make = getattr(module, name)
            if not callable(make) or name in RESULTS:
                continue
            for one in inspect.signature(make).parameters.values():
                if str(one.annotation) in (*COUNTS, *SEVERAL):
                    yield name, make, one.name, str(one.annotation)


CASES = list(makers())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_a_count_is_an_integer_of_python_or_numpy(case: tuple[str, Any, str, str]) -> None:
    name, make, parameter, annotation = case
    given = GIVEN.get(name, dict)()
    with wk.use_backend("cpu"):
        for wrong in (2.0, 0.8, np.float32(2), True, [1.5, 2], (2.0, 2)):
            value = [wrong] if annotation in SEVERAL and not isinstance(wrong, list) else wrong
            with pytest.raises(wk.ArgumentError, match=rf"{parameter} is|shape"):
                make(**{**given, parameter: value})
        for right in (2, np.int64(2), np.array(2)):
            several = [right] if parameter == "boundaries" else [right, right]
            make(**{**given, parameter: several if annotation in SEVERAL else right})


def test_a_count_is_kept_as_an_int() -> None:
    two: Any = np.int64(2)
    kept = (
        wk.train.ExponentialDecay(1.0, two, 0.5).steps,
        wk.train.LinearWarmup(two, 1.0).steps,
        wk.train.PiecewiseConstant([two], [1.0, 0.5]).boundaries[0],
        wk.nn.conv(4, 4, 3, strides=two).strides,
        wk.metrics.TopKAccuracy(wk.metrics.mean(), two).k,
    )
    assert [type(one) for one in kept] == [int] * 5
