"""The switches of the library: per process, or for a block of one thread with ``using``."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError
from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.wgsl.errors.notebook import show_frames_if
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def _one_of(*allowed: Any) -> Callable[[Any], str | None]:
    want = f"one of {', '.join(map(repr, allowed))}"
    return lambda value: None if isinstance(value, (str, int)) and value in allowed else want


def _memory_limit(value: Any) -> str | None:
    is_auto = isinstance(value, str) and value == "auto"
    if value is None or is_auto:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return None
    return "a number of bytes above 0, None (no limit) or 'auto'"


def _bytes(value: Any) -> str | None:
    is_right = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if is_right else "a number of bytes above 0"


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MOST_TIME


def _time(value: Any) -> str | None:
    return None if value is None or _is_time(value) else "seconds above 0, or None (no limit)"


def _time_or_auto(value: Any) -> str | None:
    if value is None or _is_time(value) or (isinstance(value, str) and value == "auto"):
        return None
    return "seconds above 0, None (no limit) or 'auto'"


MOST_TIME = 1e6
"""Seconds: what threads can wait for, which is less on some systems than on others."""
TUNING_VARIABLE = "WGSL_KERNELS_TUNING"
TUNING = ("auto", "on", "known", "off")

_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "fusion": _one_of("auto", "always", "never"),
    "fallback": _one_of("warn", "silent", "error"),
    "deterministic": _one_of(True, False),
    "memory_limit": _memory_limit,
    "capture_limit": _bytes,
    "check_numerics": _one_of(True, False),
    "debug": _one_of(True, False),
    "capture_check": _one_of(True, False),
    "small_ops": _one_of("host", "device"),
    "tracebacks": _one_of("short", "full"),
    "tuning": _one_of(*TUNING),
    "progress": _one_of("auto", "on", "off"),
    "compile_timeout": _time,
    "dispatch_timeout": _time_or_auto,
}


_FOLLOWED = ("debug",)
"""The switches that take part in what a backend installs, rather than being asked for."""
_followers: dict[str, list[Callable[[], None]]] = {name: [] for name in _FOLLOWED}
_enders: dict[str, list[Callable[[], None]]] = {name: [] for name in _FOLLOWED}
_blocks: dict[str, int] = dict.fromkeys(_FOLLOWED, 0)


class _Switches(dict[str, Any]):
    """The switches' values; one that the environment names wrongly is told when it is asked for."""

    def __missing__(self, name: str) -> Any:
        if name != "tuning":
            raise KeyError(name)
        raise ArgumentError(
            f"{TUNING_VARIABLE}: {os.environ.get(TUNING_VARIABLE)!r} is unknown; want "
            f"{', '.join(map(repr, TUNING))}."
        )


class Config:
    """The switches, as attributes that can be read and set.

    Attributes:
        fusion: ``"auto"``, ``"always"`` or ``"never"``: whether kernels are deferred on ``webgpu``
            and share dispatches: from the second time that a structure comes, a bounded number
            from the first; all from the first; or not at all. The results are equal bit for bit.
        fallback: ``"warn"``, ``"silent"`` or ``"error"``: what happens when the active backend
            has no kernel and the CPU has one.
        deterministic: Whether the static choice among a kernel's variants is pinned.
        memory_limit: Bytes that one backend may hold; ``None`` for no limit; ``"auto"``: half of
            the machine's memory on ``cpu`` and on software adapters, none on a real GPU.
        capture_limit: Bytes that the recordings of all captured functions may keep, on the host and
            on devices; those not used for longest go first. What replays work in does not count.
        check_numerics: Whether every kernel's float results are looked through for NaN and
            infinities that its inputs did not have; the first raises. So do integers of models
            from ONNX that leave 32 bits. Slow.
        debug: Whether shaders on ``webgpu`` watch themselves: an access out of bounds, a race, a
            loop without end, a ``wk_assert`` that fails, NaN from finite numbers, a result that was
            never written raises `KernelFault` at the next read, with the author's line;
            ``wk_print`` prints. Captured functions run eagerly meanwhile. On other backends NaN
            from finite numbers raises `NumericsError` at once. Slow.
        capture_check: Whether the second call of a captured function's signature compares what the
            function does with the first call, and warns of each line that does something else,
            which on a GPU it never does again; see `capture`.
        small_ops: ``"host"`` or ``"device"``: where ops of a few numbers run that the host has
            all of, where both give the same bits.
        tracebacks: ``"short"`` or ``"full"``: what notebooks show of a `ShaderError` or a
            `KernelFault`: the line that met it and its message, or all frames.
        tuning: ``"known"``: a kernel with variants runs as the one that was measured fastest on
            this adapter in an earlier process, where that is known; ``"on"``: and what is not
            known is measured along the way, for the next process; ``"auto"``: on for a real GPU,
            known for a software adapter; ``"off"``: the static choice. At first what the
            environment variable WGSL_KERNELS_TUNING says, or ``"auto"``; a wrong word there raises
            when it is first asked for.
        progress: ``"on"``, ``"off"`` or ``"auto"``: whether a line on standard error says that
            kernels are compiled or measured, when that takes more than a second, or that they run,
            when it is more than five; by default on a terminal and in a notebook.
        compile_timeout: Seconds that one kernel may be compiled on ``webgpu``; then a `ShaderError`
            names it, and the thread that compiles it is left behind. ``None`` for no limit.
        dispatch_timeout: Seconds that the dispatches submitted together, at most 64 (512 of a
            captured function), may run on ``webgpu``; then a `DeviceLostError` names them, and the
            device is given up. ``None`` for no limit; ``"auto"``: 60 on a GPU, no limit on a
            software adapter.
    """

    fusion: str
    fallback: str
    deterministic: bool
    memory_limit: int | str | None
    capture_limit: int
    check_numerics: bool
    debug: bool
    capture_check: bool
    small_ops: str
    tracebacks: str
    process: dict[str, Any]
    looks_at_results: bool
    """Whether the process has a switch on that looks at the results of each run; for hot paths."""
    progress: str
    tuning: str
    compile_timeout: float | None
    dispatch_timeout: float | str | None

    def __init__(self) -> None:
        object.__setattr__(self, "looks_at_results", False)
        object.__setattr__(
            self,
            "process",
            _Switches(
                fusion="auto",
                fallback="warn",
                deterministic=False,
                memory_limit="auto",
                capture_limit=256 << 20,
                check_numerics=False,
                debug=False,
                capture_check=True,
                small_ops="host",
                tracebacks="short",
                progress="auto",
                compile_timeout=600.0,
                dispatch_timeout="auto",
            ),
        )
        given = os.environ.get(TUNING_VARIABLE, "auto")
        if given in TUNING:
            self.process["tuning"] = given

    def __getattr__(self, name: str) -> Any:
        if name not in _CHECKS:
            raise AttributeError(f"config has no {name!r}; it has {', '.join(_CHECKS)}.")
        here = context.current().config
        return here[name] if name in here else self.process[name]

    def __setattr__(self, name: str, value: Any) -> None:
        _check(name, value)
        if name in _FOLLOWED and self.process[name] and not value:
            try:
                _end(name)
            finally:
                self._put(name, value)
        else:
            self._put(name, value)

    def _put(self, name: str, value: Any) -> None:
        self.process[name] = value
        looks = self.process["check_numerics"] or self.process["debug"]
        object.__setattr__(self, "looks_at_results", looks)
        _notify(name)

    def value(self, name: str, now: context.Context) -> Any:
        """Return a switch in a context that is at hand; for hot paths."""
        if now.config and name in now.config:
            return now.config[name]
        return self.process[name]

    def switches(self, now: context.Context) -> Mapping[str, Any]:
        """Return all switches in a context that is at hand; for hot paths that ask for several."""
        return _Switches(self.process, **now.config) if now.config else self.process

    def is_on(self, name: str, now: context.Context) -> bool:
        """Return a yes-or-no switch in a context that is at hand; for hot paths."""
        if now.config and name in now.config:
            return bool(now.config[name])
        return bool(self.process[name])

    @contextmanager
    def using(self, **values: Any) -> Iterator[None]:
        """Hold ``values`` for a block of this thread or task.

        Raises:
            ArgumentError: A switch is unknown or its value is not allowed.
            KernelFault: At its end, of ``debug``: what the block's kernels did wrong and no read
                has reported; a block that raises has it as a note of its error.
        """
        for name, value in values.items():
            _check(name, value)
        asked = [name for name in _FOLLOWED if values.get(name)]
        for name in asked:
            _blocks[name] += 1
            _notify(name)
        try:
            with context.changed(config=values):
                try:
                    yield
                except BaseException as error:
                    _add_notes(error, asked)
                    raise
                for name in asked:
                    _end(name)
        finally:
            for name in asked:
                _blocks[name] -= 1
                _notify(name)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each switch with its value, for the process and here."""
        given = os.environ.get(TUNING_VARIABLE)
        process = {name: self.process.get(name, given) for name in _CHECKS}
        here = {**process, **context.current().config}
        rows = [(name, process[name], here[name]) for name in _CHECKS]
        return html_table(("switch", "process", "here"), rows)

    def is_anywhere(self, name: str) -> bool:
        """Say whether a followed switch is on for the process or in a block of some thread."""
        return bool(self.process[name]) or _blocks[name] > 0

    def follow(self, name: str, listener: Callable[[], None], at_end: Callable[[], None]) -> None:
        """Call ``listener`` whenever a followed switch may be on or off anywhere.

        Args:
            name: The switch.
            listener: What is called then.
            at_end: Is called, the switch being on, where a block ends or it goes off; may raise.
        """
        _followers[name].append(listener)
        _enders[name].append(at_end)


def _notify(name: str) -> None:
    for listener in tuple(_followers.get(name, ())):
        listener()


def _end(name: str) -> None:
    for listener in tuple(_enders.get(name, ())):
        listener()


def _add_notes(error: BaseException, names: list[str]) -> None:
    """Add to an error what ends with its block has to tell."""
    for name in names:
        try:
            _end(name)
        except WgslKernelsError as fault:
            error.add_note(f"{type(fault).__name__}: {fault}")


def _check(name: str, value: Any) -> None:
    if name not in _CHECKS:
        raise ArgumentError(f"config: {name!r} is unknown; known: {', '.join(_CHECKS)}.")
    wanted = _CHECKS[name](value)
    if wanted is not None:
        raise ArgumentError(f"config: {name} is {shown(value)}; want {wanted}.")


config = Config()
show_frames_if(lambda: config.tracebacks == "full")
