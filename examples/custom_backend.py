"""A backend in one file: it hands every kernel to another backend, and counts what passes by."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.driver import Usage
from wgsl_kernels.engine.registry.registry import Kernel


class CountingBackend:
    """Counts; its arrays are tensors of the backend that does the work."""

    def __init__(self, inner: str) -> None:
        self.inner = inner
        self.runs: Counter[str] = Counter()
        self.uploads = self.downloads = 0
        self.alive = 0

    def upload(self, values: np.ndarray) -> wk.Tensor:
        """Return a new array with these values."""
        self.uploads += 1
        dtype = wk.string if values.dtype == object else values.dtype
        with wk.use_backend(self.inner):
            return self._counted(wk.tensor(values, dtype=dtype))

    def download(self, array: wk.Tensor) -> np.ndarray:
        """Return the values behind ``array``."""
        self.downloads += 1
        return array.numpy()

    def free(self, array: wk.Tensor) -> None:
        """Release ``array``: no tensor of this backend holds it any more."""
        self.alive -= 1
        array.dispose()

    def run(
        self,
        kernel: Kernel,
        arrays: list[Any],
        attrs: dict[str, Any],
        outputs: list[wk.Spec] | None,
    ) -> Sequence[wk.Tensor]:
        """Run the kernel of the same name on the inner backend."""
        self.runs[kernel.name] += 1
        declared = kernel.signature
        names = [one.name for one in declared.inputs] if declared else map(str, range(len(arrays)))
        inputs = dict(zip(names, arrays, strict=True))
        with wk.use_backend(self.inner):
            found = wk.engine().run_kernel(kernel.name, inputs, attrs)
        return [self._counted(one) for one in (found if isinstance(found, tuple) else (found,))]

    def memory(self) -> Usage:
        """Return nothing: what is held is held, and counted, by the inner backend."""
        return Usage(num_buffers=0, num_bytes=0)

    def close(self) -> None:
        """Do nothing: the inner backend goes on."""

    def _counted(self, array: wk.Tensor) -> wk.Tensor:
        self.alive += 1
        return wk.keep(array)  # past any tidy around: free() says when it goes


def main(inner: str) -> None:
    """Train a small network on the counting backend, and show what it counted."""
    counting = CountingBackend(inner)
    wk.register_backend("counting", lambda: counting)
    wk.copy_registered_kernels(inner, "counting")
    wk.set_backend("counting")

    draw = np.random.default_rng(0)
    x = wk.tensor(draw.normal(size=(64, 2)))
    labels = wk.reshape(wk.astype(x[:, 0] * x[:, 1] > 0.0, "float32"), (64, 1))
    hidden, out = (wk.variable(draw.normal(size=size)) for size in ((2, 16), (16, 1)))
    adam = wk.train.Adam(0.05)

    def loss() -> wk.Tensor:
        return wk.sigmoid_cross_entropy(labels, wk.relu(x @ hidden) @ out)

    for _ in range(50):
        adam.minimize(loss, [hidden, out])
    print(f"on {wk.get_backend()!r}, which is {inner!r} watched: loss {loss().item():.4f}")
    print(f"{counting.uploads} uploads, {counting.downloads} downloads, {counting.alive} alive")
    for name, count in counting.runs.most_common():
        print(f"{count:6} {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    main(parser.parse_args().backend)
