"""Which of our templates a text is made of, and in which configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instance:
    """Which template, and its configuration.

    Attributes:
        configuration: Values of its constants; others keep their defaults.
    """

    path: str
    configuration: tuple[tuple[str, bool | int], ...] = ()

    def given(self, **values: bool | int) -> Instance:
        return Instance(self.path, (*self.configuration, *values.items()))

    def value(self, name: str, default: bool | int) -> bool | int:
        return dict(self.configuration).get(name, default)


MAP = Instance("templates/map.wesl")
