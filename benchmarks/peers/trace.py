"""A program as data, for the peer that is not written in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.items.item import Work
from benchmarks.peers.vocabulary import ADAM_EPSILON, EPSILON, LEARNING_RATE, WORDS, spoken


class _Value:
    """What a step of the program gave: its number among all steps, or an input's name."""

    def __init__(self, source: int | str, shape: tuple[int, ...] = ()) -> None:
        self.source = source
        self.shape = shape


def trace(work: Work) -> dict[str, Any]:
    """Return the program as steps ``[word, arguments, attributes]``, and which one is its result.

    An argument is the number of an earlier step, the name of an input, or ``{"number": 0.5}``.
    """
    steps: list[list[Any]] = []

    def word(name: str) -> Any:
        def record(*args: Any, **attrs: Any) -> _Value:
            given = [one.source if isinstance(one, _Value) else {"number": one} for one in args]
            steps.append([name, given, attrs])
            return _Value(len(steps) - 1)

        return record

    arrays = {**work.inputs, **work.variables}
    result = work.program(
        spoken({name: word(name) for name in WORDS}),
        **{name: _Value(name, one.shape) for name, one in arrays.items()},
    )
    return {"steps": steps, "result": result.source}


def write(work: Work, folder: Path) -> Path:
    """Write the program and its arrays into ``folder``; return the file that names them all."""
    arrays = {}
    for name, one in {**work.inputs, **work.variables}.items():
        file = folder / f"{name}.bin"
        np.ascontiguousarray(one).tofile(file)
        arrays[name] = {"file": str(file), "shape": list(one.shape), "dtype": one.dtype.name}
    facts = {
        "kind": work.kind,
        "arrays": arrays,
        "variables": list(work.variables),
        "epsilon": EPSILON,
        "learning_rate": LEARNING_RATE,
        "adam_epsilon": ADAM_EPSILON,
        **trace(work),
    }
    path = folder / "program.json"
    path.write_text(json.dumps(facts), encoding="utf-8")
    return path
