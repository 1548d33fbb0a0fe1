"""Signatures: what a kernel takes and gives, checked once for all backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.environment.origin import Origin, caller
from wgsl_kernels.engine.environment.parameters import Parameters, parameters_of
from wgsl_kernels.engine.registry.declaring import (
    check_parameters,
    implementation,
    kernel_name,
    promoted,
    put,
)
from wgsl_kernels.engine.registry.facts import Exact, exact_of, is_byte_taker
from wgsl_kernels.engine.registry.registrations import announce_change, changing
from wgsl_kernels.engine.values.attributes import (
    Converter,
    converter,
    converter_like,
    flag,
    plain,
)
from wgsl_kernels.engine.values.dtypes import DType, promote
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import NoShapeError, Spec
from wgsl_kernels.wgsl.errors.words import shown

SpecInput = Spec | list[Spec] | None
Rule = Callable[..., Any]


@dataclass(frozen=True)
class Input:
    """One tensor that a kernel takes.

    Attributes:
        name: Its name.
        optional: Whether it may be absent.
        is_list: Whether it is a list of tensors.
        is_float: Whether host integers become floats for it.
    """

    name: str
    optional: bool
    is_list: bool
    is_float: bool


@dataclass(frozen=True)
class Outputs:
    """What a signature gives: the specs, their names, and whether the result is a single tensor."""

    specs: tuple[Spec, ...]
    names: tuple[str, ...]
    single: bool


@dataclass(frozen=True)
class Signature:
    """The names, attributes and shape rule of one kernel name."""

    name: str
    inputs: tuple[Input, ...]
    attrs: Mapping[str, Any]
    required: frozenset[str]
    kinds: Mapping[str, Converter]
    promote: tuple[str, ...]
    rule: Rule
    origin: Origin
    takes_bytes: bool = False
    """Whether the library's kernels take int8 and uint8 as they are stored."""
    exact: Exact | None = None
    """For what the library's two kernels give the same bits."""

    @property
    def optional_attrs(self) -> Mapping[str, Any]:
        """The defaults of the attributes that may be left out."""
        return {name: one for name, one in self.attrs.items() if name not in self.required}

    def check_attrs(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes with defaults filled in and values in plain Python.

        Raises:
            ArgumentError: One is missing or unknown, or not of the kind that its parameter's
                annotation names; `engine.values.attributes.converter` lists the kinds.
        """
        unknown = [name for name in attrs if name not in self.attrs]
        if unknown:
            known = ", ".join(self.attrs) or "none"
            raise ArgumentError(
                f"{self.name}: attribute {unknown[0]!r} is unknown; known: {known}."
            )
        missing = [name for name in self.attrs if name in self.required and name not in attrs]
        if missing:
            raise ArgumentError(f"{self.name}: attribute {missing[0]!r} is missing.")
        return {
            name: self.kinds[name](self.name, name, plain(attrs[name]))
            if name in attrs
            else plain(default)
            for name, default in self.attrs.items()
        }

    def check_inputs(self, values: Sequence[Any]) -> None:
        """Refuse a missing input, and a list where one tensor belongs or the reverse.

        Raises:
            ArgumentError: The inputs are not those of the signature.
        """
        if len(values) != len(self.inputs):
            known = ", ".join(one.name for one in self.inputs) or "none"
            raise ArgumentError(f"{self.name}: got {len(values)} inputs; want {known}.")
        for declared, value in zip(self.inputs, values, strict=True):
            if value is None and not declared.optional:
                raise ArgumentError(f"{self.name}: input {declared.name!r} is missing.")
            if value is not None and isinstance(value, (list, tuple)) != declared.is_list:
                want = "a list of tensors" if declared.is_list else "one tensor"
                raise ArgumentError(f"{self.name}: input {declared.name!r} wants {want}.")

    def order(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return named inputs in the signature's order, None for those that are absent.

        Raises:
            ArgumentError: A name is unknown.
        """
        names = [one.name for one in self.inputs]
        unknown = [name for name in inputs if name not in names]
        if unknown:
            known = ", ".join(names) or "none"
            raise ArgumentError(f"{self.name}: input {unknown[0]!r} is unknown; known: {known}.")
        return tuple(inputs.get(name) for name in names)

    def casts(self, specs: Sequence[SpecInput]) -> tuple[DType | None, ...] | None:
        """Return the dtype that each input must be cast to (None: as it is), or None if all fit."""
        dtypes = {spec.dtype for spec in self._promoted(specs)}
        if len(dtypes) <= 1:
            return None
        try:
            wanted = promote(*dtypes)
        except DTypeError as error:
            raise DTypeError(f"{self.name}: {', '.join(self.promote)}: {error}") from None
        return tuple(wanted if one.name in self.promote else None for one in self.inputs)

    def _promoted(self, specs: Sequence[SpecInput]) -> list[Spec]:
        found: list[Spec] = []
        for declared, spec in zip(self.inputs, specs, strict=True):
            if declared.name in self.promote and spec is not None:
                found.extend(spec if isinstance(spec, list) else [spec])
        return found

    def infer(self, specs: Sequence[SpecInput], attrs: Mapping[str, Any]) -> Outputs:
        """Return what the kernel gives for inputs of these specs, or raise what the rule raises."""
        try:
            result = self.rule(*specs, **attrs)
        except NoShapeError as error:
            raise ShapeError(f"{self.name}: the result's {error}") from None
        if isinstance(result, Spec):
            return Outputs((self._checked(result),), self._output_names(None), single=True)
        if isinstance(result, dict):
            named = tuple([self._checked(one) for one in result.values()])
            return Outputs(named, tuple(result), single=False)
        if not isinstance(result, (tuple, list)):
            raise self._no_specs(result)
        listed = tuple([self._checked(one) for one in result])
        return Outputs(listed, self._output_names(len(result)), single=False)

    def _checked(self, given: object) -> Spec:
        """Return what a rule says of one output, which a user may have written.

        Raises:
            ArgumentError: It is no Spec.
            ShapeError: A length is below 0.
        """
        if not isinstance(given, Spec):
            raise self._no_specs(given)
        shape: tuple[int | None, ...] = given.shape
        if any(length is not None and length < 0 for length in shape):
            raise ShapeError(
                f"{self.name}: its signature ({self.origin}) gives the shape {show(given.shape)}; "
                "want lengths of 0 or more."
            )
        return given

    def _no_specs(self, found: Any) -> ArgumentError:
        return ArgumentError(
            f"{self.name}: its signature ({self.origin}) gives {shown(found)}; want a Spec, as of "
            "x.like(shape=...), a tuple or list of them, or a dict of them by output name."
        )

    def _output_names(self, count: int | None) -> tuple[str, ...]:
        return output_names([one.name for one in self.inputs], count)


def output_names(inputs: Sequence[str], count: int | None = None) -> tuple[str, ...]:
    """Return what outputs are called beside inputs of these names.

    One is ``y``, several are ``y0``, ``y1``, …; where an input is called ``y`` it is ``out``.
    """
    name = "out" if "y" in inputs else "y"
    return (name,) if count is None else tuple(f"{name}{index}" for index in range(count))


_signatures: dict[str, Signature] = {}


def find_signature(name: str) -> Signature | None:
    """Return the signature of ``name``, or None."""
    return _signatures.get(name)


def signature(
    name: str,
    *,
    promote: Sequence[str] = (),
    floats: Sequence[str] = (),
    override: bool = False,
) -> Callable[[Rule], Rule]:
    """Declare what the kernel ``name`` takes and gives.

    The function's positional-only parameters are the tensors (``list[Spec]`` for a list, a
    default of ``None`` where one may be absent), its keyword-only parameters the attributes. It
    returns a `Spec` for one output, a tuple or list of them, or a dict by output name, or raises.

    An attribute annotated ``float``, ``int``, ``bool``, ``str``, ``DType``, ``Sequence[int]`` (or
    ``Shape``), ``int | Sequence[int]`` or ``Axes`` (``int | Sequence[int] | None``), each also with
    ``| None``, is plain Python of that kind in rule, kernels and gradient, or was refused: ints are
    no bools, a single int is a sequence of one, and a sequence is a tuple. Without an annotation a
    default of ``float`` or ``bool`` tells the kind, and beside an ``int`` stand numbers alone, in
    sequences too, or None.

    Args:
        name: The kernel's name.
        promote: Inputs that are cast to their common dtype before the kernel runs.
        floats: Inputs for which integers and bools on the host, such as a list of ints, become
            float32; tensors stay as they are.
        override: Whether an existing signature is replaced.

    Raises:
        AlreadyRegistered: Another place declares the same name.
        ArgumentError: The name is no string, ``promote`` names no inputs, or the function takes
            ``*x`` or ``**x``.
    """
    origin = caller()
    kernel_name("signature", name)

    def register(rule: Rule) -> Rule:
        implementation("signature", name, rule)
        define_signature(
            name, rule, promote=promote, floats=floats, origin=origin, override=override
        )
        return rule

    return register


def define_signature(
    name: str,
    rule: Rule,
    *,
    promote: Sequence[str] = (),
    floats: Sequence[str] = (),
    origin: Origin,
    override: bool = False,
) -> None:
    """Put a signature into the table; ``@signature`` and ``register_kernel`` end here."""
    parameters = parameters_of(rule)
    check_parameters(name, parameters)
    flag(name, "override", override)
    promote = promoted(name, promote, parameters)
    made = Signature(
        name=name,
        inputs=tuple(
            Input(
                one,
                one in parameters.defaults,
                _is_list(parameters.annotations.get(one)),
                one in floats,
            )
            for one in parameters.positional
        ),
        attrs={one: parameters.defaults.get(one) for one in parameters.keyword_only},
        required=frozenset(set(parameters.keyword_only) - set(parameters.defaults)),
        kinds={one: _kind(parameters, one) for one in parameters.keyword_only},
        promote=promote,
        rule=rule,
        origin=origin,
        takes_bytes=is_byte_taker(rule),
        exact=exact_of(rule),
    )
    put(_signatures, name, made, f"signature {name!r}", override=override)
    announce_change(("signature", name))


def signature_table() -> dict[str, Signature]:
    """Return the table itself: who changes it announces that."""
    return _signatures


def forget_signature(name: str) -> None:
    """Take a signature out of the table, where there is one."""
    with changing:
        found = _signatures.pop(name, None)
    if found is not None:
        announce_change(("signature", name))


def _kind(parameters: Parameters, name: str) -> Converter:
    """Return what brings an attribute into its kind: its annotation's, else its default's."""
    if name in parameters.annotations:
        return converter(_written(parameters.annotations[name]))
    return converter_like(parameters.defaults.get(name))


def _written(annotation: Any) -> str:
    """Return an annotation as its author wrote it, whether or not it was evaluated."""
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if type(annotation) is type else str(annotation)


def _is_list(annotation: Any) -> bool:
    text = _written(annotation).lower()
    return "list[" in text or text.startswith("list")
