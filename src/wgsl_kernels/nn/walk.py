"""The layers of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.trees.trees import DEEPEST


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
    """Return the parts of a tree's node with their names; none for a leaf."""
    if isinstance(value, Mapping):
        return [(str(name), part) for name, part in value.items()]
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or range(len(value))
        return [(str(name), part) for name, part in zip(names, value, strict=True)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(one.name, getattr(value, one.name)) for one in dataclasses.fields(value)]
    return []
