"""Saving and loading: every dtype, whole programs, and files that do not fit."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import wgsl_kernels as wk
from wgsl_kernels.ops.random import random
from wgsl_kernels.train import SGD, Adam

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BACKENDS = ["cpu", "webgpu"]
VALUES: dict[str, Any] = {
    "bool": np.array([[True, False, True]]),
    "int32": np.array([-(2**31), 0, 2**31 - 1], np.int32),
    "float16": np.array([0.5, -np.inf, np.nan], np.float16),
    "float32": np.array([[1e-40, -0.0], [np.inf, np.nan]], np.float32),
    "complex64": np.array([[1 + 2j, -3j], [np.nan, 0.5]], np.complex64),
    "scalar": np.float32(3.5),
    "complex scalar": np.complex64(1 - 1j),
    "empty": np.zeros((0, 3), np.float32),
    "empty complex": np.zeros((2, 0), np.complex64),
}


@pytest.mark.parametrize("name", VALUES)
def test_every_dtype_comes_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    with wk.use_backend("cpu"):
        value = VALUES[name]
        wk.save(tmp_path / "one", {"x": wk.tensor(value, dtype=value.dtype)})
        found = wk.load(tmp_path / "one")["x"]
        assert (found.shape, found.dtype) == (value.shape, str(value.dtype))
        assert found.numpy().tobytes() == value.tobytes()


DTYPES = ["float32", "int32", "bool", "float16", "complex64", "int8", "uint8"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_shape_and_dtype_come_back_by_each_way(dtype: str, backend: str, tmp_path: Path) -> None:
    def saved(x: Any) -> Any:
        wk.save(tmp_path / "file", {"x": x})
        return wk.load(tmp_path / "file")["x"]

    def loaded_into(x: Any) -> Any:
        variable = wk.variable(wk.zeros(x.shape, dtype=x.dtype))
        wk.save(tmp_path / "file", {"x": x})
        wk.load(tmp_path / "file", into={"x": variable})
        return variable

    def assigned(x: Any) -> Any:
        variable = wk.variable(wk.zeros(x.shape, dtype=x.dtype))
        np.savez(tmp_path / "file.npz", x=x)
        wk.load_weights(tmp_path / "file.npz", into={"x": variable})
        return variable

    ways: list[Callable[[Any], Any]] = [
        saved, loaded_into, assigned, copy.deepcopy, np.asarray, np.from_dlpack, wk.from_dlpack,
        lambda x: pickle.loads(pickle.dumps(x)), lambda x: wk.tensor(np.asarray(x)),
    ]  # fmt: skip
    with wk.use_backend(backend):
        for shape in [(), (1,), (0,), (2, 3), (3, 0, 2)]:
            values = np.ones(shape).cumsum().reshape(shape).astype(dtype)
            whole = wk.tensor(values)
            made = wk.where(True, whole, whole)
            turned = wk.tensor(np.array(values.T, order="C")).T
            one_of_two = wk.tensor(np.stack([values, values]))[1]
            for x in (whole, made, turned, one_of_two, wk.variable(whole)):
                for n, way in enumerate(ways):
                    found = way(x)
                    assert (tuple(found.shape), str(found.dtype)) == (shape, dtype), n
                    np.testing.assert_array_equal(np.asarray(found), values)


def test_doubles_come_back_on_the_cpu(tmp_path: Path) -> None:
    with wk.use_backend("cpu"):
        numbers = {"x": wk.tensor([0.1], dtype="float64"), "z": wk.tensor(1j, dtype="complex128")}
        wk.save(tmp_path / "doubles", numbers)
        found = wk.load(tmp_path / "doubles")
        assert found["x"].numpy().tolist() == [0.1]
        assert found["z"].dtype == "complex128"


def test_other_readers_open_the_file(tmp_path: Path) -> None:
    wk.save(tmp_path / "file", {"layer": {"w": wk.tensor([1.0, 2.0])}, "z": wk.tensor([1 + 2j])})
    found = load_file(tmp_path / "file")
    assert found["layer/w"].tolist() == [1.0, 2.0]
    assert found["z"].tolist() == [[1.0, 2.0]]


def test_files_of_other_writers_open(tmp_path: Path) -> None:
    save_file({"w": np.array([1, 2], np.int64)}, tmp_path / "file")
    assert wk.load(tmp_path / "file")["w"].tolist() == [1, 2]
    assert wk.load(tmp_path / "file")["w"].dtype == "int32"


def program(seed: int) -> tuple[dict[str, Any], Any]:
    """Return a model, its optimizer and the random key, and a step that trains with noise."""
    draw = np.random.default_rng(seed)
    w = wk.variable(draw.standard_normal((2, 3)).astype(np.float32), name="w")
    b = wk.variable(draw.standard_normal(3).astype(np.float32), name="b")
    optimizer = Adam(0.1)

    def step() -> float:
        noise = wk.random_uniform((4, 2))
        return float(optimizer.minimize(lambda: wk.mean((noise @ w + b) ** 2.0)))

    return {"model": {"w": w, "b": b}, "optimizer": optimizer, "random": random.key}, step


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_goes_on_where_it_was_saved(backend: str, tmp_path: Path) -> None:
    with wk.use_backend(backend):
        wk.random.seed(3)
        state, step = program(0)
        for _ in range(3):
            step()
        wk.save(tmp_path / "checkpoint", state)
        expected = [step() for _ in range(3)]

        wk.random.seed(99)
        other, resume = program(1)
        wk.load(tmp_path / "checkpoint", into=other)
        assert [resume() for _ in range(3)] == expected
        assert other["optimizer"].step.item() == 6


def test_one_optimizer_is_saved_by_itself(tmp_path: Path) -> None:
    v = wk.variable([1.0], name="v")
    first, second = Adam(0.5), Adam(0.1)
    first.apply_gradients([(wk.tensor([1.0]), v)])
    wk.save(tmp_path / "adam", first)
    found = wk.load(tmp_path / "adam", into=second)
    assert set(found) == {"learning_rate", "step", "v/m", "v/v"}
    assert (second.learning_rate.item(), second.step.item()) == (0.5, 1)


def test_what_does_not_fit_is_named_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    wk.save(path, {"a": wk.tensor([1.0, 2.0]), "b": wk.tensor([3])})

    def load(**into: Any) -> None:
        wk.load(path, into=into)

    a = wk.variable([0.0, 0.0])
    with pytest.raises(wk.ShapeError, match=r"load: 'b' has shape \[1\] in the file; the variab"):
        load(a=a, b=wk.variable([0, 0]))
    with pytest.raises(wk.DTypeError, match="'b' is int32 in the file; the variable is float32"):
        load(a=a, b=wk.variable([0.0]))
    with pytest.raises(wk.ArgumentError, match="the file has no 'c'; it has 'a', 'b'"):
        load(a=a, b=wk.variable([0]), c=wk.variable(0.0))
    with pytest.raises(wk.ArgumentError, match="the file has 'b', which nothing in `into` takes"):
        load(a=a)
    with pytest.raises(wk.ArgumentError, match="under 'b' stands a Tensor; want a variable"):
        load(a=a, b=wk.tensor([0]))
    with pytest.raises(wk.ArgumentError, match="Adam: the state has no 'learning_rate'"):
        load(a=a, b=wk.variable([0]), optimizer=Adam())
    assert a.tolist() == [0.0, 0.0]


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match="under 'rates/0' stands a float; want a tensor"):
        wk.save(tmp_path / "file", {"rates": [1.0]})
    with pytest.raises(wk.ArgumentError, match="'a/b' is given twice"):
        wk.save(tmp_path / "file", {"a/b": wk.tensor(1.0), "a": {"b": wk.tensor(2.0)}})
    with pytest.raises(wk.ArgumentError, match="1 is no name"):
        wk.save(tmp_path / "file", cast("dict[str, Any]", {1: wk.tensor(1.0)}))
    with pytest.raises(wk.DTypeError, match="'s' holds strings"):
        wk.save(tmp_path / "file", {"s": wk.tensor(["x"])})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    wk.save(path, {"x": wk.tensor(1.0)})

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        wk.save(path, {"x": wk.tensor(2.0)})
    assert wk.load(path)["x"].item() == 1.0
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_none_say_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        wk.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError) as caught:
        wk.save(tmp_path / "missing" / "file", {"x": wk.ones(2)})
    assert str(caught.value).endswith(f"directory: {str(tmp_path / 'missing' / 'file')!r}")
    (tmp_path / "text").write_text("hello, this is no file of tensors")
    with pytest.raises(wk.ArgumentError, match="text is no readable safetensors file"):
        wk.load(tmp_path / "text")
    wk.save(tmp_path / "cut", {"x": wk.tensor(np.zeros(100, np.float32))})
    content = (tmp_path / "cut").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-7])
    with pytest.raises(wk.ArgumentError, match="cut is no readable safetensors file"):
        wk.load(tmp_path / "cut")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_another_thread_trains_is_saved_between_two_steps(
    backend: str, tmp_path: Path
) -> None:
    model = {f"w{n}": wk.variable(np.zeros(2000, np.float32)) for n in range(200)}
    optimizer = SGD(1.0)
    ends = threading.Event()

    def train() -> None:
        with wk.use_backend(backend):
            slopes = {one: wk.tensor(-np.ones(2000, np.float32)) for one in model.values()}
            while not ends.is_set():
                optimizer.apply_gradients((slopes[one], one) for one in model.values())

    trainer = threading.Thread(target=train)
    trainer.start()
    try:
        for turn in range(5):
            wk.save(tmp_path / str(turn), {"model": model, "optimizer": optimizer})
    finally:
        ends.set()
        trainer.join()

    for turn in range(5):
        found = wk.load(tmp_path / str(turn))
        counts = {found[f"model/{name}"].numpy()[0] for name in model}
        assert counts == {float(found["optimizer/step"].item())}
