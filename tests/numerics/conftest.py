"""Runs one WGSL function over arrays on every adapter, without the library's backend."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from wgsl_kernels.backends.webgpu.modules.files import shaders_folder

SHADERS = shaders_folder()

GROUP = 64

MAX = float(np.finfo(np.float32).max)
TINY = float(np.finfo(np.float32).tiny)

_POSITIVE_EDGES: list[float] = [
    *(0.0, 1e-45, 1e-40, TINY, 1e-30, 0.34, 0.35, 0.41, 0.29, 0.5, 0.625, 0.785, 1 - 2.0**-24),
    *(1.0, 1 + 2.0**-23, 1.5, 2.0, 2.5, 3.0, 9.01, 10.0, 20.0, 87.4, 88.72283, 88.72284),
    *(89.41598, 89.416, 103.9, 104.0, 799.9, 800.0, 1e5, 2.0**22 + 0.5, 2.0**24, 1e9, 1e10),
    *(1e30, MAX, np.inf),
]

EDGES = np.array([*_POSITIVE_EDGES, *(-x for x in _POSITIVE_EDGES), np.nan], np.float32)

_RNG = np.random.default_rng(20261121)


def _signs(size: int) -> np.ndarray:
    return _RNG.choice(np.array([-1.0, 1.0]), size)


def _patterns(size: int) -> np.ndarray:
    bits = _RNG.integers(0, 2**32, size, dtype=np.uint32)
    bits[(bits & 0x7FFFFFFF) > 0x7F800000] |= (
        0x00400000  # NumPy warns when it casts a signalling NaN
    )
    return bits.view(np.float32)


ONE = np.concatenate(
    [
        EDGES,
        _patterns(200_000),
        _signs(50_000) * (1 + _RNG.uniform(-1, 1, 50_000) * 2.0 ** _RNG.integers(-24, 0, 50_000)),
        _signs(100_000) * 2.0 ** _RNG.uniform(-30, 10, 100_000),
        _RNG.uniform(-110, 110, 100_000),
        np.arange(-1000, 1000) / 2,
    ]
).astype(np.float32)

_EDGE_PAIRS = np.stack(np.meshgrid(EDGES, EDGES)).reshape(2, -1)
_WHOLE_PAIRS = _RNG.integers(-50, 50, (2, 20_000)).astype(np.float32)
_BASES = np.exp2(_RNG.uniform(-20, 20, 100_000)).astype(np.float32)
_POWERS = (_RNG.uniform(-90, 90, 100_000) / np.log(_BASES.astype(np.float64))).astype(np.float32)

PAIRS = np.concatenate(
    [
        _EDGE_PAIRS,
        _WHOLE_PAIRS,
        np.stack([_BASES, _POWERS]),
        _patterns(400_000).reshape(2, -1),
        np.stack([_RNG.permutation(ONE), ONE]),
    ],
    axis=1,
)

_INTEGER_EDGES = np.array([0, 1, -1, 2, -2, 3, -7, 10, 2**31 - 1, -(2**31), 65535, 65536], np.int32)

INTEGER_PAIRS = np.concatenate(
    [
        np.stack(np.meshgrid(_INTEGER_EDGES, _INTEGER_EDGES)).reshape(2, -1),
        _RNG.integers(-(2**31), 2**31, (2, 50_000)),
        _RNG.integers(-20, 20, (2, 50_000)),
    ],
    axis=1,
).astype(np.int32)

# What the composer supplies to every shader
RUN_TIME_VALUES = """
struct RunTime { wk_zero: u32, wk_nan_bits: u32, wk_inf_bits: u32, count: u32 }
@group(0) @binding(0) var<uniform> run_time: RunTime;
fn hold(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) + run_time.wk_zero); }
fn wk_nan() -> f32 { return bitcast<f32>(run_time.wk_nan_bits); }
fn wk_inf() -> f32 { return bitcast<f32>(run_time.wk_inf_bits); }
"""

MAIN = """
@group(0) @binding(1) var<storage, read> inputs: array<u32>;
@group(0) @binding(2) var<storage, read_write> outputs: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  let n = run_time.count;
  if (i < n) {
    outputs[i] = %s;
  }
}
"""

INPUT = {
    np.dtype(np.float32): "bitcast<f32>({})",
    np.dtype(np.int32): "bitcast<i32>({})",
    np.dtype(np.uint32): "{}",
}


@dataclass(frozen=True)
class Machine:
    """An adapter and its device."""

    backend: str
    device: Any


@cache
def machines() -> tuple[Machine, ...]:
    """Return a device for every adapter of this machine."""
    import wgpu

    adapters = wgpu.gpu.enumerate_adapters_sync()
    return tuple(
        Machine(adapter.info["backend_type"], adapter.request_device_sync()) for adapter in adapters
    )


def joined(*names: str) -> str:
    """Return the text of these modules, which together declare all that they import."""
    texts = ((SHADERS / "lib" / f"{name}.wesl").read_text() for name in names)
    return "\n".join(re.sub(r"^import [^;]*;", "", text, flags=re.MULTILINE) for text in texts)


class Evaluate:
    """Evaluates WGSL expressions on every adapter."""

    def __init__(self, *modules: str) -> None:
        self.modules = modules

    def __call__(
        self, expression: str, *arrays: np.ndarray, dtype: type[np.generic] = np.float32
    ) -> list[tuple[str, np.ndarray]]:
        """Return (backend, results) of each adapter; the 32-bit arrays are called a, b, c."""
        for position, (letter, array) in enumerate(zip("abc", arrays, strict=False)):
            value = INPUT[array.dtype].format(f"inputs[i + {position}u * n]")
            expression = re.sub(rf"\b{letter}\b", value, expression)
        text = joined(*self.modules) + RUN_TIME_VALUES + MAIN % f"bitcast<u32>({expression})"
        words = np.concatenate([np.ascontiguousarray(array).view(np.uint32) for array in arrays])
        return [
            (machine.backend, _dispatch(machine.device, text, words, arrays[0].size).view(dtype))
            for machine in machines()
        ]


@cache
def _pipeline(device: Any, text: str) -> Any:
    module = device.create_shader_module(code=text)
    return device.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )


def _dispatch(device: Any, text: str, words: np.ndarray, count: int) -> np.ndarray:
    from wgpu import BufferUsage

    run_time = np.array([0, 0x7FC00000, 0x7F800000, count], np.uint32)
    uniform = device.create_buffer_with_data(data=run_time, usage=BufferUsage.UNIFORM)
    source = device.create_buffer_with_data(data=words, usage=BufferUsage.STORAGE)
    result = device.create_buffer(size=4 * count, usage=BufferUsage.STORAGE | BufferUsage.COPY_SRC)
    pipeline = _pipeline(device, text)
    buffers = (uniform, source, result)
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[
            {"binding": position, "resource": {"buffer": buffer}}
            for position, buffer in enumerate(buffers)
        ],
    )
    encoder = device.create_command_encoder()
    run = encoder.begin_compute_pass()
    run.set_pipeline(pipeline)
    run.set_bind_group(0, group)
    run.dispatch_workgroups(-(-count // GROUP))
    run.end()
    device.queue.submit([encoder.finish()])
    return np.frombuffer(device.queue.read_buffer(result), np.uint32)


NUMERICAL = (
    "complex",
    "error_function",
    "exp_below",
    "gamma",
    "hyperbolic",
    "integer",
    "logarithms",
    "logistic",
    "power",
    "random",
    "remainder",
    "safe_math",
    "trigonometry",
)
"""The modules that stand alone; others belong to the kernels of one family."""


@pytest.fixture
def evaluate() -> Evaluate:
    """Return what runs an expression over the functions of the numerical modules."""
    return Evaluate(*NUMERICAL)


@pytest.fixture(scope="session")
def floats() -> np.ndarray:
    """Return edges, values near 1, ties, every exponent and random bit patterns."""
    return ONE


@pytest.fixture(scope="session")
def pairs() -> np.ndarray:
    """Return float32[2, n]: all pairs of edges, whole numbers, finite powers, any bits."""
    return PAIRS


@pytest.fixture(scope="session")
def integer_pairs() -> np.ndarray:
    """Return int32[2, n]: all pairs of edges, large and small numbers."""
    return INTEGER_PAIRS
