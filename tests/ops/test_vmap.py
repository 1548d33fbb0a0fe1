"""vmap beside a loop, for the samples of kernels with a rule; nesting, gradients, refusals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import some

import wgsl_kernels as wk
from wgsl_kernels.ops.control.batching_rules import RULES
from wgsl_kernels.testing import Sample, all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RNG = np.random.default_rng(8)
X = RNG.standard_normal((5, 3)).astype(np.float32)
W = RNG.standard_normal((3, 2)).astype(np.float32)
DRAWN = ("RandomNormal", "RandomUniform", "Multinomial")
RULED = [
    one
    for one in all_samples()
    if one.kernel in RULES
    and one.kernel not in DRAWN
    and not {"string", "float16"} & set(one.input_dtypes)
]
SOME = some(RULED, 4, "vmap")


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def _flat(value: Any) -> list[wk.Tensor]:
    """Return the tensors of a result, which may be a tuple of them."""
    if isinstance(value, wk.Tensor):
        return [value]
    return [each for one in value for each in _flat(one)]


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("sample", SOME, ids=lambda one: one.id)
def test_a_kernel_gives_what_a_loop_over_the_examples_gives(sample: Sample) -> None:
    arrays = arrays_for(sample)
    is_drawn = sample.make is None and sample.values is None
    stacks = [np.stack([one, np.flip(one) if is_drawn else one]) for one in arrays]
    count = len(arrays)
    fits: list[bool] = []
    for axes in {(0,) * count, (0, *(None,) * (count - 1)), (*(None,) * (count - 1), 0)}:
        rows = zip(stacks, arrays, axes, sample.input_dtypes, strict=True)
        given = [
            wk.tensor(one if axis is None else stack, dtype=np.dtype(dtype))
            for stack, one, axis, dtype in rows
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = _flat(wk.vmap(lambda *xs: sample.f(*xs, **sample.attrs), axes)(*given))
        fits.append(not any(f"vmap: {sample.kernel} has" in str(one.message) for one in caught))
        for at in range(2):
            own = [one if axis is None else one[at] for one, axis in zip(given, axes, strict=True)]
            for a, b in zip(found, _flat(sample.f(*own, **sample.attrs)), strict=True):
                wk.testing.assert_close(a[at], b, rtol=2e-5, atol=2e-5)
    assert any(fits)  # else it ran once per example


def _loss(w: wk.Tensor, x: wk.Tensor) -> wk.Tensor:
    return wk.sum(wk.tanh(x @ w) ** 2) + wk.max(wk.stop_gradient(x) * x)


def test_gradients_inside_and_outside_are_those_of_a_loop() -> None:
    w, x = wk.tensor(W), wk.tensor(X)
    rows = [wk.grad(_loss, (0, 1))(w, one) for one in x]
    inside = wk.vmap(wk.grad(_loss, (0, 1)), (None, 0))(w, x)
    outside = wk.grad(lambda w, x: wk.sum(wk.vmap(_loss, (None, 0))(w, x)), (0, 1))(w, x)
    for place, combine in ((0, lambda each: sum(each)), (1, wk.stack)):
        each = [one[place] for one in rows]
        wk.testing.assert_close(inside[place], wk.stack(each), rtol=1e-5, atol=1e-6)
        wk.testing.assert_close(outside[place], combine(each), rtol=1e-5, atol=1e-6)
    seconds = wk.vmap(wk.hessian(lambda x: _loss(w, x)))(x)
    for one, expected in zip(x, seconds, strict=True):
        wk.testing.assert_close(
            expected, wk.hessian(lambda x: _loss(w, x))(one), rtol=1e-4, atol=1e-5
        )


def test_maps_nest_and_are_captured_in_a_step_that_trains() -> None:
    pairs = wk.vmap(wk.vmap(lambda a, b: wk.sum(a * b), (None, 0)), (0, None))
    np.testing.assert_allclose(pairs(X, X).numpy(), X @ X.T, rtol=1e-5, atol=1e-6)
    models = [wk.variable(W), wk.variable(W)]

    def last(model: wk.Variable, around: Callable[..., Any]) -> Any:
        sgd = wk.train.SGD(0.1)
        run = around(lambda x: sgd.minimize(lambda: wk.vmap(lambda x: _loss(model, x))(x).mean()))
        return [run(wk.tensor(X)) for _ in range(3)][-1]

    a, b = last(models[0], lambda f: f), last(models[1], wk.capture)
    assert a.item() == b.item()
    np.testing.assert_array_equal(models[0].numpy(), models[1].numpy())


def test_arguments_and_results_are_trees_with_axes_anywhere() -> None:
    layers = {"w": wk.tensor(np.stack([W, 2 * W])), "b": wk.ones((2, 2))}

    def f(layer: Any, x: Any, *, scale: Any) -> Any:
        assert (x.shape, layer["w"].shape, scale.shape) == ((5, 3), (3, 2), ())
        y = (x @ layer["w"] + layer["b"]) * scale
        return {"y": y}, wk.ones(4)

    mapped = wk.vmap(f, in_axes=(0, None), out_axes=(1, 0))
    found, ones = mapped(layers, X, scale=wk.tensor([1.0, 3.0]))
    expected = np.stack([X @ W + 1, 3 * (X @ (2 * W) + 1)], axis=1)
    np.testing.assert_allclose(found["y"].numpy(), expected, rtol=1e-5, atol=1e-5)
    assert ones.shape == (2, 4)
    shared = wk.vmap(lambda x: (x, wk.ones(2)), in_axes=-1, out_axes=(-1, None))(X)
    np.testing.assert_array_equal(shared[0].numpy(), X)
    assert shared[1].shape == (2,)


def test_random_draws_differ_and_take_as_much_of_the_stream_as_a_batch() -> None:
    one, other = wk.random.Generator(2), wk.random.Generator(2)

    def draws(x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        return x + wk.random_normal((4,), generator=one), wk.random_uniform(4, generator=one)

    first, second = wk.vmap(draws)(wk.zeros(3))
    assert first.tolist() == wk.random_normal((3, 4), generator=other).tolist()
    assert second.tolist() == wk.random_uniform((3, 4), generator=other).tolist()
    assert one.key.tolist() == other.key.tolist()
    logits = wk.zeros((64, 8))
    classes = wk.vmap(lambda row: wk.random.categorical(row[None], generator=one))(logits)
    assert len(set(classes.numpy().ravel().tolist())) > 4


def test_bytes_are_computed_as_they_are_outside() -> None:
    x = wk.tensor(np.array([[100, 5], [-7, 100]]), dtype="int8")
    found = wk.vmap(lambda x: x + x)(x)
    assert (found.dtype, found.tolist()) == ("int8", (x + x).tolist())


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.at[:].add(x),
        lambda x: x.at[[0]].add(x[:1]),
        lambda x: wk.unsorted_segment_sum(x, wk.tensor([0, 1, 0]), 0),
    ],
)
def test_sums_of_no_segments_are_those_of_a_loop(f: Callable[[wk.Tensor], wk.Tensor]) -> None:
    found = wk.vmap(f)(wk.zeros((2, 3, 0)))
    assert found.shape == (2, *f(wk.zeros((3, 0))).shape)
    assert found.size == 0


def test_a_kernel_without_a_rule_runs_per_example_and_says_so_once() -> None:
    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(wk.linalg.diagonal(wk.diag(x))) + wk.sum(wk.diag(x))

    with pytest.warns(RuntimeWarning, match="vmap: Diag has no rule for batches") as told:
        found = wk.vmap(f)(X)
    assert len([one for one in told if "Diag " in str(one.message)]) == 1
    np.testing.assert_allclose(found.numpy(), 2 * X.sum(1), rtol=1e-5, atol=1e-6)


def test_control_functions_work_inside() -> None:
    def f(x: wk.Tensor) -> wk.Tensor:
        carry, _ = wk.scan(lambda total, one: (total * 0.5 + one, None), wk.zeros(()), x)
        inner = wk.checkpoint(lambda y: wk.sin(y * carry))
        return wk.tidy(lambda: wk.sum(inner(wk.exp(x))))

    expected = [wk.value_and_grad(f)(wk.tensor(one)) for one in X]
    values, slopes = wk.vmap(wk.value_and_grad(f))(X)
    outside = wk.grad(lambda x: wk.sum(wk.vmap(f)(x)))(X)
    for at, (value, slope) in enumerate(expected):
        wk.testing.assert_close(values[at], value, rtol=1e-5)
        for found in (slopes, outside):
            wk.testing.assert_close(found[at], slope, rtol=1e-5, atol=1e-6)


def test_gradients_of_ones_own_are_taken_inside() -> None:
    def square(x: wk.Tensor) -> Any:
        def slope(dy: wk.Tensor, saved: Any) -> wk.Tensor:
            del saved
            return dy * 10.0

        return x * x, slope

    tenfold = wk.custom_grad(square)

    def total(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(tenfold(x))

    assert wk.vmap(wk.grad(total))(X).tolist() == np.full((5, 3), 10.0).tolist()
    with pytest.raises(wk.ArgumentError, match=r"custom_grad: under vmap .*write vmap\(grad"):
        wk.grad(lambda x: wk.sum(wk.vmap(total)(x)))(X)


def _batch_norm(x: wk.Tensor) -> wk.Tensor:
    return wk.nn.batch_norm(3)(wk.stack([x, x + 1.0]), train=True)


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (_batch_norm, "vmap: f assigns the variable .* what differs"),
        (lambda x: x * 2.0 if x[0] > 0 else x, r"vmap: the values .* shape \[\] are read"),
        (lambda x: x.numpy(), "choose by wk.where"),
        (lambda x: [x, 3.0], "vmap: f gave 3.0; want a tensor"),
        (lambda x: x[:, 0], "."),
    ],
)
def test_what_has_no_meaning_for_all_examples_is_refused(f: Any, match: str) -> None:
    with pytest.raises((wk.ArgumentError, wk.ShapeError, IndexError), match=match):
        wk.vmap(f)(X)


@pytest.mark.parametrize(
    ("axes", "args", "match"),
    [
        ((0, 0), (X,), r"in_axes is \(0, 0\); want one for each of 1"),
        (None, (X,), "no argument is mapped"),
        (0, (X, X[:4]), "have lengths 4, 5; want one"),
        (2, (X,), "in_axes"),
        (0, (1.0,), "argument 0 holds a scalar"),
        (0, (X[:0],), "have length 0"),
        ("0", (X,), "in_axes is '0'; want an integer"),
    ],
)
def test_axes_that_do_not_fit_are_refused(axes: Any, args: Sequence[Any], match: str) -> None:
    with pytest.raises((wk.ArgumentError, wk.ShapeError), match=match):
        wk.vmap(lambda *xs: xs[0], axes)(*args)
    with pytest.raises(wk.ArgumentError, match="out_axes is None"):
        wk.vmap(lambda x: x, out_axes=None)(X)


def test_a_tensor_that_escapes_says_what_it_is() -> None:
    kept: list[wk.Tensor] = []

    def f(x: wk.Tensor) -> wk.Tensor:
        kept.append(x)
        return x

    wk.vmap(f)(X)
    with pytest.raises(wk.ArgumentError, match="read what vmap returns"):
        kept[0].numpy()
    with pytest.raises(wk.ArgumentError, match="read what vmap returns"):
        (kept[0] + 1.0).numpy()
