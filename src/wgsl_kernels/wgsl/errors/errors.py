"""The errors that a shader can cause, and the base of all errors of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.notebook import ShortTraceback

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.errors.findings import Finding


REFUSED = "does-not-compile"
"""The code of errors of shaders of which nothing more is known."""


class WgslKernelsError(ShortTraceback, Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        blames_kernel: Whether a kernel gave other than its signature says.
    """

    blames_kernel = False

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
        code: What kind of error it is, as findings have it; `finding_codes` lists all.
    """

    def __init__(self, message: str, *, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings
        self.code = findings[0].code if findings else REFUSED


def coded(code: str, message: str) -> ShaderError:
    """Return the error of a message that is all there is to say, of a certain kind."""
    error = ShaderError(message)
    error.code = code
    return error
