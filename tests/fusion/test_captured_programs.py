"""Any program without a read, captured, gives the same bits at every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.fusion.programs import BINARY, UNARY

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

SHAPE = (5, 6)


class Recurrence:
    """A step from tensors and variables to others, chosen by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.variables: list[wk.Variable] = []
        self.kept: list[wk.Tensor] = []

    def begin(self) -> None:
        """Make the variables and constants anew, as they were at first."""
        values = self.values(self.seed)
        self.variables = [wk.variable(next(values)) for _ in range(2)]
        self.variables.append(wk.variable(np.float32(0.5)))
        self.kept = [wk.tensor(next(values)), wk.tanh(self.variables[0]), wk.tensor(0.25)]
        self.variables[1].assign(self.variables[0] if self.seed % 3 == 0 else next(values))

    def values(self, seed: int) -> Iterator[Any]:
        """Yield values without end."""
        choose = np.random.default_rng(seed)
        while True:
            yield choose.standard_normal(SHAPE).astype(np.float32)

    def step(self, x: wk.Tensor, scale: wk.Tensor) -> list[wk.Tensor]:
        """Run the chosen operations once."""
        choose = np.random.default_rng(self.seed)
        held: list[Any] = [x, x * scale, *self.variables, *self.kept]
        for _ in range(int(choose.integers(5, 25))):
            one, two = (held[choose.integers(len(held))] for _ in range(2))
            kind = choose.integers(8)
            if kind < 2:
                held.append(UNARY[choose.integers(len(UNARY))](one))
            elif kind < 4:
                held.append(BINARY[choose.integers(len(BINARY))](one, two))
            elif kind == 4 and one.ndim == 2:
                held.append(wk.permute_dims(wk.permute_dims(one, (1, 0)) * scale, (1, 0)))
            elif kind == 5 and one.ndim == 2:
                held.append(wk.sum(one, axis=0) if choose.integers(2) else wk.softmax(one))
            elif kind == 6:
                target = self.variables[choose.integers(3)]
                value = one + two * 0.5
                if value.shape == target.shape:
                    target.assign(value)
                held.append(target + 0.0 if choose.integers(2) else wk.stop_gradient(target))
            elif kind == 7:
                held.append(wk.grad(lambda t: wk.sum(wk.sin(t) * t))(one))
            if len(held) > 12:
                del held[choose.integers(2, len(held))]
        return [*held[-3:], held[0]]

    def history(self, step: Any) -> list[bytes]:
        """Return the bytes of all results and variables of some steps."""
        self.begin()
        inputs = self.values(self.seed + 1)
        results: list[list[wk.Tensor]] = []
        found: list[bytes] = []
        for number in range(5):
            if number == 3:
                self.variables[2].assign(0.125)
                self.variables[0].assign(next(inputs))
            results.append(step(wk.tensor(next(inputs)), wk.tensor(1.0 + number)))
            found += [one.numpy().tobytes() for one in self.variables]
        return found + [one.numpy().tobytes() for several in results for one in several]


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("seed", range(24))
def test_a_captured_program_gives_the_same_bits(seed: int) -> None:
    program = Recurrence(seed)
    with wk.use_backend("webgpu"), wk.config.using(fusion=["auto", "never", "always"][seed % 3]):
        expected = program.history(program.step)
        fast = wk.capture(program.step)
        assert program.history(fast) == expected
        assert fast.why is None
        assert program.history(program.step) == expected
