"""The order of inputs by name where no signature tells it: that of the kernel itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import default_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.registry.registry import get_kernel, look_again_if_failed, note_failure

if TYPE_CHECKING:
    from collections.abc import Mapping


def in_kernels_order(name: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return inputs of a kernel without a signature in the order of its own parameters.

    Raises:
        ArgumentError: A shader has no input of that name.
    """
    look_again_if_failed(name)  # what failed before is read as it is now
    driver = context.current().driver or default_driver()
    kernel = get_kernel(name, driver.name) or get_kernel(name, "cpu")
    try:
        names = () if kernel is None else kernel.input_names
    except ShaderError:
        note_failure(name)
        raise
    unknown = next((one for one in inputs if one not in names), None)
    if unknown is None:
        return {one: inputs[one] for one in names if one in inputs}
    if kernel is not None and kernel.names is not None:
        known = ", ".join(names)
        raise ArgumentError(f"{name}: input {unknown!r} is unknown; known: {known}.")
    return inputs
