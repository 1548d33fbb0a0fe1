"""What ``wgsl-kernels check --image FOLDER`` writes: heat maps of outputs, a picture of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.checking.fast import sample_rates, sample_timings
from wgsl_kernels.bench.comparison.judging import exact_of
from wgsl_kernels.bench.pictures import beside, painted, plane_of, titled, write_png
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import arrays_for, call_of, tensors_for
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from wgsl_kernels.testing.rates import Rates
    from wgsl_kernels.testing.sample import Sample


def write_images(folder: Path, names: Sequence[str], backend: str) -> list[Path]:
    """Write what the samples of kernels give that is like an image, and return the files.

    From left to right, each with its title and the numbers of its darkest and brightest colour:
    what a backend gives, what is right, and where they differ, brighter where they differ more.

    Raises:
        ArgumentError: The folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"check: --image {folder}: {error.strerror}.") from None
    found: list[Path] = []
    for name in names:
        for number, sample in enumerate(samples_of(name)):
            for output, picture in _pictures(sample, backend):
                place = folder / f"{name}-{number}{f'-{output}' if output else ''}.png"
                write_png(place, picture)
                found.append(place)
    return found


def _pictures(sample: Sample, backend: str) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    arrays = arrays_for(sample)
    with use_backend(backend):
        made = [one.numpy() for one in outputs_of(call_of(sample), tensors_for(arrays))]
    for output, (got, right) in enumerate(zip(made, exact_of(sample, arrays), strict=False)):
        plane, exact = plane_of(got), plane_of(np.asarray(right))
        if plane is None:
            continue
        shown, words = [painted(plane)], ["got"]
        if exact is not None and exact.shape == plane.shape:
            finite = exact[np.isfinite(exact)]
            low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
            shown = [painted(plane, low, high), painted(exact, low, high)]
            with np.errstate(all="ignore"):
                off = np.abs(plane.astype(np.float64) - exact)
            apart = np.where(plane == exact, 0.0, off)
            shown.append(painted(apart, 0.0))
            scale = f"{low:.3g} to {high:.3g}"
            most = np.max(apart[np.isfinite(apart)], initial=0.0)
            words = [f"got {scale}", f"expected {scale}", f"off 0 to {most:.3g}"]
        yield output, titled(beside(shown), words)


def write_roofline(place: Path, names: Sequence[str]) -> bool:
    """Draw what the samples of kernels reach below the adapter's ceilings, where that is counted.

    Returns:
        Whether there was something to draw.

    Raises:
        ArgumentError: Matplotlib is not installed.
    """
    samples = [one for name in names for one in samples_of(name)]
    rates = [sample_rates(one, sample_timings(one, ("webgpu",))[0]) for one in samples]
    counted = [one for one in rates if one.intensity]
    if counted:
        _draw(place, counted)
    return bool(counted)


def _draw(place: Path, rates: Sequence[Rates]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ArgumentError(
            "check: a roofline wants Matplotlib: pip install 'wgsl-kernels[demo]'."
        ) from None
    top = rates[0].ceilings
    ridge = top.operations_per_second / top.bytes_per_second
    across = np.geomspace(min(0.05, ridge / 20), max(50.0, 20 * ridge), 100)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    roof = np.minimum(across * top.bytes_per_second, top.operations_per_second) / 1e9
    axes.loglog(across, roof, color="black", label="measured ceilings")
    for one in rates:
        reached = (one.operations or 0) / one.timing.seconds / 1e9
        axes.loglog([one.intensity], [reached], "o", label=one.timing.what)
    axes.set(xlabel="operations a byte", ylabel="1e9 operations a second")
    axes.legend(fontsize="small")
    axes.grid(which="both", alpha=0.2)
    figure.savefig(place)
