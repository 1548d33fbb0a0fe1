"""Methods of tensors: ops that say so, ``x.sum(0)`` is ``wk.sum(x, 0)``, and those here.

`wgsl_kernels.engine.tensors.methods` holds their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import all_public, public
from wgsl_kernels.engine.tensors.methods import provide_methods
from wgsl_kernels.ops.indexing import updating
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from wgsl_kernels.engine.tensors.tensor import Tensor


@public(space="", method=True)
def reshape(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """Return the same elements in another shape, given as one tuple or as lengths.

    See `wgsl_kernels.reshape`.
    """
    return shapes.reshape(x, _one_or_several(shape))


@public(space="", method=True)
def transpose(x: Tensor, *axes: int | Sequence[int]) -> Tensor:
    """Return ``x`` with its axes in another order, reversed where none is given.

    See `wgsl_kernels.permute_dims`.
    """
    return shapes.permute_dims(x, _one_or_several(axes) if axes else None)


@public(space="", method=True)
def to_device(self: Tensor, device: str, *, stream: None = None) -> Tensor:
    """Return the tensor on another backend; itself where it is there. Gradients flow through.

    Raises:
        ArgumentError: No backend has that name, or there is a ``stream``: backends have none.
    """
    if stream is not None:
        raise ArgumentError(f"to_device: stream is {shown(stream)}; want None.")
    with use_backend(device):
        return self if self.backend == device else run("Identity", self)


def _one_or_several(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 else given


PROPERTIES: dict[str, Callable[[Tensor], Any]] = {
    "T": shapes.permute_dims,
    "at": updating.at,
    "mT": shapes.matrix_transpose,
}
"""The ops that are attributes."""


def methods() -> dict[str, Callable[..., Any]]:
    """Return the methods, by name; their first argument is the tensor."""
    return {name: op for op, names in all_public().items() for name in names.methods}


def bind_methods() -> None:
    """Give tensors their methods and attributes, once all ops are loaded."""
    provide_methods(methods(), PROPERTIES)
