"""What the tuner chooses among: configurations of templates, by name."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ShapeClass = tuple[object, ...]
Constants = tuple[tuple[str, bool | int], ...]
Settings = tuple[tuple[str, Any], ...]
Key = tuple[str, ShapeClass, tuple[str, ...]]

_logger = logging.getLogger("wgsl_kernels")


class Candidate(NamedTuple):
    """One way to do a kernel's work: a template in a configuration.

    Attributes:
        template: Its path; the Python file of a kernel where that alone knows what a name means.
        constants: The values of those constants that are chosen, and of what else differs; none
            where the name says it all.
    """

    template: str
    constants: Constants = ()

    def settings(self, name: str, **more: Any) -> Settings:
        """Return what programs have of it as ``name``, with what ``more`` was settled for them."""
        return (("variant", name), *more.items(), *self.constants)


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen once per process, adapter and class of shapes.

    Attributes:
        shape_class: Small numbers and short words that tell apart what may want another variant.
        static: The one that is taken unless another is known to be faster.
        hash_of: Returns the hash of a template's files, the kernel's among them; called once for
            each template, where files are read or written.
        work: Multiply-adds or elements of one run, about.
    """

    kernel: str
    shape_class: ShapeClass
    candidates: Mapping[str, Candidate]
    static: str
    hash_of: Callable[[str], str]
    work: float = 0.0

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.candidates)

    @functools.cached_property
    def key(self) -> Key:
        """What tells choices apart within a process, where an edited kernel keeps its choices."""
        return self.kernel, self.shape_class, self.names

    @property
    def label(self) -> str:
        words = " ".join(map(str, self.shape_class))
        return f"{self.kernel} {words}: {', '.join(self.names)}"

    @functools.cached_property
    def entries(self) -> Mapping[str, dict[str, Any]]:
        """What files hold where a variant was chosen, by name, which is for people who read them.

        A variant is told by the hash of its template and its constants.
        """
        paths = dict.fromkeys([one.template for one in self.candidates.values()])
        hashes = {path: self.hash_of(path) for path in paths}
        return {
            name: {
                "variant": name,
                "template": hashes[path],
                "configuration": dict(constants) or {"variant": name},
            }
            for name, (path, constants) in self.candidates.items()
        }

    def named(self, entry: Mapping[str, Any] | None, level: int = logging.INFO) -> str | None:
        """Return the variant that a file's entry is about; None, said at ``level``, if none."""
        if entry is None:
            return None
        for name, own in self.entries.items():
            if all(own[word] == entry[word] for word in ("template", "configuration")):
                return name
        message = "%s: %s, as chosen before, is not taken: its template or configuration differs."
        _logger.log(level, message, self.label, entry["variant"])
        return None
