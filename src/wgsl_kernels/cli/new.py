"""What ``wgsl-kernels new`` does: write a file with a kernel that passes ``check`` as it is."""

from __future__ import annotations

import keyword
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMS = ("map", "reduce", "scan", "window", "product", "free")
STARTERS = Path(__file__).with_name("starters")
"""What is written for each form; ``@MARKS@`` are filled in."""
TAKEN = ("T", "np", "wk", "dy")
"""Names that the file written has for something else."""
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
        ArgumentError: A name is none, the form is unknown, or an attribute has no number.
    """
    if not name.isidentifier() or not name[0].isupper():
        raise ArgumentError(f"new: name is {name!r}; want letters and digits, as in Swish.")
    if form not in FORMS:
        raise ArgumentError(f"new: form is {form!r}; want one of {', '.join(FORMS)}.")
    names = tuple(one.strip() for one in inputs.split(",")) if inputs else ()
    for one in names:
        _check_name("input", one)
    default = ("x", "w") if form == "product" else ("x",)
    if names and form not in SEVERAL and len(names) != len(default):
        raise ArgumentError(f"new: a {form} has {len(default)} inputs; got {len(names)}.")
    if len(set(names)) != len(names):
        raise ArgumentError("new: an input is given twice.")
    if get_kernel(name, "webgpu") is not None or get_kernel(name, "cpu") is not None:
        raise ArgumentError(f"new: {name} is a kernel already; want another name.")
    numbers = dict(_attribute(one) for one in attrs)
    for one in numbers:
        _check_name("attribute", one)
        if one in (names or default):
            raise ArgumentError(f"new: {one} is an input already; want another attribute.")
    return NewKernel(name, form, names or default, numbers)


def _check_name(kind: str, name: str) -> None:
    is_fit = name.isidentifier() and not keyword.iskeyword(name) and wgsl_name(name) == name
    if not is_fit or name in TAKEN:
        raise ArgumentError(
            f"new: {kind} is {name!r}; want a name that WGSL and Python allow, none of "
            f"{', '.join(TAKEN)}."
        )


def _attribute(text: str) -> tuple[str, float | int]:
    name, mark, value = text.partition("=")
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        if mark and (abs(number) < 2**31 if kind is int else math.isfinite(number)):
            return name, number
    raise ArgumentError(
        f"new: attribute is {text!r}; want a name and a finite number, as alpha=0.1."
    )


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
