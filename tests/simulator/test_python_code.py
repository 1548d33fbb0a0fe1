"""Functions in Python with more blocks in others than Python reads."""

from __future__ import annotations

from typing import Any

import pytest

from wgsl_kernels.simulator.python_code import TooDeepError, code_of


def _nested(count: int, heads: str, last: str) -> str:
    """Return a function of so many blocks in others, whose heads are numbered."""
    blocks = [f"{'    ' * (n + 1)}{heads.format(n)}\n" for n in range(count)]
    return f"def f(given, found):\n{''.join(blocks)}{'    ' * (count + 1)}{last}\n"


@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_loops_in_many_others_run(count: int) -> None:
    known: dict[str, Any] = {}
    found: list[int] = []
    text = _nested(count, "for k{} in given:", f"found.append(k0 + k{count - 1})")
    exec(code_of(text, "f.py"), known)
    known["f"]([3], found)
    assert found == [6]


def test_what_an_inner_loop_writes_is_there_behind_it() -> None:
    text = _nested(30, "for k{} in given:", "total = total + k0")
    first, rest = text.split("\n", 1)
    text = f"{first}\n    total = 1\n{rest}    found.append(total)\n"
    known: dict[str, Any] = {}
    found: list[int] = []
    exec(code_of(text, "f.py"), known)
    known["f"]([5], found)
    assert found == [6]


def test_conditions_in_too_many_others_are_refused() -> None:
    known: dict[str, Any] = {}
    found: list[int] = []
    exec(code_of(_nested(199, "if given:", "found.append(1)"), "f.py"), known)
    known["f"](True, found)
    assert found == [1]
    with pytest.raises(TooDeepError):
        code_of(_nested(201, "if given:", "found.append(1)"), "f.py")
