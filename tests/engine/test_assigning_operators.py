"""Operators that assign: of a variable they change it, of any other tensor they rebind the name."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

OPERATORS = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.ipow,
]
MATRIX = np.array([[1.0, 2.0], [4.0, 3.0]], np.float32)


@pytest.fixture(params=["auto", "always", "never"])
def fusion(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test in each mode of fusion."""
    with wk.config.using(fusion=request.param):
        yield


def plain_of(assigning: Callable[..., Any]) -> Callable[..., Any]:
    name = assigning.__name__
    return {"iand": operator.and_, "ior": operator.or_}.get(name) or getattr(operator, name[1:])


@pytest.mark.parametrize("change", [*OPERATORS, operator.imatmul], ids=lambda one: one.__name__)
def test_of_a_variable_they_assign_what_the_operator_gives(
    backend: str, fusion: None, change: Callable[..., Any]
) -> None:
    v, other = wk.variable(MATRIX, name="v"), wk.tensor(MATRIX.T.copy())
    want = plain_of(change)(wk.tensor(MATRIX), other).numpy()
    assert change(v, other) is v
    np.testing.assert_array_equal(v.numpy(), want)


@pytest.mark.parametrize("change", [operator.iand, operator.ior], ids=lambda one: one.__name__)
def test_of_a_variable_of_bools_too(backend: str, fusion: None, change: Callable[..., Any]) -> None:
    v, other = wk.variable([True, False, True]), wk.tensor([True, True, False])
    want = plain_of(change)(wk.tensor([True, False, True]), other).tolist()
    assert change(v, other) is v
    assert v.tolist() == want


@pytest.mark.parametrize("change", OPERATORS, ids=lambda one: one.__name__)
def test_of_another_tensor_they_make_a_new_one(backend: str, change: Callable[..., Any]) -> None:
    x = wk.tensor(MATRIX)
    new = change(x, 2.0)
    assert new is not x
    np.testing.assert_array_equal(new.numpy(), plain_of(change)(x, 2.0).numpy())
    np.testing.assert_array_equal(x.numpy(), MATRIX)


def descend(w: wk.Variable, x: wk.Tensor) -> wk.Tensor:
    """Take one step against the gradient and return the loss before it."""
    loss, found = wk.variable_grads(lambda: wk.sum((w - x) * (w - x)))
    w -= 0.25 * found[w]
    return loss


def test_descent_by_subtraction_trains(backend: str, fusion: None) -> None:
    w, x = wk.variable([4.0, 0.0]), wk.tensor([0.0, 8.0])
    for _ in range(3):
        descend(w, x)
    assert w.tolist() == [0.5, 7.0]


def test_a_captured_step_replays_the_assignment(backend: str) -> None:
    w, x = wk.variable([4.0, 0.0]), wk.tensor([0.0, 8.0])
    step = wk.capture(lambda x: descend(w, x))
    losses = [step(x).item() for _ in range(3)]
    assert (step.why is None) == (backend == "webgpu")
    assert losses == [80.0, 20.0, 5.0]
    assert w.tolist() == [0.5, 7.0]


def test_a_tape_gives_the_gradient_at_what_was_read(backend: str) -> None:
    w = wk.variable([2.0])
    with wk.GradientTape(persistent=True) as tape:
        before = w * w
        w += 1.0
        after = w * w
    assert tape.gradient(before, w).tolist() == [4.0]
    assert tape.gradient(after, w).tolist() == [6.0]


def test_items_and_attributes_keep_the_variable(backend: str) -> None:
    weights = {"w": wk.variable([1.0])}
    kept = weights["w"]
    weights["w"] *= 3.0
    assert weights["w"] is kept
    for one in weights.values():
        one -= 1.0
    assert kept.tolist() == [2.0]


@pytest.mark.parametrize(
    ("values", "dtype", "other", "change", "want"),
    [
        ([1, 7], "int32", True, operator.iadd, [2, 8]),
        ([1, 7], "int32", 2, operator.ifloordiv, [0, 3]),
        ([1.0, 2.0], "float32", 1, operator.iadd, [2.0, 3.0]),
        ([True, False], "bool", True, operator.iand, [True, False]),
    ],
)
def test_python_numbers_are_weak(
    backend: str, values: Any, dtype: Any, other: Any, change: Callable[..., Any], want: Any
) -> None:
    v = wk.variable(values, dtype=dtype)
    change(v, other)
    assert (v.dtype, v.tolist()) == (dtype, want)


@pytest.mark.parametrize(
    ("values", "dtype", "other", "change", "gives"),
    [
        ([1, 2], "int32", 0.5, operator.iadd, "float32"),
        ([1, 2], "int32", 2, operator.itruediv, "float32"),
        ([True, False], "bool", 1, operator.iadd, "int32"),
    ],
)
def test_another_dtype_is_refused_as_assign_does(
    backend: str, values: Any, dtype: Any, other: Any, change: Callable[..., Any], gives: str
) -> None:
    v = wk.variable(values, dtype=dtype, name="v")
    with pytest.raises(wk.DTypeError, match=f"assign: v is {dtype}, the value {gives}; cast it"):
        change(v, other)
    assert v.tolist() == values


def test_float16_stays_float16() -> None:
    with wk.use_backend("cpu"):
        v = wk.variable([1.0, 2.0], dtype="float16", name="v")
        v *= 0.5
        assert (v.dtype, v.tolist()) == ("float16", [0.5, 1.0])
        with pytest.raises(wk.DTypeError, match="assign: v is float16, the value float32"):
            v += wk.ones(2)


def test_another_shape_is_refused_as_assign_does(backend: str) -> None:
    v = wk.variable([1.0, 2.0], name="v")
    with pytest.raises(wk.ShapeError, match=r"assign: v has shape \[2\], the value \[3, 2\]"):
        v += wk.ones((3, 2))
    assert v.tolist() == [1.0, 2.0]


class _Odd:
    __hash__ = None  # type: ignore[assignment]  # objects that no dictionary can hold


class _EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


FOREIGN = [None, object(), "auto", b"auto", {}, set(), print, ..., slice(1), wk.Tensor, _Odd()]


@pytest.mark.parametrize("make", [wk.tensor, wk.variable])
def test_what_no_tensor_can_equal_is_unequal(backend: str, make: Callable[..., Any]) -> None:
    for x in (make([1.0, 2.0]), make(1), make([True])):
        for other in FOREIGN:
            assert operator.eq(x, other) is False
            assert operator.eq(other, x) is False
            assert operator.ne(x, other) is True
            assert operator.ne(other, x) is True


def test_an_object_may_say_itself_that_it_is_equal(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])
    assert operator.eq(x, _EqualToAll()) is True
    assert operator.ne(x, _EqualToAll()) is False


def test_strings_are_compared_with_tensors_of_strings(backend: str) -> None:
    words = wk.tensor(["a", "b"])
    assert (words == "a").tolist() == [True, False]
    assert operator.ne("a", words).tolist() == [False, True]
    assert operator.eq(words, None) is False
    assert operator.eq(words, 3) is False


def test_numbers_and_arrays_are_compared_elementwise(backend: str, fusion: None) -> None:
    x = wk.tensor([1.0, 2.0])
    for other in ([1.0, 3.0], (1.0, 3.0), np.array([1.0, 3.0]), wk.tensor([1, 3]), range(1, 4, 2)):
        assert (x == other).tolist() == [True, False]
        assert (x != other).tolist() == [False, True]
    assert (x == 1).tolist() == (np.float32(1) == x).tolist() == [True, False]


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        ([1.0, 2.0, 3.0], wk.ShapeError, "Equal: shapes do not broadcast"),
        ([1.0, [2.0]], wk.ShapeError, "make no array"),
        ([None, 1.0], wk.DTypeError, "None makes no tensor"),
        (["a", "b"], wk.DTypeError, "Equal: a, b: dtypes float32, string have none in common"),
    ],
)
def test_what_is_nearly_a_tensor_is_still_refused(
    backend: str, other: Any, error: type[Exception], words: str
) -> None:
    x = wk.tensor([1.0, 2.0])
    with pytest.raises(error, match=words):
        operator.eq(x, other)


def test_the_functions_refuse_none_and_strings_as_before(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])
    with pytest.raises(wk.ArgumentError, match="Equal: input 'b' is missing"):
        wk.equal(x, None)
    with pytest.raises(wk.DTypeError, match="dtypes float32, string have none in common"):
        wk.not_equal(x, "a")
