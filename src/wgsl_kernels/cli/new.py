"""What ``wgsl-kernels new`` does: write a file with a kernel that passes ``check`` as it is."""

from __future__ import annotations

import keyword
import math
import re
import sys
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.products.written import OWN_FIELDS, OWN_NAMES, SLOT_NAMES
from wgsl_kernels.backends.webgpu.programs.call import FACT_ENDINGS
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMS = ("map", "reduce", "scan", "window", "product", "free")
STARTERS = Path(__file__).with_name("starters")
"""What is written for each form; ``@MARKS@`` are filled in."""
TAKEN = re.compile(r"T|T_\w+|attrs|params|dtype|(load|store|wk)_\w+")
"""Names that have a meaning in any kernel."""
READ = {
    "scan": ("exclusive", "reverse"),
    "window": ("data_format", "dilations", "dim_rounding_mode"),
    "product": ("depth", *OWN_FIELDS),
}
"""Attributes that a form reads itself, beside those that its file has."""
BOUND = {"product": (*OWN_NAMES, *SLOT_NAMES, "GROUP", "main")}
"""Inputs' names that a form has for something else, beside those in its file."""
_INNER = {"a", "b", "x"}
"""Parameters of functions in WGSL that see none of the tensors."""
_PROSE = re.compile(r'"""(?=\S).*?"""|^\s*(?:#|//).*?$', re.MULTILINE | re.DOTALL)
_WGSL = re.compile(r'"""\n.*?"""', re.DOTALL)
_WORDS = re.compile('"[^"\n]*"')
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
LARGEST = 65504
"""The largest number of float16."""
SEVERAL = ("map", "free")
"""The forms that take any number of inputs; others have those of their pattern."""


@dataclass(frozen=True)
class NewKernel:
    """A kernel to be written.

    Attributes:
        name: The kernel's name, as ``Swish``.
        form: Which form it has.
        inputs: The names of its inputs.
        attrs: Its attributes with their defaults.
    """

    name: str
    form: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, float | int]

    @property
    def op(self) -> str:
        """The name of the op, as ``log_softmax`` for ``LogSoftmax``."""
        parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", self.name)
        name = "_".join(parts).lower()
        return f"{name}_" if keyword.iskeyword(name) else name


def wanted(name: str, form: str, inputs: str, attrs: Sequence[str]) -> NewKernel:
    """Return what the options of the command ask for.

    Raises:
        ArgumentError: A name is none or has another meaning there, the form is unknown, or an
            attribute has no number.
    """
    if form not in FORMS:
        raise ArgumentError(f"new: form is {form!r}; want one of {', '.join(FORMS)}.")
    if re.fullmatch("[A-Z][A-Za-z0-9_]*", name) is None:
        raise ArgumentError(f"new: name is {name!r}; want letters and digits, as in Swish.")
    names = tuple(one.strip() for one in inputs.split(",")) if inputs else ()
    default = ("x", "w") if form == "product" else ("x",)
    if names and form not in SEVERAL and len(names) != len(default):
        raise ArgumentError(f"new: a {form} has {len(default)} inputs; got {len(names)}.")
    if get_kernel(name, "webgpu") is not None or get_kernel(name, "cpu") is not None:
        raise ArgumentError(f"new: {name} is a kernel already; want another name.")
    numbers = [_attribute(one) for one in attrs]
    made = NewKernel(name, form, names or default, dict(numbers))
    _check_names(made, [name for name, _ in numbers])
    return made


def _check_names(one: NewKernel, attrs: Sequence[str]) -> None:
    """Refuse names that the languages, the form or the file itself have for something else."""
    inputs = ("_0_x", "_0_w")[: 1 + (one.form in (*SEVERAL, "product"))]
    same = NewKernel("_0", one.form, inputs, {"_0_n": 1, "_0_a": 1.0})
    text = _PROSE.sub("", text_of(same))
    python = {*_NAME.findall(_WORDS.sub("", _WGSL.sub("", text)))}
    in_wgsl = {name for part in _WGSL.findall(text) for name in _NAME.findall(part)}
    if one.form not in (*SEVERAL, "product"):
        in_wgsl -= _INNER
    output = "out" if "y" in one.inputs else "y"
    tensors = (*one.inputs, output)
    facts = {f"{tensor}{ending}" for tensor in tensors for ending in FACT_ENDINGS}
    if one.op in python or one.op in sys.stdlib_module_names:
        raise ArgumentError(
            f"new: name is {one.name!r}, whose op and file would be called {one.op!r}, as is what "
            "they import or use; want another name."
        )
    own = {
        "input": python | (in_wgsl - {"y"}) | {output, *BOUND.get(one.form, ())},
        "attribute": python | {*READ.get(one.form, ())},
    }
    given = [("input", name) for name in one.inputs] + [("attribute", name) for name in attrs]
    for at, (kind, name) in enumerate(given):
        why = ""
        if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
            why = "no name"
        elif keyword.iskeyword(name):
            why = "a word that Python keeps for itself"
        elif wgsl_name(name) != name or name.startswith("__") or name == "_":
            why = "a name that WGSL keeps for itself"
        elif kind == "input" and is_predeclared(name):
            why = "a name that WGSL has for something of its own"
        elif name in facts:
            why = "what kernels call a fact of a tensor"
        elif (kind, name) in given[:at]:
            why = "given twice"
        elif kind == "attribute" and name in one.inputs:
            why = "an input already"
        elif name in own[kind] or TAKEN.fullmatch(name):
            why = f"what the form {one.form} has for something else"
        if why:
            raise ArgumentError(f"new: {kind} is {name!r}, which is {why}; want another name.")


def _attribute(text: str) -> tuple[str, float | int]:
    name, mark, value = text.partition("=")
    number: float = math.nan
    for kind in (float, int):
        with suppress(ValueError):
            number = kind(value)
    if not mark or not abs(number) <= LARGEST:
        raise ArgumentError(
            f"new: attribute is {text!r}; want a name and a number, as alpha=0.1, of at most "
            f"{LARGEST}: the kernel is written for float16, too."
        )
    return name, number


def write_kernel(one: NewKernel, folder: Path, *, overwrite: bool = False) -> Path:
    """Write the file and return its path.

    Raises:
        ArgumentError: There is such a file already, or no such folder.
    """
    if not folder.is_dir():
        raise ArgumentError(f"new: {folder} is no folder; make it first, or pass another --folder.")
    path = folder / f"{one.op}.py"
    if path.exists() and not overwrite:
        raise ArgumentError(f"new: {path} is there already; pass --overwrite to replace it.")
    path.write_text(text_of(one), encoding="utf-8")
    return path


def text_of(one: NewKernel) -> str:
    values = {
        "NAME": one.name,
        "OP": one.op,
        "X": one.inputs[0],
        "W": one.inputs[-1],
        "TENSORS": ", ".join(one.inputs),
        "TAKEN": ", ".join(f'"{name}": {name}' for name in one.inputs),
        "KEYWORDS": "".join(f", {name}={value}" for name, value in one.attrs.items()),
        "STAR": ", *" if one.attrs else "",
        "GIVEN": ", ".join(f'"{name}": {name}' for name in one.attrs),
        "MORE": "".join(f", {name}" for name in one.attrs),
        "SCALE": " * ".join(("", *one.attrs)),
        "ATTRS": _attrs(one.attrs),
        "WGSL_SCALE": "".join(f" * {_field(name, v)}" for name, v in one.attrs.items()),
        "WIDE_SCALE": "".join(f" * T_wide(attrs.{name})" for name in one.attrs),
        "FLOAT_SCALE": "".join(f" * f32(params.{name})" for name in one.attrs),
        **_sums(one),
    }
    text = (STARTERS / f"{one.form}.txt").read_text(encoding="utf-8")
    for mark, value in sorted(values.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(f"@{mark}@", value)
    return text


def _attrs(attrs: Mapping[str, float | int]) -> str:
    if not attrs:
        return ""
    fields = ", ".join(f"{n}: {'i32' if isinstance(v, int) else 'T'}" for n, v in attrs.items())
    return f"struct Attrs {{ {fields} }}\n\n"


def _field(name: str, value: float) -> str:
    return f"T(attrs.{name})" if isinstance(value, int) else f"attrs.{name}"


def _sums(one: NewKernel) -> dict[str, str]:
    """Return the parts of a map's and a free kernel's file that depend on the inputs."""
    first, *others = one.inputs
    scale = " * ".join(("", *one.attrs))
    wgsl_scale = "".join(f" * {_field(name, v)}" for name, v in one.attrs.items())
    params = "".join(
        f" * T(params.{name})" if isinstance(v, int) else f" * params.{name}"
        for name, v in one.attrs.items()
    )
    output = "out" if "y" in one.inputs else "y"
    rest = "".join(f" + {name}" for name in others)
    shapes = ", ".join(f"{name}.shape" for name in one.inputs)
    count = len(one.inputs)
    bindings = [
        f"@group(0) @binding({n}) var<storage, read> {name}: array<T>;"
        for n, name in enumerate(one.inputs)
    ]
    bindings.append(f"@group(0) @binding({count}) var<storage, read_write> {output}: array<T>;")
    bindings.append(f"@group(0) @binding({count + 1}) var<uniform> params: Params;")
    fields = "".join(f", {n}: {'i32' if isinstance(v, int) else 'T'}" for n, v in one.attrs.items())
    kept = ", ".join(f"{name}_shape" for name in one.inputs)
    slopes = [f"wk.unbroadcast(dy{scale}, {first}_shape)"]
    slopes += [f"wk.unbroadcast(dy, {name}_shape)" for name in others]
    return {
        "FORMULA": f"{first}{scale}{rest}",
        "WGSL_FORMULA": f"{first}{wgsl_scale}{rest}",
        "PARAMETERS": ", ".join(f"{name}: T" for name in one.inputs),
        "SHAPES": shapes,
        "KEPT": kept,
        "SLOPES": ", ".join(slopes) if others else slopes[0],
        "SAMPLE_SHAPES": "(" + ", ".join(["(3, 4)"] * count) + ",)",
        "LONG_SHAPES": "(" + ", ".join(["(130,)"] * count) + ",)",
        "BINDINGS": "\n".join(bindings),
        "PARAMS": f"struct Params {{ {output}_size: u32{fields} }}",
        "OUT": output,
        "FREE_FORMULA": f"{first}[i]{params}" + "".join(f" + {name}[i]" for name in others),
        "FREE_SLOPES": ", ".join([f"dy{scale}", *["dy"] * len(others)]),
    }
