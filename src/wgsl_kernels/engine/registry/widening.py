"""int8 and uint8 are for storage: kernels compute them in int32, and results are cast back.

Here, for all kernels alike. A kernel that is given bytes runs on casts of them to int32, and what
its signature says has the bytes' dtype is cast to that, modulo 256. The casts are ordinary kernel
runs: on ``webgpu`` the reading ones fuse into what reads, so that nothing is unpacked in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.registry import registry
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.dtypes import BYTES, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.registry.signature import Signature
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Spec

WIDE: DType = "int32"
"""What bytes are computed in."""
Narrows = tuple["DType | None", ...]
"""For each output the dtype that it is cast to afterwards, None where it stays."""


def is_widened(name: str, backend: str, specs: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
    """Say whether a run has inputs of bytes, or makes some, and its kernel computes in int32."""
    if not _has_bytes(specs) and attrs.get("dtype") not in BYTES:
        return False
    declared, kernel = find_signature(name), registry.get_kernel(name, backend)
    is_taker = declared is not None and declared.takes_bytes
    return not is_taker or (kernel is not None and not kernel.origin.is_ours)


def widened_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with int32 for an asked dtype of bytes."""
    asked = attrs.get("dtype")
    is_narrow = asked is not None and canonical(asked) in BYTES
    return {**attrs, "dtype": WIDE} if is_narrow else dict(attrs)


def narrows_of(
    declared: Signature | None, specs: Sequence[Any], attrs: Mapping[str, Any]
) -> Narrows:
    """Return what outputs are cast to: bytes where the signature says so and int32 is computed.

    Without a signature results stay as they are computed.

    Raises:
        ArgumentError, ShapeError, DTypeError: The signature refuses the run.
    """
    if declared is None:
        return ()
    said = declared.infer(specs, attrs).specs
    computed = declared.infer([_widened(one) for one in specs], widened_attrs(attrs)).specs
    return tuple(
        one.dtype if one.dtype in BYTES and wide.dtype == WIDE else None
        for one, wide in zip(said, computed, strict=True)
    )


def _has_bytes(specs: Sequence[Any]) -> bool:
    for one in specs:
        if isinstance(one, list):
            if _has_bytes(one):
                return True
        elif one is not None and one.dtype in BYTES:
            return True
    return False


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(one) for one in value]
    spec: Spec | None = value
    return spec.like(dtype=WIDE) if spec is not None and spec.dtype in BYTES else spec
