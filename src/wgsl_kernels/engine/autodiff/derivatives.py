"""Products with Jacobians and Hessians, and whole ones: made of the tape, run once or twice back.

The products along tangents are the gradient of a gradient: the latter is linear in the upstream
gradient, so its gradient for that, weighed by a tangent, is the forward derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.autodiff import Argnums, GradientTape, places_of
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import INPUTS, OUTPUTS, Tree
from wgsl_kernels.engine.values.attributes import function
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape

Function = Callable[..., Any]


def vjp(f: Function, *primals: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """Return ``f(*primals)`` and a function from upstream gradients to gradients.

    That function takes gradients in the form of what ``f`` returns, and returns one for each
    primal in its form, zeros for one that the value does not depend on. It may be called as often
    as wanted.

    Args:
        f: Takes tensors, or trees of them, and returns a tensor or a tree of them.
        primals: Its arguments: tensors, or models with tensors in them, as `grad` takes them.

    Raises:
        DTypeError: A primal is no float.
        ArgumentError: ``f`` gives other things than tensors.

    Example:
        >>> y, back = vjp(lambda a, b: a * b, tensor([2.0, 3.0]), tensor([5.0, 7.0]))
        >>> [one.tolist() for one in back(tensor([1.0, 10.0]))]
        [[5.0, 70.0], [2.0, 30.0]]
    """
    function("vjp", "f", f)
    given = _Arguments("vjp", primals)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(given.inputs)
        value = f(*given.filled(given.inputs))
    outputs = _OutputTree("vjp", value)

    def back(dy: Any) -> tuple[Any, ...]:
        upstream = _alike("vjp", "dy", outputs.tree, dy, outputs.tensors)
        found = tape.gradient(outputs.tensors, given.inputs, upstream)
        return given.slopes(_or_zeros(found, given.inputs))

    return value, back


def jvp(f: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return ``f(*primals)`` and how it changes along ``tangents``: forward mode, by reverse twice.

    Args:
        f: Takes tensors, or trees of them, and returns a tensor or a tree of them.
        primals: A list or tuple of its arguments, or one argument.
        tangents: The same of the same shapes.

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
    given = _Arguments("jvp", primals if _is_several(primals) else (primals,))
    directions = given.alike("tangents", tangents if _is_several(tangents) else (tangents,))
    with GradientTape() as outer:
        inner = GradientTape(persistent=True)
        with inner:
            inner.watch(given.inputs)
            value = f(*given.filled(given.inputs))
        outputs = _OutputTree("jvp", value)
        values = outputs.tensors
        flowing = [index for index, one in enumerate(values) if is_differentiable(one.dtype)]
        upstream = [run("ZerosLike", values[index]) for index in flowing]
        outer.watch(upstream)
        slopes = inner.gradient([values[index] for index in flowing], given.inputs, upstream)
    pairs = [(s, t) for s, t in zip(slopes, directions, strict=True) if s is not None]
    found: list[Any] = [None] * len(flowing)
    if pairs:
        found = outer.gradient([s for s, _ in pairs], upstream, [t for _, t in pairs])
    changes = [run("ZerosLike", one) for one in values]
    for index, one in zip(flowing, found, strict=True):
        changes[index] = changes[index] if one is None else one
    return value, outputs.tree.filled(changes)


def hvp(f: Function, primals: Any, tangents: Any) -> Any:
    """Return the Hessian of ``f`` times ``tangents``: how its gradient changes along them.

    Args:
        f: Takes tensors, or trees of them, and returns a tensor, whose elements are summed.
        primals: A list or tuple of its arguments, or one argument.
        tangents: The same of the same shapes.

    Returns:
        A tuple in the form of the primals; of one argument its form alone.

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
    given = _Arguments("hvp", primals if _is_several(primals) else (primals,))
    directions = given.alike("tangents", tangents if _is_several(tangents) else (tangents,))
    found = given.slopes(_slopes_along("hvp", given.called(f), given.inputs, [directions])[0])
    return found if _is_several(primals) else found[0]


def jacobian(f: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that takes what ``f`` does and gives the derivatives of what it returns.

    Those of every element of the value by every element of an argument have the shape of the value
    and then that of the argument. The graph is recorded once and walked back once for each element
    of the value.

    Args:
        f: Takes tensors, or trees of them, and returns a tensor.
        argnums: For which arguments: an integer, or several, which makes the result a tuple. Of a
            tree the derivatives have the form of the tree.

    Raises:
        ArgumentError: ``f`` gives no tensor, or ``argnums`` names no argument.

    Example:
        >>> jacobian(lambda x: x * x)(tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    function("jacobian", "f", f)
    places = places_of("jacobian", argnums)

    def jacobian_of(*xs: Any, **options: Any) -> Any:
        of_chosen, chosen = _by_places("jacobian", f, places, xs, options)
        given = _Arguments("jacobian", chosen)
        value, back = vjp(given.called(of_chosen), *given.inputs)
        if not isinstance(value, Tensor):
            raise ArgumentError(f"jacobian: f gave {shown(value)}; want a tensor.")
        rows = [back(one) for one in _units(value)]
        found = given.slopes(
            [
                _stacked([row[index] for row in rows], value, one)
                for index, one in enumerate(given.inputs)
            ]
        )
        return found[0] if isinstance(argnums, int) else found

    return jacobian_of


def hessian(f: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that takes what ``f`` does and gives the second derivatives of its sum.

    For an argument they have its shape twice. The gradient is recorded once and walked back once
    for each element of the arguments.

    Args:
        f: Takes tensors, or trees of them, and returns a tensor, whose elements are summed.
        argnums: For which arguments: an integer, or several, which makes the result a tuple of
            tuples, a row for each. Of a tree they have its form, and in each place again.

    Raises:
        ArgumentError: ``f`` gives no tensor, or ``argnums`` names no argument.

    Example:
        >>> hessian(lambda x: wk.prod(x))(tensor([2.0, 3.0])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    function("hessian", "f", f)
    places = places_of("hessian", argnums)

    def hessian_of(*xs: Any, **options: Any) -> Any:
        of_chosen, chosen = _by_places("hessian", f, places, xs, options)
        given = _Arguments("hessian", chosen)
        is_one = isinstance(argnums, int)
        found = given.slopes(
            [blocks[0] if is_one else blocks for blocks in _blocks(given, given.called(of_chosen))]
        )
        return found[0] if is_one else found

    return hessian_of


def _blocks(given: _Arguments, f: Function) -> Iterator[tuple[Any, ...]]:
    """Yield for each tensor the second derivatives by it and by each, in the arguments' form."""
    for index, one in enumerate(given.inputs):
        directions = [
            [unit if at == index else run("ZerosLike", x) for at, x in enumerate(given.inputs)]
            for unit in _units(one)
        ]
        rows = _slopes_along("hessian", f, given.inputs, directions)
        yield given.slopes(
            [_stacked([row[at] for row in rows], one, x) for at, x in enumerate(given.inputs)]
        )


def _by_places(
    op: str, f: Function, places: Sequence[int], xs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Function, list[Any]]:
    """Return the function of the arguments at some places alone, and these."""
    outside = [place for place in places if not -len(xs) <= place < len(xs)]
    if outside:
        raise ArgumentError(
            f"{op}: argnums has {outside[0]}, but the function was given {len(xs)} positional "
            "arguments."
        )
    chosen = [place % len(xs) for place in places]
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"{op}: argnums is {tuple(places)}; want each argument once.")

    def of_chosen(*some: Any) -> Any:
        args = list(xs)
        for place, one in zip(chosen, some, strict=True):
            args[place] = one
        return f(*args, **options)

    return of_chosen, [xs[place] for place in chosen]


class _Arguments:
    """Arguments as the tensors in them, each of its own, so that one given twice counts as two."""

    def __init__(self, op: str, primals: Sequence[Any]) -> None:
        self.op = op
        self.trees = [Tree(op, one, INPUTS) for one in primals]
        self.inputs = _inputs(op, [leaf for tree in self.trees for leaf in tree.leaves])

    def filled(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments' form with other tensors."""
        given = iter(leaves)
        return tuple(tree.filled([next(given) for _ in tree.leaves]) for tree in self.trees)

    def slopes(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments' form with derivatives."""
        given = iter(leaves)
        return tuple(tree.slopes([next(given) for _ in tree.leaves]) for tree in self.trees)

    def called(self, f: Function) -> Function:
        """Return the function of the tensors alone."""
        return lambda *leaves: f(*self.filled(leaves))

    def alike(self, name: str, given: Sequence[Any]) -> list[Tensor]:
        """Return the tensors of something of the form of the arguments."""
        if len(given) != len(self.trees):
            raise ArgumentError(
                f"{self.op}: {name} is {shown(given)}; want {len(self.trees)} tensors or trees."
            )
        found: list[Tensor] = []
        for tree, one in zip(self.trees, given, strict=True):
            like = self.inputs[len(found) : len(found) + len(tree.leaves)]
            found += _alike(self.op, name, tree, one, like)
        return found


class _OutputTree:
    """What a function gave, as the tensors in it."""

    def __init__(self, op: str, value: Any) -> None:
        self.tree = Tree(op, value, OUTPUTS)
        for one in self.tree.leaves:
            if not isinstance(one, Tensor):
                raise ArgumentError(
                    f"{op}: f gave {shown(one)}; want a tensor, or a tuple or tree of them."
                )
        self.tensors: list[Tensor] = self.tree.leaves


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


def _alike(op: str, name: str, tree: Tree, given: Any, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors of a value in the form of a tree, of the shapes and dtypes of others."""
    leaves = tree.matched(given)
    if leaves is None:
        raise ArgumentError(f"{op}: {name} is {shown(given)}; want {len(like)} tensors.")
    found: list[Tensor] = []
    for value, other in zip(leaves, like, strict=True):
        if value is None:
            value = run("ZerosLike", other)
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
