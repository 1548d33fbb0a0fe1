"""What the samples of element-by-element ops cannot say: NaN, zeros, wrapping, dtypes, messages."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAN, INF = np.nan, np.inf
BACKENDS = ["cpu", "webgpu"]
LOW, HIGH = -(2**31), 2**31 - 1
EDGES = np.array([NAN, INF, -INF, 0.0, -0.0, 1e-40, -1e-40], np.float32)


@pytest.fixture(params=BACKENDS, autouse=True)
def _backend(request: pytest.FixtureRequest) -> object:
    with wk.use_backend(request.param):
        yield


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (wk.ceil, [NAN, INF, -INF, 0, 0, 1, 0]),
        (wk.floor, [NAN, INF, -INF, 0, 0, 0, -1]),
        (wk.relu, [NAN, INF, 0, 0, 0, 1e-40, 0]),
        (wk.relu6, [NAN, 6, 0, 0, 0, 1e-40, 0]),
        (wk.round, [NAN, INF, -INF, 0, 0, 0, 0]),
        (wk.sign, [NAN, 1, -1, 0, 0, 1, -1]),
        (wk.step, [NAN, 1, 0, 0, 0, 1, 0]),
        (wk.reciprocal, [NAN, 0, 0, INF, -INF, INF, -INF]),
    ],
)
def test_nan_infinities_and_zeros(op: Callable[[object], wk.Tensor], expected: list[float]) -> None:
    found = op(EDGES).numpy()
    np.testing.assert_allclose(found, expected, atol=1.2e-38)


def test_nan_wins_in_maximum_minimum_and_clip() -> None:
    a, b = [NAN, 1.0, NAN], [1.0, NAN, NAN]
    assert np.isnan(wk.maximum(a, b).numpy()).all()
    assert np.isnan(wk.minimum(a, b).numpy()).all()
    np.testing.assert_array_equal(wk.clip([NAN, INF, -INF], -1.0, 2.0).numpy(), [NAN, 2, -1])


def test_comparisons_with_nan_are_false_but_for_not_equal() -> None:
    a = wk.tensor([NAN, NAN, 1.0])
    b = wk.tensor([NAN, 1.0, NAN])
    for found in (a == b, a < b, a <= b, a > b, a >= b):
        assert found.tolist() == [False] * 3
    assert (a != b).tolist() == [True] * 3


def test_comparisons_see_subnormals_and_one_zero() -> None:
    a = wk.tensor([0.0, 1e-40, -1e-40])
    assert (a == wk.tensor([-0.0, 0.0, 0.0])).tolist() == [True, False, False]
    assert (a > 0.0).tolist() == [False, True, False]
    ends = wk.tensor([LOW, HIGH])
    assert (ends == ends).tolist() == [True, True]
    assert (ends < wk.tensor([HIGH, HIGH])).tolist() == [True, False]


def test_integers_wrap() -> None:
    ends = wk.tensor([LOW, HIGH])
    assert (ends + 1).tolist() == [LOW + 1, LOW]
    assert (ends - 1).tolist() == [HIGH, HIGH - 1]
    assert (ends * 2).tolist() == [0, -2]
    assert (-ends).tolist() == [LOW, -HIGH]
    assert abs(ends).tolist() == [LOW, HIGH]
    assert wk.pow(wk.tensor([3, -2, 2, 0]), wk.tensor([21, 31, -1, -1])).tolist() == [
        1870418611,
        LOW,
        0,
        0,
    ]


def test_integer_division_floors_and_x_over_0_is_x() -> None:
    a, b = wk.tensor([7, -7, 7, -7, 5, LOW]), wk.tensor([2, 2, -2, -2, 0, -1])
    assert (a // b).tolist() == [3, -4, -4, 3, 5, LOW]
    assert (a // b).dtype == "int32"
    assert (a / 2).dtype == "float32"


def test_floor_division_of_floats_gives_floats() -> None:
    found = wk.tensor([7.5, -7.5, 1.0, 1.0, -INF]) // wk.tensor([2.0, 2.0, 0.1, 0.0, 2.0])
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found.numpy(), [3, -4, 9, INF, NAN])  # as Python


def test_the_kernel_floor_div_follows_tensorflow_js() -> None:
    def run(a: object, b: object) -> object:
        found = wk.engine().run_kernel("FloorDiv", {"a": a, "b": b})
        assert isinstance(found, wk.Tensor)
        assert found.dtype == "int32"
        return found.tolist()

    assert run([7.5, -7.5, 1.0, 0.0], [2.0, 2.0, 0.0, 0.0]) == [3, -4, 0, 0]
    assert run([7, -7, 5], [2, 2, 0]) == [3, -4, 0]


def test_casts_saturate_and_nan_is_0_as_an_integer_and_true_as_a_bool() -> None:
    x = wk.tensor([NAN, INF, -INF, 3e9, -2.9, 1e-40, 0.0])
    assert wk.astype(x, "int32").tolist() == [0, HIGH, LOW, HIGH, -2, 0, 0]
    assert wk.astype(x, "bool").tolist() == [True, True, True, True, True, True, False]
    z = wk.tensor([1.5 + 2j, 2j])
    assert wk.astype(z, "int32").tolist() == [1, 0]
    assert wk.astype(z, "bool").tolist() == [True, False]
    assert wk.astype(x > 0.0, "complex64").tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_a_cast_takes_views_and_keeps_a_dtype_that_is_there() -> None:
    x = wk.matrix_transpose(wk.tensor([[1.5, -2.5], [3.5, 0.0]]))
    assert wk.astype(x, "int32").tolist() == [[1, 3], [-2, 0]]
    assert wk.astype(x, np.float32).tolist() == x.tolist()


@pytest.mark.parametrize("count", [1, 2, 6, 7, 11, 13])
def test_add_n_takes_any_number(count: int) -> None:
    x = wk.matrix_transpose(wk.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    found = wk.add_n([x * float(i) for i in range(count)])
    np.testing.assert_array_equal(found.numpy(), x.numpy() * sum(range(count)))


def test_scalars_take_the_dtype_of_the_tensor() -> None:
    whole, half = wk.tensor([1, 2]), wk.tensor([1.0, 2.0], dtype="float32")
    assert (whole + 1).dtype == "int32"
    assert (whole + 0.5).tolist() == [1.5, 2.5]
    assert (2 * half).dtype == "float32"
    assert wk.where(half > 1.0, half, 0).dtype == "float32"
    assert wk.where([True, False], 1, 2).tolist() == [1, 2]


def test_more_elements_than_one_row_of_groups() -> None:
    x = wk.arange(65_535 * 64 + 7, dtype="float32")
    assert wk.astype(x, "int32")[-1].item() == 65_535 * 64 + 6
    assert wk.add_n([x, x])[-1].item() == 2 * (65_535 * 64 + 6)


def test_gradients_where_two_branches_meet() -> None:
    x = wk.tensor([0.0])
    assert wk.grad(wk.abs)(x).tolist() == [0]
    assert wk.grad(wk.relu)(x).tolist() == [0]
    assert wk.grad(wk.relu6)(wk.tensor([6.0])).tolist() == [1]
    assert wk.grad(lambda x: wk.clip(x, 0.0, 1.0))(x).tolist() == [1]
    for op in (wk.maximum, wk.minimum):
        assert [one.tolist() for one in wk.grads(op)(x, x + 0.0)] == [[1], [0]]


def test_the_gradient_of_pow_at_zero_is_finite_where_it_exists() -> None:
    a, b = wk.tensor([0.0, 0.0, 0.0, -2.0]), wk.tensor([0.0, 1.0, 2.0, 3.0])
    da, db = wk.grads(wk.pow)(a, b)
    assert da.tolist() == [0, 1, 0, 12]
    assert db.tolist() == [0, 0, 0, 0]


def test_a_complex_gradient_is_that_to_the_conjugate() -> None:
    a, b = wk.tensor([1 + 2j]), wk.tensor([3 - 1j])
    with wk.GradientTape() as tape:
        tape.watch(a)
        tape.watch(b)
        y = a * b
    da, db = tape.gradient(y, [a, b])
    assert da.tolist() == [3 + 1j]
    assert db.tolist() == [1 - 2j]


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: wk.clip([1.0], 2, 1), wk.ArgumentError, "clip_value_min is 2, clip_value_max 1"),
        (lambda: wk.add_n([]), wk.ArgumentError, "AddN: inputs is empty"),
        (
            lambda: wk.add_n([[1.0], [1.0, 2.0]]),
            wk.ShapeError,
            r"inputs\[1\] has shape \[2\], inputs\[0\] \[1\]",
        ),
        (lambda: wk.add_n([wk.tensor(1), wk.tensor(1.0)]), wk.DTypeError, "has dtype float32"),
        (lambda: wk.add([1.0, 2.0], [1.0, 2.0, 3.0]), wk.ShapeError, "Add: shapes do not"),
        (lambda: wk.logical_and(1.0, True), wk.DTypeError, "LogicalAnd: a has dtype float32"),
        (
            lambda: wk.where(1.0, 1.0, 2.0),
            wk.DTypeError,
            r"where \(kernel Select\): condition has dtype float32",
        ),
        (lambda: wk.astype("q", "float32"), wk.DTypeError, "Cast: x has dtype string"),
        (lambda: wk.complex([1.0], [1.0, 2.0]), wk.ShapeError, r"Complex: real has shape \[1\]"),
        (lambda: wk.sin("q"), wk.DTypeError, "Sin: x has dtype string"),
    ],
)
def test_bad_input_is_refused_in_words(
    run: Callable[[], wk.Tensor], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run()


def test_integers_on_the_host_are_floats_where_a_kernel_wants_floats() -> None:
    image = [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]
    calls: list[Callable[[Any], Any]] = [
        lambda x: wk.softmax(x([1, 2])), lambda x: wk.log_softmax(x([1, 2])),
        lambda x: wk.logsumexp(x([1, 2])), lambda x: wk.layer_norm(x([[1, 2]])),
        lambda x: wk.batch_norm(x(image), x([0, 0]), x([1, 1])),
        lambda x: wk.local_response_normalization(x(image)),
        lambda x: wk.avg_pool(x(image), 2), lambda x: wk.conv2d(x(image), x([[[[1], [2]]]])),
        lambda x: wk.dilation2d(x(image), x([[[1, 2]]])),
        lambda x: wk.crop_and_resize(image, x([[0, 0, 1, 1]]), [0], (1, 1)),
        lambda x: wk.transform(x(image), x([[1, 0, 0, 0, 1, 0, 0, 0]])),
        lambda x: wk.non_max_suppression(x([[0, 0, 1, 1]]), x([1]), 1),
        lambda x: wk.random.categorical(x([9, -999])),
        lambda x: wk.multinomial(x([9, -999]), 2, seed=1),
    ]  # fmt: skip
    for call in calls:
        whole, floats = (call(one) for one in (np.array, lambda x: np.array(x, np.float32)))
        np.testing.assert_array_equal(whole.numpy(), floats.numpy())
    assert wk.max_pool(image, 1).dtype == "int32"  # which takes integers
    with pytest.raises(wk.DTypeError, match="Softmax: logits has dtype int32"):
        wk.softmax(wk.tensor([1, 2]))


def _of_bools() -> Iterator[tuple[Any, int]]:
    """Yield a sample of each kernel that takes bools, and which input they are."""
    seen = set()
    for sample in all_samples():
        for place, array in enumerate(arrays_for(sample)):
            if array.dtype == np.bool_ and (sample.kernel, place) not in seen:
                seen.add((sample.kernel, place))
                yield sample, place


def test_a_python_bool_beside_tensors_is_a_bool() -> None:
    assert wk.where(True, wk.tensor([1.5, 2.0]), 0.0).tolist() == [1.5, 2.0]
    assert np.where(False, wk.tensor([1.5, 2.0]), 0.0).tolist() == [0.0, 0.0]
    count = 0
    with wk.use_backend("cpu"):
        for sample, place in _of_bools():
            given: list[Any] = [wk.tensor(one) for one in arrays_for(sample)]
            if len(given) < 2:
                continue
            count += 1
            for value in (True, False):
                found = []
                for one in (value, np.bool_(value)):
                    given[place] = one
                    with contextlib.suppress(wk.WgslKernelsError, IndexError):
                        found.append(_arrays(sample.f(*given, **sample.attrs)))
                assert len(found) in (0, 2), sample
                for a, b in zip(*found, strict=True) if found else ():
                    assert a.dtype == b.dtype, sample
                    np.testing.assert_array_equal(a, b)
    assert count > 10


def _arrays(result: Any) -> list[Any]:
    return [one.numpy() for one in (result if isinstance(result, (list, tuple)) else [result])]
