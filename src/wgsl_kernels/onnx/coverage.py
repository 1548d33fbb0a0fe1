"""Which of ONNX's operators are known here, and how: computed as such, or by their function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.onnx import registry
from wgsl_kernels.onnx.extra import needing_onnx

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


@dataclass(frozen=True)
class CoverageRow:
    """An operator of ONNX.

    Attributes:
        domain: Its domain; ONNX's own is "".
        op: Its name.
        version: The version of the operator set since which it means what it does.
        how: ``own`` where it has a row here, ``function`` where the function runs that its schema
            has of it, ``constant`` where it is one, "" where it is not known.
    """

    domain: str
    op: str
    version: int
    how: str


def coverage(path_or_proto: str | os.PathLike[str] | Any = None) -> list[CoverageRow]:
    """Return a row for each operator that a model uses, or that ONNX has.

    Args:
        path_or_proto: A file or an ``onnx.ModelProto``; without it all operators count that the
            installed package ``onnx`` knows.

    Raises:
        ArgumentError: What is given is no model; or the package ``onnx`` is not installed.
        OSError: A file cannot be read.
    """
    with needing_onnx("coverage"):
        from wgsl_kernels.onnx.files import read_model
    registry.load_families()
    return _all_rows() if path_or_proto is None else list(_rows_of(read_model(path_or_proto)[0]))


def _all_rows() -> list[CoverageRow]:
    from onnx import defs

    newest: dict[tuple[str, str], Any] = {}
    for schema in defs.get_all_schemas():
        if schema.deprecated and (schema.domain, schema.name) not in registry.names():
            continue
        newest[schema.domain, schema.name] = schema
    return [
        CoverageRow(domain, name, schema.since_version, _how(schema))
        for (domain, name), schema in sorted(newest.items())
    ]


def _how(schema: Any) -> str:
    if (schema.domain, schema.name) in registry.names():
        return "own"
    if schema.name == "Constant":
        return "constant"
    return "function" if schema.has_function or schema.has_context_dependent_function else ""


def _rows_of(model: Any) -> Iterator[CoverageRow]:
    """Yield a row for each operator that a ``ModelProto`` uses, with functions of its own."""
    used = {(registry.plain_domain(node.domain), node.op_type) for node in _nodes(model.graph)}
    own = {(registry.plain_domain(one.domain), one.name) for one in model.functions}
    for function in model.functions:
        used.update((registry.plain_domain(node.domain), node.op_type) for node in function.node)
    versions = {registry.plain_domain(one.domain): one.version for one in model.opset_import}
    known = {(row.domain, row.op): row for row in _all_rows()}
    for domain, name in sorted(used):
        row = known.get((domain, name))
        if (domain, name) in own:
            yield CoverageRow(domain, name, versions.get(domain, 1), "function")
        elif row is not None:
            yield row
        elif (domain, name) in registry.names():
            yield CoverageRow(domain, name, versions.get(domain, 1), "own")
        else:
            yield CoverageRow(domain, name, versions.get(domain, 0), "")


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)
