"""What is known of a captured function's signatures: the first run of each, then no more of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.capture.capture_trace import RunTrace
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.registry.registrations import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from wgsl_kernels.engine.capture.capture_trace import Place
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.environment.context import Context
    from wgsl_kernels.engine.tensors.tensor import Tensor

SIGNATURES_MAX = 256
"""Signatures of one function of which anything is kept; what comes back is compared once more."""


class SignatureCheck:
    """What is known of one signature.

    Attributes:
        first: Its first run, until a second one was compared with it.
        is_over: Whether there is nothing more to compare.
    """

    __slots__ = ("first", "is_over")

    def __init__(self) -> None:
        self.first: RunTrace | None = None
        self.is_over = False

    def end(self) -> None:
        """Compare no more."""
        self.first, self.is_over = None, True

    def take(self, trace: RunTrace, *, can_replay: bool) -> Mapping[Place, str]:
        """Keep a first run; return what a second one did otherwise, by line."""
        if self.first is None and can_replay and not trace.is_over:
            self.first = trace
        else:
            self.end()
        return trace.found


class Checks:
    """The signatures of one captured function."""

    def __init__(self) -> None:
        self._checks: dict[Hashable, SignatureCheck] = {}

    def find(self, driver: Driver, form: Hashable, now: Context) -> SignatureCheck:
        """Return what is known of a signature."""
        key = (driver.name, form, *now.gradients.items()) if now.gradients else (driver.name, form)
        found = self._checks.get(key)
        if found is None:
            if len(self._checks) >= SIGNATURES_MAX:
                gone = self._checks.pop(next(iter(self._checks)), None)
                if gone is not None:
                    gone.end()
            found = self._checks.setdefault(key, SignatureCheck())
        return found


class Traced:
    """A run of a function on its tensor arguments, to be compared with another.

    Attributes:
        check: What is known of the signature; None where nothing is to be compared.
        trace: What it computes from what; None where that is not asked for.
    """

    def __init__(self, check: SignatureCheck | None, f: Callable[[list[Tensor]], Any]) -> None:
        self.check = check
        self.trace: RunTrace | None = None
        self._f = f
        if check is not None and not check.is_over and config.capture_check:
            first = check.first
            if first is not None and first.changes != changes[0]:
                first = check.first = None
            self.trace = RunTrace(first)

    def __call__(self, given: list[Tensor]) -> Any:
        """Run the function."""
        if self.trace is None:
            return self._f(given)
        with context.intercepted(self.trace):
            self.trace.begin(given)
            result = self._f(given)
        self.trace.end(result)
        return result


def is_traced(now: Context) -> bool:
    """Say whether a run around the caller is compared with another."""
    return any(isinstance(one, RunTrace) for one in now.interceptors)
