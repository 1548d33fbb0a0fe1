"""A third backend, in one file: it does the work of another one, and counts it."""

import functools

import pytest
from tests.examples.program import output_of

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
printed_by = functools.cache(lambda inner: output_of("custom_backend.py", "--backend", inner))


def counts(printed: str) -> dict[str, int]:
    rows = [line.split() for line in printed.splitlines()[2:]]
    return {name: int(count) for count, name in rows}


@BACKENDS
def test_a_network_learns_on_the_backend_of_a_user(backend: str) -> None:
    first = printed_by(backend).splitlines()[0]

    assert first.startswith(f"on 'counting', which is '{backend}' watched: loss ")
    assert float(first.split()[-1]) < 0.2


@BACKENDS
def test_every_kernel_is_counted_and_every_array_is_freed(backend: str) -> None:
    printed = printed_by(backend)
    runs = counts(printed)

    assert runs["Relu"] == 51  # once a step, and for the loss at the end
    assert runs["Sqrt"] == 2 * 50  # for each variable in each step
    uploads, downloads, alive = (int(word) for word in printed.splitlines()[1].split()[::2])
    assert uploads > 0
    assert downloads == 1
    assert alive < 20


@pytest.mark.gpu
def test_both_backends_below_do_the_same_work() -> None:
    assert counts(printed_by("cpu")) == counts(printed_by("webgpu"))
