"""Shapes, counts and axes are plain ints behind the door, and no wrong call breaks right ones."""

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ENGINES = pytest.mark.parametrize("engine", ["eager", "fused", "captured"])

POISON = """
import numpy as np
import wgsl_kernels as wk

wk.config.small_ops = "device"
x = wk.tensor([[7.0]])
wrong = [
    lambda one: wk.ones(one), lambda one: wk.zeros((one,)), lambda one: wk.full([one, 2], 1.0),
    lambda one: wk.reshape(x, one), lambda one: wk.reshape(x, (one, one)),
    lambda one: wk.broadcast_to(x, (one, one)), lambda one: wk.random_uniform((one,)),
    lambda one: wk.random_normal(one), lambda one: wk.eye(one), lambda one: wk.eye(2, one),
    lambda one: wk.eye(2, batch_shape=(one,)), lambda one: wk.tile(x, (one, one)),
    lambda one: wk.one_hot([0], one), lambda one: wk.linspace(0.0, 1.0, one),
    lambda one: wk.tensor(1.0, shape=(one,)), lambda one: wk.slice(x, (0, 0), (one, one)),
    lambda one: wk.split(x, one), lambda one: wk.sum(x, axis=one), lambda one: wk.topk(x, one),
    lambda one: wk.permute_dims(x, (one, 0)), lambda one: wk.expand_dims(x, axis=one),
    lambda one: wk.max_pool(wk.ones((one, 1, 1, 1)), one), lambda one: wk.Spec((one,), "float32"),
    lambda one: wk.pad(x, one), lambda one: wk.take(x, [0], axis=one),
]
def right():
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            yield wk.ones(1), (1,)
            yield wk.zeros((1,)) + 1.0, (1,)
            yield wk.full([1, 2], 1.0), (1, 2)
            yield wk.reshape(x, 1), (1,)
            yield wk.broadcast_to(x, (1, 1)), (1, 1)
            yield wk.random_uniform((1,)), (1,)
            yield wk.eye(1), (1, 1)
            yield wk.tile(x, (1, 1)), (1, 1)
            yield wk.sum(wk.ones((2, 1)), axis=1), (2,)
refused = 0
for backend in ("cpu", "webgpu"):
    with wk.use_backend(backend):
        for one in (True, np.True_, 1.0, np.float32(1)):
            for f in wrong:
                try:
                    f(one)
                except wk.WgslKernelsError as error:
                    refused += 1
                else:
                    raise AssertionError(f"{one!r} was taken by {f.__code__.co_firstlineno}")
for made, shape in right():
    assert made.shape == shape and all(type(n) is int for n in made.shape), made
    made = made * 1.0
    assert made.numpy().shape == shape, made
print(refused // 8, len(wrong))
"""


def test_no_bool_or_float_for_a_length_is_taken_or_breaks_right_calls() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", POISON], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    refused, wrong = ran.stdout.split()
    assert refused == wrong


@BACKENDS
@pytest.mark.parametrize(
    "three", [3, np.int64(3), np.uint8(3), np.array(3), np.array(3, np.int16)], ids=repr
)
def test_integers_of_numpy_are_lengths(backend: str, three: Any) -> None:
    with wk.use_backend(backend):
        made = [
            wk.ones(three), wk.zeros((three,)), wk.reshape(wk.ones((1, 3)), [three]),
            wk.broadcast_to(wk.ones((1,)), three), wk.eye(three)[0], wk.linspace(0.0, 1.0, three),
            wk.one_hot(wk.tensor(1), three), wk.tile(wk.ones((1,)), three), wk.arange(three),
            wk.random_uniform((three,)), wk.tensor(1.0, shape=three),
        ]  # fmt: skip
        assert [one.shape for one in made] == [(3,)] * len(made)
        assert {type(length) for one in made for length in one.shape} == {int}


@BACKENDS
@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (lambda x: wk.pad(x, 1), lambda x: np.pad(x, 1)),
        (lambda x: wk.pad(x, (1, 2)), lambda x: np.pad(x, (1, 2))),
        (lambda x: wk.tile(x, 2), lambda x: np.tile(x, 2)),
        (lambda x: wk.permute_dims(x[0], 0), lambda x: np.transpose(x[0], 0)),
        (lambda x: wk.broadcast_to(x[0], 3), lambda x: np.broadcast_to(x[0], 3)),
        (lambda x: wk.strided_slice(x, 1, 2), lambda x: x[1:2]),
        (lambda x: wk.strided_slice(x, [0], 7), lambda x: x[0:7]),
        (lambda x: wk.slice(x, 1, 1), lambda x: x[1:2]),
        (lambda x: wk.eye(2, 3, k=10**12), lambda x: np.eye(2, 3, k=10**12)),
        (lambda x: wk.eye(2, 3, k=-(10**12)), lambda x: np.eye(2, 3, k=-(10**12))),
        (lambda x: wk.eye(2, batch_shape=2), lambda x: np.stack([np.eye(2)] * 2)),
    ],
)
def test_a_scalar_is_taken_where_numpy_takes_it(
    ours: Callable[[Any], wk.Tensor], numpys: Callable[[Any], Any], backend: str
) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with wk.use_backend(backend):
        np.testing.assert_array_equal(ours(wk.tensor(x)).numpy(), numpys(x))


odd: Any = wk
"""The package to a checker that is to let wrong types pass."""

ERRORS: dict[str, tuple[Callable[[], object], type[wk.WgslKernelsError], str]] = {
    "ones": (
        lambda: odd.ones(True), wk.ArgumentError,
        "ones (kernel Fill): shape is True; want an integer or a tuple of integers; True "
        "and False are none.",
    ),
    "reshape": (
        lambda: odd.reshape(wk.ones(4), (2.0, 2)), wk.ArgumentError,
        "Reshape: shape is (2.0, 2); want an integer or a tuple of integers.",
    ),
    "no array": (
        lambda: odd.zeros((2**63 - 1, 0)), wk.ShapeError,
        "zeros (kernel Fill): the result's shape is (9223372036854775807, 0); want lengths "
        "that multiply to at most 2^59 without the 0.",
    ),
    "huge": (
        lambda: odd.zeros(10**5000), wk.ArgumentError,
        "zeros (kernel Fill): shape is an int of 16610 bits; want an integer or a tuple of "
        "integers, of 64 bits at most.",
    ),
    "linspace": (
        lambda: odd.linspace("a", 1.0, 3), wk.ArgumentError,
        "linspace: start is 'a'; want a number.",
    ),
    "arange": (
        lambda: odd.arange([1]), wk.ArgumentError, "arange: start is [1]; want a number."
    ),
    "arange to int32": (
        lambda: odd.arange(2**31 - 2, 2**31 + 2), wk.ArgumentError,
        "Range: the last number is 2147483649 and dtype int32; want a whole number of 32 bits.",
    ),
    "eye": (lambda: odd.eye(2.5), wk.ArgumentError, "eye: n_rows is 2.5; want an integer."),
    "one_hot": (
        lambda: odd.one_hot([0], "a"), wk.ArgumentError, "OneHot: depth is 'a'; want an integer."
    ),
    "stack": (
        lambda: odd.stack(5), wk.ArgumentError, "stack: arrays is a int; want a list of tensors."
    ),
    "concat": (
        lambda: odd.concat(wk.ones((2, 2))), wk.ArgumentError,
        "Concat: arrays is a tensor; want a list of tensors.",
    ),
    "add_n": (
        lambda: odd.add_n(None), wk.ArgumentError,
        "AddN: inputs is a NoneType; want a list of tensors.",
    ),
    "slice": (
        lambda: odd.slice(wk.ones(3), "a"), wk.ArgumentError,
        "Slice: begin is 'a'; want an integer or a tuple of integers.",
    ),
    "huber": (
        lambda: odd.huber_loss([1.0], [2.0], delta="a"),
        wk.ArgumentError, "huber_loss: delta is 'a'; want a number.",
    ),
    "ragged": (
        lambda: odd.ragged_gather(3, [1.0], [0]),
        wk.ArgumentError,
        "RaggedGather: params_nested_splits is a int; want a list of tensors.",
    ),
    "std": (
        lambda: odd.std(wk.ones(3), correction=float("nan")), wk.ArgumentError,
        "std (kernel Variance): correction is nan; want a finite number.",
    ),
    "padding": (
        lambda: odd.pad(wk.ones((2, 2)), True), wk.ShapeError,
        "PadV2: paddings is ((True, True), (True, True)) and x has shape [2, 2]; want for each "
        "axis a pair of lengths of at least 0.",
    ),
    "an input": (
        lambda: odd.ones(2) + object, wk.DTypeError,
        "Add: b: <class 'object'> makes no tensor; want numbers, str or bytes.",
    ),
    "evil": (
        lambda: odd.sum(wk.ones(2), axis=Evil()), wk.ArgumentError,
        "Sum: axis is a value of Evil; want an integer or a tuple of integers.",
    ),
    "no function": (
        lambda: odd.grad(5), wk.ArgumentError,
        "grad: f is 5; want a function.",
    ),
    "limit": (
        lambda: odd.config.using(memory_limit=True).__enter__(), wk.ArgumentError,
        "config: memory_limit is True; want a number of bytes above 0, None (no limit) or 'auto'.",
    ),
}  # fmt: skip


class Evil:
    """An object whose hooks raise."""

    def _raise(self) -> Any:
        raise OSError("of its own")

    __index__ = __repr__ = _raise


@BACKENDS
@pytest.mark.parametrize("which", ERRORS)
def test_a_wrong_argument_is_refused_by_op_and_name(which: str, backend: str) -> None:
    f, error, message = ERRORS[which]
    with wk.use_backend(backend), pytest.raises(error) as caught:
        f()
    assert type(caught.value) is error
    assert str(caught.value) == message


@BACKENDS
def test_no_classes_smoothed_are_a_loss_of_nothing(backend: str) -> None:
    with wk.use_backend(backend):
        none = wk.zeros((2, 0))
        losses = wk.softmax_cross_entropy(none, none, label_smoothing=0.5, reduction="none")
        assert losses.tolist() == [0.0, 0.0]


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@BACKENDS
@pytest.mark.parametrize(
    "f",
    [
        lambda: wk.linspace(0.0, 1.0, 10**8),
        lambda: wk.linspace(0.0, 1.0, 2**34),
        lambda: wk.arange(2**30),
        lambda: wk.eye(2**17),
        lambda: wk.tensor(1.0, shape=(10**9,)),
        lambda: wk.tensor(np.broadcast_to(np.float32(1), (10**9,))),
        lambda: wk.one_hot(wk.zeros((2**20,), dtype="int32"), 2**14),
        lambda: wk.variable(np.broadcast_to(np.float64(1), (10**9,))),
    ],
)
def test_the_limit_is_asked_before_the_hosts_memory(f: Callable[[], object], backend: str) -> None:
    with wk.use_backend(backend), wk.config.using(memory_limit=16 << 20):
        before = _peak()
        with pytest.raises(wk.OutOfMemoryError):
            f()
        assert _peak() - before < 64 << 20


@pytest.mark.parametrize("numbers", [(0.0, 1.0, 5), (-1.0, 0.3, 7), (3, 3, 4), (0, 1, 1)])
def test_numbers_evenly_spaced_are_those_of_numpy(numbers: tuple[float, float, int]) -> None:
    def same(ours: wk.Tensor, numpys: Any) -> None:
        np.testing.assert_array_equal(ours.numpy(), numpys)

    with wk.use_backend("cpu"):
        same(wk.linspace(*numbers), np.linspace(*numbers).astype("f4"))
        same(wk.linspace(*numbers, dtype="float64"), np.linspace(*numbers))
        first, last, count = numbers
        same(wk.linspace(first, last, 100_003 + count), np.linspace(
            first, last, 100_003 + count).astype("f4"))  # fmt: skip
        same(odd.linspace(first, 1j, count, dtype="complex64"), np.linspace(
            first, 1j, count).astype("F"))  # fmt: skip


@pytest.mark.gpu
@ENGINES
@pytest.mark.parametrize("order", [(0.0, -0.0), (-0.0, 0.0)], ids=repr)
def test_zeros_of_both_signs_are_kept_apart(order: tuple[float, float], engine: str) -> None:
    wk.register_kernel("TwoZeros", "webgpu", _two_zeros, signature=_pair_of_x)
    fusion = "always" if engine == "fused" else "never"
    try:
        with wk.use_backend("webgpu"), wk.config.using(fusion=fusion, small_ops="device"):
            x = wk.ones((4,))
            first, second = order

            def f(x: wk.Tensor) -> Any:
                return wk.engine().run_kernel("TwoZeros", {"x": x}, {"v": first, "w": second})

            run = wk.capture(f) if engine == "captured" else f
            for _ in range(3):
                a, b = run(x)
                assert np.signbit(a.numpy()).all() == np.signbit(first)
                assert np.signbit(b.numpy()).all() == np.signbit(second)
            for value in (complex(0.0, first), complex(0.0, second)):
                made = wk.full((2,), value).numpy()
                assert np.signbit(np.imag(made)).all() == np.signbit(value.imag)
    finally:
        wk.unregister_kernel("TwoZeros", "webgpu")


_FILL = """
struct Params { v: f32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) { y[id.x] = params.v; }
}
"""


def _two_zeros(gpu: Any, x: Any, *, v: float, w: float) -> list[Any]:
    made = [gpu.empty(x.shape, "float32") for _ in range(2)]
    for y, value in zip(made, (v, w), strict=True):
        gpu.dispatch(_FILL, {"y": y}, params={"v": value})
    return made


def _pair_of_x(x: wk.Spec, /, *, v: float, w: float) -> list[wk.Spec]:
    return [x, x]


@pytest.mark.gpu
def test_an_array_asked_for_by_floats_breaks_no_other() -> None:
    def made(gpu: Any, x: Any, *, as_float: bool) -> Any:
        y = gpu.empty((5.0,) if as_float else (5,), "float32")
        gpu.dispatch(_FILL, {"y": y}, params={"v": 2.0})
        return y

    wk.register_kernel("Fives", "webgpu", made, signature=lambda x, /, *, as_float: x)
    try:
        with wk.use_backend("webgpu"):
            x = wk.ones((5,))
            with pytest.raises(wk.ArgumentError, match=r"Fives: empty: shape is \(5\.0,\)"):
                wk.engine().run_kernel("Fives", {"x": x}, {"as_float": True})
            right = wk.engine().run_kernel("Fives", {"x": x}, {"as_float": False})
            assert right.tolist() == [2.0] * 5
    finally:
        wk.unregister_kernel("Fives", "webgpu")
