"""The errors that a shader can cause, and the base of all errors of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.notebook import ShortTraceback

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.findings import Finding


class WgslKernelsError(ShortTraceback, Exception):
    """Base of every error that this package raises on purpose."""

    def __str__(self) -> str:
        """Return the message as it was written, also where the built-in would quote it."""
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class ArgumentError(WgslKernelsError, ValueError):
    """An input or attribute is missing, unknown or has a bad value; or a backend is unknown."""


class ShaderError(WgslKernelsError, RuntimeError):
    """A shader cannot be read, composed or compiled; the message points at the author's line.

    Attributes:
        findings: All that is known to be wrong with it, the first being what the message says;
            empty where the message is all.
    """

    def __init__(self, message: str, *, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings
