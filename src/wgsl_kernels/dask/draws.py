"""What ``dask.array.random`` draws from for chunks that are tensors.

Dask splits a seed into one for each chunk, and each task draws from a generator of its own: the
numbers depend on the seed and the chunks, not on workers or their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.committed import committed

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.ops.random.numpy_draws import Size


class ChunkGenerator(wk.random.Generator):
    """A generator on one backend, in the place of NumPy's bit generators and states.

    Args:
        seed: Whatever ``numpy.random.SeedSequence`` takes, or one of these.
    """

    backend: str

    def __init__(self, seed: Any = None) -> None:
        is_sequence = isinstance(seed, np.random.SeedSequence)
        self._seed_seq = seed if is_sequence else np.random.SeedSequence(seed)  # Dask splits it
        with wk.use_backend(self.backend):
            super().__init__(self._seed_seq)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        sequence = self._seed_seq
        return type(self).__name__, str(sequence.entropy), sequence.spawn_key

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"da.random: {name!r} is not drawn as tensors; want random, uniform, normal, "
            "standard_normal, exponential or integers. Or draw NumPy's, with the configuration "
            "array.backend = 'numpy', and move them by to_backend."
        )

    def _drawn(self, *args: Any, **options: Any) -> wk.Tensor:
        return committed(super()._drawn(*args, **options))

    def random(
        self, size: Size = None, dtype: DTypeLike = "float32", out: None = None
    ) -> wk.Tensor:
        """Return numbers in [0, 1): float32 where Dask asks for float64, as it does by default."""
        del out
        return super().random(size, "float32" if dtype == np.float64 else dtype)

    def random_sample(self, size: Size = None) -> wk.Tensor:
        """Return numbers in [0, 1), as ``numpy.random.RandomState`` calls it."""
        return self.random(size)

    randint = wk.random.Generator.integers
    """Whole numbers, as ``numpy.random.RandomState`` calls it."""


class WebgpuGenerator(ChunkGenerator):
    """A generator on the backend ``webgpu``."""

    backend = "webgpu"


class CpuGenerator(ChunkGenerator):
    """A generator on the backend ``cpu``, of the same numbers."""

    backend = "cpu"
