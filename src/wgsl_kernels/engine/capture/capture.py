"""Capturing a function: it runs once per signature, and what the device did is replayed after."""

from __future__ import annotations

import functools
import threading
import types
import warnings
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar, cast
from weakref import ref

from wgsl_kernels.engine.autodiff.tape import Tape
from wgsl_kernels.engine.capture import recordings
from wgsl_kernels.engine.capture.capture_check import Checks, Traced, is_traced
from wgsl_kernels.engine.capture.captured_run import CapturedRun, GoneError, Trial
from wgsl_kernels.engine.capture.watch import VariableWatch
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.drivers.driver import OtherLayoutError
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DeviceLostError,
    DisposedTensorError,
)
from wgsl_kernels.engine.environment.origin import user_place
from wgsl_kernels.engine.execution.execute import ReplayObserver
from wgsl_kernels.engine.registry.registrations import are_current, changes
from wgsl_kernels.engine.trees.structure import OpaqueError, signature_of, with_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from wgsl_kernels.engine.capture.capture_check import SignatureCheck
    from wgsl_kernels.engine.capture.capture_trace import Place
    from wgsl_kernels.engine.drivers.abilities import RecordingDriver
    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.environment.context import Context
    from wgsl_kernels.engine.registry.registrations import Uses
    from wgsl_kernels.engine.tensors.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

REFUSALS_MAX = 256
"""Signatures of one function of which it is kept that they cannot be replayed, and why."""
FORGOTTEN_MAX = 4096
"""Dropped recordings of one function that are known when they are made again."""

_recorder: list[ref[Trial]] = []  # of one recording at a time
_turn = threading.RLock()
_replaying = threading.RLock()


PADDING = (
    "Pad to a few sizes, and pass numbers that change as tensors, and tensors of the same layout"
)


class _Refusal(NamedTuple):
    """Why one signature cannot be replayed, and the registrations that this comes from."""

    why: str
    uses: Uses


class Captured(Generic[P, R]):
    """A captured function; see `capture`.

    Attributes:
        why: Why the latest call ran the function itself and could not replay it; None where it
            could, or recorded it.
    """

    why: str | None

    def __init__(self, f: Callable[P, R], *, is_checked: bool = True) -> None:
        if not callable(f):
            raise ArgumentError(f"capture: got a {type(f).__name__}; want a function.")
        functools.update_wrapper(self, f)
        self.why = None
        self._flat_forms: dict[str, Any] = {}  # what `scan` keeps for it, by the form of its values
        self._f = f
        self._label = str(getattr(f, "__qualname__", f))
        self._runs: dict[Hashable, list[CapturedRun] | _Refusal] = {}
        self._scratch: Any = None
        self._changes = changes[0]
        self._warned: set[str] = set()
        self._places: set[Place] = set()
        self._checks = Checks() if is_checked else None
        self._in_a_row = 0
        self._forgotten: set[int] = set()
        recordings.add(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Replay the function for these arguments, or run and record it."""
        now = context.current()
        driver = now.driver or default_driver()
        try:
            form, leaves = signature_of(args, kwargs)
        except OpaqueError as error:
            return self._eager(str(error), args, kwargs)
        recording = abilities_of(driver).recording
        if now.watch is not None:  # inside another capture it becomes part of that
            self.why = None
            return self._plain(leaves, args, kwargs)
        if recording is None:
            self.why = f"backend {driver.name!r} does not record"
            check = self._check(driver, form, now)
            return cast("R", self._unrecorded(check, leaves, args, kwargs))
        switches = config.switches(now)
        if switches["debug"]:
            self.why = "config.debug is on"
            return self._plain(leaves, args, kwargs)
        why = _why_not_capturable(now, checks=switches["check_numerics"])
        if why is not None:
            return self._eager(why, args, kwargs, leaves)
        if self._changes != changes[0]:
            self._drop_changed()
        layout_key = recording.layout_key
        layouts = [layout_key(one._array) if _is_plain(one, driver) else None for one in leaves]
        key: tuple[Hashable, ...]
        key = (form, tuple(layouts), driver.name, switches["fusion"], switches["deterministic"])
        if now.gradients:
            key = (*key, *now.gradients.items())
        runs = self._runs.get(key)
        if isinstance(runs, _Refusal):
            return self._eager(runs.why, args, kwargs, leaves)
        if runs is not None:
            self.why = None
            if runs and runs[0].check is not None:
                self._compare_once(runs[0], recording, leaves, args, kwargs)
            with _replaying:
                for run in tuple(runs):
                    if run.is_valid:
                        run.used = recordings.made[0]
                        self._in_a_row = 0
                        try:
                            return cast("R", run(leaves, self._label))
                        except OtherLayoutError:
                            continue
                        except GoneError:
                            pass
                    runs.remove(run)
        for leaf in leaves:
            if not driver.supports(leaf.dtype):
                why = f"{leaf.dtype} tensors cannot live on backend {driver.name!r}"
                return self._eager(why, args, kwargs, leaves)
        return self._record(key, self._check(driver, form, now), recording, leaves, args, kwargs)

    @property
    def function(self) -> Callable[P, R]:
        """The function that was captured."""
        return self._f

    def rehearse(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the function as when it is recorded, so that all is compiled, and record nothing.

        It stands in a `VariableWatch`, which gets what is assigned.
        """
        now = context.current()
        driver = now.driver or default_driver()
        try:
            form, leaves = signature_of(args, kwargs)
        except OpaqueError:
            return self._f(*args, **kwargs)
        recording = abilities_of(driver).recording
        why = _why_not_capturable(now, checks=config.check_numerics)
        check = self._check(driver, form, now)
        if recording is None:
            return self._unrecorded(check, leaves, args, kwargs)
        if why is not None:
            return self._plain(leaves, args, kwargs)
        trial = Trial(recording, None, leaves)
        if not _begins(trial):
            return self._plain(leaves, args, kwargs)
        traced = Traced(check, lambda given: self._plain(given, args, kwargs))
        try:
            result, run = trial.run(traced)
        finally:
            _ends(trial)
        self._compare(traced, can_replay=not isinstance(run, str))
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<captured {self._label}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the function alone: the copy records anew, on its own variables."""
        return Captured, (self._f,)

    def dispose(self) -> None:
        """Free what the replays keep; the next call records anew."""
        self._runs.clear()
        self._scratch = None

    def _plain(self, leaves: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        given = iter(leaves)
        new = [with_leaves(one, given) for one in args]
        return self._f(*new, **{name: with_leaves(one, given) for name, one in kwargs.items()})

    def _check(self, driver: Driver, form: Hashable, now: Context) -> SignatureCheck | None:
        return None if self._checks is None else self._checks.find(driver, form, now)

    def _unrecorded(
        self,
        check: SignatureCheck | None,
        leaves: list[Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run the function where nothing is recorded, its second run compared with its first."""
        if check is None or check.is_over:
            return self._plain(leaves, args, kwargs)
        now = context.current()
        switches = config.switches(now)
        if switches["debug"] or _why_not_capturable(now, checks=switches["check_numerics"]):
            if is_traced(now):  # what is around it is compared as a whole
                check.end()
            return self._plain(leaves, args, kwargs)
        traced = Traced(check, lambda given: self._plain(given, args, kwargs))
        result = traced(leaves)
        self._compare(traced)
        return result

    def _compare_once(
        self,
        run: CapturedRun,
        recording: RecordingDriver,
        leaves: list[Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Compare a second run with that of a recording, unless that was done; not under a tape."""
        if run.check is None or run.check.first is None:
            run.check = None
        elif not context.current().interceptors:
            self._run_aside(run.check, recording, leaves, args, kwargs)

    def _run_aside(
        self,
        check: SignatureCheck,
        recording: RecordingDriver,
        leaves: list[Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Run the function once more, without lasting effect, and compare it with its first run."""
        if not config.capture_check:
            return
        traced = Traced(check, lambda given: self._plain(given, args, kwargs))
        watch = VariableWatch()
        around = context.changed(watch=watch)
        try:
            with around:
                trial = Trial(recording, None, leaves)
                if not _begins(trial):
                    return
                try:
                    trial.run(traced, is_kept=False)
                finally:
                    _ends(trial)
        except Exception as error:
            check.end()
            if not isinstance(error, (MemoryError, DeviceLostError, DisposedTensorError)):
                self._name({user_place(): f"it raises {type(error).__name__}"})
            return
        finally:
            around.leave()
            watch.put_back()
        self._compare(traced)

    def _compare(self, traced: Traced, *, can_replay: bool = True) -> None:
        """Keep a first run; warn of what a second one did otherwise."""
        if traced.trace is not None and traced.check is not None:
            self._name(traced.check.take(traced.trace, can_replay=can_replay))

    def _name(self, found: Mapping[Place, str]) -> None:
        """Warn once of each line that does what replays do not."""
        for place, what in found.items():
            if place not in self._places:
                self._places.add(place)
                message = (
                    f"capture: {self._label}: {what}. On a GPU this stays what it was at the first "
                    "call: pass it as an argument."
                )
                warnings.warn_explicit(message, RuntimeWarning, *place)

    def _eager(
        self,
        why: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Tensor] | None = None,
    ) -> R:
        """Run the function itself and say why, by a warning once for each reason."""
        self._tell(why)
        return self._f(*args, **kwargs) if leaves is None else self._plain(leaves, args, kwargs)

    def _tell(self, why: str) -> None:
        self.why = why
        self._warn(f"capture: {self._label} runs without replay: {why}.")

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn_explicit(message, RuntimeWarning, *user_place())

    def _record(
        self,
        key: Hashable,
        check: SignatureCheck | None,
        driver: RecordingDriver,
        leaves: list[Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> R:
        since = changes[0]
        trial = Trial(driver, self._scratch, leaves)
        traced = Traced(check, lambda given: self._plain(given, args, kwargs))
        try:
            if not _begins(trial):
                self.why = "another thread records now"
                return self._plain(leaves, args, kwargs)
            result, run = trial.run(traced)
            _ends(trial)
        except BaseException:
            _ends(trial)
            raise
        if isinstance(run, str):
            self._refuse(key, _Refusal(run, trial.uses))
            self._changes = min(self._changes, since)
            self._compare(traced, can_replay=False)
            return cast("R", result)
        run.check = check
        recordings.evict(run.nbytes)
        runs = self._runs.setdefault(key, [])
        if isinstance(runs, list):
            runs.append(run)
        self._changes = min(self._changes, since)  # another thread may have registered meanwhile
        self.why, self._scratch = None, trial.scratch
        self._in_a_row += 1
        self._advise(hash(key))
        self._compare(traced)
        return cast("R", result)

    def recordings(self) -> list[tuple[Hashable, CapturedRun]]:
        """Return what is kept, each with its signature."""
        kept = self._runs.copy().items()
        return [(key, run) for key, runs in kept if isinstance(runs, list) for run in tuple(runs)]

    def drop(self, key: Hashable, run: CapturedRun) -> None:
        """Forget a recording, since all together keep too much."""
        with _replaying:
            runs = self._runs.get(key)
            if isinstance(runs, list) and run in runs:
                runs.remove(run)
                if not runs:
                    del self._runs[key]
        if len(self._forgotten) >= FORGOTTEN_MAX:
            self._forgotten.clear()
        self._forgotten.add(hash(key))

    def _refuse(self, key: Hashable, refusal: _Refusal) -> None:
        """Remember why a signature cannot be replayed, and say it."""
        others = [one for one, runs in self._runs.copy().items() if isinstance(runs, _Refusal)]
        if len(others) >= REFUSALS_MAX:
            self._runs.pop(others[0], None)
        self._runs[key] = refusal
        self._tell(refusal.why)

    def _advise(self, signature: int) -> None:
        """Warn, once each, of recordings that come again, and of many that nothing replays."""
        if signature in self._forgotten:
            self._warn(
                f"capture: {self._label} is recorded again for a signature that it was recorded "
                "for before: recordings take more than config.capture_limit, "
                f"{config.capture_limit >> 20} MiB, and those not used for longest go. "
                f"{PADDING}, or raise the limit."
            )
        elif self._in_a_row > recordings.IN_A_ROW:
            self._warn(
                f"capture: {self._label} was recorded for more than {recordings.IN_A_ROW} "
                f"signatures, and none of them came again. {PADDING}."
            )

    def _drop_changed(self) -> None:
        """Forget what came from registrations that have changed meanwhile, and nothing else."""
        self._changes = changes[0]
        with _replaying:
            for key, runs in self._runs.copy().items():
                if isinstance(runs, _Refusal):
                    is_gone = not are_current(runs.uses)
                else:
                    runs[:] = [run for run in runs if are_current(run.uses)]
                    is_gone = not runs
                if is_gone:
                    self._runs.pop(key, None)
        if not self._runs:
            self.dispose()


def _begins(trial: Trial) -> bool:
    """Say whether this is the only recording, and count it."""
    with _turn:
        holder = _recording()
        if holder is None:
            _recorder[:] = [ref(trial)]
        return holder is None


def _ends(trial: Trial) -> None:
    with _turn:
        if _recording() is trial:
            _recorder.clear()


def _recording() -> Trial | None:
    """Return what records now. One that an interrupt has left here is gone with its frame."""
    return _recorder[0]() if _recorder else None


def _is_plain(leaf: Tensor, driver: Driver) -> bool:
    """Say whether a tensor's layout belongs to the signature: of variables each replay looks."""
    return leaf._driver is driver and leaf._array is not None and not leaf.is_variable


def _why_not_capturable(now: context.Context, *, checks: bool) -> str | None:
    """Return why a call can neither be recorded nor replayed now."""
    for one in now.interceptors:
        if isinstance(one, Tape):
            return (
                "a tape around the call wants to see its kernels; capture the function that "
                "computes the gradients"
            )
        if not isinstance(one, ReplayObserver):
            return "an interceptor around the call wants to see its kernels"
    if now.double:
        return "a gradient check in float64 is under way"
    return "config.check_numerics looks at every kernel's results" if checks else None


def capture(f: Callable[P, R]) -> Captured[P, R]:
    """Return a function that runs ``f`` once per signature and then replays what the device did.

    A replay costs the host a few microseconds, whatever ``f`` does in Python, and allocates no
    device memory in a steady loop. Its results are those of ``f``, bit for bit, and stay valid.

    What changes from call to call must be a tensor: an argument, in any nesting of tuples, lists
    and dictionaries, or a variable. Variables that ``f`` reads or assigns take part with the values
    that they have then, and so do optimizers and `wk.random`. Everything else is as it was when
    ``f`` ran: Python numbers and attributes that it reads, tensors that it closes over, what it
    prints or appends. Python values among the arguments belong to the signature, as do shapes and
    dtypes of tensors, and the layouts of views among them; NumPy arrays become tensors before
    ``f`` sees them.

    ``f`` runs as ever, with a warning once for each reason and the reason in ``why``, where a
    replay is not possible: it reads values (``numpy()``, ``item()``, an ``if``), a kernel's output
    has a shape that depends on values, a kernel runs on another backend, a tape or an interceptor
    stands around the call. On a backend that cannot replay, such as ``cpu``, it always does,
    without a warning.

    At the second call of a signature ``f`` runs once more, without lasting effect on tensors, and
    a warning names each line that takes another number, array or attribute from the host than at
    the first call, which replays repeat. ``config.capture_check = False`` turns that off.

    Memory that replays work in is counted as ``captured_bytes`` in ``memory().by_backend``; it is
    freed by ``dispose()``, or when the captured function is collected.

    Args:
        f: Any function; also to be used as a decorator, of methods too.

    Returns:
        The function to call in place of ``f``.

    Raises:
        ArgumentError: ``f`` cannot be called.

    Example:
        >>> fast = capture(lambda x: wk.sum(x * x))
        >>> fast(wk.tensor([1.0, 2.0])).item(), fast(wk.tensor([3.0, 4.0])).item()
        (5.0, 25.0)
    """
    return Captured(f)
