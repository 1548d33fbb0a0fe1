"""Cases: the ways to call a kernel that are made from a sample."""

from __future__ import annotations

import functools
import inspect
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.judging import exact_of
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.execute import cast_inputs, dispatch, spec_of
from wgsl_kernels.engine.observe.facade import engine
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.ops.shapes import shape as shape_ops
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, ranges_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.sample import Sample

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One way to call a kernel.

    Attributes:
        sample: The sample that it was made from, with its own shapes and dtypes.
        what: What is special about it: ``size 2 -> 257``, ``NaN``.
        arrays: The inputs' values.
        twins: Other inputs of which the results would be right as well: subnormals flushed,
            zeros of the other sign.
        is_unforeseen: Whether a bound that the sample states may not know of such a call.
        is_meant: Whether a signature that takes the call must say the shape that comes of it; one
            may take an attribute of 0, or of the other sign, unasked.
    """

    sample: Sample
    what: str
    arrays: tuple[Array, ...]
    twins: tuple[tuple[Array, ...], ...] = ()
    is_unforeseen: bool = False
    is_meant: bool = True

    @functools.cached_property
    def exact(self) -> list[Array]:
        """The exact results; whatever refuses the case is raised."""
        with quiet():
            if self.sample.reference is not None:  # which may take what the signature refuses
                _ask_signature(self.sample, self.arrays)
            return exact_of(self.sample, self.arrays)

    @functools.cached_property
    def alternatives(self) -> list[list[Array]]:
        """The exact results, and those for the twins."""
        with quiet():
            return [self.exact, *(exact_of(self.sample, one) for one in self.twins)]

    @property
    def id(self) -> str:
        """The case's name in reports, and what ``--case`` takes."""
        return f"{self.sample.id}/{self.what}"


class _AskedError(Exception):
    """The signature took a call, of which there is nothing more to know."""


def _ask_signature(sample: Sample, arrays: Sequence[Array]) -> None:
    """Call a sample up to its kernel, and raise what the signature or its function refuses."""

    def ask(call: KernelRun, proceed: Proceed) -> Result:
        declared = find_signature(call.name)
        if call.name != sample.kernel or declared is None:
            return proceed(call)
        specs = [spec_of(one) for one in call.inputs]
        declared.check_inputs(specs)
        attrs, casts = declared.check_attrs(call.attrs), declared.casts(specs)
        if casts is not None:
            return dispatch(call.name, cast_inputs(call.inputs, casts), call.attrs, call.names)
        declared.infer(specs, attrs)
        raise _AskedError

    with only("cpu", sample), engine().intercept(ask), suppress(_AskedError):
        outputs_of(call_of(sample), tensors_for(arrays))


def plain(sample: Sample) -> Case:
    return Case(sample, "sample", tuple(arrays_for(sample)))


def is_drawn(sample: Sample) -> bool:
    """Say whether inputs are drawn from ranges, so that others may stand in their place."""
    return sample.values is None and sample.make is None


HALF_RTOL, HALF_ATOL = 2.0**-6, 2.0**-7
"""What results of float16 are held to, whatever the sample states for its own dtype."""


WIDER = 8
"""How many times as wide as that of its floats the range is that integers are drawn from."""


def of_dtype(sample: Sample, dtype: str) -> Case:
    """Return the sample with its first dtype replaced, wherever it occurs."""
    first = sample.input_dtypes[0]
    dtypes = tuple(dtype if one == first else one for one in sample.input_dtypes)
    other = replace(sample, dtypes=dtypes)
    if dtype == "float16":  # a bound may have been written for float32 alone
        other = replace(other, bound=None, rtol=HALF_RTOL, atol=HALF_ATOL, ulp=None)
    if dtype == "int32" and any(int(low) >= int(high) for low, high in ranges_of(sample)):
        other = replace(other, low=-3, high=4)
    elif dtype == "int32":  # what rounds a quotient shows beyond the first few integers
        factors = [
            WIDER if one == first and domain is None else 1
            for one, domain in zip(sample.input_dtypes, sample.domains, strict=True)
        ]
        wide = [
            (f * low, f * high) for f, (low, high) in zip(factors, ranges_of(sample), strict=True)
        ]
        other = replace(other, low=tuple(a for a, _ in wide), high=tuple(b for _, b in wide))
    with np.errstate(over="ignore"):  # what float16 cannot hold is infinite
        return Case(other, dtype, tuple(arrays_for(other)))


GROSS = 2.0**-7
"""What a result may be off, of itself and of 1, where no bound is known to hold."""


def grossly(sample: Sample, least: float = 1.0, part: float = GROSS) -> Sample:
    """Return a sample whose results are held to what no roundings explain.

    That is 1 part in 128 of them, or of ``least``, or another part.
    """
    return replace(sample, bound=None, rtol=part, atol=part * least, ulp=None)


LARGER = (3, 10)
"""How many times as large attributes are tried, or a little more."""


def varied(sample: Sample, factors: Sequence[int] = LARGER) -> Iterator[list[Case]]:
    """Yield the sample with another value of each attribute, one at a time.

    Those that its function has defaults for are varied, too. The signature may refuse a value: of
    several cases the first that it takes is meant.
    """
    arrays = tuple(arrays_for(sample))
    rank = max((one.ndim for one in arrays), default=0)

    def case(name: str, other: Any) -> Case:
        changed = replace(sample, attrs={**sample.attrs, name: other})
        if sample.bound is not None:
            changed = grossly(changed)
        is_meant = isinstance(other, (bool, tuple)) or name in AXES or other > 0
        return Case(changed, f"{name}={other}", arrays, is_unforeseen=True, is_meant=is_meant)

    def fitted(name: str, value: Any, other: Any) -> Iterator[Case]:
        """Yield the case with a length that grows as the attribute does, or its square."""
        if type(value) is not int or other != value + 1 or value < 1:
            return
        if not is_drawn(sample):
            return
        for length in sorted({one for shape in sample.shapes for one in shape}):
            for power in (1, 2):
                fit, rest = divmod(length * other**power, value**power)
                if not rest:
                    shapes = tuple(
                        tuple(fit if n == length else n for n in one) for one in sample.shapes
                    )
                    found = case(name, other)
                    yield replace(
                        found,
                        sample=replace(found.sample, shapes=shapes),
                        arrays=tuple(arrays_for(replace(sample, shapes=shapes))),
                    )

    for name, value in attributes_of(sample).items():
        for others in _others(name, value, rank, factors):
            yield [*[case(name, one) for one in others], *fitted(name, value, others[0])]


def attributes_of(sample: Sample) -> dict[str, Any]:
    """Return the attributes that a sample has, and those that its function has defaults for."""
    parameters = parameters_of(inspect.unwrap(sample.f))
    defaults = {one: parameters.defaults.get(one) for one in parameters.keyword_only}
    return {**defaults, **sample.attrs}


AXES = ("axis", "dim", "axes")
"""Attributes that name axes, which may be counted from the end."""


FURTHER = range(1, 5)
"""By how much a whole number is larger than that of a sample: a signature may want odd ones."""


def _others(name: str, value: Any, rank: int, factors: Sequence[int]) -> list[list[Any]]:
    """Return other values for an attribute; of several the first that is taken is meant."""
    if isinstance(value, bool):
        return [[not value]]
    if isinstance(value, float):
        return [[one * value] for one in (2, -1, *factors[-1:])] if value else [[1.0], [-1.0]]
    is_whole = isinstance(value, tuple) and all(type(one) is int for one in value)
    if name in AXES:
        if isinstance(value, int):
            others = [[value - rank if value >= 0 else value + rank]]
            return [*others, [(value + 1) % rank]] if rank > 1 else others
        return (
            [[tuple(one - rank if one >= 0 else one + rank for one in value)]] if is_whole else []
        )
    if isinstance(value, int):
        larger = [[factor * value + more for more in range(5)] for factor in factors]
        others = [[value + more for more in FURTHER], *larger, [0], [-value]]
        return others if value else others[:1]
    if is_whole:  # all of them, as of a window, and each alone
        chosen = dict.fromkeys([tuple(range(len(value))), *((at,) for at in range(len(value)))])
        return [
            [tuple(one + more * (n in at) for n, one in enumerate(value)) for more in FURTHER]
            for at in chosen
        ]
    return []


@contextmanager
def quiet() -> Iterator[None]:
    """Have NumPy say nothing of NaN and infinity, which are meant."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _exact(case: Case) -> list[Array] | None:
    """Return the exact results of a case, None where a shape rule, or NumPy, refuses it."""
    return faults.attempted(lambda: case.exact, None)


def is_taken(case: Case) -> bool:
    """Say whether the CPU kernel takes a case; what it refuses is none."""
    return _exact(case) is not None


def is_held(case: Case, dtype: Any = np.float32, *, with_infinity: bool = False) -> bool:
    """Say whether a case is taken and a dtype can hold its results, infinities as is asked."""
    exact = _exact(case)
    if exact is None:
        return False
    if with_infinity:
        return not any(np.isnan(one.astype(dtype)).any() for one in exact)
    return all(np.isfinite(one.astype(dtype)).all() for one in exact)


def is_choice(case: Case) -> bool:
    """Say whether a case is taken and its results are numbers of its integers, or 0."""
    exact = _exact(case)
    given = np.concatenate([[0], *(one.ravel() for one in case.arrays if one.dtype.kind in "iu")])
    return exact is not None and all(
        one.dtype.kind in "iu" and np.isin(one, given).all() for one in exact
    )


def is_elementwise(case: Case) -> bool:
    """Say whether every result has the shape to which the inputs broadcast."""
    try:
        shape = np.broadcast_shapes(*(one.shape for one in case.arrays))
    except ValueError:
        return False
    exact = _exact(case)
    return exact is not None and all(one.shape == shape for one in exact)


def is_of_place(case: Case, number: int, at: tuple[int, ...], want: Any) -> bool:
    """Say whether an exact result is the same where all inputs that are elsewhere are others."""
    others: list[Array] = []
    for one, drawn in zip(case.arrays, plain(case.sample).arrays, strict=True):
        other = np.roll(drawn, 1)
        behind = at[len(at) - one.ndim :]
        place = tuple(i if n > 1 else 0 for i, n in zip(behind, one.shape, strict=True))
        other[place] = one[place]
        others.append(other)
    found = exact_of(case.sample, others)[number][at]
    return bool(found == want and np.signbit(found) == np.signbit(want))


def is_complex_all_through(case: Case) -> bool:
    """Say whether results are complex: which part of them is NaN then depends on the formula."""
    if not any(one.dtype.kind == "c" for one in case.arrays):
        return False
    return any(one.dtype.kind == "c" for one in case.exact)


def behind_another(values: Array) -> Tensor:
    """Return the values behind others, in one buffer."""
    if values.ndim == 0 or values.dtype == object:
        return tensor(values)
    poison = np.full_like(values[:1], np.nan if values.dtype.kind in "fc" else 1)
    if not poison.size:
        return tensor(values)
    return tensor(np.concatenate([poison, values]))[1:]


VIEWS: Mapping[str, Callable[[Array], Tensor]] = {
    **{name: make for name, make in LAYOUTS.items() if name != "default"},
    "offset": behind_another,
}
"""Ways in which inputs are views, by name."""


def with_equal_rows(case: Case) -> Case | None:
    """Return the case with inputs that are equal along their first axis."""
    if not any(one.ndim and one.shape[0] > 1 and one.dtype != object for one in case.arrays):
        return None
    if case.sample.values is not None:
        return None
    arrays = tuple(
        np.broadcast_to(one[:1], one.shape).copy() if one.ndim else one for one in case.arrays
    )
    return Case(case.sample, "broadcast", arrays)


def as_one_row(values: Array) -> Tensor:
    """Return equal rows as one row that is seen several times."""
    is_view = values.ndim and values.shape[0] > 1 and values.dtype != object
    if not is_view or not (values == values[:1]).all():
        return tensor(values)
    return shape_ops.broadcast_to(tensor(values[:1].copy()), values.shape)
