"""The shaders that the pages and the examples show serve every float dtype of the device."""

import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / "docs" / "linking.md"  # shows modules for wk.link, not kernels
PRODUCTS = ROOT / "docs" / "products.md"
FILES = [
    ROOT / "README.md",
    *sorted(set((ROOT / "docs").glob("*.md")) - {MODULES, PRODUCTS}),
    *sorted((ROOT / "examples").rglob("*.py")),
]
QUOTED = re.compile(r'"""\n(.*?)"""', re.DOTALL)
FENCED = re.compile(r"^```wgsl\n(.*?)^```", re.MULTILINE | re.DOTALL)
FORMS: dict[str, Any] = {"up to k": "scan", "over the window": "window"}

pytestmark = pytest.mark.gpu


def shaders(files: Iterable[Path] = FILES) -> Iterator[Any]:
    """Yield the shaders of each file that define a kernel."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = FENCED.findall(text) + QUOTED.findall(text)
        defining = [one for one in found if re.search(r"^fn |^@compute", one, re.MULTILINE)]
        for number, shader in enumerate(defining):
            yield pytest.param(shader, id=f"{file.stem}-{number}")


def arrays_for(shader: str) -> dict[str, Any]:
    """Return float64 values for what the shader reads, by name."""
    op = re.search(r"^fn op\((.*?)\) ->", shader, re.MULTILINE)
    bound = re.findall(r"var<storage, read> (\w+)", shader)
    names = [one.split(":")[0].strip() for one in op[1].split(",")] if op else bound or ["x"]
    shape = (1, 4, 4, 2) if "window" in shader else (4, 6)
    draw = np.random.default_rng(0)
    return {name: draw.uniform(0.5, 2.0, shape) for name in names}


def attrs_for(shader: str) -> dict[str, Any]:
    """Return a number for each attribute that the shader names, and those of its form."""
    struct = re.search(r"struct Attrs \{(.*?)\}", shader)
    attrs: dict[str, Any] = dict.fromkeys(re.findall(r"(\w+):", struct[1]) if struct else [], 1.5)
    if "window" in shader:
        return attrs | {"filter_size": 2}
    return attrs | ({"axis": 1} if "fn combine" in shader else {})


@pytest.mark.parametrize("shader", list(shaders()))
def test_a_shader_shown_gives_the_same_for_each_float_dtype(shader: str) -> None:
    form = next((form for words, form in FORMS.items() if words in shader), None)
    outputs = re.findall(r"var<storage, read_write> (\w+)", shader)
    arrays, attrs = arrays_for(shader), attrs_for(shader)

    def shapes(x: wk.Spec, /, *, axis: int = 1, rate: float = 0.2) -> Any:
        rows = x.like(shape=x.shape[:axis])
        if outputs:
            return dict.fromkeys(outputs, rows) if outputs[1:] else x.like(shape=x.shape[::-1])
        return x if "fn apply" in shader else rows

    if outputs or (form is None and "fn combine" in shader):
        wk.signature("Shown")(shapes)
    is_chosen = "@tune" in shader  # by a function with full control, which this does without
    warned = pytest.warns(RuntimeWarning, match="nothing chooses") if is_chosen else nullcontext()
    with warned:
        wk.wgsl_kernel("Shown", shader, form=form)
    results = {}
    for dtype in float_dtypes():
        found = run_shown(arrays, dtype, attrs)
        results[dtype] = list(found if outputs[1:] else [found])
    hold_alike(results)


def float_dtypes() -> list[str]:
    """Return the float dtypes that the device has."""
    with wk.use_backend("webgpu"):
        supports = wk.tensor([0.0])._driver.supports
    return [dtype for dtype in ("float32", "float16") if supports(dtype)]


def run_shown(arrays: dict[str, Any], dtype: Any, attrs: dict[str, Any] | None = None) -> Any:
    """Return what the kernel gives for ``arrays``, those of floats in ``dtype``, on the host."""
    with wk.use_backend("webgpu"):
        given = {
            name: wk.tensor(x, dtype=dtype if x.dtype.kind == "f" else "int32")
            for name, x in arrays.items()
        }
        found = wk.engine().run_kernel("Shown", given, attrs)
        return found.numpy() if isinstance(found, wk.Tensor) else [y.numpy() for y in found]


def hold_alike(results: dict[str, list[Any]]) -> None:
    """Hold the results of each dtype against those in float32."""
    assert all(y.dtype == dtype for dtype, ys in results.items() for y in ys)
    for ys in results.values():
        for y, want in zip(ys, results["float32"], strict=True):
            np.testing.assert_allclose(y, want, rtol=2e-2, atol=2e-2)


def int8_rows(x: wk.Spec, weights: wk.Spec, scale: wk.Spec, /) -> wk.Spec:
    return x.like(shape=(x.shape[0], scale.shape[0]))


def distances(x: wk.Spec, c: wk.Spec, /) -> wk.Spec:
    return x.like(shape=(x.shape[0], c.shape[0]))


def scores(q: wk.Spec, keys: wk.Spec, /) -> wk.Spec:
    return q.like(shape=(*q.shape[:-1], keys.shape[-2]))


PRODUCTS_SHOWN: dict[str, tuple[Any, dict[str, tuple[int, ...]]]] = {
    "weights[": (int8_rows, {"x": (5, 8), "weights": (12, 2), "scale": (12,)}),
    "c[": (distances, {"x": (5, 8), "c": (12, 8)}),
    "keys[": (scores, {"q": (2, 5, 8), "keys": (2, 12, 8)}),
}
"""The signature and the inputs' shapes of each product that is shown, by what its shader has."""


@pytest.mark.parametrize("shader", list(shaders([PRODUCTS])))
def test_a_product_shown_gives_the_same_for_each_float_dtype(shader: str) -> None:
    rule, shapes = next(one for words, one in PRODUCTS_SHOWN.items() if words in shader)
    draw = np.random.default_rng(0)
    arrays: dict[str, Any] = {name: draw.uniform(0.5, 2.0, shape) for name, shape in shapes.items()}
    if "weights" in arrays:
        arrays["weights"] = draw.integers(1, 128, (12, 8), dtype=np.int8).view(np.int32)

    def fields() -> dict[str, float]:
        scale = {"scale": 0.5} if "params.scale" in shader else {}
        return {"depth": 8, **scale}

    wk.signature("Shown")(rule)
    wk.wgsl_kernel("Shown", shader, form="product", params=fields)
    hold_alike({dtype: [run_shown(arrays, dtype)] for dtype in float_dtypes()})
