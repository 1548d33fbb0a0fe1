"""Outputs start from what ``init=`` and ``gpu.full`` say, at every run and in every mode."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.usefixtures("registries_as_before")

HISTOGRAM = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.x_size) { atomicAdd(&y[x[id.x]], 1); }
}
"""
THROUGH_ACCESSORS = """
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < 2u) { store_y(id.x, load_x(id.x)); }
}
"""
X = np.array([0, 1, 1, 4, 4, 4], np.int32)
MODES = pytest.mark.parametrize("fusion", ["never", "always"])


def _signature(name: str = "Count", dtype: str = "int32", length: int = 5) -> None:
    @wk.signature(name)
    def _rule(x: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(length,), dtype=dtype)


def _count(x: Any) -> wk.Tensor:
    found = wk.engine().run_kernel("Count", {"x": x}, {})
    assert isinstance(found, wk.Tensor)
    return found


def _poison(dtype: Any = "float32") -> None:
    """Leave a marker in the buffers of the pool."""
    with wk.config.using(fusion="never", small_ops="device"):
        held = [
            wk.full((n,), dtype == "bool" or 7, dtype=dtype) for n in (1, 2, 6, 10, 20, 30, 60, 300)
        ]
        wk.evaluate(*held)
    del held


@MODES
def test_a_histogram_counts_anew_at_each_call(fusion: Any) -> None:
    _signature()
    wk.wgsl_kernel("Count", HISTOGRAM, init={"y": 0})
    with wk.config.using(fusion=fusion):
        for _ in range(4):
            _poison("int32")
            assert _count(wk.tensor(X)).numpy().tolist() == [1, 2, 0, 0, 3]
            assert ((_count(wk.tensor(X) + 0) + 1) * 2).numpy().tolist() == [4, 6, 2, 2, 8]


def test_a_replay_counts_anew() -> None:
    _signature()
    wk.wgsl_kernel("Count", HISTOGRAM, init={"y": 10})
    fast = wk.capture(lambda x: (_count(x), _count(x + 0) * 2 + 1))
    for number in range(5):
        _poison("int32")
        plain, mapped = fast(wk.tensor(np.minimum(X, number)))
        want = 10 + np.bincount(np.minimum(X, number), minlength=5)
        assert plain.numpy().tolist() == want.tolist()
        assert mapped.numpy().tolist() == (want * 2 + 1).tolist()
    assert fast.why is None


@MODES
@pytest.mark.parametrize("length", [1, 5, 301])
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", -0.5),
        ("float32", float("nan")),
        ("float32", float("-inf")),
        ("int32", -7),
        ("int32", 3.0),
        ("bool", True),
        ("bool", 0),
        ("complex64", 1 - 2j),
        ("complex64", 3),
        ("float16", 0.25),
    ],
)
def test_elements_that_are_never_stored_keep_the_number(
    dtype: str, value: Any, length: int, fusion: Any
) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    _signature(dtype=dtype, length=length)
    given = np.array([1, 0], dtype if dtype != "complex64" else np.complex64)
    want = np.full((length,), value, given.dtype)
    want[:2] = given[:length]
    wk.wgsl_kernel("Count", THROUGH_ACCESSORS, init={"y": value})
    with wk.config.using(fusion=fusion):
        for _ in range(2):
            _poison(dtype)
            found = _count(wk.tensor(given))
            behind = wk.where(wk.ones((length,), dtype="bool"), found, found)
            assert np.array_equal(behind.numpy(), want, equal_nan=dtype != "bool")
            assert np.array_equal(found.numpy(), want, equal_nan=dtype != "bool")


def test_each_of_several_outputs_has_its_own_number() -> None:
    @wk.signature("Outputs")
    def _outputs(x: wk.Spec, /) -> dict[str, wk.Spec]:
        return {
            "low": x.like(),
            "none": x.like(shape=(0,)),
            "high": x.like(shape=(5,), dtype="float32"),
            "plain": x.like(),
        }

    text = """
    @group(0) @binding(0) var<storage, read> x: array<i32>;
    @group(0) @binding(1) var<storage, read_write> low: array<atomic<i32>>;
    @group(0) @binding(2) var<storage, read_write> none: array<i32>;
    @group(0) @binding(3) var<storage, read_write> high: array<f32>;
    @group(0) @binding(4) var<storage, read_write> plain: array<i32>;
    @compute @workgroup_size(1)
    fn main() {
      none[0] = 7;
      high[1] = 2.0;
      for (var i = 0u; i < 6u; i++) { atomicMin(&low[i], x[i]); plain[i] = x[i]; }
    }
    """
    wk.wgsl_kernel("Outputs", text, init={"low": 3, "high": -1.5, "none": 0})
    for _ in range(3):
        _poison("int32")
        low, none, high, plain = wk.engine().run_kernel("Outputs", {"x": wk.tensor(X)}, {})
        assert low.numpy().tolist() == [0, 1, 1, 3, 3, 3]
        assert none.shape == (0,)
        assert high.numpy().tolist() == [-1.5, 2.0, -1.5, -1.5, -1.5]
        assert plain.numpy().tolist() == X.tolist()


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "float16"])
@MODES
def test_full_arrays_of_full_control_are_filled_at_each_run(dtype: Any, fusion: Any) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    _signature(dtype=dtype, length=7)

    @wk.wgsl_kernel("Count")
    def _full(gpu: Any, x: Any) -> Any:
        y = gpu.full([7], dtype, 1)
        gpu.dispatch(THROUGH_ACCESSORS, {"x": x, "y": y})
        return y

    given = np.zeros(7, np.complex64 if dtype == "complex64" else dtype)
    fast = wk.capture(_count)
    with wk.config.using(fusion=fusion):
        for _ in range(3):
            _poison(dtype)
            for found in (_count(wk.tensor(given)), fast(wk.tensor(given))):
                behind = wk.where(wk.ones((7,), dtype="bool"), found, found)
                want = np.array([0, 0, 1, 1, 1, 1, 1], given.dtype)
                assert np.array_equal(behind.numpy(), want)
                assert np.array_equal(found.numpy(), want)


@pytest.mark.parametrize(
    ("dtype", "value", "words"),
    [
        ("int32", 0.5, "init of y is 0.5; want a whole number"),
        ("int32", 1 << 31, "init of y is 2147483648, but int32 goes from -2147483648"),
        ("int32", float("nan"), "init of y is nan; want a finite number"),
        ("bool", float("nan"), "init of y is nan; want True or False"),
        ("bool", 2, "init of y is 2; want True or False"),
        ("float32", 1e39, r"init of y is 1e\+39, but float32 goes from"),
        ("float32", 10**40, "init of y is 1.*0, but float32 goes from"),
        ("float16", 1e6, "init of y is 1000000.0, but float16 goes from -65504 to 65504"),
        ("float32", 1j, "init of y is 1j; want a real number, the array is float32"),
    ],
)
def test_a_number_that_the_dtype_cannot_hold_is_refused(dtype: str, value: Any, words: str) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    _signature(dtype=dtype)
    wk.wgsl_kernel("Count", THROUGH_ACCESSORS, init={"y": value})
    with pytest.raises(wk.ArgumentError, match=f"Count: {words}"):
        _count(wk.tensor(X))

    @wk.wgsl_kernel("Count", override=True)
    def _full(gpu: Any, x: Any) -> Any:
        return gpu.full((5,), dtype, value)

    with pytest.raises(wk.ArgumentError, match=f"Count: {words.replace('init of y', 'value')}"):
        _count(wk.tensor(X))


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (0, r"init is 0; want numbers by output, as \{'y': 0\}"),
        ({"y": "a"}, "init of y is a str, 'a'; want a number"),
        ({"y": None}, "init of y is a NoneType, None; want a number"),
        ({3: 0}, "init names 3; want an output"),
    ],
)
def test_what_is_no_number_by_output_is_refused_at_registration(init: Any, words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=f"Count: {words}"):
        wk.wgsl_kernel("Count", THROUGH_ACCESSORS, init=init)


def test_an_output_that_there_is_not_is_named() -> None:
    _signature()
    wk.wgsl_kernel("Count", THROUGH_ACCESSORS, init={"z": 0})
    with pytest.raises(wk.ArgumentError, match="init names 'z', which is no output; known: y"):
        _count(wk.tensor(X))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("map", "fn op(x: T) -> T {\n  return x;\n}\n"),
        (
            "reduce",
            "fn init() -> T {\n  return T(0);\n}\nfn combine(a: T, b: T) -> T { return a; }\n",
        ),
        (
            "scan",
            "fn init() -> T {\n  return T(0);\n}\nfn combine(a: T, b: T) -> T { return a; }\n",
        ),
    ],
)
def test_only_a_shader_with_its_own_main_has_init(form: Any, text: str) -> None:
    with pytest.raises(wk.ArgumentError, match=f"Count: init is for a shader .* a {form} writes"):
        wk.wgsl_kernel("Count", text, form="scan" if form == "scan" else None, init={"y": 0})
    with pytest.raises(wk.ArgumentError, match=f"Count: groups is for a shader .* a {form} has"):
        wk.wgsl_kernel(
            "Count", text, form="scan" if form == "scan" else None, groups=lambda y_size: (y_size,)
        )


def test_a_function_gives_its_grid_itself() -> None:
    with pytest.raises(wk.ArgumentError, match=r"Count: groups is for a shader.*gpu\.dispatch"):
        wk.wgsl_kernel("Count", groups=lambda y_size: (y_size,))  # type: ignore[call-overload]  # on purpose


def test_a_function_is_told_of_gpu_full() -> None:
    with pytest.raises(wk.ArgumentError, match=r"Count: init is for a shader.*gpu\.full"):
        wk.wgsl_kernel("Count", init={"y": 0})  # type: ignore[call-overload]  # it is refused


@pytest.mark.parametrize(
    "type_", ["array<atomic<i32>>", "Bins", "array<Bin>", "array<Word>", "array<array<Word, 2>>"]
)
def test_an_atomic_output_without_init_warns_at_the_authors_line(type_: str) -> None:
    types = "alias Word = atomic<i32>;\nstruct Bin { n: Word }\nstruct Bins { all: array<Bin> }\n"
    text = types + HISTOGRAM.replace("array<atomic<i32>>", type_)
    with pytest.warns(
        RuntimeWarning, match=r"(?s):\d+:\d+: Count: output 'y' is atomic.*\^"
    ) as seen:
        wk.wgsl_kernel("Count", text)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wk.wgsl_kernel("Count", text, init={"y": 0}, override=True)
        wk.wgsl_kernel("Count", THROUGH_ACCESSORS, override=True)
        wk.wgsl_kernel("Count", "no shader\nat all", override=True)
