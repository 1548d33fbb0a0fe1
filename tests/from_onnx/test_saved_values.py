"""Saved functions give what they give here: lists that change, blocks, the ends of int32, bools."""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from tests.from_onnx.graphs import peer
from tests.from_onnx.test_save import called, samples_by_kernel

import wgsl_kernels as wk
from wgsl_kernels.onnx.rules.table import COMPOSED, RULES
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

X = np.arange(24, dtype=np.float32).reshape(4, 6) ** 2
LEAST, MOST = -(2**31), 2**31 - 1
STEPS = (None, 2, 7, -1, -2, -7)


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


def gives_in_onnx_the_same(f: Any, file: Path, opset: int = 21, **given: Any) -> None:
    """Compare ONNX Runtime with what f gives here."""
    want = f(**{name: wk.tensor(one) for name, one in given.items()}).numpy()
    wk.onnx.save(f, file, given, opset=opset)
    onnx.checker.check_model(file, full_check=True)
    (found,) = peer(file, given)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(found, want)


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


def _cut(parts: list[slice], axis: int, x: Any) -> Any:
    return tuple(x[(slice(None),) * axis + (part,)] for part in parts)


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_slices_from_anywhere_to_anywhere_are_saved(length: int, tmp_path: Path) -> None:
    places = (None, -9, -3, -2, -1, 0, 1, 2, 9)
    parts = [slice(*one) for one in itertools.product(places, places, STEPS)]
    x = np.arange(2 * length, dtype=np.float32).reshape(length, 2)
    for axis in range(2):
        f = functools.partial(_cut, parts, axis)
        gives_everywhere_the_same(f, tmp_path, x=x if axis == 0 else x.T.copy())


@pytest.mark.parametrize("part", [slice(-3, None, -1), slice(-3, -7, -2), slice(-2, 0, -1)])
def test_a_slice_from_before_an_axis_that_varies_is_empty(part: slice, tmp_path: Path) -> None:
    file = tmp_path / "f.onnx"
    example = np.zeros((3, 5), np.float32)
    wk.onnx.save(lambda x: x[:, part].sum(1), file, {"x": example}, dynamic_axes={"x": {1: "n"}})
    for length in (1, 2, 3, 8):
        x = np.arange(2 * length, dtype=np.float32).reshape(2, length)
        x = np.concatenate([x, x[:1]])
        for found in (*peer(file, {"x": x}), *wk.onnx.load(file).numpy(x=x)):
            np.testing.assert_array_equal(found, x[:, part].sum(1))


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


BITS = np.array([[True, False, True, False], [True, True, False, False]])
OF_BOOLS = {
    "~": lambda b, c: ~b,
    "&": lambda b, c: b & c,
    "|": lambda b, c: b | c,
    "^": lambda b, c: b ^ c,
    "& of one": lambda b, c: wk.any(b) & wk.all(c),
    "where": lambda b, c: wk.where(~b, 1.0, 2.0),
    "sum": lambda b, c: b.sum(),
    "mean": lambda b, c: b.mean(axis=1),
    "max": lambda b, c: b.max(axis=0),
    "min": lambda b, c: b.min(axis=0),
    "prod": lambda b, c: wk.prod(b, axis=0),
    "count_nonzero": lambda b, c: wk.count_nonzero(b),
    "argmax": lambda b, c: b.argmax(1),
    "argmin": lambda b, c: b.argmin(1),
    "cumulative_sum": lambda b, c: wk.cumulative_sum(b, axis=1),
    "* of numbers": lambda b, c: b * 2.5,
    "+ of numbers": lambda b, c: b + 1,
    "- of numbers": lambda b, c: 1 - b,
    "/ of numbers": lambda b, c: b / 2.0,
    "maximum": lambda b, c: wk.maximum(b, c),
    "== of numbers": lambda b, c: b == 1,
    "< of numbers": lambda b, c: b < 0.5,
}


@pytest.mark.parametrize("case", OF_BOOLS)
def test_what_is_computed_of_bools_is_saved(case: str, tmp_path: Path) -> None:
    gives_everywhere_the_same(OF_BOOLS[case], tmp_path, b=BITS[:1], c=BITS[1:])


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("op", ["+", "-", "*", "<", "<="])
def test_arithmetic_of_bools_alone_is_saved(op: str, opset: int, tmp_path: Path) -> None:
    f: Any = {
        "+": lambda b, c: b + c,
        "-": lambda b, c: b - c,
        "*": lambda b, c: b * c,
        "<": lambda b, c: b < c,
        "<=": lambda b, c: b <= c,
    }[op]
    b, c = (one.ravel() for one in np.meshgrid([True, False], [True, False]))
    gives_in_onnx_the_same(f, tmp_path / "f.onnx", opset, b=b, c=c)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("opset", [13, 14, 21])
def test_bytes_are_computed_in_int32_and_wrap(dtype: Any, opset: int, tmp_path: Path) -> None:
    x = np.array([0, 1, 3, 100, 120, 127], dtype)
    cases: list[Any] = [
        lambda x: x + x,
        lambda x: x - 3,
        lambda x: x * 3,
        lambda x: -x,
        lambda x: x // (x - 1),
        lambda x: x % (x - 3),
        lambda x: wk.clip(x, -5, 100),
        lambda x: wk.square(x),
        lambda x: wk.relu(x),
        lambda x: wk.sum(x),
        lambda x: wk.max(x),
        lambda x: x < 100,
        lambda x: wk.take(X[:, 0], x[:3]),
    ]
    for f in cases:
        gives_in_onnx_the_same(f, tmp_path / "f.onnx", opset, x=x)


def _in_other_dtypes() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield a sample of each kernel with inputs of its own dtypes, of bytes, float16 and bool."""
    for kernel in sorted({*RULES, *COMPOSED}):
        sample = samples_by_kernel()[kernel][0]
        arrays = {f"x{i}": array for i, array in enumerate(arrays_for(sample))}
        yield kernel, sample, arrays
        for dtype in ("uint8", "int8", "float16", "bool"):
            of_numbers = {"float32", "int32"} if dtype != "float16" else {"float32"}
            yield (
                kernel,
                sample,
                {
                    name: one.astype(dtype) if str(one.dtype) in of_numbers else one
                    for name, one in arrays.items()
                },
            )


@pytest.mark.parametrize("opset", [13, 18, 25])
def test_files_have_the_types_that_the_version_of_their_operators_has(
    opset: int, tmp_path: Path
) -> None:
    file, wrong, count = tmp_path / "f.onnx", {}, 0
    with wk.use_backend("cpu"):
        for kernel, sample, arrays in _in_other_dtypes():
            file.unlink(missing_ok=True)
            with contextlib.suppress(wk.WgslKernelsError):  # it does not take them, or has no rule
                wk.onnx.save(functools.partial(called, sample), file, arrays, opset=opset)
            if file.exists():
                count += 1
                try:
                    onnx.checker.check_model(file, full_check=True)
                except onnx.shape_inference.InferenceError as error:
                    wrong[kernel, *(str(one.dtype) for one in arrays.values())] = str(error)
    assert wrong == {}
    assert count > 400


def _in_two_dtypes() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield samples of kernels of several inputs, with one input of another dtype than the rest."""
    for kernel in sorted({*RULES, *COMPOSED}):
        for sample in samples_by_kernel()[kernel]:
            arrays = {f"x{i}": array for i, array in enumerate(arrays_for(sample))}
            floats = [name for name, one in arrays.items() if one.dtype == np.float32]
            for name in floats if len(floats) > 1 else []:
                for dtype, others in (("float16", "float32"), ("int32", "float16")):
                    given = {one: arrays[one].astype(others) for one in floats}
                    yield sample, {**arrays, **given, name: arrays[name].astype(dtype)}


def test_operators_have_inputs_of_one_dtype_where_a_kernel_promotes_its_own(tmp_path: Path) -> None:
    file, wrong, count = tmp_path / "f.onnx", {}, 0
    with wk.use_backend("cpu"):
        for sample, arrays in _in_two_dtypes():
            file.unlink(missing_ok=True)
            with contextlib.suppress(wk.WgslKernelsError):  # it does not take them, or has no rule
                wk.onnx.save(functools.partial(called, sample), file, arrays)
            if file.exists():
                count += 1
                try:
                    onnx.checker.check_model(file, full_check=True)
                except onnx.shape_inference.InferenceError as error:
                    kinds = [str(one.dtype) for one in arrays.values()]
                    wrong[sample.kernel, *kinds] = str(error)
    assert wrong == {}
    assert count > 500


@pytest.mark.usefixtures("halves_anywhere")
@pytest.mark.parametrize("wide", ["query", "key", "value"])
def test_attention_in_two_dtypes_gives_in_onnx_runtime_what_it_gives_here(
    wide: str, tmp_path: Path
) -> None:
    x = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float16)
    given = dict.fromkeys(("query", "key", "value"), x) | {wide: x.astype(np.float32)}
    wk.onnx.save(wk.scaled_dot_product_attention, tmp_path / "f.onnx", given)
    want = wk.scaled_dot_product_attention(*map(wk.tensor, given.values())).numpy()
    for (found,) in (
        peer(tmp_path / "f.onnx", given),
        wk.onnx.load(tmp_path / "f.onnx").numpy(**given),
    ):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
