"""Saving functions as models of ONNX: what they give elsewhere and here, what is refused."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from tests.from_onnx.graphs import peer

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.registry import kernel_names
from wgsl_kernels.onnx.rules.table import COMPOSED, CONSTANT, RULES
from wgsl_kernels.onnx.rules.table import UNSAID as REASONS
from wgsl_kernels.onnx.rules.writer import OPSET, ModelWriter
from wgsl_kernels.onnx.saving.varying import GraphFormat, write_function
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.testing import Sample

VERSIONS = (21, 13, 25)
"""Of ONNX's operators, which samples take in turn."""
UNSAID = {"complex64", "complex128", "float16", "int8", "string", "uint8"}
"""Dtypes of which ONNX Runtime lacks many operators on the CPU."""


@functools.cache
def samples_by_kernel() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for one in all_samples():
        found.setdefault(one.kernel, []).append(one)
    return found


def _written(kernel: str) -> Iterator[tuple[Sample, dict[str, Any]]]:
    """Yield samples of a kernel whose inputs have dtypes that the peer has, and these."""
    for sample in samples_by_kernel()[kernel]:
        arrays = {f"x{i}": array for i, array in enumerate(arrays_for(sample))}
        if not UNSAID & {str(array.dtype) for array in arrays.values()}:
            yield sample, arrays


def called(sample: Sample, /, **given: Any) -> Any:
    return sample.f(*given.values(), **sample.attrs)


@pytest.mark.parametrize("kernel", sorted({*RULES, *COMPOSED}))
def test_a_kernel_gives_in_onnx_runtime_what_it_gives_here(kernel: str, tmp_path: Path) -> None:
    said = 0
    for number, (sample, arrays) in enumerate(itertools.islice(_written(kernel), len(VERSIONS))):
        opset = VERSIONS[number]
        f = functools.partial(called, sample)
        file = tmp_path / f"{number}.onnx"
        with wk.use_backend("cpu"):
            want = f(**{name: wk.tensor(a) for name, a in arrays.items()})
            with contextlib.suppress(wk.ArgumentError):  # of this dtype, or with this attribute
                wk.onnx.save(f, file, arrays, opset=opset)
            if not file.exists():
                continue
            again = wk.onnx.load(file).numpy(**arrays)
        wants = [want] if isinstance(want, wk.Tensor) else list(want)
        for here, there, back in zip(wants, peer(file, arrays), again, strict=True):
            assert there.dtype == here.numpy().dtype
            near = 2e-6 * max(1.0, float(np.abs(here.numpy()).max(initial=0)))
            np.testing.assert_allclose(there, here.numpy(), rtol=2e-5, atol=near)
            np.testing.assert_allclose(back, here.numpy(), rtol=2e-5, atol=near)
        said += 1
    assert said


def test_every_kernel_is_said_or_there_is_a_reason() -> None:
    """A new kernel gets a rule, or a row in the table of reasons."""
    named = [*RULES, *COMPOSED, *CONSTANT, *REASONS]
    assert len(named) == len(set(named))
    missing = set(kernel_names()) & samples_by_kernel().keys() - set(named)
    assert missing == set(), "give it a rule, or a reason in onnx/rules/table.py"


def test_the_table_of_the_docs_has_operators_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "_ext")
    rows: Any = importlib.import_module("saved_kernels").saved_kernel_rows()
    said = {kernel: written for kernel, *written in rows}

    assert {kernel for kernel, (in_onnx, _) in said.items() if in_onnx.startswith("no: ")} == (
        REASONS.keys() & said.keys()
    )
    assert said["Conv2D"] == ["Transpose, Conv", "Conv2D"]
    assert said["Erfc"] == ["no: functions without an operator"] * 2
    within = {kernel for kernel, written in said.items() if "only within a model" in written}
    assert within == set()


@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_a_query_that_may_attend_to_no_key_gives_zeros(kind: str, tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
    allowed = np.array([[True, False, True], [False] * 3, [True] * 3])
    mask = allowed if kind == "bool" else np.where(allowed, 0, -np.inf).astype(np.float32)

    def f(x: wk.Tensor, mask: wk.Tensor) -> wk.Tensor:
        return wk.scaled_dot_product_attention(x, x, x, mask=mask)

    wk.onnx.save(f, tmp_path / "f.onnx", {"x": x, "mask": mask})
    (found,) = peer(tmp_path / "f.onnx", {"x": x, "mask": mask})
    np.testing.assert_allclose(found, f(wk.tensor(x), wk.tensor(mask)).numpy(), atol=2e-6)
    assert not found[:, 1].any()


def test_a_gradient_is_that_of_other_inputs_too(tmp_path: Path) -> None:
    """A tape keeps tensors under other objects: they still depend on the inputs."""
    w = wk.variable(np.random.default_rng(1).standard_normal((5, 5)).astype(np.float32))

    def f(x: wk.Tensor) -> Any:
        return wk.grads(lambda a: wk.sum(wk.relu(wk.matmul(a, w)) ** 2))(x)

    x = np.random.default_rng(2).standard_normal((2, 3, 5)).astype(np.float32)
    wk.onnx.save(f, tmp_path / "f.onnx", {"x": x})
    (found,) = peer(tmp_path / "f.onnx", {"x": x + 1})
    want = f(wk.tensor(x + 1))
    want = want if isinstance(want, wk.Tensor) else want[0]
    np.testing.assert_allclose(found, want.numpy(), rtol=1e-5, atol=1e-5)


def test_a_network_of_layers_is_saved_with_its_weights(tmp_path: Path) -> None:
    wk.random.seed(0)
    net = wk.nn.sequential(
        wk.nn.conv(3, 8, 3, pad="same"),
        wk.nn.batch_norm(8),
        wk.relu,
        lambda x: x.mean((1, 2)),
        wk.nn.dense(8, 4),
    )
    x = np.random.default_rng(0).standard_normal((2, 10, 10, 3)).astype(np.float32)
    wk.onnx.save(lambda images: {"logits": net(images)}, tmp_path / "net.onnx", {"images": x})
    want = net(x).numpy()

    np.testing.assert_allclose(
        peer(tmp_path / "net.onnx", {"images": x})[0], want, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        wk.onnx.load(tmp_path / "net.onnx")(x).numpy(), want, rtol=1e-5, atol=1e-6
    )
    assert [one.name for one in onnx.load(tmp_path / "net.onnx").graph.output] == ["logits"]


@pytest.mark.parametrize(
    ("f", "outputs"),
    [
        (lambda y: y * 3.0, ["y_"]),
        (lambda y0: (y0 * 3.0, y0 - 1.0), ["y0_", "y1"]),
        (lambda c0: wk.sin(c0) * 3.0, ["y"]),
        (lambda v0_0: wk.sin(v0_0) * 3.0, ["y"]),
        (lambda x: {"c0": wk.sin(x) * 3.0, "v0_0": x - 1.0, "v1_0": x}, ["c0", "v0_0", "v1_0"]),
    ],
)
def test_names_of_the_callers_meet_none_of_ours(f: Any, outputs: list[str], tmp_path: Path) -> None:
    (name,) = inspect.signature(f).parameters
    x = np.array([0.5, -2.0], np.float32)
    wk.onnx.save(f, tmp_path / "f.onnx", {name: x})
    found = f(wk.tensor(x))
    if isinstance(found, wk.Tensor):
        found = [found]
    wants = found.values() if isinstance(found, dict) else found

    assert [one.name for one in onnx.load(tmp_path / "f.onnx").graph.output] == outputs
    again = wk.onnx.load(tmp_path / "f.onnx").numpy(**{name: x})
    for want, there, here in zip(wants, peer(tmp_path / "f.onnx", {name: x}), again, strict=True):
        np.testing.assert_allclose(there, want.numpy(), rtol=1e-6)
        np.testing.assert_allclose(here, want.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["x", "", 1])
def test_an_output_needs_a_name_of_its_own(name: Any, tmp_path: Path) -> None:
    with pytest.raises(wk.ArgumentError, match=f"an output is called {name!r}; want a name"):
        wk.onnx.save(lambda x: {name: x * 2.0}, tmp_path / "f.onnx", {"x": np.ones(2, np.float32)})
    with pytest.raises(wk.ArgumentError, match=r"f gave \{\}; want a tensor at least"):
        wk.onnx.save(lambda x: {}, tmp_path / "f.onnx", {"x": np.ones(2, np.float32)})


def test_what_cannot_be_said_is_named_with_its_lines_before_anything_is_written(
    tmp_path: Path,
) -> None:
    def f(x: Any) -> Any:
        return wk.digamma(wk.nextafter(x, 0.0))

    with pytest.raises(wk.ArgumentError, match=r"NextAfter at .*test_save\.py:\d+; .* Write these"):
        wk.onnx.save(f, tmp_path / "f.onnx", {"x": np.ones(3, np.float32)})
    with pytest.raises(wk.ArgumentError, match="output 'y' is a float; want a tensor"):
        wk.onnx.save(lambda x: 1.0, tmp_path / "f.onnx", {"x": np.ones(3, np.float32)})
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_a_rule_does_not_read_is_refused() -> None:
    """A kernel that gets an attribute is not saved without it, until its rule knows it."""

    def rule(w: ModelWriter, xs: Any, attrs: Any, ys: Any) -> list[str]:
        return [w.emit("ReduceSum", [w.name(xs[0])], keepdims=0)]

    write = functools.partial(ModelWriter, opset=OPSET)
    target = GraphFormat("save", "ONNX", write, {"Sum": rule}, {})
    x = {"x": np.ones(3, np.float32)}
    write_function(target, wk.sum, x, None)
    with pytest.raises(wk.ArgumentError, match="no ONNX rule for Sum with keep_dims=True at "):
        write_function(target, lambda x: wk.sum(x, keepdims=True), x, None)


WRITERS: dict[str, Callable[..., Any]] = {
    "save": lambda f, folder, inputs: wk.onnx.save(f, folder / "f.onnx", inputs),
    "save_graph_model": wk.tfjs.save_graph_model,
    "export": wk.web.export,
}


@pytest.mark.parametrize("caller", WRITERS)
def test_examples_are_refused_that_a_function_does_not_take(caller: str, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    dense = wk.nn.dense(3, 2)
    for f, inputs, said in (
        (dense, x, r"inputs is a ndarray; want examples by name: \{\"x\": x\}"),
        (dense, [x], r"inputs is a list; want examples by name"),
        (dense, {"image": x}, r"f is called with image by name: .*'x'"),
        (lambda a, b: a + b, {"a": x}, r"f is called with a by name: .*'b'"),
        (dense, {0: x}, r"f is called with 0 by name: keywords must be strings"),
        (x, {"x": x}, r"f is .*; want a function"),
    ):
        with pytest.raises(wk.ArgumentError, match=f"^{caller}: {said}"):
            WRITERS[caller](f, tmp_path, inputs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("caller", ["save", "save_graph_model"])
def test_an_example_that_is_a_tree_is_refused_with_what_to_do(caller: str, tmp_path: Path) -> None:
    layer = wk.nn.multi_head_attention(4, 2)
    cache = layer.make_cache(batch=1, length=3)
    x = np.ones((1, 1, 4), np.float32)

    def decoded(x: Any, cache: Any) -> Any:
        found, after = layer(x, cache=cache)
        return {"found": found, "keys_after": after.keys, "values_after": after.values}

    words = f"^{caller}: the example 'cache' is a KeyValueCache; .* make the tree in f"
    with pytest.raises(wk.DTypeError, match=words):
        WRITERS[caller](decoded, tmp_path, {"x": x, "cache": cache})
    assert list(tmp_path.iterdir()) == []

    def step(x: Any, keys: Any, values: Any, position: Any) -> Any:
        return decoded(x, type(cache)(keys, values, position))

    parts = {"keys": cache.keys, "values": cache.values, "position": cache.position}
    wk.onnx.save(step, tmp_path / "f.onnx", {"x": x, **parts})
    given = {"x": x, **{name: one.numpy() for name, one in parts.items()}}
    np.testing.assert_allclose(
        peer(tmp_path / "f.onnx", given)[0], decoded(x, cache)["found"].numpy(), atol=1e-6
    )


def test_weights_keep_the_names_of_variables(tmp_path: Path) -> None:
    x = np.random.default_rng(2).normal(size=(2, 4)).astype(np.float32)
    first = wk.variable(np.ones((4, 3)), name="c1", dtype="float32")
    second = wk.variable(np.ones((3, 3)), name="block:0/w", dtype="float32")
    third = wk.variable(np.ones(3), name="x", dtype="float32")
    unnamed = wk.variable(np.ones(3), dtype="float32")

    def f(x: Any) -> Any:
        return (wk.relu(x @ first + unnamed) @ second.T + third) @ second + unnamed * third

    named = {"c1", "block_0/w", "x_"}
    wk.onnx.save(f, tmp_path / "f.onnx", {"x": x}, dynamic_axes={"x": {0: "n"}})
    net = wk.onnx.load(tmp_path / "f.onnx", trainable=True)
    assert named < set(net.parameters)
    np.testing.assert_allclose(net(x).numpy(), f(wk.tensor(x)).numpy(), rtol=1e-5)

    wk.onnx.save(net, tmp_path / "again.onnx", {"x": x})
    again = wk.onnx.load(tmp_path / "again.onnx", trainable=True)
    assert set(again.parameters) == set(net.parameters)
    wk.tfjs.save_graph_model(f, tmp_path / "tfjs", {"x": x})
    there = wk.tfjs.load_graph_model(tmp_path / "tfjs" / "model.json", trainable=True)
    assert named < set(there.parameters)


@pytest.mark.parametrize("caller", ["save", "save_graph_model"])
def test_what_a_function_assigns_is_as_before_and_what_it_draws_is_refused(
    caller: str, tmp_path: Path
) -> None:
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    norm, drop = wk.nn.batch_norm(3), wk.nn.dropout(0.5)
    seen = wk.variable(0.0, name="seen")
    start = [norm.mean.tolist(), norm.variance.tolist(), wk.random.key.tolist(), seen.item()]

    def f(x: Any) -> Any:
        seen.assign_add(1.0)
        return norm(x, train=True) * seen

    def noisy(x: Any) -> Any:
        weight = wk.random_normal((3,))
        return f(x) * (weight + 1.0)

    WRITERS[caller](f, tmp_path, {"x": x})
    for drawing, kernel in (
        (lambda x: drop(f(x), train=True), "RandomUniform"),
        (noisy, "RandomNormal"),
    ):
        words = (
            rf"{caller}: f draws random numbers, at .*test_save\.py:\d+ \({kernel}\): .*train=False"
        )
        with pytest.raises(wk.ArgumentError, match=words):
            WRITERS[caller](drawing, tmp_path, {"x": x})
    now = [norm.mean.tolist(), norm.variance.tolist(), wk.random.key.tolist(), seen.item()]
    assert now == start


def test_what_f_draws_to_no_end_is_none_of_the_models(tmp_path: Path) -> None:
    key = wk.random.key.tolist()

    def f(x: Any) -> Any:
        wk.random_uniform((2,))
        return x + 1.0

    wk.onnx.save(f, tmp_path / "f.onnx", {"x": np.ones(2, np.float32)})
    assert wk.onnx.load(tmp_path / "f.onnx")([1.0, 2.0]).tolist() == [2.0, 3.0]
    assert wk.random.key.tolist() == key


def test_powers_of_integers_are_written_as_onnx_has_them(tmp_path: Path) -> None:
    given = {"i": np.array([3, -4, 0, 1], np.int32), "n": np.array([4, 3, 2, 0], np.int32)}
    wk.onnx.save(lambda i, n: {"y": i**n, "z": i**2}, tmp_path / "f.onnx", given)
    found = peer(str(tmp_path / "f.onnx"), given)

    assert [one.tolist() for one in found] == [[81, -64, 0, 1], [9, 16, 0, 1]]
