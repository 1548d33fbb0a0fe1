"""The kernel registry: (kernel name, backend name) to kernel, in a plain dictionary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.environment.origin import Origin, caller
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.environment.suggestions import nearest
from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.engine.registry.declaring import implementation, kernel_name, put
from wgsl_kernels.engine.registry.registrations import announce_change as announce_change
from wgsl_kernels.engine.registry.registrations import changing, look_up
from wgsl_kernels.engine.registry.signature import Signature, define_signature, find_signature
from wgsl_kernels.engine.values.attributes import text

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Spec

Hook = Callable[[Any], None]


class Files(Protocol):
    """Files that a backend has read for one registration of a kernel."""

    def look_again(self) -> bool:
        """Read them again; return whether any of them differs."""
        ...

    def differs(self) -> bool:
        """Say whether any of them differs now; nothing changes by that."""
        ...


@dataclass(frozen=True)
class Kernel:
    """One implementation of a named computation on one backend.

    Attributes:
        name: The kernel's name, shared by all backends.
        backend: The backend's name.
        func: What the backend runs.
        origin: The module and line that registered it.
        dtypes: The dtypes it takes; ``None`` for any.
        setup: Called with the backend when that starts.
        dispose: Called with the backend when that closes, or the kernel is unregistered.
        infer: Output specs from input specs and attributes, where there is no signature.
    """

    name: str
    backend: str
    func: Any
    origin: Origin
    dtypes: frozenset[DType] | None = None
    setup: Hook | None = None
    dispose: Hook | None = None
    infer: Callable[[list[Spec], dict[str, Any]], Spec] | None = None
    takes: frozenset[str] | None = field(default=None, repr=False)
    """Names of the attributes that ``func`` takes as keywords; ``None`` for all."""
    names: Callable[[], tuple[str, ...]] | None = field(default=None, repr=False)
    """Returns what a shader calls its inputs, asked where there is no signature."""
    accepts_epilogue: bool = field(default=False, repr=False)
    """Deprecated, and without effect: the program of what repeats says it."""
    repeats: bool = field(default=False, repr=False)
    """Whether ``func`` does the same for all arrays of the same layouts."""
    files: list[Files] = field(default_factory=list["Files"], repr=False, compare=False)
    """What was read for it; see `reload_kernels`."""

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the implementation itself calls its inputs, in its order."""
        return parameters_of(self.func).positional if self.names is None else self.names()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: name, backend, signature, dtypes, who registered it."""
        dtypes = self.dtypes if self.dtypes is not None else getattr(self.func, "served", None)
        rows = (
            ("backend", self.backend),
            ("inputs", ", ".join(self.input_names)),
            ("dtypes", "any" if dtypes is None else ", ".join(sorted(dtypes))),
            ("registered by", self.origin),
        )
        return html_table(("kernel", self.name), rows)

    @property
    def served(self) -> frozenset[DType] | None:
        """The dtypes of the first input that it takes: as registered, else as its shader says."""
        if self.dtypes is not None:
            return self.dtypes
        return getattr(self.func, "served", None)

    @property
    def signature(self) -> Signature | None:
        """What the kernel takes and gives; one per name, shared by all backends."""
        return find_signature(self.name)


_kernels: dict[tuple[str, str], Kernel] = {}
_started: dict[str, Any] = {}
_lenders: dict[str, str] = {}
"""The backend whose kernels another one runs, by that one's name."""


def register_kernel(
    name: str,
    backend: str,
    func: Callable[..., Any],
    *,
    signature: Callable[..., Any] | None = None,
    setup: Hook | None = None,
    dispose: Hook | None = None,
    override: bool = False,
) -> None:
    """Register ``func`` as the kernel ``name`` of ``backend``.

    On ``cpu``, ``func`` gets NumPy arrays and gives NumPy arrays, as under ``@cpu_kernel``; on
    ``webgpu`` it is called as ``func(gpu, x, ..., *, attr)``; elsewhere as that backend's ``run``
    does.

    Args:
        name: The kernel's name.
        backend: The backend's name; it need not be registered yet.
        func: The implementation.
        signature: A signature function for ``name``, as under ``@signature``.
        setup: Called with the backend when that starts (at once where it already has).
        dispose: Called with the backend when that closes or the kernel is unregistered.
        override: Whether an existing kernel is replaced.

    Raises:
        AlreadyRegistered: The name is taken on this backend, by another place.
        ArgumentError: A name is no string, or ``func`` no function.
    """
    origin = caller()
    kernel_name("register_kernel", name)
    text("register_kernel", "backend", backend)
    implementation("register_kernel", name, func)
    if signature is not None:
        define_signature(name, signature, origin=origin, override=override)
    add_kernel(
        Kernel(name, backend, func, origin, setup=setup, dispose=dispose, takes=keywords(func)),
        override=override,
    )


def add_kernel(kernel: Kernel, *, override: bool = False) -> None:
    """Put ``kernel`` into the registry; ``register_kernel`` and the decorators end here."""
    key = (kernel.name, kernel.backend)
    what = f"kernel {kernel.name!r} on backend {kernel.backend!r}"
    replaced = put(_kernels, key, kernel, what, override=override)
    announce_change(("kernel", *key))
    backend = _started.get(kernel.backend)
    if backend is not None:
        for hook in (None if replaced is None else replaced.dispose, kernel.setup):
            if hook is not None:
                hook(backend)


def unregister_kernel(name: str, backend: str) -> None:
    """Take the kernel ``name`` of ``backend`` out of the registry.

    Raises:
        KernelNotFound: There is none.
        ArgumentError: One of the names is no string.
    """
    key = (text("unregister_kernel", "name", name), text("unregister_kernel", "backend", backend))
    with changing:
        kernel = _kernels.pop(key, None)
    if kernel is None:
        raise KernelNotFound(not_found_message(name, backend))
    announce_change(("kernel", name, backend))
    started = _started.get(backend)
    if kernel.dispose is not None and started is not None:
        kernel.dispose(started)


def reload_kernels() -> list[str]:
    """Read the files of all kernels again, as after an edit, and return whose have changed.

    Files are read when a kernel is registered or first runs, and from then on only here. A kernel
    counts if its own file or one that it imports differs; what came from it is then dropped, as if
    it had been registered anew, and all else stays as it is: plans, captures, compiled shaders.

    Returns:
        The names of the kernels, in alphabetical order.

    Example:
        >>> wk.reload_kernels()
        []
    """
    kernels = _kernels.copy().values()
    files = {id(one): one for kernel in kernels for one in kernel.files}
    changed = {key for key, one in files.items() if one.look_again()}  # copies share theirs
    found = [kernel for kernel in kernels if any(id(one) in changed for one in kernel.files)]
    if found:
        announce_change(*[("kernel", one.name, one.backend) for one in found])
    return sorted({one.name for one in found})


_failed: set[str] = set()


def note_failure(name: str) -> None:
    """Have the next call of a kernel whose shader failed look at its files again.

    Where they have been mended meanwhile, it runs as they are then.
    """
    keys = [key for key, one in _kernels.copy().items() if one.name == name and one.files]
    if keys:
        _failed.add(name)
        announce_change(*[("kernel", *key) for key in keys])


def look_again_if_failed(name: str) -> None:
    """Read the files of a kernel again if it has failed since they were read."""
    if name in _failed:
        _failed.discard(name)
        for one in _kernels.copy().values():
            if one.name == name:
                for files in one.files:
                    files.look_again()


def get_kernel(name: str, backend: str) -> Kernel | None:
    """Return the kernel ``name`` of ``backend``, or None.

    Raises:
        ArgumentError: One of the names is no string.
    """
    key = (text("get_kernel", "name", name), text("get_kernel", "backend", backend))
    look_up(("kernel", *key))
    found = _kernels.get(key)
    lender = _lenders.get(backend) if found is None else None
    return found if lender is None else get_kernel(name, lender)


def lend_kernels(backend: str, lender: str | None) -> None:
    """Have a backend run the kernels of another where it has none of its own; None ends that."""
    if lender is None:
        _lenders.pop(backend, None)
    else:
        _lenders[backend] = lender


def kernels_for_backend(backend: str) -> list[Kernel]:
    """Return the kernels of ``backend``, in order of their names.

    Raises:
        ArgumentError: ``backend`` is no string.
    """
    text("kernels_for_backend", "backend", backend)
    found = [kernel for (_, owner), kernel in _kernels.copy().items() if owner == backend]
    return sorted(found, key=lambda kernel: kernel.name)


def backends_of(name: str) -> list[str]:
    """Return the backends that have a kernel ``name``, in alphabetical order."""
    return sorted(backend for (kernel, backend) in _kernels.copy() if kernel == name)


def kernel_table() -> dict[tuple[str, str], Kernel]:
    """Return the table itself: who changes it announces that."""
    return _kernels


def kernel_names() -> list[str]:
    """Return every kernel name that some backend has, in alphabetical order."""
    return sorted({name for name, _ in _kernels.copy()})


def copy_registered_kernels(src: str, dst: str) -> None:
    """Register every kernel of backend ``src`` for backend ``dst`` too.

    Kernels that ``dst`` has already are left as they are.

    Raises:
        ArgumentError: ``src`` has no kernels.
    """
    found = kernels_for_backend(src)
    if not found:
        others = ", ".join(sorted({backend for _, backend in _kernels.copy()})) or "none"
        raise ArgumentError(f"backend {src!r} has no kernels; those that have: {others}.")
    for kernel in found:
        if (kernel.name, dst) not in _kernels:
            copied = Kernel(**{**vars(kernel), "backend": dst})
            add_kernel(copied)


_where_else: list[str] = []


def say_where_else(words: str) -> None:
    """Have messages about unknown kernels end with a sentence, as on a worker of a cluster."""
    _where_else[:] = [words]


_DECORATORS = {"cpu": "cpu_kernel", "webgpu": "wgsl_kernel"}


def not_found_message(name: str, backend: str) -> str:
    """Return the words for a kernel that ``backend`` lacks."""
    others = backends_of(name)
    if not others:
        near = nearest(name, kernel_names())
        hint = "Check the spelling, or" if near is None else f"Did you mean {near!r}? Or"
        return (
            f"{name}: no kernel of that name on any backend. {hint} register one with cpu_kernel "
            "and wgsl_kernel; `wgsl-kernels new` begins a file."
            + "".join(f" {one}" for one in _where_else)
        )
    alone = [one.name for one in kernels_for_backend(backend) if backends_of(one.name) == [backend]]
    near, decorator = nearest(name, alone), _DECORATORS.get(backend)
    register = f'{decorator}("{name}")' if decorator else f'kernel("{name}", "{backend}")'
    return (
        f"{name}: no kernel on backend {backend!r}; found on {', '.join(others)}. "
        f'Use use_backend("{others[0]}"), or register one with {register}.'
        + ("" if near is None else f" On {backend} alone there is {near!r}.")
    )


def backend_started(name: str, backend: Any) -> None:
    """Run the setup hooks of the kernels of a backend that has just started."""
    _started[name] = backend
    for kernel in kernels_for_backend(name):
        if kernel.setup is not None:
            kernel.setup(backend)


def backend_closing(name: str) -> None:
    """Run the dispose hooks of the kernels of a backend that is about to close."""
    backend = _started.pop(name, None)
    if backend is None:
        return
    for kernel in kernels_for_backend(name):
        if kernel.dispose is not None:
            kernel.dispose(backend)


def keywords(func: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the keyword-only parameters of ``func``; None where it takes any."""
    parameters = parameters_of(func)
    return None if parameters.any_keyword else frozenset(parameters.keyword_only)
