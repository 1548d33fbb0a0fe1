"""What ``wgsl-kernels onnx`` does with a model: run it, list its nodes, compare backends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.files import naming_damage
from wgsl_kernels.engine.observe.explain import explain
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.onnx.model import timed
from wgsl_kernels.onnx.types import element, numpy_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from wgsl_kernels.onnx import CoverageRow, Model
    from wgsl_kernels.onnx.graph import OnnxNode

TOLERANCE = 1e-4
"""Of the largest value of a node's output: beyond it two backends differ."""


@dataclass(frozen=True)
class NodeDifference:
    """How far a node's output on ``webgpu`` is from that on ``cpu``.

    Attributes:
        name: The node.
        op: Its operator.
        error: The largest difference, in parts of the largest value; 0 where there is none.
    """

    name: str
    op: str
    error: float


def inputs_of(model: Model, file: Path | None) -> dict[str, Any]:
    """Return inputs by name: from a file, or drawn where there is none.

    Floats are drawn from the normal distribution, integers are 0 or 1; lengths that the model
    leaves open are 1.

    Raises:
        ArgumentError: The file lacks an input, or a type cannot be drawn.
    """
    if file is not None:
        return _given(model, file)
    draw = np.random.default_rng(0)
    given: dict[str, Any] = {}
    for one in model.inputs:
        if not one.type.startswith("tensor(") or "string" in one.type:
            raise ArgumentError(f"input {one} is not drawn; give a file with --input.")
        shape = tuple(n if isinstance(n, int) else 1 for n in one.shape or ())
        kind = numpy_type(element(one.type))
        is_whole = kind.kind in "iub"
        drawn = draw.integers(0, 2, shape) if is_whole else draw.standard_normal(shape)
        given[one.name] = np.asarray(drawn).astype(kind)
    return given


def _given(model: Model, file: Path) -> dict[str, Any]:
    """Return the arrays of a file, by the names of a model's inputs."""
    wanted = {one.name: one.type for one in model.inputs}
    said = f"{file}: is no .npz file of plain arrays, as np.savez writes"
    try:
        with file.open("rb") as opened, naming_damage(said), np.load(opened) as found:
            names = set(found.files)
            given = {name: found[name] for name in wanted if name in names}
    except OSError as error:
        raise ArgumentError(f"{said}: {error.strerror}.") from None
    missing = [n for n, kind in wanted.items() if n not in names and "optional(" not in kind]
    if missing:
        raise ArgumentError(f"{file}: has no {', '.join(missing)}; has {sorted(names)}.")
    if names - wanted.keys():
        more = ", ".join(sorted(names - wanted.keys()))
        raise ArgumentError(f"{file}: has {more}; the inputs are {', '.join(wanted)}.")
    return given


def check_out(file: Path) -> None:
    """Refuse a file for outputs that cannot be written.

    Raises:
        ArgumentError: Its name does not end in ``.npz``, or its folder is missing.
    """
    if file.suffix != ".npz":
        raise ArgumentError(f"{file}: want a name that ends in .npz.")
    if not file.parent.is_dir():
        raise ArgumentError(f"{file}: there is no folder {str(file.parent)!r}.")


def outputs_of(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a run by name, as arrays."""
    found = model.numpy(**given)
    return {one.name: value for one, value in zip(model.outputs, found, strict=True)}


def show_outputs(to: Console, outputs: dict[str, Any]) -> None:
    """Print dtype, shape, smallest, mean and largest value of each output."""
    for name, value in outputs.items():
        if not isinstance(value, np.ndarray):
            to.print(f"{name}: {type(value).__name__}")
            continue
        said = f"{name}: {value.dtype.name}{list(value.shape)}"
        if value.size and value.dtype.kind in "fiu":
            wide = value.astype(np.float64)
            said += f", from {wide.min():.6g} to {wide.max():.6g}, mean {wide.mean():.6g}"
        to.print(said)


def nodes_of(model: Model, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each node's name, operator, what it gave and its milliseconds in a run."""
    rows: list[dict[str, Any]] = []

    def note(node: OnnxNode, found: tuple[Any, ...], spent: float) -> None:
        row = {"name": node.name, "op": node.op, "outputs": _shapes(found)}
        rows.append({**row, "milliseconds": round(spent, 3)})

    timed(model, note, **given)
    return rows


def _shapes(found: Iterable[Any]) -> str:
    return ", ".join(
        f"{one.dtype}{list(one.shape)}" if hasattr(one, "shape") else type(one).__name__
        for one in found
    )


def facts_of(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """Return what there is to say of a model and of a run."""
    rows = nodes_of(model, given)
    explained = explain(lambda: model(**given))
    return {
        "inputs": [str(one) for one in model.inputs],
        "outputs": [str(one) for one in model.outputs],
        "parameters": sum(one.size for one in model.parameters.values()),
        "bytes": sum(one.nbytes for one in model.parameters.values()),
        "on load": str(model.optimised),
        "replayed": model.why_not_replayed is None,
        "why not replayed": model.why_not_replayed,
        "dispatches": str(explained).partition("\n")[0],
        "nodes": rows,
    }


def show_facts(to: Console, facts: dict[str, Any]) -> None:
    """Print facts of a model: a line each, then a table of the nodes."""
    for name, value in facts.items():
        if name != "nodes" and value is not None:
            to.print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    table = Table(box=SIMPLE_HEAD)
    for head in ("node", "operator", "gives", "ms"):
        table.add_column(head, justify="right" if head == "ms" else "left", overflow="fold")
    for row in facts["nodes"]:
        table.add_row(row["name"], row["op"], row["outputs"], f"{row['milliseconds']:.2f}")
    to.print(table)


def differences_of(model: Model, given: dict[str, Any]) -> list[NodeDifference]:
    """Return for each node how far its outputs on ``webgpu`` are from those on ``cpu``."""
    with use_backend("cpu"):
        here = _traced(model, given)
    with use_backend("webgpu"):
        there = _traced(model, given)
    return [
        NodeDifference(node.name, node.op, max(map(_error, want, got), default=0.0))
        for (node, want), (_, got) in zip(here, there, strict=True)
    ]


def _traced(model: Model, given: dict[str, Any]) -> list[tuple[OnnxNode, list[Any]]]:
    """Return each node of a run with its outputs as arrays."""
    seen: list[tuple[OnnxNode, list[Any]]] = []

    def note(node: OnnxNode, found: tuple[Any, ...]) -> None:
        seen.append((node, [np.asarray(x.numpy()) for x in found if isinstance(x, Tensor)]))

    model.trace(note, **given)
    return seen


def _error(want: Any, got: Any) -> float:
    if want.shape != got.shape:
        return float("inf")
    if not want.size or want.dtype.kind not in "fcbiu":
        return 0.0
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = want.astype(wide), got.astype(wide)
    both = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~both], b[~both], equal_nan=True):
        return float("inf")
    scale = float(np.abs(a[both]).max(initial=0.0))
    return float(np.abs(a[both] - b[both]).max(initial=0.0)) / (scale or 1.0)


def show_differences(to: Console, rows: Sequence[NodeDifference]) -> bool:
    """Print the worst node and the first that differs; return whether there is none."""
    if not rows:
        to.print("no node")
        return True
    worst = max(rows, key=lambda one: one.error)
    to.print(
        f"{len(rows)} nodes; worst: {worst.op} {worst.name!r}, {worst.error:.2g} of its largest"
    )
    first = next((one for one in rows if one.error > TOLERANCE), None)
    if first is not None:
        to.print(f"first beyond {TOLERANCE:g}: {first.op} {first.name!r}, {first.error:.2g}")
    return first is None


def show_coverage(to: Console, rows: Sequence[CoverageRow]) -> None:
    """Print operators and how each is computed."""
    table = Table(box=SIMPLE_HEAD)
    for head in ("operator", "since", "here"):
        table.add_column(head)
    for row in rows:
        name = f"{row.domain}.{row.op}" if row.domain else row.op
        table.add_row(name, str(row.version), row.how or "not known")
    to.print(table)
