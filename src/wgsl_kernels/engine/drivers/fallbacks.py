"""Work that a backend leaves to the CPU: how often, and who is told."""

from __future__ import annotations

import warnings

from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import FallbackWarning
from wgsl_kernels.engine.environment.origin import user_place
from wgsl_kernels.engine.environment.progress import logger

fallbacks: dict[tuple[str, str], int] = {}
"""How often a kernel missing on a backend ran on the CPU instead."""


def note_fallback(name: str, backend: str, what: str) -> None:
    """Count that something runs on the CPU instead; the first time say so.

    Args:
        name: The kernel, or what else is counted.
        backend: The backend in force.
        what: What it has not, and what happens instead, as a warning says it.
    """
    first = (name, backend) not in fallbacks
    fallbacks[name, backend] = fallbacks.get((name, backend), 0) + 1
    if not first:
        return
    logger.info("%s: %s", name, what)
    if config.fallback == "warn":
        warnings.warn_explicit(
            f"{name}: {what}. config.fallback = 'silent' hides this, 'error' forbids it.",
            FallbackWarning,
            *user_place(),
        )
