"""Recurrent networks: RNN, GRU and LSTM over sequences, both directions, lengths of each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, NumericsError, ShapeError
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode

    Activation = Callable[[Tensor], Tensor]
    State = tuple[Tensor, ...]

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_DEFAULTS = {
    "RNN": ("Tanh",),
    "GRU": ("Sigmoid", "Tanh"),
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
}


def _activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    """Return an activation by ONNX's name, its parameters or their defaults bound.

    Raises:
        ArgumentError: There is none of that name.
    """

    def given(value: float | None, default: float) -> float:
        return default if value is None else value

    table: dict[str, Activation] = {
        "sigmoid": ops.sigmoid,
        "tanh": ops.tanh,
        "relu": ops.relu,
        "softplus": ops.softplus,
        "softsign": lambda x: x / (1.0 + ops.abs(x)),
        "affine": lambda x: given(alpha, 1.0) * x + given(beta, 0.0),
        "leakyrelu": lambda x: ops.leaky_relu(x, alpha=given(alpha, 0.01)),
        "thresholdedrelu": lambda x: ops.where(x > given(alpha, 1.0), x, 0.0),
        "scaledtanh": lambda x: given(alpha, 1.0) * ops.tanh(given(beta, 1.0) * x),
        "hardsigmoid": lambda x: ops.clip(given(alpha, 0.2) * x + given(beta, 0.5), 0.0, 1.0),
        "elu": lambda x: ops.where(x < 0, given(alpha, 1.0) * ops.expm1(x), x),
    }
    if name.lower() not in table:
        raise ArgumentError(f"activation {name!r} is not known; there are {', '.join(table)}.")
    return table[name.lower()]


@dataclass(frozen=True)
class _RecurrentCell:
    """One direction of a network: its weights, and what a step does with them.

    Attributes:
        node: For its attributes.
        hidden: [gates * size, size].
        bias: [gates * size], of the hidden state.
        peephole: [3 * size], of an LSTM, or None.
        activations: In ONNX's order.
    """

    node: OnnxNode
    hidden: Tensor
    bias: Tensor
    peephole: Tensor | None
    activations: tuple[Activation, ...]

    @property
    def size(self) -> int:
        """Elements of the hidden state."""
        return int(self.hidden.shape[-1])

    def _inner(self, gates: Tensor) -> Tensor:
        limit = self.node.attr("clip")
        return gates if limit is None else ops.clip(gates, -limit, limit)

    def rnn(self, given: Tensor, state: State) -> State:
        """Return the next state, of one tensor."""
        gates = given + ops.matmul(state[0], self.hidden, transpose_b=True) + self.bias
        return (self.activations[0](self._inner(gates)),)

    def gru(self, given: Tensor, state: State) -> State:
        """Return the next state, of one tensor; the gates are update, reset, hidden."""
        n, (old,) = self.size, state
        first, second = self.activations
        inner = ops.matmul(old, self.hidden[: 2 * n], transpose_b=True) + self.bias[: 2 * n]
        gates = first(self._inner(given[:, : 2 * n] + inner))
        update, reset = gates[:, :n], gates[:, n:]
        last, offset = self.hidden[2 * n :], self.bias[2 * n :]
        if self.node.attr("linear_before_reset"):
            own = reset * (ops.matmul(old, last, transpose_b=True) + offset)
        else:
            own = ops.matmul(reset * old, last, transpose_b=True) + offset
        new = second(self._inner(given[:, 2 * n :] + own))
        return ((1.0 - update) * new + update * old,)

    def lstm(self, given: Tensor, state: State) -> State:
        """Return the next hidden and cell state; the gates are input, output, forget, cell."""
        n, (old, cell) = self.size, state
        first, second, third = self.activations
        gates = given + ops.matmul(old, self.hidden, transpose_b=True) + self.bias
        enter, leave, forget, new = (gates[:, i * n : (i + 1) * n] for i in range(4))
        peep = (
            None
            if self.peephole is None
            else [self.peephole[i * n : (i + 1) * n] for i in range(3)]
        )
        if peep is not None:
            enter, forget = enter + peep[0] * cell, forget + peep[2] * cell
        keep = (
            1.0 - first(self._inner(enter))
            if self.node.attr("input_forget")
            else first(self._inner(forget))
        )
        cell = keep * cell + first(self._inner(enter)) * second(self._inner(new))
        if peep is not None:
            leave = leave + peep[1] * cell
        return first(self._inner(leave)) * third(cell), cell


def _activations(node: OnnxNode, directions: int) -> list[tuple[Activation, ...]]:
    names = node.attr("activations") or _DEFAULTS[node.op] * directions
    alphas, betas = (list(node.attr(f"activation_{one}") or ()) for one in ("alpha", "beta"))
    takes = {"affine": 2, "scaledtanh": 2, "hardsigmoid": 2}
    takes |= {"leakyrelu": 1, "thresholdedrelu": 1, "elu": 1}
    found = []
    for name in names:
        count = takes.get(name.lower(), 0)
        alpha = alphas.pop(0) if count and alphas else None
        beta = betas.pop(0) if count == 2 and betas else None
        found.append(_activation(name, alpha, beta))
    per = len(found) // directions
    return [tuple(found[i * per : (i + 1) * per]) for i in range(directions)]


@operator("RNN", "GRU", "LSTM")
def recurrent(
    node: OnnxNode,
    x: Tensor,
    weight: Tensor,
    hidden: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    first_hidden: Tensor | None = None,
    first_cell: Tensor | None = None,
    peephole: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return all hidden states, [steps, directions, batch, size], and the last state.

    Source: the operators' own formulas, github.com/onnx/onnx, docs/Operators.md.
    """
    layout = node.attr("layout", 0)
    x = ops.moveaxis(x, 0, 1) if layout else x
    batch, size = x.shape[1], hidden.shape[-1]
    reversals = _DIRECTIONS[node.attr("direction")]
    given = [first_hidden, first_cell][: 2 if node.op == "LSTM" else 1]
    _check_state(node, x, hidden, lengths, given)
    outputs, lasts = [], []
    activations = _activations(node, len(reversals))
    for place, is_reversed in enumerate(reversals):
        gates = hidden.shape[1]
        both = ops.zeros((2 * gates,), x.dtype) if bias is None else bias[place]
        cell = _RecurrentCell(
            node,
            hidden[place],
            both[gates:],
            None if peephole is None else peephole[place],
            activations[place],
        )
        state = tuple(
            ops.zeros((batch, size), x.dtype)
            if one is None
            else (one[:, place] if layout else one[place])
            for one in given
        )
        inputs = ops.matmul(x, weight[place], transpose_b=True) + both[:gates]
        states, last = _steps(cell, inputs, state, lengths, is_reversed=is_reversed)
        outputs.append(states)
        lasts.append(last)
    every = ops.stack(outputs, 1)
    ends = [ops.stack(one, 0) for one in zip(*lasts, strict=True)]
    if layout:
        every = ops.permute_dims(every, (2, 0, 1, 3))
        ends = [ops.moveaxis(one, 0, 1) for one in ends]
    return (every, *ends)[: node.wanted]


def _check_state(
    node: OnnxNode,
    x: Tensor,
    hidden: Tensor,
    lengths: Tensor | None,
    given: Sequence[Tensor | None],
) -> None:
    """Hold first states to the network, and lengths, where numerics are checked, to the sequence.

    Raises:
        ShapeError: A first state has another shape.
        NumericsError: A length is below 0 or beyond the sequence.
    """
    steps, batch = x.shape[:2]
    wanted = [hidden.shape[0], batch, hidden.shape[-1]]
    wanted = [batch, wanted[0], wanted[2]] if node.attr("layout", 0) else wanted
    for name, one in zip(("initial_h", "initial_c"), given, strict=False):
        if one is not None and list(one.shape) != wanted:
            raise ShapeError(
                f"{node.op}: {name} has shape {show(one.shape)}; want {show(tuple(wanted))}."
            )
    if lengths is not None and config.is_on("check_numerics", context.current()):
        wrong = [n for n in lengths.tolist() if not 0 <= n <= steps]
        if wrong:
            raise NumericsError(
                f"{node.op}: sequence_lens has {wrong[0]}; want all from 0 to {steps}."
            )


def _steps(
    cell: _RecurrentCell, inputs: Tensor, state: State, lengths: Tensor | None, *, is_reversed: bool
) -> tuple[Tensor, State]:
    """Return hidden states, [steps, batch, size], and the last state, which a short one keeps."""
    if not inputs.shape[0]:
        return ops.zeros((0, *state[0].shape), inputs.dtype), state
    step = getattr(cell, cell.node.op.lower())
    numbers = ops.arange(inputs.shape[0], dtype="int32")

    def run(old: State, given: Sequence[Tensor]) -> tuple[State, Tensor]:
        new = step(given[0], old)
        if lengths is None:
            return new, new[0]
        goes_on = ops.reshape(given[1] < lengths, (-1, 1))
        kept = tuple(ops.where(goes_on, a, b) for a, b in zip(new, old, strict=True))
        return kept, ops.where(goes_on, new[0], ops.zeros_like(new[0]))

    last, states = ops.scan(run, state, (inputs, numbers), reverse=is_reversed)
    return states, last
