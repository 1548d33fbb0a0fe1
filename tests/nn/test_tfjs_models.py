"""Models that TensorFlow.js has saved give its results, and files that do not fit say why.

The models, and what TensorFlow.js 4.22 computes with them, are written by tfjs_models/make.mjs.
"""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tfjs_damage import ODD_VALUES, WORDS_OF_PYTHON, refusals

import wgsl_kernels as wk

MODELS = Path(__file__).parent / "tfjs_models"


def arrays(entries: list[dict[str, Any]]) -> list[np.ndarray]:
    return [np.array(one["data"], one["dtype"]).reshape(one["shape"]) for one in entries]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(MODELS / "graph", tmp_path / "graph")
    return tmp_path / "graph"


def edit(folder: Path, change: Any) -> Path:
    """Change what a model.json says."""
    path = folder / "model.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", ["images", "sequences", "graph"])
def test_a_loaded_model_gives_what_it_gives_there(name: str) -> None:
    model: Any = wk.tfjs.load_layers_model(MODELS / name / "model.json")
    expected = json.loads((MODELS / name / "expected.json").read_text())
    with wk.use_backend("cpu"):
        found = model(*arrays(expected["inputs"]))
    results = found if isinstance(found, tuple) else (found,)

    for one, wanted in zip(results, arrays(expected["outputs"]), strict=True):
        assert one.shape == wanted.shape
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["images", "sequences", "graph"])
def test_a_loaded_model_is_pickled_and_copied(name: str) -> None:
    with wk.use_backend("cpu"):
        model: Any = wk.tfjs.load_layers_model(MODELS / name / "model.json")
        inputs = arrays(json.loads((MODELS / name / "expected.json").read_text())["inputs"])
        for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            found, wanted = (one(*inputs) for one in (twin, model))
            pairs = (
                zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
            )
            assert all(np.array_equal(one.numpy(), two.numpy()) for one, two in pairs)


def test_a_loaded_model_is_a_tree_that_trains(copied: Path) -> None:
    def freeze(content: Any) -> None:
        content["modelTopology"]["config"]["layers"][3]["config"]["trainable"] = False

    model: Any = wk.tfjs.load_layers_model(edit(copied, freeze))
    inputs = arrays(json.loads((copied / "expected.json").read_text())["inputs"])
    before = model.layers["dense_Dense3"][0].weight.numpy()
    frozen = model.layers["conv2d_Conv2D2"].weight.numpy()

    wk.train.SGD(0.1).minimize(lambda: wk.sum(wk.square(model(*inputs)[1])), model)

    assert not np.array_equal(model.layers["dense_Dense3"][0].weight.numpy(), before)
    assert np.array_equal(model.layers["conv2d_Conv2D2"].weight.numpy(), frozen)


def test_quantized_weights_are_what_they_stand_for(copied: Path) -> None:
    data = np.frombuffer((copied / "weights.bin").read_bytes(), "<f4")
    levels = np.round((data + 1) / 2 * 65535).clip(0, 65535).astype("<u2")
    (copied / "weights.bin").write_bytes(levels.tobytes())

    def quantize(content: Any) -> None:
        for one in content["weightsManifest"][0]["weights"]:
            one["quantization"] = {"dtype": "uint16", "scale": 2 / 65535, "min": -1.0}

    model: Any = wk.tfjs.load_layers_model(edit(copied, quantize))

    found = model.layers["conv2d_Conv2D2"].weight.numpy().reshape(-1)
    np.testing.assert_allclose(found, data[: found.size].clip(-1, 1), atol=2e-5)


def _class(number: int, name: str) -> Any:
    def change(content: Any) -> None:
        content["modelTopology"]["config"]["layers"][number]["class_name"] = name

    return change


def _both(content: Any) -> None:
    _class(2, "Capsule")(content)
    _class(9, "Attention")(content)


def _config(number: int, **options: Any) -> Any:
    def change(content: Any) -> None:
        content["modelTopology"]["config"]["layers"][number]["config"].update(options)

    return change


def _manifest(name: str, value: Any) -> Any:
    def change(content: Any) -> None:
        content["weightsManifest"][0]["weights"][0][name] = value

    return change


def _two(content: Any) -> None:
    _config(2, activation="cube")(content)
    _config(4, units=7)(content)


REFUSED = [
    (_both, "layers that are not known: Attention, Capsule; want Activation, Add"),
    (_two, r"(?s)Activation1 .*activation is 'cube'.*Dense3 .*'kernel' has shape \(6, 5\)"),
    (_manifest("shape", [1 << 40, 1 << 40]), "have 612 bytes; its weights take"),
    (_manifest("shape", [-1]), r"has shape \[-1\]"),
    (_manifest("dtype", "string"), "is string; want float32"),
    (_manifest("name", "other/kernel"), "no layer has the weight other/kernel"),
    (lambda content: content.pop("modelTopology"), "it lacks 'modelTopology'"),
    (lambda content: content.update(format="graph-model"), "want 'layers-model'"),
    (lambda content: content["weightsManifest"][0].update(paths=["../x"]), "outside of its folder"),
    (lambda content: content["modelTopology"].update(config=3), "no class_name and config"),
    (
        lambda content: content["modelTopology"]["config"]["layers"][2].update(
            inbound_nodes=[[["activation_Activation1", 0, 0, {}]]]
        ),
        "layers wait for one another",
    ),
]


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_what_does_not_fit_is_said(copied: Path, change: Any, words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=words):
        wk.tfjs.load_layers_model(edit(copied, change))


@pytest.mark.parametrize("value", ODD_VALUES)
def test_what_is_of_another_kind_is_said_in_words_of_ours(copied: Path, value: Any) -> None:
    for said in refusals(copied / "model.json", value, wk.tfjs.load_layers_model):
        assert not any(one in said.partition("should be: ")[0] for one in WORDS_OF_PYTHON), said


def test_a_model_is_its_folder_too(copied: Path) -> None:
    assert str(wk.tfjs.load_layers_model(copied)) == (
        str(wk.tfjs.load_layers_model(copied / "model.json"))
    )


def test_files_cut_short_are_refused(copied: Path) -> None:
    (copied / "weights.bin").write_bytes(b"1234")
    with pytest.raises(wk.ArgumentError, match=r"have 4 bytes; its weights take 612"):
        wk.tfjs.load_layers_model(copied / "model.json")
    text = (copied / "model.json").read_text()
    for part in (text[: len(text) // 2], "[" * 100_000, "3", ""):
        (copied / "model.json").write_text(part)
        with pytest.raises(wk.ArgumentError, match="is no layers model of TensorFlow"):
            wk.tfjs.load_layers_model(copied / "model.json")
    (copied / "weights.bin").unlink()
    (copied / "model.json").write_text(text)
    with pytest.raises(OSError, match=r"weights\.bin"):
        wk.tfjs.load_layers_model(copied / "model.json")
