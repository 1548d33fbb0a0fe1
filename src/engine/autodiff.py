"""Gradients of Python functions: grad and its relatives, and the tape that users hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.attributes import function, sequence
from wgsl_kernels.engine.dtypes import is_differentiable
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, GradientNotFound, ShapeError
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tape import Tape, hidden_from_tapes, recording
from wgsl_kernels.engine.tensor import Tensor, TensorLike, Variable, as_tensor, made
from wgsl_kernels.engine.words import shown

if TYPE_CHECKING:
    from types import TracebackType

Function = Callable[..., Any]


def stop_gradient(x: TensorLike) -> Tensor:
    """Return ``x`` as a constant to every tape."""
    given = as_tensor(x)
    return made(Tensor(given.spec, given._array_on(given._driver), given._driver))


def grad(f: Function) -> Function:
    """Return a function ``(x, dy=None)`` that computes the gradient of ``f`` at ``x``.

    Without ``dy`` the gradients of all elements of ``f(x)`` are summed.

    Raises:
        GradientNotFound: ``f(x)`` does not depend on ``x``, or a kernel has no gradient.
    """
    function("grad", "f", f)

    def gradient_of(x: TensorLike, dy: TensorLike | None = None) -> Tensor:
        return _differentiate("grad", f, (x,), dy)[1][0]

    return gradient_of


def grads(f: Function) -> Function:
    """Return a function ``(*xs, dy=None)`` that computes the gradient for each of ``xs``.

    Arguments are told apart by their place: one tensor given for two of them has two gradients.

    Example:
        >>> x = wk.tensor([1.0, 2.0])
        >>> da, db = wk.grads(lambda a, b: wk.sum(a * b * b))(x, x)
        >>> da.tolist(), db.tolist()
        ([1.0, 4.0], [2.0, 8.0])
    """
    function("grads", "f", f)

    def gradients_of(*xs: TensorLike, dy: TensorLike | None = None) -> tuple[Tensor, ...]:
        return _differentiate("grads", f, xs, dy)[1]

    return gradients_of


def value_and_grad(f: Function) -> Function:
    """Return a function ``(x, dy=None)`` that computes ``f(x)`` and its gradient."""
    function("value_and_grad", "f", f)

    def both(x: TensorLike, dy: TensorLike | None = None) -> tuple[Tensor, Tensor]:
        value, found = _differentiate("value_and_grad", f, (x,), dy)
        return value, found[0]

    return both


def value_and_grads(f: Function) -> Function:
    """Return a function ``(*xs, dy=None)`` that computes ``f(*xs)`` and a tuple of gradients."""
    function("value_and_grads", "f", f)

    def both(*xs: TensorLike, dy: TensorLike | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        return _differentiate("value_and_grads", f, xs, dy)

    return both


def variable_grads(
    f: Callable[[], Tensor], variables: Iterable[Variable] | None = None
) -> tuple[Tensor, dict[Variable, Tensor]]:
    """Return ``f()`` and its gradient by variable, for those that it depends on.

    Args:
        f: Takes nothing and returns a scalar.
        variables: Which; without it the trainable ones that ``f`` reads.

    Raises:
        ShapeError: ``f()`` is not a scalar.
        GradientNotFound: A kernel on the way has no gradient.
    """
    function("variable_grads", "f", f)
    chosen = None if variables is None else _variables(variables)
    tape = Tape(watch_variables=chosen is None)
    with recording(tape):
        for one in chosen or ():
            tape.watch(one)
        value = f()
    _check_value("variable_grads", value)
    if value.size != 1:
        raise ShapeError(f"variable_grads: f gave shape {show(value.shape)}; want a scalar.")
    sources = list(tape.variables.values()) if chosen is None else chosen
    found = tape.backward([value], [_ones_like(value)], [one._id for one in sources])
    return value, {one: found[one._id] for one in sources if one._id in found}


def _variables(variables: Any) -> list[Variable]:
    found = sequence("variable_grads", "variables", variables, "variables")
    for one in found:
        if not isinstance(one, Variable):
            raise ArgumentError(f"variable_grads: variables holds {shown(one)}; want variables.")
    return found


class GradientTape:
    """Records what runs in its `with` block and computes gradients of it.

    Trainable variables are watched when read; other tensors by `watch`.

    Args:
        persistent: Whether `gradient` may be called more than once.
    """

    def __init__(self, persistent: bool = False) -> None:
        self._tape = Tape()
        self._persistent = persistent
        self._used = False
        self._block = recording(self._tape)

    def __enter__(self) -> GradientTape:
        self._block.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._block.leave()

    def watch(self, tensors: Any) -> None:
        """Record what depends on a tensor, or each in a list, from now on.

        Raises:
            DTypeError: No gradient flows through its dtype.
        """
        for one in tensors if isinstance(tensors, (list, tuple)) else (tensors,):
            _check_source("watch", one)
            self._tape.watch(one)

    def gradient(self, y: Any, xs: Any, dy: Any = None) -> Any:
        """Return the gradient of ``y`` for ``xs``, None where ``y`` does not depend on one.

        Args:
            y: A tensor or a list of them; several are summed over.
            xs: A tensor, or a list or tuple or mapping of them; the result has the same form.
            dy: The upstream gradients, in the form of ``y``; without it ones.

        Raises:
            ArgumentError: The tape is not persistent and was asked before.
            GradientNotFound: A kernel on the way has no gradient.
        """
        if self._used and not self._persistent:
            raise ArgumentError(
                "GradientTape: gradient() was called before; make the tape persistent=True."
            )
        self._used = True
        targets = list(y) if isinstance(y, (list, tuple)) else [y]
        weights = dy if isinstance(dy, (list, tuple)) else [dy] * len(targets)
        if len(weights) != len(targets):
            raise ArgumentError(
                f"gradient: dy has {len(weights)} tensors, y has {len(targets)}; want the same."
            )
        upstream = [
            _upstream("gradient", one, given) for one, given in zip(targets, weights, strict=True)
        ]
        sources = _listed(xs)
        for one in sources:
            if not isinstance(one, Tensor):
                raise ArgumentError(f"gradient: got {type(one).__name__}; want tensors.")
        found = self._tape.backward(targets, upstream, [one._id for one in sources])
        if not self._persistent:
            self._tape.stop()
        results = [found.get(one._id) for one in sources]
        if isinstance(xs, Mapping):
            return dict(zip(xs, results, strict=True))
        return results[0] if isinstance(xs, Tensor) else type(xs)(results)


def _listed(xs: Any) -> list[Tensor]:
    if isinstance(xs, Tensor):
        return [xs]
    if isinstance(xs, (list, tuple)):
        return list(xs)
    return list(xs.values()) if isinstance(xs, Mapping) else [xs]


def _differentiate(
    caller: str, f: Function, xs: Sequence[TensorLike], dy: TensorLike | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    inputs = [as_tensor(x) for x in xs]
    for x in inputs:
        _check_source(caller, x)
    inputs = _distinct(inputs)
    tape = Tape()
    with recording(tape):
        for x in inputs:
            tape.watch(x)
        value = f(*inputs)
    _check_value(caller, value)
    upstream = _upstream(caller, value, dy)
    found = tape.backward([value], [upstream], [x._id for x in inputs])
    lost = [str(index) for index, x in enumerate(inputs) if x._id not in found]
    if lost:
        raise GradientNotFound(
            f"{caller}: the value does not depend on input {', '.join(lost)}, or only through "
            "integers, comparisons or stop_gradient."
        )
    return value, tuple(found[x._id] for x in inputs)


def _distinct(inputs: list[Tensor]) -> list[Tensor]:
    """Return the inputs, each tensor that was given before replaced by one of the same values.

    A tape tells tensors apart by their ids. The op that makes the other is one that tapes around
    record, so that gradients of higher order come back to the tensor that was given.
    """
    ids = {x._id for x in inputs}
    if len(ids) == len(inputs):
        return inputs
    found: list[Tensor] = []
    for x in inputs:
        found.append(x if x._id in ids else run("Identity", x))
        ids.discard(x._id)
    return found


def _check_value(caller: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{caller}: f gave {shown(value)}; want a tensor.")


def _check_source(caller: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{caller}: got {type(x).__name__}; want a tensor.")
    if not is_differentiable(x.dtype):
        raise DTypeError(f"{caller}: no gradient flows through dtype {x.dtype}; want a float.")


def _upstream(caller: str, y: Any, dy: TensorLike | None) -> Tensor:
    if not isinstance(y, Tensor):
        raise ArgumentError(f"{caller}: got {type(y).__name__}; want a tensor.")
    if dy is None:
        return _ones_like(y)
    given = as_tensor(dy) if isinstance(dy, Tensor) else as_tensor(dy, dtype=y.dtype)
    if given.shape != y.shape:
        raise ShapeError(
            f"{caller}: dy has shape {show(given.shape)}, the value {show(y.shape)}; want the same."
        )
    return given


def _ones_like(y: Tensor) -> Tensor:
    with hidden_from_tapes():
        return run("OnesLike", y)
