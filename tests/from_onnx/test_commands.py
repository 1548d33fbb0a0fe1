"""The commands ``wgsl-kernels onnx``: what they print, write and how they end."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper
from tests.from_onnx.graphs import FLOAT, INT64, model, network
from typer.testing import CliRunner

import wgsl_kernels as wk
from wgsl_kernels.cli.onnx import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    onnx.save(network(), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_run_takes_and_writes_arrays_by_name(file: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, 12, 12)).astype(np.float32)
    np.savez(tmp_path / "given.npz", x=x)
    found = CliRunner().invoke(
        app, ["run", str(file), "--input", f"{tmp_path}/given.npz", "--out", f"{tmp_path}/y.npz"]
    )

    assert found.exit_code == 0, found.output
    assert found.output.startswith("y: float32[2, 5], from ")
    with np.load(tmp_path / "y.npz") as kept:
        np.testing.assert_array_equal(kept["y"], wk.onnx.load(file)(x).numpy())


def test_show_lists_nodes_with_times_and_what_load_did(file: Path) -> None:
    found = CliRunner().invoke(app, ["show", str(file), "--json"])
    facts = json.loads(found.output)

    assert facts["parameters"] == 565
    assert facts["on load"].startswith("1 constants folded, 2 batch norms in convolutions")
    assert [one["op"] for one in facts["nodes"]][:2] == ["Conv", "Conv"]
    assert facts["nodes"][0]["outputs"] == "float32[1, 8, 6, 6]"
    assert "Conv" in CliRunner().invoke(app, ["show", str(file)]).output


@pytest.mark.gpu
def test_parity_compares_backends_node_by_node(file: Path) -> None:
    found = CliRunner().invoke(app, ["parity", str(file)])

    assert found.exit_code == 0, found.output
    assert found.output.startswith("6 nodes; worst: ")


def test_coverage_fails_where_an_operator_is_not_known(tmp_path: Path) -> None:
    odd = model([helper.make_node("Novel", ["x"], ["y"])], {"x": (FLOAT, [1])}, {"y": (FLOAT, [1])})
    onnx.save(odd, tmp_path / "odd.onnx")
    found = CliRunner().invoke(app, ["coverage", str(tmp_path / "odd.onnx")])

    assert found.exit_code == 1
    assert "not known" in found.output


def test_a_bad_file_ends_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    found = CliRunner().invoke(app, ["run", str(tmp_path / "text.onnx")])

    assert found.exit_code == 2
    assert "text.onnx is no model of ONNX" in found.output.replace("\n", "")


def packed(data: bytes) -> bytes:
    """Return an archive whose member ``x.npy`` is said to be packed, and is other bytes."""
    to = BytesIO()
    with zipfile.ZipFile(to, "w") as archive:
        archive.writestr("x.npy", data)
    content = bytearray(to.getvalue())
    for header, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(header) + place] = zipfile.ZIP_DEFLATED
    return bytes(content)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": np.zeros((1, 3, 12, 12)), "z": np.zeros(1)}, "has z; the inputs are x"),
        ({"z": np.zeros(1)}, r"has no x; has ['z']"),
        ({"x": np.array([None])}, "is no .npz file of plain arrays"),
        (np.zeros(3), "is no .npz file of plain arrays"),
        (b"PK, but nothing else", "is no .npz file of plain arrays"),
        (b"", "is no .npz file of plain arrays"),
        (packed(b"no packed bytes"), "is no .npz file of plain arrays"),
        (None, "does not exist"),
    ],
)
def test_a_file_of_inputs_that_does_not_serve_is_refused(
    given: Any, words: str, file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "given"
    with place.open("wb") as to:
        if isinstance(given, bytes):
            to.write(given)
        elif isinstance(given, dict):
            np.savez(to, **given)
        elif given is not None:
            np.save(to, given)
    if given is None:
        place.unlink()
    found = CliRunner().invoke(app, ["run", str(file), "--input", str(place)])

    assert found.exit_code == 2, found.output
    assert words in " ".join(found.output.replace("\u2502", " ").split())


def test_a_file_for_outputs_is_checked_before_the_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    for out, words in (("y.txt", "want a name that ends in .npz"), ("no/y.npz", "no folder")):
        where = ["run", f"{tmp_path}/text.onnx", "--out", f"{tmp_path}/{out}"]
        found = CliRunner().invoke(app, where)
        assert found.exit_code == 2
        assert words in found.output.replace("\n", " ")


@pytest.mark.parametrize("command", ["run", "show", "parity", "coverage"])
def test_a_file_that_is_not_there_is_said_in_a_line(command: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, [command, f"{tmp_path}/nope.onnx"])

    assert found.exit_code == 2
    assert "does not exist" in found.output.replace("\n", " ")


def test_weights_that_are_not_there_are_said_in_a_line(tmp_path: Path) -> None:
    proto = network()
    onnx.save(
        proto, tmp_path / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    (tmp_path / "w.bin").unlink()
    found = CliRunner().invoke(app, ["run", f"{tmp_path}/net.onnx"])

    assert isinstance(found.exception, SystemExit)
    assert "w.bin" in found.output


@pytest.mark.parametrize("on", ["cpu", "webgpu"])
def test_no_line_of_a_program_is_named_where_there_is_none(on: str, tmp_path: Path) -> None:
    proto = model(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        {"x": (FLOAT, [2, 3]), "i": (INT64, [1])}, {"y": (FLOAT, None)},
    )  # fmt: skip
    onnx.save(proto, tmp_path / "far.onnx")
    np.savez(tmp_path / "far.npz", x=np.ones((2, 3), np.float32), i=np.array([7]))
    found = CliRunner().invoke(
        app, ["run", f"{tmp_path}/far.onnx", "--input", f"{tmp_path}/far.npz", "--backend", on]
    )

    assert found.exit_code == 1
    assert "Called at the command line." in found.output
    assert "typer" not in found.output


def test_a_message_names_the_node(file: Path, tmp_path: Path) -> None:
    bad = helper.make_node("Reshape", ["x", "shape"], ["y"], name="bad")
    proto = model([bad], {"x": (FLOAT, [3])}, {"y": (FLOAT, None)}, {"shape": [2, 2]})
    onnx.save(proto, tmp_path / "bad.onnx")
    found = CliRunner().invoke(app, ["run", str(tmp_path / "bad.onnx")])

    assert "in node 'bad' (Reshape)" in found.output
