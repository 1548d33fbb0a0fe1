"""Domains of the simulator: float64 beside float32, memory and functions by name included."""

from typing import Any

import numpy as np
import pytest

from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.domains import FLOAT32, Domain, ShadowedWords, float32, float64
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.wgsl.syntax.places import Text

Array = np.ndarray[Any, Any]
COUNT = 64
HEAD = """enable f16;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> raw: array<u32>;
@group(0) @binding(3) var<storage, read_write> halves: array<f16>;
var<workgroup> shared_x: array<f32, 32>;

fn own_exp(x: f32) -> f32 {
  return 0.0;
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = id.x;
"""


class Dispatch:
    """One dispatch after the other on the same memory."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        values = np.linspace(-3, 3, COUNT, dtype=np.float32)
        plain = [np.zeros(COUNT, np.uint32) for _ in range(4)]
        plain[0] = values.view(np.uint32)
        is_wide = domain.name == "float64"
        self.bound: dict[Any, Any] = {
            (0, at): ShadowedWords(one) if is_wide else one for at, one in enumerate(plain)
        }
        self.x = values.astype(np.float64)

    def run(self, body: str) -> None:
        """Run a program whose main has this body."""
        text = Text("program.wgsl", f"{HEAD}{body}\n}}\n")
        entry = compile_entry(text, "main", {}, self.domain)
        entry.run((COUNT // 32, 1, 1), self.bound)

    @property
    def y(self) -> Array:
        """What the programs wrote there."""
        wide = self.bound[0, 1]
        is_wide = isinstance(wide, ShadowedWords)
        found: Array = wide.views["f32"].wide if is_wide else wide.view(np.float32)
        return found


def test_arithmetic_and_builtins_are_of_float64() -> None:
    wide = Dispatch(float64())
    wide.run("y[i] = sin(x[i]) * 0.1 + f32(lane) / 3.0 + sqrt(2.0);")

    want = np.sin(wide.x) * 0.1 + np.arange(COUNT) % 32 / 3 + np.sqrt(2)
    np.testing.assert_allclose(wide.y, want, rtol=1e-15)


def test_halves_are_of_float64() -> None:
    wide = Dispatch(float64())
    wide.run("halves[i] = f16(x[i]) / 3.0h;")
    wide.run("y[i] = f32(halves[i]);")

    np.testing.assert_allclose(wide.y, wide.x / 3, rtol=1e-15)


def test_workgroup_memory_is_of_float64() -> None:
    wide = Dispatch(float64())
    wide.run("shared_x[lane] = x[i] / 3.0; workgroupBarrier(); y[i] = shared_x[31u - lane];")

    np.testing.assert_allclose(wide.y, wide.x.reshape(-1, 32)[:, ::-1].ravel() / 3, rtol=1e-15)


def test_memory_keeps_float64_from_dispatch_to_dispatch_with_its_words_beside() -> None:
    wide = Dispatch(float64())
    wide.run("y[i] = x[i] / 3.0;")
    wide.run("y[i] = y[i] * 7.0;")

    np.testing.assert_allclose(wide.y, wide.x * 7 / 3, rtol=1e-15)
    words = wide.bound[0, 1].words
    np.testing.assert_array_equal(words.view(np.float32), wide.y.astype(np.float32))


def test_words_that_were_written_since_count() -> None:
    wide = Dispatch(float64())
    wide.run("y[i] = x[i] / 3.0;")
    wide.bound[0, 1].words[:8] = np.arange(8, dtype=np.float32).view(np.uint32)
    wide.run("y[i] = y[i];")

    np.testing.assert_array_equal(wide.y[:8], np.arange(8))
    np.testing.assert_allclose(wide.y[8:], wide.x[8:] / 3, rtol=1e-15)


def test_integers_are_what_they_are() -> None:
    wide = Dispatch(float64())
    wide.run("raw[i] = (i * 2654435761u) ^ u32(i32(x[i]));")

    i = np.arange(COUNT, dtype=np.uint32)
    want = (i * np.uint32(2654435761)) ^ np.trunc(wide.x).astype(np.int32).view(np.uint32)
    np.testing.assert_array_equal(wide.bound[0, 2].words, want)


def test_a_part_of_wide_words_is_the_same_memory() -> None:
    whole = ShadowedWords(np.zeros(8, np.uint32))
    whole.part(2, 6).views["f32"][0] = 0.1

    assert whole.views["f32"][2] == 0.1
    assert whole.words[2] == np.float32(0.1).view(np.uint32)


@pytest.mark.parametrize("made", [float32, float64])
def test_functions_go_by_name(made: Any) -> None:
    here = Dispatch(made({"own_exp": np.exp}))
    here.run("y[i] = own_exp(x[i]);")

    rtol = 1e-15 if made is float64 else 1e-6
    np.testing.assert_allclose(here.y, np.exp(here.x), rtol=rtol)


@pytest.mark.parametrize(
    "body",
    [
        "raw[i] = bitcast<u32>(x[i]);",
        "y[i] = bitcast<f32>(i);",
        "raw[i] = pack2x16float(vec2(x[i], 1.0));",
        "raw[i] = pack4x8snorm(vec4(x[i]));",
        "y[i] = unpack2x16float(i).x;",
    ],
)
def test_float64_takes_no_bits_apart(body: str) -> None:
    Dispatch(FLOAT32).run(body)
    with pytest.raises(RefusedError, match="as bits, which are none of a float64") as caught:
        Dispatch(float64()).run(body)

    assert caught.value.begin >= len(HEAD)


def test_float64_packs_integers() -> None:
    wide = Dispatch(float64())
    wide.run("raw[i] = pack4xU8(vec4(i)) + bitcast<u32>(i32(i)) + unpack4xU8(i).x;")

    i = np.arange(COUNT, dtype=np.uint32)
    np.testing.assert_array_equal(wide.bound[0, 2].words, i * np.uint32(0x01010101) + 2 * i)
