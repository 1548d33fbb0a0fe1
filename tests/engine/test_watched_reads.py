"""What Python reads under a tape: implicit readings warn, and errors name the lines of all."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS = "a tape watches this tensor, and its gradient ends here"


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("read", [np.asarray, np.array, np.from_dlpack], ids=lambda f: f.__name__)
def test_an_implicit_reading_of_what_a_tape_watches_warns(read: Callable[[Any], Any]) -> None:
    v = wk.variable([1.0, 2.0])
    for x in (v, v * 2.0):
        read(x)
        with wk.GradientTape() as tape:
            tape.watch(x)
            with pytest.warns(RuntimeWarning, match=ENDS) as seen:
                read(x)
            read(wk.stop_gradient(x))
            read(x > 0.0)
        assert seen[0].filename == __file__


@pytest.mark.usefixtures("backend")
def test_it_warns_once_per_line() -> None:
    def loss(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(x) + float(np.asarray(x).sum())

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            wk.grad(loss)(wk.tensor([1.0, 2.0]))
    assert len(seen) == 1


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    "read",
    [float, wk.Tensor.item, wk.Tensor.numpy, wk.Tensor.tolist, bool, repr, "{:.2f}".format, list],
)
def test_explicit_readings_and_display_are_silent(read: Callable[[Any], Any]) -> None:
    v = wk.variable([3.0])
    assert wk.variable_grads(lambda: (read(v), wk.sum(v * v))[1])[1][v].tolist() == [6.0]


def test_numpys_questions_about_watched_tensors_are_no_end_of_a_gradient() -> None:
    v = wk.variable([1.0, 2.0])
    with warnings.catch_warnings(), wk.config.using(fallback="silent"):
        warnings.simplefilter("error")

        def loss() -> wk.Tensor:
            assert np.allclose(v, [1.0, 2.0])
            return wk.sum(v)

        assert wk.variable_grads(loss)[1][v].tolist() == [1.0, 1.0]
    with (
        wk.config.using(fallback="silent"),
        wk.GradientTape(),
        pytest.warns(RuntimeWarning, match=f"np.nanmedian: {ENDS}"),
    ):
        np.nanmedian(v)


@pytest.mark.usefixtures("backend")
def test_minimize_names_the_lines_at_which_watched_values_were_read() -> None:
    v = wk.variable([1.0, 2.0])
    line = test_minimize_names_the_lines_at_which_watched_values_were_read.__code__.co_firstlineno
    adam = wk.train.Adam(0.1)

    def loss() -> wk.Tensor:
        return wk.tensor(float(v[0]) * 2.0)

    for variables in (None, [v]):
        with pytest.raises(wk.GradientNotFound, match=f"were read at .*:{line + 7}: no gradient"):
            adam.minimize(loss, variables)
