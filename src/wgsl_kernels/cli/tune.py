"""What ``wgsl-kernels tune`` does: measure the variants of kernels on usual shapes, and tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.progress import track
from rich.table import Table

from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.tuning.tuning_file import file_for
from wgsl_kernels.cli.show import called
from wgsl_kernels.engine.autodiff.autodiff import value_and_grads
from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.observe.profile import evaluate, synchronize
from wgsl_kernels.ops.convolution.conv import conv2d
from wgsl_kernels.ops.indexing.sort import topk
from wgsl_kernels.ops.linear_algebra.fused_matrix import fused_mat_mul
from wgsl_kernels.ops.linear_algebra.matrix import matmul
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.reductions.scan import cumulative_sum
from wgsl_kernels.ops.reductions.softmax import softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

    from wgsl_kernels.backends.webgpu.tuning.tuner import Measurement
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Shape

SECONDS = 5.0
"""The most that measuring for one choice takes here; at a kernel's first use it is less."""

SIZES = (128, 256, 512, 1024, 2048, 4096)
"""Rows and columns of square matrices; the large ones are for GPUs."""

Item: TypeAlias = "tuple[str, Callable[[], Any]]"


@dataclass(frozen=True)
class Tuned:
    """What was measured.

    Attributes:
        adapter: Where.
        file: Where the choices are kept.
        measured: Each item's name with a choice that it has.
    """

    adapter: str
    file: str
    measured: list[tuple[str, Measurement]]

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain Python, as JSON has it."""
        rows = [
            {
                "item": name,
                "kernel": one.choice.kernel,
                "variant": variant,
                "configuration": dict(one.choice.candidates[variant].constants),
                "ms": 1e3 * seconds,
                "taken": variant == one.chosen,
                "static": variant == one.choice.static,
            }
            for name, one in self.measured
            for variant, seconds in one.seconds.items()
        ]
        return {"adapter": self.adapter, "file": self.file, "measured": rows}


def show(console: Console, tuned: Tuned) -> None:
    """Print what was measured."""
    if not tuned.measured:
        console.print("nothing was measured: what ran has one variant, or is too little work")
        return
    console.print(_table(tuned.measured, tuned.adapter))
    console.print(f"kept in {tuned.file}")


def tune(console: Console, only: str = "", functions: Sequence[str] = ()) -> Tuned:
    """Measure the items whose names contain ``only``, and remember the choices.

    Args:
        console: Where it shows how far it is.
        only: A part of the names; of none, everything.
        functions: A kernel, ``file.py:Kernel`` or ``file.py:function`` each; what these run is
            measured instead of usual shapes.

    Raises:
        ArgumentError: There is no such function, or no item with ``only`` in its name.
        KernelNotFound: There is no such kernel.
    """
    given = [_given(one) for one in functions]
    with use_backend("webgpu"), config.using(tuning="on", deterministic=False):
        backend = find_driver("webgpu")
        assert isinstance(backend, WebGpuBackend)
        tuner, device = backend.tuner, backend.open()
        info, largest = device.info, device.policy.largest_tuned
        sizes = [size for size in SIZES if size <= largest]
        chosen = [item for item in given or _items(sizes) if only in item[0]]
        if not chosen:
            raise ArgumentError(f"tune: no item has {only!r} in its name.")
        found: list[tuple[str, Measurement]] = []
        with tuner.renewing(SECONDS):
            for name, make in track(chosen, "measuring", console=console, transient=True):
                before = len(tuner.measured)
                evaluate(make())
                synchronize()
                found += [(name, one) for one in tuner.measured[before:]]
    adapter = f"{info.name} through {info.backend}, {info.driver}"
    return Tuned(adapter, str(file_for(info)), found)


def _given(name: str) -> Item:
    return name, called(name, (), "float32", "tune")[0]


def _drawn(*shape: int) -> Tensor:
    return tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def _items(sizes: Iterable[int]) -> Iterator[Item]:
    for n in sizes:
        yield f"matmul {n}", partial(_product, (n, n), (n, n))
    for rows, terms, cols in ((64, 784, 256), (4096, 64, 64), (64, 4096, 64), (1, 4096, 1024)):
        yield f"matmul {rows}x{terms}x{cols}", partial(_product, (rows, terms), (terms, cols))
    square = (512, 512)
    yield "matmul 512, left transposed", partial(_product, square, square, transpose_a=True)
    yield "matmul 512, right transposed", partial(_product, square, square, transpose_b=True)
    yield "matmul 32 of 128x64x128", partial(_product, (32, 128, 64), (32, 64, 128))
    yield "matmul 512, bias, relu", partial(_layer, square, square)
    for window in (1, 3):
        name = f"conv2d {window}x{window} of 8x56x56x64, and its gradients"
        yield name, partial(_convolution, (8, 56, 56, 64), (window, window, 64, 64), 1)
    name = "conv2d 7x7 of 224x224x3, step 2, and its gradients"
    yield name, partial(_convolution, (1, 224, 224, 3), (7, 7, 3, 64), 2)
    yield "sum of 4 M", lambda: reduce.sum(_drawn(2048, 2048))
    yield "sum over rows of 2048", lambda: reduce.sum(_drawn(2048, 2048), axis=0)
    yield "sum over columns of 2048", lambda: reduce.sum(_drawn(2048, 2048), axis=1)
    yield "softmax 1024", lambda: softmax(_drawn(1024, 1024))
    yield "cumulative sum of 1 M", lambda: cumulative_sum(_drawn(1 << 20))
    yield "top 10 of 1024", lambda: topk(_drawn(1024, 1024), 10)


def _product(a: Shape, b: Shape, **transposed: bool) -> Tensor:
    return matmul(_drawn(*a), _drawn(*b), **transposed)


def _layer(a: Shape, b: Shape) -> Tensor:
    return fused_mat_mul(_drawn(*a), _drawn(*b), bias=_drawn(b[1]), activation="relu")


def _convolution(images: Shape, filter: Shape, strides: int) -> Any:
    return value_and_grads(lambda x, w: reduce.sum(conv2d(x, w, strides=strides, pad="same")))(
        _drawn(*images), _drawn(*filter)
    )


def _table(found: list[tuple[str, Measurement]], adapter: str) -> Table:
    table = Table(box=SIMPLE_HEAD, title=adapter, title_justify="left")
    for heading in ("item", "kernel", "variant", "ms", "of the static one's time"):
        table.add_column(heading, justify="right" if heading[0] in "mo" else "left")
    for name, one in found:
        base = one.seconds.get(one.choice.static)
        for variant, seconds in sorted(one.seconds.items(), key=lambda pair: pair[1]):
            marks = [
                word
                for word, is_so in (
                    ("taken", variant == one.chosen),
                    ("static", variant == one.choice.static),
                )
                if is_so
            ]
            shown = f"{variant} ({', '.join(marks)})" if marks else variant
            ratio = f"{seconds / base:.2f}" if base else ""
            table.add_row(name, one.choice.kernel, shown, f"{1e3 * seconds:.3f}", ratio)
            name = ""
    return table
