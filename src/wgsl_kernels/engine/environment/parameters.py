"""The parameters of a function, read from its code object: cheap enough for import time."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")

_VAR_POSITIONAL = 0x04
_VAR_KEYWORD = 0x08


@dataclass(frozen=True, slots=True)
class Parameters:
    """Names in order; defaults by name; whether ``*args`` or ``**kwargs`` stand among them."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    defaults: dict[str, Any]
    annotations: dict[str, Any]
    any_positional: bool
    any_keyword: bool

    @property
    def names(self) -> tuple[str, ...]:
        """All named parameters, positional ones first."""
        return self.positional + self.keyword_only


def takes(declared: type, **defaults: Any) -> Callable[[F], F]:
    """Have the annotations of a class and its bases stand for the ``**x`` of a function.

    They come after keyword-only parameters without a default, and before those with one.

    Args:
        declared: The class: names with their annotations and defaults.
        **defaults: Other defaults than the class has.
    """
    bases = [vars(one) for one in reversed(declared.__mro__)]
    annotations = {k: v for one in bases for k, v in one.get("__annotations__", {}).items()}
    own = {name: getattr(declared, name) for name in annotations if hasattr(declared, name)}

    def mark(func: F) -> F:
        given = _from_code(func, func.__code__)
        required = [one for one in given.keyword_only if one not in given.defaults]
        optional = [one for one in given.keyword_only if one in given.defaults]
        parameters = Parameters(
            positional=given.positional,
            keyword_only=(*required, *annotations, *optional),
            defaults=given.defaults | own | defaults,
            annotations=given.annotations | annotations,
            any_positional=given.any_positional,
            any_keyword=False,
        )
        setattr(func, _TAKES, parameters)
        return func

    return mark


_TAKES = "_takes"


def declared_as(func: F, positional: Sequence[str], keyword_only: Sequence[str]) -> F:
    """Have ``func``, which takes anything, pass for one that takes these, and return it."""
    parameters = Parameters(tuple(positional), tuple(keyword_only), {}, {}, False, False)
    setattr(func, _TAKES, parameters)
    return func


def parameters_of(func: Callable[..., Any]) -> Parameters:
    """Return the parameters of ``func``; those of a wrapped method leave out ``self``."""
    code = getattr(func, "__code__", None)
    if isinstance(code, CodeType):
        marked: Parameters | None = getattr(func, _TAKES, None)
        return marked or _from_code(func, code)
    return _from_inspect(func)


def _from_code(func: Any, code: CodeType) -> Parameters:
    count, extra = code.co_argcount, code.co_kwonlyargcount
    positional = code.co_varnames[:count]
    defaults = func.__defaults__ or ()
    by_name = dict(zip(positional[count - len(defaults) :], defaults, strict=True))
    by_name.update(func.__kwdefaults__ or {})
    return Parameters(
        positional=positional[1:] if getattr(func, "__self__", None) is not None else positional,
        keyword_only=code.co_varnames[count : count + extra],
        defaults=by_name,
        annotations=func.__annotations__,
        any_positional=bool(code.co_flags & _VAR_POSITIONAL),
        any_keyword=bool(code.co_flags & _VAR_KEYWORD),
    )


def _from_inspect(func: Callable[..., Any]) -> Parameters:
    import inspect

    try:
        found = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):  # a C function that does not tell
        return Parameters((), (), {}, {}, True, False)
    return Parameters(
        positional=tuple(
            p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ),
        keyword_only=tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY),
        defaults={p.name: p.default for p in found if p.default is not p.empty},
        annotations={p.name: p.annotation for p in found if p.annotation is not p.empty},
        any_positional=any(p.kind is p.VAR_POSITIONAL for p in found),
        any_keyword=any(p.kind is p.VAR_KEYWORD for p in found),
    )
