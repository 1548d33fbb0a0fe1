"""Shaders under work: `watch` has a program's next calls see edits, `step` traces an invocation."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError, WgslKernelsError
from wgsl_kernels.engine.execution.plans import plans
from wgsl_kernels.engine.registry.public import publish
from wgsl_kernels.engine.registry.registrations import announce_change
from wgsl_kernels.engine.registry.registry import kernels_for_backend
from wgsl_kernels.engine.values.attributes import function
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.engine.drivers.driver import Driver
    from wgsl_kernels.engine.execution.plans import Plan
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.testing.stepping.trace import Trace

ENDINGS = (".wgsl", ".wesl", ".toml")
_STEPPER = "wgsl_kernels.bench.stepping.step"
"""What traces an invocation, imported by name when one is asked for: its floor is above."""
_SETTLED_MS = 30
"""How long after a change one waits for more of the same save."""
_TRIED = 8
"""Calls of a kernel, the latest, with which an edited file is tried."""


@dataclass
class Watching:
    """A watch over the shader files of users' kernels; as a context manager it ends with its block.

    Attributes:
        folders: More folders to watch, beside those of the programs that registered kernels.
        say: Is given each line of what there is to tell.
        broken: What is wrong with files that were edited, by kernel; the version before runs on.
    """

    folders: tuple[Path, ...] = ()
    say: Callable[[str], object] = lambda line: print(line, file=sys.stderr)
    broken: dict[str, str] = field(default_factory=dict[str, str])
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)
    _looking: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch, in a thread."""
        self._thread = threading.Thread(target=self._run, name="wgsl-kernels watch", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the watch; kernels stay as they are."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        atexit.unregister(self.stop)

    def look(self) -> list[str]:
        """Look at the files now, and return the names of the kernels that were replaced.

        An edited kernel is tried first, with zeros in the shapes of its latest calls: where it
        cannot be read, composed or compiled, that is said and the version before runs on.
        """
        with self._looking:
            return sorted({one.name for one in _own_kernels() if self._is_replaced(one)})

    def _is_replaced(self, kernel: Kernel) -> bool:
        name = kernel.name
        if not any(one.differs() for one in kernel.files):
            if self.broken.pop(name, None) is not None:
                self.say(f"wgsl-kernels: {name} is as it was")
            return False
        try:
            _attempt(kernel)
        except WgslKernelsError as error:
            if self.broken.get(name) != str(error):
                self.broken[name] = str(error)
                self.say(_shown(error, name))
                self.say(f"wgsl-kernels: the last good {name} runs on")
            return False
        self.broken.pop(name, None)
        for one in kernel.files:
            one.look_again()
        announce_change(("kernel", name, kernel.backend))
        self.say(f"wgsl-kernels: {name} is replaced")
        return True

    def _run(self) -> None:
        while not self._ended.is_set():
            folders = self._watched()
            if not folders:
                self._ended.wait(0.2)
            else:
                self._run_over(folders)

    def _run_over(self, folders: tuple[Path, ...]) -> None:
        """Watch these folders, until the end or until there are others."""
        from watchfiles import watch as changes_in

        changes = changes_in(
            *folders,
            watch_filter=lambda _, path: path.endswith(ENDINGS),
            debounce=_SETTLED_MS,
            step=10,
            rust_timeout=200,
            yield_on_timeout=True,
            stop_event=self._ended,
            raise_interrupt=False,
        )
        is_begun = False  # the watch begins with the first step, and may take seconds for it
        for changed in changes:
            if changed or not is_begun:
                self.look()  # at first: what was saved before it had begun
                is_begun = True
            elif self._watched() != folders:
                return

    def _watched(self) -> tuple[Path, ...]:
        found = {*self.folders, *(one.origin.folder for one in _own_kernels())}
        return tuple(sorted(one.resolve() for one in found if one.is_dir()))


def watch(*folders: str | Path, say: Callable[[str], object] | None = None) -> Watching:
    """Have shader files be read again when they are saved, so that the next calls see them.

    The folders of the programs that registered kernels are watched, those below them, and what is
    given here. A kernel whose edited file is broken goes on as it was, and what is wrong is said;
    captured functions are captured anew. Text in a Python file is read where that file runs.

    Args:
        *folders: More folders with shaders.
        say: Is given what there is to tell, line by line; by default it goes to ``stderr``.

    Returns:
        The watch, which ends with `stop`, as a context manager, or with the process.

    Raises:
        ArgumentError: There is no such folder, or ``say`` is no function.

    Example:
        >>> with wk.dev.watch():
        ...     pass  # a training loop
    """
    watching = Watching(tuple(map(_folder, folders)))
    if say is not None:
        watching.say = function("watch", "say", say)
    watching.start()
    return watching


def step(
    f: Callable[..., Any],
    *args: Any,
    at: str | int | tuple[int, ...] | None = None,
    invocation: int | tuple[int, ...] | None = None,
    workgroup: int | tuple[int, ...] | None = None,
    dispatch: int | None = None,
) -> Trace:
    """Return what one invocation of a kernel does, line by line, in float32 beside float64.

    ``f`` runs on the simulator, each kernel by itself, and the dispatch runs again with one
    invocation noted. Print the trace, or have a notebook show it; its ``steps`` are values.

    Args:
        f: Runs the kernel; what else it wants beside ``args`` a ``lambda`` may give.
        *args: Its arguments.
        at: The element of a result whose last writer is traced, as ``"y[3, 5]"`` or ``(3, 5)``; by
            default the first one.
        invocation: Instead of that an invocation along x, y and z, those that are missing 0; of the
            whole grid, or of ``workgroup``.
        workgroup: The workgroup, likewise.
        dispatch: Which dispatch, from 1; by default the last.

    Returns:
        The trace. Where ``first`` is no None, float32 and float64 part there by more than 8 of 24
        bits; at ``worst`` most is lost.

    Raises:
        ArgumentError: There is no such element, invocation or dispatch, or no shader runs.
        ShaderError: The shader does what is not simulated.

    Example:
        >>> trace = wk.dev.step(wk.square, wk.tensor([3.0]), at="y[0]")
        >>> trace.got, [one.text for one in trace if one.kind == "return" and one.is_own]
        (9.0, ['return x * x'])
    """
    function("step", "f", f)
    bench = importlib.import_module(_STEPPER)
    trace: Trace = bench.stepped(
        f, args, at=at, invocation=invocation, workgroup=workgroup, dispatch=dispatch
    )
    return trace


def _folder(given: Any) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentError(f"watch: a folder is {shown(given)}; want a path.")
    folder = Path(given)
    if not folder.is_dir():
        raise ArgumentError(f"watch: there is no folder {folder}.")
    return folder


def _own_kernels() -> Iterator[Kernel]:
    """Yield the kernels that users registered and for which files were read."""
    for one in kernels_for_backend("webgpu"):
        if one.files and not one.origin.is_ours:
            yield one


def _attempt(kernel: Kernel) -> None:
    """Run a kernel with its files as they are now, as it was called before, on zeros.

    Raises:
        WgslKernelsError: It cannot be read, composed, compiled or run.
    """
    make = getattr(kernel.func, "anew", None)
    fresh = replace(kernel, func=kernel.func if make is None else make(), files=[])
    driver = find_driver(kernel.backend)
    tried = [
        (key, plan)
        for key, plan in list(plans.items())
        if plan is not None and plan.name == kernel.name
        if plan.casts is None and plan.driver is driver
    ]
    for key, plan in tried[-_TRIED:]:
        _run_once(fresh, driver, key, plan)
    if not tried and make is not None and hasattr(fresh.func, "source"):
        _ = fresh.func.source  # it did not run yet: it is read


def _shown(error: WgslKernelsError, kernel: str) -> str:
    """Return what an error says as a terminal shows a finding, where it has a place."""
    from wgsl_kernels.wgsl.errors.placed import placed_finding

    if not isinstance(error, ShaderError):
        return str(error)
    return str(error.findings[0] if error.findings else placed_finding(error, kernel) or error)


def _run_once(fresh: Kernel, driver: Driver, key: tuple[Any, ...], plan: Plan) -> None:
    specs = _specs_of(key)
    launch = driver.prepare(fresh, specs, plan.attrs, plan.outputs, plan.output_names)
    made = launch([_zeros(driver, one) for one in specs])
    driver.evaluate([one[0] if plan.outputs is None else one for one in made])


def _specs_of(key: tuple[Any, ...]) -> list[Any]:
    """Return the specs of a plan's inputs from what it is remembered by, lists for lists."""
    found: list[Any] = []
    for one in key[2:]:
        if one is None or isinstance(one, Spec):
            found.append(one)
        elif isinstance(one, tuple) and one and all(isinstance(part, Spec) for part in one):
            found.append(list(one))
        else:
            break  # the attributes begin
    return found


def _zeros(driver: Driver, spec: Spec | Sequence[Spec] | None) -> Any:
    if spec is None:
        return None
    if not isinstance(spec, Spec):
        return [_zeros(driver, one) for one in spec]
    return driver.upload(np.zeros(spec.shape, numpy_dtype(spec.dtype)), spec)


publish(__name__)
