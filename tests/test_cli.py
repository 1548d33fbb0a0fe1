"""What ``wgsl-kernels info`` says: with adapters, without any, and of a bad setting."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice
from wgsl_kernels.cli import info
from wgsl_kernels.cli.kernels import ledger, show

GPU = AdapterInfo(
    index=0,
    name="Example 9000",
    vendor="Example Corp",
    driver="example 1.2.3",
    backend="Vulkan",
    type="DiscreteGPU",
    limits={"max-buffer-size": 1 << 30, "max-bind-groups": 4},
    features=frozenset({"timestamp-query", "shader-f16"}),
    is_software=False,
)
SOFTWARE = AdapterInfo(
    index=1,
    name="llvmpipe",
    vendor="",
    driver="Mesa 22.3.6",
    backend="OpenGL",
    type="CPU",
    limits={},
    features=frozenset(),
    is_software=True,
)


def _said(monkeypatch: pytest.MonkeyPatch, adapters: list[AdapterInfo], why: str) -> str:
    """Return what the command prints where these are the adapters and the last is chosen."""
    choice = AdapterChoice(adapters[-1], why, adapter=None) if adapters else None
    monkeypatch.setattr(info, "list_adapters", lambda: adapters)
    monkeypatch.setattr(info, "choose_adapter", lambda: choice)
    console = Console(width=100, no_color=True)
    with console.capture() as captured:
        console.print(info.adapter_report())
    return captured.get()


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "wgsl_kernels", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_info_names_the_facts_of_a_gpu_and_why_it_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = _said(monkeypatch, [GPU], "the only adapter")

    for fact in ("Example 9000", "Example Corp", "example 1.2.3", "Vulkan", "DiscreteGPU"):
        assert fact in said
    assert "1,073,741,824" in said
    assert "shader-f16, timestamp-query" in said
    assert "Chosen: [0] Example 9000 through Vulkan: the only adapter." in said
    assert "software" not in said


def test_info_says_that_cpu_comes_before_a_software_adapter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = _said(monkeypatch, [GPU, SOFTWARE], "asked for")

    assert "CPU, software" in said
    assert "not told" in said
    assert "Chosen: [1] llvmpipe through OpenGL: asked for." in said
    assert "the cpu backend comes before it" in said


def test_info_without_an_adapter_says_so_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = _said(monkeypatch, [], "")

    assert "No WebGPU adapter was found, so the cpu backend is used." in said
    assert "mesa-vulkan-drivers" in said


@pytest.mark.gpu
def test_the_command_lists_the_adapters_of_this_machine() -> None:
    run = _run("info", COLUMNS="200")

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("wgsl-kernels ")
    assert "Chosen: [" in run.stdout


@pytest.mark.gpu
def test_an_adapter_that_is_not_there_is_an_error_and_no_traceback() -> None:
    run = _run("info", WGSL_KERNELS_ADAPTER="no such adapter")

    assert run.returncode == 2
    assert "WGSL_KERNELS_ADAPTER" in run.stderr
    assert "Traceback" not in run.stderr


def test_importing_the_command_line_loads_neither_typer_nor_rich() -> None:
    code = "import sys, wgsl_kernels.cli; print({'typer', 'rich'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "set()"


@pytest.mark.gpu
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("item", "kernel"),
    [("matmul 128", "BatchMatMul"), ("softmax", "Softmax"), ("top 10", "TopK")],
)
def test_tune_shows_and_keeps_what_it_measured(item: str, kernel: str, tmp_path: Path) -> None:
    done = _run("tune", "--only", item, WGSL_KERNELS_CACHE=str(tmp_path), COLUMNS="120")
    assert done.returncode == 0, done.stderr
    assert kernel in done.stdout
    assert "static" in done.stdout
    assert len(list(tmp_path.glob("tuning/*.json"))) == 1


KERNELS = """
import numpy as np
import wgsl_kernels as wk

PRODUCT = '''
fn a_at(batch: u32, row: u32, k: u32) -> T_x { return x[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> T_x { return load_x(col * params.depth + k); }
'''
wk.signature("Gram")(lambda x, /: x.like(shape=(x.shape[0], x.shape[0])))
wk.wgsl_kernel("Gram", PRODUCT, form="product", params=lambda x_shape: {"depth": x_shape[1]})
wk.signature("Doubled")(lambda x, /: x.like())


@wk.wgsl_kernel("Doubled")
def _(gpu, x):
    def run(configuration):
        y = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(
            "doubled.wesl",
            {"x": x, "y": y},
            configuration=configuration,
            groups=gpu.grid(x.size, configuration["GROUP"]),
        )
        return y

    return run(gpu.configure("doubled.wesl", run, x.size))


def both():
    x = wk.tensor(np.ones((6, 64), np.float32))
    return [wk.engine().run_kernel(name, {"x": x}) for name in ("Gram", "Doubled")]
"""
DOUBLED = """
const GROUP = 64u; // @tune 32 64 128: invocations of a workgroup

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) {
    y[id.x] = x[id.x] + x[id.x];
  }
}
"""


@pytest.mark.gpu
def test_tune_measures_a_users_product_and_template(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(KERNELS)
    (tmp_path / "doubled.wesl").write_text(DOUBLED)
    cache = tmp_path / "cache"
    done = _run("tune", f"{file}:both", WGSL_KERNELS_CACHE=str(cache), COLUMNS="120")
    assert done.returncode == 0, done.stderr
    (kept,) = cache.glob("tuning/*.json")
    choices = json.loads(kept.read_text())["choices"]
    found = {label.split()[0]: one for label, one in choices.items()}
    assert set(found["Doubled"]["milliseconds"]) == {"GROUP=32", "GROUP=64", "GROUP=128"}
    assert found["Doubled"]["configuration"]["GROUP"] in (32, 64, 128)
    assert {"TILE_M", "TILE_N", "SPLIT"} <= found["Gram"]["configuration"].keys()
    assert len(found["Gram"]["milliseconds"]) > 1


@pytest.mark.gpu
def test_show_prints_what_runs_for_a_kernel_with_the_origin_of_each_line() -> None:
    done = _run("show", "Sum", "4x100")

    assert done.returncode == 0, done.stderr
    assert "configuration: variant " in done.stdout
    assert "x reads input 0, 1600 bytes" in done.stdout
    line = next(one for one in done.stdout.splitlines() if "fn init() -> T_wide" in one)
    assert line.startswith("reductions/reduce/sum.wgsl:")


@pytest.mark.gpu
def test_show_takes_the_variant_that_a_kernel_is_to_run_as() -> None:
    for variant in ("rows", "lanes"):
        done = _run("show", "Sum", "4x100", "--config", variant)

        assert f"configuration: variant {variant}," in done.stdout, done.stderr


@pytest.mark.gpu
def test_show_takes_a_function_of_a_file_and_the_shapes_of_a_sample(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import numpy as np\n"
        "import wgsl_kernels as wk\n"
        "x = wk.tensor(np.ones((8, 8), np.float32))\n"
        "def step():\n"
        "    return wk.sqrt(x * 2.0)\n"
    )

    function, sample = _run("show", f"{file}:step"), _run("show", "Softmax")

    assert "Multiply + Sqrt" in function.stdout, function.stderr
    assert "elementwise/unary/sqrt.w" in function.stdout
    assert "Softmax" in sample.stdout, sample.stderr


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("NoSuchKernel",), "no kernel 'NoSuchKernel'"),
        (("Sum", "4y4"), "'4y4' is no shape"),
        (("nowhere.py:step",), "no file nowhere.py"),
        (("Sum", "4", "4"), "Sum has 1 inputs"),
        (("Sum", "4x100", "--config", "sideways"), "has no variant 'sideways' here; known: lanes"),
    ],
)
def test_show_refuses_what_it_cannot_find(arguments: tuple[str, ...], message: str) -> None:
    done = _run("show", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_pipe_a_kernel_is_a_line_whatever_the_width() -> None:
    said = _run("kernels", "depthwise", COLUMNS="80").stdout.splitlines()

    rows = [line for line in said if "wgsl_kernels.ops.convolution.depthwise" in line]
    names = [line.split()[0] for line in rows]
    assert "DepthwiseConv2dNativeBackpropFilter" in names
    assert all("cpu, webgpu" in line for line in rows)


def test_names_stay_whole_in_a_narrow_terminal() -> None:
    rows = ledger("DepthwiseConv2dNativeBackpropFilter")
    console = Console(width=40, no_color=True, force_terminal=True)
    with console.capture() as captured:
        show(console, rows)

    assert "DepthwiseConv2dNativeBackpropFilter" in captured.get()
