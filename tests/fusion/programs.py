"""Random programs of maps, views, reductions and products, to be run in any mode of fusion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(6, 8), (8,), (6, 1), (1, 8), (5, 7), (7,), (4, 4, 4), (1,), ()]
UNARY: list[Callable[[Any], Any]] = [
    wk.tanh,
    wk.exp,
    wk.abs,
    wk.square,
    wk.sin,
    lambda x: -x,
    lambda x: wk.leaky_relu(x, alpha=0.3),
    lambda x: wk.clip(x, -1.0, 1.5),
    lambda x: x * 0.5,
    lambda x: 1.0 - x,
    lambda x: wk.astype(wk.astype(x * 4.0, "int32"), "float32"),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    wk.add,
    wk.subtract,
    wk.multiply,
    wk.maximum,
    lambda a, b: a / (abs(b) + 1.0),
    lambda a, b: wk.where(a > b, a, b * 0.5),
    lambda a, b: a * a - b,
]

KINDS = ["unary", "binary", "view", "reduce", "rows", "product", "drop", "read", "assign", "grad"]


@dataclass
class Program:
    """Steps to be replayed: each changes the list of held tensors, or reads one."""

    seed: int
    leaves: list[Any] = field(default_factory=list[Any])

    def run(self) -> list[Any]:
        """Run it once; return all that was read, in order."""
        choose = np.random.default_rng(self.seed)
        held = [wk.tensor(self._values(choose, shape)) for shape in self._shapes(choose)]
        variable = wk.variable(self._values(choose, (6, 8)))
        read: list[Any] = []
        for _ in range(int(choose.integers(10, 40))):
            self._step(choose, held, variable, read)
        read += [one.numpy() for one in held if choose.random() < 0.5]
        return [*read, variable.numpy()]

    def _shapes(self, choose: np.random.Generator) -> list[tuple[int, ...]]:
        return [SHAPES[i] for i in choose.integers(0, len(SHAPES), 6)]

    def _values(self, choose: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return choose.standard_normal(shape).astype(np.float32)

    def _step(
        self, choose: np.random.Generator, held: list[Any], variable: Any, read: list[Any]
    ) -> None:
        kind = choose.choice(
            KINDS,
            p=[0.26, 0.27, 0.11, 0.08, 0.05, 0.04, 0.08, 0.03, 0.04, 0.04],
        )
        one = held[choose.integers(len(held))]
        if kind == "unary":
            held.append(UNARY[choose.integers(len(UNARY))](one))
        elif kind == "binary":
            fits = [two for two in held if _broadcast(one.shape, two.shape)]
            two = fits[choose.integers(len(fits))]
            held.append(BINARY[choose.integers(len(BINARY))](one, two))
        elif kind == "view":
            held.append(self._view(choose, one))
        elif kind == "reduce" and one.ndim:
            axis = int(choose.integers(one.ndim))
            keepdims = bool(choose.integers(2))
            reduce = [wk.sum, wk.mean, wk.max][choose.integers(3)]
            held.append(reduce(one, axis=axis, keepdims=keepdims))
        elif kind == "rows" and one.ndim:
            rows: list[Callable[[Any], Any]] = [
                wk.softmax,
                wk.log_softmax,
                wk.layer_norm,
                lambda x: wk.sum(x) + x,
            ]
            held.append(rows[choose.integers(4)](one))
        elif kind == "product" and one.ndim == 2:
            held.append(wk.matmul(one, wk.permute_dims(one, (1, 0))) * 0.1)
        elif kind == "drop" and len(held) > 3:
            del held[choose.integers(len(held))]
        elif kind == "read":
            read.append(one.numpy())
        elif kind == "assign":
            fits = [two for two in held if two.shape == (6, 8)]
            if fits:
                variable.assign(variable * 0.5 + fits[choose.integers(len(fits))])
            held.append(variable + 0.0)
        elif kind == "grad":
            held.append(wk.grad(lambda x: wk.sum(wk.tanh(x) * x))(one))

    def _view(self, choose: np.random.Generator, one: Any) -> Any:
        which = choose.integers(3)
        if which == 0:
            return wk.reshape(one, (one.size,))
        if which == 1 and one.ndim > 1:
            return wk.permute_dims(one, tuple(reversed(range(one.ndim))))
        if one.ndim and one.shape[0] > 2:
            return one[1:]
        return one


def _broadcast(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    pairs = zip(reversed(one), reversed(two), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)
