"""Averages of models, rates that fall on a plateau, and how optimizers print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@EVERYWHERE
@pytest.mark.parametrize("captured", [False, True])
def test_an_average_follows_the_model(captured: bool, backend: str, tmp_path: Path) -> None:
    with wk.use_backend(backend):
        model = {"w": wk.variable([1.0, 2.0]), "n": wk.variable(3, trainable=False)}
        average = wk.train.ExponentialMovingAverage(model, decay=0.75)

        def step(x: wk.Tensor) -> wk.Tensor:
            model["w"].assign(model["w"] + x)
            model["n"].assign(model["n"] + 1)
            average.update(model)
            return x

        run = wk.capture(step) if captured else step
        w = mean = np.array([1.0, 2.0])
        for k in range(4):
            run(wk.tensor([0.5 * k, 1.0]))
            w = w + np.array([0.5 * k, 1.0])
            mean = 0.75 * mean + 0.25 * w
        np.testing.assert_allclose(average.model["w"].numpy(), mean, rtol=1e-6)
        np.testing.assert_allclose(model["w"].numpy(), w, rtol=1e-6)
        assert average.model["n"].item() == 7
        wk.save(tmp_path / "average.safetensors", average)
        assert set(wk.load(tmp_path / "average.safetensors")) == {"model/w", "model/n"}


def test_an_average_refuses_another_model() -> None:
    average = wk.train.ExponentialMovingAverage([wk.variable([1.0])])
    with pytest.raises(wk.ArgumentError, match="other variables"):
        average.update([wk.variable([1.0, 2.0])])
    with pytest.raises(wk.ArgumentError, match="no variables"):
        wk.train.ExponentialMovingAverage({"a": 1})
    with pytest.raises(wk.ArgumentError, match=r"decay is 1; want a number in \[0"):
        wk.train.ExponentialMovingAverage([wk.variable([1.0])], decay=1)


def test_a_rate_falls_where_losses_do_not() -> None:
    sgd = wk.train.SGD(1.0)
    plateau = wk.train.ReduceLROnPlateau(sgd, factor=0.5, patience=2, min_delta=0.01, min_rate=0.3)
    losses: list[Any] = [
        5.0,
        4.0,
        3.99,
        3.98,
        float("nan"),
        1.0,
        1.0,
        1.0,
        wk.tensor(1.0),
        1.0,
        1.0,
        1.0,
    ]
    fell = [plateau.after(loss) for loss in losses]
    assert [n for n, one in enumerate(fell) if one] == [4, 8]
    assert sgd.learning_rate.item() == pytest.approx(0.3)  # where it stays
    assert "best=1" in repr(plateau)


@EVERYWHERE
def test_a_plateau_goes_on_from_a_file_as_it_would_have(tmp_path: Path, backend: str) -> None:
    def program() -> dict[str, Any]:
        sgd = wk.train.SGD(1.0)
        plateau = wk.train.ReduceLROnPlateau(sgd, factor=0.5, patience=1, min_delta=0.0)
        return {"sgd": sgd, "plateau": plateau}

    with wk.use_backend(backend):
        first, second = program(), program()
        assert not any(first["plateau"].after(loss) for loss in (1 / 3, 2.0))
        wk.save(tmp_path / "run.safetensors", first)
        second["plateau"].after(-1.0)
        wk.load(tmp_path / "run.safetensors", into=second)
        assert (second["plateau"].best, second["plateau"].bad) == (1 / 3, 1)
        assert [one["plateau"].after(1 / 3) for one in (first, second)] == [True, True]
        assert second["sgd"].learning_rate.item() == 0.5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"factor": 1.0}, r"factor is 1.0; want a number in \[0, 1\)"),
        ({"factor": 0}, "factor is 0"),
        ({"patience": -1}, "patience is -1"),
        ({"min_delta": -1.0}, "min_delta is -1.0"),
    ],
)
def test_what_is_no_plateau_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(wk.ArgumentError, match=expected):
        wk.train.ReduceLROnPlateau(wk.train.SGD(1.0), **options)


def test_a_schedule_is_not_lowered_by_hand() -> None:
    adam = wk.train.Adam(wk.train.CosineDecay(0.1, steps=9))
    plateau = wk.train.ReduceLROnPlateau(adam, patience=0)
    plateau.after(1.0)
    with pytest.raises(wk.ArgumentError, match="follows a schedule"):
        plateau.after(1.0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: wk.train.SGD(0.1), "SGD(learning_rate=0.1, step=0)"),
        (
            lambda: wk.train.Adam(),
            "Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-07, step=0)",
        ),
        (
            lambda: wk.train.Momentum(wk.train.CosineDecay(0.1, steps=9), 0.5),
            "Momentum(learning_rate=CosineDecay(initial=0.1, steps=9, final=0.0), momentum=0.5, "
            "use_nesterov=False, step=0)",
        ),
    ],
)
def test_optimizers_print_what_they_are(make: Callable[[], Any], text: str) -> None:
    assert repr(make()) == text
