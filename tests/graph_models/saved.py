"""Functions saved as graph models, run in TensorFlow.js: ``python -m tests.graph_models.saved``.

It installs npm's packages below build/, runs every case in Node, and fails where a result is not
ours; with ``--record`` it writes what TensorFlow.js gives for `test_saving`, with a digest of the
graphs that gave it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.graphdef.saving import RULES
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.testing import Sample

    Arrays = dict[str, np.ndarray[Any, Any]]

RECORDED = Path(__file__).parent / "saved.json"
HOME = Path(__file__).resolve().parents[2] / "build" / "graph_models"
PACKAGES = dict.fromkeys(
    (f"@tensorflow/tfjs-{one}" for one in ("core", "backend-cpu", "converter")), "4.22.0"
)
DTYPES = {"bool", "float32", "int32"}
ONLY_WITHIN = {"Complex", "ComplexAbs", "FFT", "IFFT", "Imag", "Real"}
"""Kernels of complex numbers, which no input or output can be: one case has all of them."""
SECONDS = 600


class Case(NamedTuple):
    """A function, and inputs to run it on.

    Attributes:
        name: Of the kernel, or of what is special.
        f: Called with inputs by name.
        runs: Inputs by name; the first are the examples.
        axes: Those that vary.
    """

    name: str
    f: Callable[..., Any]
    runs: list[Arrays]
    axes: dict[str, dict[int, str]] | None = None


def _called(sample: Sample, /, **given: Any) -> Any:
    return sample.f(*given.values(), **sample.attrs)


@functools.cache
def samples_by_kernel() -> dict[str, list[Sample]]:
    """Return the samples of each kernel that can be written."""
    found: dict[str, list[Sample]] = {name: [] for name in sorted({*RULES, *COMPOSITIONS})}
    for one in all_samples():
        if one.kernel in found:
            found[one.kernel].append(one)
    return found


def of_kernels(folder: Path) -> Iterator[tuple[Case, str]]:
    """Save for each kernel the first of its samples that has elements and can be written."""
    for kernel, samples in samples_by_kernel().items():
        for sample in samples:
            arrays = {f"x{i}": array for i, array in enumerate(arrays_for(sample))}
            fits = {array.dtype.name for array in arrays.values()} <= DTYPES
            if not fits or not all(array.size for array in arrays.values()):
                continue
            case = Case(kernel, functools.partial(_called, sample), [arrays])
            with contextlib.suppress(wk.WgslKernelsError):
                yield case, save(case, folder)
                break


def _floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def of_models() -> Iterator[Case]:
    """Yield whole models, of which the batch may vary."""
    wk.random.seed(0)
    net = wk.nn.sequential(
        wk.nn.conv(3, 8, 3, pad="same"),
        wk.nn.batch_norm(8),
        wk.relu,
        lambda x: wk.max_pool(x, 2, strides=2, pad="valid"),
        lambda x: wk.reshape(x, (x.shape[0], -1)),
        wk.nn.dense(8 * 16, 4),
    )
    batch = {"images": {0: "batch"}}
    images = [{"images": _floats(n, 8, 8, 3, seed=n)} for n in (2, 1, 5)]
    yield Case("a network", lambda images: {"logits": net(images)}, images, batch)

    def attended(x: Any) -> Any:
        heads = wk.permute_dims(wk.reshape(x, (*x.shape[:2], 2, 4)), (0, 2, 1, 3))
        found = wk.scaled_dot_product_attention(heads, heads, heads)
        return wk.reshape(wk.permute_dims(found, (0, 2, 1, 3)), (x.shape[0] * x.shape[1], 8))

    axes = {"x": {0: "batch", 1: "steps"}}
    lengths = ((2, 4), (1, 4), (3, 7))
    runs = [{"x": _floats(n, steps, 8, seed=n)} for n, steps in lengths]
    yield Case("attention", attended, runs, axes)

    def recurrent(x: Any) -> Any:
        state = wk.zeros((x.shape[0], 4))
        for step in range(x.shape[1]):
            state = wk.tanh(x[:, step] + state)
        return state

    runs = [{"x": _floats(n, 3, 4, seed=n)} for n in (1, 6)]
    yield Case("a state", recurrent, runs, {"x": {0: "batch"}})

    def spectral(x: Any) -> Any:
        z = wk.engine().run_kernel("Complex", {"real": x, "imag": x * 0.0})
        turned = wk.engine().run_kernel("FFT", {"input": z})
        back = wk.engine().run_kernel("IFFT", {"input": turned})
        parts = [wk.real(turned), wk.imag(turned), wk.abs(turned), wk.real(back)]
        return dict(zip(("real", "imag", "size", "back"), parts, strict=True))

    yield Case("complex numbers", spectral, [{"x": _floats(2, 8)}])


def cases(folder: Path) -> dict[str, tuple[Case, str]]:
    """Save all cases in folders of their names; return them by name, with digests of the graphs."""
    with wk.use_backend("cpu"):
        found = [*of_kernels(folder), *((case, save(case, folder)) for case in of_models())]
    return {case.name: (case, digest) for case, digest in found}


def save(case: Case, folder: Path) -> str:
    """Save a case; return a digest of its graph and of the shapes of its weights."""
    folder = folder / case.name
    wk.tfjs.save_graph_model(case.f, folder, case.runs[0], dynamic_axes=case.axes)
    content = json.loads((folder / "model.json").read_text())
    weights = content["weightsManifest"][0]["weights"]
    graph = json.dumps([content["modelTopology"]["node"], content["signature"], weights])
    return str(int(hashlib.sha256(graph.encode()).hexdigest()[:12], 16))


def ours(case: Case) -> list[Arrays]:
    """Return what a function gives here, by name, for each of its runs."""
    found = []
    for run in case.runs:
        given = case.f(**{name: wk.tensor(array) for name, array in run.items()})
        if not isinstance(given, (dict, tuple, list)):
            given = {"y": given}
        elif not isinstance(given, dict):
            given = {f"y{i}": one for i, one in enumerate(given)}
        found.append({name: one.numpy() for name, one in given.items()})
    return found


def theirs(recorded: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return an output that TensorFlow.js gave."""
    numbers = [{"true": 1.0, "false": 0.0}.get(one) for one in recorded["data"]]
    pairs = zip(numbers, recorded["data"], strict=True)
    values = [float(text) if number is None else number for number, text in pairs]
    return np.array(values).reshape(recorded["shape"]).astype(recorded["dtype"])


def difference(want: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> str:
    """Return how one output is not another, to 1e-5 of its largest number; "" where it is."""
    if (want.shape, want.dtype) != (got.shape, got.dtype):
        return f"it is {got.dtype}{list(got.shape)}; want {want.dtype}{list(want.shape)}"
    scale = float(np.abs(want[np.isfinite(want)].astype(float)).max(initial=1.0))
    if np.allclose(got, want, rtol=1e-5, atol=1e-5 * scale, equal_nan=True):
        return ""
    return f"it is {got.ravel()[:6]}; want {want.ravel()[:6]}"


def _in_node(folder: Path, given: list[Case]) -> dict[str, Any]:
    listed = [
        {
            "name": case.name,
            "folder": str(folder / case.name),
            "runs": [{name: _encoded(array) for name, array in run.items()} for run in case.runs],
        }
        for case in given
    ]
    (folder / "cases.json").write_text(json.dumps(listed))
    script = Path(__file__).with_name("run.mjs")
    command = ["node", str(script), str(folder / "cases.json"), str(folder / "found.json")]
    subprocess.run(command, cwd=HOME, check=True, timeout=SECONDS)
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found


def _encoded(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"shape": array.shape, "dtype": array.dtype.name, "data": array.ravel().tolist()}


def _install() -> None:
    """Have the packages in `HOME`."""
    stamp, wanted = HOME / ".installed", json.dumps(PACKAGES)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=HOME, check=True, timeout=SECONDS)
    stamp.write_text(wanted)


def main(arguments: list[str]) -> int:
    """Run all cases in Node; return 1 where one is wrong."""
    _install()
    wrong = 0
    with wk.use_backend("cpu"), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = cases(folder)
        found = _in_node(folder, [case for case, _ in given.values()])
        for case, _ in given.values():
            there = found[case.name]
            said = there.get("error", "")
            for outputs, wanted in zip(there.get("runs", ()), ours(case), strict=False):
                for output, want in wanted.items():
                    said = said or difference(want, theirs(outputs[output]))
            if said:
                print(f"{case.name}: {said}")
                wrong += 1
    print(
        f"TensorFlow.js: {len(given) - wrong} of {len(given)} saved models give what they do here"
    )
    if "--record" in arguments and not wrong:
        rows = {name: {"graph": given[name][1], **one} for name, one in found.items()}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in rows.items())
        RECORDED.write_text("{\n" + lines + "\n}\n")
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
