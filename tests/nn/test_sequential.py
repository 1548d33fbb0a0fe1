"""Sequences of layers: options, states, parts, what is no part of them, and where errors are."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
_SHARED = wk.nn.dense(3, 2)


class _Options:
    """A layer that takes any keyword."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def __call__(self, x: wk.Tensor, **options: Any) -> wk.Tensor:
        self.given = options
        return x


def test_a_layer_with_any_keyword_gets_the_options() -> None:
    layer, generator = _Options(), wk.random.default_rng(0)
    wk.nn.sequential(wk.relu, layer)(wk.ones(2), train=True, generator=generator)
    assert layer.given == {"train": True, "generator": generator}


def _closed_over() -> Callable[..., Any]:
    layer = wk.nn.dense(3, 2)
    return lambda x: layer(x)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (_closed_over, "layer"),
        (lambda: lambda x: _SHARED(x), "_SHARED"),
        (lambda: partial(lambda layer, x: layer(x), wk.nn.dense(3, 2)), r"args\[0\]"),
        (lambda: lambda x, y=1, layer=_SHARED: layer(x * y), "layer"),
        (lambda: _SHARED.__call__, "__self__"),
        (lambda: wk.checkpoint(wk.nn.dense(3, 2)), "f"),
        (lambda: partial(_closed_over()), "layer"),
    ],
)
def test_layers_that_a_function_hides_are_warned_of(make: Callable[[], Any], name: str) -> None:
    with pytest.warns(UserWarning, match=rf"layers\[1\], .*, reads {name} \(Dense\)"):
        net = wk.nn.sequential(wk.relu, make())
    assert net(wk.ones((4, 3))).shape == (4, 2)


def test_a_layer_that_is_shared_within_is_a_part() -> None:
    table = wk.nn.embedding(5, 3)
    net = wk.nn.sequential(table, wk.relu, lambda x: x @ table.weight.T)  # no warning
    assert net([1, 2]).shape == (2, 5)


@EVERYWHERE
@pytest.mark.parametrize("make", [wk.nn.gru, wk.nn.lstm])
def test_recurrent_layers_stand_among_others(make: Any, backend: str) -> None:
    with wk.use_backend(backend):
        x = wk.random_normal((2, 5, 3))
        outputs, last = make(3, 4, returns="outputs"), make(3, 4, returns="last")
        both = make(3, 4)
        for one in (outputs, last):
            one.input_weight, one.hidden_weight = both.input_weight, both.hidden_weight
        ys, state = both(x)
        h = state[0] if isinstance(state, tuple) else state
        np.testing.assert_array_equal(outputs(x).numpy(), ys.numpy())
        np.testing.assert_array_equal(last(x).numpy(), h.numpy())
        assert wk.nn.sequential(outputs, wk.nn.dense(4, 2))(x).shape == (2, 5, 2)
        assert wk.nn.sequential(wk.nn.dense(3, 3), last)(x).shape == (2, 4)


@EVERYWHERE
@pytest.mark.parametrize("make", [wk.nn.gru, wk.nn.lstm])
def test_recurrent_layers_without_bias_are_those_whose_bias_is_0(make: Any, backend: str) -> None:
    with wk.use_backend(backend):
        x = wk.random_normal((2, 5, 3))
        bare = make(3, 4, bias=False, initializer=wk.nn.constant(0.5))
        full = make(3, 4)
        for name, value in vars(bare).items():
            if isinstance(value, wk.Variable):
                getattr(full, name).assign(value)
        for name, value in vars(full).items():
            if "bias" in name:
                assert getattr(bare, name) is None
                value.assign(wk.zeros(value.shape))
        np.testing.assert_allclose(bare(x)[0].numpy(), full(x)[0].numpy(), rtol=1e-6)
        assert (bare.input_weight == 0.5).all()


@pytest.mark.parametrize(
    ("layers", "note"),
    [
        ((wk.nn.dense(3, 8), wk.relu, wk.nn.dense(9, 2)), r"in layers\[2\] \(Dense\)"),
        ((wk.nn.gru(3, 8), wk.nn.dense(8, 2)), r"in layers\[1\] \(Dense\).*returns=.outputs"),
        ((wk.nn.lstm(3, 8),), r"in layers\[0\] \(LSTM\).*wk.nn.lstm\(inputs, units, returns="),
    ],
)
def test_an_error_says_in_which_layer(layers: tuple[Any, ...], note: str) -> None:
    with pytest.raises(wk.ShapeError) as caught:
        wk.nn.sequential(*layers)(wk.ones((2, 5, 3)))
    assert re.search(note, "".join(caught.value.__notes__))


def test_a_slice_is_a_sequence_of_the_same_layers() -> None:
    net = wk.nn.sequential(wk.nn.dense(3, 8), wk.nn.dropout(0.5), wk.nn.dense(8, 2))
    head = net[:2]
    assert isinstance(head, wk.nn.Sequential)
    assert (len(head), head[0]) == (2, net[0])
    generator = wk.random.default_rng(0)
    assert (head(wk.ones((1, 3)), train=True, generator=generator) == 0).any()
    assert net[-1:][0] is net[2]
