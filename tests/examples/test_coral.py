"""The page of reaction and diffusion is written whole; its state is what the window begins with."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.examples.program import output_of

from wgsl_kernels.formats import tensor_files


@pytest.mark.gpu
def test_the_page_keeps_what_grows(tmp_path: Path) -> None:
    output_of("coral.py", "--size", "32", "--steps", "2", "--output", tmp_path)
    program = json.loads((tmp_path / "program" / "program.json").read_text())
    stored = tensor_files.read(tmp_path / "program" / "weights.safetensors").tensors
    page = (tmp_path / "index.html").read_text()

    assert [one["name"] for one in program["inputs"]] == ["drop"]
    assert program["outputs"][0]["shape"] == [32, 32]
    (state,) = [one for one in program["buffers"] if one["role"] == "state"]
    assert set(np.unique(stored[state["tensor"]].numpy())) == {0.0, 0.25, 0.5, 1.0}
    assert sum("GrayScott" in one["label"] for one in program["dispatches"]) == 2
    assert 'load("./program/")' in page
