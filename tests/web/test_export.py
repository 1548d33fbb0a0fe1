"""What an export writes, what it refuses, and that it changes nothing else."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.formats import tensor_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ONES = np.ones((2, 3), np.float32)
PAGE = {"index.html", "wgsl-kernels.d.ts", "wgsl-kernels.js"}
FILES = PAGE | {"program.json", "weights.safetensors"}


def program(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "program.json").read_text())
    return found


def test_a_folder_has_all_that_a_page_needs(tmp_path: Path) -> None:
    weights = wk.variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="dense/weights")
    steps = wk.variable(np.int32(7), name="steps")
    table = wk.tensor([[10.0, 20.0]])

    def f(x: wk.Tensor) -> dict[str, wk.Tensor]:
        steps.assign(steps + 1)
        return {"y": wk.exp(x @ weights) + table, "n": steps}

    folder = wk.web.export(f, tmp_path / "out", {"x": ONES})
    found = program(folder)
    assert (found["format"], found["version"]) == ("wgsl-kernels-program", 1)
    assert found["requires"] == {"features": [], "limits": {}}
    roles = {one["name"]: one["role"] for one in found["buffers"] if "name" in one}
    assert roles["x"] == "input"
    assert roles["dense/weights"] == "weight"
    assert roles["steps"] == "state"
    assert roles["y"] == "output"
    assert {one["name"]: one["shape"] for one in found["outputs"]} == {"y": [2, 2], "n": []}
    shaders = {one["shader"] for one in found["pipelines"]}
    assert {one.name for one in folder.iterdir()} == FILES | shaders
    tensors = tensor_files.read(folder / "weights.safetensors").tensors
    assert np.array_equal(tensors["dense/weights"].numpy(), weights.numpy())
    assert tensors["steps"].numpy() == 7
    assert steps.numpy() == 7  # nothing ran here
    assert wk.sum(table).item() == 30.0


def test_empty_views_are_results(tmp_path: Path) -> None:
    def f(x: wk.Tensor) -> dict[str, wk.Tensor]:
        return {"given": x.T[:, :0], "computed": wk.matrix_transpose(x + 1.0)[:, 2:], "y": x * 2.0}

    found = program(wk.web.export(f, tmp_path / "out", {"x": ONES}))
    shapes = {one["name"]: one["shape"] for one in found["outputs"]}
    assert shapes == {"given": [3, 0], "computed": [3, 0], "y": [2, 3]}
    buffers = [found["buffers"][one["buffer"]] for one in found["outputs"]]
    assert [one["role"] for one in buffers] == ["constant", "constant", "output"]


def test_it_needs_no_more_than_every_adapter_has(tmp_path: Path) -> None:
    def f(**given: wk.Tensor) -> Any:
        return wk.concat([wk.softmax(one) for one in given.values()], axis=0)

    inputs = {f"x{n}": ONES for n in range(12)}
    found = program(wk.web.export(f, tmp_path / "out", inputs))
    for one in found["pipelines"]:
        storages = [binding for binding in one["bindings"] if binding["type"] != "uniform"]
        assert len(storages) <= 8
    for one in found["dispatches"]:
        assert all(binding["offset"] % 256 == 0 for binding in one["bindings"])
    for path in (tmp_path / "out").glob("*.wgsl"):
        assert not re.search(r"subgroup|immediate|f16", path.read_text()), path


def test_the_module_is_small_and_has_types(tmp_path: Path) -> None:
    folder = wk.web.export(wk.exp, tmp_path / "out", {"x": ONES})
    text = (folder / "wgsl-kernels.js").read_text()
    assert len(text) <= 20_000
    assert not re.search(r"^\s*import ", text, re.MULTILINE)
    assert "export function load" in (folder / "wgsl-kernels.d.ts").read_text()


def test_variables_on_any_backend_are_weights(tmp_path: Path) -> None:
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            w = wk.variable(ONES * 2, name="w") if backend == "cpu" else wk.variable(ONES * 3)
        folder = wk.web.export(lambda x, w=w: x * w, tmp_path / backend, {"x": ONES})
        (values,) = tensor_files.read(folder / "weights.safetensors").tensors.values()
        assert np.array_equal(values.numpy(), w.numpy())
        assert w.backend == backend


def _reads(x: wk.Tensor) -> wk.Tensor:
    return x if wk.sum(x).item() > 0 else -x


def _makes(x: wk.Tensor) -> wk.Tensor:
    return wk.variable(x * 2.0) + x


def _falls_back(x: wk.Tensor) -> Any:
    return wk.cast(x, "float64") + 1.0


def _checks(x: wk.Tensor) -> Any:
    return [wk.gather(ONES, x + n % 2) for n in range(520)]


def _counts(x: wk.Tensor) -> Any:
    return wk.unique(x)[0]


REFUSED: list[tuple[Callable[..., Any], Any, type[Exception], str]] = [
    (_reads, ONES, wk.ArgumentError, r"values are read on the host at .*test_export.py:\d+"),
    (_makes, ONES, wk.ArgumentError, r"read on the host at .*test_export.py:\d+"),
    (_falls_back, ONES, wk.ArgumentError, r"the op at .*test_export.py:\d+ runs on cpu"),
    (_counts, np.ones(3, np.int32), wk.ArgumentError, "read on the host at"),
    (_checks, np.zeros(1, np.int32), wk.ArgumentError, "more than 512 of its kernels check values"),
    (lambda x: x, np.array(["a"]), wk.DTypeError, "the input 'x' is string"),
    (lambda x: 3, ONES, wk.ArgumentError, "returns a int; want tensors"),
    (lambda x: wk.tensor(["a"]), ONES, wk.DTypeError, "a result is string"),
]


@pytest.mark.parametrize(("f", "given", "error", "words"), REFUSED)
def test_what_no_page_can_run_is_refused(
    tmp_path: Path, f: Callable[..., Any], given: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        wk.web.export(f, tmp_path / "out", {"x": given})
    assert list(tmp_path.iterdir()) == []


def test_float16_and_double_inputs_are_refused_by_name(tmp_path: Path) -> None:
    double = wk.tensor([1.0], dtype="float64", device="cpu")
    with pytest.raises(wk.DTypeError, match="'x' is float64"):
        wk.web.export(wk.exp, tmp_path / "out", {"x": double})
    half = wk.tensor([1.0], dtype="float16", device="cpu")
    with pytest.raises(wk.DTypeError, match=r"features=\('shader-f16',\)"):
        wk.web.export(wk.exp, tmp_path / "out", {"x": half})


def test_bad_arguments_say_what_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match="want a function"):
        wk.web.export(3, tmp_path / "out", {"x": ONES})  # type: ignore[arg-type]  # refused
    with pytest.raises(wk.ArgumentError, match="features has 'subgroups'; want shader-f16"):
        wk.web.export(wk.exp, tmp_path / "out", {"x": ONES}, features=["subgroups"])
    with pytest.raises(wk.ArgumentError, match="limits has 'size'; want WebGPU's names"):
        wk.web.export(wk.exp, tmp_path / "out", {"x": ONES}, limits={"size": 1})
    with pytest.raises(wk.ArgumentError, match="maxBufferSize is 1, where every adapter has"):
        wk.web.export(wk.exp, tmp_path / "out", {"x": ONES}, limits={"maxBufferSize": 1})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(wk.ArgumentError, match="holds other files"):
        wk.web.export(wk.exp, tmp_path / "mine", {"x": ONES})
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_more_than_the_limits_allow_is_refused_and_limits_are_required_by_name(
    tmp_path: Path,
) -> None:
    large = np.zeros(((128 << 20) // 4 + 1,), np.float32)
    with pytest.raises(wk.WgslKernelsError, match="binds at most"):
        wk.web.export(wk.cumsum, tmp_path / "out", {"x": large})
    limits = {"maxStorageBufferBindingSize": 256 << 20}
    folder = wk.web.export(wk.cumsum, tmp_path / "out", {"x": large}, limits=limits)
    assert program(folder)["requires"]["limits"] == limits


def test_a_failed_export_leaves_the_earlier_one(tmp_path: Path) -> None:
    folder = wk.web.export(wk.exp, tmp_path / "out", {"x": ONES})
    before = (folder / "program.json").read_text()
    with pytest.raises(wk.ArgumentError):
        wk.web.export(_reads, folder, {"x": ONES})
    assert (folder / "program.json").read_text() == before
    wk.web.export(wk.sin, folder, {"x": ONES})
    assert (folder / "program.json").read_text() != before
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_state_of_an_optimizer_is_not_touched(tmp_path: Path) -> None:
    w = wk.variable(ONES, name="w")
    adam = wk.train.Adam(0.1)

    def step(x: wk.Tensor) -> wk.Tensor:
        return adam.minimize(lambda: wk.sum(wk.square(w - x)))

    step(wk.tensor(ONES * 2))
    before = {name: one.numpy() for name, one in adam.state_dict({w: "w"}).items()}
    found = program(wk.web.export(step, tmp_path / "out", {"x": ONES}))
    assert sum(one["role"] == "state" for one in found["buffers"]) >= 4  # w, m, v, steps
    for name, one in adam.state_dict({w: "w"}).items():
        assert np.array_equal(one.numpy(), before[name])


def test_a_folder_is_served_until_it_is_closed(tmp_path: Path) -> None:
    folder = wk.web.export(wk.exp, tmp_path / "out", {"x": ONES})
    with wk.web.serve(folder, open=False) as server:
        with urllib.request.urlopen(server.url + "wgsl-kernels.js") as found:
            assert found.headers["Content-Type"] == "text/javascript"
        with urllib.request.urlopen(server.url) as found:
            assert b"wgsl-kernels" in found.read()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url)
    with pytest.raises(wk.ArgumentError, match="there is no folder"):
        wk.web.serve(tmp_path / "nothing")
