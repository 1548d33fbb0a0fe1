"""The samples of kernels: those of the package, and those that users add for their own."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.testing import samples as families
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

_added: dict[str, list[Sample]] = {}


@functools.cache
def all_samples() -> tuple[Sample, ...]:
    """Return the rows of every family, by family in alphabetical order."""
    names = sorted(
        module.name for module in pkgutil.walk_packages(families.__path__, f"{families.__name__}.")
    )
    return tuple(
        sample for name in names for sample in getattr(importlib.import_module(name), "SAMPLES", ())
    )


def add_samples(name: str, *samples: Sample) -> None:
    """Say how the kernel ``name`` is tried; stands beside its op, and adds to what was said before.

    ``wgsl-kernels check`` and `check_kernel` run them.

    Args:
        name: The kernel's name.
        *samples: At least one; each names that kernel.

    Raises:
        ArgumentError: There is none, or one is of another kernel.
    """
    if not samples:
        raise ArgumentError(f"add_samples: {name!r} got no samples; want Sample({name!r}, f, …).")
    for one in samples:
        if not isinstance(one, Sample):
            raise ArgumentError(
                f"add_samples: {name!r} got {shown(one)}; want Sample({name!r}, …)."
            )
        if one.kernel != name:
            raise ArgumentError(f"add_samples: got a sample of {one.kernel!r}; want {name!r}.")
    rows = [row for one in samples for row in one.rows()]
    kept = {one.id for one in rows}  # a cell that is run again says the same anew
    before = [one for one in _added.get(name, []) if one.id not in kept]
    _added[name] = [*before, *rows]


def samples_of(name: str) -> tuple[Sample, ...]:
    """Return the samples of a kernel: those that were added, else those that the package has."""
    added = _added.get(name)
    return tuple(added) if added else tuple(one for one in all_samples() if one.kernel == name)


def set_samples(name: str, samples: Iterable[Sample]) -> None:
    """Have these, and no others, be the samples that were added for a kernel."""
    _added[name] = list(samples)


def drop_samples(name: str) -> None:
    """Forget the samples that were added for a kernel."""
    _added.pop(name, None)


def sampled_kernels() -> tuple[str, ...]:
    """Return the kernels for which samples were added, in that order."""
    return tuple(_added)
