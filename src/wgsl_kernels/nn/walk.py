"""The layers of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.trees.trees import DEEPEST, container_parts


def layers_of(caller: str, model: Any) -> list[tuple[str, Any]]:
    """Return the layers of a model with their paths, each before those in it.

    A layer is a dataclass that can be called; one that stands at several places is given once.

    Raises:
        ArgumentError: The model is nested too deep, or holds itself.
    """
    found: dict[int, tuple[str, Any]] = {}

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if len(path) > DEEPEST:
            raise ArgumentError(
                f"{caller}: the model holds itself, or is nested more than {DEEPEST} deep; want a "
                "tree."
            )
        if is_layer(value):
            if id(value) in found:
                return
            found[id(value)] = ("/".join(path), value)
        for name, part in parts_of(value):
            walk(part, (*path, name))

    walk(model, ())
    return list(found.values())


def is_layer(value: Any) -> bool:
    """Say whether a value is a dataclass that can be called."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type) and callable(value)


def parts_of(value: Any) -> list[tuple[str, Any]]:
    """Return the parts of a container or a dataclass with their names; none of anything else."""
    parts = container_parts(value)
    return [] if parts is None else list(zip(map(str, parts.names), parts.values, strict=True))
