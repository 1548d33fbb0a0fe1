"""Where functions of the array API standard behave here otherwise than it says, and why.

Names that are not here at all are in the ledger; see `standards`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """One thing that is otherwise.

    Attributes:
        name: The function, or another name of the standard.
        what: What is otherwise.
        because: Why.
        probe: An expression of the standard that shows it: here it raises, or gives another value.
        dtypes: The dtypes of the arrays in the expression, any one of which shows it.
    """

    name: str
    what: str
    because: str
    probe: str
    dtypes: tuple[str, ...] = ("float32",)


_REFUSED = "TensorFlow.js refuses this, and what it refuses is an error here"

DEVIATIONS = (
    Deviation(
        "finfo",
        "a dtype is a string, here and everywhere",
        "it equals its name, and kernels are registered by it",
        "not isinstance(finfo(x.dtype).dtype, str)",
    ),
    Deviation(
        "exp",
        "at infinite complex numbers it is NaN, and so are other complex functions",
        "a formula of the parts has them all but there",
        "exp(asarray(complex(-inf, inf)))",
    ),
    Deviation(
        "from_dlpack",
        "copy=False is refused",
        "a tensor's values belong to it",
        "from_dlpack(x, copy=False)",
    ),
    Deviation("linspace", "num is at least 1", _REFUSED, "linspace(0, 1, 0)"),
    Deviation(
        "unique_values",
        "NaN equals NaN, also in unique_all, unique_counts and unique_inverse",
        "it is what TensorFlow.js's unique does",
        "unique_values(asarray([nan, nan])).shape",
    ),
    Deviation(
        "__setitem__",
        "a tensor cannot be assigned to",
        "its values never change; a variable's do, by assign",
        "asarray(x, copy=True).__setitem__((0, 0), 1)",
    ),
    Deviation(
        "device",
        "a result is on the backend in force, not where the arguments are",
        "a backend is chosen for a block of a program",
        "zeros_like(to_another_device(x)).device == to_another_device(x).device",
    ),
)
"""All that is otherwise; tests hold each row to its probe, so a repair is noticed."""
