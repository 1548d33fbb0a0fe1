"""How processes that run tests side by side share them: a file at a time.

What a module of tests makes once, such as a cluster or the pages of an example, is then made in one
process, and a kernel is prepared in the one that has its samples. Those come last, a kernel at a
time: none of them takes long, so that all processes end together. Files with tests of every kernel
come before them, and behind all others: where a process has run every kernel, it takes seconds to
look at the files of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

SAMPLES = "tests/test_samples.py::test_a_sample["
"""What the names of the tests of samples begin with; a kernel's name follows."""
EVERY_KERNEL = ("tests/conformance/", "tests/simulator/test_backend.py")
"""Tests of every kernel, in files of their own."""


def order(item: pytest.Item) -> int:
    """Return what tests are sorted by: those of every kernel are last, and samples behind them."""
    if item.nodeid.startswith(SAMPLES):
        return 2
    return int(item.nodeid.startswith(EVERY_KERNEL))


class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a process the tests of a file, of a group over files, or of a kernel's samples."""

    assigned_work: dict[WorkerController, dict[str, dict[str, bool]]]
    _places: dict[str, int] | None = None

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of what is run together with a test."""
        if nodeid.startswith(SAMPLES):
            return nodeid.partition("-")[0]
        test, _, group = nodeid.rpartition("@")  # which xdist adds behind a test's name
        if test and "]" not in group:
            return group
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Have a process run what is next; by a table, since a list took 10 s to look through."""
        if self._places is None:
            assert self.collection is not None  # which is the same in every process
            self._places = {nodeid: place for place, nodeid in enumerate(self.collection)}
        scope, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = tests
        node.send_runtest_some([self._places[one] for one in tests])

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget a test that has run; what was done before took a minute to look through."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        tests = self.assigned_work[node][scope]
        del tests[nodeid]
        if not tests:
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test in which a process died, which has failed; others run those behind it."""
        left = self.assigned_work.pop(node)
        failed = None
        for scope, tests in left.items():
            if failed is None:
                failed = next(iter(tests))
                del tests[failed]
            if tests:
                self.workqueue[scope] = tests
        for other in self.assigned_work:
            self._reschedule(other)
        return failed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """Share tests so wherever several processes run them."""
    return FileScheduling(config, log)
