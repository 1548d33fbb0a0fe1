"""The codes of findings: in which section of a check each belongs, how grave it is, what it says.

A code is a name for good: tools filter by it, and tests of wrong kernels expect it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Severity: TypeAlias = Literal["error", "warning", "note"]
Section: TypeAlias = Literal["compiles", "portable", "right", "gradient", "safe", "fast"]

SECTIONS: tuple[Section, ...] = ("compiles", "portable", "right", "gradient", "safe", "fast")


class Code(NamedTuple):
    """What is known of all findings of one code.

    Attributes:
        section: The section of a check that makes them.
        severity: ``error`` fails the check; ``warning`` fails a strict one; ``note`` never does.
        title: What they say, in general.
    """

    section: Section
    severity: Severity
    title: str


_TABLE = """
compiles error   file-failed            the Python file raises
compiles error   syntax                 the text is not WGSL
compiles error   unknown-name           nothing is called that
compiles error   wrong-type             types that do not fit together
compiles error   missing-return         a function ends without the value that it returns
compiles error   unknown-field          a struct or a parameter block has no such field
compiles error   immutable              a let, a const or a parameter is assigned to
compiles error   no-kernel              the text defines no kernel
compiles error   does-not-compile       the compiler refuses the text
compiles error   over-default-limits    more than every WebGPU device allows
compiles warning misspelt-hook          a function with nearly the name of a hook
compiles warning unread-hook            a function that other forms of kernels read, not this one
compiles warning unread-mark            a mark in a comment that nothing reads, as a misspelt @tune
compiles warning no-samples             a kernel that nothing tries
compiles warning no-such-kernel         a signature or gradient of a name that no kernel has
portable error   non-uniform-barrier    a barrier that some invocations of a workgroup may not reach
portable error   reserved-word          a name that WGSL keeps for itself
portable error   literal-overflow       a constant that its type cannot hold
portable error   zero-divisor           an integer that is divided by a constant 0
portable warning zero-quotient          a number that is divided by a constant 0
portable warning nan-test               a comparison that compilers fold, as x != x
portable warning times-zero             a product with 0, which compilers fold even for NaN
portable warning subgroup-width         subgroup functions without a look at the subgroup's size
portable warning unfolded-grid          an index that leaves out the second axis of the grid
portable error   over-grid-limit        more workgroups than devices run, for tensors that are small
portable note    grid-limit             more workgroups along an axis than devices run
portable warning shared-binding         two variables of one binding, which other compilers refuse
portable warning endless-loop           a loop that nothing ends
portable warning loop-budget            more rounds than software adapters run
portable warning unset-workgroup-memory workgroup memory that is read before it is written
portable warning builtin-range          a function outside of the range where WGSL bounds its error
right    error   kernel-not-run         a sample that never runs the kernel that it names
right    warning check-failed           an exception of the check itself, no fault of the kernel
right    error   raises                 an exception where values were expected
right    error   wrong-values           values outside of the bound, as the sample calls the kernel
right    error   wrong-at-size          values outside of the bound at another size
right    note    refused-size           lengths that nothing checks, as the CPU kernel refuses them
right    error   wrong-where-folded     values outside of the bound where the grid is folded
right    error   wrong-at-edge          values outside of the bound at edges of integers, thresholds
right    error   wrong-for-attribute    values outside of the bound for another attribute
right    error   wrong-configuration    values outside of the bound for another configuration
right    error   wrong-shape            a shape or dtype other than the signature says
right    error   wrong-view             values outside of the bound for another layout in memory
right    error   wrong-nonfinite        NaN or infinity that is lost, or comes from nowhere
right    warning nan-compared           NaN of which comparisons decide what becomes of it
right    warning nan-of-infinities      infinity where the CPU kernel's infinities cancel to NaN
right    warning zero-sign              a zero of the other sign, or what follows from one
right    error   wrong-dtype            values outside of the bound for another dtype it claims
right    error   stated-dtype           a dtype that dtypes= names and that one backend refuses
right    warning claimed-dtype          a dtype that coverage() claims and that does not compile
right    error   wrong-fused            other bits where the kernel shares a dispatch with maps
right    error   wrong-captured         other bits where the kernel is replayed
right    error   unstable               other bits from run to run
right    error   order-dependent        other bits where invocations come in another order
right    error   nan-result             NaN where all that the kernel reads is finite
right    error   leaks                  tensors or buffers that remain
right    error   wrong-though-bounded   values at halves that no rounding of the shader explains
right    error   wrong-in-domain        values outside of the bound inside of the stated domain
right    warning adapter-limit          loops that end, after more rounds than some adapters run
right    warning unknown-bound          values of which no bound is known, and which may be right
right    warning bound-wider-than-result a bound that roundings make wider than the result
right    error   broken-law             an accumulator that init, another grouping or order changes
right    warning broken-law-at-extreme  the same beyond the sample's range
right    error   lost-digits            values whose digits the shader's own formula loses
right    warning wrong-at-extreme       values outside of the bound beyond the sample's range
gradient error   wrong-gradient         a gradient that differences contradict
gradient error   wrong-second-order     a second gradient that differences contradict
gradient error   derived-differs        a gradient other than the one that the shader gives
gradient error   gradient-parity        a gradient that differs from the one in float64
gradient warning gradient-at-extreme    a gradient that is NaN though the one in float64 is not
gradient error   gradient-layout        a gradient that depends on the upstream gradient's layout
gradient error   gradient-of-one-output a gradient that is wrong where one output alone has one
gradient error   gradient-unstable      other bits of a gradient from run to run
gradient error   gradient-raises        an exception while a gradient is computed
safe     error   out-of-bounds-read     an index outside of an array that is read
safe     error   out-of-bounds-write    an index outside of an array that is written
safe     error   never-written          an element of the output that the kernel leaves undefined
safe     error   odd-bool               a bool that is stored as another word than 0 or 1
safe     error   write-race             an element that several invocations write
safe     warning same-write-race        an element to which several invocations write one value
safe     error   read-race              an element that one invocation reads and another writes
safe     error   atomic-race            a result that depends on which atomic function comes first
safe     warning unordered-atomics      an atomic function that reads what another one may yet write
safe     error   unset-workgroup-read   workgroup memory that is read before it is written
safe     error   failed-assertion       a wk_assert whose condition is false
safe     error   runaway-loop           a loop with more rounds than software adapters run
"""


def _rows() -> Iterator[tuple[str, Code]]:
    for line in _TABLE.strip().splitlines():
        section, severity, name, title = line.split(maxsplit=3)
        yield name, Code(section, severity, title)  # type: ignore[arg-type]  # a test holds the words


CODES: Mapping[str, Code] = MappingProxyType(dict(_rows()))
"""All codes, by name."""
