"""Recurrent layers: LSTM and GRU over sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args, overload

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.fields import count, made_by, shown_by_fields, zeros
from wgsl_kernels.nn.initializers import glorot_uniform, orthogonal
from wgsl_kernels.ops.control import recurrence
from wgsl_kernels.ops.elementwise import activation, exponential, unary
from wgsl_kernels.ops.shapes import creation, joining, slicing
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import typing_extensions

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.nn.initializers import Initializer
    from wgsl_kernels.ops.random.streams import Generator

    _GRUStep = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
    LSTMResult = typing_extensions.TypeVar(
        "LSTMResult", default=tuple[Tensor, tuple[Tensor, Tensor]]
    )
    GRUResult = typing_extensions.TypeVar("GRUResult", default=tuple[Tensor, Tensor])
else:
    LSTMResult, GRUResult = TypeVar("LSTMResult"), TypeVar("GRUResult")

Returns: TypeAlias = Literal["both", "outputs", "last"]
"""What a recurrent layer gives: outputs at all steps and the state, or one of the outputs."""


@made_by("lstm")
@dataclass(eq=False, repr=False)
class LSTM(Generic[LSTMResult]):
    """A long short-term memory; its gates stand in the order input, forget, cell, output.

    Attributes:
        input_weight: [inputs, 4 * units].
        hidden_weight: [units, 4 * units].
        bias: [4 * units], or None.
        gate: What squashes the gates: ``"sigmoid"``, or ``"hard_sigmoid"``, ``0.2 * x + 0.5`` in
            [0, 1], as of older Keras and TensorFlow.js.
        returns: What it gives: ``"both"``, the outputs at all steps and the last state;
            ``"outputs"``; or ``"last"``, the output of the last step that it takes.
    """

    input_weight: Variable
    hidden_weight: Variable
    bias: Variable | None
    gate: str = "sigmoid"
    returns: Returns = "both"

    __repr__ = shown_by_fields

    def __call__(
        self, x: TensorLike, state: tuple[Tensor, Tensor] | None = None, *, reverse: bool = False
    ) -> LSTMResult:
        """Return the outputs at all steps, and the last state, or what ``returns`` says.

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
        gates = _plus(given @ self.input_weight, self.bias)
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
        result: LSTMResult = _result(self.returns, ys, last, last[0])
        return result


@overload
def lstm(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Literal["both"] = "both",
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> LSTM: ...
@overload
def lstm(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Literal["outputs", "last"],
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> LSTM[Tensor]: ...
def lstm(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Returns = "both",
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> LSTM[Any]:
    """Return a long short-term memory over sequences.

    The forget gate's bias is 1 at first, the others 0. The weights of the state are orthogonal,
    gate by gate.

    Args:
        inputs: Features of each step.
        units: Features of its outputs and of its state.
        bias: Whether the gates have one.
        returns: What it gives: ``"both"``, the outputs at all steps and the last state;
            ``"outputs"``, as the next layer of `sequential` wants; or ``"last"``, the output of the
            last step that it takes.
        initializer: Gives the first values of the inputs' weights, of a shape and the keyword
            ``generator``; `glorot_uniform`, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``inputs`` or ``units`` is below 1, or ``returns`` is none of these.

    Example:
        >>> y, (h, c) = wk.nn.lstm(3, 8)(wk.ones((2, 5, 3)))
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Jozefowicz, Zaremba and
    Sutskever, An Empirical Exploration of Recurrent Network Architectures, 2015, for the bias.
    """
    size, width = count("lstm", "inputs", inputs), count("lstm", "units", units)
    _check_returns("lstm", returns)
    weights = _weights(size, width, 4, initializer, generator)
    none = creation.zeros(width)
    first = variable(joining.concat([none, creation.ones(width), none, none])) if bias else None
    return LSTM(*weights, first, returns=returns)


@made_by("gru")
@dataclass(eq=False, repr=False)
class GRU(Generic[GRUResult]):
    """A gated recurrent unit; its gates stand in the order reset, update, new.

    The reset gate multiplies the product with the hidden weight, bias included, as cuDNN, PyTorch
    and Keras (``reset_after``) have it, unless the layer says otherwise.

    Attributes:
        input_weight: [inputs, 3 * units].
        hidden_weight: [units, 3 * units].
        input_bias: [3 * units], or None.
        hidden_bias: [3 * units], or None.
        gate: What squashes the gates, as of `LSTM`.
        reset_after: Whether the reset gate multiplies the product, or else the state before it, as
            TensorFlow.js and the paper have it.
        returns: What it gives, as of `LSTM`.
    """

    input_weight: Variable
    hidden_weight: Variable
    input_bias: Variable | None
    hidden_bias: Variable | None
    gate: str = "sigmoid"
    reset_after: bool = True
    returns: Returns = "both"

    __repr__ = shown_by_fields

    def __call__(
        self, x: TensorLike, state: Tensor | None = None, *, reverse: bool = False
    ) -> GRUResult:
        """Return the outputs at all steps, and the last of them, or what ``returns`` says.

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
        gates = _plus(given @ self.input_weight, self.input_bias)
        step = self._step_after() if self.reset_after else self._step_before()
        last, ys = recurrence.scan(step, first, gates.transpose((1, 0, 2)), reverse=reverse)
        result: GRUResult = _result(self.returns, ys, last, last)
        return result

    def _step_after(self) -> _GRUStep:
        """Return a step whose reset gate multiplies the product with the hidden weight."""
        squash = _GATES[self.gate]

        def step(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            reset, update, new = slicing.split(part, 3, axis=-1)
            hidden = slicing.split(_plus(h @ self.hidden_weight, self.hidden_bias), 3, axis=-1)
            r, z = squash(reset + hidden[0]), squash(update + hidden[1])
            n = exponential.tanh(new + r * hidden[2])
            h = n + z * (h - n)
            return h, h

        return step

    def _step_before(self) -> _GRUStep:
        """Return a step whose reset gate multiplies the state, before the product."""
        squash, units = _GATES[self.gate], self.hidden_weight.shape[0]
        of_gates, of_new = slicing.split(self.hidden_weight, (2 * units, units), axis=-1)
        gate_bias: Tensor | None = None
        new_bias: Tensor | None = None
        if self.hidden_bias is not None:
            gate_bias, new_bias = slicing.split(self.hidden_bias, (2 * units, units))

        def step(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            reset, update, new = slicing.split(part, 3, axis=-1)
            hidden = slicing.split(_plus(h @ of_gates, gate_bias), 2, axis=-1)
            r, z = squash(reset + hidden[0]), squash(update + hidden[1])
            n = exponential.tanh(_plus(new + (r * h) @ of_new, new_bias))
            h = n + z * (h - n)
            return h, h

        return step


@overload
def gru(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Literal["both"] = "both",
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> GRU: ...
@overload
def gru(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Literal["outputs", "last"],
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> GRU[Tensor]: ...
def gru(
    inputs: int,
    units: int,
    *,
    bias: bool = True,
    returns: Returns = "both",
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> GRU[Any]:
    """Return a gated recurrent unit over sequences.

    The weights of the state are orthogonal at first, gate by gate, the biases 0.

    Args:
        inputs: Features of each step.
        units: Features of its outputs.
        bias: Whether the gates have biases, of the inputs and of the state.
        returns: What it gives, as of `lstm`.
        initializer: Gives the first values of the inputs' weights, of a shape and the keyword
            ``generator``; `glorot_uniform`, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``inputs`` or ``units`` is below 1, or ``returns`` is none of these.

    Example:
        >>> y, h = wk.nn.gru(3, 8)(wk.ones((2, 5, 3)))
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))
        >>> wk.nn.gru(3, 8, returns="last")(wk.ones((2, 5, 3))).shape
        (2, 8)

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.
    """
    size, width = count("gru", "inputs", inputs), count("gru", "units", units)
    _check_returns("gru", returns)
    weights = _weights(size, width, 3, initializer, generator)
    of_inputs, of_state = (zeros(3 * width) if bias else None for _ in range(2))
    return GRU(*weights, of_inputs, of_state, returns=returns)


def hard_sigmoid(x: Tensor) -> Tensor:
    """Return ``0.2 * x + 0.5`` in [0, 1], as of older Keras and TensorFlow.js."""
    return unary.clip(0.2 * x + 0.5, 0.0, 1.0)


_GATES = {"sigmoid": activation.sigmoid, "hard_sigmoid": hard_sigmoid}


def _weights(
    inputs: int,
    units: int,
    gates: int,
    initializer: Initializer | None,
    generator: Generator | None,
) -> tuple[Variable, Variable]:
    """Return the weights of inputs and of the state: each gate's is orthogonal by itself."""
    weight = (initializer or glorot_uniform)((inputs, gates * units), generator=generator)
    hidden = [orthogonal((units, units), generator=generator) for _ in range(gates)]
    return variable(weight), variable(joining.concat(hidden, axis=1))


def _plus(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias


def _check_returns(layer: str, returns: Any) -> None:
    if returns not in get_args(Returns):
        raise ArgumentError(
            f"{layer}: returns is {shown(returns)}; want 'both', 'outputs' or 'last'."
        )


def _result(returns: Returns, ys: Tensor, state: Any, last: Tensor) -> Any:
    """Return outputs [steps, batch, units] and a state, or one of the outputs."""
    if returns == "last":
        return last
    outputs = ys.transpose((1, 0, 2))
    return outputs if returns == "outputs" else (outputs, state)


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
