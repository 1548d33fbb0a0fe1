"""Weights of other libraries: recorded files of PyTorch, made ones of Keras' form, hostile ones."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

RECORDED = Path(__file__).parents[1] / "recorded" / "torch"


def _model() -> dict[str, Any]:
    nn = wk.nn
    return {
        "dense": nn.dense(6, 4),
        "conv": nn.conv(4, 6, 3, groups=2),
        "up": nn.conv_transpose(4, 3, 4, strides=2, pad=1),
        "line": nn.conv(3, 5, (3,)),
        "batch": nn.batch_norm(6),
        "layer": nn.layer_norm(6),
        "group": nn.group_norm(6, 2),
        "rms": nn.rms_norm(6),
        "rows": nn.embedding(7, 6),
        "lstm": nn.lstm(3, 5),
        "gru": nn.gru(3, 5),
        "heads": nn.multi_head_attention(8, 2),
        "net": nn.sequential(nn.dense(6, 3), wk.relu, nn.dense(3, 2)),
    }


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_layers_of_pytorch_give_what_they_gave_there(backend: str) -> None:
    outputs = np.load(RECORDED / "outputs.npz")
    with wk.use_backend(backend):
        model = _model()
        wk.load_weights(RECORDED / "weights.pt", into=model, layout="torch")
        for name, layer in model.items():
            y = layer(wk.tensor(outputs[f"{name}_x"]))
            found = y[0] if isinstance(y, tuple) else y
            np.testing.assert_allclose(
                found.numpy(), outputs[f"{name}_y"], rtol=1e-5, atol=3e-6, err_msg=name
            )


def test_names_that_differ_are_said_together_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "theirs.npz"
    _savez(path, **{"fc.weight": np.ones((2, 3)), "fc.bias": np.zeros(2), "step": np.array(3)})
    model: dict[str, Any] = {"out": wk.nn.dense(3, 2), "more": wk.nn.layer_norm(2)}
    before = model["out"].weight.numpy()
    with pytest.raises(wk.ArgumentError) as caught:
        wk.load_weights(path, into=model, layout="torch", rename={"fc": "out"})
    assert "lacks:\n  more.weight (for more.scale)\n  more.bias (for more.offset)" in str(
        caught.value
    )
    assert "nothing for:\n  step: []" in str(caught.value)
    np.testing.assert_array_equal(model["out"].weight.numpy(), before)

    wrong = {"a": wk.nn.dense(3, 2), "b": wk.nn.dense(2, 2)}
    _savez(
        path,
        **{
            f"{x}.{y}": np.ones((2, 3) if y == "weight" else 2)
            for x in "ab"
            for y in ("weight", "bias")
        },
    )
    with pytest.raises(wk.ShapeError, match=r"b.weight: \[2, 3\], as ours \[3, 2\]; b.weight is"):
        wk.load_weights(path, into=wrong, layout="torch")
    assert not (wrong["a"].weight.numpy() == 1).any()


def test_renaming_leaves_out_and_refuses_two_for_one(tmp_path: Path) -> None:
    path = tmp_path / "theirs.npz"
    _savez(path, **{"m.0.weight": np.ones((2, 2)), "m.0.bias": np.ones(2), "m.1": np.ones(1)})
    net = wk.nn.sequential(wk.nn.dense(2, 2), wk.relu)
    wk.load_weights(path, into=net, rename={"m": "", "m.0": "0", "m.1": ""})
    assert net[0].bias.tolist() == [1.0, 1.0]
    with pytest.raises(wk.ArgumentError, match=r"'x' for 'm\.0\.weight' and 'm\.0\.bias'"):
        wk.load_weights(path, into=net, rename=lambda _: "x")
    with pytest.raises(wk.ArgumentError, match="rename gives 3"):
        wk.load_weights(path, into=net, rename=lambda _: 3)  # type: ignore[arg-type,return-value]  # on purpose
    with pytest.raises(wk.ArgumentError, match="layout is 'jax'; want 'torch' or 'keras'"):
        wk.load_weights(path, into=net, layout="jax")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_become_those_of_the_variable(dtype: Any, tmp_path: Path) -> None:
    path = tmp_path / "narrow.safetensors"
    wk.save(path, {"weight": wk.tensor([[0.5, 1.25]]), "bias": wk.tensor([2.0, -1.0])}, dtype=dtype)
    layer = wk.nn.dense(1, 2)
    wk.load_weights(path, into=layer)
    assert layer.weight.dtype == "float32"
    assert layer.weight.tolist() == [[0.5, 1.25]]


@pytest.mark.parametrize(
    ("given", "dtype", "number"),
    [
        (np.array([1 + 2j], np.complex64), "float32", r"\(1\+2j\) of complex64"),
        (np.array([1, 2**40]), "int32", "1099511627776 of int64"),
        (np.array([2**53 + 1]), "float32", "9007199254740993 of int64"),
        (np.array([-1e300]), "float32", r"-1e\+300 of float64"),
        (np.array([7e4], np.float32), "float16", "70000.0 of float32"),
        (np.array([np.nan]), "int32", "nan of float64"),
        (np.array([300]), "uint8", "300 of int64"),
        (np.array([2]), "bool", "2 of int64"),
    ],
)
def test_values_that_a_variable_cannot_hold_are_refused(
    given: Any, dtype: Any, number: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "weights.npz", first=np.ones(1, np.float32), w=given)
    model = {"first": wk.variable(wk.zeros(1)), "w": wk.variable(wk.zeros(given.shape, dtype))}

    with pytest.raises(wk.ArgumentError, match=f"values do not fit.\n  w: {number}; w is {dtype}"):
        wk.load_weights(tmp_path / "weights.npz", into=model)

    assert model["first"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "dtype", "held"),
    [
        ([1.0, np.inf, 0.1], "float32", [1.0, np.inf, np.float32(0.1)]),
        (np.array([3, -4]), "int32", [3, -4]),
        (np.array([1 << 20]), "float32", [1048576.0]),
        (np.array([0.0, 1.0]), "bool", [False, True]),
        (np.array([1.5]), "complex64", [1.5 + 0j]),
    ],
)
def test_values_that_it_can_hold_become_those_of_its_dtype(
    given: Any, dtype: Any, held: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "weights.npz", w=np.array(given))
    model = {"w": wk.variable(wk.zeros(len(given), dtype))}

    wk.load_weights(tmp_path / "weights.npz", into=model)

    assert model["w"].tolist() == held


def test_gates_and_heads_of_keras_are_ours(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    theirs = {
        "gru.kernel": drawn(3, 6),
        "gru.recurrent_kernel": drawn(2, 6),
        "gru.bias": drawn(2, 6),
        "norm.gamma": drawn(4),
        "norm.beta": drawn(4),
        "norm.moving_mean": drawn(4),
        "norm.moving_variance": drawn(4) ** 2,
        **{f"heads.{one}.kernel": drawn(4, 2, 2) for one in ("query", "key", "value")},
        **{f"heads.{one}.bias": drawn(2, 2) for one in ("query", "key", "value")},
        "heads.attention_output.kernel": drawn(2, 2, 4),
        "heads.attention_output.bias": drawn(4),
    }
    _savez(tmp_path / "keras.npz", **theirs)
    model: dict[str, Any] = {
        "gru": wk.nn.gru(3, 2),
        "norm": wk.nn.batch_norm(4),
        "heads": wk.nn.multi_head_attention(4, 2),
    }
    with wk.use_backend("cpu"):
        wk.load_weights(tmp_path / "keras.npz", into=model, layout="keras")
        x = drawn(1, 1, 3)
        _, h = model["gru"](x, wk.ones((1, 2)))
        update, reset, new = np.split(x[0, 0] @ theirs["gru.kernel"] + theirs["gru.bias"][0], 3)
        hidden = np.ones(2) @ theirs["gru.recurrent_kernel"] + theirs["gru.bias"][1]
        z, r, n = np.split(hidden, 3)
        z, r = 1 / (1 + np.exp(-update - z)), 1 / (1 + np.exp(-reset - r))
        expected = z * 1 + (1 - z) * np.tanh(new + r * n)
        np.testing.assert_allclose(h.numpy()[0], expected, rtol=1e-5)
        x = drawn(1, 1, 4)  # one element attends to itself: its value, projected
        value = np.einsum("f,fhs->hs", x[0, 0], theirs["heads.value.kernel"])
        value += theirs["heads.value.bias"]
        expected = np.einsum("hs,hsf->f", value, theirs["heads.attention_output.kernel"])
        expected += theirs["heads.attention_output.bias"]
        np.testing.assert_allclose(model["heads"](x).numpy()[0, 0], expected, rtol=1e-4)


def _savez(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


class _Runs:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("reached"),)


def _archive(path: Path, program: bytes, **storages: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", program)
        for name, data in storages.items():
            archive.writestr(f"archive/data/{name[1:]}", data)
    return path


def test_files_that_want_to_run_code_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _archive(tmp_path / "evil.pt", pickle.dumps({"w": _Runs()}))
    with pytest.raises(wk.ArgumentError, match="nothing of a file is executed here"):
        wk.load_weights(path, into=wk.nn.dense(1, 1), layout="torch")
    assert not Path("reached").exists()


HEAD = b"\x80\x02}(X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage"
"""The beginning of a pickle {"w": a tensor}, up to its storage."""


def _program(count: int, offset: int, size: int, stride: int) -> bytes:
    def number(value: int) -> bytes:
        return b"J" + value.to_bytes(4, "little", signed=True)

    storage = (
        b"ctorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + number(count) + b"tQ"
    )
    rest = number(offset) + number(size) + b"\x85" + number(stride) + b"\x85"
    return HEAD + storage + rest + b"\x89NtRu."


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (_program(4, 0, 5, 1), "reaches outside"),
        (_program(4, 2, 3, 1), "reaches outside"),
        (_program(4, -1, 2, 1), "offset -1"),
        (_program(4, 0, 2, -1), "strides"),
        (_program(4, 0, 1 << 30, 0), "reaches outside"),
        (_program(9, 0, 2, 1), "has 4 elements of 9"),
        (b"\x80\x02}u.", "mark"),
        (b"\x80\x02t.", "mark"),
        (b"\x80\x02", "damaged"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"not a pickle", "damaged"),
    ],
)
def test_damaged_files_are_refused(program: bytes, expected: str, tmp_path: Path) -> None:
    path = _archive(tmp_path / "odd.pt", program, _0=np.arange(4, dtype="<f4").tobytes())
    with pytest.raises(wk.ArgumentError, match=expected):
        wk.load_weights(path, into={"w": wk.variable([0.0])})


def test_what_is_made_by_hand_is_read(tmp_path: Path) -> None:
    data = np.arange(4, dtype="<f4").tobytes()
    variable = wk.variable([0.0, 0.0])
    wk.load_weights(
        _archive(tmp_path / "a.pt", _program(4, 1, 2, 2), _0=data), into={"w": variable}
    )
    assert variable.tolist() == [1.0, 3.0]


def test_other_files_are_refused(tmp_path: Path) -> None:
    old, packed = tmp_path / "old.pt", tmp_path / "packed.pt"
    old.write_bytes(pickle.dumps({"w": 1}))
    with pytest.raises(wk.ArgumentError, match="no zip archive"):
        wk.load_weights(old, into=wk.nn.dense(1, 1))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    with pytest.raises(wk.ArgumentError, match="is compressed"):
        wk.load_weights(packed, into=wk.nn.dense(1, 1))
    with pytest.raises(FileNotFoundError):
        wk.load_weights(tmp_path / "none.pt", into=wk.nn.dense(1, 1))
    _savez(tmp_path / "objects.npz", w=np.array([{}], dtype=object))
    with pytest.raises(wk.ArgumentError, match=r"no readable \.npz of numbers"):
        wk.load_weights(tmp_path / "objects.npz", into=wk.nn.dense(1, 1))


@pytest.mark.parametrize("kind", ["stored.npz", "compressed.npz", "torch.pt"])
def test_flipped_bits_and_cut_files_raise_an_error_that_names_the_file(
    kind: str, tmp_path: Path
) -> None:
    path, random = tmp_path / kind, np.random.default_rng(23)
    values: Any = np.ones((3, 4), np.float32)
    if kind == "torch.pt":
        _archive(path, _program(12, 0, 12, 1), _0=values.tobytes())
        values = values.reshape(-1)
    else:
        (np.savez if kind == "stored.npz" else np.savez_compressed)(path, w=values)
    content = path.read_bytes()
    variable = wk.variable(np.zeros(values.shape, np.float32))
    wk.load_weights(path, into={"w": variable})
    variable.assign(wk.zeros_like(variable))
    outcomes = {"raised": 0, "named": 0, "loaded": 0}
    for turn in range(900):
        damaged = bytearray(content)
        if turn % 3 == 0:
            damaged = damaged[: int(random.integers(len(content)))]
        else:
            for place in random.integers(len(content), size=turn % 3):
                damaged[place] = int(random.integers(256))
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of NumPy, on its way to an error
                wk.load_weights(path, into={"w": variable})
        except wk.ShapeError:
            pass  # what is there is whole, and of another shape
        except wk.ArgumentError as error:
            outcomes["raised"] += 1
            outcomes["named"] += kind in str(error) or "is not in the file" in str(error)
        else:
            outcomes["loaded"] += 1
            variable.assign(wk.zeros_like(variable))
            continue
        assert not variable.numpy().any()
    assert outcomes["raised"] == outcomes["named"] > 300, outcomes
