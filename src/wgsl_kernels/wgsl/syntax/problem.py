"""What is wrong with a text, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import REFUSED, ShaderError, coded

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as the specification has it, and where; ``code`` is a finding's."""

    message: str
    begin: int
    code: str = REFUSED

    def describe(self, text: Text) -> str:
        """Return the message led by the place and followed by the line with a caret."""
        return text.point(self.message, self.begin)

    def error(self, text: Text, lead: str = "") -> ShaderError:
        """Return the error that says it, behind ``lead``."""
        return coded(self.code, f"{lead}{self.describe(text)}")
