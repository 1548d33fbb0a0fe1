"""Samples: facts about kernels from which suites are driven, a module per family."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.testing.sample import Sample


@functools.cache
def all_samples() -> tuple[Sample, ...]:
    """Return the rows of every family, by family in alphabetical order."""
    names = sorted(module.name for module in pkgutil.walk_packages(__path__, f"{__name__}."))
    return tuple(
        sample for name in names for sample in getattr(importlib.import_module(name), "SAMPLES", ())
    )
