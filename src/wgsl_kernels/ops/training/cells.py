"""Recurrent cells: one step of a network that has a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import function, sequence
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import activation, exponential
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.shapes import joining, slicing

Cell = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""One step of an LSTM: input, cell state and output state to the next two states."""


@public(tfjs="basicLSTMCell")
def basic_lstm_cell(
    forget_bias: TensorLike,
    lstm_kernel: TensorLike,
    lstm_bias: TensorLike,
    data: TensorLike,
    c: TensorLike,
    h: TensorLike,
) -> tuple[Tensor, Tensor]:
    """Return the next states of an LSTM.

    With i, j, f, o the four parts of ``[data, h] @ lstm_kernel + lstm_bias`` it is
    ``c' = sigmoid(f + forget_bias) * c + sigmoid(i) * tanh(j)`` and ``h' = sigmoid(o) * tanh(c')``.

    Args:
        forget_bias: A scalar; 1 keeps the state at first.
        lstm_kernel: [inputs + units, 4 * units].
        lstm_bias: [4 * units].
        data: [batch, inputs].
        c: [batch, units], the cell's state.
        h: [batch, units], its latest output.

    Returns:
        The new ``c`` and ``h``.

    Raises:
        ShapeError: The shapes do not fit each other.

    Example:
        >>> kernel, bias, state = wk.ones((5, 8)), wk.zeros((8,)), wk.zeros((1, 2))
        >>> c, h = basic_lstm_cell(1.0, kernel, bias, wk.ones((1, 3)), state, state)
        >>> c.shape, h.shape
        ((1, 2), (1, 2))

    Source: Zaremba, Sutskever and Vinyals, Recurrent Neural Network Regularization, 2014.
    """
    op = "basic_lstm_cell"
    x, state, output = as_tensor(data), as_tensor(c), as_tensor(h)
    weights, bias = as_tensor(lstm_kernel), as_tensor(lstm_bias)
    units = _units(op, "c", state, x)
    _same(op, "h", output, (x.shape[0], units))
    _same(op, "lstm_kernel", weights, (x.shape[1] + units, 4 * units))
    _same(op, "lstm_bias", bias, (4 * units,))
    gates = matrix.matmul(joining.concat([x, output], axis=1), weights) + bias
    i, j, f, o = slicing.split(gates, 4, axis=1)
    kept = activation.sigmoid(f + forget_bias) * state
    new = kept + activation.sigmoid(i) * exponential.tanh(j)
    return new, activation.sigmoid(o) * exponential.tanh(new)


@public()
def gru_cell(
    gate_kernel: TensorLike,
    gate_bias: TensorLike,
    candidate_kernel: TensorLike,
    candidate_bias: TensorLike,
    data: TensorLike,
    h: TensorLike,
) -> Tensor:
    """Return the next state of a gated recurrent unit.

    With r and u the parts of ``sigmoid([data, h] @ gate_kernel + gate_bias)`` it is
    ``h' = u * h + (1 - u) * tanh([data, r * h] @ candidate_kernel + candidate_bias)``.

    Args:
        gate_kernel: [inputs + units, 2 * units].
        gate_bias: [2 * units].
        candidate_kernel: [inputs + units, units].
        candidate_bias: [units].
        data: [batch, inputs].
        h: [batch, units], the state.

    Raises:
        ShapeError: The shapes do not fit each other.

    Example:
        >>> h = gru_cell(
        ...     wk.ones((5, 4)), wk.zeros((4,)), wk.ones((5, 2)), wk.zeros((2,)),
        ...     wk.ones((1, 3)), wk.zeros((1, 2)),
        ... )
        >>> h.shape
        (1, 2)

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """
    op = "gru_cell"
    x, state = as_tensor(data), as_tensor(h)
    units = _units(op, "h", state, x)
    gates, candidates = as_tensor(gate_kernel), as_tensor(candidate_kernel)
    _same(op, "gate_kernel", gates, (x.shape[1] + units, 2 * units))
    _same(op, "candidate_kernel", candidates, (x.shape[1] + units, units))
    both = activation.sigmoid(matrix.matmul(joining.concat([x, state], axis=1), gates) + gate_bias)
    reset, update = slicing.split(both, 2, axis=1)
    inputs = joining.concat([x, reset * state], axis=1)
    new = exponential.tanh(matrix.matmul(inputs, candidates) + candidate_bias)
    return update * state + (1.0 - update) * new


@public(tfjs="multiRNNCell")
def multi_rnn_cell(
    lstm_cells: Sequence[Cell],
    data: TensorLike,
    c: Sequence[TensorLike],
    h: Sequence[TensorLike],
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the next states of LSTM cells of which each gets the output of the one before.

    Args:
        lstm_cells: Functions ``(data, c, h)`` that return the new ``c`` and ``h``.
        data: [batch, inputs] of the first.
        c: A state for each.
        h: An output for each.

    Raises:
        ArgumentError: There are not as many states as cells.

    Example:
        >>> cells = [lambda data, c, h: (c + data, h + data), lambda data, c, h: (c, h + data)]
        >>> c, h = multi_rnn_cell(cells, 1.0, [1.0, 2.0], [3.0, 4.0])
        >>> [one.item() for one in c + h]
        [2.0, 2.0, 4.0, 8.0]
    """
    op = "multi_rnn_cell"
    cells = sequence(op, "lstm_cells", lstm_cells, "functions")
    states, outputs = sequence(op, "c", c), sequence(op, "h", h)
    for name, given in (("c", states), ("h", outputs)):
        if len(given) != len(cells):
            raise ArgumentError(
                f"{op}: {name} has {len(given)} tensors for {len(cells)} cells; want one each."
            )
    below = as_tensor(data)
    new_states: list[Tensor] = []
    new_outputs: list[Tensor] = []
    for cell, state, output in zip(cells, states, outputs, strict=True):
        step = function(op, "lstm_cells", cell)
        new, below = step(below, as_tensor(state), as_tensor(output))
        new_states.append(new)
        new_outputs.append(below)
    return new_states, new_outputs


def _units(op: str, name: str, state: Tensor, data: Tensor) -> int:
    if data.ndim != 2:
        raise ShapeError(f"{op}: data has shape {show(data.shape)}; want [batch, inputs].")
    if state.ndim != 2 or state.shape[0] != data.shape[0]:
        raise ShapeError(
            f"{op}: {name} has shape {show(state.shape)}; want [{data.shape[0]}, units]."
        )
    return state.shape[1]


def _same(op: str, name: str, given: Tensor, shape: tuple[int, ...]) -> None:
    if given.shape != shape:
        raise ShapeError(f"{op}: {name} has shape {show(given.shape)}; want {show(shape)}.")
