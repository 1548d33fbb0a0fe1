"""Ops that move elements: views of views, empty tensors, strings, many inputs, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.ops.elementwise.binary import add
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.shapes import creation, joining, ranges, shape, slicing
from wgsl_kernels.ops.shapes.shape import reshaped_strides

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ["cpu", "webgpu"]
VALUES = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)


def view(x: wk.Tensor) -> wk.Tensor:
    """Return reversed, transposed, cut and broadcast views on top of one another."""
    turned = shape.permute_dims(shape.flip(x, axis=(0, 2)), (2, 0, 1))
    cut = slicing.strided_slice(turned, (4, 1), (0, 4), (-2, 1))
    return shape.broadcast_to(shape.expand_dims(cut, axis=1), (2, 2, 3, 3))


def numpy_view(x: np.ndarray) -> np.ndarray:
    """Return what `view` returns, by NumPy."""
    cut = x[::-1, :, ::-1].transpose(2, 0, 1)[4:0:-2, 1:4]
    return np.broadcast_to(cut[:, None], (2, 2, 3, 3))


READERS: dict[str, tuple[Callable[[wk.Tensor], wk.Tensor], Callable[[np.ndarray], Any]]] = {
    "download": (shape.clone, np.copy),
    "add": (lambda x: add(x, x), lambda x: x + x),
    "reshape": (lambda x: shape.reshape(x, (9, -1)), lambda x: x.reshape(9, -1)),
    "flatten": (lambda x: shape.reshape(x, -1), np.ravel),
    "concat": (lambda x: joining.concat([x, x], axis=2), lambda x: np.concatenate([x, x], 2)),
    "stack": (lambda x: joining.stack([x, x], axis=-1), lambda x: np.stack([x, x], -1)),
    "pad": (
        lambda x: joining.pad(x, ((1, 0), (0, 0), (0, 2), (1, 1)), constant_value=7),
        lambda x: np.pad(x, ((1, 0), (0, 0), (0, 2), (1, 1)), constant_values=7),
    ),
    "tile": (lambda x: joining.tile(x, (1, 2, 1, 3)), lambda x: np.tile(x, (1, 2, 1, 3))),
    "take": (
        lambda x: gather.take(x, wk.tensor([2, 0]), axis=2),
        lambda x: x[:, :, [2, 0]],
    ),
    "squeeze": (lambda x: shape.squeeze(slicing.slice(x, 0, 1)), lambda x: x[0]),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_through_a_stack_of_views(reader: str, backend: str) -> None:
    ours, theirs = READERS[reader]
    with wk.use_backend(backend):
        found = ours(view(wk.tensor(VALUES)))

    np.testing.assert_array_equal(found.numpy(), theirs(numpy_view(VALUES)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_view_keeps_its_values_when_its_source_goes(backend: str) -> None:
    with wk.use_backend(backend):
        source = add(wk.tensor(VALUES), 0.0)
        part = view(source)
        source.dispose()

        np.testing.assert_array_equal(part.numpy(), numpy_view(VALUES))


@pytest.mark.gpu
def test_views_dispatch_nothing() -> None:
    with wk.use_backend("webgpu"):
        x = add(wk.tensor(VALUES), 0.0)
        wk.evaluate(x)
        found = wk.profile(lambda: view(shape.reshape(x, (4, 3, 5))))

    assert len(found.kernels) == 6
    assert found.dispatches == []


EMPTY: list[tuple[Callable[[wk.Tensor], Any], tuple[int, ...]]] = [
    (lambda x: shape.reshape(x, (0, 7)), (0, 7)),
    (lambda x: shape.reshape(x, (3, -1)), (3, 0)),
    (lambda x: shape.flip(x), (2, 0, 3)),
    (lambda x: shape.permute_dims(x), (3, 0, 2)),
    (lambda x: shape.broadcast_to(x, (4, 2, 0, 3)), (4, 2, 0, 3)),
    (lambda x: slicing.slice(x, (0, 0, 1)), (2, 0, 2)),
    (lambda x: slicing.unstack(x, axis=2)[2], (2, 0)),
    (lambda x: slicing.split(x, (1, 2), axis=2)[1], (2, 0, 2)),
    (lambda x: joining.concat([x, x], axis=2), (2, 0, 6)),
    (lambda x: joining.concat([x, creation.ones((2, 1, 3))], axis=1), (2, 1, 3)),
    (lambda x: joining.stack([x, x]), (2, 2, 0, 3)),
    (lambda x: joining.tile(x, (2, 3, 1)), (4, 0, 3)),
    (lambda x: joining.pad(x, ((0, 0), (1, 1), (0, 0))), (2, 2, 3)),
    (lambda x: gather.take(x, wk.tensor([0, 1, 1]), axis=0), (3, 0, 3)),
    (lambda x: creation.zeros_like(x), (2, 0, 3)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_empty_tensors_move_and_have_gradients(number: int, backend: str) -> None:
    f, expected = EMPTY[number]
    with wk.use_backend(backend):
        x = wk.tensor(np.zeros((2, 0, 3), np.float32))
        y = f(x)
        dx = wk.grad(f)(x)

    assert y.numpy().shape == expected
    assert dx.numpy().shape == (2, 0, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_without_a_gradient_count_as_zero(backend: str) -> None:
    def second(x: wk.Tensor) -> wk.Tensor:
        return slicing.split(x, (1, 2, 2))[1]

    def last(x: wk.Tensor) -> wk.Tensor:
        return slicing.unstack(x)[-1]

    with wk.use_backend(backend):
        x = wk.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        assert wk.grad(second)(x).tolist() == [0.0, 1.0, 1.0, 0.0, 0.0]
        assert wk.grad(last)(x).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_strings_move_like_numbers(backend: str) -> None:
    words = np.array([["a", "b"], ["", "d"]], dtype=object)
    with wk.use_backend(backend):
        x = wk.tensor(words)
        found = {
            "reshape": shape.reshape(x, (4,)).tolist(),
            "flip": shape.flip(x, axis=1).tolist(),
            "transpose": shape.permute_dims(x).tolist(),
            "slice": slicing.slice(x, (1, 0), (1, 1)).tolist(),
            "element": slicing.strided_slice(x, (1, 1), (2, 2), shrink_axis_mask=3).item(),
            "concat": joining.concat([x, creation.full((1, 2), "z")]).tolist(),
            "unstack": slicing.unstack(x)[0].tolist(),
            "tile": joining.tile(x, (1, 2)).tolist(),
            "take": gather.take(x, wk.tensor([1])).tolist(),
        }

    assert found == {
        "reshape": ["a", "b", "", "d"],
        "flip": [["b", "a"], ["d", ""]],
        "transpose": [["a", ""], ["b", "d"]],
        "slice": [[""]],
        "element": "d",
        "concat": [["a", "b"], ["", "d"], ["z", "z"]],
        "unstack": ["a", "b"],
        "tile": [["a", "b", "a", "b"], ["", "d", "", "d"]],
        "take": [["", "d"]],
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda x: shape.broadcast_to(x, (2, 4)), wk.ShapeError, r"x of shape \[2, 3\] does not"),
        (lambda x: shape.expand_dims(x, axis=3), wk.ArgumentError, "ExpandDims: dim is 3"),
        (lambda x: shape.reshape(x, (4, -1)), wk.ShapeError, r"do not fill \[4, -1\]"),
        (lambda x: shape.squeeze(x, 0), wk.ShapeError, r"want length 1 in each axis of 0"),
        (lambda x: shape.permute_dims(x, (0, 0)), wk.ArgumentError, "want each axis once"),
        (lambda x: shape.flip(x, axis=2), wk.ArgumentError, "Reverse: dims is 2"),
        (lambda x: slicing.slice(x, -1), wk.ShapeError, "Slice: begin -1 and size -1 leave axis 0"),
        (lambda x: slicing.split(x, (-1, -1)), wk.ShapeError, "At most one may be -1"),
        (lambda x: joining.concat([]), wk.ArgumentError, "Concat: inputs is empty"),
        (lambda x: joining.concat([x, x[0]]), wk.ShapeError, r"inputs\[1\] has shape \[3\]"),
        (lambda x: joining.stack([x, 1.0]), wk.ShapeError, r"Pack\): inputs\[1\] has shape \[\]"),
        (lambda x: joining.pad(x, ((1, 1),)), wk.ShapeError, "want for each axis a pair"),
        (lambda x: run("Tile", x, reps=(2,)), wk.ShapeError, r"Tile: reps is \[2\]"),
        (lambda _: creation.full((2,), 0.5, dtype="int32"), wk.ArgumentError, "value is 0.5"),
        (lambda _: creation.full((-1,), 0.5), wk.ShapeError, r"Fill: shape is \[-1\]"),
        (lambda _: ranges.arange(0, 5, 0), wk.ArgumentError, "a step that is not 0"),
        (lambda _: ranges.linspace(0, 1, 0), wk.ArgumentError, "num is 0"),
        (lambda _: creation.one_hot([0], 1), wk.ArgumentError, "depth is 1; want at least 2"),
        (lambda x: creation.one_hot(x, 3), wk.DTypeError, "OneHot: indices has dtype float32"),
    ],
)
def test_what_cannot_be_moved_is_refused_with_the_value(
    f: Callable[[wk.Tensor], Any], error: type[Exception], words: str, backend: str
) -> None:
    with wk.use_backend(backend):
        x = wk.tensor(np.zeros((2, 3), np.float32))
        with pytest.raises(error, match=words):
            f(x)


def test_the_padded_value_has_numpys_name_too() -> None:
    x = wk.tensor([1.0, 2.0])
    assert wk.pad(x, 1, constant_values=3).tolist() == [3.0, 1.0, 2.0, 3.0]
    with pytest.raises(wk.ArgumentError, match="constant_value and constant_values are one"):
        wk.pad(x, 1, constant_value=3, constant_values=4)
    with pytest.raises(wk.ArgumentError, match="constant_value is 3 and mode 'edge'"):
        wk.pad(x, 1, mode="edge", constant_values=3)
    with wk.config.using(fallback="silent"):
        found = np.pad(x, 1, constant_values=(3, 4))
    np.testing.assert_array_equal(found, [3.0, 1.0, 2.0, 4.0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_of_any_length_is_numpys_and_gradients_of_copies_add_up(
    mode: Any, backend: str
) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    pairs = ((4, 9), (3, 1), (2, 0))
    places = np.pad(np.arange(12).reshape(x.shape), pairs, mode=mode)
    dy = np.arange(places.size, dtype=np.float32).reshape(places.shape) % 7
    total = np.zeros(12, np.float32)
    np.add.at(total, places.ravel(), dy.ravel())
    with wk.use_backend(backend):
        found = joining.pad(x, pairs, mode=mode)
        gradient = wk.grad(lambda x: joining.pad(x, pairs, mode=mode))(x, dy=wk.tensor(dy))

    np.testing.assert_array_equal(found.numpy(), np.pad(x, pairs, mode=mode))
    np.testing.assert_array_equal(gradient.numpy(), total.reshape(x.shape))


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_are_made_as_numpy_makes_them(backend: str) -> None:
    with wk.use_backend(backend):
        for arguments in [(5,), (2, 5), (5, 2), (0, 1, 0.25), (7, -8, -3), (1, 2, 5)]:
            np.testing.assert_array_equal(ranges.arange(*arguments).numpy(), np.arange(*arguments))
        for rows, cols, k in [(3, None, 0), (2, 4, 1), (4, 2, -1), (1, 1, 0), (2, 2, 5)]:
            expected = np.eye(rows, cols, k, dtype=np.float32)
            np.testing.assert_array_equal(creation.eye(rows, cols, k=k).numpy(), expected)
        line = ranges.linspace(-1.0, 0.3, 7).numpy()
        halves = creation.eye(2, batch_shape=(3,), dtype="int32").numpy()

    np.testing.assert_array_equal(line, np.linspace(-1.0, 0.3, 7).astype(np.float32))
    np.testing.assert_array_equal(halves, np.broadcast_to(np.eye(2, dtype=np.int32), (3, 2, 2)))


@pytest.mark.parametrize("trial", range(40))
def test_strides_after_a_reshape_show_the_same_elements(trial: int) -> None:
    rng = np.random.default_rng(trial)
    base = np.arange(4 * 6 * 2 * 3).reshape(4, 6, 2, 3)
    x = base.transpose(rng.permutation(4))[:: rng.choice([1, -1]), :: rng.choice([1, 2])]
    x = x[:, :, None] if trial % 3 else np.broadcast_to(x, (2, *x.shape))
    wanted = (-1, *rng.choice([1, 2, 3, 4], size=2)) if x.size % 12 == 0 else (-1,)
    new_shape = tuple(map(int, x.reshape(wanted).shape)) if _fills(x, wanted) else (x.size,)

    strides = reshaped_strides(x.shape, tuple(step // x.itemsize for step in x.strides), new_shape)

    shown = x.view()
    try:
        shown.shape = new_shape  # raises where NumPy, too, would have to copy
    except AttributeError:
        assert strides is None
    else:
        assert strides is not None
        in_bytes = [step * x.itemsize for step in strides]
        seen = np.lib.stride_tricks.as_strided(x, new_shape, in_bytes)
        np.testing.assert_array_equal(seen, shown)


def _fills(x: np.ndarray, wanted: tuple[int, ...]) -> bool:
    return x.size % int(np.prod([length for length in wanted if length > 0])) == 0


@pytest.mark.gpu
def test_many_axes_are_repeated_at_once() -> None:
    x = np.arange(64, dtype=np.float32).reshape((2,) * 6)

    with wk.use_backend("webgpu"):
        found = wk.tile(x, (2, 3, 2, 1, 2, 2)).numpy()

    np.testing.assert_array_equal(found, np.tile(x, (2, 3, 2, 1, 2, 2)))


def _moved(name: str, x: np.ndarray) -> tuple[Any, Any]:
    """Return what moves elements along all axes of many, ours and NumPy's."""
    ends = [(0, 1)] * x.ndim
    if name == "roll":
        shifts, axes = list(range(1, x.ndim + 1)), list(range(x.ndim))
        return lambda given: wk.roll(given, shifts, axes), np.roll(x, shifts, tuple(axes))
    mode: Any = name
    return lambda given: wk.pad(given, ends, mode=mode), np.pad(x, ends, mode)


@pytest.mark.parametrize("ndim", [9, 12])
@pytest.mark.parametrize("name", ["constant", "wrap", "edge", "symmetric", "roll"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_more_axes_move_than_a_shader_takes(backend: str, name: str, ndim: int) -> None:
    x = np.arange(2.0**ndim, dtype=np.float32).reshape((2,) * ndim)
    some = (slice(None),) * 3 + (slice(0, 1),) * (ndim - 6)
    f, expected = _moved(name, x[some])
    with wk.use_backend(backend):
        np.testing.assert_array_equal(f(x[some]).numpy(), expected)
        np.testing.assert_array_equal(f(wk.tensor(x)[some]).numpy(), expected)  # of a view
