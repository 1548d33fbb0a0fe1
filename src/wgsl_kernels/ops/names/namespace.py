"""The package as a namespace of the array API standard: what it is asked about itself."""

from __future__ import annotations

from wgsl_kernels.engine.drivers.backends import backends, default_driver, find_driver, use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.dtypes import DTYPES, DType, DTypeLike, canonical
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.names.dtype_facts import KINDS, isdtype
from wgsl_kernels.ops.shapes import shape as shapes

RANK_MAX = 6
"""Axes that every kernel takes."""


class NamespaceInfo:
    """What `__array_namespace_info__` returns: devices are the backends, by name."""

    def capabilities(self) -> dict[str, bool | int]:
        """Return what the standard leaves open.

        Example:
            >>> __array_namespace_info__().capabilities()["data-dependent shapes"]
            True
        """
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": RANK_MAX,
        }

    def default_device(self) -> str:
        """Return the backend of this process."""
        return default_driver().name

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the dtypes that numbers have without another word; they are every device's."""
        if device is not None:
            find_driver(device)
        return {
            "real floating": "float32",
            "complex floating": "complex64",
            "integral": "int32",
            "indexing": "int32",
        }

    def devices(self) -> list[str]:
        """Return the names of all backends."""
        return backends()

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the dtypes of the standard that a device holds, by name.

        Args:
            device: A backend; without one that of the process.
            kind: As `isdtype` takes it; without it, all.

        Example:
            >>> __array_namespace_info__().dtypes(device="cpu", kind="complex floating")
            {'complex64': 'complex64', 'complex128': 'complex128'}
        """
        driver = default_driver() if device is None else find_driver(device)
        numbers = [one for one in DTYPES if one in ("bool", *KINDS["numeric"]) and one != "float16"]
        kept = [one for one in numbers if kind is None or isdtype(one, kind)]
        return {name: name for name in kept if driver.supports(name)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  the standard's name
    """Return what the array API standard asks about a namespace: devices, dtypes, capabilities."""
    return NamespaceInfo()


@public()
def asarray(
    obj: TensorLike,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """Return a tensor of ``obj``: itself where it is one of this dtype on this device.

    Args:
        obj: A scalar, nested lists, an array, a tensor, or what DLPack knows.
        dtype: As for `tensor`; without it that of ``obj``.
        device: The backend that it is on; without one where it is, or the backend in force.
        copy: True for another tensor in any case; False refuses one.

    Raises:
        ArgumentError: ``copy`` is False and ``obj`` no such tensor.

    Example:
        >>> x = asarray([1.0, 2.0])
        >>> asarray(x) is x, asarray(x, dtype="int32").tolist()
        (True, [1, 2])
    """
    wanted = None if copy is None else flag("asarray", "copy", copy)
    place = None if device is None else find_driver(device).name
    is_tensor = isinstance(obj, Tensor)
    fits = (
        is_tensor
        and (dtype is None or obj.dtype == canonical(dtype))
        and (place is None or obj.backend == place)
    )
    if wanted is False and not fits:
        raise ArgumentError("asarray: copy is False; only a tensor like that needs none.")
    if fits and not wanted:
        kept: Tensor = obj
        return kept
    if place is not None:
        with use_backend(place):
            return asarray(obj, dtype=dtype, copy=True)
    if is_tensor:
        return shapes.clone(obj) if dtype is None else cast.astype(obj, dtype)
    return tensor(obj, dtype=dtype)
