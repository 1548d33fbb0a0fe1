"""What is given where it cannot be used is refused in our words, or takes effect at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.modules import packages

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]

COPY = """
struct Params { y_size: u32, by: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { y[id.x] = x[id.x] * params.by; }
}
"""


def _map(name: str, text: str) -> Callable[[], float]:
    wk.signature(name)(lambda x, /: x.like())
    wk.wgsl_kernel(name, text, override=True)

    def value() -> float:
        with wk.use_backend("webgpu"):
            found = wk.engine().run_kernel(name, {"x": wk.tensor([1.0])})
        assert isinstance(found, wk.Tensor)
        return float(found.numpy()[0])

    return value


def test_a_file_that_is_back_is_read(tmp_path: Path) -> None:
    file = tmp_path / "k.wgsl"
    file.write_text("fn op(x: T) -> T { return x + 1.0; }\n")
    value = _map("Back", str(file))
    assert value() == 2.0
    file.unlink()
    assert wk.reload_kernels() == ["Back"]
    file.write_text("fn op(x: T) -> T { return x + 2.0; }\n")
    assert wk.reload_kernels() == ["Back"]
    assert value() == 3.0
    assert wk.reload_kernels() == []


def test_another_folder_for_a_package_takes_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_named", {})
    for n in (1, 2):
        (tmp_path / str(n)).mkdir()
        (tmp_path / str(n) / "m.wesl").write_text(f"const N = {n}.0;")
    wk.shader_package("pk", tmp_path / "1")
    value = _map("Packed", "import pk::m::N;\nfn op(x: T) -> T { return x * N; }\n")
    assert value() == 1.0
    wk.shader_package("pk", tmp_path / "2")
    assert value() == 2.0


@pytest.mark.parametrize("name", ["package", "super", "wgsl_kernels", "constants", "if", 3])
def test_a_package_has_a_name_of_its_own(name: Any, tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match="shader_package: name is"):
        wk.shader_package(name, tmp_path)


def test_what_is_explained_inside_is_explained_outside_too() -> None:
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device", fusion="never"):
        x = wk.tensor(np.ones(8, np.float32))
        inner: list[Any] = []

        def f() -> wk.Tensor:
            first = wk.exp(x)
            wk.evaluate(first)
            inner.append(wk.explain(lambda: wk.relu(x)))
            return wk.square(first)

        outer = wk.explain(f)
    assert [row.label for row in inner[0].dispatches] == ["Relu"]
    assert [row.label for row in outer.dispatches] == ["Exp", "Relu", "Square"]


def test_what_runs_nothing_is_not_measured() -> None:
    def generator() -> Any:
        yield wk.exp(1.0)

    async def coroutine() -> wk.Tensor:
        return wk.exp(1.0)

    for f in (generator, coroutine):
        for measure in (wk.explain, wk.profile, wk.time):
            with pytest.raises(wk.ArgumentError, match="of which nothing ran"):
                measure(f)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"modules": {"a.wgsl": "", "a.wesl": ""}, "root": "a"}, "is given twice"),
        ({"modules": {3: ""}}, "module 3 has no path"),
        ({"modules": {"main.wgsl": ""}, "root": None}, "root is None"),
        ({"modules": {"main.wgsl": ""}, "constants": {"N": "N"}}, "need themselves: N -> N"),
        ({"modules": {"main.wgsl": ""}, "constants": {"N": "M + 1", "M": "N"}}, "need themselves"),
        ({"modules": {"main.wgsl": ""}, "conditions": {"a-b": True}}, "condition 'a-b' is no name"),
    ],
)
def test_link_refuses_what_it_cannot_use(given: dict[str, Any], message: str) -> None:
    with pytest.raises(wk.ArgumentError, match=f"link: .*{message}"):
        wk.link(**given)


def test_a_line_that_is_not_there_has_no_place() -> None:
    with pytest.raises(wk.ArgumentError, match="line is 9999; the text has lines 1 to"):
        wk.link({"main.wgsl": "fn f() {}"}).source_map.find(9999, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda gpu, x, y: gpu.dispatch(COPY, {"x": x, "y": y}, params={"by": 2.0}, groups=3),
            "3;",
        ),
        (lambda gpu, x, y: gpu.dispatch(COPY, None), "arrays is None; want them by name"),
        (lambda gpu, x, y: gpu.dispatch(COPY, {"x": 3, "y": y}), "x is 3; want an array"),
        (lambda gpu, x, y: gpu.read("x"), "array is 'x'; want an array"),
        (lambda gpu, x, y: gpu.view(None, (1,), (1,), 0), "array is None; want an array"),
        (
            lambda gpu, x, y: gpu.dispatch(COPY, {"x": x, "y": y, "z": x}, params={"by": 2.0}),
            "arrays has 'z'; the shader names x, y",
        ),
        (
            lambda gpu, x, y: gpu.dispatch(COPY, {"x": x, "y": y}, params={"by": 2.0, "to": 1}),
            "params has 'to'; the shader's fields: y_size, by",
        ),
    ],
)
def test_a_dispatch_names_what_it_cannot_use(change: Callable[..., None], message: str) -> None:
    wk.signature("Odd")(lambda x, /: x.like())

    @wk.wgsl_kernel("Odd", override=True)
    def _(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        change(gpu, x, y)
        return y

    with (
        wk.use_backend("webgpu"),
        pytest.raises(wk.ArgumentError, match=f"^Odd: .*{message}"),
    ):
        wk.engine().run_kernel("Odd", {"x": wk.tensor([1.0])})
