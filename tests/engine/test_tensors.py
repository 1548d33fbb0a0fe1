"""Tensors: what values become, and how they come back."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import fallbacks
from wgsl_kernels.ops.names.methods import PROPERTIES, methods

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("values", "dtype", "shape"),
    [
        (1.5, "float32", ()),
        (1, "int32", ()),
        (True, "bool", ()),
        (1j, "complex64", ()),
        ([[1, 2], [3, 4]], "int32", (2, 2)),
        ([1, 2.5], "float32", (2,)),
        ([], "float32", (0,)),
        (np.zeros(2), "float32", (2,)),
        (np.zeros(2, np.int64), "int32", (2,)),
        (np.zeros(2, np.int16), "int32", (2,)),
        (np.zeros(2, np.int8), "int8", (2,)),
        (np.zeros(5, np.uint8), "uint8", (5,)),
        (np.zeros(2, np.complex128), "complex64", (2,)),
        (np.float64(0.5), "float32", ()),
        (range(3), "int32", (3,)),
    ],
)
def test_values_take_their_natural_dtype(
    backend: str, values: Any, dtype: str, shape: tuple[int, ...]
) -> None:
    x = wk.tensor(values)

    assert (x.dtype, x.shape, x.backend) == (dtype, shape, backend)
    assert (x.ndim, x.size) == (len(shape), int(np.prod(shape)))
    assert (x.numpy() == np.asarray(values)).all()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("int32", "int32"),
        (int, "int32"),
        (np.float32, "float32"),
        (bool, "bool"),
        (complex, "complex64"),
    ],
)
def test_a_dtype_may_be_asked_for(backend: str, dtype: Any, name: str) -> None:
    assert wk.tensor([0, 1], dtype=dtype).dtype == name


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_double_precision_lives_on_cpu_whatever_the_backend(backend: str, dtype: Any) -> None:
    makers: list[Callable[[], wk.Tensor]] = [
        lambda: wk.tensor([0.1], dtype=dtype),
        lambda: wk.variable([0.1], dtype=dtype),
        lambda: wk.full((1,), 0.1, dtype=dtype),
        lambda: wk.astype(wk.tensor([1.0]), dtype) / 10.0,
        lambda: wk.where(wk.tensor([True]), wk.full((1,), 0.1, dtype=dtype), 0.0),
    ]
    for make in makers:
        with wk.config.using(fallback="silent"):
            x = make()
            assert (x.dtype, x.backend) == (dtype, "cpu")
            assert abs(x.item() - 0.1) < 1e-16
            assert (x + 0.2).dtype == dtype
        if backend == "webgpu":
            with wk.config.using(fallback="error"), pytest.raises(wk.WgslKernelsError):
                make()


def test_a_dtype_that_a_backend_lacks_is_said_once(backend: str) -> None:
    fallbacks.fallbacks.clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            wk.tensor([0.1], dtype="float64")
    said = [str(one.message) for one in seen]
    assert len(said) == (backend == "webgpu")
    assert all("of float64: backend 'webgpu' has none; it lives on cpu" in one for one in said)


def test_strings_live_on_cpu_whatever_the_backend(backend: str) -> None:
    x = wk.tensor([["a", "ü"], ["", "bc"]])

    assert (x.dtype, x.shape, x.backend) == ("string", (2, 2), "cpu")
    assert x.tolist() == [["a", "ü"], ["", "bc"]]


def test_a_shape_may_be_asked_for(backend: str) -> None:
    assert wk.tensor([1, 2, 3, 4], shape=(2, 2)).tolist() == [[1, 2], [3, 4]]
    assert wk.tensor(7.0, shape=(3,)).tolist() == [7.0] * 3
    with pytest.raises(wk.ShapeError, match=r"3 values of shape \[3\] do not fill shape \[2, 2\]"):
        wk.tensor([1, 2, 3], shape=(2, 2))


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1])
def test_an_integer_beyond_int32_is_refused(number: int) -> None:
    with pytest.raises(wk.ArgumentError, match=f"{number} does not fit int32"):
        wk.tensor([0, number])
    assert wk.tensor(float(number)).dtype == "float32"


def test_ragged_values_are_refused() -> None:
    with pytest.raises(wk.ShapeError, match="make no array"):
        wk.tensor([[1], [1, 2]])


def test_objects_and_unknown_dtypes_are_refused() -> None:
    with pytest.raises(wk.DTypeError, match=r"unknown; did you mean 'int32'\? Want one of"):
        wk.tensor([1], dtype="int16")  # type: ignore[arg-type]  # a wrong name
    with pytest.raises(wk.DTypeError, match="makes no tensor"):
        wk.tensor([object()])
    with pytest.raises(wk.DTypeError, match="take real first"):
        wk.tensor(1j, dtype="float32")


def test_values_are_copied_in_and_out(backend: str) -> None:
    values = np.zeros(3, np.float32)
    x = wk.tensor(values)
    values[0] = 9
    x.numpy()[1] = 9
    wk.tensor(x).numpy()[2] = 9
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("tensor", "scalar", "dtype"),
    [
        ([1], 0.5, "float32"),
        ([1], 2, "int32"),
        ([1.0], 2, "float32"),
        ([1.0], True, "float32"),
        ([1.0], 1j, "complex64"),
        ([1j], 0.5, "complex64"),
        ([True], 1, "int32"),
    ],
)
def test_python_scalars_take_the_dtype_of_the_tensor(
    backend: str, tensor: Any, scalar: Any, dtype: str
) -> None:
    x = wk.tensor(tensor)

    assert (x + scalar).dtype == dtype
    assert (scalar + x).dtype == dtype
    assert (x + scalar).numpy()[0] == tensor[0] + scalar


def test_item_list_and_numbers_read_a_single_element(backend: str) -> None:
    x = wk.tensor([[2.5]])

    assert (x.item(), x.tolist(), float(x), int(x), bool(x)) == (2.5, [[2.5]], 2.5, 2, True)
    assert complex(wk.tensor(1j)) == 1j
    assert [10, 20, 30][wk.tensor(1)] == 20
    with pytest.raises(wk.ShapeError, match=r"item: the tensor has shape \[2\]; want one element"):
        wk.tensor([1, 2]).item()
    with pytest.raises(wk.DTypeError, match="integer tensor with one element serves as an index"):
        range(3)[wk.tensor(1.0)]


def test_length_and_iteration_go_along_the_first_axis(backend: str) -> None:
    x = wk.tensor([[1, 2], [3, 4], [5, 6]])

    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(TypeError, match="a scalar tensor has no length"):
        len(wk.tensor(1))


def test_numpy_reads_a_tensor(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])

    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype=np.float64).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, copy=False)


def test_numpy_on_the_left_leaves_the_operation_to_the_tensor(backend: str) -> None:
    assert isinstance(np.ones(2, np.float32) * wk.tensor([1.0, 2.0]), wk.Tensor)


def test_comparison_goes_by_element_and_hash_by_identity(backend: str) -> None:
    x, y = wk.tensor([1.0, 2.0]), wk.tensor([1.0, 3.0])

    assert (x == y).tolist() == [True, False]
    assert (x != y).tolist() == [False, True]
    assert len({x, y, x}) == 2


def test_dlpack_goes_out_of_cpu_and_comes_in() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor([[1.0, 2.0]])
        assert x.__dlpack_device__() == (1, 0)
        assert np.from_dlpack(x).tolist() == [[1.0, 2.0]]
        assert wk.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


@pytest.mark.gpu
def test_dlpack_gives_a_copy_in_host_memory_from_every_backend(backend: str) -> None:
    x = wk.tensor([1.0, 2.0]) * 2.0

    assert np.from_dlpack(x).tolist() == [2.0, 4.0]
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(copy=False)


def test_a_tensor_shows_facts_and_values(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])

    assert repr(x) == f"<Tensor [2] float32 on {backend}: [1., 2.]>"
    assert "<pre>[1., 2.]</pre>" in x._repr_html_()
    assert "&lt;" in wk.tensor(["<b>"])._repr_html_()


def test_a_large_tensor_shows_facts_alone(backend: str) -> None:
    shown = repr(wk.zeros((1 << 20,)))

    assert "4.0 MiB: numpy() shows the values" in shown
    assert "0." not in shown.replace("4.0", "")


def test_a_disposed_tensor_says_so_and_cannot_be_used(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])
    x.dispose()
    x.dispose()

    assert x.is_disposed
    assert repr(x) == "<Tensor [2] float32 disposed>"
    for use in (x.numpy, lambda: x + 1.0, lambda: wk.stop_gradient(x)):
        with pytest.raises(wk.DisposedTensorError, match=r"shape \[2\] and dtype float32 was disp"):
            use()


def test_an_input_may_be_disposed_right_after_the_op(backend: str) -> None:
    x = wk.tensor(np.arange(100.0))
    y = wk.exp(x * 0.0)
    x.dispose()

    assert y.numpy().sum() == 100.0


@pytest.mark.gpu
def test_a_tensor_goes_where_the_op_runs_and_its_copy_is_remembered() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor([1.0, 2.0])
    with wk.use_backend("webgpu"):
        first = x + 1.0
        assert first.backend == "webgpu"
        copy = x._copies["webgpu"] if x._copies else None
        assert copy is not None
        assert (x * first).tolist() == [2.0, 6.0]
        assert x._copies is not None
        assert x._copies["webgpu"] is copy
    assert x.backend == "cpu"
    x.dispose()
    assert x._copies is None


def test_a_tensor_shows_what_the_guide_names_and_methods_of_ops() -> None:
    ops = {*methods(), *PROPERTIES}
    facts = {"shape", "dtype", "ndim", "size", "nbytes", "backend", "device", "spec", "is_disposed"}
    values = {"to_device", "numpy", "item", "tolist", "dispose", "is_variable", "trainable"}
    facts |= ops | {"strides"}
    variable = {"assign", "assign_add", "assign_sub", "name"}
    assert {name for name in dir(wk.Tensor) if not name.startswith("_")} == facts | values
    assert {name for name in dir(wk.Variable) if not name.startswith("_")} == (
        facts | values | variable
    )
