"""Is its gradient right: a rule by hand against the one that the text gives, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wgsl_kernels.backends.derived.gradients import ProductGradientTwin, is_derived, twins_of
from wgsl_kernels.backends.derived.host_kernels import GradientTwin
from wgsl_kernels.backends.derived.windows import WindowTwin
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.bench.laws.combined import kernel_call
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.closeness import largest_at
from wgsl_kernels.testing.gradients.evaluation import (
    UpstreamGradients,
    gradients_of,
    wide_tensor,
)
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.backends.derived.twins import Twin
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.testing.gradients.evaluation import Array
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

AnyTwin: TypeAlias = "Twin | GradientTwin | ProductGradientTwin | WindowTwin"

SCALES = (1.0, 8.0, 60.0, 1 / 16)
"""What a sample's values are multiplied by: a rule may be wrong far from them alone."""
ALLOWED = 1e-4
"""How far apart the two may be, of the larger: texts approximate, and slopes show it more."""
FLOOR = 1e-7
"""How far they may be, of the upstream gradient: tails of a rule may lose their digits."""
STEP = 1e-7
"""How far inputs are moved, of their size, to see whether a kink is beside them."""


def compared(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare a rule by hand with the gradient that the shader gives."""
    shader = None if subject.kernel is None else subject.kernel.func
    rule = find_rule(subject.name)
    if (
        not isinstance(shader, (ShaderKernel, ProductForm))
        or rule is None
        or rule.func is None
        or is_derived(rule)
    ):
        return
    try:
        twins = twins_of(shader)
    except WgslKernelsError:  # it has another form, or does what is not followed
        return
    call = kernel_call(subject.name, sample)
    if call is None or not twins:
        return
    arrays, attrs = call
    if any(one.dtype.kind == "c" or not one.size for one in arrays):
        return
    before = take_snapshot()
    try:
        for scale in SCALES:
            scaled = [one * scale if one.dtype.kind == "f" else one for one in arrays]
            with np.errstate(all="ignore"):  # far away slopes may overflow
                yield _at(subject, shader, sample, twins, scaled, attrs, scale)
    except WgslKernelsError:  # the text takes numbers apart as bits, which float64 has not
        return
    finally:
        before.restore()  # without what the gradient of a product registered


def _at(
    subject: Subject,
    shader: ShaderKernel | ProductForm,
    sample: Sample,
    twins: Mapping[str, AnyTwin],
    arrays: list[Array],
    attrs: Mapping[str, Any],
    scale: float,
) -> list[Finding]:
    """Compare at one scale of the inputs."""
    names = _names(next(iter(twins.values())))
    weights = UpstreamGradients()
    with double_precision():
        given = [wide_tensor(one) for one in arrays]
        by_hand = gradients_of(lambda *xs: run(subject.name, *xs, **attrs), given, weights)
        y = run(subject.name, *given, **attrs)
    dy = weights.of(0, y)
    own = shader.names()
    for name, hand in zip(own, by_hand, strict=True):
        twin = twins.get(wgsl_name(name))
        if twin is None or hand is None:
            continue
        values = dict(zip(map(wgsl_name, own), arrays, strict=True))
        derived = _derived(twin, dy, values, names, attrs, hand.shape)
        moved = {n: x * (1 + STEP) + STEP if x.dtype.kind == "f" else x for n, x in values.items()}
        beside = _derived(twin, dy, moved, names, attrs, hand.shape)
        size = np.maximum(np.maximum(np.abs(hand), np.abs(derived)), 1e-30)
        calm = np.abs(beside - derived) <= 1e3 * STEP * (size + np.abs(dy).max())
        allowed = ALLOWED * size + FLOOR * np.abs(dy).max()
        wrong = calm & (np.abs(hand - derived) > allowed)
        if wrong.any():
            at = largest_at(wrong)
            words = (
                f"the gradient by {name} is {hand[at]:.6g} by the rule and {derived[at]:.6g} by "
                f"the shader, at {list(at)}; {int(wrong.sum())} of {wrong.size} elements differ."
            )
            evidence = [("case", f"{sample.id}, values × {scale:g}")]
            if values[wgsl_name(name)].shape == hand.shape:
                evidence.append(("input", f"{name} = {values[wgsl_name(name)][at]:.6g}"))
            return [subject.finding("derived-differs", words, "gradient", evidence=tuple(evidence))]
    return []


def _names(twin: AnyTwin) -> list[str]:
    """Return the inputs behind the upstream gradient."""
    names = twin.shader.names()
    return [
        wgsl_name(one)
        for one in (
            names
            if isinstance(twin, (GradientTwin, ProductGradientTwin, WindowTwin))
            else names[1:]
        )
    ]


def _derived(
    twin: AnyTwin,
    dy: Array,
    values: Mapping[str, Array],
    names: list[str],
    attrs: Mapping[str, Any],
    shape: tuple[int, ...],
) -> Array:
    """Return the derived gradient, summed over the axes that were broadcast."""
    wide = [
        one.astype(np.float64) if one.dtype.kind == "f" else one
        for one in (values[name] for name in names)
    ]
    with double_precision():
        return unbroadcast(wide_tensor(twin(dy, *wide, **attrs)), shape).numpy()
