"""What a function of tensors does, kernel by kernel: the list that writers of models go through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError
from wgsl_kernels.engine.environment.origin import user_line
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.execute import dispatch, spec_of, widened
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.registry.widening import is_widened, narrows_of, widened_attrs
from wgsl_kernels.engine.tensors.entries import EntryObserver
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.engine.values.dtypes import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from wgsl_kernels.engine.execution.execute import KernelRun
    from wgsl_kernels.engine.registry.signature import Signature
    from wgsl_kernels.engine.values.dtypes import DType, DTypeName
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape, Spec

    Composition = Callable[..., Any]


_NUMBERED = re.compile(r"variable_\d+")
"""Names of variables that nobody gave."""


_DRAWING = frozenset({"Multinomial", "RandomNormal", "RandomUniform"})
OF_LENGTHS = frozenset({"Range", "Slice", "StridedSlice"})
"""Kernels that may depend on a length of the inputs where they depend on no values of them."""


class CannotSayError(Exception):
    """A kernel's call that a format cannot say, and why."""


@dataclass(eq=False, slots=True)
class GraphValue:
    """A tensor of a run; told from others by identity.

    Attributes:
        spec: Its shape and dtype.
        array: The values of what depends on no input; else None.
        made: The kernel and the line that it is of; "" where it is of no kernel.
        name: That of the variable that it is, or is made of alone; "" where there is none.
    """

    spec: Spec
    array: Array | None = None
    made: str = ""
    name: str = ""

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> DTypeName:
        """The elements' dtype."""
        return OBJECTS[self.spec.dtype]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.spec.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.spec.size


@dataclass(frozen=True)
class TracedCall:
    """A kernel run that depends on the inputs.

    Attributes:
        kernel: Its name.
        inputs: In the signature's order, lists flattened; None where absent.
        casts: The dtype that each input is promoted to; None where it is none that is promoted.
        attrs: All, the defaults among them.
        outputs: What it gave.
        line: ``file:line`` of the user's that ran it.
        problem: Why its composition does not hold for it; "" where nothing is wrong.
    """

    kernel: str
    inputs: Sequence[GraphValue | None]
    casts: Sequence[DType | None]
    attrs: Mapping[str, Any]
    outputs: Sequence[GraphValue]
    line: str
    problem: str = ""


@dataclass(frozen=True)
class FunctionTrace:
    """A run of a function.

    Attributes:
        inputs: By name.
        outputs: By name.
        calls: In the order of the run.
    """

    inputs: Mapping[str, GraphValue]
    outputs: Mapping[str, GraphValue]
    calls: Sequence[TracedCall]


def example_tensors(caller: str, given: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return a tensor of each example.

    Raises:
        WgslKernelsError: One makes no tensor, as a tree of tensors does not.
    """
    found = {}
    for name, value in given.items():
        try:
            found[name] = tensor(value)
        except WgslKernelsError as error:
            raise type(error)(
                f"{caller}: the example {name!r} is a {type(value).__name__}; want a tensor or an "
                f"array. Give each tensor of a tree under a name, and make the tree in f. ({error})"
            ) from error
    return found


def trace(
    caller: str,
    f: Callable[..., Any],
    given: Mapping[str, Tensor],
    rules: Container[str],
    compositions: Mapping[str, Composition],
    computed: Container[str] = (),
) -> FunctionTrace:
    """Run a function and return what it does.

    Args:
        caller: Whose errors these are.
        f: Called with ``given`` by name.
        given: Its inputs.
        rules: The kernels that the format can say.
        compositions: By name of a kernel that it cannot: a function that does the same by other
            kernels, called with the kernel's inputs and its attributes by name.
        computed: Kernels that are noted though they depend on no input.

    Raises:
        ArgumentError: ``f`` gives something else than tensors; or it reads values that depend on
            its inputs, so that another run might do something else; or it draws random numbers.
    """
    tracer = _Tracer(caller, given, rules, compositions, computed)
    with context.intercepted(tracer):
        found = f(**given)
    if tracer.read:
        raise ArgumentError(
            f"{caller}: f reads values that depend on its inputs, at {tracer.read}: other inputs "
            "might take another way. Compute with tensors throughout, as by where."
        )
    outputs = _named(caller, found, given)
    return FunctionTrace(
        {name: tracer.value(one) for name, one in given.items()},
        {name: tracer.value(one) for name, one in outputs.items()},
        tracer.calls,
    )


class _Tracer(EntryObserver):
    """The interceptor behind `trace`."""

    def __init__(
        self,
        caller: str,
        given: Mapping[str, Tensor],
        rules: Container[str],
        compositions: Mapping[str, Composition],
        computed: Container[str],
    ) -> None:
        self.calls: list[TracedCall] = []
        self.read = ""
        self._caller = caller
        self._drawn: dict[int, str] = {}
        self._rules = rules
        self._compositions = compositions
        self._computed = computed
        self._values = {one._id: GraphValue(one.spec) for one in given.values()}
        self._made: dict[int, str] = {}
        self._names: dict[int, str] = {}

    def __call__(self, call: Any, proceed: Any) -> Any:
        """Run a kernel and note it, if it depends on the inputs."""
        name = call.name
        declared = find_signature(name)
        given_attrs = {one: plain(value) for one, value in call.attrs.items()}  # lists may change
        attrs = {**({} if declared is None else declared.attrs), **given_attrs}
        inputs = flat(call.inputs)
        depends = any(one is not None and self._depends(one) for one in inputs)
        if name in self._computed:
            depends = depends or not any(one._id in self._drawn for one in inputs)
        given = [one if one is None else self.value(one) for one in inputs] if depends else []
        casts = _casts(declared, call.inputs) if depends else []  # proceeding promotes the inputs
        composed, problem = None, ""
        if depends and _is_widened(call, attrs):
            composed, problem = self._composed(_in_int32(call), call.inputs, given_attrs)
        elif depends and name not in self._rules and name in self._compositions:
            composed, problem = self._composed(self._compositions[name], call.inputs, attrs)
        result = proceed(call)
        outputs = _several(result)
        if composed is not None and [y.spec for y in composed] != [y.spec for y in outputs]:
            composed, problem = None, f"of {given[0].dtype}" if given and given[0] else "of these"
        line = user_line()
        if composed is not None:
            self._values |= {
                y._id: self.value(one) for y, one in zip(outputs, composed, strict=True)
            }
        elif depends:
            made = [GraphValue(one.spec, made=f"{name} at {line}") for one in outputs]
            self._values |= {y._id: one for y, one in zip(outputs, made, strict=True)}
            self.calls.append(TracedCall(name, given, casts, attrs, made, line, problem))
        else:
            self._made |= {one._id: f"{name} at {line}" for one in outputs}
            known = [self._drawn[x._id] for x in inputs if x is not None and x._id in self._drawn]
            drawn = [f"at {line} ({name})"] if name in _DRAWING else known
            self._drawn |= {one._id: drawn[0] for one in outputs if drawn}
            if len(inputs) == 1:
                self._names |= {one._id: self._name(inputs[0]) for one in outputs}
        return result

    def _composed(
        self, composition: Composition, inputs: Sequence[Any], attrs: Mapping[str, Any]
    ) -> tuple[list[Tensor] | None, str]:
        """Return what other kernels give in a kernel's place, or why none do."""
        try:
            with context.changed(interceptors=(self,)):
                return _several(composition(*inputs, **attrs)), ""
        except CannotSayError as error:
            return None, str(error)

    def value(self, x: Any) -> GraphValue:
        """Return what stands for a tensor; what depends on no input has its values of now."""
        if x._id in self._drawn:
            raise ArgumentError(
                f"{self._caller}: f draws random numbers, {self._drawn[x._id]}: they would be the "
                "same in each run of the model. Call layers with train=False, or draw before, "
                "outside of f."
            )
        if x._id not in self._values:
            with context.changed(interceptors=()):
                array = np.asarray(x.numpy())
            made = self._made.get(x._id, "")
            self._values[x._id] = GraphValue(x.spec, array, made, self._name(x))
        return self._values[x._id]

    def _name(self, x: Any) -> str:
        """Return what a user calls a variable, or the one that a tensor is made of."""
        found: str = x.name if isinstance(x, Variable) else self._names.get(x._id, "")
        return "" if _NUMBERED.fullmatch(found) else found

    def _depends(self, x: Any) -> bool:
        known = self._values.get(x._id)
        return known is not None and known.array is None

    def entered(self, tensor: Tensor, values: Array) -> None:
        """Do nothing: values from the host depend on no input."""

    def copied(self, tensor: Tensor, source: Tensor) -> None:
        """Note a tensor that is another under a new name."""
        if self._depends(source):
            self._values[tensor._id] = self._values[source._id]

    def was_read(self, tensor: Tensor) -> None:
        """Note the first line that reads what depends on the inputs."""
        if not self.read and self._depends(tensor):
            self.read = user_line()

    def assigned(self, variable: Any, value: Tensor) -> None:
        """Note that a variable has other values from now on."""
        for facts in (self._values, self._drawn):
            facts.pop(variable._id, None)
        if self._depends(value):
            self._values[variable._id] = self._values[value._id]
        elif value._id in self._drawn:
            self._drawn[variable._id] = self._drawn[value._id]


def _casts(declared: Signature | None, inputs: Sequence[Any]) -> list[DType | None]:
    """Return the dtype that each input is promoted to, those of lists one by one."""
    found = None if declared is None else declared.casts([spec_of(one) for one in inputs])
    counts = [len(one) if isinstance(one, (tuple, list)) else 1 for one in inputs]
    each = [None] * len(counts) if found is None else found
    return [one for one, count in zip(each, counts, strict=True) for _ in range(count)]


def _is_widened(call: KernelRun, attrs: Mapping[str, Any]) -> bool:
    """Say whether a kernel computes bytes in int32."""
    driver = context.current().driver or default_driver()
    return is_widened(call.name, driver.name, [spec_of(one) for one in call.inputs], attrs)


def _in_int32(call: KernelRun) -> Composition:
    """Return what computes a kernel of bytes by casts to int32 and back.

    Formats have bytes late or never in what computes; casts they have.
    """

    def compose(*inputs: Any, **attrs: Any) -> Any:
        declared = find_signature(call.name)
        checked = attrs if declared is None else declared.check_attrs(attrs)
        narrows = narrows_of(declared, [spec_of(one) for one in inputs], checked)
        return widened(
            narrows,
            inputs,
            lambda wide: dispatch(call.name, wide, widened_attrs(attrs), call.names),
        )

    return compose


def _several(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def flat(inputs: Iterable[Any]) -> list[Any]:
    """Return the inputs of a kernel, those of lists one by one."""
    found: list[Any] = []
    for one in inputs:
        found += one if isinstance(one, (tuple, list)) else [one]
    return found


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name, with ``_`` behind it until it is not taken."""
    while name in taken:
        name += "_"
    return name


def _named(caller: str, found: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what a function gave by name.

    Raises:
        ArgumentError: It is nothing, something of it is no tensor, or has no name of its own.
    """
    if isinstance(found, (tuple, list)):
        outputs = {free_name(f"y{i}", inputs): one for i, one in enumerate(found)}
    else:
        outputs = dict(found) if isinstance(found, dict) else {free_name("y", inputs): found}
    if not outputs:
        raise ArgumentError(f"{caller}: f gave {found}; want a tensor at least.")
    names: list[Any] = list(outputs)
    for name, one in zip(names, outputs.values(), strict=True):
        if not isinstance(name, str) or not name or name in inputs:
            raise ArgumentError(
                f"{caller}: an output is called {name!r}; want a name that no input has."
            )
        if not isinstance(one, Tensor):
            raise ArgumentError(
                f"{caller}: output {name!r} is a {type(one).__name__}; want a tensor."
            )
    return outputs
