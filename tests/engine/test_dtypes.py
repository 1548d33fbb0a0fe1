"""Dtypes are NumPy's to whoever asks them, and go wherever NumPy's constructors take one."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

NAMES = (
    "bool int8 uint8 int32 float16 float32 float64 complex64 complex128".split()  # noqa: SIM905  ten words read better
)
FACTS = ("byteorder", "char", "itemsize", "kind", "name", "num", "str", "type")


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_has_what_numpys_has(name: str) -> None:
    ours, theirs = getattr(wk, name), np.dtype(name)
    assert [getattr(ours, fact) for fact in FACTS] == [getattr(theirs, fact) for fact in FACTS]
    assert np.dtype(ours) == theirs
    assert ours == theirs
    assert theirs == ours
    assert ours == theirs.type
    assert np.issubdtype(ours, theirs.type)
    assert np.promote_types(ours, ours) == theirs
    assert hash(ours) == hash(name)
    if theirs.kind in "fc":
        assert np.finfo(ours).eps == np.finfo(theirs).eps
    elif theirs.kind in "iu":
        assert np.iinfo(ours).max == np.iinfo(theirs).max


def test_a_dtype_passes_for_numpys() -> None:
    dtype: Any = wk.float32
    assert [isinstance(dtype, kind) for kind in (np.dtype, str, tuple)] == [True, True, False]
    assert type(pickle.loads(pickle.dumps(dtype))) is type(dtype) is type(copy.deepcopy(dtype))
    assert f"{dtype}" == str(dtype) == "float32"
    assert (dtype.hasobject, dtype.fields, dtype.isnative) == (False, None, True)
    with pytest.raises(AttributeError, match=r"'numpy.dtype.*' object has no attribute 'wide'"):
        _ = dtype.wide


def test_a_dtype_equals_pythons_types_and_nothing_abstract() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor([1.0])
        assert (x > 0).dtype == bool
        assert x.dtype == float
        assert x.dtype != int
        assert wk.tensor([1]).dtype == int
        assert (x * 1j).dtype == complex
        assert wk.tensor(["a"]).dtype == str
    for other in (np.unsignedinteger, np.floating, np.generic, np.int64, object, None, 3, list):
        assert wk.float32 != other
    assert wk.float64 == np.float64


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("float", "float32"),
        (float, "float32"),
        ("int", "int32"),
        (int, "int32"),
        ("complex", "complex64"),
        (bool, "bool"),
        ("float64", "float64"),
        (np.float64, "float64"),
        (np.dtype("f8"), "float64"),
    ],
)
def test_pythons_numbers_name_the_default_dtypes(asked: Any, wanted: str) -> None:
    with wk.use_backend("cpu"):
        assert wk.ones(2).astype(asked).dtype == wanted
        assert wk.zeros(2, dtype=asked).dtype == wanted
        assert wk.tensor([1], dtype=asked).dtype == wanted


def test_what_makes_tensors_takes_a_device() -> None:
    with wk.use_backend("cpu"):
        x = wk.ones((2, 2))
    made = [
        wk.tensor([1.0], device="cpu"),
        wk.tensor(x, dtype="int32", device="cpu"),
        wk.asarray(x, device="cpu"),
        wk.variable([1.0], device="cpu"),
        wk.arange(3, device="cpu"),
        wk.linspace(0.0, 1.0, 3, device="cpu"),
        wk.eye(2, device="cpu"),
        wk.from_dlpack(np.ones(2, np.float32), device="cpu"),
        wk.fft.fftfreq(4, device="cpu"),
        wk.fft.rfftfreq(4, device="cpu"),
        *(make((2,), device="cpu") for make in (wk.zeros, wk.ones, wk.empty)),
        *(make(x, device="cpu") for make in (wk.zeros_like, wk.ones_like, wk.empty_like)),
        wk.full((2,), 3.0, device="cpu"),
        wk.full_like(x, 3.0, device="cpu"),
        x.astype("int32", device="cpu"),
        x.to_device("cpu"),
    ]
    assert {one.device for one in made} == {"cpu"}
    with pytest.raises(wk.ArgumentError, match="'tpu'"):
        wk.tensor([1.0], device="tpu")


def test_strides_are_those_of_what_is_read() -> None:
    for shape in ((), (3,), (2, 3, 4)):
        x = wk.zeros(shape, device="cpu")
        assert x.strides == np.ones(shape, np.float32).strides


class Table:
    """What a table of columns of several dtypes gives NumPy."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([[1.5, True], [2.0, False]], dtype=object)


def test_a_table_of_numbers_and_bools_is_one_of_numbers() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor(Table())
    assert (x.dtype, x.tolist()) == ("float32", [[1.5, 1.0], [2.0, 0.0]])
