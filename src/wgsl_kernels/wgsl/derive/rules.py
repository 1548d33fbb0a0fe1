"""The derivatives of WGSL's own functions.

A rule has a derivative for each parameter, as WGSL in which ``{a}``, ``{b}`` and ``{c}`` stand for
the arguments, ``{y}`` for the value, and ``{zero}`` and ``{one}`` for numbers of its type; an empty
one is zero throughout. At kinks and ties they are as docs/gradients.md says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class DerivativeRule:
    """The derivatives of a function.

    Attributes:
        partials: A derivative for each parameter.
        imports: What they name that must be imported.
    """

    partials: tuple[str, ...]
    imports: tuple[str, ...] = ()


def read_rules(table: str) -> dict[str, DerivativeRule]:
    """Return the rules of a table: a line for each function, its derivatives behind colons."""
    found: dict[str, DerivativeRule] = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        name, *partials = line.split(" : ")
        found[name.strip()] = DerivativeRule(
            tuple(["" if one.strip() == "0" else one.strip() for one in partials])
        )
    return found


_ROOT = "inverseSqrt(({one} - {a}) * ({one} + {a}))"
_T = "saturate(({c} - {a}) / ({b} - {a}))"
_STEEP = f"6.0 * {_T} * ({{one}} - {_T})"
_SLOPE = f"{_STEEP} / ({{b}} - {{a}})"
_WIDTH = "(({b} - {a}) * ({b} - {a}))"
_LOWER = f"{_STEEP} * ({{c}} - {{b}}) / {_WIDTH}"
_UPPER = f"{_STEEP} * ({{a}} - {{c}}) / {_WIDTH}"
_INSIDE = "select({zero}, {one}, ({a} >= {b}) & ({a} <= {c}))"
_BELOW, _ABOVE = "select({zero}, {one}, {a} < {b})", "select({zero}, {one}, {a} > {c})"

BUILTINS: Mapping[str, DerivativeRule] = read_rules(
    f"""
    abs : sign({{a}})
    acos : -{_ROOT}
    acosh : inverseSqrt(({{a}} - {{one}}) * ({{a}} + {{one}}))
    asin : {_ROOT}
    asinh : inverseSqrt({{a}} * {{a}} + {{one}})
    atan : {{one}} / ({{one}} + {{a}} * {{a}})
    atan2 : {{b}} / ({{a}} * {{a}} + {{b}} * {{b}}) : -{{a}} / ({{a}} * {{a}} + {{b}} * {{b}})
    atanh : {{one}} / (({{one}} - {{a}}) * ({{one}} + {{a}}))
    ceil : 0
    clamp : {_INSIDE} : {_BELOW} : {_ABOVE}
    cos : -sin({{a}})
    cosh : sinh({{a}})
    degrees : degrees({{one}})
    exp : {{y}}
    exp2 : log({{one}} * 2.0) * {{y}}
    floor : 0
    fma : {{b}} : {{a}} : {{one}}
    fract : {{one}}
    inverseSqrt : -0.5 * {{y}} / {{a}}
    log : {{one}} / {{a}}
    log2 : {{one}} / (log({{one}} * 2.0) * {{a}})
    max : select({{zero}}, {{one}}, {{a}} >= {{b}}) : select({{one}}, {{zero}}, {{a}} >= {{b}})
    min : select({{zero}}, {{one}}, {{a}} <= {{b}}) : select({{one}}, {{zero}}, {{a}} <= {{b}})
    mix : {{one}} - {{c}} : {{c}} : {{b}} - {{a}}
    pow : {{b}} * pow({{a}}, {{b}} - {{one}}) : {{y}} * log({{a}})
    quantizeToF16 : {{one}}
    radians : radians({{one}})
    round : 0
    saturate : select({{zero}}, {{one}}, ({{a}} >= {{zero}}) & ({{a}} <= {{one}}))
    sign : 0
    sin : cos({{a}})
    sinh : cosh({{a}})
    smoothstep : {_LOWER} : {_UPPER} : {_SLOPE}
    sqrt : 0.5 / {{y}}
    step : 0 : 0
    tan : {{one}} + {{y}} * {{y}}
    tanh : {{one}} - {{y}} * {{y}}
    trunc : 0
    """
)
"""WGSL's functions that go through each component by itself."""
