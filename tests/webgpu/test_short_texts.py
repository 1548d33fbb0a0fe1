"""Texts for few elements, and those behind which many maps come: short, and the same bits."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter import policy
from wgsl_kernels.backends.webgpu.composing.text.structure import (
    After,
    Before,
    Leaf,
    Step,
    Structure,
)
from wgsl_kernels.backends.webgpu.programs import building
from wgsl_kernels.engine.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _fused(follow_rules: Callable[[bool], None]) -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        follow_rules(True)
        yield
    registry.announce_change()


def _maps(x: wk.Tensor) -> wk.Tensor:
    """Return five maps of an array, one of which reads another array."""
    other = wk.tensor(np.linspace(0.5, 2.0, x.size, dtype=np.float32).reshape(x.shape))
    return wk.sqrt(wk.abs(x * other + 0.25)) / 3.0


def _texts(f: Callable[[], wk.Tensor]) -> list[str]:
    return [
        one.dispatch.module.text for one in wk.explain(f).dispatches if one.dispatch is not None
    ]


REDUCTIONS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "rows": lambda x: _maps(wk.sum(x, axis=1)),
    "columns": lambda x: _maps(wk.sum(x, axis=0)),
    "all": lambda x: wk.mean(x),
    "normalization": lambda x: _maps(wk.log_softmax(x)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(37, 10), (130, 36), (5, 530)])
def test_few_elements_are_reduced_to_the_same_bits_by_a_shorter_text(
    name: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = wk.tensor(RNG.standard_normal(shape).astype(np.float32))
    found, lengths = [], []
    for most in (policy.SHORT_REDUCTION, 0):
        monkeypatch.setattr(policy, "SHORT_REDUCTION", most)
        registry.announce_change()
        lengths.append(len("".join(_texts(lambda: REDUCTIONS[name](x)))))
        found.append(REDUCTIONS[name](x).numpy().tobytes())
    assert found[0] == found[1]
    assert lengths[0] < lengths[1]


@pytest.mark.parametrize(("cols", "loops"), [(16, True), (10, False)])  # 10: one by one anyway
def test_many_maps_stand_once_behind_a_product_with_the_same_bits(cols: int, loops: bool) -> None:
    a = wk.tensor(RNG.standard_normal((20, 12)).astype(np.float32))
    b = wk.tensor(RNG.standard_normal((12, cols)).astype(np.float32))
    (text,) = _texts(lambda: _maps(a @ b))
    assert ("for (var n = i; n < end; n++)" in text) == loops
    assert text.count("let wk_v") == 1
    with wk.config.using(fusion="never"):
        expected = _maps(a @ b).numpy()
    np.testing.assert_array_equal(_maps(a @ b).numpy(), expected)


def test_the_text_behind_a_product_is_that_of_its_size_whatever_was_composed_before() -> None:
    b = wk.tensor(RNG.standard_normal((12, 16)).astype(np.float32))
    most = policy.SHORT_TEXT // 16  # rows of a short text; a few more are tiled alike
    few, many = (wk.tensor(np.ones((rows, 12), np.float32)) for rows in (most, most + 4))
    alone = []
    for a in (few, many):
        building._composed.clear()
        registry.announce_change()
        alone.append(_texts(lambda a=a: _maps(a @ b)))  # type: ignore[misc] # a default for each
    assert alone[0] != alone[1]

    building._composed.clear()
    registry.announce_change()
    first = wk.explain(lambda: _maps(few @ b))  # whose text lives as long
    assert _texts(lambda: _maps(many @ b)) == alone[1]
    assert [row.dispatch and row.dispatch.module.text for row in first.dispatches] == alone[0]


_FULL = Structure((), (), (1,), (), vec4=True, few=True)
_OTHER: dict[str, Any] = {
    "steps": (Step(cast("Any", SimpleNamespace(key="Abs")), (~0,)),),
    "leaves": (Leaf("float32", "flat"),),
    "spaces": (2,),
    "outputs": (0,),
    "vec4": False,
    "few": False,
    "name": "other",
    "structure": replace(_FULL, vec4=False),
    "keeps": False,
    "loops": True,
}


@pytest.mark.parametrize("group", [_FULL, Before("x", _FULL), After(_FULL, keeps=True)])
def test_every_field_of_what_is_fused_tells_texts_apart(group: Structure | Before | After) -> None:
    for one in fields(group):
        changed = replace(group, **{one.name: _OTHER[one.name]})
        assert changed.key != group.key, one.name
