"""The result of composing: a shader's text and all that a dispatch of it needs to know."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wgsl_kernels.backends.webgpu.composing.text.params import Field, Offer, Packer
from wgsl_kernels.backends.webgpu.modules.files import is_ours
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.syntax.places import pointed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.engine.environment.errors import ShaderError
    from wgsl_kernels.wgsl.syntax.places import Place, Span, Text
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap

BindingAccess = Literal["read", "read_write", "uniform"]
Role = Literal["tensor", "partials", "params", "status"]

PARTIALS = "wk_partials"
STATUS = "wk_status"
PARAMS = "wk_params"
ENDED = 255
"""The code that `templates/any_kernel.wgsl` reports where a kernel's loops were ended."""

_FUNCTION = re.compile(r"^fn\s+(\w+)", re.MULTILINE)
_UNIFORM_POINTER = re.compile(r"\bptr\s*<\s*uniform\b")


def is_all_ours(source_map: SourceMap) -> bool:
    """Say whether all that is quoted in a text comes from files of the package."""
    from wgsl_kernels.wgsl.syntax.source_map import WrittenText

    sources = {id(source): source for _, source in source_map.written if source is not None}
    return all(
        is_all_ours(one.map) if isinstance(one, WrittenText) else is_ours(one.file)
        for one in sources.values()
    )


_SHARED = ("templates/", "tensors/", "lib/", "operands/", "families/", "lowering/")
"""The folders of the package's shaders that are no kernel's own."""


def is_kernels_own(file: str, *, by_us: bool) -> bool:
    """Say whether a file is a kernel's own, not one of the package that many share.

    Args:
        file: What places in a composed text name.
        by_us: Whether the kernel is one of the package.
    """
    from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

    if file == COMPOSED:
        return False
    return not file.startswith(_SHARED) if by_us else not is_ours(file)


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """One binding of group 0.

    Attributes:
        name: The tensor's name as the signature has it, or ``wk_partials``, ``wk_params``,
            ``wk_status``.
        access: What a bind group layout says: ``read``, ``read_write`` or ``uniform``.
        stride: Of an array, the bytes from one element to the next: the binding's size must be a
            multiple of it, and of 4.
        is_absent: True for an optional input that was not given though the text names it: bind
            any 16 bytes.
    """

    name: str
    access: BindingAccess
    number: int
    role: Role
    stride: int = 4
    is_absent: bool = False


def uniform_head(number: int) -> str:
    return f"@group(0) @binding({number}) var<uniform>"


class Traced(NamedTuple):
    """Where a composed text comes from: its places, and where the author has the kernel begin."""

    source_map: SourceMap
    start: tuple[Text, Place] | None


_PLAIN = (
    "kernel", "form", "text", "entry", "params_size", "workgroup_size", "workgroup_bytes",
    "features", "uses_status", "vec4", "partial_bytes",
)  # fmt: skip
"""The fields of a composed text that are of plain types."""


@dataclass(frozen=True)
class Composed:
    """A composed shader.

    Attributes:
        form: Which of the forms it has.
        text: What the compiler gets; equal kernels have equal texts.
        params_size: The block's bytes, a multiple of 16.
        features: Device features that the text needs, by wgpu's names.
        uses_status: Whether it reports errors; then the fact ``wk_status_slot`` is wanted.
        vec4: Whether its arrays are bound as vec4, and written in whole vec4s.
        partial_bytes: Of a reduction in two stages, the bytes of one partial result, else 0.
    """

    kernel: str
    form: Form
    text: str
    entry: str
    bindings: tuple[BoundBuffer, ...]
    fields: tuple[Field, ...]
    params_size: int
    workgroup_size: tuple[int, int, int]
    workgroup_bytes: int
    features: frozenset[str]
    uses_status: bool
    vec4: bool
    partial_bytes: int
    _traced: Callable[[], Traced] = field(compare=False, repr=False)

    @property
    def source_map(self) -> SourceMap:
        """Where each of its places comes from."""
        return self._origin.source_map

    @property
    def start(self) -> tuple[Text, Place] | None:
        """The author's text and the place where the kernel begins."""
        return self._origin.start

    @functools.cached_property
    def _origin(self) -> Traced:
        return self._traced()

    def packed(self) -> tuple[Any, ...] | None:
        """Return what `unpacked` makes it of again, of plain types; None of an author's text."""
        if not self.is_all_ours:
            return None
        plain = {name: getattr(self, name) for name in _PLAIN}
        return (
            plain,
            [astuple(one) for one in self.bindings],
            [astuple(one) for one in self.fields],
        )

    @classmethod
    def unpacked(cls, packed: tuple[Any, ...], compose: Callable[[], Composed]) -> Composed:
        """Return a text that another process composed; errors alone have it composed again."""
        plain, bindings, fields = packed
        found = cls(
            bindings=tuple([BoundBuffer(*one) for one in bindings]),
            fields=tuple([Field(name, Offer(*offer), *more) for name, offer, *more in fields]),
            _traced=lambda: compose()._origin,
            **plain,
        )
        vars(found)["is_all_ours"] = True
        return found

    @property
    def wanted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.offer.fact for f in self.fields if not f.offer.constant))

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.entry}\n{self.text}".encode()).hexdigest()

    @functools.cached_property
    def immediate_size(self) -> int:
        """The bytes of the block if a dispatch may bring them along, else 0.

        It may not where there are float16 fields or pointers, whose type names where it lies.
        """
        is_fit = "ptr" not in self.text or not _UNIFORM_POINTER.search(self.text)
        return self.params_size if is_fit and all(f.scalar != "f16" for f in self.fields) else 0

    def with_immediates(self) -> str:
        """Return the text for a device to which a dispatch brings its parameters along.

        It differs in the declaration of the block only, and all else keeps its place, so that
        the compiler's messages point into either text.
        """
        number = next(one.number for one in self.bindings if one.role == "params")
        bound = uniform_head(number)
        return self.text.replace(bound, "var<immediate>".ljust(len(bound)), 1)

    def pack(self, facts: Mapping[str, Any]) -> bytes:
        return self._packer.pack(facts)

    def first_block(self, facts: Mapping[str, Any], *, changes: bool) -> bytes:
        """Return the block of a dispatch to come; where it ``changes`` each time, only room."""
        if not changes:
            return self.pack(facts)
        self._packer.check(facts)
        return bytes(self.params_size)

    def explain(self, compiler_text: str) -> ShaderError:
        """Return the error that shows the author where the compiler's refusal belongs."""
        from wgsl_kernels.wgsl.lint.explain import explain  # all that lints: few programs need it

        return explain(self.kernel, compiler_text, self.source_map, self.start)

    def at_start(self, error: ShaderError) -> ShaderError:
        """Return an error about the text as a whole with the place where the kernel begins."""
        if self.start is None:
            return error
        text, place = self.start
        words = str(error).removeprefix(f"{self.kernel}: ")
        return coded(error.code, f"{self.kernel}: {pointed(text, place, words)}")

    def authors_place(self, span: Span) -> tuple[str, int, int, int, str]:
        """Return what an author wrote for part of the text: file, line, column, width, the line.

        Of what the composer wrote it is where the kernel begins.
        """
        from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

        at = self.source_map.composed.place(span.begin)
        text, place = self.source_map.origin(at.line, at.column)
        if place.file == COMPOSED and self.start is not None:
            text, place = self.start
        line = text.line(place.line)
        width = max(1, min(span.end - span.begin, len(line) - place.column + 1))
        return place.file, place.line, place.column, width, line

    def shared_functions(self) -> frozenset[str]:
        """Return the functions of its text that are the library's, or the composer's own."""
        from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

        found: list[str] = []
        text = self.source_map.composed
        for one in _FUNCTION.finditer(text.text):
            at = text.place(one.start(1))
            _, place = self.source_map.origin(at.line, at.column)
            if place.file.startswith("lib/") or place.file == COMPOSED:
                found.append(one[1])
        return frozenset(found)

    @functools.cached_property
    def is_all_ours(self) -> bool:
        """Whether all that is quoted in it comes from files of the package."""
        return is_all_ours(self.source_map)

    @functools.cached_property
    def refusal(self) -> ShaderError | None:
        """Why browsers refuse the text though the compiler here takes it, if they do.

        What comes from files of the package alone is held by its tests, and not looked at here.
        """
        if self.is_all_ours:
            return None
        from wgsl_kernels.wgsl.lint.explain import refusal

        return refusal(self.kernel, self.source_map)

    @functools.cached_property
    def _packer(self) -> Packer:
        return Packer(self.kernel, self.fields, self.params_size, self._at_field)

    def _at_field(self, name: str, words: str) -> str:
        """Return words about a field of the parameters, led by where a user wrote it."""
        from wgsl_kernels.wgsl.syntax.parser import parse
        from wgsl_kernels.wgsl.syntax.source_map import COMPOSED
        from wgsl_kernels.wgsl.syntax.tree import Struct

        composed = self.source_map.composed
        for one in parse(composed).declarations:
            for member in one.fields if isinstance(one, Struct) else ():
                at = composed.place(member.ident.span.begin)
                text, place = self.source_map.origin(at.line, at.column)
                if member.name == name and place.file != COMPOSED and not is_ours(place.file):
                    return pointed(text, place, words, len(name))
        return words
