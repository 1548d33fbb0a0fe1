"""Files of TensorFlow.js's models with one value in JSON changed, for tests of what reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ODD_VALUES: tuple[Any, ...] = (None, 3, True, [], {}, [3], {"a": 3})
WORDS_OF_PYTHON = (
    "object has no", "argument must", "not iterable", "not subscriptable", "indices must",
    "unhashable", "TypeError", "KeyError",
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value in JSON."""
    yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _places(one, (*path, key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _places(one, (*path, at))


def refusals(path: Path, value: Any, load: Callable[[Path], Any]) -> Iterator[str]:
    """Yield what is said of a model.json for each place in which a value may stand."""
    text = path.read_text()
    for place in _places(json.loads(text)):
        content = json.loads(text)
        inside: Any = {"whole": content}
        *keys, last = ("whole", *place)
        for key in keys:
            inside = inside[key]
        inside[last] = value
        path.write_text(json.dumps(content if place else value))
        try:
            load(path)
        except wk.ArgumentError as error:
            yield f"{place}: {error}"
