"""Saved functions give what they give here: lists that change, blocks, the ends of int32, bools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.from_onnx.graphs import peer

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

X = np.arange(24, dtype=np.float32).reshape(4, 6) ** 2
LEAST, MOST = -(2**31), 2**31 - 1


def gives_everywhere_the_same(f: Any, folder: Path, **given: Any) -> None:
    """Compare ONNX Runtime, the file loaded again and TensorFlow's graph with what f gives here."""
    found = f(**{name: wk.tensor(one) for name, one in given.items()})
    wants = [one.numpy() for one in (found if isinstance(found, tuple) else (found,))]
    wk.onnx.save(f, folder / "f.onnx", given)
    wk.tfjs.save_graph_model(f, folder / "f", given)
    for results in (
        peer(folder / "f.onnx", given),
        wk.onnx.load(folder / "f.onnx").numpy(**given),
        wk.tfjs.load_graph_model(folder / "f" / "model.json").numpy(**given),
    ):
        for one, want in zip(results, wants, strict=True):
            assert (one.dtype, one.shape) == (want.dtype, want.shape)
            np.testing.assert_array_equal(one, want)


def _changed(f: Any, first: list[Any], then: list[Any]) -> Any:
    """Return a function that changes the list it gave a kernel, and gives it to another one."""

    def both(x: Any) -> Any:
        given = list(first)
        before = f(x, given)
        given[:] = then
        return before, f(x, given)

    return both


CHANGED = {
    "slice": _changed(lambda x, at: wk.slice(x, at, [3, 2]), [0, 0], [0, 2]),
    "tile": _changed(wk.tile, [1, 2], [1, 3]),
    "pad": _changed(wk.pad, [[0, 0], [1, 0]], [[0, 0], [2, 0]]),
    "permute_dims": _changed(wk.permute_dims, [0, 1], [1, 0]),
    "reshape": _changed(wk.reshape, [2, 12], [12, 2]),
    "sum": _changed(lambda x, axes: wk.sum(x, axis=axes), [0], [1]),
    "strided_slice": _changed(
        lambda x, at: wk.strided_slice(x, at, [3, 6], [1, 2]), [0, 0], [0, 1]
    ),
    "broadcast_to": _changed(wk.broadcast_to, [2, 4, 6], [3, 4, 6]),
    "diff": lambda x: wk.diff(x, axis=1),
    "diff twice": lambda x: wk.diff(x, axis=0, n=2),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_list_that_changes_after_the_call_is_saved_as_it_was(case: str, tmp_path: Path) -> None:
    gives_everywhere_the_same(CHANGED[case], tmp_path, x=X)


@pytest.mark.parametrize("begin", [0, 1, [1], [0, 2], []])
def test_a_block_is_saved_whose_begin_says_less_than_its_size(begin: Any, tmp_path: Path) -> None:
    gives_everywhere_the_same(lambda x: wk.slice(x, begin, [3, 4]), tmp_path, x=X)


@pytest.mark.parametrize(
    "part", [slice(None, None, 2), slice(None, None, 4), slice(4, None, -2), slice(1, 5, 3)]
)
def test_the_gradient_of_a_slice_with_steps_is_saved(part: slice, tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return wk.grad(lambda v: (v[:, part] * v[:, part]).sum())(x)

    gives_everywhere_the_same(f, tmp_path, x=X)


def test_quotients_of_integers_are_rounded_down_up_to_the_ends_of_int32(tmp_path: Path) -> None:
    ends = np.array([LEAST, LEAST + 1, -7, -1, 0, 1, 7, MOST - 1, MOST], np.int32)
    divisors = np.array([LEAST, -5, -2, -1, 1, 2, 3, MOST], np.int32)
    x, y = (one.ravel() for one in np.meshgrid(ends, divisors))
    gives_everywhere_the_same(lambda x, y: (x // y, x % y), tmp_path, x=x, y=y)


@pytest.mark.parametrize("by", [1, -1])
def test_a_roll_by_one_is_of_any_batch(by: int, tmp_path: Path) -> None:
    wk.onnx.save(
        lambda x: wk.roll(x, by, axis=0),
        tmp_path / "f.onnx",
        {"x": X},
        dynamic_axes={"x": {0: "n"}},
    )
    for length in (1, 2, 4):
        (found,) = peer(tmp_path / "f.onnx", {"x": X[:length]})
        np.testing.assert_array_equal(found, np.roll(X[:length], by, axis=0))


@pytest.mark.parametrize("by", [2, -2])
def test_parts_that_one_element_does_not_have_are_refused(by: int, tmp_path: Path) -> None:
    words = (
        r"'n' cannot vary: SplitV at .*: parts have \[.*\] elements where n = 3 and \[.*-1.*n = 1"
    )
    for save in (wk.onnx.save, wk.tfjs.save_graph_model):
        with pytest.raises(wk.ArgumentError, match=words):
            save(
                lambda x: wk.roll(x, by, axis=0),
                tmp_path / "f",
                {"x": X[:3]},
                dynamic_axes={"x": {0: "n"}},
            )


def test_a_roll_of_several_axes_by_one_number_is_saved(tmp_path: Path) -> None:
    gives_everywhere_the_same(lambda x: wk.roll(x, 2, axis=(0, 1)), tmp_path, x=X)
