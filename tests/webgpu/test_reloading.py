"""Files of kernels: read where they are registered or asked for again, and at no other time."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment import recent
from wgsl_kernels.engine.registry import registry

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a kernel that adds what the module that it imports says."""
    (tmp_path / "mine.wesl").write_text(
        "import package::by::BY;\nfn op(x: T) -> T { return x + T(BY); }\n"
    )
    write(tmp_path, 1)
    return tmp_path


def write(folder: Path, by: float) -> None:
    """Change the imported module; its size and the time of its change stay as they are."""
    path = folder / "by.wgsl"
    path.write_text(f"const BY = {by}.0;\n")
    os.utime(path, ns=(10**18, 10**18))


def register(folder: Path) -> None:
    """Register the kernel, from one place."""
    wk.wgsl_kernel("Mine", folder / "mine.wesl")


def mine(x: wk.Tensor) -> Any:
    """Run it."""
    return wk.engine().run_kernel("Mine", {"x": x})


def test_registering_again_from_the_same_place_takes_the_new_text_of_a_module(
    folder: Path,
) -> None:
    x = wk.tensor(np.zeros(100, np.float32))
    fast = wk.capture(lambda x: mine(x) * 2.0)
    for by in (1, 2, 3, 2):
        write(folder, by)
        register(folder)
        assert mine(x).numpy()[0] == by
        assert fast(x).numpy()[0] == 2 * by
        assert fast(x).numpy()[0] == 2 * by


def test_an_edit_is_seen_when_it_is_asked_for_and_at_every_shape(folder: Path) -> None:
    register(folder)
    small, large = (wk.tensor(np.zeros(n, np.float32)) for n in (100, 200))
    fast = wk.capture(lambda x: wk.sqrt(mine(x) * 4.0))
    assert mine(small).numpy()[0] == 1.0
    assert fast(small).numpy()[0] == 2.0
    write(folder, 4)
    assert mine(large).numpy()[0] == 1.0  # as at the shapes before
    assert fast(small).numpy()[0] == 2.0

    assert wk.reload_kernels() == ["Mine"]
    assert mine(small).numpy()[0] == mine(large).numpy()[0] == 4.0
    assert fast(small).numpy()[0] == 4.0
    assert wk.reload_kernels() == []


def test_caches_that_forget_meanwhile_change_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder)
    x = wk.tensor(np.zeros(100, np.float32))
    assert mine(x).numpy()[0] == 1.0
    monkeypatch.setattr(recent.caches, "nbytes", 2)
    for _ in range(2):
        recent.caches.count(2)  # what is not used in between goes
    assert wk.reload_kernels() == []
    write(folder, 4)
    assert wk.reload_kernels() == ["Mine"]
    assert mine(x).numpy()[0] == 4.0


def test_nothing_is_made_anew_where_no_file_has_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder)
    x = wk.tensor(np.zeros(100, np.float32))
    runs: list[int] = []

    def f(x: wk.Tensor) -> Any:
        runs.append(1)
        return mine(x) * 2.0

    fast = wk.capture(f)
    fast(x)
    mine(x).numpy()
    write(folder, 1)  # the same text
    assert wk.reload_kernels() == []
    monkeypatch.setattr(PipelineCache, "_compile", None)
    fast(x)
    mine(x).numpy()
    assert runs == [1]


def test_known_and_new_shapes_read_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(folder)
    mine(wk.tensor(np.zeros(100, np.float32))).numpy()

    def refuse(path: Path, *args: Any, **keywords: Any) -> Any:
        raise AssertionError(f"{path} is looked at")

    for name in ("read_bytes", "stat", "is_file", "resolve"):
        monkeypatch.setattr(Path, name, refuse)
    for size in (100, 101, 5000):
        assert mine(wk.tensor(np.zeros(size, np.float32))).numpy()[0] == 1.0


def test_a_file_that_is_lost_counts_as_changed_and_is_named_where_the_kernel_runs(
    folder: Path,
) -> None:
    register(folder)
    x = wk.tensor(np.zeros(100, np.float32))
    mine(x).numpy()
    (folder / "by.wgsl").unlink()
    assert mine(x).numpy()[0] == 1.0
    assert wk.reload_kernels() == ["Mine"]
    with pytest.raises(wk.ShaderError, match="there is no module package::by"):
        mine(x)
    write(folder, 6)
    assert mine(x).numpy()[0] == 6.0


def test_a_file_that_appears_before_the_one_that_was_found_counts_as_changed(
    tmp_path: Path,
) -> None:
    wk.signature("Mine")(lambda x, /: x.like())
    wk.wgsl_kernel("Mine", tmp_path / "own.wesl", override=True)
    (tmp_path / "own.wesl").write_text(
        "import package::by::BY;\nfn op(x: T) -> T { return x + T(BY); }\n"
    )
    (tmp_path / "by.wgsl").write_text("const BY = 1.0;\n")
    x = wk.tensor(np.zeros(100, np.float32))
    assert mine(x).numpy()[0] == 1.0
    (tmp_path / "by.wesl").write_text("const BY = 2.0;\n")
    assert wk.reload_kernels() == ["Mine"]
    assert mine(x).numpy()[0] == 2.0
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "by.wesl").write_text("const BY = 3.0;\n")
    (tmp_path / "wesl.toml").write_text("[package]\n")
    assert wk.reload_kernels() == ["Mine"]
    assert mine(x).numpy()[0] == 3.0


def test_files_that_a_function_names_are_read_once_for_all_shapes(folder: Path) -> None:
    shader = folder / "own.wgsl"
    main = """@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = x[id.x] + T(%d); }
}
"""
    shader.write_text(main % 1)
    wk.signature("Mine")(lambda x, /: x.like())

    @wk.wgsl_kernel("Mine")
    def _mine(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(str(shader), {"x": x, "y": y})
        return gpu.map(str(folder / "mine.wesl"), {"x": y}, x.shape, x.dtype)

    small, large = (wk.tensor(np.zeros(n, np.float32)) for n in (100, 200))
    assert mine(small).numpy()[0] == 2.0
    shader.write_text(main % 5)
    write(folder, 3)
    assert mine(large).numpy()[0] == 2.0
    assert wk.reload_kernels() == ["Mine"]
    assert mine(small).numpy()[0] == mine(large).numpy()[0] == 8.0


def test_pipelines_and_texts_of_a_kernel_that_is_replaced_go(folder: Path) -> None:
    driver: Any = find_driver("webgpu")
    device = driver.open()
    x = wk.tensor(np.zeros(100, np.float32))
    held: list[int] = []
    for by in range(200):
        write(folder, by)
        register(folder)
        assert mine(x).numpy()[0] == by
        held.append(len(device.pipelines))
    assert max(held[100:]) <= held[100]


GOOD = "import package::by::BY;\nfn op(x: T) -> T { return x + T(BY); }\n"
SUM = """import package::by::BY;
fn init() -> f32 { return 0.0; }
fn lift(x: f32) -> f32 { return x + f32(BY); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
BROKEN = {
    "no WGSL": (GOOD.replace(";\nfn", ";\nfn fn"), "const BY = 1.0;\n"),
    "an unknown name": (GOOD.replace("T(BY)", "nowhere"), "const BY = 1.0;\n"),
    "a wrong type": (GOOD.replace("x + T(BY)", "x + 1u"), "const BY = 1.0;\n"),
    "no such name in the import": (GOOD, "const BYE = 1.0;\n"),
    "an import that is no WGSL": (GOOD, "const BY = ;\n"),
    "an import of a wrong type": (GOOD, "const BY = 1u + 1.0f;\n"),
    "no file": (None, "const BY = 1.0;\n"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_that_is_mended_runs_at_the_next_call(case: str, folder: Path) -> None:
    own, imported = BROKEN[case]
    file, by = folder / "mine.wesl", folder / "by.wgsl"
    by.write_text(imported)
    if own is None:
        file.unlink()
    else:
        file.write_text(own)
    register(folder)
    x = wk.tensor(np.zeros(3, np.float32))
    with wk.use_backend("webgpu"):
        for _ in range(2):
            with pytest.raises(wk.ShaderError):
                mine(x).numpy()
        file.write_text(GOOD)
        by.write_text("const BY = 4.0;\n")

        assert mine(x).tolist() == [4.0] * 3


def test_a_broken_reduction_that_is_deferred_runs_at_the_next_call_when_mended(
    folder: Path,
) -> None:
    file = folder / "mine.wesl"
    file.write_text(SUM.replace("a + b", "a + 1u"))
    wk.signature("Mine")(lambda x, /, *, axis=-1: x.like(()))
    register(folder)
    x = wk.tensor(np.zeros(3, np.float32))
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        for _ in range(2):
            with pytest.raises(wk.ShaderError):
                (mine(x) * 2.0).numpy()
        file.write_text(SUM)

        assert (mine(x) * 2.0).item() == 6.0


TEXTS = {
    "own file": ("mine.wesl", "import package::by::BY;\nfn op(x: T) -> T {{ return x * {}.0; }}\n"),
    "imported": ("by.wgsl", "const BY = {}.0;\n"),
    "derived from": ("mine.wesl", "fn op(x: T) -> T {{ return x * {}.0; }}\n"),
}
"""Which file changes, and its text."""
DONE = [done for size in range(4) for done in itertools.product(("reload", "call"), repeat=size)]
CASES: list[tuple[tuple[str, tuple[str, ...]], ...]] = [
    *(((state, done),) for state in ("broken", "gone") for done in DONE),
    *(
        (("broken", first), ("gone", then), ("broken", then))
        for first in DONE
        for then in DONE
        if len(first) < 2 and len(then) < 3
    ),
]


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_that_is_back_is_named_whatever_was_done_meanwhile(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text = TEXTS[case]
    file, derives = folder / name, case == "derived from"
    (folder / "mine.wesl").write_text(
        "import package::by::BY;\nfn op(x: T) -> T { return x * BY; }"
    )
    file.write_text(text.format(1))
    wk.signature("Mine")(lambda x, /: x.like())
    wk.wgsl_kernel("Mine", folder / "mine.wesl", gradient="derive" if derives else None)
    x = wk.tensor(np.ones(3, np.float32))

    def value() -> float:
        with wk.use_backend("webgpu"):
            found = wk.grad(lambda x: wk.sum(mine(x)))(x) if derives else mine(x)
            return float(found.numpy()[0])

    def reload() -> list[str]:
        """Reload what is of this kernel: the files of all take a quarter of a second to read."""
        with monkeypatch.context() as patched:
            own = {key: one for key, one in registry._kernels.items() if "Mine" in one.name}
            patched.setattr(registry, "_kernels", own)
            return wk.reload_kernels()

    assert value() == 1
    for number, states in enumerate(CASES, 2):
        for state, done in states:
            file.unlink() if state == "gone" else file.write_text(text.format("no number"))
            for one in done:
                if one == "reload":
                    found = reload()
                    assert state == "broken" or found[:1] == ["Mine"], states
                else:
                    with suppress(wk.ShaderError):
                        value()
        file.write_text(text.format(number))
        assert reload()[:1] == ["Mine"], states
        assert value() == number
        assert reload() == []


def test_a_file_that_was_not_there_at_first_is_named_once_it_is(folder: Path) -> None:
    (folder / "by.wgsl").unlink()
    wk.signature("Mine")(lambda x, /: x.like())
    register(folder)
    x = wk.tensor(np.zeros(3, np.float32))
    with wk.use_backend("webgpu"):
        with pytest.raises(wk.ShaderError):
            mine(x)
        write(folder, 5)
        assert wk.reload_kernels() == ["Mine"]
        assert wk.reload_kernels() == []
        assert mine(x).tolist() == [5.0] * 3
