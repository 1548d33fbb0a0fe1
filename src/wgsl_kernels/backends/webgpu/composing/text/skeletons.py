"""The loops around authors' functions: templates whose slots the author and the composer fill."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.assembly import Offer
from wgsl_kernels.backends.webgpu.modules.files import shaders_folder
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.wgsl.facts.reader import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.templates.template import Template
    from wgsl_kernels.wgsl.facts.facts import Facts


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Which loop, and its configuration.

    Attributes:
        path: The template.
        configuration: Values of its constants; others keep their defaults.
    """

    path: str
    configuration: tuple[tuple[str, bool | int], ...] = ()

    def given(self, **values: bool | int) -> Skeleton:
        """Return it with further values."""
        return Skeleton(self.path, (*self.configuration, *values.items()))

    def value(self, name: str, default: bool | int) -> bool | int:
        """Return what a constant is given here."""
        return dict(self.configuration).get(name, default)

    def facts(self) -> Facts:
        """Return its text without the slots, which the kernel declares."""
        return _facts(self)

    def offers(self) -> Mapping[str, Offer]:
        """Return the fields of parameters that its slots declare."""
        return _offers(self.path)


MAP = Skeleton("templates/map.wesl")
STRUCT = "wk_Params"
"""What slots call the struct of the parameters that they want of the host, in ``wk_params``."""


@functools.lru_cache(maxsize=64)
def _template(path: str) -> Template:
    return find_template(path, None, shaders_folder(), path)


@functools.lru_cache(maxsize=256)
def _facts(skeleton: Skeleton) -> Facts:
    found = _template(skeleton.path).module(dict(skeleton.configuration), leaves_slots=True)
    return read(found.text)


@functools.lru_cache(maxsize=64)
def _offers(path: str) -> Mapping[str, Offer]:
    found: dict[str, Offer] = {}
    for text in _template(path).slot_texts:
        struct = read(text).structs.get(STRUCT)
        for field in () if struct is None else struct.fields:
            found[field.name] = Offer(field.type, field.name)
    return found
