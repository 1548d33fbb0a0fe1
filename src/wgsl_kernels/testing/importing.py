"""What a project's own imports call a file, so that its tests and its checks load it once."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.engine.registry.registry import kernel_table

if TYPE_CHECKING:
    from collections.abc import Iterator


class ImportedFile(NamedTuple):
    """A file as an import finds it.

    Attributes:
        name: The module's name, with those of its packages.
        folder: Where the outermost of them is.
    """

    name: str
    folder: Path

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels that the module and those beside it, which it has, have registered."""
        names = {self.name} if self.name in sys.modules else set[str]()
        todo = list(names)
        while todo:
            for other in _named_in(sys.modules[todo.pop()], self.folder):
                if other not in names:
                    names.add(other)
                    todo.append(other)
        found = kernel_table().copy().values()
        return tuple(dict.fromkeys(one.name for one in found if one.origin.module in names))


def imported_file(path: Path) -> ImportedFile | None:
    """Return how a project's tests import a file; None where no import finds it.

    It is found from the nearest folder of ``sys.path``, else from where pytest looks for modules of
    tests: the first folder above that is no package.

    Args:
        path: Without links in it.
    """
    packages = [one for one in path.parents if (one / "__init__.py").is_file()]
    outer = next(one for one in path.parents if one not in packages)
    listed = {Path(one).resolve() for one in sys.path}
    nearest = [one for one in path.parents if one in listed and one not in packages]
    for folder in (*nearest, outer):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if all(one.isidentifier() for one in parts) and _is_found(folder, parts[0]):
            return ImportedFile(".".join(parts), folder)
    return None


def _is_found(folder: Path, name: str) -> bool:
    """Say whether the module or package of a folder is the one that an import of the name finds."""
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module that no import has made has the name
        return False
    if spec is None:
        return True
    places = spec.submodule_search_locations or [spec.origin or ""]
    return any(Path(one).resolve() in (folder / name, folder / f"{name}.py") for one in places)


def _named_in(module: ModuleType, folder: Path) -> Iterator[str]:
    """Yield the modules below a folder that a module has, or has functions and classes of."""
    for value in tuple(vars(module).values()):
        own = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        file = getattr(sys.modules.get(own), "__file__", None) if isinstance(own, str) else None
        if file is not None and folder in Path(file).resolve().parents:
            yield own
