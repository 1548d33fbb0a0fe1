"""Functions saved as graph models give in TensorFlow.js what they give here; others are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.graph_models import saved

import wgsl_kernels as wk
from wgsl_kernels.graphdef.saving import RULES
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS

if TYPE_CHECKING:
    from pathlib import Path

ONES = np.ones((2, 3), np.float32)


def test_every_case_gives_there_and_loaded_again_what_it_gives_here(tmp_path: Path) -> None:
    """TensorFlow.js has run these graphs: ``python -m tests.graph_models.saved --record``."""
    recorded = json.loads(saved.RECORDED.read_text())
    cases = saved.cases(tmp_path)
    assert list(cases) == list(recorded)
    assert {*RULES, *COMPOSITIONS} - cases.keys() == saved.ONLY_WITHIN
    with wk.use_backend("cpu"):
        for case, digest in cases.values():
            there = recorded[case.name]
            assert digest == there["graph"], f"{case.name}: record it anew"
            model = wk.tfjs.load_graph_model(tmp_path / case.name / "model.json")
            for run, outputs, wanted in zip(
                case.runs, there["runs"], saved.ours(case), strict=True
            ):
                again = dict(zip(wanted, model.numpy(**run), strict=True))
                for name, want in wanted.items():
                    assert saved.difference(want, saved.theirs(outputs[name])) == "", case.name
                    assert saved.difference(want, again[name]) == "", case.name


def test_weights_are_in_shards_and_those_of_a_model_before_are_gone(tmp_path: Path) -> None:
    wide = wk.variable(np.arange(3 << 20, dtype=np.float32).reshape(3, -1))

    def save(factor: float) -> None:
        wk.tfjs.save_graph_model(lambda x: (x * factor) @ (wide * factor), tmp_path, {"x": ONES})
        paths = json.loads((tmp_path / "model.json").read_text())["weightsManifest"][0]["paths"]
        assert len(paths) == 4
        assert {one.name for one in tmp_path.iterdir()} == {*paths, "model.json"}

    save(1.0)
    save(2.0)
    x = wk.tensor(ONES)
    found = wk.tfjs.load_graph_model(tmp_path / "model.json")(x)
    np.testing.assert_allclose(found.numpy(), ((x * 2.0) @ (wide * 2.0)).numpy(), rtol=1e-6)


def _digamma(x: Any) -> Any:
    return wk.digamma(wk.nextafter(x, 0.0))


@pytest.mark.parametrize(
    ("f", "inputs", "error", "words"),
    [
        (_digamma, {"x": ONES}, wk.ArgumentError, r"rule for NextAfter at .*test_saving\.py:\d+"),
        (
            _digamma,
            {"x": ONES},
            wk.ArgumentError,
            r"; Digamma at .*test_saving\.py:\d+\. Write these parts",
        ),
        (
            lambda x: x if x.sum().item() > 0 else -x,
            {"x": ONES},
            wk.ArgumentError,
            r"f reads values that depend on its inputs, at .*test_saving\.py:\d+",
        ),
        (lambda x: 1.0, {"x": ONES}, wk.ArgumentError, "output 'y' is a float; want a tensor"),
        (lambda x: {"a b": -x}, {"x": ONES}, wk.ArgumentError, "an output is called 'a b'; want"),
        (lambda x: -x, {"x": ONES.astype(np.float16)}, wk.ArgumentError, "Neg of float16 at"),
        (lambda x: {"y": x}, {"x": ONES.astype(np.uint8)}, wk.DTypeError, "input 'x' is uint8"),
    ],
)
@pytest.mark.usefixtures("halves_anywhere")
def test_what_cannot_be_saved_says_why_before_anything_is_written(
    f: Any, inputs: Any, error: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=f"save_graph_model: .*{words}"):
        wk.tfjs.save_graph_model(f, tmp_path / "model", inputs)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_a_path_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(wk.ArgumentError, match=r"file is a file; want a folder\."):
        wk.tfjs.save_graph_model(lambda x: -x, tmp_path / "file", {"x": ONES})
    folder: Any = 3
    with pytest.raises(wk.ArgumentError, match=r"folder is a int; want a path\."):
        wk.tfjs.save_graph_model(lambda x: -x, folder, {"x": ONES})
