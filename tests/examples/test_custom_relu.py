"""The custom activation trains alike on both backends, and its check tells right from wrong."""

import functools
import re

import pytest
from tests.examples.program import numbers_after, output_of

printed_by = functools.cache(lambda backend: output_of("custom_relu.py", "--backend", backend))


def losses(backend: str) -> list[float]:
    found = re.findall(r"^step +(\d+) +loss (\S+)$", printed_by(backend), re.MULTILINE)
    assert [int(step) for step, _ in found] == [*range(10, 101, 10)] * 2
    return [float(loss) for _, loss in found]


@pytest.mark.gpu
def test_losses_of_both_backends_agree_at_every_print() -> None:
    assert losses("webgpu") == pytest.approx(losses("cpu"), rel=1e-5)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_the_loss_falls_with_either_threshold(backend: str) -> None:
    found = losses(backend)

    for run in (found[:10], found[10:]):
        assert run == sorted(run, reverse=True)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_only_the_soft_threshold_learns(backend: str) -> None:
    hard, soft = re.findall(r"^threshold (\S+)$", printed_by(backend), re.MULTILINE)

    assert float(hard) == pytest.approx(0.2)
    assert float(soft) < 0.1


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_the_check_confirms_the_rules_and_catches_the_wrong_one(backend: str) -> None:
    printed = printed_by(backend)

    assert numbers_after("gradient error of custom_relu", printed)[0] < 1e-4
    assert numbers_after("gradient error of soft_relu", printed)[0] < 1e-4
    assert numbers_after("gradient error of the wrong rule", printed)[0] > 0.5
