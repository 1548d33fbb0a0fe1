"""Running a program on two backends in lockstep, and stopping at the first kernel that differs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, ShadowMismatch
from wgsl_kernels.engine.environment.origin import call_line
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result

Array = np.ndarray[Any, Any]

_SCRIPT = '''"""The kernel {name} alone, on the inputs on which two backends differed."""

import numpy as np

import wgsl_kernels as wk
{imports}
data = np.load({data!r})
inputs = [{inputs}]
results = []
for backend in ({one!r}, {two!r}):
    with wk.use_backend(backend), wk.config.using(small_ops="device", fallback="silent"):
        given = [None if one is None else wk.tensor(one) for one in inputs]
        named = dict(zip({names!r}, given, strict=True))
        found = wk.engine().run_kernel({name!r}, named, {attrs!r})
        found = found if isinstance(found, tuple) else (found,)
        results.append([one.numpy() for one in found])
for one, two in zip(*results, strict=True):
    size = np.max(np.abs(two), initial=0)
    np.testing.assert_allclose(one, two, rtol={rtol!r}, atol={rtol!r} * size)
'''


@dataclass
class Shadow:
    """What a `shadow` block has seen.

    Attributes:
        runs: How many kernels ran.
        compared: How many of them were compared.
        mismatches: Those that differed, where it keeps going.
    """

    runs: int = 0
    compared: int = 0
    mismatches: list[ShadowMismatch] = field(default_factory=list[ShadowMismatch])


@contextmanager
def shadow(
    backend: str,
    *,
    every: int = 1,
    keep_going: bool = False,
    rtol: float = 1e-4,
    folder: str | os.PathLike[str] | None = None,
) -> Iterator[Shadow]:
    """Run each kernel of a block on ``backend``, too, and stop at the first one that differs.

    Both get the same inputs, those of the active backend, so an error does not hide behind one
    before. A kernel that the other backend lacks is not compared, nor is one of strings.

    Args:
        backend: The other backend, as ``"cpu"``.
        every: Of how many kernel runs one is compared.
        keep_going: Whether differences are collected in ``mismatches`` rather than raised.
        rtol: What an element may be off, relative to the largest of its output.
        folder: Where a script is written that repeats the kernel alone, with its data.

    Raises:
        ShadowMismatch: A kernel differs; names it, its shapes, the worst element, both values and
            the Python line that called the op.
        ArgumentError: The backend is unknown, or ``every`` is below 1.

    Example:
        >>> with wk.shadow("cpu") as seen:
        ...     y = wk.exp(wk.tensor([0.0, 1.0]))
        >>> seen.compared
        1
    """
    find_driver(backend)
    if type(every) is not int or every < 1:
        raise ArgumentError(f"shadow: every is {shown(every)}; want a whole number from 1 on.")
    seen = Shadow()

    def compare(call: KernelRun, proceed: Proceed) -> Result:
        result = proceed(call)
        seen.runs += 1
        if (seen.runs - 1) % every == 0 and get_kernel(call.name, backend) is not None:
            found = result if isinstance(result, tuple) else (result,)
            error = _difference(call, found, backend, rtol, seen.runs)
            seen.compared += 1
            if error is not None:
                if folder is not None:
                    error.script = _write(Path(folder), call, backend, rtol)
                    error.args = (f"{error}\nAlone: python {error.script}",)
                if not keep_going:
                    raise error
                seen.mismatches.append(error)
        return result

    with context.intercepted(compare):
        yield seen


def _difference(
    call: KernelRun, found: tuple[Tensor, ...], backend: str, rtol: float, number: int
) -> ShadowMismatch | None:
    if any(one.dtype == "string" for one in found):
        return None
    with (
        context.changed(interceptors=()),
        use_backend(backend),
        config.using(fallback="silent", small_ops="device"),
    ):
        result: Any = run_many(call.name, *call.inputs, **call.attrs)
        others = [one.numpy() for one in (result if isinstance(result, tuple) else (result,))]
    for output, (one, want) in enumerate(zip(found, others, strict=True)):
        got = one.numpy()
        if one.dtype in BYTES:  # narrowed after the kernel, which gave int32: see `engine.widening`
            want = want.astype(got.dtype)
        off = _off(got, want, rtol)
        if off is None:
            continue
        shapes = ", ".join(show(each.shape) for each in call.inputs if isinstance(each, Tensor))
        return ShadowMismatch(
            f"{call.name}: kernel run {number} of the block, on {shapes}: output {output} at "
            f"{list(off)} is {got[off]}, on {backend!r} {want[off]}. Called at {call_line()}."
        )
    return None


def _off(got: Array, want: Array, rtol: float) -> tuple[int, ...] | None:
    """Return the index of the element that is furthest off, None where all are near."""
    if got.shape != want.shape:
        return ()
    if got.dtype.kind not in "fc":
        wrong = np.asarray(got != want, float)
    else:
        size = np.max(np.abs(want[np.isfinite(want)]), initial=0.0)
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.complex128) - want)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            wrong = np.where(same | (error <= rtol * size), 0.0, np.nan_to_num(error, nan=np.inf))
    if not wrong.any():
        return None
    return tuple(int(one) for one in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _write(folder: Path, call: KernelRun, backend: str, rtol: float) -> str | None:
    """Write a script that runs the kernel alone on these inputs; return its path."""
    inputs = list(call.inputs)
    plan = call.plan
    if plan is None or any(isinstance(one, (list, tuple)) for one in inputs):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / f"{call.name}.npz"
    arrays = {f"i{n}": one.numpy() for n, one in enumerate(inputs) if isinstance(one, Tensor)}
    np.savez(data, **arrays)  # type: ignore[arg-type]  # its stub takes no arrays by name
    places = [
        f"data['i{n}']" if isinstance(one, Tensor) else repr(one) for n, one in enumerate(inputs)
    ]
    kernel = get_kernel(call.name, backend)
    module = "" if kernel is None or kernel.origin.is_ours else kernel.origin.module
    own = module and module not in ("__main__", "<check>")
    imports = ""
    if kernel is not None and own:  # it may be found by the path of this program alone
        root = Path(kernel.origin.file).resolve().parents[module.count(".")]
        imports = f"import sys\n\nsys.path.append({str(root)!r})\nimport {module}\n"
    elif kernel is not None and module == "__main__" and Path(kernel.origin.file).is_file():
        file = str(Path(kernel.origin.file).resolve())
        imports = (
            "import contextlib\nimport runpy\n\nwith contextlib.suppress(Exception):  # which may "
            f"fail as it did, behind the kernel\n    runpy.run_path({file!r})\n"
        )
    text = _SCRIPT.format(
        name=call.name,
        imports=imports,
        data=str(data.resolve()),
        inputs=", ".join(places),
        names=tuple(plan.input_names),
        attrs=dict(call.attrs),
        one=plan.driver.name,
        two=backend,
        rtol=rtol,
    )
    script = folder / f"{call.name}.py"
    script.write_text(text, encoding="utf-8")
    return str(script)
