"""The errors a user meets: each is a WgslKernelsError and the built-in that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ArgumentError as ArgumentError
from wgsl_kernels.wgsl.errors.errors import ShaderError as ShaderError
from wgsl_kernels.wgsl.errors.errors import WgslKernelsError as WgslKernelsError

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.findings import Finding


class ShapeError(WgslKernelsError, ValueError):
    """A tensor's shape does not fit the kernel, or two shapes do not fit each other."""


class AlreadyRegistered(WgslKernelsError, ValueError):  # noqa: N818  the contract fixes the name
    """A name is taken; the message says by whom."""


class DTypeError(WgslKernelsError, TypeError):
    """A tensor's dtype does not fit the kernel or the backend."""


class KernelNotFound(WgslKernelsError, LookupError):  # noqa: N818  the contract fixes the name
    """No kernel of that name on that backend; the message lists the backends that have it."""


class GradientNotFound(WgslKernelsError, LookupError):  # noqa: N818  the contract fixes the name
    """A gradient was asked through a kernel that has none."""


class IndexOutOfRange(WgslKernelsError, IndexError):  # noqa: N818  the contract fixes the name
    """An index read from a tensor lies outside the axis it addresses."""


class DisposedTensorError(WgslKernelsError, RuntimeError):
    """A tensor was used after it was disposed."""


class FallbackWarning(RuntimeWarning):
    """Something runs on the CPU, or is read and left to NumPy; ``config.fallback`` says how."""


class KernelFault(WgslKernelsError, RuntimeError):  # noqa: N818  it is a fault of the kernel
    """A kernel did what it must not, under ``config.debug``, or the adapter has ended its loops.

    It is raised at the next read.

    Attributes:
        findings: What was found, each with the author's place.
    """

    def __init__(self, message: str, *, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class ShadowMismatch(WgslKernelsError, ArithmeticError):  # noqa: N818  a mismatch is what it is
    """In a `shadow` block two backends gave different results for one kernel.

    Attributes:
        script: A script that repeats the kernel alone, where a folder for it was given.
    """

    script: str | None = None


class DeviceLostError(WgslKernelsError, RuntimeError):
    """The GPU device was lost; the next op gets a new one."""


class OutOfMemoryError(WgslKernelsError, MemoryError):
    """An allocation is beyond the device, the limit set, or the machine."""


class NumericsError(WgslKernelsError, ArithmeticError):
    """``config.check_numerics`` found a NaN or an infinity that a kernel made."""
