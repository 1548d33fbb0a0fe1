"""Dictionaries that forget what was not used for longest: together they keep to a budget in bytes.

What is kept per shape, layout or text grows with what a program meets. A bound on the number of
entries is wrong for every program but one: it is a cliff for many small shapes and no bound for
large ones. So all share one budget, and each says what an entry takes.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")

CACHE_BYTES = 384 << 20
"""What all caches of a process may keep, about: some 500 shapes of a training step of 80 kernels
take half of it."""


class _Ages(Protocol):
    def age(self) -> None:
        """Forget what was not used since the last time."""


class Budget:
    """The bytes that several caches may keep together.

    Whatever is kept, or used again since the last time, is counted. When that is half of the
    budget, every cache forgets what was not used meanwhile, and counting begins anew. So what a
    program goes through again and again stays as long as it takes half of the budget at most.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._counted = 0
        self._caches: WeakSet[_Ages] = WeakSet()
        self._adding = threading.RLock()  # a finalizer may come in between
        self._turning = threading.Lock()
        self.moving = threading.RLock()
        """Held while values change their generation, so that nobody misses them on their way."""

    def add(self, cache: _Ages) -> None:
        with self._adding:
            self._caches.add(cache)

    def count(self, nbytes: int) -> None:
        """Count what is about to be kept; have all caches forget where that is too much."""
        self._counted += nbytes
        if self._counted > self.nbytes // 2 and self._turning.acquire(blocking=False):
            try:
                self._counted = nbytes
                with self._adding:
                    caches = list(self._caches)
                for one in caches:
                    one.age()
            finally:
                self._turning.release()


caches = Budget(CACHE_BYTES)
"""What is kept ready for calls like earlier ones: plans, programs, bind groups, read texts."""


class Recent(dict[K, "V | None"], Generic[K, V]):
    """Keeps the values that were used last, within a `Budget`.

    ``recent[key]`` returns a value, or None where there is none. A hit costs what it costs in a
    plain dictionary, since nothing is noted: values live in two generations. A miss looks in the
    older one and brings its value back; where the budget is full, the younger one becomes the
    older one, and what was not used since the last such time goes. Iteration, ``len`` and ``get``
    see the younger generation only.
    """

    __slots__ = ("__weakref__", "_budget", "_let_go", "_nbytes", "_older")
    __hash__ = object.__hash__  # type: ignore[assignment]  # budgets know them by identity

    def __init__(
        self,
        nbytes: int | Callable[[V], int],
        let_go: Callable[[K, V], object] | None = None,
        budget: Budget = caches,
    ) -> None:
        """Take how many bytes an entry is, key included, or what tells that of a value.

        Take also what is called with each value that was not used for longest, as it goes.
        """
        super().__init__()
        self._older: dict[K, V | None] = _EMPTY
        self._nbytes = nbytes
        self._let_go = let_go
        self._budget = budget
        budget.add(self)

    def __eq__(self, other: object) -> bool:
        """Say whether this is the same cache."""
        return self is other

    def __missing__(self, key: K) -> V | None:
        """Bring a value back from the older generation."""
        if key not in self._older:
            return None
        with self._budget.moving:
            found = self._older.pop(key, None)
            if found is None:
                return self.get(key)  # another thread has brought it back
            kept = self.setdefault(key, found)
        self._budget.count(self._bytes_of(found))
        return kept

    def keep(self, key: K, value: V) -> V:
        """Keep a value and return it; another thread's that came first stays, and is returned."""
        self._budget.count(self._bytes_of(value))
        kept = self.setdefault(key, value)
        return value if kept is None else kept

    def _bytes_of(self, value: V) -> int:
        nbytes = self._nbytes
        return nbytes if isinstance(nbytes, int) else nbytes(value)

    def age(self) -> None:
        """Forget what was not used since the last time."""
        if not self and not self._older:
            return
        with self._budget.moving:
            gone, self._older = self._older, self.copy()
            for key in tuple(self._older):  # and no other, that a thread has added meanwhile
                self.pop(key, None)
        if self._let_go is not None:
            for key, value in gone.items():
                if value is not None:
                    self._let_go(key, value)

    def clear(self) -> None:
        """Forget everything."""
        with self._budget.moving:
            super().clear()
            self._older = _EMPTY

    def drop(self, is_gone: Callable[[K, V], bool]) -> None:
        """Forget the values for which ``is_gone(key, value)`` holds; it may have caches age."""
        with self._budget.moving:
            generations = self._older.copy(), self.copy()  # other threads go on meanwhile
        for generation in generations:
            for key, value in generation.items():
                if value is not None and is_gone(key, value):
                    self.discard(key)

    def discard(self, key: K) -> None:
        """Forget the value of a key, if there is one."""
        with self._budget.moving:
            self.pop(key, None)
            self._older.pop(key, None)

    @property
    def held(self) -> int:
        """How many values are kept, both generations counted."""
        return len(self) + len(self._older)


_EMPTY: dict[Any, Any] = {}
"""An older generation of which there is nothing: most caches have one value or two."""


class Remembered(Recent[Any, V]):
    """What a function gives for arguments: ``f[a, b]`` calls it where that is not kept.

    A hit is a dictionary's: no call in Python.

    Attributes:
        function: The function, for arguments that no dictionary can hold.
    """

    def __init__(self, f: Callable[..., V], nbytes: int | Callable[[V], int]) -> None:
        super().__init__(nbytes)
        self.function = f
        self.__doc__ = f.__doc__
        self._takes_one = f.__code__.co_argcount == 1

    if TYPE_CHECKING:

        def __getitem__(self, key: Any) -> V: ...

    def __missing__(self, key: Any) -> V:
        found = super().__missing__(key)
        if found is None:
            f = self.function
            found = self.keep(key, f(key) if self._takes_one else f(*key))
        return found


class remembered:  # noqa: N801  a decorator reads so
    """Has a function remembered; its arguments then stand in brackets: see `Remembered`."""

    def __init__(self, nbytes: int | Callable[[Any], int]) -> None:
        self._nbytes = nbytes

    def __call__(self, f: Callable[..., V]) -> Remembered[V]:
        """Return the function as what it gives."""
        return Remembered(f, self._nbytes)
