"""The eight networks train on either backend, and both learn alike."""

import functools

import pytest
from tests.examples.program import output_of
from tests.modes import ALL_MODES

IN_ALL_MODES = ["cpu", "webgpu"] if ALL_MODES else ["cpu"]
FEWER = (
    "vae=54", "gru=20", "resnet=46", "kvcache=12", "pinn=80", "node=20", "reinforce=4",
    "deblur=20",
)  # fmt: skip


@functools.cache
def printed_by(backend: str) -> dict[str, list[str]]:
    """Return the lines of each network."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in output_of("networks/run.py", *FEWER, "--backend", backend).splitlines():
        if line.endswith(":"):
            name = line[:-1]
        found.setdefault(name, []).append(line)
    return found


def figures_of(network: str, label: str, backend: str) -> list[float]:
    """Return the numbers after a word in the lines of a network that have it."""
    lines = [line.split() for line in printed_by(backend)[network]]
    return [float(line[line.index(label) + 1]) for line in lines if label in line]


@pytest.mark.parametrize("backend", IN_ALL_MODES)
@pytest.mark.parametrize(
    ("network", "label", "last"),
    [
        ("vae", "loss", 33),
        ("gru", "loss", 3.1),  # 4.2 where every letter is as likely
        ("resnet", "loss", 1.7),  # 2.3 where every class is as likely
        ("node", "error", 0.9),
    ],
)
def test_the_loss_falls(network: str, label: str, last: float, backend: str) -> None:
    losses = figures_of(network, label, backend)

    assert losses[-1] < 0.95 * losses[0]
    assert losses[-1] < last


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_held_out_digits_are_read(backend: str) -> None:
    assert figures_of("resnet", "out", backend)[-1] > 0.45


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_the_network_nears_the_solution(backend: str) -> None:
    assert figures_of("pinn", "loss", backend)[-1] < 3  # 49 where it is 0
    assert figures_of("pinn", "error", backend)[-1] < 0.1


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_a_cache_gives_the_scores_of_the_whole(backend: str) -> None:
    errors = figures_of("kvcache", "error", backend)

    assert len(errors) == 2
    assert max(errors) < 1e-5


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_poles_stay_upright_for_longer(backend: str) -> None:
    lengths = figures_of("reinforce", "for", backend)

    assert lengths[-1] > 1.25 * lengths[0]


@pytest.mark.parametrize("backend", IN_ALL_MODES)
def test_the_photograph_is_restored_in_part(backend: str) -> None:
    blurred, restored = figures_of("deblur", "decibels", backend)

    assert restored > blurred + 1


if ALL_MODES:

    @pytest.mark.gpu
    @pytest.mark.parametrize(
        ("network", "label"),
        [("vae", "loss"), ("gru", "loss"), ("resnet", "loss"), ("node", "error")],
    )
    def test_both_backends_learn_alike(network: str, label: str) -> None:
        figures = [figures_of(network, label, backend) for backend in ("cpu", "webgpu")]

        assert figures[1] == pytest.approx(figures[0], rel=1e-2)
