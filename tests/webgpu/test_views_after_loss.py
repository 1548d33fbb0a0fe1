"""Views of tensors made from host values come back after a loss of the device, as these do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "transposed": (lambda x: wk.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "sliced": (lambda x: x[:, 1:, 2], lambda x: x[:, 1:, 2]),
    "reshaped": (lambda x: wk.reshape(x, (4, 6)), lambda x: x.reshape(4, 6)),
    "flipped": (lambda x: wk.flip(x, axis=1), lambda x: x[:, ::-1]),
    "broadcast": (lambda x: wk.broadcast_to(x, (2, 2, 3, 4)), lambda x: np.stack([x, x])),
    "item of slices": (lambda x: x[:, ::2][1][0], lambda x: x[:, ::2][1][0]),
    "sliced, then transposed": (lambda x: wk.permute_dims(x[1], (1, 0)), lambda x: x[1].T),
    "transposed, then reshaped": (
        lambda x: wk.reshape(wk.permute_dims(x, (2, 1, 0)), (4, 6)),
        lambda x: x.transpose(2, 1, 0).reshape(4, 6),
    ),
    "part of that": (
        lambda x: wk.reshape(wk.permute_dims(x, (2, 1, 0)), (4, 6))[1:, ::-2],
        lambda x: x.transpose(2, 1, 0).reshape(4, 6)[1:, ::-2],
    ),
    "one number": (lambda x: x[1, 2, 3], lambda x: x[1, 2, 3]),
    "split": (lambda x: wk.split(x, 3, axis=1)[2], lambda x: x[:, 2:]),
}


@pytest.fixture(autouse=True)
def random_key_as_before() -> Iterator[None]:
    """Seed `wk.random` anew: its key is lost with the device, like any variable."""
    yield
    wk.random.seed(0)


def lose() -> None:
    """Destroy the device, as a reset of the driver does, and have that noticed."""
    driver: Any = find_driver("webgpu")
    device = driver.open()
    device._device.destroy()
    with pytest.raises(wk.DeviceLostError, match=r"wk.save.*wk.load\(path, into="):
        device.wait()


@pytest.mark.parametrize("kind", ["tensor", "variable"])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_views_come_back_with_their_values(kind: str, dtype: str) -> None:
    values = VALUES % 3 == 0 if dtype == "bool" else VALUES
    with wk.use_backend("webgpu"):
        base = wk.tensor(values) if kind == "tensor" else wk.variable(values)
        found = [(view(base), view(base), expected(values)) for view, expected in VIEWS.values()]
        for first, _, expected in found:
            assert np.array_equal(first.numpy(), expected)
        lose()
        for first, second, expected in found:
            assert np.array_equal(first.numpy(), expected)
            floats = wk.astype(second, "float32").numpy()
            assert np.array_equal(floats, expected.astype(np.float32))
        del base
        lose()
        for _, second, expected in found:
            assert np.array_equal(second.numpy(), expected)


def test_a_view_serves_kernels_captures_and_fused_maps_after_a_loss() -> None:
    with wk.use_backend("webgpu"):
        batch = wk.tensor(VALUES)

        @wk.capture
        def total(x: wk.Tensor) -> wk.Tensor:
            return wk.sum(wk.exp(x * 0.125), axis=0)

        part = wk.permute_dims(batch, (2, 0, 1))[1:]
        before = [total(part).numpy() for _ in range(3)]
        lose()
        with wk.config.using(fusion="always"):
            assert np.array_equal(wk.sum(wk.exp(part * 0.125), axis=0).numpy(), before[0])
        assert all(np.array_equal(total(part).numpy(), one) for one in before)


def test_views_of_one_tensor_share_its_buffer_after_a_loss_too() -> None:
    with wk.use_backend("webgpu"):
        base = wk.tensor(np.ones((64, 1024), np.float32))
        rows = wk.unstack(base)
        (rows[3] + 1.0).numpy()
        lose()
        for row in rows:
            (row + 1.0).numpy()
        (base + 1.0).numpy()
        found: Any = [one._array for one in (base, *rows)]
        assert len({id(one.storage) for one in found}) == 1


def test_what_was_computed_names_the_way_back() -> None:
    with wk.use_backend("webgpu"):
        made = wk.exp(wk.tensor(VALUES))
        made.numpy()
        lose()
        with pytest.raises(wk.DeviceLostError, match=r"lost with the device.*wk.save.*wk.load"):
            made.numpy()
