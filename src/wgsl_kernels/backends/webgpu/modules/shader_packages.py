"""Which package a shader belongs to, and which others it may import from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.modules.files import ENDINGS, shaders_folder
from wgsl_kernels.backends.webgpu.modules.packages import is_there, named_folders
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.words import shown
from wgsl_kernels.wgsl.linking.project import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

OURS = "wgsl_kernels"
"""What imports call the package of our own shaders."""
_SETTINGS = "wesl.toml"
_PROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class ShaderPackage:
    """The package of a shader.

    Attributes:
        name: What the link calls it; paths call it ``package``.
        packages: The folders of all packages by the names that imports give them, its own too.
        unread: The dependencies whose files are not known.
    """

    name: str
    folder: Path
    packages: Mapping[str, Path]
    unread: frozenset[str]

    def segments(self, file: Path) -> tuple[str, ...]:
        """Return the path within the package of a file that may lie outside of it."""
        if not file.is_relative_to(self.folder):
            return (file.name,)
        *folders, name = file.relative_to(self.folder).parts
        stem = next((name.removesuffix(end) for end in ENDINGS if name.endswith(end)), name)
        return (*folders, stem)


def module_file(folder: Path, segments: Sequence[str]) -> Path | None:
    """Return the file of a module in a package's folder, which links may not lead out of."""
    *above, last = segments
    for ending in ENDINGS:
        file = folder.joinpath(*above, last + ending)
        if is_there(file) and file.resolve().is_relative_to(folder.resolve()):
            return file
    return None


def package_of(folder: Path) -> ShaderPackage:
    """Return the package of the shaders in ``folder``.

    It is the root of the nearest wesl.toml, up to the folder with pyproject.toml; without one it
    is the folder itself.

    Raises:
        ShaderError: A wesl.toml cannot be read.
    """
    packages = {OURS: shaders_folder(), **named_folders()}
    if folder.is_relative_to(shaders_folder()):
        return ShaderPackage(OURS, shaders_folder(), packages, frozenset())
    settings = _nearest(folder)
    unread: set[str] = set()
    if settings is not None:
        folder = _dependencies(settings, packages, unread)
    known = next((name for name, one in packages.items() if one == folder.resolve()), OWN)
    packages.setdefault(known, folder)
    return ShaderPackage(known, folder, packages, frozenset(unread))


def _nearest(folder: Path) -> Path | None:
    above = (folder, *folder.parents)
    last = next((n for n, one in enumerate(above) if is_there(one / _PROJECT)), 0)
    inside = above[: last + 1]
    return next((one / _SETTINGS for one in inside if is_there(one / _SETTINGS)), None)


def _dependencies(settings: Path, packages: dict[str, Path], unread: set[str]) -> Path:
    """Note the packages that a wesl.toml and its dependencies name; return its root."""
    found = _table(settings)
    for name, one in _section(settings, found, "dependencies").items():
        given = one.get("path") if isinstance(one, dict) else None
        if given is None:
            unread.add(name)
        elif not isinstance(given, str):
            raise _wrong(settings, f"dependencies.{name}.path", given, "a path in quotes")
        elif name not in packages:
            other = settings.parent / given
            packages[name] = other
            if is_there(other / _SETTINGS):
                packages[name] = _dependencies(other / _SETTINGS, packages, unread)
    root = _section(settings, found, "package").get("root", found.get("root", "shaders"))
    if not isinstance(root, str):
        raise _wrong(settings, "root", root, "a path in quotes")
    return settings.parent / root


def _section(settings: Path, table: dict[str, Any], name: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise _wrong(settings, name, found, f"a table, [{name}]")
    return found


def _wrong(settings: Path, name: str, given: object, wanted: str) -> ShaderError:
    """Return what is raised for a value; its line is the first that gives the name."""
    key = re.compile(rf"^\s*\[?{re.escape(name.split('.')[name.count('.') // 2])}\b")
    lines = settings.read_text(encoding="utf-8").splitlines()
    line = next((n for n, one in enumerate(lines, 1) if key.search(one)), 1)
    return ShaderError(f"{settings}:{line}: {name} is {shown(given)}; want {wanted}.")


def _table(settings: Path) -> dict[str, Any]:
    import tomllib  # most programs have shaders of no package but ours

    try:
        return tomllib.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShaderError(f"{settings}: cannot be read: {error}.") from None
