"""Training goes on in another process as if nothing had happened, or says why it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.train import SGD, Adam, Momentum

PROGRAM = Path(__file__).with_name("resuming.py")
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ONE = np.ones(2, np.float32)


def trained(*arguments: object, **environment: str) -> str:
    """Return what the program prints in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-W", "error", PROGRAM, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    ("backend", "ways"),
    [
        ("cpu", [("eager", "captured")]),  # which is no other way there: nothing is recorded
        ("webgpu", [("eager", "captured"), ("captured", "eager")]),
    ],
    ids=["cpu", "webgpu"],
)
def test_a_new_process_goes_on_bit_for_bit_whatever_it_makes_first(
    backend: str, ways: list[tuple[str, str]], tmp_path: Path
) -> None:
    first: list[object] = []
    second: list[object] = []
    for way, resumed in ways:
        file = tmp_path / way
        first += [backend, way, "forward", 1, "-", file]
        second += [backend, resumed, "backward", 3, file, "-"]
    whole = trained(*first)
    assert len(whole.splitlines()) == len(ways)
    assert trained(*second) == whole


def stepped(optimizer: Any, *variables: wk.Variable) -> None:
    """Change the variables once, each against its own number."""
    optimizer.apply_gradients(
        [(wk.tensor(ONE * (n + 1.0)), one) for n, one in enumerate(variables)]
    )


def slots(optimizer: Any, one: wk.Variable) -> list[Any]:
    """Return what an optimizer keeps of a variable."""
    state = optimizer.state_dict({one: "it"})
    return [value.tolist() for name, value in state.items() if name.startswith("it/")]


@BACKENDS
def test_unnamed_variables_are_called_by_their_paths(backend: str, tmp_path: Path) -> None:
    with wk.use_backend(backend):
        a, b = wk.variable(ONE), wk.variable(ONE)
        adam = Adam()
        stepped(adam, a, b)
        wk.save(tmp_path / "file", {"model": {"a": a, "b": b}, "opt": adam})
        kinds = [f"opt/model/{name}/{slot}" for name in "ab" for slot in "mv"]
        assert set(wk.load(tmp_path / "file")) == {
            "model/a", "model/b", "opt/learning_rate", "opt/step", *kinds
        }  # fmt: skip

        second, first, fresh = wk.variable(ONE), wk.variable(ONE), Adam()
        wk.load(tmp_path / "file", into={"opt": fresh, "model": {"b": second, "a": first}})
        assert slots(fresh, first) == slots(adam, a)
        assert slots(fresh, second) == slots(adam, b)
        assert slots(adam, a) != slots(adam, b)
        stepped(adam, a, b)
        stepped(fresh, first, second)
        assert (first.tolist(), second.tolist()) == (a.tolist(), b.tolist())


def test_a_variable_under_two_paths_has_one_state(tmp_path: Path) -> None:
    a, adam = wk.variable(ONE), Adam()
    stepped(adam, a)
    wk.save(tmp_path / "file", {"x": a, "y": a, "opt": adam})
    other, fresh = wk.variable(ONE), Adam()
    wk.load(tmp_path / "file", into={"y": other, "opt": fresh, "x": other})
    assert slots(fresh, other) == slots(adam, a)

    wk.save(tmp_path / "untied", {"x": wk.tensor(ONE), "y": wk.tensor(2 * ONE)})
    with pytest.raises(wk.ArgumentError, match="'x' and 'y' are one variable in `into`, and diff"):
        wk.load(tmp_path / "untied", into={"x": other, "y": other})
    assert other.tolist() == a.tolist()


def test_state_of_a_variable_that_is_not_saved_needs_a_name(tmp_path: Path) -> None:
    path, adam = tmp_path / "file", Adam()
    nameless, named = wk.variable(ONE), wk.variable(ONE, name="w")
    stepped(adam, nameless, named)
    for saved in (adam, {"opt": adam}, {"opt": adam, "w": named}, {"opt": adam.state_dict()}):
        with pytest.raises(wk.ArgumentError, match=r"has state of 'variable_\d+', a variable with"):
            wk.save(path, saved)
    wk.save(path, {"opt": adam, "x": nameless})

    other, fresh = wk.variable(ONE), Adam()
    wk.load(path, into={"opt": fresh, "x": other})
    assert slots(fresh, other) == slots(adam, nameless)
    again = wk.variable(ONE, name="w")
    stepped(fresh, again)
    stepped(adam, named)
    assert slots(fresh, again) == slots(adam, named)


def test_a_name_that_is_a_path_of_another_variable_is_refused(tmp_path: Path) -> None:
    adam, a, b = Adam(), wk.variable(ONE, name="b"), wk.variable(ONE, name="w")
    stepped(adam, a, b)
    with pytest.raises(wk.ArgumentError, match="two variables go by the name 'b'"):
        wk.save(tmp_path / "file", {"opt": adam, "b": b})


def test_loaded_state_without_an_owner_raises_at_the_first_step() -> None:
    donor, old, v = Adam(), wk.variable(ONE, name="old name"), wk.variable(ONE, name="new name")
    stepped(donor, old)
    state = donor.state_dict()
    del old
    adam = Adam()
    adam.load_state_dict(state)
    for _ in range(2):
        with pytest.raises(wk.ArgumentError, match="loaded state for 'old name' belongs to no va"):
            stepped(adam, v)
        with pytest.raises(wk.ArgumentError, match="'old name' belongs to no variable"):
            adam.minimize(lambda: wk.sum(v * v))
    assert v.tolist() == ONE.tolist()
    later = wk.variable(ONE, name="old name")
    stepped(adam, v)
    stepped(adam, later)
    assert slots(adam, later)[0] == pytest.approx([0.19, 0.19])


def test_names_that_are_counted_are_of_one_process() -> None:
    adam, a, b, fresh = Adam(), wk.variable(ONE), wk.variable(ONE), Adam()
    stepped(adam, a, b)
    fresh.load_state_dict(adam.state_dict())
    assert slots(fresh, b) == slots(adam, b)
    elsewhere = {
        name if "/" not in name else f"variable_1@0123abcd-7/{name.rpartition('/')[2]}": value
        for name, value in adam.state_dict().items()
    }
    older = {name.replace("@0123abcd-7", ""): value for name, value in elsewhere.items()}
    for state in (elsewhere, older):
        with pytest.raises(wk.ArgumentError, match="state for 'variable_1' belongs to no variable"):
            Adam().load_state_dict(state)


def older_file(path: Path, names: dict[str, str]) -> None:
    """Write a file as it was before: Adam's state under the variables' names."""
    state = {"opt/learning_rate": wk.tensor(0.5), "opt/step": wk.tensor(1)}
    sizes = {"model/a": 2, "model/b": 3}
    values = {one: wk.tensor(np.zeros(size, np.float32)) for one, size in sizes.items()}
    for owner, one in names.items():
        moment = np.full(sizes[one], float(len(state)), np.float32)
        state |= {f"opt/{owner}/{slot}": wk.tensor(moment) for slot in "mv"}
    wk.save(path, values | state)


def test_older_files_load_where_it_is_clear_what_they_mean(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def model(**names: str) -> dict[str, Any]:
        a = wk.variable(ONE, name=names.get("a"))
        return {"b": wk.variable(np.ones(3, np.float32), name=names.get("b")), "a": a}

    for called, own in (({"w": "model/a", "b": "model/b"}, {"a": "w", "b": "b"}),
                        ({"variable_7": "model/b", "variable_9": "model/a"}, {}),
                        ({"variable_7": "model/b", "w": "model/a"}, {"a": "w"})):  # fmt: skip
        older_file(path, called)
        into, adam = model(**own), Adam()
        wk.load(path, into={"model": into, "opt": adam})
        order = list(called.values())
        assert slots(adam, into["a"])[0] == [2.0 + 2 * order.index("model/a")] * 2
        assert slots(adam, into["b"])[0] == [2.0 + 2 * order.index("model/b")] * 3
        assert adam.learning_rate.item() == 0.5

    older_file(path, {"variable_7": "model/b", "variable_8": "model/b"})
    into, adam = model(), Adam()
    with pytest.raises(wk.ArgumentError, match="state for 'variable_7' belongs to no variable"):
        wk.load(path, into={"model": into, "opt": adam})
    older_file(path, {"w": "model/a"})
    into = model(a="w", b="w")
    with pytest.raises(wk.ArgumentError, match="has state of 'w' in the file, and 2 variables"):
        wk.load(path, into={"model": into, "opt": adam})
    assert into["a"].tolist() == ONE.tolist()
    assert (adam.step.item(), adam.owners()) == (0, [])


def test_a_failing_load_changes_neither_variables_nor_optimizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, adam, other = wk.variable(ONE), wk.variable(ONE), Adam(), Momentum(0.5, 0.5)
    stepped(adam, a, b)
    stepped(other, a)
    state = {"a": a, "adam": adam, "other": other, "b": b}
    wk.save(tmp_path / "file", state)
    stepped(adam, a, b)
    before = {name: one.tolist() for name, one in adam.state_dict({a: "a", b: "b"}).items()}
    values, fresh = (a.tolist(), b.tolist()), Adam()

    kept, count = wk.Variable.assign, 0

    def assign(self: wk.Variable, value: Any) -> wk.Variable:
        nonlocal count
        count += 1
        if count == allowed:
            raise KeyboardInterrupt
        return kept(self, value)

    monkeypatch.setattr(wk.Variable, "assign", assign)
    for allowed in range(1, 8):
        count = 0
        with pytest.raises(KeyboardInterrupt):
            wk.load(tmp_path / "file", into=state | {"adam": adam if allowed % 2 else fresh,
                                                     "other": other})  # fmt: skip
        now = {name: one.tolist() for name, one in adam.state_dict({a: "a", b: "b"}).items()}
        assert now == before
        assert (a.tolist(), b.tolist(), fresh.owners()) == (*values, [])


def test_variables_that_the_file_has_no_state_of_begin_anew(tmp_path: Path) -> None:
    a, adam = wk.variable(ONE), Adam()
    wk.save(tmp_path / "start", {"a": a, "opt": adam})
    for _ in range(2):
        stepped(adam, a)
        first = a.tolist()
        stepped(adam, a)
        wk.load(tmp_path / "start", into={"a": a, "opt": adam})
        stepped(adam, a)
        assert a.tolist() == first
        wk.load(tmp_path / "start", into={"a": a, "opt": adam})


def test_state_of_a_removed_variable_is_named(tmp_path: Path) -> None:
    a, b, adam = wk.variable(ONE), wk.variable(ONE), Adam()
    stepped(adam, a, b)
    wk.save(tmp_path / "file", {"a": a, "b": b, "opt": adam})
    with pytest.raises(wk.ArgumentError, match="'opt' has state of 'b' in the file, which is no"):
        wk.load(tmp_path / "file", into={"a": a, "opt": Adam()})


def test_an_optimizer_without_slots_needs_no_names(tmp_path: Path) -> None:
    a, sgd, other = wk.variable(ONE), SGD(0.25), SGD(0.5)
    stepped(sgd, a)
    wk.save(tmp_path / "file", sgd)
    wk.load(tmp_path / "file", into=other)
    assert (other.learning_rate.item(), other.step.item()) == (0.25, 1)


def test_slots_go_with_their_variable() -> None:
    adam, sgd = Adam(), SGD(0.1)
    a = wk.variable(ONE)
    stepped(adam, a)
    stepped(sgd, a)
    before = wk.memory().num_tensors
    del a
    assert wk.memory().num_tensors == before - 3
    assert set(adam.state_dict()) == {"learning_rate", "step"}


@BACKENDS
@pytest.mark.parametrize("fusion", ["never", "always"])
def test_a_captured_step_goes_on_from_what_is_loaded_under_it(
    backend: str, fusion: str, tmp_path: Path
) -> None:
    with wk.use_backend(backend), wk.config.using(fusion=fusion):
        w, adam = wk.variable(np.ones((3, 2), np.float32)), Adam(0.1)
        step = wk.capture(lambda x: adam.minimize(lambda: wk.sum((x @ w - 1.0) ** 2.0)))
        rows = [wk.tensor(np.full((4, 3), n + 0.5, np.float32)) for n in range(5)]
        state = {"w": w, "adam": adam}
        for x in rows[:2]:
            step(x)
        wk.save(tmp_path / "file", state)
        for x in rows[2:]:
            step(x)
        expected = w.numpy().tobytes()
        wk.load(tmp_path / "file", into=state)
        assert adam.step.item() == 2
        for x in rows[2:]:
            step(x)
        assert w.numpy().tobytes() == expected
