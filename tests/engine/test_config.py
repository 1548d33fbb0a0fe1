"""The switches: read, set for the process, or held for a block."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import Config


def test_switches_have_defaults() -> None:
    config = Config()  # as it was before the tests set some

    assert (config.fusion, config.fallback, config.deterministic) == ("auto", "warn", False)
    assert (config.memory_limit, config.check_numerics) == ("auto", False)
    assert config.small_ops == "host"


def test_a_block_holds_a_value_and_puts_the_old_one_back() -> None:
    before = wk.config.fusion
    with wk.config.using(fusion="never"):
        with wk.config.using(fusion="always", deterministic=True):
            assert (wk.config.fusion, wk.config.deterministic) == ("always", True)
        assert (wk.config.fusion, wk.config.deterministic) == ("never", False)
    assert wk.config.fusion == before


def test_a_switch_is_set_for_the_process() -> None:
    before = wk.config.fusion
    wk.config.fusion = "never"
    try:
        assert wk.config.fusion == "never"
    finally:
        wk.config.fusion = before


@pytest.mark.parametrize(
    ("name", "value"),
    [("fusion", "sometimes"), ("fallback", None), ("memory_limit", 0), ("memory_limit", "much")],
)
def test_a_bad_value_is_refused_with_those_allowed(name: str, value: object) -> None:
    with pytest.raises(wk.ArgumentError, match=f"config: {name} is {value!r}; want "):
        setattr(wk.config, name, value)
    with pytest.raises(wk.ArgumentError, match="want "), wk.config.using(**{name: value}):
        pass


def test_an_unknown_switch_is_refused_with_those_known() -> None:
    with pytest.raises(wk.ArgumentError, match="'fussion' is unknown; known: fusion, fallback"):
        wk.config.fussion = "auto"
    with pytest.raises(AttributeError, match="config has no 'fussion'"):
        _ = wk.config.fussion


def test_a_memory_limit_is_held(backend: str) -> None:
    gigantic = np.broadcast_to(np.float32(0), (1 << 20,))
    with (
        wk.config.using(memory_limit=1 << 20),
        pytest.raises(wk.OutOfMemoryError, match=r"asked for 4194304 bytes"),
    ):
        wk.exp(wk.tensor(gigantic))
    assert issubclass(wk.OutOfMemoryError, MemoryError)


def test_check_numerics_names_the_kernel_that_made_a_nan(backend: str) -> None:
    x = wk.tensor([-1.0, 1.0])
    with wk.config.using(check_numerics=True), pytest.raises(wk.NumericsError, match="Sqrt"):
        wk.sqrt(x)


def test_errors_are_also_the_built_in_that_fits() -> None:
    pairs = {
        wk.ShapeError: ValueError,
        wk.ArgumentError: ValueError,
        wk.AlreadyRegistered: ValueError,
        wk.DTypeError: TypeError,
        wk.KernelNotFound: LookupError,
        wk.GradientNotFound: LookupError,
        wk.IndexOutOfRange: IndexError,
        wk.DisposedTensorError: RuntimeError,
        wk.ShaderError: RuntimeError,
        wk.DeviceLostError: RuntimeError,
        wk.OutOfMemoryError: MemoryError,
    }
    for ours, built_in in pairs.items():
        error = ours('it\'s "quoted"\nand goes on')
        assert isinstance(error, built_in)
        assert isinstance(error, wk.WgslKernelsError)
        assert str(error) == 'it\'s "quoted"\nand goes on'


def test_the_environment_sets_the_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGSL_KERNELS_TUNING", "known")
    assert Config().tuning == "known"
    monkeypatch.setenv("WGSL_KERNELS_TUNING", "perhaps")
    config = Config()
    assert "perhaps" in config._repr_html_()
    with config.using(progress="off"):
        switches = config.switches(context.current())
    for ask in (lambda: config.tuning, lambda: switches["tuning"]):
        with pytest.raises(
            wk.ArgumentError,
            match="WGSL_KERNELS_TUNING: 'perhaps' is unknown; want 'auto', 'on', 'known', 'off'",
        ):
            ask()
    config.tuning = "off"
    assert config.tuning == "off"


def in_a_process(code: str, **variables: str) -> tuple[int, str, str]:
    """Run a program with these variables, and return how it ended and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **variables},
    )
    return done.returncode, done.stdout, done.stderr


ON_CPU = """
import wgsl_kernels as wk
with wk.use_backend("cpu"):
    print((wk.ones((64, 64)) @ wk.ones((64, 64))).sum().item())
print(wk.get_backend())
print((wk.ones(3) + 1.0).tolist(), wk.ones(3).backend)
"""


@pytest.mark.gpu
def test_a_wrong_word_for_the_gpu_stops_no_program_on_cpu() -> None:
    for name in ("TUNING", "LIMITS", "ADAPTER"):
        code, said, told = in_a_process(ON_CPU, **{f"WGSL_KERNELS_{name}": "quux"})
        assert (code, said) == (0, "262144.0\ncpu\n[2.0, 2.0, 2.0] cpu\n"), told
        assert told.count("WGSL_KERNELS_ADAPTER: 'quux' is no index") == (name == "ADAPTER")
    asked = "import wgsl_kernels as wk; wk.set_backend('webgpu'); print(wk.ones(3).sum().item())"
    for name, words in (("LIMITS", "'quux' is unknown; want 'adapter'"), ("ADAPTER", "no index")):
        code, _, told = in_a_process(asked, **{f"WGSL_KERNELS_{name}": "quux"})
        assert code == 1
        assert words in told
