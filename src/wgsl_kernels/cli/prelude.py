"""What ``wgsl-kernels prelude`` does: declare, for editors, the names that shaders need not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.source import load_file
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.lsp.declarations import declarations
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from pathlib import Path


def prelude_of(path: Path, *, whole: bool = False) -> str:
    """Return declarations of the names that a shader file uses and does not declare.

    They are those of float32 tensors: what an editor or a validator of WGSL needs to read the
    file, not what runs.

    Args:
        path: The file.
        whole: Whether the file and what it imports follow, as one text of plain WGSL.

    Raises:
        ArgumentError: There is no such file.
        ShaderError: It cannot be read, or an import leads nowhere.
    """
    if not path.is_file():
        raise ArgumentError(f"prelude: there is no file {path}.")
    source = load_file(path.resolve())
    text = "\n".join(one.text.text.strip() for one in source.files) + "\n"
    lines = "".join(f"{one}\n" for one in declarations(parse(Text(str(path), text))))
    return f"// The names that {path.name} has without import, for tensors of float32.\n{lines}" + (
        f"\n{text}" if whole else ""
    )
