"""check_kernel: every check of one kernel, as one report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.backends import find_driver
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.testing.checks import (
    check_forward,
    check_gradient_by_numbers,
    check_gradient_parity,
    check_leaks,
    check_second_order,
    has_gradient,
)
from wgsl_kernels.testing.report import Report, Row
from wgsl_kernels.testing.samples import all_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.testing.sample import Sample


def check_kernel(
    name: str,
    samples: Sequence[Sample] | None = None,
    backends: Sequence[str] = ("cpu", "webgpu"),
) -> Report:
    """Check a kernel on samples and return what was found; it raises for no fault of the kernel.

    On each backend: results against the CPU kernel in float64 within the sample's bound, and
    whether tensors or buffers remain. Where there is a gradient rule: it against differences in
    float64, each backend's against that in float64, and the second gradient.

    Args:
        name: The kernel's name.
        samples: How it is called; without them, those that the package has for it.
        backends: Where it must run, without falling back to ``cpu``; samples of a dtype that a
            backend cannot hold are left out there.

    Raises:
        ArgumentError: There are no samples.
    """
    own = [one for one in all_samples() if one.kernel == name] if samples is None else samples
    if not own:
        raise ArgumentError(
            f"check_kernel: there are no samples for {name!r}; give samples=[Sample(...)]."
        )
    rows = [row for sample in own for row in _rows(sample, _holding(sample, backends))]
    return Report(name, rows)


def _holding(sample: Sample, backends: Sequence[str]) -> list[str]:
    """Return the backends that can hold the sample's dtypes; strings live on cpu for all."""
    dtypes = set(sample.input_dtypes) - {"string"}
    return [name for name in backends if all(map(find_driver(name).supports, dtypes))]


def _rows(sample: Sample, backends: Sequence[str]) -> Iterator[Row]:
    for backend in backends:
        yield _row("forward", sample, backend, lambda: check_forward(sample, backend))  # noqa: B023  called at once
    if has_gradient(sample):
        yield _row("gradient", sample, "cpu", lambda: check_gradient_by_numbers(sample))
        for backend in backends:
            yield _row(
                "gradient parity",
                sample,
                backend,
                lambda: check_gradient_parity(sample, backend),  # noqa: B023  called at once
            )
        if sample.second_order:
            yield _row("second order", sample, "cpu", lambda: check_second_order(sample))
    for backend in backends:
        yield _row("leaks", sample, backend, lambda: check_leaks(sample, backend))  # noqa: B023  called at once


def _row(check: str, sample: Sample, backend: str, run: Callable[[], Row]) -> Row:
    try:
        return run()
    except Exception as error:  # a kernel may raise anything; the report tells
        note = f"{type(error).__name__}: {error}"
        return Row(check, sample.id, backend, False, note=note)
