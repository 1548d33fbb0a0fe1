"""Hashes of what every sample gives on one adapter, per layout, mode and named configuration.

A rewrite of the webgpu backend is held to them: a row that changes is changed on purpose, and the
commit says why. `python -m tests.recorded_bits` writes the file of the adapter in use anew and
prints the rows that differ from the file before; with `--new` it adds rows that have no record and
leaves the others as they are. What LAPACK computes on the host has none: its bits are the
processor's.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.samples.check import on_device
from tests.samples.fused import between_maps, gradients_of

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.bench.comparison.checks import has_gradient
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.ops.rules.host_kernels import ON_HOST
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.testing import Sample

FOLDER = Path(__file__).parent / "recorded"

Hashes = dict[str, str]


def recording_file() -> Path:
    """Return where the hashes of the adapter in use are kept; the file need not exist."""
    choice = choose_adapter()
    if choice is None:
        raise RuntimeError("no adapter; there is nothing to record")
    words = f"{choice.info.name} {choice.info.backend} {choice.info.driver}".lower()
    words = re.sub(r", \d+ bits", "", words)  # how many lanes llvmpipe has changes none
    return FOLDER / (re.sub(r"[^a-z0-9]+", "-", words).strip("-") + ".json")


def recorded() -> dict[str, Hashes]:
    """Return the hashes recorded on the adapter in use, by the sample's id; none without a file."""
    file = recording_file()
    found: dict[str, Hashes] = json.loads(file.read_text()) if file.is_file() else {}
    return found


def hashes(sample: Sample) -> Hashes:
    """Return a hash of what ``sample`` gives in each layout, mode and configuration."""
    found = {f"layout {name}": _hash(_eager(sample, name)) for name in LAYOUTS}
    found["fused"] = _hash(_fused(sample))
    found["captured"] = _hash(_captured(sample))
    if has_gradient(sample):
        found["gradient"] = _hash(_gradients(sample))
    with watching() as seen:
        _eager(sample, "default")
    for name in sorted(seen.get(sample.kernel, ())):
        with forced(sample.kernel, name):
            found[f"configuration {name}"] = _hash(_eager(sample, "default"))
    return found


def _hash(result: Any) -> str:
    digest = hashlib.sha256()
    for one in tensors_in(result):
        values = one.numpy()
        digest.update(f"{one.dtype}{one.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:12]


@contextmanager
def _mode(fusion: str) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(wk.use_backend("webgpu"))
        stack.enter_context(
            wk.config.using(fusion=fusion, fallback="silent", tuning="off", small_ops="device")
        )
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", RuntimeWarning)  # a kernel that reads cannot be replayed
        yield


def _read(result: Any) -> Any:
    for one in tensors_in(result):
        one.numpy()
    return result


def _eager(sample: Sample, layout: str) -> Any:
    with _mode("never"):
        return _read(sample.f(*tensors_for(arrays_for(sample), layout), **sample.attrs))


def _fused(sample: Sample) -> Any:
    with _mode("always"):
        return _read(between_maps(sample)(*tensors_for(arrays_for(sample))))


def _captured(sample: Sample) -> Any:
    with _mode("auto"):
        fast = wk.capture(between_maps(sample))
        inputs = tensors_for(arrays_for(sample))
        _read(fast(*inputs))
        result = _read(fast(*inputs))
        fast.dispose()
        return result


def _gradients(sample: Sample) -> Any:
    with _mode("never"):
        return _read(gradients_of(sample)(*tensors_for(arrays_for(sample))))


def record(*, only_new: bool) -> None:
    """Write the file of the adapter in use and print what differs from the one before."""
    before = recorded()
    after = dict(before) if only_new else {}
    rows = [one for one in on_device() if one.kernel not in ON_HOST and one.id not in after]
    for count, sample in enumerate(rows, 1):
        after[sample.id] = hashes(sample)
        print(f"\r{count} of {len(rows)} rows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for name, row in after.items():
        old = before.get(name, {})
        for key in row.keys() | old.keys():
            if row.get(key) != old.get(key):
                print(f"{name}: {key}: {old.get(key)} -> {row.get(key)}")
    FOLDER.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(after[name])}" for name in sorted(after)]
    recording_file().write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record(only_new="--new" in sys.argv[1:])
