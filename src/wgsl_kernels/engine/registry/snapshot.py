"""All registrations as they are at one time, to go back to: kernels, signatures, gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.registry.gradients import gradient_rules
from wgsl_kernels.engine.registry.registrations import announce_change, changing
from wgsl_kernels.engine.registry.registry import kernel_table
from wgsl_kernels.engine.registry.signature import signature_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.engine.registry.registrations import Key


@dataclass(frozen=True)
class Snapshot:
    """What was registered at one time; tables by their kind."""

    tables: Mapping[str, Mapping[Any, Any]]

    def changed(self) -> dict[str, list[Any]]:
        """Return the names that are registered otherwise now, by kind of table."""
        now = take_snapshot().tables
        return {
            kind: [
                name
                for name in {**before, **now[kind]}
                if before.get(name) is not now[kind].get(name)
            ]
            for kind, before in self.tables.items()
        }

    def kernels(self) -> tuple[str, ...]:
        """Return the names of kernels that were registered since, in that order."""
        now = kernel_table()
        names = [name for name in self.changed()["kernel"] if name in now]
        return tuple(dict.fromkeys(name for name, _ in names))

    def restore(self) -> None:
        """Have everything registered as it was then; what came of the changes is dropped."""
        with changing:
            changed = self.changed()
            now = _tables()
            for kind, names in changed.items():
                for name in names:
                    if name in self.tables[kind]:
                        now[kind][name] = self.tables[kind][name]
                    else:
                        now[kind].pop(name, None)
        keys = list(_keys(changed))
        if keys:
            announce_change(*keys)


def take_snapshot() -> Snapshot:
    """Return what is registered now."""
    return Snapshot({kind: table.copy() for kind, table in _tables().items()})


def _tables() -> dict[str, dict[Any, Any]]:
    return {
        "kernel": kernel_table(),
        "signature": signature_table(),
        "gradient": gradient_rules(),
    }


def _keys(changed: Mapping[str, list[Any]]) -> Iterator[Key]:
    for kind, names in changed.items():
        for name in names:
            yield (kind, *name) if isinstance(name, tuple) else (kind, name)
