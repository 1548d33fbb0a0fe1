"""What WGSL's own functions take and return, from one table.

A row: names, a colon, the parameters, an arrow, the result. Words for parameters:

- ``float``, ``number``, ``int``: a scalar or a vector of such, the same for all of them; ``vector``
  a vector of numbers, ``logical`` a bool or a vector of bools, ``any`` whatever has components;
- ``scalar``: what the first parameter is made of; ``i32``, ``vec4<f32>``, …: that type, or a
  vector of it where the first parameter is one and the word ends in ``*``; ``index`` any integer;
- ``pointer``, ``atomic``: a pointer, one to an atomic; ``stored``: what it points to; ``matrix``.

Words for results: ``same`` the common type of the parameters with the first one's word, ``first``
that of the first alone, ``scalar``, ``stored``, ``transposed``, a type, ``nothing``, or a struct of
``RESULTS``.

Source: WebGPU Shading Language, section 17; its extension subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass

_TABLE = """
acos acosh asin asinh atan atanh ceil cos cosh degrees exp exp2 floor fract : float -> same
inverseSqrt log log2 normalize quantizeToF16 radians round saturate sin sinh : float -> same
sqrt tan tanh trunc dpdx dpdxCoarse dpdxFine dpdy dpdyCoarse dpdyFine : float -> same
fwidth fwidthCoarse fwidthFine : float -> same
atan2 pow step reflect : float float -> same
faceForward fma smoothstep : float float float -> same
cross : vector vector -> same
distance : float float -> scalar
length : float -> scalar
dot : vector vector -> scalar
mix : float float float|scalar -> same
refract : float float scalar -> same
ldexp : float int* -> first
frexp : float -> __frexp_result
modf : float -> __modf_result
determinant : matrix -> scalar
transpose : matrix -> transposed
abs sign : number -> same
max min : number number -> same
clamp : number number number -> same
countLeadingZeros countOneBits countTrailingZeros firstLeadingBit : int -> same
firstTrailingBit reverseBits : int -> same
extractBits : int u32 u32 -> same
insertBits : int int u32 u32 -> same
select : any any logical -> same
all any : logical -> bool
arrayLength : pointer -> u32
dot4I8Packed : u32 u32 -> i32
dot4U8Packed : u32 u32 -> u32
pack4x8snorm pack4x8unorm : vec4<f32> -> u32
pack4xI8 pack4xI8Clamp : vec4<i32> -> u32
pack4xU8 pack4xU8Clamp : vec4<u32> -> u32
pack2x16snorm pack2x16unorm pack2x16float : vec2<f32> -> u32
unpack4x8snorm unpack4x8unorm : u32 -> vec4<f32>
unpack4xI8 : u32 -> vec4<i32>
unpack4xU8 : u32 -> vec4<u32>
unpack2x16snorm unpack2x16unorm unpack2x16float : u32 -> vec2<f32>
atomicLoad : atomic -> stored
atomicStore : atomic stored -> nothing
atomicAdd atomicSub atomicMax atomicMin atomicAnd atomicOr atomicXor : atomic stored -> stored
atomicExchange : atomic stored -> stored
atomicCompareExchangeWeak : atomic stored stored -> __atomic_compare_exchange_result
workgroupUniformLoad : pointer -> stored
storageBarrier workgroupBarrier textureBarrier subgroupBarrier : -> nothing
subgroupElect : -> bool
subgroupAll subgroupAny : bool -> bool
subgroupBallot : bool -> vec4<u32>
subgroupAdd subgroupExclusiveAdd subgroupInclusiveAdd subgroupMax subgroupMin : number -> same
subgroupMul subgroupExclusiveMul subgroupInclusiveMul : number -> same
subgroupAnd subgroupOr subgroupXor : int -> same
subgroupBroadcastFirst quadSwapX quadSwapY quadSwapDiagonal : number -> same
subgroupBroadcast subgroupShuffle subgroupShuffleUp subgroupShuffleDown : number index -> first
subgroupShuffleXor quadBroadcast : number index -> first
"""

RESULTS = {
    "__frexp_result": ("fract", "exp"),
    "__modf_result": ("fract", "whole"),
    "__atomic_compare_exchange_result": ("old_value", "exchanged"),
}
"""The members of the structs that functions return."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """One function: the words for its parameters and its result."""

    parameters: tuple[str, ...]
    result: str


def _read_table() -> dict[str, Builtin]:
    found: dict[str, Builtin] = {}
    for line in _TABLE.strip().splitlines():
        names, _, rest = line.partition(":")
        parameters, _, result = rest.partition("->")
        row = Builtin(tuple(parameters.split()), result.strip())
        found |= dict.fromkeys(names.split(), row)
    return found


BUILTINS = _read_table()
"""The table by name."""
