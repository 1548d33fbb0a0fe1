"""What is said where something is registered: names, dtypes, functions and their parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wgsl_kernels.engine.environment.errors import AlreadyRegistered, ArgumentError, DTypeError
from wgsl_kernels.engine.registry.registrations import changing
from wgsl_kernels.engine.values.attributes import function
from wgsl_kernels.engine.values.dtypes import DTYPES, canonical
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.environment.parameters import Parameters
    from wgsl_kernels.engine.values.dtypes import DType

K = TypeVar("K")
R = TypeVar("R", bound="Registered")


def kernel_name(call: str, name: Any) -> str:
    """Return the name of a kernel.

    Raises:
        ArgumentError: It is no string; a function tells that a decorator stands bare.
    """
    if isinstance(name, str):
        return name
    hint = f" Write @{call}('Name') above the function." if callable(name) else ""
    raise ArgumentError(f"{call}: name is {shown(name)}; want a kernel's name, a string.{hint}")


def implementation(call: str, name: str, func: Any) -> Any:
    """Return the function that is registered for a kernel.

    Raises:
        ArgumentError: It is none.
    """
    return function(f"{call}: {name}", "the function", func)


def dtypes_given(call: str, name: str, dtypes: Any) -> frozenset[DType] | None:
    """Return the dtypes that a kernel takes, None for any.

    Raises:
        ArgumentError: They are no dtypes.
    """
    if dtypes is None:
        return None
    want = f"want some of {', '.join(DTYPES)}, in a tuple"
    if isinstance(dtypes, str) or not isinstance(dtypes, Iterable):
        raise ArgumentError(f"{call}: {name}: dtypes is {shown(dtypes)}; {want}.")
    listed: list[Any] = list(dtypes)
    try:
        return frozenset([canonical(one) for one in listed])
    except DTypeError:
        raise ArgumentError(f"{call}: {name}: dtypes is {shown(dtypes)}; {want}.") from None


def promoted(name: str, promote: Any, parameters: Parameters) -> tuple[str, ...]:
    """Return the inputs that are cast to their common dtype.

    Raises:
        ArgumentError: They are no names of inputs.
    """
    known = parameters.positional
    if isinstance(promote, (list, tuple)) and all(one in known for one in promote):
        return tuple(promote)
    want = f"want some of its inputs in a tuple, which are {', '.join(known) or 'none'}"
    raise ArgumentError(f"{name}: promote is {shown(promote)}; {want}.")


def check_parameters(name: str, parameters: Parameters) -> None:
    """Refuse a signature whose parameters do not name its inputs and attributes.

    Raises:
        ArgumentError: It has ``*x`` or ``**x``.
    """
    for mark, is_there, what in (
        ("*", parameters.any_positional, "tensor"),
        ("**", parameters.any_keyword, "attribute"),
    ):
        if is_there:
            raise ArgumentError(
                f"{name}: its signature takes {mark}; want a parameter of its own for each {what}, "
                "or list[Spec] for a list of tensors."
            )


class Registered(Protocol):
    """What a table holds: who reads it finds one, or the one that replaces it."""

    @property
    def origin(self) -> Origin:
        """Where it was registered."""
        ...


def put(table: dict[K, R], key: K, made: R, what: str, *, override: bool) -> R | None:
    """Put something into its table, in one step, and return what it replaces.

    Args:
        table: What is registered, by name.
        key: Under what.
        made: What is put there.
        what: Its name in the message.
        override: Whether it replaces what another place has registered.

    Raises:
        AlreadyRegistered: The name is taken by another place, and ``override`` is not set.
    """
    with changing:
        present = table.get(key)
        if present is not None and not override and not made.origin.replaces(present.origin):
            raise AlreadyRegistered(
                f"{what} is already registered by {present.origin}; "
                "pass override=True to replace it, or unregister it first."
            )
        table[key] = made
    return present
