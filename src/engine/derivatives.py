"""Products with Jacobians and Hessians, and whole ones: made of the tape, run once or twice back.

The products along tangents are the gradient of a gradient: the latter is linear in the upstream
gradient, so its gradient for that, weighed by a tangent, is the forward derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.attributes import function
from wgsl_kernels.engine.autodiff import GradientTape
from wgsl_kernels.engine.dtypes import is_differentiable
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.run import run, run_many
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.engine.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.spec import Shape

Function = Callable[..., Any]


def vjp(f: Function, *primals: TensorLike) -> tuple[Any, Callable[..., tuple[Tensor, ...]]]:
    """Return ``f(*primals)`` and a function from upstream gradients to gradients.

    That function takes what ``f`` returns, a tensor or a tuple or list of them, in gradients, and
    returns one for each primal, zeros for one that the value does not depend on. It may be called
    as often as wanted.

    Raises:
        DTypeError: A primal is no float.
        ArgumentError: ``f`` gives other things than tensors.

    Example:
        >>> y, back = vjp(lambda a, b: a * b, tensor([2.0, 3.0]), tensor([5.0, 7.0]))
        >>> [one.tolist() for one in back(tensor([1.0, 10.0]))]
        [[5.0, 70.0], [2.0, 30.0]]
    """
    function("vjp", "f", f)
    inputs = _inputs("vjp", primals)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(inputs)
        value = f(*inputs)
    outputs = _outputs("vjp", value)

    def back(dy: Any) -> tuple[Tensor, ...]:
        upstream = _alike("vjp", "dy", dy if _is_several(value) else (dy,), outputs)
        return _or_zeros(tape.gradient(outputs, inputs, upstream), inputs)

    return value, back


def jvp(f: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return ``f(*primals)`` and how it changes along ``tangents``: forward mode, by reverse twice.

    Args:
        f: Takes tensors and returns a tensor, or a tuple or list of them.
        primals: A list or tuple of tensors, or one tensor.
        tangents: As many of the same shapes.

    Returns:
        The value, and its derivative in the same form.

    Raises:
        DTypeError: A primal is no float.
        ShapeError: A tangent has another shape than its primal.
        ArgumentError: There are not as many, or ``f`` gives other things than tensors.
        GradientNotFound: A kernel, or its gradient, has none.

    Example:
        >>> y, dy = jvp(lambda x: x * x, tensor([3.0]), tensor([0.5]))
        >>> y.tolist(), dy.tolist()
        ([9.0], [3.0])

    Source: Townsend, A New Trick for Calculating Jacobian Vector Products, 2017.
    """
    function("jvp", "f", f)
    inputs = _inputs("jvp", primals if _is_several(primals) else (primals,))
    directions = _alike(
        "jvp", "tangents", tangents if _is_several(tangents) else (tangents,), inputs
    )
    with GradientTape() as outer:
        inner = GradientTape(persistent=True)
        with inner:
            inner.watch(inputs)
            value = f(*inputs)
        outputs = _outputs("jvp", value)
        flowing = [index for index, one in enumerate(outputs) if is_differentiable(one.dtype)]
        upstream = [run("ZerosLike", outputs[index]) for index in flowing]
        outer.watch(upstream)
        slopes = inner.gradient([outputs[index] for index in flowing], inputs, upstream)
    pairs = [(s, t) for s, t in zip(slopes, directions, strict=True) if s is not None]
    found: list[Any] = [None] * len(flowing)
    if pairs:
        found = outer.gradient([s for s, _ in pairs], upstream, [t for _, t in pairs])
    changes = [run("ZerosLike", one) for one in outputs]
    for index, one in zip(flowing, found, strict=True):
        changes[index] = changes[index] if one is None else one
    return value, type(value)(changes) if _is_several(value) else changes[0]


def hvp(f: Function, primals: Any, tangents: Any) -> Any:
    """Return the Hessian of ``f`` times ``tangents``: how its gradient changes along them.

    Args:
        f: Takes tensors and returns a tensor, whose elements are summed.
        primals: A list or tuple of tensors, or one tensor.
        tangents: As many of the same shapes.

    Returns:
        A tuple of tensors of the primals' shapes; one tensor for one.

    Raises:
        DTypeError: A primal is no float.
        ShapeError: A tangent has another shape than its primal.
        ArgumentError: There are not as many, or ``f`` gives no tensor.
        GradientNotFound: A kernel, or its gradient, has none.

    Example:
        >>> hvp(lambda x: x**3.0, tensor([1.0, 2.0]), tensor([1.0, 10.0])).tolist()
        [6.0, 120.0]
    """
    function("hvp", "f", f)
    inputs = _inputs("hvp", primals if _is_several(primals) else (primals,))
    directions = _alike(
        "hvp", "tangents", tangents if _is_several(tangents) else (tangents,), inputs
    )
    found = _slopes_along("hvp", f, inputs, [directions])[0]
    return found if _is_several(primals) else found[0]


def jacobian(f: Function) -> Callable[[TensorLike], Tensor]:
    """Return a function from ``x`` to the derivatives of every element of ``f(x)``.

    They have the shape of ``f(x)`` and then that of ``x``. The graph is recorded once and walked
    back once for each element of ``f(x)``.

    Example:
        >>> jacobian(lambda x: x * x)(tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    function("jacobian", "f", f)

    def jacobian_of(x: TensorLike) -> Tensor:
        value, back = vjp(f, x)
        if not isinstance(value, Tensor):
            raise ArgumentError(f"jacobian: f gave {shown(value)}; want a tensor.")
        rows = [back(one)[0] for one in _units(value)]
        return _stacked(rows, value, as_tensor(x))

    return jacobian_of


def hessian(f: Function) -> Callable[[TensorLike], Tensor]:
    """Return a function from ``x`` to the second derivatives of ``f``, whose elements are summed.

    They have the shape of ``x`` twice. The gradient is recorded once and walked back once for each
    element of ``x``.

    Example:
        >>> hessian(lambda x: wk.prod(x))(tensor([2.0, 3.0])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    function("hessian", "f", f)

    def hessian_of(x: TensorLike) -> Tensor:
        inputs = _inputs("hessian", (x,))
        directions = [[one] for one in _units(inputs[0])]
        rows = [row for (row,) in _slopes_along("hessian", f, inputs, directions)]
        return _stacked(rows, inputs[0], inputs[0])

    return hessian_of


def _slopes_along(
    op: str, f: Function, inputs: list[Tensor], directions: Sequence[Sequence[Tensor]]
) -> list[tuple[Tensor, ...]]:
    """Return for each direction how the gradient of ``f`` changes along it."""
    outer = GradientTape(persistent=True)
    with outer:
        outer.watch(inputs)
        inner = GradientTape()
        with inner:
            inner.watch(inputs)
            value = f(*inputs)
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{op}: f gave {shown(value)}; want a tensor.")
        slopes = inner.gradient(value, inputs)
    used = [index for index, one in enumerate(slopes) if one is not None]
    sloping = [slopes[index] for index in used]
    return [
        _or_zeros(
            outer.gradient(sloping, inputs, [along[index] for index in used])
            if used
            else [None] * len(inputs),
            inputs,
        )
        for along in directions
    ]


def _inputs(op: str, primals: Sequence[Any]) -> list[Tensor]:
    """Return the primals as tensors of their own, so that one given twice counts as two."""
    found: list[Tensor] = []
    for one in primals:
        given = as_tensor(one)
        if not is_differentiable(given.dtype):
            raise DTypeError(f"{op}: no gradient flows through dtype {given.dtype}; want a float.")
        is_known = any(given._id == other._id for other in found)
        found.append(run("Identity", given) if is_known else given)
    return found


def _outputs(op: str, value: Any) -> list[Tensor]:
    outputs = list(value) if _is_several(value) else [value]
    for one in outputs:
        if not isinstance(one, Tensor):
            raise ArgumentError(f"{op}: f gave {shown(one)}; want a tensor, or a tuple of them.")
    return outputs


def _alike(op: str, name: str, given: Any, like: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors of the shapes and dtypes of others."""
    if not _is_several(given) or len(given) != len(like):
        raise ArgumentError(f"{op}: {name} is {shown(given)}; want {len(like)} tensors.")
    found: list[Tensor] = []
    for value, other in zip(given, like, strict=True):
        one = value if isinstance(value, Tensor) else as_tensor(value, dtype=other.dtype)
        if one.shape != other.shape:
            raise ShapeError(
                f"{op}: one of {name} has shape {show(one.shape)}; want {show(other.shape)}."
            )
        found.append(one)
    return found


def _or_zeros(found: Sequence[Tensor | None], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(
        run("ZerosLike", other) if one is None else one
        for one, other in zip(found, like, strict=True)
    )


def _units(x: Tensor) -> list[Tensor]:
    """Return a tensor for each element of ``x``: 1 there and 0 elsewhere."""
    places = run("Range", start=0, stop=x.size, step=1, dtype="int32")
    rows = run("OneHot", places, depth=x.size, on_value=1, off_value=0, dtype=x.dtype)
    return [run("Reshape", one, shape=x.shape) for one in run_many("Unpack", rows, axis=0)]


def _stacked(rows: list[Tensor], first: Tensor, second: Tensor) -> Tensor:
    shape: Shape = (*first.shape, *second.shape)
    if not rows:
        return run("Fill", shape=shape, value=0.0, dtype=second.dtype)
    return run("Reshape", run("Pack", rows, axis=0), shape=shape)


def _is_several(value: Any) -> bool:
    return type(value) in (list, tuple)
