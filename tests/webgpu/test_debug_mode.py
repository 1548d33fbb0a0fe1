"""config.debug: a shader watches itself, and what it does wrong is told at the next read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gpu

FREE = """struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.x_size) {
    y[id.x] = x[id.x + 1u];
  }
}
"""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()
    assert not wk.config.debug
    driver: Any = find_driver("webgpu")
    assert "run" not in vars(driver.open())  # the device


def run(name: str, x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel(name, {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


def test_an_index_out_of_range_names_the_array_the_line_and_the_invocation(tmp_path: Path) -> None:
    file = tmp_path / "shifted.wgsl"
    file.write_text(FREE)
    wk.signature("Shifted")(lambda x, /: x.like())
    wk.wgsl_kernel("Shifted", str(file))
    x = wk.tensor(np.arange(300, dtype=np.float32))
    with wk.use_backend("webgpu"):
        run("Shifted", x).numpy()
        with wk.config.using(debug=True):
            y = run("Shifted", x)
            with pytest.raises(wk.KernelFault) as caught:
                y.numpy()
            assert y.numpy()[0] == 1.0  # told once, and the values are there

    message = str(caught.value).splitlines()
    assert message[0] == f"Shifted: {file}:10:15: x[300] of 300, invocation 299."
    assert message[1:] == ["        y[id.x] = x[id.x + 1u];", "                  ^^^^^^^^^^^^"]
    assert [one.code for one in caught.value.findings] == ["out-of-bounds-read"]


def test_a_shader_prints_with_its_line_and_asserts(capsys: pytest.CaptureFixture[str]) -> None:
    wk.wgsl_kernel(
        "Told",
        "fn op(x: T) -> T {\n  wk_print(x * 2.0);\n  wk_assert(x < 3.0);\n  return x;\n}\n",
    )
    x = wk.tensor([1.5, -4.0])
    with wk.use_backend("webgpu"):
        run("Told", x).numpy()
        assert capsys.readouterr().out == ""
        with wk.config.using(debug=True):
            run("Told", x).numpy()
            told = capsys.readouterr().out
            with pytest.raises(wk.KernelFault, match=r":3:3: wk_assert fails in invocation 1\."):
                run("Told", wk.tensor([1.0, 5.0])).numpy()

    assert sorted(line.rsplit(">", 1)[1] for line in told.splitlines()) == [
        ":2:3: invocation 0: 3",
        ":2:3: invocation 1: -8",
    ]


def test_what_is_printed_beyond_the_log_is_counted_and_hides_no_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wk.wgsl_kernel(
        "Talk", "fn op(x: T) -> T {\n  wk_print(x);\n  wk_assert(x < 998.0);\n  return x;\n}\n"
    )
    x = wk.tensor(np.arange(1000, dtype=np.float32))
    with (
        wk.use_backend("webgpu"),
        wk.config.using(debug=True),
        pytest.raises(wk.KernelFault, match=r"wk_assert fails(.*\n){3}\(At least 1 more"),
    ):
        run("Talk", x).numpy()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 257
    assert lines[-1] == (
        "Talk: 744 numbers more were printed; of a dispatch the first 256 are kept."
    )


@pytest.mark.parametrize("backend", ["webgpu", "simulator"])
def test_a_shader_prints_vectors_and_other_types_with_labels(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wk.wgsl_kernel(
        "Told",
        """fn op(x: T) -> T {
          let v = vec3<f32>(x, x * x, 1.0);
          wk_print(v); // @the powers
          wk_print(vec2<i32>(i32(x), -3));
          wk_print(x > 2.0); // @large
          wk_print(u32(x)); // plain
          return x;
        }""",
        override=True,
    )
    with wk.use_backend(backend), wk.config.using(debug=True):
        run("Told", wk.tensor([1.5, 4.0])).numpy()
    lines = [line.partition(": ")[2].split(":", 3) for line in capsys.readouterr().out.splitlines()]
    told = [(int(line), rest) for _, line, _, rest in lines]

    first = told[0][0]
    assert sorted((line - first, rest) for line, rest in told) == [
        (0, " the powers: invocation 0: (1.5, 2.25, 1)"),
        (0, " the powers: invocation 1: (4, 16, 1)"),
        (1, " invocation 0: (1, -3)"),
        (1, " invocation 1: (4, -3)"),
        (2, " large: invocation 0: false"),
        (2, " large: invocation 1: true"),
        (3, " invocation 0: 1"),
        (3, " invocation 1: 4"),
    ]


def test_the_switch_reaches_captured_steps_and_what_runs_beside_fused_groups() -> None:
    wk.wgsl_kernel("Held", "fn op(x: T) -> T {\n  wk_assert(x < 3.0);\n  return x;\n}\n")

    def step(x: wk.Tensor) -> wk.Tensor:
        return wk.relu(run("Held", x * 2.0))

    fast = wk.capture(step)
    x = wk.tensor([1.0, 7.0])
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        for _ in range(3):
            fast(x).numpy()
        wk.config.debug = True
        try:
            for f in (step, fast):
                with pytest.raises(wk.KernelFault, match=r"^Held: .*:2:3: wk_assert"):
                    f(x).numpy()
        finally:
            wk.config.debug = False
        assert fast(x).tolist() == [2.0, 14.0]
        assert fast.why is None


def test_a_loop_without_end_is_told_in_place_of_wrong_numbers() -> None:
    loop = "while (n > -1.0) {\n    n += 1.0;\n  }"
    text = f"fn op(x: T) -> T {{\n  var n = x;\n  {loop}\n  return n;\n}}\n"
    wk.wgsl_kernel("Runaway", text)
    with (
        wk.use_backend("webgpu"),
        wk.config.using(debug=True),
        pytest.raises(wk.KernelFault, match=r":3:3: invocation 0 runs more than 60000 rounds"),
    ):
        run("Runaway", wk.tensor([1.0])).numpy()


def test_nan_from_finite_numbers_names_the_kernel_the_element_and_the_line() -> None:
    text = "// y = sqrt(x)\nfn op(x: T) -> T {\n  return sqrt(x);\n}\n"
    wk.wgsl_kernel("Rooted", f"{text}// alias f32 = i32, alias T_x = i32, alias T_y = i32\n")

    def step(x: wk.Tensor) -> wk.Tensor:
        return run("Rooted", x * 2.0) + 1.0

    x = wk.tensor([4.0, -1.0, 9.0])
    fast = wk.capture(step)
    for f, fusion in ((step, "never"), (step, "always"), (fast, "auto")):
        with (
            wk.use_backend("webgpu"),
            wk.config.using(fusion=fusion, debug=True),
            pytest.raises(wk.KernelFault, match=r"\[1\] is NaN, and all that") as caught,
        ):
            f(x).numpy()
        message = str(caught.value)
        assert "Rooted" in message.partition(":")[0]
        assert f"Called at {__file__}:" in message
        assert [one.code for one in caught.value.findings] == ["nan-result"]

    wk.cpu_kernel("Rooted")(np.sqrt)
    with (
        np.errstate(all="ignore"),
        wk.use_backend("cpu"),
        wk.config.using(debug=True),
        pytest.raises(wk.NumericsError, match=r"^Rooted: output 0 .* holds nan at \[1\]"),
    ):
        run("Rooted", x)


@pytest.mark.parametrize(
    ("missing", "said"),
    [(3, "word 67 of the result was never written, nor were 2 others. Write every element"),
     (1, "word 69 of the result was never written. Write every element")],
)  # fmt: skip
def test_what_is_never_written_is_told_at_the_read(missing: int, said: str) -> None:
    text = FREE.replace("x[id.x + 1u]", "x[id.x]")
    text = text.replace("params.x_size)", f"params.x_size - {missing}u)")
    wk.signature("Short")(lambda x, /: x.like())
    wk.wgsl_kernel("Short", text)
    x = wk.tensor(np.ones(70, np.float32))
    with wk.use_backend("webgpu"), wk.config.using(debug=True):
        with pytest.raises(wk.KernelFault, match=rf"^Short: .*{said}"):
            run("Short", x).numpy()
        assert (x * np.inf).numpy()[0] == np.inf  # infinities are no fault


def test_right_kernels_say_nothing_and_give_the_same_bits() -> None:
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)

    def step() -> bytes:
        given = wk.tensor(x)
        return bytes(wk.softmax(wk.matmul(given, wk.permute_dims(given))).numpy().tobytes())

    with wk.use_backend("webgpu"):
        plain = step()
        with wk.config.using(debug=True):
            assert step() == plain


HELD = "fn op(x: T) -> T {\n  wk_assert(x < 3.0);\n  return x;\n}\n"


@pytest.mark.parametrize("fusion", ["always", "never"])
def test_what_no_read_of_the_block_has_told_is_told_at_its_end(fusion: str) -> None:
    """Of a dispatch that ran in the block, and of one that would have run behind it."""
    wk.wgsl_kernel("Rooted", "// y = sqrt(x)\nfn op(x: T) -> T {\n  return sqrt(x);\n}\n")
    x = wk.tensor([4.0, -1.0])
    seen: list[wk.Tensor] = []

    def block() -> None:
        with wk.config.using(debug=True):
            seen.append(run("Rooted", x * 1.0) + 1.0)

    with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
        with pytest.raises(wk.KernelFault, match=r"\[1\] is NaN, and all that"):
            block()
        assert seen[0].tolist()[0] == 3.0

        wk.config.debug = True
        z = run("Rooted", x)
        with pytest.raises(wk.KernelFault, match="Rooted"):
            wk.config.debug = False
        assert not wk.config.debug
        assert z.tolist()[0] == 2.0


def test_a_block_that_raises_has_the_fault_as_a_note() -> None:
    wk.wgsl_kernel("Held", "fn op(x: T) -> T {\n  wk_assert(x < 3.0);\n  return x;\n}\n")

    def block() -> None:
        with wk.use_backend("webgpu"), wk.config.using(debug=True):
            run("Held", wk.tensor([7.0]))
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        block()

    (note,) = caught.value.__notes__
    assert note.startswith("KernelFault: Held: ")


def test_halves_that_a_later_dispatch_writes_are_no_nan() -> None:
    if not find_driver("webgpu").supports("float16"):
        return
    x = np.arange(6, dtype=np.float16)
    with wk.use_backend("webgpu"), wk.config.using(debug=True):
        found = wk.concat([wk.tensor(x[:1]), wk.tensor(x[1:3]), wk.tensor(x[3:])]).numpy()
        with pytest.raises(wk.KernelFault, match=r"y\[0\] is NaN"):
            wk.sqrt(wk.tensor(np.array([-1.0, 2.0], np.float16))).numpy()
    np.testing.assert_array_equal(found, x)
