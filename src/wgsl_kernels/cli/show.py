"""What ``wgsl-kernels show`` does: print what runs for a kernel, or for a function of a file."""

from __future__ import annotations

import ast
import contextlib
import inspect
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.gradients import float_parameters, gradient_text
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.modules.files import ENDINGS
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.bench.checking.representatives import representatives, with_signature
from wgsl_kernels.bench.checking.unsampled import registered
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.config import config as switches
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    KernelNotFound,
    WgslKernelsError,
)
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run_kernel
from wgsl_kernels.engine.observe.explain import explain
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.dtypes import OBJECTS, canonical
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.testing.inputs import arrays_for
from wgsl_kernels.testing.program import beside, execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.observe.explain import Explanation
    from wgsl_kernels.engine.observe.profile import DispatchRow
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape


RUNS = 2
"""Runs before the one that is shown: a function with full control has a program from then on."""


def shown(
    name: str,
    shapes: Sequence[str] = (),
    dtype: str = "float32",
    config: str | None = None,
    attrs: Sequence[str] = (),
) -> Explanation:
    """Return what runs; its ``show()`` has each line of the shaders with its origin.

    Args:
        name: A kernel's name, or ``file.py:function``: a function without parameters, or
            ``file.py:Name``: a kernel that the file registers; or a shader file that is one.
        shapes: Of a kernel's inputs, as ``64x32``; by default those of its first sample.
        dtype: Of these inputs.
        config: The variant that a kernel runs as, instead of the one that would be taken.
        attrs: A kernel's attributes, as ``axis=1``, where its inputs' shapes are given.

    Raises:
        ArgumentError: There is no such function or variant, or a shape is none.
        KernelNotFound: There is no such kernel on the webgpu backend.
    """
    f, fusion = called(name, shapes, dtype, attrs=attrs)
    with (
        use_backend("webgpu"),
        switches.using(fusion=fusion, small_ops="device", fallback="error"),
    ):
        if config is not None:
            _check_variant(name, config, f)
        with contextlib.nullcontext() if config is None else forced(name, config):
            for _ in range(RUNS):
                evaluate(f())
            return explain(f)


def gradient_of(name: str, parameter: str) -> str:
    """Return the shaders of a kernel's gradient by one input, as its text gives it.

    Args:
        name: A kernel's name, or ``file.py:Name``: a kernel that the file registers.
        parameter: The input.

    Raises:
        ArgumentError: The kernel has no such input of floats.
        KernelNotFound: There is no such kernel on the webgpu backend.
        ShaderError: The gradient cannot be derived; the message points at the reason.
    """
    path, colon, kernel = name.rpartition(":")
    if colon and Path(path).suffix == ".py":
        _run(path, "show")
    shader = getattr(get_kernel(kernel, "webgpu"), "func", None)
    if not isinstance(shader, (ShaderKernel, ProductForm)):
        raise KernelNotFound(f"show: {kernel}: there is no shader of that name on webgpu.")
    known = float_parameters(shader)
    if parameter not in known:
        raise ArgumentError(
            f"show: {kernel}: --gradient is {parameter!r}; inputs of floats: {', '.join(known)}."
        )
    return gradient_text(shader, parameter)


def lines_of(seen: Explanation) -> list[dict[str, Any]]:
    """Return the dispatches in plain Python: facts, and each line of WGSL with its origin."""
    found: list[dict[str, Any]] = []
    for row in seen.dispatches:
        if row.dispatch is not None:
            source_map = row.dispatch.module.source_map
            texts = source_map.composed.text.split("\n")
            places = [source_map.origin(n, 1)[1] for n in range(1, len(texts) + 1)]
            lines = [
                {"wgsl": text, "file": place.file, "line": place.line}
                for text, place in zip(texts, places, strict=True)
            ]
            found.append({**facts_of(row), "lines": lines})
    return found


def facts_of(row: DispatchRow) -> dict[str, Any]:
    """Return what a dispatch is, in plain Python."""
    one = row.dispatch
    return {
        "kernels": list(one.kernels),
        "cause": row.cause or "eager",
        "grid": list(one.grid),
        "workgroup": list(one.module.composed.workgroup_size),
        "bindings": [
            {"name": binding.name, "access": binding.access, "bytes": binding.nbytes}
            for binding in one.bindings
        ],
        "notes": list(one.notes),
    }


def called(
    name: str,
    shapes: Sequence[str],
    dtype: str,
    command: str = "show",
    attrs: Sequence[str] = (),
) -> tuple[Callable[[], Any], str]:
    """Return what a name stands for as a function without parameters, and how it is fused.

    Raises:
        ArgumentError: There is no such function, or a shape is none.
        KernelNotFound: There is no such kernel on the webgpu backend.
    """
    path, colon, function = name.rpartition(":")
    if Path(name).suffix in ENDINGS and Path(name).is_file():
        return _of_shader_file(Path(name), command), "never"
    if colon and Path(path).suffix == ".py":
        found = _run(path, command).get(function)
        if _lacks(found) != "" and get_kernel(function, "webgpu") is not None:
            return _kernel(function, shapes, dtype, command, attrs), "never"
        return _without_parameters(found, path, function, command), "always"
    return _kernel(name, shapes, dtype, command, attrs), "never"


def _check_variant(name: str, config: str, f: Callable[[], Any]) -> None:
    with watching() as seen:
        evaluate(f())
    known = seen.get(name, set())
    if config not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise ArgumentError(f"show: {name} has no variant {config!r} here; known: {listed}.")


def _run(path: str, command: str) -> dict[str, Any]:
    """Return what a Python file defines.

    Raises:
        ArgumentError: There is no such file, or it does not run to its end.
    """
    if not Path(path).is_file():
        raise ArgumentError(f"{command}: there is no file {path}.")
    try:
        with beside(Path(path).resolve().parent):
            return execute(Path(path), f"<{command}>")
    except SyntaxError as error:
        message = f"{command}: {error.filename}:{error.lineno} is no Python: {error.msg}."
        raise ArgumentError(message) from None
    except (Exception, SystemExit) as error:  # what a file does is its author's
        frames = traceback.extract_tb(error.__traceback__)
        own = [one.lineno for one in frames if Path(one.filename).resolve() == Path(path).resolve()]
        line = own[-1] if own else 1
        what = str(error).rstrip(".")
        message = f"{command}: {path}:{line} raised {type(error).__name__}: {what}."
        raise ArgumentError(message) from None


def _without_parameters(found: Any, path: str, name: str, command: str) -> Callable[[], Any]:
    """Return what a file has under a name as a function without parameters.

    Raises:
        ArgumentError: It is none.
    """
    lacks = _lacks(found)
    if lacks is None:
        raise ArgumentError(f"{command}: {path} defines no function and no kernel {name}.")
    if lacks:
        want = "a function of none, or a kernel's name"
        raise ArgumentError(f"{command}: {name} wants arguments ({lacks}); want {want}.")

    def called() -> Any:
        return found()

    return called


def _lacks(found: Any) -> str | None:
    """Return what a function wants that is called with nothing; None of what is no function."""
    if not callable(found):
        return None
    declared = None
    with contextlib.suppress(ValueError, TypeError):  # some built-in ones do not tell
        declared = inspect.signature(found)
    try:
        if declared is not None:
            declared.bind()
    except TypeError as error:
        return str(error)
    return ""


def of_shapes(
    name: str, shapes: Sequence[str], command: str, attrs: Sequence[str] = ()
) -> tuple[Callable[..., Any], tuple[Shape, ...]]:
    """Return what runs a kernel on its first inputs, without further ones, and their shapes.

    Args:
        name: The kernel.
        shapes: The inputs' shapes, as ``64x32``.
        command: Its name, for errors.
        attrs: Its attributes, as ``axis=1``.

    Raises:
        ArgumentError: It has fewer inputs, or a shape or an attribute is none.
        KernelNotFound: There is no such kernel on the webgpu backend.
    """
    declared, kernel = find_signature(name), get_kernel(name, "webgpu")
    if kernel is None:
        raise KernelNotFound(f"{command}: there is no kernel {name!r} on the webgpu backend.")
    names = [one.name for one in declared.inputs] if declared else list(kernel.input_names)
    if len(shapes) > len(names):
        raise ArgumentError(f"{command}: {name} has {len(names)} inputs, {', '.join(names)}.")

    values = dict(_attribute(one, command) for one in attrs)

    def f(*xs: Any) -> Any:
        given = {**dict.fromkeys(names), **dict(zip(names, xs, strict=False))}
        return run_kernel(name, given, values)

    return f, tuple([parsed_shape(one, command) for one in shapes])


def refuse_attrs_alone(attrs: Sequence[str], shapes: Sequence[str], command: str) -> None:
    """Refuse attributes without shapes: a sample has its own."""
    if attrs and not shapes:
        raise ArgumentError(f"{command}: --attr wants the shapes of the inputs, too, as 64x64.")


def _attribute(text: str, command: str) -> tuple[str, Any]:
    """Return an attribute: its value is a literal of Python, or else a word."""
    name, mark, value = text.partition("=")
    if not mark or not name.isidentifier():
        raise ArgumentError(
            f"{command}: --attr is {text!r}; want a name and a value, as axis=1 or pad=same."
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _kernel(
    name: str, shapes: Sequence[str], dtype: str, command: str, attrs: Sequence[str]
) -> Callable[[], Any]:
    f, sizes = of_shapes(name, shapes, command, attrs)
    refuse_attrs_alone(attrs, shapes, command)
    if not shapes:
        return _sampled(name, command)
    try:
        ones = [np.ones(one, np.float32) for one in sizes]
    except (MemoryError, ValueError) as error:
        raise ArgumentError(
            f"{command}: there is no room for {'; '.join(shapes)}: {error}."
        ) from None
    with use_backend("cpu"):
        wanted = OBJECTS[_dtype(dtype, command)]
        inputs = [tensor(astype(tensor(one), wanted).numpy(), dtype=wanted) for one in ones]
    return partial(f, *inputs)


def _of_shader_file(path: Path, command: str) -> Callable[[], Any]:
    """Return a call of a shader file as a kernel by itself, the first made up that it takes."""

    def called() -> Any:
        refused: WgslKernelsError | None = None
        with registered(path) as kernel, with_signature(kernel):
            for sample in representatives(kernel):
                tensors = [tensor(one) for one in arrays_for(sample)]
                try:
                    found = sample.f(*tensors, **sample.attrs)
                    evaluate(found)
                except WgslKernelsError as error:
                    refused = refused or error
                else:
                    return found
        raise refused or ArgumentError(f"{command}: {path} is no kernel by itself.")

    return called


def _dtype(given: str, command: str) -> DType:
    try:
        return canonical(given)
    except DTypeError as error:
        raise ArgumentError(f"{command}: {error}") from None


def _sampled(name: str, command: str) -> Callable[[], Any]:
    from wgsl_kernels.testing.registered import samples_of

    sample = next(iter(samples_of(name)), None)
    if sample is None:
        raise ArgumentError(
            f"{command}: {name} has no sample; give the shapes of its inputs, as 64x64."
        )
    tensors = [tensor(one) for one in arrays_for(sample)]
    return partial(sample.f, *tensors, **sample.attrs)


def parsed_shape(text: str, command: str) -> Shape:
    """Return the shape that an argument of a command is.

    Raises:
        ArgumentError: It is none.
    """
    with contextlib.suppress(ValueError):
        sizes = tuple([int(one) for one in text.split("x")]) if text != "scalar" else ()
        if all(one >= 0 for one in sizes):
            return sizes
    raise ArgumentError(f"{command}: {text!r} is no shape; want sizes, as 64x32, or scalar.")
