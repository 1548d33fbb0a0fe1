"""Copies and pickles: values, backends and ties survive; copies are independent."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.train import SGD, Adam, Momentum

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


def pickled(protocol: int) -> Callable[[Any], Any]:
    """Return what takes a thing through a pickle."""
    return lambda one: pickle.loads(pickle.dumps(one, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle 0": pickled(0),
    "pickle 2": pickled(2),
    "pickle 5": pickled(5),
}
BY_EVERY_WAY = pytest.mark.parametrize("way", WAYS)
VALUES: dict[str, Any] = {
    "bool": np.array([[True, False, True]]),
    "int32": np.array([-(2**31), 0, 2**31 - 1], np.int32),
    "float16": np.array([0.5, -np.inf, 65504.0], np.float16),
    "float32": np.array([[1e-40, -0.0], [np.inf, np.nan]], np.float32),
    "complex64": np.array([[1 + 2j, -3j]], np.complex64),
    "scalar": np.float32(3.5),
    "empty": np.zeros((0, 3), np.float32),
    "string": np.array(["", "grün", "a\0b"], object),
}


@EVERYWHERE
@BY_EVERY_WAY
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.usefixtures("halves_anywhere")
def test_every_dtype_is_copied_bit_for_bit(name: str, way: str, backend: str) -> None:
    with wk.use_backend(backend):
        one = wk.tensor(VALUES[name], dtype="string" if name == "string" else VALUES[name].dtype)
        other = WAYS[way](one)
        assert other is not one
        assert (other.shape, other.dtype, other.backend) == (one.shape, one.dtype, one.backend)
        if name == "string":
            assert other.tolist() == one.tolist()
        else:
            assert other.numpy().tobytes() == one.numpy().tobytes()


@EVERYWHERE
@BY_EVERY_WAY
@pytest.mark.parametrize("fusion", ["never", "auto", "always"])
def test_results_that_are_pending_and_views_are_copied(way: str, backend: str, fusion: str) -> None:
    with wk.use_backend(backend), wk.config.using(fusion=fusion):
        x = wk.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
        made = (x * 2.0 + 1.0) * x
        view = wk.permute_dims(x, (1, 0))[1:]
        copies = [WAYS[way](one) for one in (made, view)]
        del x
        for one, other in zip((made, view), copies, strict=True):
            assert np.array_equal((other + 1.0).numpy(), (one + 1.0).numpy())


@EVERYWHERE
@BY_EVERY_WAY
def test_a_variable_keeps_name_and_trainability_and_is_another(way: str, backend: str) -> None:
    with wk.use_backend(backend):
        for trainable in (True, False):
            one = wk.variable([1.0, 2.0], trainable=trainable, name="w")
            with wk.tidy():
                other = WAYS[way](one)
            assert isinstance(other, wk.Variable)
            assert (other.name, other.trainable, other.backend) == ("w", trainable, backend)
            other.assign(other * 3.0)
            assert (one.tolist(), other.tolist()) == ([1.0, 2.0], [3.0, 6.0])
            one.dispose()
            assert other.tolist() == [3.0, 6.0]
        with wk.GradientTape() as tape:
            again = WAYS[way](wk.variable([2.0]))
            loss = wk.sum(again * again)
        assert tape.gradient(loss, again).tolist() == [4.0]


@BY_EVERY_WAY
def test_what_was_disposed_cannot_be_copied(way: str) -> None:
    for one in (wk.tensor([1.0]), wk.variable([1.0])):
        one.dispose()
        with pytest.raises(wk.DisposedTensorError, match="was disposed"):
            WAYS[way](one)


def test_a_copy_counts_in_the_scope_around_it() -> None:
    one = wk.tensor([1.0])
    with wk.tidy():
        other = copy.deepcopy(one)
    assert other.is_disposed
    assert one.tolist() == [1.0]


def program(kind: str) -> dict[str, Any]:
    """Return a model, a tied variable, and two optimizers after three steps."""
    w, b = wk.variable(np.ones((3, 2), np.float32)), wk.variable([0.5, 0.25], name="b")
    made: dict[str, Any] = {"adam": Adam(0.1), "momentum": Momentum(0.1, 0.5), "sgd": SGD(0.1)}
    state = {"model": {"w": w, "b": b, "tied": w}}
    state = {**made, **state} if kind == "optimizers first" else {**state, **made}
    for _ in range(3):
        step(state)
    return state


def step(state: dict[str, Any]) -> None:
    """Do a step with each optimizer."""
    w, b = state["model"]["w"], state["model"]["b"]
    assert state["model"]["tied"] is w
    for name in ("adam", "momentum", "sgd"):
        state[name].minimize(lambda: wk.sum((wk.ones((4, 3)) @ w + b) ** 2.0))


def step_of(state: dict[str, Any]) -> Callable[[], None]:
    """Return a function that does a step."""
    return lambda: step(state)


def weights(state: dict[str, Any]) -> list[bytes]:
    """Return the bits of the model."""
    return [state["model"][name].numpy().tobytes() for name in ("w", "b")]


@EVERYWHERE
@pytest.mark.parametrize("kind", ["optimizers first", "model first"])
@pytest.mark.parametrize("way", ["deepcopy", "pickle 2"])
@pytest.mark.parametrize("captured", [False, True])
def test_optimizers_stay_tied_to_what_is_copied_with_them(
    way: str, kind: str, backend: str, captured: bool
) -> None:
    with wk.use_backend(backend):
        state = program(kind)
        before = weights(state)
        other = WAYS[way](state)
        run: Any = wk.capture(step_of(other)) if captured else step_of(other)
        for _ in range(3):
            run()
        assert weights(state) == before
        for _ in range(3):
            step(state)
        assert weights(other) == weights(state)
        assert other["adam"].step.item() == state["adam"].step.item() == 6


@EVERYWHERE
@pytest.mark.parametrize("way", ["copy", "deepcopy"])
def test_an_optimizer_copied_alone_is_one_for_the_same_variables(way: str, backend: str) -> None:
    with wk.use_backend(backend):
        state = program("model first")
        alone = {name: WAYS[way](state[name]) for name in ("adam", "momentum", "sgd")}
        kept = weights(state)
        step(state)
        expected = weights(state)
        for name, bits in zip(("w", "b"), kept, strict=True):
            one = state["model"][name]
            one.assign(np.frombuffer(bits, np.float32).reshape(one.shape))
        step(state | alone)
        assert weights(state) == expected


def test_an_optimizer_pickled_alone_finds_its_variables_by_name_or_raises() -> None:
    w = wk.variable([1.0, 2.0], name="w")
    adam = Adam(0.1)
    adam.minimize(lambda: wk.sum(w * w))
    other = pickle.loads(pickle.dumps(adam))
    start = w.numpy()
    adam.minimize(lambda: wk.sum(w * w))
    expected = w.tolist()
    w.assign(start)
    other.minimize(lambda: wk.sum(w * w))
    assert w.tolist() == expected

    nameless = wk.variable([1.0])
    adam.minimize(lambda: wk.sum(nameless * nameless))
    other = pickle.loads(pickle.dumps(adam))
    with pytest.raises(wk.ArgumentError, match=r"state for 'variable_\d+' belongs to no variable"):
        other.minimize(lambda: wk.sum(nameless * nameless))


@EVERYWHERE
def test_a_copy_inside_a_capture_is_the_copy_of_each_call(backend: str) -> None:
    with wk.use_backend(backend):
        w = wk.variable([1.0, 2.0])

        @wk.capture
        def before_and_after(x: Any) -> Any:
            kept = copy.deepcopy(w * 1.0), copy.copy(x)
            w.assign(w + x)
            return (*kept, w * 1.0)

        for n in range(3):
            found = [one.tolist() for one in before_and_after(wk.tensor([1.0, 1.0]))]
            assert found == [[n + 1.0, n + 2.0], [1.0, 1.0], [n + 2.0, n + 3.0]]


SPAWNING = """
import multiprocessing
import sys
import numpy as np
import wgsl_kernels as wk

def trained(state):
    wk.set_backend(state["w"].backend)
    for _ in range(2):
        state["opt"].minimize(lambda: wk.sum(state["w"] ** 2.0))
    return state, state["w"].backend

if __name__ == "__main__":
    with wk.use_backend(sys.argv[1]):
        state = {"w": wk.variable([1.0, 2.0]), "opt": wk.train.Adam(0.1)}
        trained(state)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            (other, backend), = pool.map(trained, [state])
        trained(state)
        assert backend == state["w"].backend == other["w"].backend == sys.argv[1]
        assert other["w"].numpy().tobytes() == state["w"].numpy().tobytes()
        trained(other), trained(state)
        assert other["w"].numpy().tobytes() == state["w"].numpy().tobytes()
"""


@EVERYWHERE
def test_a_spawned_process_trains_what_it_is_given(backend: str, tmp_path: Path) -> None:
    (tmp_path / "spawning.py").write_text(SPAWNING)
    command = [sys.executable, "-W", "error", str(tmp_path / "spawning.py"), backend]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr


def test_a_pickle_opens_where_its_backend_does_not_run(tmp_path: Path) -> None:
    with wk.use_backend("cpu"):
        values = wk.tensor([1.0, 2.0]), wk.variable([3.0], name="w"), wk.tensor(["a"])
    content = pickle.dumps(values)
    assert b"cpu" in content
    (tmp_path / "file").write_bytes(content.replace(b"cpu", b"xpu"))
    code = (
        "import pickle, sys\nimport wgsl_kernels as wk\nwk.set_backend('cpu')\n"
        "x, w, s = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert (x.tolist(), w.tolist(), w.name, s.tolist()) == ([1, 2], [3], 'w', ['a'])\n"
        "assert {one.backend for one in (x, w, s)} == {'cpu'}\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "file"], check=True, env=os.environ, timeout=100
    )
