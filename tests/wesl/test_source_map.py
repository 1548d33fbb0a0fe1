"""Every place of a linked text leads back to what its author wrote."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgsl_kernels as wk
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.tokens import NUMBER, tokenize

MODULES = ["util", "util::deep", "util::other", "far::away::here"]
WORDS = ["alpha", "beta", "gamma", "max", "delta0", "x"]


@dataclass(frozen=True)
class Project:
    """Modules, and for each file what the names that it binds mean: a file and a name there."""

    modules: dict[str, str]
    bound: dict[str, dict[str, tuple[str, str]]]

    def meaning(self, file: str, path: str) -> tuple[str, str]:
        """Return what a name or a path that ``file`` calls means."""
        if "::" not in path:
            return self.bound[file][path]
        module, _, name = path.removeprefix("package::").rpartition("::")
        return _file(module), name


def _file(module: str) -> str:
    return f"{module.replace('::', '/')}.wesl"


@st.composite
def projects(draw: st.DrawFn) -> Project:
    """Draw modules whose functions call any others, by imports, aliases and paths."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    places = ["main", *rng.sample(MODULES, rng.randint(0, 3))]
    declared = {module: rng.sample(WORDS, rng.randint(1, 3)) for module in places}
    modules, bound = {}, {}
    for module, words in declared.items():
        names = {word: (_file(module), word) for word in words}
        lines: list[str] = []
        for other, word in [(o, w) for o in declared for w in declared[o]]:
            alias = rng.choice([word, word, f"{word}_as"])
            if rng.random() < 0.4 and alias not in names:
                names[alias] = (_file(other), word)
                rename = f" as {alias}" if alias != word else ""
                lines.append(f"import package::{other}::{word}{rename};")
        for word in words:
            paths = [f"package::{o}::{rng.choice(declared[o])}" for o in declared]
            local = rng.choice(WORDS)
            lines += [
                rng.choice(["", "// a comment", "/* two\nlines */"]),
                f"fn {word}(a: i32) -> i32 {{",
                *(f"{' ' * rng.randint(0, 9)}_ = {rng.choice([*names])}(a);" for _ in range(2)),
                "  @if(on) { return a * 2; }",
                f"  var {local} = {rng.randint(0, 9)};",
                *(f"_ = {local};_ = {path}({local});" for path in paths if rng.random() < 0.5),
                "  return a;",
                "}",
            ]
        modules[_file(module)] = "\n".join(lines)
        bound[_file(module)] = names
    return Project(modules, bound)


def _words(text: Text) -> dict[tuple[int, int], str]:
    """Return the names, paths and numbers of a text by where they begin."""
    found = {}
    tokens = [*tokenize(text), None, None]
    at = 0
    while (token := tokens[at]) is not None:
        word = token.text
        while (mark := tokens[at + 1]) is not None and mark.text == "::":
            at += 2
            last = tokens[at]
            assert last is not None
            word += f"::{last.text}"
        place = text.place(token.begin)
        found[place.line, place.column] = word
        at += 1
    return found


@settings(max_examples=60, deadline=None)
@given(projects(), st.booleans(), st.sampled_from(["clash", "path"]))
def test_each_name_leads_to_where_it_was_written_and_means_what_it_meant(
    project: Project, on: bool, mangle: str
) -> None:
    linked = wk.link(project.modules, conditions={"on": on}, mangle=mangle)  # type: ignore[arg-type]  # drawn
    written = {file: _words(Text(file, text)) for file, text in project.modules.items()}
    text = Text("linked", linked.text)
    names = resolve(text)

    def origin(offset: int) -> tuple[str, str]:
        here = text.place(offset)
        there = linked.source_map.find(here.line, here.column)
        return there.file, written[there.file][there.line, there.column]

    calls = 0
    for use in names.uses:
        file, word = origin(use.ident.begin)
        if use.symbol is None:
            assert use.ident.name == word == "i32"
        elif use.symbol.is_global:
            calls += 1
            assert origin(use.symbol.ident.begin) == project.meaning(file, word)
        else:
            assert origin(use.symbol.ident.begin) == (file, word)
    assert calls >= 2
    for token in tokenize(text):
        if token.kind == NUMBER:
            assert origin(token.begin)[1] == token.text


@settings(max_examples=40, deadline=None)
@given(projects(), st.data())
def test_any_place_leads_into_the_declaration_that_it_is_in(
    project: Project, data: st.DataObject
) -> None:
    linked = wk.link(project.modules, conditions={"on": True})
    lines = linked.text.splitlines()
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1]) + 1))
    head = max(n for n in range(line) if lines[n].startswith("fn ")) + 1

    start = linked.source_map.find(head, 1)
    there = linked.source_map.find(line, column)

    source = project.modules[start.file].splitlines()
    end = next(n for n in range(start.line, len(source) + 1) if source[n - 1] == "}")
    assert there.file == start.file
    assert start.line <= there.line <= end
    assert source[start.line - 1].startswith("fn ")


@settings(max_examples=40, deadline=None)
@given(projects(), st.booleans())
def test_linking_twice_gives_the_same_and_linked_text_links_to_itself(
    project: Project, on: bool
) -> None:
    text = wk.link(project.modules, conditions={"on": on}).text
    backwards = dict(reversed(project.modules.items()))

    assert wk.link(backwards, conditions={"on": on}).text == text
    assert wk.link({"main.wgsl": text}).text == text


def test_columns_past_the_end_are_the_end_and_an_empty_text_has_a_line() -> None:
    linked = wk.link({"main.wgsl": "\n  const a = 1;"})
    with pytest.raises(wk.ArgumentError, match="line is 99; the text has lines 1 to 2"):
        linked.source_map.find(99, 1)
    assert linked.source_map.find(1, 99).line == 2
    assert (linked.source_map.find(1, 7).line, linked.source_map.find(1, 7).column) == (2, 9)

    empty = wk.link({"main.wgsl": "import a;"})
    assert empty.text == ""
    assert empty.source_map.find(1, 1).line == 1


def test_places_count_characters_whatever_ends_the_lines() -> None:
    linked = wk.link({"main.wgsl": "\ufeff// Größe\r\nconst größe = 1;\r\nconst b = größe;\r\n"})
    assert linked.text == "const größe = 1;\nconst b = größe;\n"
    place = linked.source_map.find(2, 11)
    assert (place.line, place.column) == (3, 11)
