"""How an elementwise op is declared whose signature is a rule that many share: in one row."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel, kernel_of
from wgsl_kernels.engine.environment.origin import caller
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.registry import facts
from wgsl_kernels.engine.registry.gradients import add_rule
from wgsl_kernels.engine.registry.registry import Kernel, add_kernel
from wgsl_kernels.engine.registry.signature import define_signature
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.rules.specs import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array

F = TypeVar("F", bound=Callable[..., Any])


class Declare(Protocol):
    """Declares a kernel, given the function that runs it, and returns the function."""

    def __call__(self, op: F, /) -> F:
        """Declare the kernel."""
        ...


_SAME: Mapping[DType, DType] = MappingProxyType({})

declared: list[str] = []
"""The kernels that were declared so."""


def elementwise(
    name: str,
    shader: str,
    *,
    cpu: Callable[..., Array],
    gradient: Callable[..., Any] | None = None,
    because: str = "",
    takes: Sequence[DType] = NUMBERS,
    gives: Mapping[DType, DType] = _SAME,
    promote: bool = True,
    exact: Sequence[DType] = (),
) -> Declare:
    """Declare a kernel of the tensor ``x``, or of ``a`` and ``b`` which are broadcast.

    The decorated function, which runs it, tells by its parameters which of the two.

    Args:
        name: The kernel's name.
        shader: Its map in WGSL.
        cpu: The same in NumPy.
        gradient: Its gradient rule, as `engine.registry.gradients.gradient` takes it; one that is
            no formula is declared below the function.
        because: Why it has none.
        takes: The dtypes that it takes.
        gives: The output's dtype for those inputs for which it is another.
        promote: Whether ``a`` and ``b`` are cast to their common dtype.
        exact: The dtypes for which ``cpu`` gives the same bits as any device; see
            `engine.registry.exact`.
    """
    origin = caller()

    def declare(op: F, /) -> F:
        inputs = parameters_of(op).positional
        rule = _of_x(name, takes, gives) if inputs == ("x",) else pair_rule(name, takes, gives)
        promoted = inputs if promote and len(inputs) == 2 else ()
        given = facts.exact(*exact)(rule) if exact else rule
        define_signature(name, given, promote=promoted, origin=origin)
        declared.append(name)
        add_kernel(Kernel(name, "cpu", cpu, origin, takes=frozenset(), names=lambda: inputs))
        add_kernel(kernel_of(ShaderKernel(name, shader, origin)))
        if gradient is not None or because:
            add_rule(name, gradient, origin, because=because)
        return op

    return declare


def _of_x(
    kernel: str, takes: Sequence[DType], gives: Mapping[DType, DType]
) -> Callable[[Spec], Spec]:
    def rule(x: Spec, /) -> Spec:
        require_dtype(kernel, "x", x, *takes)
        return x.like(dtype=gives[x.dtype]) if x.dtype in gives else x

    return rule


def pair_rule(
    kernel: str, takes: Sequence[DType], gives: Mapping[DType, DType] = _SAME
) -> Callable[[Spec, Spec], Spec]:
    """Return the signature of a kernel of ``a`` and ``b``, which are of one dtype and broadcast."""

    def rule(a: Spec, b: Spec, /) -> Spec:
        require_dtype(kernel, "a", a, *takes)
        require_dtype(kernel, "b", b, *takes)
        return Spec(broadcast(kernel, a=a, b=b), gives.get(a.dtype, a.dtype))

    return rule
