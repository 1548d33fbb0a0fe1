"""ONNX's own node tests: ``python -m tests.from_onnx.node_tests`` counts and records them.

Each is a model of one operator, or of the function that stands for it, with inputs and the outputs
that ONNX's reference gives. A test that is left out has a class that says why.
"""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

RECORDED = Path(__file__).parents[2] / "docs" / "_data" / "onnx_node_tests.json"
BACKENDS = ("cpu", "webgpu")

CLASSES = {
    "strings": {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"},
    "images in files": {"ImageDecoder"},
    "text features": {"TfIdfVectorizer"},
    "trees and labels": {"LabelEncoder", "TreeEnsemble"},
    "optimizers": {"Adagrad", "Adam", "Momentum"},
}
"""Why operators are left out whose tests do not load."""
RANDOM = ("bernoulli", "training_dropout")
"""What the names of tests begin with whose results are drawn; two of them draw nothing."""
_DRAWS_NOTHING = ("training_dropout_zero_ratio",)
RUNS = 100
"""Runs whose moments are taken of what is drawn."""
SIGMAS = 5
"""Standard deviations that moments may be off."""


@functools.cache
def cases() -> dict[str, Any]:
    """Return ONNX's cases by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of inputs at the edge
        return {one.name: one for one in collect_testcases(None)}


def op_of(name: str) -> str:
    """Return the operator that a case is of; of its function's body, too."""
    base = cases().get(name.partition("_expanded")[0], cases()[name])
    nodes = base.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else "several"


def is_strict(backend: str) -> bool:
    """Say whether what a backend lacks is an error: not where the adapter has no float16."""
    return backend == "cpu" or find_driver("webgpu").supports("float16")


def failure(name: str, backend: str) -> str:
    """Return what is wrong with a case on a backend, "" for nothing."""
    case = cases()[name]
    wk.random.seed(0)
    fallback = "error" if is_strict(backend) else "silent"
    with wk.use_backend(backend), wk.config.using(fallback=fallback, small_ops="device"):
        try:
            model = wk.onnx.load(case.model)
            for inputs, outputs in case.data_sets:
                got = model.numpy(*map(_array, inputs))
                given = [_array(one) for one in inputs]
                wants = list(map(_array, outputs))
                if _is_drawn(name):
                    return _unlikely(case.model, given, wants)
                for one, want in zip(got, wants, strict=True):
                    said = difference(one, want, case.rtol, case.atol)
                    if said:
                        return said
        except wk.WgslKernelsError as error:
            return f"{type(error).__name__}: {error}"
    return ""


def runs_no_kernel(name: str) -> bool:
    """Say whether a case is answered on the host alone: shapes, sequences and the like."""
    seen: list[str] = []

    def note(call: Any, proceed: Any) -> Any:
        seen.append(call.name)
        return proceed(call)

    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"), wk.engine().intercept(note):
        case = cases()[name]
        model = wk.onnx.load(case.model)
        for inputs, _ in case.data_sets:
            model.numpy(*map(_array, inputs))
    return not seen


def class_of(name: str, said: str) -> str:
    """Return why a case is left out; "wrong" if nothing explains it."""
    nodes = {node.op_type for node in cases()[name].model.graph.node}
    for word, ops in CLASSES.items():
        if nodes & ops:
            return word
    if "float64" in said:
        return "float64"
    return "integers beyond 32 bits" if "computed in int32" in said else "wrong"


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [_array(one) for one in value]
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _is_drawn(name: str) -> bool:
    base = name.removeprefix("test_")
    return base.startswith(RANDOM) and not base.startswith(_DRAWS_NOTHING)


def _unlikely(proto: onnx.ModelProto, given: list[Any], wants: list[Any]) -> str:
    """Judge what is drawn by shape, dtype, and the first two moments of many runs.

    An element is 0, or with some chance 1, or in dropout an input divided by that chance. How often
    it is, and how much their number varies from run to run, must be near what the chances say.
    """
    model = wk.onnx.load(_unseeded(proto))
    runs = [model.numpy(*given) for _ in range(RUNS)]
    for got, want in zip(zip(*runs, strict=True), wants, strict=True):
        found = {(one.shape, one.dtype.name) for one in got}
        if found != {(want.shape, want.dtype.name)}:
            return f"{found}; want {want.dtype}{want.shape}"
        is_flag = np.isin(want, (0, 1)).all()
        chance = given[0] if len(given) == 1 else np.full(want.shape, 1 - given[1])
        if any(node.op_type == "Greater" for node in proto.graph.node):
            chance = 1 - chance  # ONNX's function of Bernoulli has it the other way round
        values = np.stack(got).astype(np.float64)
        kept = values != 0
        if not np.allclose(values, kept * (1.0 if is_flag else given[0] / chance)):
            return "other values than 0 and those of their chance"
        spread = chance * (1 - chance)
        off = kept.mean(axis=0) - chance
        is_far = np.abs(off) > SIGMAS * np.sqrt(spread / RUNS)
        if is_far.any() or abs(off.mean()) > SIGMAS * np.sqrt(spread.mean() / kept.size):
            return "drawn too often, or not often enough"
        varies = kept.reshape(RUNS, -1).sum(axis=1).var() / spread.sum()
        if abs(varies - 1) > SIGMAS * np.sqrt(2 / RUNS):
            return "elements are not drawn one by one"
    return ""


def _unseeded(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model that draws other numbers each time."""
    found = onnx.ModelProto()
    found.CopyFrom(proto)
    for node in found.graph.node:
        for attr in [one for one in node.attribute if one.name == "seed"]:
            node.attribute.remove(attr)
    return found


def difference(got: Any, want: Any, rtol: float, atol: float) -> str:
    """Return how a result differs from what is wanted, "" if it does not."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return "another sequence"
        found = (difference(a, b, rtol, atol) for a, b in zip(got, want, strict=True))
        return next((said for said in found if said), "")
    if want is None:
        return "" if got is None else "something; want nothing"
    want = np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}; want {want.dtype}{want.shape}"
    if want.dtype.kind not in "fcV" or want.dtype.name.startswith(("int", "uint")):
        return "" if np.array_equal(got, want) else f"{got}; want {want}"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    roundings = {"float16": 2.0**-9, "bfloat16": 2.0**-6}  # four, of 11 and of 8 bits
    rtol = max(rtol, roundings.get(want.dtype.name, 0.0))
    near = np.isclose(
        got.astype(wide), want.astype(wide), rtol=rtol, atol=max(atol, 1e-6), equal_nan=True
    )
    return "" if near.all() else f"{np.size(near) - near.sum()} of {near.size} values differ"


def record() -> dict[str, Any]:
    """Run all cases on both backends and return what is recorded of them."""
    left_out: dict[str, dict[str, Any]] = {}
    ops: dict[str, Counter[str]] = {}
    on_host: list[str] = []
    for name in cases():
        counts = ops.setdefault(op_of(name), Counter(cases=0, cpu=0, webgpu=0))
        counts["cases"] += 1
        for backend in BACKENDS:
            said = failure(name, backend)
            if not said:
                counts[backend] += 1
                if backend == "webgpu" and runs_no_kernel(name):
                    on_host.append(name)
                continue
            row = left_out.setdefault(name, {"why": class_of(name, said), "on": []})
            row["on"].append(backend)
            if row["why"] == "wrong":
                print(f"{backend} {name}: {said}", file=sys.stderr)
    passed = {backend: sum(one[backend] for one in ops.values()) for backend in BACKENDS}
    return {
        "onnx": onnx.__version__,
        "cases": len(cases()),
        "passed": passed,
        "on_host": sorted(on_host),
        "ops": {name: dict(ops[name]) for name in sorted(ops)},
        "left_out": dict(sorted(left_out.items())),
    }


def recorded() -> dict[str, Any]:
    """Return what was recorded last."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def main() -> int:
    """Count, print and record; fail where something is wrong that no class explains."""
    warnings.simplefilter("ignore")
    found = record()
    for backend in BACKENDS:
        print(f"{backend}: {found['passed'][backend]} of {found['cases']}")
    print(f"webgpu without a kernel: {len(found['on_host'])}")
    whys = Counter((row["why"], *row["on"]) for row in found["left_out"].values())
    for (why, *on), count in sorted(whys.items()):
        print(f"  {count:4} {why} ({', '.join(on)})")
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(any(row["why"] == "wrong" for row in found["left_out"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
