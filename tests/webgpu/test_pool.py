"""The pool: size classes, the lowest buffer first, the ledger and its errors. No device needed."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import pytest

from wgsl_kernels.backends.webgpu.devices.pool import Block, Pool, Storage, size_class
from wgsl_kernels.engine.environment.errors import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

KIB = 1 << 10
MIB = 1 << 20


class Driver:
    """A driver that counts, and that can run out of memory."""

    def __init__(self, capacity: int = 1 << 40) -> None:
        self.capacity = capacity
        self.made: list[int] = []
        self.labels: list[str] = []
        self.forgotten: list[int] = []
        self.settled = 0

    def create(self, nbytes: int, label: str) -> object:
        """Make a buffer that counts."""
        if sum(self.made) + nbytes > self.capacity:
            raise OutOfMemoryError("driver")
        self.made.append(nbytes)
        self.labels.append(label)
        return object()

    def forget(self, block: Block) -> None:
        """Take a buffer back."""
        self.forgotten.append(block.id)
        self.made.remove(block.capacity)

    def settle(self) -> None:
        """Count the call."""
        self.settled += 1


def make_pool(
    driver: Driver | None = None,
    *,
    largest: int = 1 << 30,
    limit: Callable[[], int | None] = lambda: None,
) -> Pool:
    driver = driver or Driver()
    return Pool(
        driver.create, largest=largest, limit=limit, forget=driver.forget, settle=driver.settle
    )


@pytest.mark.parametrize("nbytes", [0, 1, 4, 15, 16])
def test_no_buffer_is_smaller_than_16_bytes(nbytes: int) -> None:
    assert size_class(nbytes) == 16


def test_size_classes_waste_a_quarter_at_most_and_are_whole_vectors() -> None:
    for nbytes in [*range(16, 5000), *(2**k + d for k in range(12, 31) for d in (-1, 0, 1, 12))]:
        capacity = size_class(nbytes)
        assert nbytes <= capacity
        assert capacity % 16 == 0
        assert capacity - nbytes < max(16, nbytes / 4)
        assert size_class(capacity) == capacity


def test_powers_of_two_are_classes_of_their_own() -> None:
    assert all(size_class(2**k) == 2**k for k in range(4, 32))


def test_a_dropped_storage_is_used_again() -> None:
    driver = Driver()
    pool = make_pool(driver)
    first = pool.allocate(100)
    buffer = first.block.buffer
    del first
    assert pool.allocate(110).block.buffer is buffer
    assert driver.made == [112]


def test_the_pool_hands_out_the_lowest_buffer_not_the_last_freed() -> None:
    pool = make_pool()
    held: dict[int, Storage] = {s.id: s for s in [pool.allocate(64) for _ in range(4)]}
    for number in (2, 0, 3, 1):
        del held[number]
    assert [s.id for s in [pool.allocate(64) for _ in range(4)]] == [0, 1, 2, 3]


def test_buffer_numbers_are_used_again_after_a_trim() -> None:
    driver = Driver()
    pool = make_pool(driver)
    kept = [pool.allocate(64) for _ in range(3)]
    del kept[1]
    assert pool.trim() == 64
    assert driver.forgotten == [1]
    assert pool.allocate(4 * KIB).id == 1


def test_the_ledger_counts_live_peak_and_pooled_bytes() -> None:
    pool = make_pool()
    first, second = pool.allocate(100), pool.allocate(200)
    use = pool.use()
    assert (use.num_buffers, use.num_bytes, use.held_bytes) == (2, 300, 112 + 224)
    del first
    use = pool.use()
    assert (use.num_buffers, use.num_bytes, use.peak_bytes) == (1, 200, 300)
    assert (use.pool_buffers, use.pool_bytes) == (1, 112)
    del second
    assert pool.use().num_bytes == 0
    pool.trim()
    assert pool.use().held_bytes == 0


def test_the_limit_gives_the_pool_back_before_it_refuses() -> None:
    driver = Driver()
    pool = make_pool(driver, limit=lambda: 3 * MIB)
    kept = pool.allocate(MIB)
    dropped = pool.allocate(2 * MIB)
    del dropped
    other = pool.allocate(MIB + MIB // 2)
    assert driver.made == [MIB, MIB + MIB // 2]
    assert driver.settled == 1
    del kept, other


def test_the_limit_may_change() -> None:
    limits = [MIB]
    pool = make_pool(limit=lambda: limits[0])
    with pytest.raises(OutOfMemoryError):
        pool.allocate(2 * MIB)
    limits[0] = 4 * MIB
    assert pool.allocate(2 * MIB).nbytes == 2 * MIB


def test_out_of_memory_says_what_was_asked_then_what_is_held_and_allowed() -> None:
    pool = make_pool(largest=64 * MIB, limit=lambda: 3 * MIB)
    kept = pool.allocate(MIB)
    with pytest.raises(OutOfMemoryError) as caught:
        pool.allocate(4 * MIB, what="[1024, 1024] float32")
    first, second = str(caught.value).splitlines()
    assert first == "asked for 4194304 bytes ([1024, 1024] float32)."
    assert second == (
        "Held: 1048576 bytes in 1 buffers that take 1048576, and 0 bytes pooled. Largest "
        "allowed: 67108864 bytes a buffer (max-buffer-size), 3145728 bytes in all (memory_limit)."
    )
    assert isinstance(caught.value, MemoryError)
    del kept


def test_more_than_the_largest_buffer_is_refused_without_asking_the_driver() -> None:
    driver = Driver()
    with pytest.raises(OutOfMemoryError, match="asked for 2097152 bytes"):
        make_pool(driver, largest=MIB).allocate(2 * MIB)
    assert driver.made == []


def test_a_size_whose_class_is_above_the_largest_buffer_still_fits_exactly() -> None:
    assert size_class(1100) == 1280
    assert make_pool(largest=1200).allocate(1100).capacity == 1104


def test_a_driver_that_runs_out_gets_the_pool_back_and_is_asked_again() -> None:
    driver = Driver(capacity=3 * MIB)
    pool = make_pool(driver)
    dropped = pool.allocate(2 * MIB)
    del dropped
    kept = pool.allocate(2 * MIB + 16)
    assert kept.capacity == 2 * MIB + MIB // 2
    with pytest.raises(OutOfMemoryError, match="asked for 1048576 bytes"):
        pool.allocate(MIB)
    assert pool.use().held_bytes == 2 * MIB + MIB // 2


def test_storages_in_a_reference_cycle_are_found_before_refusing() -> None:
    pool = make_pool(limit=lambda: 2 * MIB)
    gc.disable()
    try:
        cycle: list[object] = [pool.allocate(2 * MIB)]
        cycle.append(cycle)
        del cycle
        assert pool.allocate(MIB).nbytes == MIB
    finally:
        gc.enable()


def test_an_idle_buffer_is_preferred_for_uploads() -> None:
    pool = make_pool()
    first, second = pool.allocate(64), pool.allocate(64)
    first.block.epoch = 7
    del first, second
    idle = pool.allocate_idle(64, epoch=7)
    assert idle.id == 1
    assert pool.allocate_idle(64, epoch=7).id == 0


def test_labels_name_the_buffer_and_its_first_user() -> None:
    driver = Driver()
    make_pool(driver).allocate(64, "MatMul y")
    assert driver.labels == ["#0 MatMul y"]


def test_any_thread_may_drop_a_storage() -> None:
    pool = make_pool()
    storages = [pool.allocate(64) for _ in range(400)]
    parts = [storages[start::4] for start in range(4)]
    del storages
    threads = [threading.Thread(target=part.clear) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    use = pool.use()
    assert (use.num_buffers, use.pool_buffers) == (0, 400)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="nbytes is -4"):
        make_pool().allocate(-4)
