"""The tuner's choices of this process, to be saved with a checkpoint: ``wk.tuning.choices``.

See docs/decisions/0049-choices-are-configurations-of-templates.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import backends, find_driver, running_drivers
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.registry.public import publish
from wgsl_kernels.engine.tensors.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

WORD = 4
"""Bytes of an int32, as which text stands in a file of tensors."""


class Choices:
    """The variants that kernels run as in this process, as `wk.save` and `wk.load` take them.

    What is loaded takes force for kernels and shapes that this process has not run yet, on the
    adapter on which it was chosen, and wins over what was measured there since. A choice whose
    template has changed is left out.
    """

    def state_dict(self) -> dict[str, Tensor]:
        """Return a tensor for each backend that has a tuner and runs: JSON as int32."""
        found: dict[str, Tensor] = {}
        for driver in running_drivers():
            tuning = abilities_of(driver).tuning
            if tuning is not None:
                found[driver.name] = _packed(tuning.choices())
        return found

    def check_state_dict(self, state: Mapping[str, Any]) -> None:
        """Raise if `load_state_dict` would not take ``state``.

        Raises:
            ArgumentError: It is not what `state_dict` returns.
        """
        for name, value in state.items():
            _unpacked(name, value)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over choices; those of a backend that is not registered here are left out.

        Raises:
            ArgumentError: ``state`` is not what `state_dict` returns; nothing is taken over.
        """
        choices = {name: _unpacked(name, value) for name, value in state.items()}
        for name, found in choices.items():
            if name in backends():
                tuning = abilities_of(find_driver(name)).tuning
                if tuning is not None:
                    tuning.load_choices(found)


choices = Choices()


def _packed(found: Mapping[str, Any]) -> Tensor:
    text = json.dumps(found, sort_keys=True).encode()
    padded = text.ljust(-(-len(text) // WORD) * WORD)
    return tensor(np.frombuffer(padded, np.dtype("<i4")).astype(np.int32))


def _unpacked(name: str, value: Any) -> dict[str, dict[str, Any]]:
    found: Any = None
    if isinstance(value, Tensor) and value.dtype == "int32" and value.ndim == 1:
        try:
            found = json.loads(value.numpy().astype("<i4").tobytes())
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise ArgumentError(f"load: {name!r} holds no choices of a tuner; want what was saved.")
    return found


publish(__name__)
