"""Bad input is refused with the same words on both backends, and leaves nothing behind."""

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.refusal import refusal

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


class Bad(NamedTuple):
    """What is done wrong, and what is said to that."""

    f: Callable[[], object]
    error: type[wk.WgslKernelsError]
    message: str


def t(values: Any, **options: Any) -> wk.Tensor:
    return wk.tensor(values, **options)


def run(name: str, inputs: Any, attrs: Any = None) -> Any:
    return wk.engine().run_kernel(name, inputs, attrs)


def disposed() -> wk.Tensor:
    x = t([1.0, 2.0])
    x.dispose()
    return x + 1.0


SHAPES = {
    "add": Bad(
        lambda: t([1.0, 2.0, 3.0]) + t([1.0, 2.0]),
        wk.ShapeError,
        "Add: shapes do not broadcast: a is [3], b is [2]; want equal lengths or 1 in axis -1.",
    ),
    "matmul": Bad(
        lambda: wk.ones((4, 3)) @ wk.ones((5, 2)),
        wk.ShapeError,
        "matmul (kernel BatchMatMul): inner sizes differ: a is [4, 3], b is [5, 2]; want "
        "a[1] == b[0].",
    ),
    "reshape": Bad(
        lambda: wk.reshape(wk.ones((4, 3)), (5, 2)),
        wk.ShapeError,
        "Reshape: x of shape [4, 3] has 12 elements; they do not fill [5, 2].",
    ),
    "concat": Bad(
        lambda: wk.concat([wk.ones((2, 3)), wk.ones((2, 4))], axis=0),
        wk.ShapeError,
        "Concat: inputs[1] has shape [2, 4] and inputs[0] [2, 3]; want the same but for axis 0.",
    ),
    "concat of nothing": Bad(
        lambda: wk.concat([]),
        wk.ArgumentError,
        "Concat: inputs is empty; want at least one tensor.",
    ),
    "channels": Bad(
        lambda: wk.conv2d(wk.ones((1, 5, 5, 2)), wk.ones((3, 3, 3, 1)), strides=1, pad="same"),
        wk.ShapeError,
        "Conv2D: channels differ: x is [1, 5, 5, 2] (NHWC), filter is [3, 3, 3, 1]; "
        "want filter[2] == 2. x is read as NHWC, filter as [height, width, in, out]: data_format= "
        "and permute_dims(filter, (2, 3, 1, 0)) serve arrays with channels first.",
    ),
    "ragged": Bad(
        lambda: t([1.0, 2.0, 3.0], shape=(2, 2)),
        wk.ShapeError,
        "tensor: 3 values of shape [3] do not fill shape [2, 2].",
    ),
    "no shape": Bad(
        lambda: t([1.0], shape="ab"),
        wk.ArgumentError,
        "tensor: shape is 'ab'; want an integer or a tuple of integers.",
    ),
    "negative": Bad(
        lambda: wk.zeros((-1,)),
        wk.ShapeError,
        "zeros (kernel Fill): shape is [-1]; want lengths of at least 0.",
    ),
    "truth": Bad(
        lambda: bool(t([1.0, 2.0])),
        wk.ShapeError,
        "bool: a tensor of shape [2] is neither true nor false; use all() or any().",
    ),
    "assign": Bad(
        lambda: wk.variable([1.0, 2.0], name="v").assign([1.0]),
        wk.ShapeError,
        "assign: v has shape [2], the value [1]; want the same.",
    ),
}
DTYPES = {
    "no bool": Bad(
        lambda: wk.logical_and(t([1.0]), t([True])),
        wk.DTypeError,
        "LogicalAnd: a has dtype float32; want bool.",
    ),
    "string and number": Bad(
        lambda: t(["a"]) + t([1.0]),
        wk.DTypeError,
        "Add: a, b: dtypes float32, string have none in common.",
    ),
    "float index": Bad(
        lambda: wk.take(wk.ones((5,)), t([1.5])),
        wk.DTypeError,
        "GatherV2: indices has dtype float32; want int32.",
    ),
    "unknown": Bad(
        lambda: t([1.0], dtype=np.uint16),
        wk.DTypeError,
        "dtype 'uint16' is unknown; did you mean 'int32'? Want one of bool, int8, uint8, int32, "
        "float16, float32, float64, complex64, complex128, string.",
    ),
    "none": Bad(
        lambda: t(None), wk.DTypeError, "tensor: None makes no tensor; want numbers, str or bytes."
    ),
    "no byte": Bad(
        lambda: t(np.array([3], np.uint8)) + 256,
        wk.ArgumentError,
        "tensor: 256 does not fit uint8; want values in [0, 255], or give dtype='float32'.",
    ),
    "gradient of bytes": Bad(
        lambda: wk.grad(wk.sum)(t(np.array([3], np.int8))),
        wk.DTypeError,
        "grad: no gradient flows through dtype int8; want a float.",
    ),
    "bytes of bools": Bad(
        lambda: wk.logical_and(t(np.array([3], np.uint8)), True),
        wk.DTypeError,
        "LogicalAnd: a has dtype uint8; want bool.",
    ),
    "wide integer": Bad(
        lambda: t([2**40]),
        wk.ArgumentError,
        "tensor: 1099511627776 does not fit int32; want values in [-2147483648, 2147483647], "
        "or give dtype='float32'.",
    ),
}
ARGUMENTS = {
    "unknown attribute": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}, {"alfa": 1.0}),
        wk.ArgumentError,
        "LeakyRelu: attribute 'alfa' is unknown; known: alpha.",
    ),
    "missing attribute": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}),
        wk.ArgumentError,
        "LeakyRelu: attribute 'alpha' is missing.",
    ),
    "attribute is a string": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}, {"alpha": "x"}),
        wk.ArgumentError,
        "LeakyRelu: alpha is 'x'; want a number.",
    ),
    "attribute is a list": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}, {"alpha": [1.0, 2.0]}),
        wk.ArgumentError,
        "LeakyRelu: alpha is (1.0, 2.0); want a number.",
    ),
    "attribute is a dict": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}, {"alpha": {}}),
        wk.ArgumentError,
        "LeakyRelu: alpha is a dict; want numbers, strings or a tuple.",
    ),
    "attribute is a tensor": Bad(
        lambda: run("LeakyRelu", {"x": t([1.0])}, {"alpha": t(1.0)}),
        wk.ArgumentError,
        "LeakyRelu: alpha is a tensor, but it is an attribute: a plain value. "
        "Pass item() or tolist() of it.",
    ),
    "unknown input": Bad(
        lambda: run("LeakyRelu", {"z": t([1.0])}, {"alpha": 1.0}),
        wk.ArgumentError,
        "LeakyRelu: input 'z' is unknown; known: x.",
    ),
    "missing input": Bad(
        lambda: run("Add", {"a": t([1.0])}), wk.ArgumentError, "Add: input 'b' is missing."
    ),
    "no list": Bad(
        lambda: run("Concat", {"inputs": t([1.0])}, {"axis": 0}),
        wk.ArgumentError,
        "Concat: input 'inputs' wants a list of tensors.",
    ),
    "no names": Bad(
        lambda: run("Sqrt", t([1.0])),
        wk.ArgumentError,
        "Sqrt: inputs is a Tensor; want a dict by name.",
    ),
    "axis": Bad(
        lambda: wk.sum(wk.ones((2, 3)), axis=2),
        wk.ArgumentError,
        "Sum: axis is 2, but the tensor has rank 2; want an axis in [-2, 2).",
    ),
    "axis twice": Bad(
        lambda: wk.sum(wk.ones((2, 3)), axis=(0, -2)),
        wk.ArgumentError,
        "Sum: axis is (0, -2); each axis may stand only once.",
    ),
    "pad": Bad(
        lambda: wk.conv2d(wk.ones((1, 5, 5, 2)), wk.ones((3, 3, 2, 1)), pad="sam"),  # type: ignore[arg-type]  # a wrong name
        wk.ArgumentError,
        "Conv2D: pad is 'sam'; want 'valid', 'same' or numbers.",
    ),
    "pad of tensors, which are not read": Bad(
        lambda: wk.conv1d(wk.ones((1, 5, 2)), wk.ones((3, 2, 1)), pad=[t([1.0]), t([1.0])]),  # type: ignore[arg-type]  # no numbers
        wk.ArgumentError,
        "conv1d: pad is [a tensor, a tensor]; want (before, after) for three axes.",
    ),
    "switch": Bad(
        lambda: wk.config.using(fusion="maybe").__enter__(),
        wk.ArgumentError,
        "config: fusion is 'maybe'; want one of 'auto', 'always', 'never'.",
    ),
}
NAMES = {
    "kernel": Bad(
        lambda: run("Nope", {"x": t([1.0])}),
        wk.KernelNotFound,
        "Nope: no kernel of that name on any backend. Check the spelling, or register one with "
        "cpu_kernel and wgsl_kernel; `wgsl-kernels new` begins a file.",
    ),
    "backend": Bad(
        lambda: wk.set_backend("vulkan"),
        wk.ArgumentError,
        "backend 'vulkan' is unknown; registered: cpu, webgpu, simulator.",
    ),
    "backend without kernels": Bad(
        lambda: wk.copy_registered_kernels("vulkan", "mine"),
        wk.ArgumentError,
        "backend 'vulkan' has no kernels; those that have: cpu, webgpu.",
    ),
    "unregister": Bad(
        lambda: wk.unregister_gradient("Nope"),
        wk.GradientNotFound,
        "Nope: no gradient is registered.",
    ),
}
TENSORS = {
    "disposed": Bad(
        disposed,
        wk.DisposedTensorError,
        "tensor of shape [2] and dtype float32 was disposed; keep() it, or return it from tidy.",
    ),
    "gradient of integers": Bad(
        lambda: wk.grad(lambda x: x)(t([1])),
        wk.DTypeError,
        "grad: no gradient flows through dtype int32; want a float.",
    ),
    "gradient of no tensor": Bad(
        lambda: wk.GradientTape().gradient(1.0, t([1.0])),
        wk.ArgumentError,
        "gradient: got float; want a tensor.",
    ),
    "unconnected": Bad(
        lambda: wk.grad(wk.argmax)(t([1.0])),
        wk.GradientNotFound,
        "grad: the value does not depend on input 0, or only through integers, comparisons or "
        "stop_gradient.",
    ),
    "arriving gradient": Bad(
        lambda: wk.grad(lambda x: x * 2.0)(t([1.0]), dy=t([1.0, 2.0])),
        wk.ShapeError,
        "grad: dy has shape [2], the value [1]; want the same.",
    ),
    "index": Bad(
        lambda: wk.ones((5,))[7],
        wk.IndexOutOfRange,
        "StridedSlice: index 7 is outside axis 0 of x, which has shape [5]; want it in [-5, 5).",
    ),
}
ALL = {**SHAPES, **DTYPES, **ARGUMENTS, **NAMES, **TENSORS}


@BACKENDS
@pytest.mark.parametrize("bad", ALL.values(), ids=ALL)
def test_bad_input_is_refused_in_these_words(bad: Bad, backend: str) -> None:
    assert refusal(backend, bad.f, bad.error) == bad.message


@BACKENDS
@pytest.mark.parametrize("on_host", [True, False], ids=["host", "device"])
def test_an_index_out_of_range_names_op_argument_and_line(backend: str, on_host: bool) -> None:
    def read() -> object:
        indices = t([1, 7]) if on_host else t([1, 6]) + t([0, 1])
        return wk.take(wk.ones((5,)), indices).numpy()

    line = read.__code__.co_firstlineno + 2
    assert refusal(backend, read, wk.IndexOutOfRange) == (
        "GatherV2: indices holds 7, which is out of range; x is [5], indices is [2], y is [2]. "
        f"Called at {__file__}:{line}."
    )
    with wk.use_backend(backend):  # the error is said once, and the backend goes on
        assert wk.take(wk.ones((5,)), t([1])).tolist() == [1.0]


_number = itertools.count(1)


@pytest.fixture
def half_kernel() -> Iterator[str]:
    """Register a kernel without a gradient on the CPU only, under a name not used before."""
    name = f"Half{next(_number)}"
    wk.register_kernel(name, "cpu", lambda x: x / 2, signature=lambda x, /: x.like())
    yield name
    wk.unregister_kernel(name, "cpu")


@BACKENDS
def test_a_missing_gradient_names_kernel_and_input(backend: str, half_kernel: str) -> None:
    with wk.config.using(fallback="silent"):
        message = refusal(
            backend,
            lambda: wk.grad(lambda x: run(half_kernel, {"x": x}))(t([1.0])),
            wk.GradientNotFound,
        )
    assert message == (
        f"{half_kernel}: no gradient is registered, but one was asked for 'x'. "
        f"Register one with @gradient('{half_kernel}'), or stop_gradient the input."
    )


@BACKENDS
def test_a_kernel_without_a_gradient_on_purpose_says_why(backend: str, half_kernel: str) -> None:
    wk.no_gradient(half_kernel, because="it is for reading only")
    with wk.config.using(fallback="silent"):
        message = refusal(
            backend,
            lambda: wk.grad(lambda x: run(half_kernel, {"x": x}))(t([1.0])),
            wk.GradientNotFound,
        )
    wk.unregister_gradient(half_kernel)
    assert message == f"{half_kernel}: there is no gradient for 'x': it is for reading only."


@pytest.mark.gpu
def test_a_kernel_missing_on_a_backend_names_those_that_have_it(half_kernel: str) -> None:
    with wk.config.using(fallback="error"):
        message = refusal("webgpu", lambda: run(half_kernel, {"x": t([1.0])}), wk.KernelNotFound)
    assert message == (
        f"{half_kernel}: no kernel on backend 'webgpu'; found on cpu. "
        f'Use use_backend("cpu"), or register one with wgsl_kernel("{half_kernel}").'
    )


@pytest.mark.gpu
def test_a_fallback_warns_at_the_line_that_ran_the_kernel(half_kernel: str) -> None:
    with (
        wk.use_backend("webgpu"),
        wk.GradientTape(),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        half = run(half_kernel, {"x": t([1.0])})
    assert half.tolist() == [0.5]
    assert len(caught) == 1
    assert half_kernel in str(caught[0].message)
    assert caught[0].filename == __file__


REGISTRATIONS: dict[str, Callable[[], object]] = {
    "kernel 'Add' on backend 'cpu'": lambda: wk.register_kernel("Add", "cpu", lambda a, b: a),
    "kernel 'Add' on backend 'webgpu'": lambda: wk.wgsl_kernel("Add", "fn op(a: T) -> T {}\n"),
    "signature 'Add'": lambda: wk.signature("Add")(lambda a, /: a),
    "gradient 'Add'": lambda: wk.register_gradient("Add", lambda dy: dy),
}


@BACKENDS
@pytest.mark.parametrize("what", REGISTRATIONS)
def test_a_name_that_is_taken_names_its_owner(what: str, backend: str) -> None:
    message = refusal(backend, REGISTRATIONS[what], wk.AlreadyRegistered)

    owner = r"is already registered by wgsl_kernels\.ops\.elementwise\.binary:\d+; "
    advice = "pass override=True to replace it, or unregister it first."
    assert re.fullmatch(re.escape(what) + " " + owner + re.escape(advice), message)
