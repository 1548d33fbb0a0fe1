"""What a public module says is in it: ``__all__`` and ``__dir__``, from what it re-exports."""

from __future__ import annotations

import builtins
import importlib
import inspect
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.suggestions import advice, no_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_published: list[str] = []
_aliases: set[str] = set()


def publish(name: str, lazy: Iterable[str] = (), of: str = "", aliases: str = "") -> None:
    """Set ``__all__`` and ``__dir__`` of the module ``name``; call it where the module ends.

    A package's names are all that it imports; a module's are those that it defines or annotates.
    Names with an underscore, and modules that nothing was published of, are not public. ``__all__``
    leaves out the names of Python's builtins, so that a star import shadows none; ``dir`` has them.

    Args:
        name: The module's ``__name__``.
        lazy: Further names, which its ``__getattr__`` gives; of a mapping the modules that they are
            in, which are imported when they are asked for.
        aliases: A module, imported when it is asked for, with other names of the same functions.
        of: A package whose functions and classes are a module's own, too, where it imports them.
    """
    module = sys.modules[name]
    names = sorted({*_names(module, of), *lazy})
    contents: dict[str, Any] = vars(module)
    contents["__dir__"] = lambda: names
    contents["__all__"] = [one for one in names if not hasattr(builtins, one)]
    _published.append(name)
    _aliases.update([aliases] if aliases else [])
    modules = dict(lazy) if isinstance(lazy, Mapping) else {}
    contents.setdefault("__getattr__", _advising(name, names, modules))


def _advising(module: str, names: list[str], modules: Mapping[str, str]) -> Callable[[str], Any]:
    shown = f"wk.{module.rpartition('.')[2]}"

    def missing(name: str) -> Any:
        if name not in modules:
            raise unknown(shown, name, names)
        return imported(module, name, modules[name])

    return missing


def imported(module: str, name: str, home: str) -> Any:
    """Return what the module ``home`` has by a name, which ``module`` has from then on, too."""
    found = getattr(importlib.import_module(home), name)
    setattr(sys.modules[module], name, found)
    return found


def unknown(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error of a module that has no such name, with what may be meant."""
    said = "" if name.startswith("_") else advice(module, name, names)
    return no_attribute(f"module {module!r}", name, said)


def public_spaces() -> list[tuple[str, Mapping[str, Any]]]:
    """Return what is in each published module, by how users write it; the package itself first."""
    root = __name__.partition(".")[0]
    return [
        (name.replace(root, "wk", 1).replace("ops.", ""), vars(sys.modules[name]))
        for name in sorted(_published, key=lambda name: (name != root, name))
    ]


def public_functions() -> dict[CodeType, list[str]]:
    """Return all names of each published function, as users write them, by its code.

    That of its definition comes first, then shorter ones before longer ones.
    """
    for name in _aliases:
        importlib.import_module(name)
    found: dict[CodeType, list[str]] = {}
    for name in sorted(_published, key=len):
        contents = vars(sys.modules[name])
        within = name.partition(".")[2].replace("ops.", "")
        for one in contents["__dir__"]():
            value = inspect.unwrap(contents[one]) if callable(contents.get(one)) else None
            if isinstance(value, FunctionType):
                names = found.setdefault(value.__code__, [])
                place = 0 if one == value.__name__ and not within else len(names)
                names.insert(place, f"{within}.{one}" if within else one)
    return found


def _names(module: ModuleType, of: str) -> list[str]:
    contents: dict[str, Any] = vars(module)
    is_package = "__path__" in contents
    annotated: dict[str, Any] = contents.get("__annotations__", {})
    found: list[str] = []
    for name, value in contents.items():
        if isinstance(value, ModuleType):
            is_ours = value.__name__.partition(".")[0] == module.__name__.partition(".")[0]
            is_public = is_ours and ("__all__" in vars(value) or callable(value))
        elif is_package:
            is_public = True
        else:
            home = str(getattr(value, "__module__", None))
            is_public = home == module.__name__ or (of != "" and home.startswith(f"{of}."))
        if is_public:
            found.append(name)
    return [name for name in {*found, *annotated} if not name.startswith("_")]
