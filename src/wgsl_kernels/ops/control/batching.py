"""vmap: a function of one example run on all of a batch, each kernel once.

Inside, a tensor has the shape of one example, and an array that holds the tensor of all of them.
An interceptor has each kernel run on those, by the rules of `batching_rules`; see
docs/decisions/0134-vmap-is-an-interceptor.md.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wgsl_kernels.engine.autodiff.tape import flat
from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.origin import warn_user
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.execute import cast_inputs, dispatch, spec_of, widened
from wgsl_kernels.engine.execution.plans import Plan, find_plan, make_plan
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.widening import widened_attrs
from wgsl_kernels.engine.tensors.entries import EntryObserver
from wgsl_kernels.engine.tensors.tensor import Tensor, made, with_values_of
from wgsl_kernels.engine.tensors.watched_reads import Boundary
from wgsl_kernels.engine.trees.trees import Leaves, Tree
from wgsl_kernels.engine.values.attributes import attr_key, function
from wgsl_kernels.engine.values.shapes import normalize_axis, show
from wgsl_kernels.ops.control.batching_rules import RULES, BatchedCall
from wgsl_kernels.ops.shapes.moving import moveaxis
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.engine.values.spec import Spec

_NAME = "vmap"
_DRAWS = ("Multinomial", "RandomNormal", "RandomUniform")
_TENSORS = Leaves(lambda one: isinstance(one, (Tensor, np.ndarray)))
_RESULTS = Leaves(lambda one: isinstance(one, Tensor), refuses=True)


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function of batches that gives what ``f``, of single examples, gives for each.

    Kernels run once for all examples: maps by broadcasting, reductions and products with one axis
    more, convolutions with a larger batch. A kernel without a rule runs once per example, with a
    warning that names it. It may be nested, captured and differentiated: ``vmap(grad(f))`` gives
    the gradient of each example, ``grad(vmap(f))`` that of all of them.

    Random functions draw other numbers for each example, those of a batch of that many. A variable
    may not be assigned what differs from example to example, such as the running mean of a batch
    norm; and inside values cannot be read.

    Args:
        f: Takes tensors, or trees of them, and returns tensors, bare or in a tree.
        in_axes: Which axis of the arguments counts the examples: an integer for all of them, or a
            tuple with one for each; None for an argument that all examples share. Of a tree it is
            that of all its tensors. Keyword arguments are mapped along axis 0, as in JAX.
        out_axes: Where that axis is in the results: an integer, or a tuple with one for each of a
            tuple; None for what is the same for all examples.

    Raises:
        ShapeError: An argument lacks the axis, or they have different lengths.
        ArgumentError: Nothing is mapped, or ``f`` does what it may not.

    Example:
        >>> distances = wk.vmap(lambda a, b: wk.sqrt(wk.sum((a - b) ** 2)), in_axes=(0, None))
        >>> distances(wk.tensor([[0.0, 0.0], [3.0, 4.0]]), wk.zeros(2)).tolist()
        [0.0, 5.0]
        >>> slopes = wk.vmap(wk.grad(lambda w, x: wk.sum(w * x) ** 2), in_axes=(None, 0))
        >>> slopes(wk.ones(2), wk.tensor([[1.0, 0.0], [1.0, 1.0]])).tolist()
        [[2.0, 0.0], [4.0, 4.0]]
    """
    function(_NAME, "f", f)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentError(
                f"{_NAME}: in_axes is {shown(in_axes)}; want one for each of {len(args)} arguments."
            )
        given = [
            *(
                _VmapArgument(f"argument {at}", *pair)
                for at, pair in enumerate(zip(args, axes, strict=True))
            ),
            *(_VmapArgument(name, value, 0, is_named=True) for name, value in kwargs.items()),
        ]
        level = _VmapLevel(_size(given))
        with context.intercepted(level):
            values = [one.inside(level) for one in given]
            result = f(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
        return _outside(level, result, out_axes)

    return mapped


def _check_axes(name: str, axes: Any) -> None:
    for one in axes if isinstance(axes, (tuple, list)) else (axes,):
        if one is not None and (isinstance(one, bool) or not isinstance(one, int)):
            raise ArgumentError(
                f"{_NAME}: {name} is {shown(axes)}; want an integer, None, or a tuple of these."
            )


class _VmapArgument:
    """An argument, and the tensors in it that are mapped, with the axis of the examples first."""

    def __init__(self, name: str, value: Any, axis: int | None, *, is_named: bool = False) -> None:
        self._value = value
        self._tree: Tree | None = None
        self.tensors: list[Tensor] = []
        if axis is None:
            return
        tree = Tree(_NAME, value, _TENSORS)
        leaves = [one for one in tree.leaves if isinstance(one, (Tensor, np.ndarray))]
        if not leaves and is_named:
            return
        if not leaves:
            tree = Tree(_NAME, as_tensor(value), _TENSORS)
        self._tree = tree
        for one in tree.leaves:
            given = as_tensor(one)
            if not given.ndim:
                raise ShapeError(f"{_NAME}: {name} holds a scalar; want an axis, or in_axes None.")
            at = normalize_axis(_NAME, axis, given.ndim, "in_axes")
            self.tensors.append(_moved(given, at, 0))

    def inside(self, level: _VmapLevel) -> Any:
        """Return the argument of one example."""
        if self._tree is None:
            return self._value
        return self._tree.filled([level.placeholder(one) for one in self.tensors])


def _size(given: Sequence[_VmapArgument]) -> int:
    sizes = {tensor.shape[0] for one in given for tensor in one.tensors}
    if not sizes:
        raise ArgumentError(f"{_NAME}: no argument is mapped; want in_axes for one at least.")
    if len(sizes) > 1:
        known = ", ".join(map(str, sorted(sizes)))
        raise ShapeError(f"{_NAME}: the mapped axes have lengths {known}; want one.")
    (size,) = sizes
    if not size:
        raise ShapeError(f"{_NAME}: the mapped axes have length 0; want an example at least.")
    return size


def _outside(level: _VmapLevel, result: Any, out_axes: Any) -> Any:
    """Return results with the axis of the examples."""
    if isinstance(out_axes, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(out_axes):
            raise ArgumentError(
                f"{_NAME}: out_axes is {shown(out_axes)}, and f gave {shown(result)}; want a tuple "
                "of as many."
            )
        pairs = zip(result, out_axes, strict=True)
        return type(result)([_outside(level, one, axis) for one, axis in pairs])
    tree = Tree(_NAME, result, _RESULTS)
    found: list[Tensor] = []
    for one in tree.leaves:
        if not isinstance(one, Tensor):
            raise ArgumentError(
                f"{_NAME}: f gave {shown(one)}; want a tensor, or a tuple or tree of them."
            )
        batched = level.of(one)
        if out_axes is None:
            if batched is not None:
                raise ArgumentError(
                    f"{_NAME}: a result differs from example to example, and its out_axes is None."
                )
            found.append(one)
            continue
        whole = level.whole(one)
        found.append(_moved(whole, 0, normalize_axis(_NAME, out_axes, whole.ndim, "out_axes")))
    return tree.filled(found)


def _moved(x: Tensor, start: int, end: int) -> Tensor:
    """Return a tensor with one axis moved, itself where that is in its place."""
    return x if start == end else moveaxis(x, start, end)


class _Batch:
    """What stands for an array in a tensor of one example: the tensor of all of them."""

    __slots__ = ("level", "tensor")

    def __init__(self, level: _VmapLevel, tensor: Tensor) -> None:
        self.level = level
        self.tensor = tensor


class _NoBackend:
    """The backend of one example's tensors, which has no values."""

    name = _NAME

    def download(self, array: Any, spec: Spec) -> NoReturn:
        """Refuse to read values."""
        del array
        raise _unreadable(spec)

    def supports(self, dtype: str) -> bool:
        """Say that it has tensors of every dtype."""
        del dtype
        return True


def _unreadable(spec: Spec) -> ArgumentError:
    return ArgumentError(
        f"{_NAME}: the values of a tensor of shape {show(spec.shape)} are read, and stand for all "
        "examples; read what vmap returns, and choose by wk.where in place of if."
    )


_no_backend: Any = _NoBackend()


class _VmapLevel(Boundary, EntryObserver):
    """One vmap while its function runs: the interceptor that has kernels run on all examples."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._looped: set[str] = set()

    def placeholder(self, batched: Tensor) -> Tensor:
        """Return the tensor of one example."""
        spec = batched.spec.like(shape=batched.shape[1:])
        return made(Tensor(spec, _Batch(self, batched), _no_backend))

    def of(self, tensor: Any) -> Tensor | None:
        """Return the tensor of all examples, None of one that they share."""
        array = tensor._array
        return array.tensor if isinstance(array, _Batch) and array.level is self else None

    def whole(self, tensor: Tensor) -> Tensor:
        """Return the tensor of all examples, made of copies where they share one."""
        found = self.of(tensor)
        if found is not None:
            return found
        return run("BroadcastTo", tensor, shape=(self.size, *tensor.shape))

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        """Run a kernel on all examples."""
        if any(self.of(one) is not None for one in flat(call.inputs)):
            return self._mapped(call)
        if call.name == "AdvanceKey":  # by what all examples have drawn
            call.attrs = {**call.attrs, "blocks": call.attrs["blocks"] * self.size}
        elif call.name in _DRAWS:
            return self._mapped(call)
        return proceed(call)

    def _mapped(self, call: KernelRun) -> Result:
        plan = _plan_of(call)
        if plan.narrows is not None:
            return widened(
                plan.narrows,
                call.inputs,
                lambda wide: dispatch(call.name, wide, widened_attrs(call.attrs), call.names),
            )
        if plan.casts is not None:
            return dispatch(call.name, cast_inputs(call.inputs, plan.casts), call.attrs, call.names)
        with self._beyond():
            found = self._by_rule(call, plan)
            if found is None:
                found = self._by_loop(call)
        if isinstance(found, Tensor):
            result: Result = self.placeholder(found)
        else:
            result = tuple([self.placeholder(one) for one in found])
        call.plan = plan
        return result

    def _beyond(self) -> context.ContextBlock:
        """A block in which kernels run on all examples, as those around this level see them."""
        return context.ContextBlock(
            lambda outer: {
                "interceptors": outer.interceptors[: outer.interceptors.index(self)],
                "scope": None,  # a tidy inside disposes of the tensors of one example
            }
        )

    def _by_rule(self, call: KernelRun, plan: Plan) -> Result | None:
        rule = RULES.get(call.name)
        if rule is None or plan.outputs is None:
            return None
        mapped = tuple([self._all_of(one) for one in call.inputs])
        return rule(
            BatchedCall(call.name, self.size, call.inputs, mapped, plan.attrs, plan.outputs)
        )

    def _all_of(self, value: Any) -> Any:
        """Return an input of all examples, None of one that they share; lists likewise."""
        if isinstance(value, (list, tuple)):
            return [self._all_of(one) for one in value]
        return None if value is None else self.of(value)

    def _by_loop(self, call: KernelRun) -> Result:
        """Run a kernel once per example."""
        if call.name not in self._looped:
            self._looped.add(call.name)
            warn_user(f"{_NAME}: {call.name} has no rule for batches; it runs once per example.")
        rows = [self._rows(one) for one in call.inputs]
        found = [
            dispatch(call.name, tuple([one[at] for one in rows]), call.attrs, call.names)
            for at in range(self.size)
        ]
        first = found[0]
        if isinstance(first, Tensor):
            return self._stacked(call.name, found)
        return tuple([self._stacked(call.name, column) for column in zip(*found, strict=True)])

    def _rows(self, value: Any) -> Sequence[Any]:
        """Return an input of each example."""
        if isinstance(value, (list, tuple)):
            return [list(one) for one in zip(*map(self._rows, value), strict=True)]
        batched = self._all_of(value)
        return [value] * self.size if batched is None else run_many("Unpack", batched, axis=0)

    def _stacked(self, name: str, rows: Sequence[Any]) -> Tensor:
        shapes = {one.shape for one in rows}
        if len(shapes) > 1:
            known = ", ".join(map(show, sorted(shapes)))
            raise ShapeError(
                f"{_NAME}: {name} gives results of shapes {known} for different examples; want one."
            )
        return run("Pack", list(rows), axis=0)

    def entered(self, tensor: Tensor, values: Any) -> None:
        """See what comes from the host, which all examples share."""

    def copied(self, tensor: Tensor, source: Tensor) -> None:
        """Have tapes around follow neither: a copy is a constant to them."""
        batched = self.of(source)
        if batched is not None:
            with self._beyond():
                tensor._array = _Batch(self, with_values_of(batched))

    def was_read(self, tensor: Tensor) -> None:
        """Refuse to read values.

        Raises:
            ArgumentError: They differ from example to example.
        """
        if self.of(tensor) is not None:
            raise _unreadable(tensor.spec)

    def assigned(self, variable: Any, value: Tensor) -> None:
        """Refuse to assign what differs from example to example.

        Raises:
            ArgumentError: It does.
        """
        if self.of(value) is not None:
            raise ArgumentError(
                f"{_NAME}: f assigns the variable {variable.name!r} what differs from example to "
                "example. Return it in place of that; of a batch norm call the layer on the whole "
                "batch, or with train=False."
            )


def _plan_of(call: KernelRun) -> Plan:
    """Return the plan of a kernel for one example, which refuses what does not fit."""
    driver = context.current().driver or default_driver()
    specs = [spec_of(one) for one in call.inputs]
    for one in flat(call.inputs):
        if one.is_disposed:
            raise one._was_disposed()
    kept = tuple([tuple(one) if isinstance(one, list) else one for one in specs])
    attrs = tuple([(name, attr_key(value)) for name, value in call.attrs.items()])
    key = (_NAME, call.name, driver.name, kept, attrs)
    found = find_plan(key)
    return found or make_plan(key, call.name, driver, specs, call.attrs, call.names)
