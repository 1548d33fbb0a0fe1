"""Directives whose content is read from the library while the pages are built.

``public-names`` documents the public names that the given modules define, ``op-table`` lists every
kernel with what it computes, ``tfjs-table`` and ``array-api-table`` map
the names of TensorFlow.js and of the array API standard to ours, ``ledger-counts`` counts them,
``deviation-table`` says what is otherwise than that standard has it, ``accuracy-table`` how far
functions are off, ``gradient-accuracy-table`` how far derivatives are, ``shader-library-table``
lists what shaders import,
``onnx-counts``, ``onnx-left-out``, ``onnx-on-host`` and ``onnx-operators`` what of ONNX is covered,
``onnx-light-models`` how its light models fare, ``saved-kernels`` what kernels are in saved models.
At the end of a build every public name must have been documented somewhere.
"""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks import accuracy, gradient_accuracy
from docutils import nodes
from kernel_words import words_of
from saved_kernels import saved_kernel_rows
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import backends
from wgsl_kernels.engine.observe import facade
from wgsl_kernels.ops.names.deviations import DEVIATIONS
from wgsl_kernels.ops.rules.host_kernels import ON_HOST
from wgsl_kernels.wgsl.errors.finding_codes import CODES
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)


CONSTANTS = ("DTypeLike", "e", "inf", "nan", "newaxis", "pi")
"""Plain values of the array API standard, which its page lists, and a type for annotations."""


def public_names() -> dict[str, Any]:
    """Return the public names of the package that are not modules."""
    found = {
        name: value
        for name, value in vars(wk).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in CONSTANTS
    }
    return {**found, "engine": facade.engine, "backends": backends.backends}


def home_of(value: Any) -> str:
    """Return the module that defines ``value``, or its type for a plain object."""
    return str(getattr(value, "__module__", None) or type(value).__module__)


class PublicNames(SphinxDirective):
    """``{public-names} module …``: the public names that these modules define, by name.

    A module named here stands for those below it too. Aliases are one line that leads to the name
    that the array API has.
    """

    has_content = False
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the documentation of each name, through autodoc."""
        prefixes = tuple(self.arguments[0].split())
        entries, rows = [], []
        for name, value in sorted(public_names().items(), key=lambda item: item[0].lower()):
            home = home_of(value)
            if any(home == prefix or home.startswith(f"{prefix}.") for prefix in prefixes):
                entries += _entry(name, value)
                rows += _summary(name, value)
                _documented(self.env).setdefault(self.env.docname, set()).add(name)
        table = [".. list-table::", "   :class: wk-table", "   :widths: auto", "", *rows, ""]
        lines = ["```{eval-rst}", ".. currentmodule:: wgsl_kernels", ""]
        lines += [*(table if len(rows) >= SUMMARISED else []), *entries, "```"]
        self.env.note_reread()
        return self.parse_text_to_nodes("\n".join(lines))


SUMMARISED = 8
"""The lines of the table that a page begins with, at least: two for each name."""


def _summary(name: str, value: Any) -> list[str]:
    """Return the row of a name in the table that a page begins with."""
    if not callable(value):
        return []
    said = (inspect.getdoc(value) or "").split("\n\n")[0].split("\n")
    first = [" ".join(said)]
    keep_bars(None, "", "", None, None, first)
    return [f"   * - :py:obj:`~wgsl_kernels.{name}`", f"     - {first[0]}"]


def _entry(name: str, value: Any) -> list[str]:
    """Return the reStructuredText that documents one name."""
    own = getattr(value, "__name__", name)
    if own != name and vars(wk).get(own) is value:
        return [f".. py:data:: {name}", "", f"   Another name of :py:obj:`wgsl_kernels.{own}`.", ""]
    if inspect.isclass(value):
        return [f".. autoclass:: wgsl_kernels.{name}", "   :members:", ""]
    if callable(value):
        return [f".. autofunction:: wgsl_kernels.{name}", ""]
    return [f".. autodata:: wgsl_kernels.{name}", "   :no-value:", ""]


def _documented(env: Any) -> dict[str, set[str]]:
    """Return which page documents which names, kept with the environment between builds."""
    if not hasattr(env, "wk_documented"):
        env.wk_documented = {}
    found: dict[str, set[str]] = env.wk_documented
    return found


def forget_documented(_app: Sphinx, env: Any, page: str) -> None:
    """Forget what a page documented before it is read again."""
    _documented(env).pop(page, None)


def check_all_documented(_app: Sphinx, env: Any) -> None:
    """Warn of public names that no page documents, or that two pages do."""
    pages = defaultdict(list)
    for page, names in _documented(env).items():
        for name in names:
            pages[name].append(page)
    for name, value in public_names().items():
        if len(pages[name]) != 1:
            where = ", ".join(pages[name]) or "no page"
            logger.warning("%s (of %s) is documented by %s", name, home_of(value), where)


def keep_bars(
    _app: Sphinx | None, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Keep |x| in a docstring as it is written; reStructuredText would look for a substitution."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            parts = line.split("``")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[place] = "``".join(parts)


class Table(SphinxDirective):
    """A table of text; a subclass gives the head, and a function that gives the rows."""

    has_content = False
    head: ClassVar[tuple[str, ...]]

    @staticmethod
    def rows() -> Iterable[Sequence[str]]:
        """Return the texts, row by row."""
        return ()

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_reread()
        table = nodes.table(classes=["wk-table"])
        group = nodes.tgroup(cols=len(self.head))
        table += group
        for _ in self.head:
            group += nodes.colspec(colwidth=1)
        group += nodes.thead("", _row(self.head, literal=False))
        group += nodes.tbody("", *(_row(row, literal=True) for row in self.rows()))
        return [table]


def _row(cells: Sequence[str], *, literal: bool) -> nodes.row:
    """Return a table row whose first cell is code where ``literal``."""
    row = nodes.row()
    for place, text in enumerate(cells):
        code = literal and place == 0 and text
        content = nodes.literal(text, text) if code else nodes.Text(text)
        row += nodes.entry("", nodes.paragraph("", "", content))
    return row


def _kernel_rows() -> Iterable[Sequence[str]]:
    """Return a row per kernel, alphabetical: what it computes, for which dtypes, its gradient."""
    for row in sorted(wk.coverage(), key=lambda row: row.name):
        op, words = words_of(row.name)
        if not words:
            logger.warning("nothing says what the kernel %s computes", row.name)
        dtypes = [
            _short(row.dtypes.get(name)) if name in row.backends else ""
            for name in ("cpu", "webgpu")
        ]
        if row.name in ON_HOST:
            dtypes[1] += " (on the host)"
        gradient = ("yes" if row.has_gradient else "no") if row.backends else "missing"
        yield row.name, op, words, *dtypes, gradient


SHORT = {"float16": "f16", "float32": "f32", "int32": "i32", "uint32": "u32", "complex64": "c64"}


def _short(dtypes: Sequence[str] | None) -> str:
    """Return the dtypes that a kernel takes as WGSL abbreviates them."""
    return ", ".join(SHORT.get(one, one) for one in dtypes) if dtypes else "any"


class OpTable(Table):
    """Every kernel of the registry."""

    head = ("Kernel", "Op", "What it computes", "cpu", "webgpu", "Gradient")
    rows = staticmethod(_kernel_rows)


def _tfjs_rows() -> Iterable[Sequence[str]]:
    """Return a row per op of TensorFlow.js."""
    return _ledger_rows("TensorFlow.js op", "tf.")


def _ledger_rows(standard: str, prefix: str) -> list[Sequence[str]]:
    return [
        (prefix + row.name, f"wk.{row.ours}" if row.ours else row.because or "missing")
        for row in wk.ledger()
        if row.standard == standard
    ]


class TfjsTable(Table):
    """TensorFlow.js's name of each op, and ours."""

    head = ("TensorFlow.js", "wgsl-kernels")
    rows = staticmethod(_tfjs_rows)


def _finding_rows() -> Iterable[Sequence[str]]:
    """Return a row per code of findings, section by section."""
    return [(name, one.section, one.severity, one.title) for name, one in CODES.items()]


class FindingTable(Table):
    """Every code of a finding."""

    head = ("Code", "Section", "Severity", "What it says")
    rows = staticmethod(_finding_rows)


def _array_api_rows() -> Iterable[Sequence[str]]:
    """Return a row per name of the array API standard."""
    return _ledger_rows("array API", "")


class ArrayApiTable(Table):
    """Each name of the array API standard, and ours."""

    head = ("array API", "wgsl-kernels")
    rows = staticmethod(_array_api_rows)


def _deviation_rows() -> Iterable[Sequence[str]]:
    """Return a row for all that is otherwise than in the standard, what has one reason together."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in DEVIATIONS:
        names[one.what, one.because].append(one.name)
    return [(", ".join(some), *said) for said, some in names.items()]


class DeviationTable(Table):
    """What is otherwise than the array API standard says."""

    head = ("array API", "What is otherwise", "Why")
    rows = staticmethod(_deviation_rows)


def _accuracy_rows() -> Iterable[Sequence[str]]:
    """Return a row per function: the largest error seen on each backend, and what is promised."""
    kept = json.loads(accuracy.RECORDED.read_text(encoding="utf-8"))["functions"]
    for one in accuracy.FUNCTIONS:
        row = kept[one.name]
        seen = [f"{row[backend]['ulp']:.2f}" for backend in ("cpu", "webgpu")]
        yield one.name, *seen, f"{one.limit:g}", f"{row['points']:,}"


def _shader_library_rows() -> Iterable[Sequence[str]]:
    """Return a row per module of ``shaders/lib``: the functions that a kernel file may import."""
    for path in sorted((Path(wk.__file__).parent / "shaders" / "lib").glob("*.wesl")):
        found = parse(Text(path.name, path.read_text(encoding="utf-8"))).functions
        yield f"wgsl_kernels::lib::{path.stem}", ", ".join(found)


class ShaderLibraryTable(Table):
    """What is to import from `wgsl_kernels::lib`, module by module."""

    head = ("Module", "Functions")
    rows = staticmethod(_shader_library_rows)


class AccuracyTable(Table):
    """What `make accuracy` has recorded, function by function."""

    head = ("Function", "cpu", "webgpu", "Promised", "Numbers tried")
    rows = staticmethod(_accuracy_rows)


def _gradient_accuracy_rows() -> Iterable[Sequence[str]]:
    """Return a row per derivative: the largest error seen on each backend, and why it is large."""
    recorded = gradient_accuracy.SLOPES_RECORDED.read_text(encoding="utf-8")
    kept = json.loads(recorded)["derivatives"]
    for one in gradient_accuracy.SLOPES:
        row = kept[one.name]
        seen = [f"{row[backend]['ulp']:,.2f}" for backend in ("cpu", "webgpu")]
        worst = max(row["cpu"], row["webgpu"], key=lambda found: float(found["ulp"]))
        reason = ("", "")
        if worst["ulp"] > gradient_accuracy.LIMIT:
            reason = (f"{worst['condition']:.1e}", one.why)
        yield one.name, *seen, *reason, f"{row['points']:,}"


class GradientAccuracyTable(Table):
    """What `make accuracy` has recorded, derivative by derivative."""

    head = ("Derivative", "cpu", "webgpu", "Condition number", "Of what", "Numbers tried")
    rows = staticmethod(_gradient_accuracy_rows)


def _count_rows() -> Iterable[Sequence[str]]:
    """Return a row per standard: its names, those here, those not to come, those missing."""
    for standard in dict.fromkeys(row.standard for row in wk.ledger()):
        rows = [row for row in wk.ledger() if row.standard == standard]
        here = sum(bool(row.ours) for row in rows)
        apart = sum(bool(row.because and not row.ours) for row in rows)
        yield standard, str(len(rows)), str(here), str(apart), str(len(rows) - here - apart)


class LedgerCounts(Table):
    """How much of each standard is here."""

    head = ("Standard", "Names", "Here", "Not to come", "Missing")
    rows = staticmethod(_count_rows)


def _onnx_recorded(name: str = "node_tests") -> dict[str, Any]:
    """Return what `python -m tests.from_onnx.node_tests`, or ``light_models``, has recorded."""
    file = Path(__file__).parents[1] / "_data" / f"onnx_{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _onnx_count_rows() -> Iterable[Sequence[str]]:
    found = _onnx_recorded()
    for backend, passed in found["passed"].items():
        yield backend, f"{passed:,} of {found['cases']:,}", found["onnx"]


class OnnxCounts(Table):
    """How many of ONNX's node tests pass."""

    head = ("Backend", "Passed", "Of the tests of onnx")
    rows = staticmethod(_onnx_count_rows)


def _onnx_left_out_rows() -> Iterable[Sequence[str]]:
    groups = defaultdict(list)
    for name, row in _onnx_recorded()["left_out"].items():
        groups[row["why"], ", ".join(row["on"])].append(name.removeprefix("test_"))
    for (why, where), names in sorted(groups.items()):
        yield why, where, str(len(names)), ", ".join(names)


class OnnxLeftOut(Table):
    """Which of ONNX's node tests do not pass, by the reason."""

    head = ("Why", "On", "Tests", "Names, without test_")
    rows = staticmethod(_onnx_left_out_rows)


def _onnx_on_host_rows() -> Iterable[Sequence[str]]:
    names = _onnx_recorded()["on_host"]
    yield str(len(names)), ", ".join(one.removeprefix("test_") for one in names)


class OnnxOnHost(Table):
    """Which of ONNX's node tests pass without a kernel."""

    head = ("Tests", "Names, without test_")
    rows = staticmethod(_onnx_on_host_rows)


def _onnx_operator_rows() -> Iterable[Sequence[str]]:
    counts = _onnx_recorded()["ops"]
    for row in wk.onnx.coverage():
        tests = counts.get(row.op, {"cases": 0, "cpu": 0, "webgpu": 0})
        count = f"{tests['cpu']} and {tests['webgpu']} of {tests['cases']}"
        passed = count if tests["cases"] else ""
        name = f"{row.domain}.{row.op}" if row.domain else row.op
        yield name, str(row.version), row.how or "not known", passed


class OnnxOperators(Table):
    """Every operator of ONNX with what computes it."""

    head = ("Operator", "Since", "Here", "Tests passed on cpu and webgpu")
    rows = staticmethod(_onnx_operator_rows)


def _onnx_light_rows() -> Iterable[Sequence[str]]:
    for name, row in _onnx_recorded("light_models").items():
        off, times = row["off"], row["times"]
        yield name, f"{off['cpu']:.1e}", f"{off['webgpu']:.1e}", str(times["processor"])


class OnnxLightModels(Table):
    """How far logits are from those of ONNX Runtime, and how much longer `cpu` takes for them."""

    head = ("Model", "cpu off by", "webgpu off by", "Processor time, times ONNX Runtime's")
    rows = staticmethod(_onnx_light_rows)


class SavedKernels(Table):
    """Every kernel with the operators of ONNX and of TensorFlow that it is written as."""

    head = ("Kernel", "In ONNX", "In TensorFlow.js")
    rows = staticmethod(saved_kernel_rows)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives with Sphinx."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("op-table", OpTable)
    app.add_directive("tfjs-table", TfjsTable)
    app.add_directive("finding-table", FindingTable)
    app.add_directive("array-api-table", ArrayApiTable)
    app.add_directive("deviation-table", DeviationTable)
    app.add_directive("shader-library-table", ShaderLibraryTable)
    app.add_directive("accuracy-table", AccuracyTable)
    app.add_directive("gradient-accuracy-table", GradientAccuracyTable)
    app.add_directive("ledger-counts", LedgerCounts)
    app.add_directive("onnx-counts", OnnxCounts)
    app.add_directive("onnx-left-out", OnnxLeftOut)
    app.add_directive("onnx-on-host", OnnxOnHost)
    app.add_directive("onnx-operators", OnnxOperators)
    app.add_directive("onnx-light-models", OnnxLightModels)
    app.add_directive("saved-kernels", SavedKernels)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("env-purge-doc", forget_documented)
    app.connect("env-check-consistency", check_all_documented)
    return {"parallel_read_safe": False}
