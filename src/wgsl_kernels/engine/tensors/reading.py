"""What a tensor is to Python and to other libraries: a number, a sequence, an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.host_memory import too_large
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.environment.suggestions import advice, no_attribute
from wgsl_kernels.engine.tensors.watched_reads import note_implicit_read
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array


class Reading:
    """Mixin: values on the host, in every form that is asked for. All of it waits for them."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for which every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            known = [] if name.startswith("_") else [one for one in dir(self) if one[0] != "_"]
            said = advice("tensor", name, known) if known else ""
            kind = type(self).__name__
            raise no_attribute(f"{kind!r} object", name, said)

        def __setitem__(self, index: Any, value: Any) -> None:
            raise DTypeError(
                "a tensor's values never change: write x = x.at[index].set(value), or assign to a "
                "variable."
            )

    def item(self: Tensor) -> Any:  # type: ignore[misc]  # the mixin's only class is Tensor
        """Return the only element as a Python scalar.

        Raises:
            ShapeError: There is not exactly one element.
        """
        if self.size != 1:
            raise ShapeError(f"item: the tensor has shape {show(self.shape)}; want one element.")
        only = self.numpy().reshape(-1)[0]
        return only if self.dtype == "string" else only.item()

    def tolist(self: Tensor) -> Any:  # type: ignore[misc]  # as above
        """Return the values as nested Python lists.

        Raises:
            OutOfMemoryError: They do not fit into memory, as of a number that is broadcast.
        """
        try:
            return self.numpy().tolist()
        except MemoryError:
            raise too_large(self.spec) from None

    def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:  # type: ignore[misc]  # as above
        if copy is False:
            raise ValueError("a tensor's values cannot be had without a copy")
        if context.current().interceptors:
            note_implicit_read(self, "np.asarray")
        try:
            values = self._values()
            return values if dtype is None else values.astype(dtype)
        except MemoryError:  # a broadcast tensor may have more elements than memory
            raise too_large(self.spec) from None

    def __dlpack__(  # type: ignore[misc]  # as above
        self: Tensor,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of a copy in host memory, whichever backend has the values."""
        if copy is False:
            raise BufferError("a tensor's values cannot be had without a copy")
        note_implicit_read(self, "from_dlpack")
        values = self._values()
        return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self: Tensor) -> tuple[int, int]:  # type: ignore[misc]  # as above
        return (1, 0)  # kDLCPU

    def __bool__(self: Tensor) -> bool:  # type: ignore[misc]  # as above
        if self.size != 1:
            raise ShapeError(
                f"bool: a tensor of shape {show(self.shape)} is neither true nor false; "
                "use all() or any()."
            )
        return bool(self.item())

    def __int__(self: Tensor) -> int:  # type: ignore[misc]  # as above
        return int(self.item())

    def __index__(self: Tensor) -> int:  # type: ignore[misc]  # as above
        if self.dtype not in INTEGERS or self.size != 1:
            raise DTypeError("only an integer tensor with one element serves as an index.")
        return int(self.item())

    def __float__(self: Tensor) -> float:  # type: ignore[misc]  # as above
        return float(self.item())

    def __complex__(self: Tensor) -> complex:  # type: ignore[misc]  # as above
        return complex(self.item())

    def __format__(self: Tensor, form: str) -> str:  # type: ignore[misc]  # as above
        if not form:
            return str(self)
        if self.size != 1:
            raise DTypeError(
                f"format: a tensor of shape {show(self.shape)} has no format {form!r}; want one "
                "element. Format numpy() or tolist() of it."
            )
        return format(self.item(), form)

    def __len__(self: Tensor) -> int:  # type: ignore[misc]  # as above
        if not self.shape:
            raise DTypeError("a scalar tensor has no length.")
        return self.shape[0]

    def __iter__(self: Tensor) -> Iterator[Tensor]:  # type: ignore[misc]  # as above
        return (self[index] for index in range(len(self)))
