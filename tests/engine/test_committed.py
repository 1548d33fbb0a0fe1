"""Ops on committed tensors run where these are, whichever backend the process has."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.committed import CommittedTensor, committed

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu  # which one of two backends is, or the other

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(params=["cpu", "webgpu"])
def home(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the name of a backend that is not the process's."""
    before = wk.get_backend()
    wk.set_backend({"cpu": "webgpu", "webgpu": "cpu"}[request.param])
    yield request.param
    wk.set_backend(before)


def test_what_is_computed_of_a_committed_tensor_stays_with_it(home: str) -> None:
    x = committed(wk.tensor(A, device=home))
    made = [
        x + 1,
        A * x,
        x @ wk.ones((3, 2)),
        wk.concat([wk.zeros((2, 3)), x]),
        x[1, ::2],
        np.zeros_like(x, shape=(2,)),
        np.asarray([1.0], like=x),
        (x - x.mean(0)).sum(),
        *wk.split(x, 3, axis=1),
        pickle.loads(pickle.dumps(x)) + 1,
        copy.copy(x),
    ]
    assert {one.device for one in made} == {home}
    np.testing.assert_array_equal(made[0], A + 1)
    np.testing.assert_array_equal(made[3], np.concatenate([np.zeros((2, 3)), A]))
    assert all(isinstance(one, CommittedTensor) for one in made)
    assert wk.ones(3).device != home


def test_a_block_has_its_own_backend_nevertheless(home: str) -> None:
    x = committed(wk.tensor(A, device=home))
    with wk.use_backend(wk.get_backend()):
        assert (x + 1).device == wk.get_backend() != home


def test_gradients_of_committed_tensors_are_where_these_are(home: str) -> None:
    slope = wk.grad(lambda x: (x * x).sum())(committed(wk.tensor(A, device=home)))
    assert slope.device == home
    np.testing.assert_array_equal(slope, 2 * A)


def test_a_captured_function_takes_committed_tensors(home: str) -> None:
    doubled = wk.capture(lambda x: wk.relu(x - 1.0) * 2.0)
    for number in range(3):
        found = doubled(committed(wk.tensor(A + number, device=home)))
        np.testing.assert_array_equal(found, np.maximum(A + number - 1, 0) * 2)


def test_a_variable_is_committed_by_its_value(home: str) -> None:
    v = wk.variable(A, device=home)
    x = committed(v)
    v.assign(A + 1)
    np.testing.assert_array_equal(x, A)
    assert not x.is_variable
