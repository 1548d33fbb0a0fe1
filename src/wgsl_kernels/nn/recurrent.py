"""Recurrent layers: LSTM and GRU over sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.fields import count, shown_by_fields, zeros
from wgsl_kernels.nn.initializers import glorot_uniform, orthogonal
from wgsl_kernels.ops.control import recurrence
from wgsl_kernels.ops.elementwise import activation, exponential, unary
from wgsl_kernels.ops.shapes import creation, joining, slicing

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.random.streams import Generator

    _GRUStep = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(eq=False, repr=False)
class LSTM:
    """A long short-term memory; its gates stand in the order input, forget, cell, output.

    Attributes:
        input_weight: [inputs, 4 * units].
        hidden_weight: [units, 4 * units].
        bias: [4 * units].
        gate: What squashes the gates: ``"sigmoid"``, or ``"hard_sigmoid"``, ``0.2 * x + 0.5`` in
            [0, 1], as of older Keras and TensorFlow.js.
    """

    input_weight: Variable
    hidden_weight: Variable
    bias: Variable
    gate: str = "sigmoid"

    __repr__ = shown_by_fields

    def __call__(
        self, x: TensorLike, state: tuple[Tensor, Tensor] | None = None, *, reverse: bool = False
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs at all steps, and the last state.

        Args:
            x: [batch, steps, inputs].
            state: The output and the cell's state before the first step, each [batch, units];
                zeros, if left out.
            reverse: Whether to begin at the last step.

        Returns:
            [batch, steps, units], and the state after the last step.

        Raises:
            ShapeError: ``x`` or ``state`` has another shape.
        """
        given = _sequences("LSTM", x, self.input_weight)
        units = self.hidden_weight.shape[0]
        first = _states("LSTM", state, 2, (given.shape[0], units), given)
        gates = given @ self.input_weight + self.bias
        squash = _GATES[self.gate]

        def step(
            carry: tuple[Tensor, Tensor], part: Tensor
        ) -> tuple[tuple[Tensor, Tensor], Tensor]:
            h, c = carry
            i, f, g, o = slicing.split(part + h @ self.hidden_weight, 4, axis=-1)
            kept = squash(f) * c
            c = kept + squash(i) * exponential.tanh(g)
            h = squash(o) * exponential.tanh(c)
            return (h, c), h

        last, ys = recurrence.scan(step, first, gates.transpose((1, 0, 2)), reverse=reverse)
        return ys.transpose((1, 0, 2)), last


def lstm(inputs: int, units: int, *, generator: Generator | None = None) -> LSTM:
    """Return a long short-term memory over sequences.

    The forget gate's bias is 1 at first, the others 0.

    Args:
        inputs: Features of each step.
        units: Features of its outputs and of its state.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``inputs`` or ``units`` is below 1.

    Example:
        >>> y, (h, c) = wk.nn.lstm(3, 8)(wk.ones((2, 5, 3)))
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Jozefowicz, Zaremba and
    Sutskever, An Empirical Exploration of Recurrent Network Architectures, 2015, for the bias.
    """
    size, width = count("lstm", "inputs", inputs), count("lstm", "units", units)
    none = creation.zeros(width)
    bias = joining.concat([none, creation.ones(width), none, none])
    return LSTM(*_weights(size, width, 4, generator), variable(bias))


@dataclass(eq=False, repr=False)
class GRU:
    """A gated recurrent unit; its gates stand in the order reset, update, new.

    The reset gate multiplies the product with the hidden weight, bias included, as cuDNN, PyTorch
    and Keras (``reset_after``) have it, unless the layer says otherwise.

    Attributes:
        input_weight: [inputs, 3 * units].
        hidden_weight: [units, 3 * units].
        input_bias: [3 * units].
        hidden_bias: [3 * units].
        gate: What squashes the gates, as of `LSTM`.
        reset_after: Whether the reset gate multiplies the product, or else the state before it, as
            TensorFlow.js and the paper have it.
    """

    input_weight: Variable
    hidden_weight: Variable
    input_bias: Variable
    hidden_bias: Variable
    gate: str = "sigmoid"
    reset_after: bool = True

    __repr__ = shown_by_fields

    def __call__(
        self, x: TensorLike, state: Tensor | None = None, *, reverse: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs at all steps, and the last of them.

        Args:
            x: [batch, steps, inputs].
            state: The output before the first step, [batch, units]; zeros, if left out.
            reverse: Whether to begin at the last step.

        Returns:
            [batch, steps, units], and [batch, units].

        Raises:
            ShapeError: ``x`` or ``state`` has another shape.
        """
        given = _sequences("GRU", x, self.input_weight)
        units = self.hidden_weight.shape[0]
        states = None if state is None else (state,)
        (first,) = _states("GRU", states, 1, (given.shape[0], units), given)
        gates = given @ self.input_weight + self.input_bias
        step = self._step_after() if self.reset_after else self._step_before()
        last, ys = recurrence.scan(step, first, gates.transpose((1, 0, 2)), reverse=reverse)
        return ys.transpose((1, 0, 2)), last

    def _step_after(self) -> _GRUStep:
        """Return a step whose reset gate multiplies the product with the hidden weight."""
        squash = _GATES[self.gate]

        def step(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            reset, update, new = slicing.split(part, 3, axis=-1)
            hidden = slicing.split(h @ self.hidden_weight + self.hidden_bias, 3, axis=-1)
            r, z = squash(reset + hidden[0]), squash(update + hidden[1])
            n = exponential.tanh(new + r * hidden[2])
            h = n + z * (h - n)
            return h, h

        return step

    def _step_before(self) -> _GRUStep:
        """Return a step whose reset gate multiplies the state, before the product."""
        squash, units = _GATES[self.gate], self.hidden_weight.shape[0]
        of_gates, of_new = slicing.split(self.hidden_weight, (2 * units, units), axis=-1)
        gate_bias, new_bias = slicing.split(self.hidden_bias, (2 * units, units))

        def step(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            reset, update, new = slicing.split(part, 3, axis=-1)
            hidden = slicing.split(h @ of_gates + gate_bias, 2, axis=-1)
            r, z = squash(reset + hidden[0]), squash(update + hidden[1])
            n = exponential.tanh(new + (r * h) @ of_new + new_bias)
            h = n + z * (h - n)
            return h, h

        return step


def gru(inputs: int, units: int, *, generator: Generator | None = None) -> GRU:
    """Return a gated recurrent unit over sequences.

    Args:
        inputs: Features of each step.
        units: Features of its outputs.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``inputs`` or ``units`` is below 1.

    Example:
        >>> y, h = wk.nn.gru(3, 8)(wk.ones((2, 5, 3)))
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """
    size, width = count("gru", "inputs", inputs), count("gru", "units", units)
    return GRU(*_weights(size, width, 3, generator), zeros(3 * width), zeros(3 * width))


def hard_sigmoid(x: Tensor) -> Tensor:
    """Return ``0.2 * x + 0.5`` in [0, 1], as of older Keras and TensorFlow.js."""
    return unary.clip(0.2 * x + 0.5, 0.0, 1.0)


_GATES = {"sigmoid": activation.sigmoid, "hard_sigmoid": hard_sigmoid}


def _weights(
    inputs: int, units: int, gates: int, generator: Generator | None
) -> tuple[Variable, Variable]:
    """Return the weights of inputs and of the state: each gate's is orthogonal by itself."""
    weight = glorot_uniform((inputs, gates * units), generator=generator)
    hidden = [orthogonal((units, units), generator=generator) for _ in range(gates)]
    return variable(weight), variable(joining.concat(hidden, axis=1))


def _sequences(layer: str, x: TensorLike, weight: Variable) -> Tensor:
    """Return sequences that fit a layer.

    Raises:
        ShapeError: They do not.
    """
    given = as_floats(x)
    inputs = weight.shape[0]
    if given.ndim != 3 or given.shape[-1] != inputs or not given.shape[1]:
        raise ShapeError(
            f"{layer}: x has shape {show(given.shape)}; want [batch, steps, {inputs}] with a step "
            "or more."
        )
    return given


def _states(
    layer: str,
    state: tuple[Tensor, ...] | None,
    number: int,
    shape: tuple[int, int],
    like: Tensor,
) -> tuple[Tensor, ...]:
    """Return the first states, zeros where none are given.

    Raises:
        ShapeError: They have another shape, or are not so many.
    """
    if state is None:
        return (creation.zeros(shape, dtype=like.dtype),) * number
    given: Any = state
    found = tuple(map(as_floats, given)) if isinstance(given, (tuple, list)) else ()
    if len(found) != number or any(one.shape != shape for one in found):
        shapes = " and ".join(show(one.shape) for one in found) or repr(type(state).__name__)
        raise ShapeError(
            f"{layer}: state has shape {shapes}; want {number} of {show(shape)}, the state that it "
            "returns."
        )
    return found
