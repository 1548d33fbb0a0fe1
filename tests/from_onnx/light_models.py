"""The nine light models of ONNX with drawn weights: what they give, and how long they take.

``python -m tests.from_onnx.light_models [NAME ...]`` compares them with ONNX Runtime on the CPU, on
both backends, times ``cpu`` in turns with it, and records both for the docs.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from benchmarks.graphs.light import NAMES as FILES
from benchmarks.graphs.light import light
from benchmarks.items.item import Draw

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

Array = np.ndarray[Any, Any]

RECORDED = Path(__file__).parents[2] / "docs" / "_data" / "onnx_light_models.json"
NAMES = sorted(FILES.values())
BACKENDS = ("cpu", "webgpu")
WITHIN = 1e-5
"""What logits may differ by, relative to the largest."""
ROUNDS = 5
"""Turns of the two on the CPU, of which the least time counts."""


def seeded(name: str) -> onnx.ModelProto:
    """Return a light model with drawn weights, which gives logits."""
    return light(Draw(name), name)


def image(model: onnx.ModelProto) -> dict[str, Array]:
    """Return the one input of a model, drawn."""
    (info,) = model.graph.input
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    draw = np.random.default_rng(7)
    return {info.name: draw.standard_normal(shape, np.float32)}


def off(found: Array, want: Array) -> float:
    """Return by how much logits differ, relative to the largest; infinity if they all are one."""
    if len(np.unique(want)) < want.size // 2:
        return float("inf")
    return float(np.abs(found - want).max() / np.abs(want).max())


def differences(name: str) -> dict[str, float]:
    """Return how far each backend is off, with `config.fallback` = "error"."""
    proto = seeded(name)
    given = image(proto)
    (want,) = _session(proto).run(None, given)
    found = {}
    for backend in BACKENDS:
        with wk.use_backend(backend), wk.config.using(fallback="error"):
            found[backend] = off(wk.onnx.load(proto)(**given).numpy(), np.asarray(want))
    return found


def ratios(name: str) -> dict[str, float]:
    """Return how many times as long as ONNX Runtime `cpu` takes: of all cores, and by the clock."""
    proto = seeded(name)
    given = image(proto)
    session = _session(proto)
    with wk.use_backend("cpu"):
        model = wk.onnx.load(proto)
        runs: list[Callable[[], Any]] = [
            lambda: model(**given).numpy(),
            lambda: session.run(None, given),
        ]
        times = np.array([[_timed(run) for run in runs] for _ in range(ROUNDS + 1)])
    ours, theirs = times[1:].min(axis=0)  # the first round warms up
    return {"processor": ours[0] / theirs[0], "wall": ours[1] / theirs[1]}


def _timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of processor time and by the clock that the second of two runs takes."""
    run()
    time.sleep(0.05)  # threads that wait for more work spin for a while
    processor, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - processor, time.perf_counter() - wall


def _session(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def main(names: list[str]) -> int:
    """Compare, time, print and record; fail where a model is off."""
    warnings.simplefilter("ignore")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    is_wrong = False
    for name in names or NAMES:
        row: dict[str, Any] = {"off": differences(name), "times": ratios(name)}
        print(name, *(f"{key} {value:.2g}" for one in row.values() for key, value in one.items()))
        is_wrong |= max(row["off"].values()) > WITHIN
        recorded[name] = {
            "off": {key: float(f"{value:.1e}") for key, value in row["off"].items()},
            "times": {key: round(value, 1) for key, value in row["times"].items()},
        }
        RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return int(is_wrong)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
