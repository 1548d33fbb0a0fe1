"""What lowering asks about accumulators before anything is composed: their types tell."""

from __future__ import annotations

from wgsl_kernels.backends.webgpu.modules.kernel_source import Source, known_of_source

# What reads types is imported where the answer is not known from another process.


@known_of_source
def can_exchange(source: Source, names: tuple[str, ...]) -> bool:
    """Say whether lanes of a subgroup can tell each other the accumulator."""
    from wgsl_kernels.backends.webgpu.composing.forms import totals

    return totals.can_exchange(source, names)


@known_of_source
def can_hold(source: Source, x: str, given: str, y: str, output: str) -> bool:
    """Say whether the accumulator can be held between two turns of an unrolled loop."""
    from wgsl_kernels.backends.webgpu.composing.forms import totals

    return totals.can_hold(source, x, given, y, output)


@known_of_source
def total_bytes(source: Source, x: str, given: str, y: str, output: str) -> int:
    """Return the bytes from one accumulator to the next in an array; 0 if they are not known."""
    from wgsl_kernels.backends.webgpu.composing.forms import totals

    return totals.total_bytes(source, x, given, y, output)
