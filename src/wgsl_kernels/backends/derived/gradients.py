"""A shader's gradient, from its text: by which of the forms it has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.accumulations import form_of
from wgsl_kernels.backends.derived.context import op_of
from wgsl_kernels.backends.derived.families import (
    accumulated_gradients,
    accumulated_text,
    derive_accumulated,
    float_elements,
    window_gradients,
)
from wgsl_kernels.backends.derived.host_kernels import GradientTwin
from wgsl_kernels.backends.derived.maps import (
    derive_map,
    map_gradients,
    map_parameters,
    map_second,
    map_text,
    map_twins,
)
from wgsl_kernels.backends.derived.products import (
    DerivedProduct,
    product_gradients,
    product_inputs,
    product_text,
)
from wgsl_kernels.backends.derived.terms import term_gradients
from wgsl_kernels.backends.derived.windows import WindowTwin
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.wgsl.syntax.names import wgsl_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from wgsl_kernels.backends.derived.twins import Twin
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.registry.gradients import GradientRule
    from wgsl_kernels.engine.tensors.tensor import Tensor

    Array = np.ndarray[Any, Any]


def derive_gradient(shader: ShaderKernel) -> Callable[[bool], None]:
    """Return what registers a shader's gradient, given whether it may replace another.

    Warns:
        RuntimeWarning: It is zero throughout.
    """
    if form_of(shader) is not None:
        return derive_accumulated(shader)
    _check_map(shader)
    return derive_map(shader)


def float_parameters(shader: ShaderKernel | ProductForm) -> list[str]:
    """Return the inputs that may have a gradient.

    Raises:
        ShaderError: The shader is none of these, or has none.
    """
    if isinstance(shader, ProductForm):
        return product_inputs(shader)
    if form_of(shader) is not None:
        return list(float_elements(shader))
    _check_map(shader)
    return map_parameters(shader)


def gradient_text(shader: ShaderKernel | ProductForm, wanted: str) -> str:
    """Return the shaders of a gradient by one input."""
    if isinstance(shader, ProductForm):
        return product_text(shader, wanted)
    if form_of(shader) is not None:
        return accumulated_text(shader, wanted)
    return map_text(shader, wanted)


def twins_of(
    shader: ShaderKernel | ProductForm,
) -> Mapping[str, Twin | GradientTwin | WindowTwin | ProductGradientTwin]:
    """Return the gradient by each float input, as CPU kernels."""
    if isinstance(shader, ProductForm):
        product = DerivedProduct(shader)
        product.check(has_gradient=True)
        return {wgsl_name(one): ProductGradientTwin(product, one) for one in product_inputs(shader)}
    form = form_of(shader)
    if form is not None:
        twin = WindowTwin if form == "window" else GradientTwin
        return {one: twin(shader, one) for one in float_elements(shader)}
    _check_map(shader)
    return map_twins(shader)


class ProductGradientTwin:
    """The gradient of a product by one input, on NumPy; the kernels that it runs are registered."""

    def __init__(self, product: DerivedProduct, wanted: str) -> None:
        self.shader, self._product, self._wanted = product.form, product, wanted

    def __call__(self, dy: Array, *arrays: Array, **attrs: Any) -> Array:
        """Return the gradient, in the shape of the input; ``cpu`` is active."""
        names = [wgsl_name(one) for one in self.shader.names()]
        found = product_gradients(self._product, tensor(dy), *map(tensor, arrays), **attrs)
        gradient: Tensor = found[names.index(self._wanted)]()
        return gradient.numpy()


def is_derived(rule: GradientRule) -> bool:
    """Say whether a rule was made of a shader."""
    return isinstance(rule.func, partial) and rule.func.func in (
        map_gradients,
        map_second,
        accumulated_gradients,
        window_gradients,
        product_gradients,
        term_gradients,
    )


def _check_map(shader: ShaderKernel) -> None:
    """Refuse what is of no form that is derived."""
    source = shader.source
    if classify(source, shader.form) != "map" or op_of(source) is None:
        raise ShaderError(
            f"{shader.name}: gradient='derive' takes maps, reductions, scans, windows and "
            "products of floats; its shader is none. Gathering turns to scattering, which has no "
            f"atomics that are deterministic: register one with @gradient({shader.name!r})."
        )
