"""A dictionary of bounded size that forgets what was not used for longest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, "V | None"], Generic[K, V]):
    """Keeps the values that were used last: at least ``most``, at most twice as many.

    ``recent[key]`` returns a value, or None where there is none. A hit costs what it costs in a
    plain dictionary, since nothing is noted: values live in two generations. A miss looks in the
    older one and brings its value back; when the younger one is full, it becomes the older one, and
    what was not used since the last such time goes. Iteration, ``len`` and ``get`` see the younger
    generation only.
    """

    __slots__ = ("_let_go", "_older", "most")

    def __init__(self, most: int, let_go: Callable[[K, V], object] | None = None) -> None:
        """Take also what is called with each value that was not used for longest, as it goes."""
        super().__init__()
        self.most = most
        self._older: dict[K, V | None] = {}
        self._let_go = let_go

    def __missing__(self, key: K) -> V | None:
        """Bring a value back from the older generation."""
        found = self._older.pop(key, None)
        return None if found is None else self.keep(key, found)

    def keep(self, key: K, value: V) -> V:
        """Keep a value and return it; another thread's that came first stays, and is returned."""
        if len(self) >= self.most:
            gone, self._older = self._older, dict(self)
            super().clear()
            if self._let_go is not None:
                for old, one in gone.items():
                    if one is not None:
                        self._let_go(old, one)
        kept = self.setdefault(key, value)
        return value if kept is None else kept

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._older = {}

    def drop(self, is_gone: Callable[[K, V], bool]) -> None:
        """Forget the values for which ``is_gone(key, value)`` holds."""
        for part in (self, self._older):
            for key, value in list(part.items()):
                if value is not None and is_gone(key, value):
                    part.pop(key, None)

    @property
    def held(self) -> int:
        """How many values are kept, both generations counted."""
        return len(self) + len(self._older)
