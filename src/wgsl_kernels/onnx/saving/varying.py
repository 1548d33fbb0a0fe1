"""Axes whose length varies: a function is run at several lengths, and its graphs are compared.

What is the same in all of them stays. Integers that are a polynomial of the lengths, linear in each
of them, are computed from the inputs' shapes; values that are only repeated are broadcast.
"""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.capture.watch import kept_as_before
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError, WgslKernelsError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.values.attributes import examples
from wgsl_kernels.onnx.saving.reshapes import without_reshapes
from wgsl_kernels.onnx.saving.tracing import OF_LENGTHS, example_tensors, trace
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.saving.graph_writer import GraphWriter, Rule, WrittenNode
    from wgsl_kernels.onnx.saving.tracing import Composition, FunctionTrace, GraphValue

    Lengths = Mapping[str, int]

Dims = tuple["int | str | None", ...]
"""Lengths of axes: a number, the name of one that varies, or None of one that follows from such."""
MOST_NAMES = 3
"""Lengths that may vary: each doubles the runs."""
_ATTEMPTS = ((True, frozenset[str]()), (False, frozenset[str]()), (False, OF_LENGTHS))
"""Whether reshapes are left out, with which all lengths may not have the same calls, and kernels
that are written though they depend on no input."""


@dataclass(frozen=True)
class GraphFormat:
    """A format to write in.

    Attributes:
        caller: The public function, for errors.
        format: Its name.
        writer: Makes what writes a run.
        rules: By kernel what writes it.
        compositions: What other kernels do the same as one that has no rule.
    """

    caller: str
    format: str
    writer: Callable[[FunctionTrace], GraphWriter]
    rules: Mapping[str, Rule]
    compositions: Mapping[str, Composition]


class WrittenGraph(NamedTuple):
    """A function as a graph.

    Attributes:
        writer: Its nodes and constants.
        inputs: Lengths of the inputs' axes, by name.
        outputs: Those of the outputs'.
    """

    writer: Any
    inputs: dict[str, Dims]
    outputs: dict[str, Dims]


def write_function(
    target: GraphFormat,
    f: Callable[..., Any],
    inputs: Mapping[str, Any],
    dynamic_axes: Mapping[str, Mapping[int, str]] | None,
) -> WrittenGraph:
    """Return a function as a graph that holds for all lengths of the axes that are named.

    Variables and generators are as before, whatever the function does to them.

    Raises:
        ArgumentError: A kernel cannot be said, or something depends on such a length in another way
            than a graph can: the kernel and the line are named.
    """
    given = example_tensors(target.caller, examples(target.caller, f, inputs))
    axes = _Axes.of(target.caller, given, dynamic_axes)
    refused: Any = None
    with kept_as_before():
        for is_short, computed in _ATTEMPTS if axes.lengths else _ATTEMPTS[:1]:
            try:
                return _written(target, f, given, axes, is_short, computed)
            except ArgumentError as error:
                refused = refused if computed else error  # of more kernels it says less
    raise refused


def _written(
    target: GraphFormat,
    f: Callable[..., Any],
    given: Mapping[str, Tensor],
    axes: _Axes,
    is_short: bool,
    computed: Container[str],
) -> WrittenGraph:
    def written(at: Mapping[str, Tensor]) -> GraphWriter:
        traced = trace(target.caller, f, at, target.rules, target.compositions, computed)
        traced = without_reshapes(traced) if is_short else traced
        return target.writer(traced).write(target.rules, target.caller, target.format)

    first = written(given)
    if not axes.lengths:
        traced = first.traced
        return WrittenGraph(first, _shapes(traced.inputs), _shapes(traced.outputs))

    def tried(lengths: Lengths) -> GraphWriter:
        if lengths == axes.lengths:
            return first
        at = axes.resized(given, lengths)
        try:
            return written(at)
        except (WgslKernelsError, ValueError, TypeError, IndexError) as error:
            raise ArgumentError(
                f"{target.caller}: {axes.shown()} cannot vary: with {_said(lengths)}, f raises, at "
                f"{_line_of(error)}: {error}"
            ) from error

    base, *others = axes.to_try()
    writer = tried(base)
    runs = [_TracedGraph.of(writer, {})]
    runs += [_TracedGraph.of(tried(lengths), runs[0].arrays) for lengths in others]
    comparison = _Comparison(target.caller, axes, writer, runs, [])
    graph = comparison.graph()
    dims = _varying_dims(target.caller, axes, [one.outputs for one in runs])
    if _is_for_ones(target.caller, axes, dims, lambda lengths: f(**axes.resized(given, lengths))):
        comparison.check_parts()
    return WrittenGraph(graph, _varying_dims("", axes, [one.inputs for one in runs]), dims)


@dataclass(frozen=True)
class _Axes:
    """The axes that vary.

    Attributes:
        places: By name of a length the inputs and axes that have it.
        lengths: Those of the examples.
    """

    places: Mapping[str, Sequence[tuple[str, int]]]
    lengths: Lengths

    @classmethod
    def of(cls, caller: str, given: Mapping[str, Tensor], asked: Any) -> _Axes:
        """Return what a user asked for.

        Raises:
            ArgumentError, ShapeError: An input or an axis of it is none, or a length has no name,
                or several lengths have one.
        """
        if not isinstance(asked, (Mapping, type(None))):
            raise ArgumentError(
                f"{caller}: dynamic_axes is {shown(asked)}; want names of axes by input and axis, "
                'as {"x": {0: "batch"}}.'
            )
        places: dict[str, list[tuple[str, int]]] = {}
        lengths: dict[str, int] = {}
        for name, axes in (asked or {}).items():
            if name not in given:
                raise ArgumentError(f"{caller}: dynamic_axes has {name!r}; want {list(given)}.")
            if not isinstance(axes, Mapping):
                raise ArgumentError(
                    f"{caller}: dynamic_axes[{name!r}] is {shown(axes)}; want names by axis, as "
                    '{0: "batch"}.'
                )
            shape = given[name].shape
            for axis, label in axes.items():
                if type(axis) is not int or not -len(shape) <= axis < len(shape):
                    raise ShapeError(
                        f"{caller}: dynamic_axes[{name!r}] has axis {axis!r}; {name!r} has "
                        f"{len(shape)} axes."
                    )
                if not isinstance(label, str) or not label.isidentifier():
                    raise ArgumentError(
                        f"{caller}: axis {axis} of {name!r} is called {label!r}; want a name, as "
                        "batch."
                    )
                length = shape[axis]
                if lengths.setdefault(label, length) != length or not length:
                    raise ShapeError(
                        f"{caller}: axis {axis} of {name!r}, {label!r}, is {length} in the "
                        f"example; want {lengths[label] or 'one element or more'}."
                    )
                places.setdefault(label, []).append((name, axis % len(shape)))
        if len(lengths) > MOST_NAMES:
            raise ArgumentError(
                f"{caller}: dynamic_axes has {len(lengths)} names; want at most {MOST_NAMES}."
            )
        return cls(places, lengths)

    @property
    def least(self) -> list[int]:
        """The smallest lengths that graphs are compared at; those of 1 broadcast."""
        return [max(2, one) for one in self.lengths.values()]

    def to_try(self) -> list[Lengths]:
        """Return the lengths at which graphs are compared: all corners, and one apart."""
        corners = itertools.product(*((one, one + 1) for one in self.least))
        apart = [one + 3 for one in self.least]
        return [dict(zip(self.lengths, one, strict=True)) for one in (*corners, apart)]

    def resized(self, given: Mapping[str, Tensor], lengths: Lengths) -> dict[str, Tensor]:
        """Return examples of other lengths, of which the elements are repeated."""
        found = dict(given)
        for label, length in lengths.items():
            for name, axis in self.places[label]:
                if found[name].shape[axis] != length:
                    values = found[name].numpy()
                    picked = np.arange(length) % values.shape[axis]
                    found[name] = tensor(np.take(values, picked, axis), dtype=found[name].dtype)
        return found

    def shown(self) -> str:
        """Return the names."""
        return ", ".join(map(repr, self.lengths))


class _TracedGraph(NamedTuple):
    """What is compared of a run, without its values but constants that differ from the first's."""

    nodes: Sequence[WrittenNode]
    arrays: Mapping[str, Array]
    inputs: Mapping[str, GraphValue]
    outputs: Mapping[str, GraphValue]
    sources: Sequence[str]

    @classmethod
    def of(cls, writer: GraphWriter, known: Mapping[str, Array]) -> _TracedGraph:
        """Return what is compared, of which constants that are known, too, are not kept twice."""
        traced = writer.traced
        sources = [writer.name(one) for one in traced.outputs.values()]
        arrays = {name: one.array for name, one in writer.constants.items()}
        for name, array in arrays.items():
            if name in known and _same(known[name], array):
                arrays[name] = known[name]
        return cls(writer.nodes, arrays, traced.inputs, traced.outputs, sources)


@dataclass(frozen=True)
class _Comparison:
    """The graphs of runs at several lengths, of which the first is the one to write."""

    _caller: str
    _axes: _Axes
    _first: GraphWriter
    _runs: Sequence[_TracedGraph]
    _below: list[tuple[str, Array, Array]]
    """What makes parts of an axis that have less than no elements at lengths of 1; these parts."""

    def graph(self) -> GraphWriter:
        """Return the first graph, in which what differs from the others is computed.

        Raises:
            ArgumentError: Something differs that cannot be computed.
        """
        self._check_nodes()
        differing = {}
        for name, one in self._first.constants.items():
            arrays = [run.arrays[name] for run in self._runs]
            if not all(_same(arrays[0], other) for other in arrays[1:]):
                differing[name] = (arrays, one.call)
        sources = self._first.in_front(lambda: self._compute(differing))
        self._first.replace(sources)
        return self._first

    def _check_nodes(self) -> None:
        for other, lengths in zip(self._runs[1:], self._axes.to_try()[1:], strict=True):
            for a, b in itertools.zip_longest(self._first.nodes, other.nodes):
                if a is None or b is None or (a.op, a.inputs) != (b.op, b.inputs):
                    shown = a or b
                    assert shown is not None, "one of them is the longer"
                    raise self._refused(shown.call, "not the same kernels run", lengths)
                for name, value in a.attrs.items():
                    if value != b.attrs.get(name):
                        raise self._refused(a.call, f"{name} is {value}", lengths, b.attrs[name])
            if other.sources != self._runs[0].sources:
                raise self._refused("an output", "not the same kernels run", lengths)

    def _refused(self, call: str, what: str, lengths: Lengths, there: Any = "") -> ArgumentError:
        first = _said(self._axes.to_try()[0])
        other = f"{there} where" if str(there) else "where"
        return ArgumentError(
            f"{self._caller}: {self._axes.shown()} cannot vary: {call}: {what} where {first} and "
            f"{other} {_said(lengths)}."
        )

    def _compute(self, differing: Mapping[str, tuple[list[Array], str]]) -> dict[str, str]:
        """Write nodes that compute constants, and return the names of these by the constants'."""
        writer = self._first
        lengths: dict[str, str] = {}
        known: dict[tuple[Any, ...], str] = {}

        def length_of(names: tuple[str, ...]) -> str:
            *others, last = names
            if last not in lengths:
                lengths[last] = writer.length(*self._axes.places[last][0])
            found = lengths[last]
            if not others:
                return found
            return writer.arithmetic("multiply", found, length_of(tuple(others)))

        found = {}
        for name, (arrays, call) in differing.items():
            facts = [(one.shape, one.dtype, one.tobytes()) for one in arrays]
            key = (name in writer.shapes, name in writer.parts, *facts)
            if key not in known:
                known[key] = self._computed(name, arrays, call, length_of)
            found[name] = known[key]
        return found

    def _computed(
        self, name: str, arrays: list[Array], call: str, length_of: Callable[..., str]
    ) -> str:
        writer = self._first
        shapes = [np.array(one.shape, np.int64) for one in arrays]
        if arrays[0].dtype == writer.shape_dtype and not any(map(_differs(shapes[0]), shapes)):
            return self._polynomial(arrays, call, length_of, name)
        if len({one.ndim for one in arrays}) == 1 and any(map(_differs(shapes[0]), shapes)):
            varies = np.any([one != shapes[0] for one in shapes], axis=0)
            part = tuple(slice(0, 1) if one else slice(None) for one in varies)
            kept = arrays[0][part]
            if all(_same(np.broadcast_to(kept, one.shape), one) for one in arrays):
                lengths = self._polynomial(shapes, call, length_of)
                return writer.repeated(kept, lengths)
        raise self._differ(arrays, call)

    def _differ(self, arrays: list[Array], call: str) -> ArgumentError:
        """Return the error of a constant that differs."""
        tried = self._axes.to_try()
        pairs = zip(arrays, tried, strict=True)
        other, lengths = next(pair for pair in pairs if not _same(pair[0], arrays[0]))
        found = self._refused(call, f"a constant is {_brief(arrays[0])}", lengths, _brief(other))
        return ArgumentError(f"{found} Make it in f by ops, as of wk.arange, or give it to f.")

    def check_parts(self) -> None:
        """Refuse parts of an axis that there cannot be where it has one element.

        Raises:
            ArgumentError: There are such.
        """
        ones = dict.fromkeys(self._axes.lengths, 1)
        for call, parts, at_one in self._below:
            raise self._refused(call, f"parts have {_brief(parts)} elements", ones, _brief(at_one))

    def _polynomial(
        self, arrays: list[Array], call: str, length_of: Callable[..., str], name: str = ""
    ) -> str:
        """Write integers that are polynomials of lengths, and return their name."""
        writer, names = self._first, list(self._axes.lengths)
        terms = _coefficients(arrays[:-1], self._axes.least)
        apart = self._axes.to_try()[-1]
        wrong = _value_of(terms, [apart[one] for one in names]) != arrays[-1]
        varies = np.any([one != arrays[0] for one in arrays], axis=0)
        open_at = wrong if wrong.any() else varies
        if name in writer.shapes and open_at.sum() == 1 and np.all(arrays[0]):
            terms = {
                powers: np.where(open_at, 0 if any(powers) else -1, one)
                for powers, one in terms.items()
            }
        elif wrong.any():
            raise self._differ(arrays, call)
        at_one = _value_of(terms, [1] * len(names))
        if name in writer.parts and (at_one < 0).any():
            self._below.append((call, arrays[0], at_one))
        found = writer.constant(terms[(0,) * len(names)].astype(writer.shape_dtype), call)
        for powers, one in terms.items():
            if any(powers) and one.any():
                chosen = tuple(itertools.compress(names, powers))
                factor = writer.constant(one.astype(writer.shape_dtype), call)
                term = writer.arithmetic("multiply", length_of(chosen), factor)
                found = writer.arithmetic("add", term, found)
        return found


def _coefficients(corners: Sequence[Array], least: Sequence[int]) -> dict[tuple[int, ...], Array]:
    """Return what each product of lengths is multiplied by, from values at the corners.

    Args:
        corners: At every combination of a length and the next one, the last length varying fastest.
        least: The first of each two.
    """
    shape = corners[0].shape
    values = np.array(corners, np.int64).reshape((2,) * len(least) + shape)
    for axis, low in enumerate(least):
        below, above = np.moveaxis(values, axis, 0)
        slope = above - below
        values = np.stack([below - low * slope, slope], axis)
    powers = itertools.product((0, 1), repeat=len(least))
    return {one: values[one] for one in powers}


def _value_of(terms: Mapping[tuple[int, ...], Array], lengths: Sequence[int]) -> Array:
    found = [one * math.prod(itertools.compress(lengths, powers)) for powers, one in terms.items()]
    return np.asarray(sum(found))


def _same(a: Array, b: Array) -> bool:
    if a is b:
        return True
    is_alike = (a.shape, a.dtype) == (b.shape, b.dtype)
    return is_alike and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _brief(array: Array) -> str:
    return str(array.tolist()) if array.size <= 6 else f"one of shape {list(array.shape)}"


def _differs(first: Array) -> Callable[[Array], bool]:
    return lambda other: not np.array_equal(first, other)


def _shapes(values: Mapping[str, GraphValue]) -> dict[str, Dims]:
    return {name: tuple(one.shape) for name, one in values.items()}


def _varying_dims(
    caller: str, axes: _Axes, runs: Sequence[Mapping[str, GraphValue]]
) -> dict[str, Dims]:
    """Return the lengths of axes that do not vary, and the names of those that do.

    Raises:
        ArgumentError: An output has other axes, or another dtype, at other lengths.
    """
    tried = axes.to_try()
    found: dict[str, Dims] = {}
    for name, first in runs[0].items():
        every = [run.get(name) for run in runs]
        if any(one is None or (one.ndim, one.dtype) != (first.ndim, first.dtype) for one in every):
            raise ArgumentError(
                f"{caller}: {axes.shown()} cannot vary: output {name!r} has not always "
                f"{first.ndim} axes of {first.dtype}."
            )
        lengths = zip(*(one.shape for one in every if one is not None), strict=True)
        found[name] = tuple(_dim(axes, tried, one) for one in lengths)
    return found


def _dim(axes: _Axes, tried: Sequence[Lengths], lengths: tuple[int, ...]) -> int | str | None:
    if len(set(lengths)) == 1:
        return lengths[0]
    names = (one for one in axes.lengths if lengths == tuple(at[one] for at in tried))
    return next(names, None)


def _is_for_ones(
    caller: str, axes: _Axes, outputs: Mapping[str, Dims], run: Callable[[Lengths], Any]
) -> bool:
    """Say whether a function takes lengths of 1.

    Raises:
        ArgumentError: They give another shape, as ``squeeze`` does.
    """
    ones = dict.fromkeys(axes.lengths, 1)
    try:
        found = run(ones)
    except (WgslKernelsError, ValueError, TypeError, IndexError):
        return False  # it is not for one element, here or there
    if not isinstance(found, dict):
        several = found if isinstance(found, (tuple, list)) else [found]
        found = dict(zip(outputs, several, strict=False))
    for name, dims in outputs.items():
        shape = found[name].shape
        wanted = tuple(1 if isinstance(one, str) else one for one in dims)
        if len(shape) != len(wanted) or any(
            b not in (a, None) for a, b in zip(shape, wanted, strict=True)
        ):
            raise ArgumentError(
                f"{caller}: {axes.shown()} cannot vary: output {name!r} has shape {list(shape)} "
                f"with {_said(ones)}; want {[1 if isinstance(d, str) else d for d in dims]}."
            )
    return True


def _said(lengths: Lengths) -> str:
    return ", ".join(f"{name} = {length}" for name, length in lengths.items())


def _line_of(error: BaseException) -> str:
    """Return the innermost line outside this package that an error came through."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_globals.get("__name__", "").startswith("wgsl_kernels")
    ]
    return "{}:{}".format(*frames[-1]) if frames else "an unknown line"
