"""Where shader files may be, and reading them.

A path leads to a shader beside the program's own file or among the package's; one that leads
elsewhere must end like a shader, so that what errors quote is a shader's text.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.packages import (
    clipped,
    is_there,
    named_folders,
    present_path,
)
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.errors.words import shown
from wgsl_kernels.wgsl.syntax.inline import inline_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.wgsl.syntax.places import Text

ENDINGS = (".wesl", ".wgsl")
"""How shader files end: with imports, and without."""


_SHADERS = Path(__file__).resolve().parents[3] / "shaders"


def shaders_folder() -> Path:
    """Return the folder that holds the package's own shaders, without links."""
    return _SHADERS


def is_wgsl(given: str) -> bool:
    """Say whether what an author gives for a shader is WGSL itself, and not a path."""
    return "\n" in given or ("{" in given and not given.endswith(ENDINGS))


def find_file(given: str, beside: Path) -> Path:
    """Return the shader file that a program names.

    It is looked for beside the program's own file, then among the package's shaders. A path that
    leads elsewhere must end in ``.wgsl`` or ``.wesl``, links followed.

    Raises:
        ShaderError: There is no such file, or it is no shader.
    """
    found = beside / given
    if not is_there(found) and not is_there(found := shaders_folder() / given):
        former = present_path(shaders_folder(), given)
        if former is None:
            tried = dict.fromkeys((beside / given, found))
            message = f"shader file {shown(given)} is missing; tried {_listed(tried)}."
            raise coded("no-kernel", message)
        found = former
    real = found.resolve()
    if real.suffix not in ENDINGS and not any(real.is_relative_to(one) for one in _roots(beside)):
        raise ShaderError(
            f"shader file {given!r} leads to a file that does not end in .wgsl or .wesl."
        )
    return found


_unsaved: dict[Path, bytes] = {}
"""What editors have of files, by their paths without links."""


def note_unsaved(path: Path, text: str | None) -> None:
    """Have a file be read as an editor has it; with None, as it is saved."""
    if text is None:
        _unsaved.pop(path.resolve(), None)
    else:
        _unsaved[path.resolve()] = text.encode("utf-8", "surrogatepass")


def are_as_saved() -> bool:
    """Say whether no editor has another text of any file."""
    return not _unsaved


def read_text(path: Path) -> Text:
    """Return what a file holds, as it is now; who reads it parses no text again."""
    try:
        data = _unsaved.get(path.resolve()) if _unsaved else None
        data = path.read_bytes() if data is None else data
    except OSError as error:
        raise ShaderError(f"{label(path)}: cannot be read: {error.strerror}.") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8."
        raise ShaderError(f"{label(path)}:{line}: {message}") from None
    return text_of(label(path), text)


def text_of(name: str, text: str) -> Text:
    """Return text with plain line ends; ``name`` stands for its file in errors.

    Raises:
        ShaderError: It has half of a surrogate pair, which no file can hold.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        plain.encode()
    except UnicodeEncodeError as error:
        line = plain.count("\n", 0, error.start) + 1
        message = f"character {plain[error.start]!a} is half of a surrogate pair; want text."
        raise ShaderError(f"{name}:{line}: {message}") from None
    return inline_text(name, plain)


def label(path: Path) -> str:
    """Return how errors name ``path``: the package's own shaders by their place among them."""
    folder, resolved = shaders_folder(), path.resolve()
    return str(resolved.relative_to(folder)) if resolved.is_relative_to(folder) else str(path)


def is_ours(file: str) -> bool:
    """Say whether what errors name so is one of the package's own shaders."""
    path = Path(file)
    return not path.is_absolute() and (shaders_folder() / path).is_file()


def _roots(folder: Path) -> tuple[Path, ...]:
    return (folder.resolve(), shaders_folder(), *named_folders().values())


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(clipped(str(path)) for path in paths)
