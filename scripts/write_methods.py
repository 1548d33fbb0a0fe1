"""Write engine/tensors/methods.py, the types of the tensors' methods, from the table of ops."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wgsl_kernels.ops.names.methods import ALIASES, METHODS

FILE = Path(__file__).resolve().parents[1] / "src/wgsl_kernels/engine/tensors/methods.py"
MARK = "        # Written by scripts/write_methods.py.\n"


def declaration(name: str, op: Callable[..., Any]) -> str:
    """Return the method of an op as a class declares it."""
    signature = inspect.signature(op)
    first, *others = signature.parameters.values()
    own = first.replace(name="self", annotation=inspect.Parameter.empty)
    others = [
        one.replace(annotation=re.sub(r"\b\w+\.(?=[A-Z])", "", str(one.annotation)))
        for one in others
    ]
    text = re.sub(r"'([^']*?)'", r"\1", str(signature.replace(parameters=[own, *others])))
    return f"        def {name}{text}: ...\n"


def content(present: str) -> str:
    """Return the file with the methods that the table has now."""
    head = present[: present.index(MARK) + len(MARK)]
    table = sorted([*ALIASES.items(), *((one.__name__, one) for one in METHODS)])
    return head + "".join(declaration(name, op) for name, op in table)


if __name__ == "__main__":
    FILE.write_text(content(FILE.read_text()))
