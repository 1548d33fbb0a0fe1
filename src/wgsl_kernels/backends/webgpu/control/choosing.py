"""What kernels with full control choose among: variants by name, or configurations of templates."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache
from wgsl_kernels.backends.webgpu.modules.packages import plain_path
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate, Choice
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wgsl_kernels.backends.webgpu.declare.sources import Sources
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session
    from wgsl_kernels.backends.webgpu.templates.template import Configuration, Template
    from wgsl_kernels.backends.webgpu.tuning.choice import Key, Settings, ShapeClass
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.wgsl.syntax.places import Text

MOST_CONFIGURATIONS = 64
"""Configurations among which one choice can be measured."""
READY_BYTES = 4000
"""What a choice takes with its variants, and a launch that has run nothing yet."""


def _bytes_of(ready: Any) -> int:
    return bytes_of_loaded(ready) if isinstance(ready, Loaded) else READY_BYTES


class Chooser:
    """The part of ``gpu`` that asks the tuner.

    What a function asked for is kept in one place: programs of its dispatches, launches of its maps
    and forms, and choices, each by all that was said of it.

    Attributes:
        chosen: What was chosen so far in this run of the function.
    """

    def __init__(self, backend: Session, kernel: str, origin: Origin, sources: Sources) -> None:
        self._backend = backend
        self._kernel = kernel
        self._origin = origin
        self._sources = sources
        self._ready: DeviceCache[Any, Any] = DeviceCache(_bytes_of)
        self.chosen: dict[Key, Settings] = {}

    def choose(
        self,
        shape_class: ShapeClass,
        names: tuple[str, ...] | Mapping[str, Candidate],
        static: str,
        run: Callable[[str], object],
        work: float,
        *,
        slots: str | Text | None = None,
    ) -> str:
        """Return which of the kernel's variants to run; see `backends.webgpu.tuning.tuner.Tuner`.

        Args:
            shape_class: Small numbers and short words that tell apart what may want another
                variant; see `backends.webgpu.declare.variants.size_class`.
            names: The variants that can run, with the template and configuration of each; names
                alone where only the kernel's Python file gives them a meaning.
            static: The one of them to take without measuring.
            run: Runs a variant on the arrays at hand, into new arrays, without another effect.
            work: Multiply-adds or elements of one run, about.
            slots: The module that fills the templates' slots, as for `dispatch`.
        """
        read = partial(self._hash_of, slots)
        if isinstance(names, Mapping):
            return self.decide(Choice(self._kernel, shape_class, names, static, read, work), run)
        key = (shape_class, names, static, work)
        found = self._ready[key]
        if found is None:
            named = {name: Candidate(self._origin.file) for name in names}
            made = Choice(self._kernel, shape_class, named, static, read, work)
            found = self._ready.keep(key, made)
        return self.decide(found, run)

    def _hash_of(self, slots: str | Text | None, path: str) -> str:
        from wgsl_kernels.backends.webgpu.templates.template import hash_of

        if path == self._origin.file:
            return hash_of(linecache.getlines(path))
        return self._sources.template(path, slots).hash

    def configure(
        self,
        template: str,
        run: Callable[[Configuration], object],
        work: float,
        *,
        shape_class: tuple[object, ...] = (),
        slots: str | Text | None = None,
        given: Configuration | None = None,
        static: Configuration | None = None,
        rules: tuple[Callable[[Configuration], bool], ...] = (),
    ) -> Configuration:
        """Return the values of a template's constants to run with, for `dispatch`.

        The candidates are what its ``@tune`` constants may be; they are measured and remembered
        as any other variants are.

        Args:
            template: The template's path, as for `dispatch`.
            run: Runs a configuration; otherwise as for `choose`.
            work: As for `choose`.
            shape_class: As for `choose`.
            slots: The module that fills its slots, as for `dispatch`.
            given: Values of further constants, or of some that are not to be chosen.
            static: Those to take without measuring; by default the template's own.
            rules: What each configuration must satisfy.

        Raises:
            ArgumentError: A value is not as declared, a rule refuses the static configuration, or
                there are more than 64.
            ShaderError: The template cannot be read.
        """
        known, first = dict(given or {}), dict(static or {})
        key = (template, slots, shape_class, tuple(known.items()), tuple(first.items()), rules)
        found = self._ready[key]
        if found is None:
            read = self._sources.template(plain_path(self._kernel, "template", template), slots)
            made = template_choice(
                self._kernel, shape_class, read, given=known, static=first, rules=rules
            )
            found = self._ready.keep(key, made)
        by_name = {name: dict(one.constants) for name, one in found.candidates.items()}
        choice = replace(found, work=work)
        return by_name[self.decide(choice, lambda name: run(by_name[name]))]

    def decide(self, choice: Choice, run: Callable[[str], object]) -> str:
        found = self._backend.tuner.choose(choice, run)
        self.chosen[choice.key] = choice.candidates[found].settings(found)
        return found


def configuration_of(chosen: Mapping[Key, Settings]) -> Settings:
    """Return what programs have of several choices."""
    return tuple([setting for one in [*chosen.values()] for setting in one])


def template_choice(
    kernel: str,
    shape_class: ShapeClass,
    template: Template,
    *,
    given: Configuration,
    static: Configuration,
    rules: tuple[Callable[[Configuration], bool], ...],
) -> Choice:
    """Return a choice among the values of a template's ``@tune`` constants.

    Raises:
        ArgumentError: ``given`` or ``static`` is not as declared, a rule refuses ``static``, or
            there are more than `MOST_CONFIGURATIONS`.
    """
    from wgsl_kernels.backends.webgpu.templates.constants import shown

    template.check({**given, **static})
    free = [name for name in template.tuned if name not in given]
    file = template.file
    candidates = {
        _name(one, free): Candidate(file, tuple(one.items()))
        for one in template.configurations(given, rules)
    }
    fixed = [f"{name}={shown(value)}" for name, value in given.items()]
    default = _name(template.whole({**given, **static}), free)
    if default not in candidates:
        raise ArgumentError(f"{kernel}: the rules refuse the static configuration {default}.")
    if len(candidates) > MOST_CONFIGURATIONS:
        raise ArgumentError(
            f"{kernel}: {file} has {len(candidates)} configurations here; want at most "
            f"{MOST_CONFIGURATIONS}. Give some constants, or narrow them by rules."
        )
    classes = (*shape_class, *fixed)
    return Choice(kernel, classes, candidates, default, lambda _: template.hash)


def _name(configuration: Configuration, constants: Iterable[str]) -> str:
    from wgsl_kernels.backends.webgpu.templates.constants import shown

    found = [f"{name}={shown(configuration[name])}" for name in constants]
    return " ".join(found) or "alone"
