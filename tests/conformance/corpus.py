"""Reads the recorded TensorFlow.js cases that lie beside the checkout; see FORMAT.md there.

A case keeps the line it was read from and decodes it when asked, so that collecting is quick.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.public_names import snake_case

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "tfjs-golden"

Array = np.ndarray
Inputs = dict[str, "Array | list[Array]"]

_DTYPES = {"float32": "<f4", "int32": "<i4", "bool": "?", "complex64": "<c8"}
_TYPED_ARRAYS = {"Float32Array": "<f4", "Int32Array": "<i4", "Uint8Array": "u1"}


@dataclass(frozen=True)
class Unknown:
    """A result of which only shape and dtype are known: random, or wrong and not computed anew."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Case:
    """One recorded run: of a kernel, of its gradient, or of something that throws."""

    raw: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The record's own name, such as ``Abs/010``."""
        return str(self.raw["id"])

    @property
    def kernel(self) -> str:
        """The kernel's name; empty where a public op was called."""
        return str(self.raw.get("kernel", ""))

    @property
    def op(self) -> str:
        """The public op's name in TensorFlow.js; empty where a kernel was run."""
        return str(self.raw.get("op", ""))

    @property
    def quirks(self) -> list[str]:
        """What TensorFlow.js does wrong or peculiarly here."""
        return list(self.raw["quirks"])

    def is_called(self, judgement: str) -> bool:
        """Say whether a quirk is of this judgement: "wrong", "peculiar" or "forward wrong"."""
        return any(quirk.startswith(judgement + ":") for quirk in self.quirks)

    @property
    def inputs(self) -> Inputs:
        """The inputs by name, in snake_case; a list where the kernel takes one."""
        return {
            snake_case(name): [array_of(one) for one in value]
            if isinstance(value, list)
            else array_of(value)
            for name, value in self.raw["inputs"].items()
        }

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes by name, in snake_case."""
        return {snake_case(name): value_of(one) for name, one in self.raw["attrs"].items()}

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of a public op, by their names in TensorFlow.js."""
        return dict(value_of(self.raw["args"]))

    def input(self, name: str, inputs: Mapping[str, Any] | None = None) -> Any:
        """Return an input by its name in ``dx``: its own, or its place in a kernel's list."""
        values = self.inputs if inputs is None else inputs
        if name.isdigit():
            return next(one for one in values.values() if isinstance(one, list))[int(name)]
        return values[name]

    @property
    def differentiable(self) -> list[str]:
        """The names in ``dx`` of inputs that gradients flow to: those of floats."""
        return [name for name in self.gradients("dx") if self.input(name).dtype.kind in "fc"]

    @property
    def arriving(self) -> list[Array | None]:
        """The gradients that arrive, one per output; None where none does."""
        return [one and array_of(one) for one in self.raw["dy"]]

    def tensors(self, field: str) -> list[Array | Unknown | None]:
        """Return a list of tensors: ``outputs`` or ``expected``."""
        return [one and tensor_of(one) for one in self.raw[field]]

    def gradients(self, field: str) -> dict[str, Array]:
        """Return gradients by input name, in snake_case: ``dx`` or ``expected_dx``."""
        return {
            snake_case(name): array_of(one) for name, one in (self.raw.get(field) or {}).items()
        }


def cases(file: str) -> list[Case]:
    """Return the cases of ``file`` whose kernel, if they name one, this package has."""
    ours = _own_kernels()
    found = [Case(raw) for raw in _lines(file)]
    return [case for case in found if case.op or case.kernel in ours]


def optimizer_runs() -> list[Mapping[str, Any]]:
    """Return the recorded runs of optimizers."""
    return list(json.loads((FOLDER / "optimizers.json").read_text(encoding="utf-8")))


def op_parameters(op: str) -> list[str]:
    """Return the parameter names of a public op of TensorFlow.js, in order."""
    return [one["name"] for one in _op_signatures()[op]["params"]]


def op_types(op: str) -> dict[str, str | None]:
    """Return the types of a public op's parameters, in TypeScript, by name."""
    return {one["name"]: one["type"] for one in _op_signatures()[op]["params"]}


def op_paths(op: str) -> list[str]:
    """Return the names by which TensorFlow.js's users may call an op, its own last."""
    known = _op_signatures().get(op, {"public": []})
    return [*(path.removeprefix("tf.") for path in known["public"]), op]


def tensor_of(raw: Mapping[str, Any]) -> Array | Unknown:
    """Return the values of a recorded tensor, where they are not random."""
    if raw.get("random"):
        return Unknown(tuple(raw["shape"]), raw["dtype"])
    return array_of(raw)


def array_of(raw: Mapping[str, Any]) -> Array:
    """Return the values of a recorded tensor; strings as an array of objects."""
    shape = tuple(raw["shape"])
    if raw["dtype"] == "string":
        texts = np.empty(len(raw["data"]), object)
        for index, one in enumerate(raw["data"]):
            texts[index] = base64.b64decode(one["b64"]) if isinstance(one, dict) else one
        return texts.reshape(shape)
    return np.frombuffer(base64.b64decode(raw["data"]), _DTYPES[raw["dtype"]]).reshape(shape)


def value_of(raw: Any) -> Any:
    """Return the Python value of a recorded argument or attribute; of a tensor, an array."""
    if isinstance(raw, list):
        return [value_of(one) for one in raw]
    if not isinstance(raw, dict):
        return raw
    if "$float" in raw:
        return float(raw["$float"])
    if "$undefined" in raw:
        return None
    if "$tensor" in raw:
        return array_of(raw["$tensor"])
    if "$array" in raw:
        kind = _TYPED_ARRAYS[raw["$array"]["type"]]
        return np.frombuffer(base64.b64decode(raw["$array"]["data"]), kind).tolist()
    return {name: value_of(one) for name, one in raw.items()}


@functools.cache
def _lines(file: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@functools.cache
def _own_kernels() -> frozenset[str]:
    registered = [*wk.kernels_for_backend("cpu"), *wk.kernels_for_backend("webgpu")]
    return frozenset(
        one.name for one in registered if one.origin.module.startswith("wgsl_kernels.")
    )


@functools.cache
def _op_signatures() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "op_signatures.json").read_text(encoding="utf-8")))
