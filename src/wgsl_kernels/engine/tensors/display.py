"""How a tensor shows itself: values where that costs nothing surprising, else the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor

SHOWN_BYTES = 1 << 16
"""Larger tensors show their facts alone, since reading them would move that many bytes."""


def as_text(tensor: Tensor) -> str:
    """Return the tensor as ``repr`` prints it."""
    facts = _facts(tensor)
    values = _values(tensor)
    if values is None:
        return f"<{facts}>"
    return f"<{facts}\n{values}>" if "\n" in values else f"<{facts}: {values}>"


def as_html(tensor: Tensor) -> str:
    """Return the tensor as a notebook shows it."""
    import html

    values = _values(tensor)
    body = "" if values is None else f"<pre>{html.escape(values)}</pre>"
    return f"<div><code>{html.escape(_facts(tensor))}</code>{body}</div>"


def _facts(tensor: Tensor) -> str:
    kind = type(tensor).__name__
    name = getattr(tensor, "name", "")
    label = f"{kind} {name!r}" if name else kind
    state = "disposed" if tensor.is_disposed else f"on {tensor.backend}"
    facts = f"{label} {show(tensor.shape)} {tensor.dtype} {state}"
    if not tensor.is_disposed and tensor.spec.nbytes > SHOWN_BYTES:
        facts += f", {tensor.spec.nbytes / 2**20:.1f} MiB: numpy() shows the values"
    return facts


def _values(tensor: Tensor) -> str | None:
    if tensor.is_disposed or tensor.spec.nbytes > SHOWN_BYTES:
        return None
    return np.array2string(tensor._values(), threshold=100, edgeitems=3, separator=", ")
