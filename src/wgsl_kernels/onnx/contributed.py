"""What operators take, give and are told: of ONNX, and those of ONNX Runtime beside them.

The package ``onnx`` has no schemas of the domain ``com.microsoft``; a row here is one. Source: ONNX
Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import Any

from onnx import defs, helper

DOMAIN = "com.microsoft"

_Attribute = defs.OpSchema.Attribute
_Parameter = defs.OpSchema.FormalParameter
_Kinds = defs.OpSchema.AttrType
_FLOATS = ["tensor(float)", "tensor(float16)", "tensor(bfloat16)"]


def _parameters(names: str) -> list[defs.OpSchema.FormalParameter]:
    """Return parameters of a text as ``A:T B:I?``: names, variables of types, what is optional."""
    found = []
    for one in names.split():
        name, kind = one.rstrip("?").split(":")
        option = defs.OpSchema.FormalParameterOption
        found.append(
            _Parameter(
                name, kind, param_option=option.Optional if one.endswith("?") else option.Single
            )
        )
    return found


def _attributes(defaults: dict[str, Any]) -> list[defs.OpSchema.Attribute]:
    """Return integer and float attributes by their defaults; one of None is required."""
    return [
        _Attribute(name, _Kinds.INT, "", required=True)
        if value is None
        else _Attribute(name, helper.make_attribute(name, value), "")
        for name, value in defaults.items()
    ]


_SCHEMAS = {
    one.name: one
    for one in (
        defs.OpSchema(
            "MatMulNBits",
            DOMAIN,
            1,
            inputs=_parameters("A:T1 B:T2 scales:T1 zero_points:T3? g_idx:T4? bias:T1?"),
            outputs=_parameters("Y:T1"),
            type_constraints=[
                ("T1", _FLOATS, ""),
                ("T2", ["tensor(uint8)"], ""),
                ("T3", ["tensor(uint8)", *_FLOATS], ""),
                ("T4", ["tensor(int32)"], ""),
            ],
            attributes=_attributes(
                {"K": None, "N": None, "block_size": None, "bits": 4, "accuracy_level": 0}
                | {"weight_prepacked": 0}
            ),
        ),
        defs.OpSchema(
            "RotaryEmbedding",
            DOMAIN,
            1,
            inputs=_parameters("input:T position_ids:M cos_cache:T sin_cache:T"),
            outputs=_parameters("output:T"),
            type_constraints=[("T", _FLOATS, ""), ("M", ["tensor(int64)"], "")],
            attributes=_attributes(
                {"interleaved": 0, "num_heads": 0, "rotary_embedding_dim": 0, "scale": 1.0}
                | {"is_packed_batching": 0}
            ),
        ),
    )
}


class OperatorSchema:
    """The schema of an operator, of which each part is asked for once: asking makes copies.

    Attributes:
        schema: What ``onnx.defs`` has.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.name: str = schema.name
        self.since_version: int = schema.since_version
        self.min_input: int = schema.min_input
        self.max_input: int = schema.max_input
        self.inputs: list[Any] = schema.inputs
        self.outputs: list[Any] = schema.outputs
        self.attributes: dict[str, Any] = schema.attributes
        self.allowed = {
            one.type_param_str: one.allowed_type_strs for one in schema.type_constraints
        }
        every = {name: one.default_value for name, one in self.attributes.items()}
        self.defaults = {name: one for name, one in every.items() if one.name}


def schema_of(name: str, version: int, domain: str) -> OperatorSchema | None:
    """Return the schema of an operator, or None."""
    try:
        return OperatorSchema(defs.get_schema(name, version, domain))
    except defs.SchemaError:
        found = _SCHEMAS.get(name) if domain == DOMAIN else None
        return None if found is None else OperatorSchema(found)
