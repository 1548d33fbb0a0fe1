"""Gradients of what the step of a scan closes over, however the step takes it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wgsl_kernels as wk

Step = Callable[[Any, Any], tuple[Any, Any]]


@pytest.fixture(params=["cpu", pytest.param("webgpu", marks=pytest.mark.gpu), "simulator"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with wk.use_backend(request.param):
        yield str(request.param)


def squared(a: wk.Tensor, save: Callable[[Any], None]) -> tuple[wk.Tensor, Any]:
    save([a])
    return a * a, lambda dy, saved: dy * 2.0 * saved[0]


own = wk.custom_grad(squared)
same = wk.custom_grad(lambda a: (a, lambda dy, saved: dy))
STEPS: dict[str, tuple[Callable[[Any], Step], Callable[[Any], Step]]] = {
    "checkpoint": (
        lambda r: wk.checkpoint(lambda c, _: (c + r * c, c)),
        lambda r: lambda c, _: (c + r * c, c),
    ),
    "checkpoint of an argument": (
        lambda r: lambda c, _: (wk.checkpoint(lambda c, r: c + r * c)(c, r), c),
        lambda r: lambda c, _: (c + r * c, c),
    ),
    "checkpoint in another": (
        lambda r: wk.checkpoint(lambda c, _: (c + wk.checkpoint(lambda c: r * c)(c), c)),
        lambda r: lambda c, _: (c + r * c, c),
    ),
    "checkpoint that gives it": (
        lambda r: lambda c, _: (c * 1.1, wk.checkpoint(lambda: r)()),
        lambda r: lambda c, _: (c * 1.1, r * 1.0),
    ),
    "an own gradient": (
        lambda r: lambda c, _: (c + own(r) * c, c),
        lambda r: lambda c, _: (c + r * r * c, c),
    ),
    "an own gradient under checkpoint": (
        lambda r: wk.checkpoint(lambda c, _: (c + own(r) * r * c, c)),
        lambda r: lambda c, _: (c + r * r * r * c, c),
    ),
    "an own gradient that gives it": (
        lambda r: lambda c, _: (c + same(r) * c, r),
        lambda r: lambda c, _: (c + r * c, r * 1.0),
    ),
    "a result": (lambda r: lambda c, _: (c * 1.1, r), lambda r: lambda c, _: (c * 1.1, r * 1.0)),
    "checkpoint of a scan": (
        lambda r: (
            lambda c, _: (
                wk.scan(wk.checkpoint(lambda d, _: (d + r * d, None)), c, length=4)[0],
                r * c,
            )
        ),
        lambda r: lambda c, _: (c * (1.0 + r) ** 4, r * c),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_a_step_takes_has_its_gradient(name: str, backend: str) -> None:
    assert backend
    found, want = (total(step) for step in STEPS[name])
    r, v = wk.tensor(0.1), wk.variable(0.1)

    slope, second = want_of(want, r)
    assert wk.grad(found)(r).item() == pytest.approx(slope, rel=1e-4)
    assert wk.variable_grads(lambda: found(v))[1][v].item() == pytest.approx(slope, rel=1e-4)
    captured = wk.capture(wk.grad(found))
    assert [captured(r).item() for _ in range(3)] == pytest.approx([slope] * 3, rel=1e-4)
    assert second_of(found)(r).item() == pytest.approx(second, rel=1e-4)


def total(step: Callable[[Any], Step]) -> Callable[[Any], wk.Tensor]:
    """Return the sum of all that a scan of five steps gives, as a function of what they take."""

    def summed(r: Any) -> wk.Tensor:
        carry, ys = wk.scan(step(r), wk.tensor([1.0, 2.0]), wk.zeros(5))
        return wk.sum(carry) + wk.sum(ys)

    return summed


def second_of(f: Callable[[Any], wk.Tensor]) -> Callable[[Any], wk.Tensor]:
    """Return the second derivative, and what linear functions have, too: that of a square."""
    found: Callable[[Any], wk.Tensor] = wk.grad(lambda r: wk.grad(f)(r) + r * r * 10.0)
    return found


def want_of(f: Callable[[Any], wk.Tensor], r: wk.Tensor) -> tuple[float, float]:
    with wk.use_backend("cpu"):
        return float(wk.grad(f)(r).item()), float(second_of(f)(r).item())
