"""Gradients of Python functions: grad and its relatives, and the tape that users hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, overload

from wgsl_kernels.engine.autodiff.tape import Tape, recording
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    GradientNotFound,
    ShapeError,
)
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike, next_id, with_values_of
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes, lines_read
from wgsl_kernels.engine.trees.trees import FORMLESS, INPUTS, VARIABLES, Tree
from wgsl_kernels.engine.values.attributes import function, sequence
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from types import TracebackType

P = ParamSpec("P")
Function = Callable[..., Any]
Argnums = int | Sequence[int]


class Derivative(Protocol[P]):
    """What `grad` and its relatives return: takes what the function takes, and ``dy``."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    @overload
    def __call__(self, *args: Any, dy: TensorLike, **kwargs: Any) -> Any: ...


def stop_gradient(x: TensorLike) -> Tensor:
    """Return ``x`` as a constant to every tape."""
    return with_values_of(as_tensor(x))


def grad(f: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Derivative[P]:
    """Return a function of the arguments of ``f`` that computes the gradient of its value.

    The gradients of all elements of the value are summed, weighted with ``dy=`` where it is given.

    Args:
        f: Takes tensors, or models (dicts, lists, tuples, dataclasses and other objects with
            tensors in them, and what optree has registered), and returns a tensor.
        argnums: For which positional argument, or for which of them; the gradient has the form of
            that argument, or is a tuple of these.
        has_aux: Whether ``f`` returns a pair of the value and something to pass on; then the
            function returns a pair of the gradient and that.

    Raises:
        GradientNotFound: The value does not depend on a tensor, or a kernel has no gradient.

    Example:
        >>> slopes = wk.grad(lambda p: wk.sum(p["w"] * p["b"]))({"w": wk.ones(2), "b": 3.0})
        >>> slopes["w"].tolist(), slopes["b"].item()
        ([3.0, 3.0], 2.0)
    """
    function("grad", "f", f)
    places = places_of("grad", argnums)

    def gradient_of(*xs: Any, dy: TensorLike | None = None, **options: Any) -> Any:
        _, aux, found = _of_arguments("grad", f, places, xs, options, dy, has_aux)
        slopes = found[0] if isinstance(argnums, int) else found
        return (slopes, aux) if has_aux else slopes

    return gradient_of


def grads(f: Callable[P, Any]) -> Derivative[P]:
    """Return a function ``(*xs, dy=None)`` that computes the gradient for each of ``xs``.

    Arguments are told apart by their place: one tensor given for two of them has two gradients.

    Example:
        >>> x = wk.tensor([1.0, 2.0])
        >>> da, db = wk.grads(lambda a, b: wk.sum(a * b * b))(x, x)
        >>> da.tolist(), db.tolist()
        ([1.0, 4.0], [2.0, 8.0])
    """
    function("grads", "f", f)

    def gradients_of(
        *xs: TensorLike, dy: TensorLike | None = None, **options: Any
    ) -> tuple[Any, ...]:
        return _of_arguments("grads", f, range(len(xs)), xs, options, dy, False)[2]

    return gradients_of


def value_and_grad(
    f: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False
) -> Derivative[P]:
    """Return a function that computes the value of ``f`` and its gradient, a pair; see `grad`.

    With ``has_aux`` the first of the pair is what ``f`` returns, the value and what it passes on.
    """
    function("value_and_grad", "f", f)
    places = places_of("value_and_grad", argnums)

    def both(*xs: Any, dy: TensorLike | None = None, **options: Any) -> tuple[Any, Any]:
        value, aux, found = _of_arguments("value_and_grad", f, places, xs, options, dy, has_aux)
        slopes = found[0] if isinstance(argnums, int) else found
        return (value, aux) if has_aux else value, slopes

    return both


def value_and_grads(f: Callable[P, Any]) -> Derivative[P]:
    """Return a function ``(*xs, dy=None)`` that computes ``f(*xs)`` and a tuple of gradients."""
    function("value_and_grads", "f", f)

    def both(
        *xs: TensorLike, dy: TensorLike | None = None, **options: Any
    ) -> tuple[Tensor, tuple[Any, ...]]:
        value, _, found = _of_arguments(
            "value_and_grads", f, range(len(xs)), xs, options, dy, False
        )
        return value, found

    return both


@overload
def variable_grads(
    f: Callable[[], Tensor], variables: Iterable[Variable] | None = None
) -> tuple[Tensor, dict[Variable, Tensor]]: ...
@overload
def variable_grads(f: Callable[[], Tensor], variables: Any) -> tuple[Tensor, Any]: ...
def variable_grads(f: Callable[[], Tensor], variables: Any = None) -> tuple[Tensor, Any]:
    """Return ``f()`` and its gradient by variable, for those that it depends on.

    Args:
        f: Takes nothing and returns a scalar.
        variables: Which; without it the trainable ones that ``f`` reads. Of a model the gradients
            have its form, with None for variables that the value does not depend on, or that are
            not trainable, and from the second place on for one that has several.

    Raises:
        ShapeError: ``f()`` is not a scalar.
        GradientNotFound: A kernel on the way has no gradient.
    """
    return gradients_and_lines(f, variables)[:2]


def gradients_and_lines(f: Callable[[], Tensor], variables: Any = None) -> tuple[Tensor, Any, str]:
    """Return what `variable_grads` does, and sentences on why there may be none."""
    function("variable_grads", "f", f)
    tree, chosen = (None, None)
    if variables is not None:
        tree, chosen = variables_in("variable_grads", variables)
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
    read = tape.untrained + lines_read(tape)
    if tree is not None:
        return value, tree.slopes([found.pop(one._id, None) for one in sources]), read
    return value, {one: found[one._id] for one in sources if one._id in found}, read


def variables_in(caller: str, given: Any) -> tuple[Tree | None, list[Variable]]:
    """Return the variables of a model and its form, or those of a plain sequence and None.

    Raises:
        ArgumentError: There is something else than variables.
    """
    is_plain = isinstance(given, FORMLESS)
    if isinstance(given, (list, tuple)):
        is_plain = all(isinstance(one, Tensor) for one in given)
    tree = None if is_plain else Tree(caller, given, VARIABLES)
    found = tree.leaves if tree else sequence(caller, "variables", given, "variables")
    for one in found:
        if not isinstance(one, Variable):
            hint = " Of a model, load it with trainable=True." if isinstance(one, Tensor) else ""
            hint = getattr(one, "_untrained", hint)
            raise ArgumentError(f"{caller}: variables holds {shown(one)}; want variables.{hint}")
    return tree, found


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
        self._end: int | None = None

    def __enter__(self) -> GradientTape:
        self._end = None
        self._block.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._block.leave()
        self._end = next_id()

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
            GradientNotFound: A kernel on the way has no gradient, or ``y`` was computed after the
                tape's block had ended.
        """
        if self._used and not self._persistent:
            raise ArgumentError(
                "GradientTape: gradient() was called before; make the tape persistent=True."
            )
        targets = list(y) if isinstance(y, (list, tuple)) else [y]
        weights = dy if isinstance(dy, (list, tuple)) else [dy] * len(targets)
        if len(weights) != len(targets):
            raise ArgumentError(
                f"gradient: dy has {len(weights)} tensors, y has {len(targets)}; want the same."
            )
        upstream = [
            _upstream("gradient", one, given) for one, given in zip(targets, weights, strict=True)
        ]
        self._check_recorded(targets)
        sources = _listed(xs)
        for one in sources:
            if not isinstance(one, Tensor):
                raise ArgumentError(f"gradient: got {type(one).__name__}; want tensors.")
        self._used = True
        found = self._tape.backward(targets, upstream, [one._id for one in sources])
        if not self._persistent:
            self._tape.stop()
        results = [found.get(one._id) for one in sources]
        if isinstance(xs, Mapping):
            return dict(zip(xs, results, strict=True))
        return results[0] if isinstance(xs, Tensor) else type(xs)(results)

    def _check_recorded(self, targets: Sequence[Tensor]) -> None:
        if self._end is None:
            return
        for one in targets:
            if one._id > self._end:
                raise GradientNotFound(
                    f"gradient: y, of shape {show(one.shape)}, was computed after the tape's block "
                    "had ended, so the tape has no record of it; want it computed inside the block."
                )


def _listed(xs: Any) -> list[Tensor]:
    if isinstance(xs, Tensor):
        return [xs]
    if isinstance(xs, (list, tuple)):
        return list(xs)
    return list(xs.values()) if isinstance(xs, Mapping) else [xs]


def places_of(caller: str, argnums: Argnums) -> tuple[int, ...]:
    """Return the places that ``argnums`` names; anything else is an ArgumentError."""
    found = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not found or any(isinstance(one, bool) or not isinstance(one, int) for one in found):
        raise ArgumentError(f"{caller}: argnums is {shown(argnums)}; want an integer or several.")
    return found


def _of_arguments(
    caller: str,
    f: Function,
    places: Sequence[int],
    xs: tuple[Any, ...],
    options: Mapping[str, Any],
    dy: TensorLike | None,
    has_aux: bool,
) -> tuple[Tensor, Any, tuple[Any, ...]]:
    """Return the value, what is passed on, and the gradients in the form of the arguments."""
    if len(xs) == len(places) and not options and not has_aux and tuple(places) == _in_order(xs):
        value, slopes = _differentiate(caller, f, xs, dy)
        return value, None, slopes
    outside = [place for place in places if not -len(xs) <= place < len(xs)]
    if outside:
        raise ArgumentError(
            f"{caller}: argnums has {outside[0]}, but the function was given {len(xs)} positional "
            "arguments."
        )
    chosen = [place % len(xs) for place in places]
    trees = [Tree(caller, xs[place], INPUTS) for place in chosen]
    aux: list[Any] = []

    def of_leaves(*leaves: Tensor) -> Tensor:
        args, given = list(xs), iter(leaves)
        for place, tree in zip(chosen, trees, strict=True):
            args[place] = tree.filled([next(given) for _ in tree.leaves])
        result = f(*args, **options)
        if not has_aux:
            return result  # type: ignore[no-any-return]  # checked by the caller
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentError(
                f"{caller}: f gave {shown(result)}; want a pair, since has_aux is true."
            )
        aux.append(result[1])
        return result[0]  # type: ignore[no-any-return]  # checked by the caller

    leaves = [leaf for tree in trees for leaf in tree.leaves]
    names = [name for tree in trees for name in tree.names()] if len(leaves) > len(trees) else []
    value, slopes = _differentiate(caller, of_leaves, leaves, dy, names)
    given = iter(slopes)
    found = tuple(tree.slopes([next(given) for _ in tree.leaves]) for tree in trees)
    return value, aux[0] if has_aux else None, found


def _in_order(xs: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the places of arguments that all are tensors: the common case, with no trees."""
    for x in xs:
        if not isinstance(x, Tensor):
            return None
    return _ORDERS[len(xs)] if len(xs) < len(_ORDERS) else tuple(range(len(xs)))


_ORDERS = tuple(tuple(range(count)) for count in range(8))


def _differentiate(
    caller: str,
    f: Function,
    xs: Sequence[TensorLike],
    dy: TensorLike | None,
    names: Sequence[str] = (),
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
    lost = [index for index, x in enumerate(inputs) if x._id not in found]
    if lost:
        which = ", ".join(names[index] if names else str(index) for index in lost)
        raise GradientNotFound(
            f"{caller}: the value does not depend on input {which}, or only through "
            f"integers, comparisons or stop_gradient.{lines_read(tape)}"
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
    if not is_differentiable(x.spec.dtype):
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
