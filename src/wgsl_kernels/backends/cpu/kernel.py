"""How a NumPy kernel is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.engine.environment.origin import caller
from wgsl_kernels.engine.registry.declaring import dtypes_given, implementation, kernel_name
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel, keywords
from wgsl_kernels.engine.values.host import Array as Array

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType

F = TypeVar("F", bound=Callable[..., Any])


def cpu_kernel(
    name: str, *, dtypes: Iterable[DType] | None = None, override: bool = False
) -> Callable[[F], F]:
    """Register the decorated function as the CPU kernel ``name``.

    It gets NumPy arrays in the signature's order (None for an absent input, a list for a list)
    and, as keywords, those attributes that it names; it returns an array, or a tuple of them.
    What it returns is checked against the signature.

    Args:
        name: The kernel's name.
        dtypes: The dtypes that it takes; any, if left out.
        override: Whether an existing kernel is replaced.

    Raises:
        AlreadyRegistered: Another place has registered one.
        ArgumentError: The name is no string, ``dtypes`` are none, or what is decorated is no
            function.
    """
    origin = caller()
    allowed = dtypes_given("cpu_kernel", kernel_name("cpu_kernel", name), dtypes)

    def register(func: F) -> F:
        implementation("cpu_kernel", name, func)
        kernel = Kernel(name, "cpu", func, origin, dtypes=allowed, takes=keywords(func))
        add_kernel(kernel, override=override)
        return func

    return register
