"""The modules that a link is given, by package and path, and what each path in them means."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.wgsl.errors.errors import ShaderError, coded
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.prelude import NO_PRELUDE, Prelude
from wgsl_kernels.wgsl.linking.source import (
    CROSS_PACKAGE_WILDCARD,
    SEPARATOR,
    UNSUPPORTED_WILDCARD,
    WILDCARD,
)
from wgsl_kernels.wgsl.linking.unit import Unit, unit_of
from wgsl_kernels.wgsl.names.predeclared import PREDECLARED, is_predeclared
from wgsl_kernels.wgsl.names.spellings import remedy_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from wgsl_kernels.wgsl.linking.source import Import
    from wgsl_kernels.wgsl.syntax.places import Text

OWN = "package"
"""How paths call the package that they stand in, and what the linked package is called."""

MOST_PASSED_ON = 200
"""How many modules may pass on, by ``public import``, what one of them declares."""


class ModulePath(NamedTuple):
    """Where a module is: a package, and the segments of the path in it."""

    package: str
    segments: tuple[str, ...]

    def __str__(self) -> str:
        """Return the path as it is written in imports."""
        return SEPARATOR.join((self.package, *self.segments))


class Target(NamedTuple):
    """One declaration of one module."""

    module: ModulePath
    at: int


class _NowhereError(Exception):
    """A path leads nowhere; the argument says why."""


@dataclass
class Project:
    """All modules, read when they are first asked for.

    Attributes:
        texts: The files, by where they are.
        conditions: What the conditions in them are.
        prelude: The names that modules may use and nobody here declares.
        stand_ins: The module that takes a module's place: what it declares is meant wherever the
            other's declaration of that name is; what it does not declare comes from the other.
        packages: The names of the packages; by default those of ``texts``.
    """

    texts: Mapping[ModulePath, Text]
    conditions: Mapping[str, bool]
    prelude: Prelude = NO_PRELUDE
    stand_ins: Mapping[ModulePath, ModulePath] = field(default_factory=dict)
    packages: Collection[str] = ()
    _units: dict[ModulePath, Unit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note which packages there are."""
        self.packages = self.packages or {path.package for path in self.texts}

    def unit(self, path: ModulePath) -> Unit | None:
        """Return the module at ``path``, None where there is none."""
        found = self._units.get(path)
        if found is None and path in self.texts:
            found = self._units[path] = unit_of(self.texts[path], self.conditions)
        return found

    def resolve(self, path: ModulePath, name: str, begin: int) -> Target | None:
        """Return what ``name`` means in the module at ``path``, None for a name from elsewhere.

        WGSL declares such a name, or the prelude does.

        Args:
            path: A module.
            name: A name or a path that the module uses and does not declare.
            begin: Where it stands.

        Raises:
            ShaderError: There is no such declaration.
        """
        unit = self._known(path)
        first, _, rest = name.partition(SEPARATOR)
        bound = unit.imports.get(first)
        try:
            if rest:
                head = (first,) if bound is None else bound.path
                return self._declaration(path, (*head, *rest.split(SEPARATOR)))
            if bound is not None:
                begin = bound.begin
                return self._declaration(path, bound.path)
            found = self._by_wildcard(path, unit, name)
        except _NowhereError as error:
            raise ShaderError(unit.text.point(str(error), begin)) from None
        if found is None and not self.prelude.has(name, path) and not is_predeclared(name):
            local = unit.names.visible_at(begin)
            candidates = (*unit.declared, *unit.imports, *local, *PREDECLARED)
            candidates += tuple(self.prelude.names_in(path))
            message = f"nothing is called {name!r} here.{_near(name, candidates)}"
            message = remedy_for(name) or message
            raise coded("unknown-name", unit.text.point(message, begin))
        return found

    def own(self, path: ModulePath, name: str) -> Target:
        """Return what the name of a declaration of the module at ``path`` means in that module."""
        unit = self._known(path)
        given = None if name in unit.private else self._given(path, path, name, frozenset())
        return Target(path, unit.declared[name]) if given is None else given

    def slots(self, path: ModulePath) -> Iterable[tuple[str, Target]]:
        """Yield the names that the module at ``path`` has for others, and what it has for them."""
        unit = self._known(path)
        for name in (*unit.declared, *_offered(unit)):
            found = self._found_in(path, path, name, frozenset())
            if found is not None and name not in unit.private:
                yield name, found

    def exported(self, path: ModulePath, imported: Import) -> Target:
        """Return what an import of the module at ``path`` names.

        Raises:
            ShaderError: There is no such declaration.
        """
        try:
            return self._declaration(path, imported.path)
        except _NowhereError as error:
            raise ShaderError(self._known(path).text.point(str(error), imported.begin)) from None

    def _known(self, path: ModulePath) -> Unit:
        unit = self.unit(path)
        assert unit is not None
        return unit

    def _by_wildcard(self, path: ModulePath, unit: Unit, name: str) -> Target | None:
        found: dict[Target, Import] = {}
        for one in unit.wildcards:
            try:
                module = self._absolute(path, one.path[:-1])
                self._check_wildcard(path, module, unit.off | one.off)
            except _NowhereError as error:
                raise ShaderError(unit.text.point(str(error), one.begin)) from None
            target = self._member(path, module, name, frozenset())
            if target is not None:
                found.setdefault(target, one)
        if len(found) > 1:
            both = " and ".join(SEPARATOR.join((*o.path[:-1], name)) for o in found.values())
            raise _NowhereError(f"{name!r} may be {both}. Import the one that is meant by name.")
        return next(iter(found), None)

    def _check_wildcard(self, path: ModulePath, module: ModulePath, off: frozenset[str]) -> None:
        """Refuse to import all names of a module that is not there, or not made for that."""
        unit = self.unit(module)
        if unit is None:
            raise _NowhereError(self.missing(module))
        if module.package in (path.package, CONSTANTS):
            return
        for is_refused, rule, why in (
            (not unit.is_wildcardable, UNSUPPORTED_WILDCARD, f"{module} is not @!wildcardable"),
            (
                path.package != OWN,
                CROSS_PACKAGE_WILDCARD,
                f"{path} is in a library, {module} in another",
            ),
        ):
            if is_refused and rule not in off:
                what = f"Import names, or write @diagnostic(off, {rule}) before the import."
                raise _NowhereError(f"{why}: names added to it later could clash. {what}")

    def _declaration(
        self, path: ModulePath, segments: tuple[str, ...], seen: frozenset[object] = frozenset()
    ) -> Target:
        """Return what ``segments``, written in the module at ``path``, lead to."""
        module = self._absolute(path, segments[:-1], segments[-1])
        unit = self.unit(module)
        if unit is None:
            raise _NowhereError(self.missing(module))
        name = segments[-1]
        found = self._member(path, module, name, seen)
        if found is None:
            if name in unit.declared:
                raise _NowhereError(f"{module}::{name} is private to its module.")
            near = self._in_other_module(module, name) or _near(
                name, (*unit.declared, *_offered(unit))
            )
            raise _NowhereError(f"{module} declares no {name!r}.{near}")
        return found

    def _member(
        self, asker: ModulePath, module: ModulePath, name: str, seen: frozenset[object]
    ) -> Target | None:
        """Return what ``name`` is to users of ``module``, which another may stand in for."""
        found = self._found_in(asker, module, name, seen)
        given = None if found is None else self._given(asker, module, name, seen)
        return found if given is None else given

    def _given(
        self, asker: ModulePath, module: ModulePath, name: str, seen: frozenset[object]
    ) -> Target | None:
        """Return what stands in for a declaration of ``module``; its stand-in sees the default."""
        other = self.stand_ins.get(module)
        if other is None or other == asker:
            return None
        return self._found_in(module, other, name, seen)

    def _found_in(
        self, asker: ModulePath, module: ModulePath, name: str, seen: frozenset[object]
    ) -> Target | None:
        """Return what ``module`` declares or imports for others as ``name``."""
        unit = self._known(module)
        at = unit.declared.get(name)
        if at is not None:
            return Target(module, at) if asker == module or name not in unit.private else None
        offered = unit.imports.get(name)
        if offered is None or not offered.is_public:
            return None
        if (module, name) in seen:
            raise _NowhereError(f"{module}::{name} is imported from itself.")
        if len(seen) >= MOST_PASSED_ON:
            raise _NowhereError(f"{module}::{name} is passed on by over {MOST_PASSED_ON} modules.")
        return self._declaration(module, offered.path, seen | {(module, name)})

    def _absolute(
        self, path: ModulePath, segments: tuple[str, ...], name: str = WILDCARD
    ) -> ModulePath:
        """Return which module ``segments``, written in the module at ``path``, are."""
        found = absolute(path, segments, self.packages)
        if found is not None:
            return found
        if not segments:
            raise _NowhereError(f"{name!r} is a package, not a declaration; want {name}::name.")
        first = segments[0]
        if first == "super":
            raise _NowhereError(f"{SEPARATOR.join(segments)} leaves the package of {path}.")
        if first == CONSTANTS:
            raise _NowhereError("no constants are given. Pass them in constants=.")
        raise _NowhereError(self.no_package(first))

    def no_package(self, name: str) -> str:
        """Return what to say where a path begins with the name of no package."""
        near = _near(name, (OWN, *self.packages))
        return f"there is no package {name!r}. Pass it in packages=.{near}"

    def _in_other_module(self, module: ModulePath, name: str) -> str:
        """Return which other module of a package declares a name, as an error asks; else ""."""
        for one, text in self.texts.items():
            others = one.package == module.package and one != module
            if others and any(two.name == name for two in parse_source(text).module.declarations):
                return f" Did you mean '{one}::{name}'?"
        return ""

    def missing(self, module: ModulePath) -> str:
        """Return what to say of a module that is not there."""
        there = [str(one) for one in self.texts if one.package == module.package and one != module]
        return f"there is no module {module}.{_near(str(module), there)}"


def absolute(
    path: ModulePath, segments: tuple[str, ...], packages: Collection[str]
) -> ModulePath | None:
    """Return which module ``segments`` are in the module at ``path``, None if they lead nowhere."""
    first, rest = (segments or ("",))[0], segments[1:]
    if first == OWN:
        return ModulePath(path.package, rest)
    if first == "super":
        up = next((n for n, one in enumerate(segments) if one != "super"), len(segments))
        above = len(path.segments) - up
        kept = path.segments[: max(above, 0)] + segments[up:]
        return None if above < 0 else ModulePath(path.package, kept)
    return ModulePath(first, rest) if first in packages else None


CONSTANTS = "constants"
"""The package that holds what the host gives."""


def _offered(unit: Unit) -> Iterable[str]:
    return (name for name, one in unit.imports.items() if one.is_public)


def _near(name: str, candidates: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(set(candidates)), n=1, cutoff=0.7)
    return f" Did you mean {near[0]!r}?" if near else ""
