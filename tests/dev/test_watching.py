"""wk.dev.watch: a running program sees an edited shader at once, and never a broken one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import watchfiles

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


def scaled_by(number: float) -> str:
    return f"fn op(x: T) -> T {{\n  return x * T({number});\n}}\n"


def until(holds: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_a_loop_sees_an_edit_at_the_next_call_and_a_broken_one_never(tmp_path: Path) -> None:
    file = tmp_path / "scaled.wgsl"
    file.write_text(scaled_by(2.0))
    wk.signature("Scaled")(lambda x, /: x.like())
    wk.wgsl_kernel("Scaled", str(file))
    step = wk.capture(lambda x: wk.relu(wk.engine().run_kernel("Scaled", {"x": x}) + 1.0))
    said: list[str] = []
    x = wk.tensor(np.ones(5, np.float32))

    with wk.use_backend("webgpu"), wk.dev.watch(tmp_path, say=said.append) as watching:
        found = [step(x).numpy()[0] for _ in range(3)]
        assert found == [3.0] * 3
        file.write_text(scaled_by(5.0))
        assert until(lambda: step(x).numpy()[0] == 6.0)

        for broken, code in (("x * nowhere", "unknown-name"), ("x * 2u", "wrong-type")):
            said.clear()
            file.write_text(scaled_by(5.0).replace("x * T(5.0)", broken))
            assert until(lambda: len(said) >= 2)
            assert said[0].startswith(f"error[{code}] {file}:2:")
            assert said[1] == "wgsl-kernels: the last good Scaled runs on"
            assert step(x).numpy()[0] == 6.0
            assert "Scaled" in watching.broken

        file.write_text(scaled_by(7.0))
        assert until(lambda: step(x).numpy()[0] == 8.0)
        assert watching.broken == {}
    file.write_text(scaled_by(9.0))
    assert watching.look() == ["Scaled"]
    with wk.use_backend("webgpu"):
        assert step(x).numpy()[0] == 10.0


def test_what_is_saved_while_the_watch_begins_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "early.wgsl"
    file.write_text(scaled_by(2.0))
    wk.signature("Early")(lambda x, /: x.like())
    wk.wgsl_kernel("Early", str(file))
    x = wk.tensor(np.ones(5, np.float32))
    begin = watchfiles.watch
    begun: list[None] = []

    def edited_first(*folders: Any, **options: Any) -> Any:
        def changes() -> Any:
            file.write_text(scaled_by(5.0))
            begun.append(None)
            yield from begin(*folders, **options)

        return changes()

    monkeypatch.setattr(watchfiles, "watch", edited_first)

    def result() -> float:
        return float(wk.engine().run_kernel("Early", {"x": x}).numpy()[0])

    with wk.use_backend("webgpu"):
        assert result() == 2.0
        with wk.dev.watch(tmp_path, say=lambda _: None):
            assert until(lambda: bool(begun))
            assert until(lambda: result() == 5.0)


def test_a_kernel_that_did_not_run_yet_is_read(tmp_path: Path) -> None:
    file = tmp_path / "unrun.wgsl"
    file.write_text(scaled_by(2.0))
    wk.wgsl_kernel("Unrun", str(file))
    assert wk.get_kernel("Unrun", "webgpu").func.names() == ("x",)  # type: ignore[union-attr]  # it is there
    said: list[str] = []
    watching = wk.dev.Watching(say=said.append)

    file.write_text("fn op(x: T -> T { return x; }\n")
    assert watching.look() == []
    assert "want ',' or ')', found '->'" in said[0]
    file.write_text(scaled_by(2.0))
    assert watching.look() == []
    assert said[-1] == "wgsl-kernels: Unrun is as it was"
