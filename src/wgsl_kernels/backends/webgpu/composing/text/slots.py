"""Functions that are written for slots of our modules: these have the heads, the bodies come."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceNames, text_of_module
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.printer import spell_head

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.wgsl.syntax.places import Text

TENSORS = "tensors/slots.wesl"
_AS_THEY_ARE = InstanceNames({})
_WORD = re.compile(r"\w+")


def head_of_slot(path: str, name: str, naming: InstanceNames = _AS_THEY_ARE) -> str:
    """Return how a slot's function begins.

    ``naming`` has what the names in it are in a text.
    """
    head = _heads(text_of_module(path))[name]
    return _WORD.sub(lambda found: naming.of(found[0]), head)


def fill_slot(
    path: str, name: str, lines: Sequence[str], naming: InstanceNames = _AS_THEY_ARE
) -> str:
    """Return a slot's function with a body of generated lines; see ``head_of_slot``."""
    return f"{head_of_slot(path, name, naming)} {{\n  " + "\n  ".join(lines) + "\n}"


def wanted_function(name: str, total: str = "A") -> str:
    """Return the head of an author's function of accumulators, whose type is called ``total``."""
    types = {"wk_Total": total, "wk_Input": "T", "wk_Result": "T_y"}
    whole = {slot: functools.partial(str, type_) for slot, type_ in types.items()}
    return head_of_slot(TENSORS, name, InstanceNames({}, whole))


@once_per_text
def _heads(text: Text) -> Mapping[str, str]:
    functions = parse_source(text).module.functions
    return {name: spell_head(one) for name, one in functions.items()}
