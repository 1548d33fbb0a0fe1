"""What the tuner chooses among: the configurations of templates, by name and by what they are."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.templates.template import hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ShapeClass = tuple[object, ...]
Setting = bool | int | str
Settings = tuple[tuple[str, Setting], ...]
Key = tuple[str, ShapeClass, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template with one configuration: what identifies a variant beyond its name.

    Attributes:
        template: The hash of the template's files, the kernel's among them.
        configuration: The values of its constants.
    """

    template: str
    configuration: Settings

    def entry(self, name: str) -> dict[str, Any]:
        """Return what files hold of it; ``name`` is for people who read them."""
        settings = dict(self.configuration)
        return {"variant": name, "template": self.template, "configuration": settings}

    def is_in(self, entry: Mapping[str, Any]) -> bool:
        """Say whether an entry of a file names this candidate."""
        settings = dict(self.configuration)
        return entry.get("template") == self.template and entry.get("configuration") == settings


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen once per process, adapter and class of shapes.

    Attributes:
        kernel: The kernel's name.
        shape_class: Small numbers and short words that tell apart what may want another variant.
        names: The variants that can run.
        static: The one that is taken unless another is known to be faster.
        find: Returns what the names stand for; called once, where files are read or written.
    """

    kernel: str
    shape_class: ShapeClass
    names: tuple[str, ...]
    static: str
    find: Callable[[], Mapping[str, Candidate]]
    key: Key = field(init=False)
    """What tells choices apart within a process, where an edited kernel keeps its choices."""

    def __post_init__(self) -> None:
        """Make the key once."""
        key = (self.kernel, self.shape_class, self.names)
        object.__setattr__(self, "key", key)

    @functools.cached_property
    def candidates(self) -> Mapping[str, Candidate]:
        """What the names stand for."""
        return self.find()

    @property
    def label(self) -> str:
        """What it is called in files."""
        words = " ".join(map(str, self.shape_class))
        return f"{self.kernel} {words}: {', '.join(self.names)}"

    def named(self, entry: Mapping[str, Any] | None) -> str | None:
        """Return the variant that an entry of a file is about, None if none of these."""
        if entry is None:
            return None
        found = self.candidates
        return next((name for name in self.names if found[name].is_in(entry)), None)

    def entry(self, name: str) -> dict[str, Any]:
        """Return what files hold where ``name`` was chosen."""
        return self.candidates[name].entry(name)


def choice_by_name(
    kernel: str,
    shape_class: ShapeClass,
    names: tuple[str, ...],
    static: str,
    texts: Callable[[], Iterable[str]],
) -> Choice:
    """Return a choice whose candidates differ in nothing but their names.

    Args:
        kernel: The kernel's name.
        shape_class: As `Choice` has it.
        names: The variants that can run.
        static: The one of them to take without measuring.
        texts: Returns the files that they are made of.
    """

    def candidates() -> Mapping[str, Candidate]:
        template = hash_of(texts())
        return {name: Candidate(template, (("variant", name),)) for name in names}

    return Choice(kernel, shape_class, names, static, candidates)
