"""A kernel's source is a template with its slots and configuration, as well as a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.templates.test_template import OPERAND, PARTS, SLOTS, TILED

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]


def _run(x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel("Tiled", {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


def _like_x(x: wk.Spec, /) -> wk.Spec:
    return x


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with a template and what it imports."""
    texts = {"tiled": TILED, "tiled_parts": PARTS, "tiled_slots": SLOTS, "operand": OPERAND}
    for name, text in texts.items():
        (tmp_path / f"{name}.wesl").write_text(text)
    return tmp_path


def _register(files: Path, *, slots: str, **configuration: bool | int) -> None:
    wk.signature("Tiled")(_like_x)

    @wk.wgsl_kernel("Tiled", repeats=True)
    def tiled(gpu: Gpu, x: GpuArray) -> GpuArray:
        y = gpu.empty(x.shape, "float32")
        gpu.dispatch(
            str(files / "tiled.wesl"),
            {"x": x, "y": y},
            slots=slots,
            configuration=configuration,
            groups=(4, 1, 1),
        )
        return y


@pytest.mark.parametrize("tile", [1, 2, 4])
def test_a_template_runs_with_slots_and_configuration(files: Path, tile: int) -> None:
    _register(files, slots=str(files / "operand.wesl"), TILE=tile, SHIFT=1)
    x = np.arange(128, dtype=np.float32).reshape(2, 64)
    found = _run(wk.tensor(x)).numpy()
    assert found.tolist() == (x * 3 + np.arange(128).reshape(2, 64) + 1).tolist()


def test_the_constants_that_a_call_has_chosen_are_told_in_its_program(files: Path) -> None:
    slots = str(files / "operand.wesl")
    wk.signature("Tiled")(_like_x)

    @wk.wgsl_kernel("Tiled")
    def tiled(gpu: Gpu, x: GpuArray) -> GpuArray:
        template = str(files / "tiled.wesl")

        def run(configuration: Any) -> GpuArray:
            y = gpu.empty(x.shape, "float32")
            given: dict[str, Any] = {
                "slots": slots,
                "configuration": configuration,
                "groups": (4, 1, 1),
            }
            gpu.dispatch(template, {"x": x, "y": y}, **given)
            return y

        if x.size > 64:
            return run({"TILE": 1})
        return run(gpu.configure(template, run, x.size, slots=slots, static={"TILE": 2}))

    for size, tile in ((64, 2), (128, None), (64, 2)):
        x = wk.tensor(np.zeros(size, np.float32))
        (row,) = wk.explain(partial(_run, x)).dispatches
        assert dict(row.program.configuration).get("TILE") == tile
        assert bool(row.program.configuration) == (tile is not None)


def test_maps_are_fused_behind_a_template(files: Path) -> None:
    _register(files, slots=str(files / "operand.wesl"), TILE=4, SHIFT=0)
    x = np.arange(128, dtype=np.float32)
    with wk.config.using(fusion="always", small_ops="device"):
        seen = wk.profile(lambda: wk.relu(_run(wk.tensor(x)) - 100.0))
    assert seen.result.numpy().tolist() == np.maximum(x * 4 - 100, 0).tolist()
    assert [row.kernels for row in seen.dispatches] == [("Tiled", "Sub", "Relu")]


def test_an_error_in_a_slot_names_the_authors_place_round_and_constants(files: Path) -> None:
    wrong = "// A kernel.\nfn element(x: f32, i: u32) -> f32 {\n  return x + i;\n}\n"
    _register(files, slots=wrong, TILE=2)
    with pytest.raises(
        wk.ShaderError, match=r"<inline in .*test_template_kernels\.py:\d+>:3:"
    ) as error:
        _run(wk.tensor(np.zeros(64, np.float32))).numpy()
    assert "  return x + i;" in str(error.value)
    (files / "tiled.wesl").write_text(TILED.replace("element(x[i], i)", "element(x[i], n, i)"))
    _register(files, slots="// A kernel.\nalias Number = f32;\n", TILE=4)
    with pytest.raises(wk.ShaderError, match=r"tiled\.wesl:16:15") as error:
        _run(wk.tensor(np.zeros(64, np.float32))).numpy()
    assert "In round n = 0u, with TILE = 4u, GROUP = 32u, SHIFT = -1." in str(error.value)
