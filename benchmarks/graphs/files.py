"""Where models are: each is written once, and again when what makes it has changed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench" / "graphs"


def kept(name: str, make: "Callable[[], onnx.ModelProto]") -> Path:
    """Return the file of a model; ``make`` is called where it is not there yet."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    stamp = crc32(b"".join(one.read_bytes() for one in sources))
    path = FOLDER / f"{name}-{stamp:08x}.onnx"
    if not path.is_file():
        import onnx  # to read a file that is there, a peer need not have it

        FOLDER.mkdir(parents=True, exist_ok=True)
        for old in FOLDER.glob(f"{name}-{'?' * 8}.onnx"):
            old.unlink()
        unfinished = path.with_suffix(f".{os.getpid()}")
        onnx.save(make(), unfinished)
        unfinished.replace(path)
    return path
