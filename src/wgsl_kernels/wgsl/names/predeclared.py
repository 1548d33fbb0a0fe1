"""Names that WGSL, its extensions and the compilers in use declare before the author does."""

from __future__ import annotations

_TYPES = """
array atomic bool f16 f32 f64 i32 i64 u32 u64 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2
mat4x3 mat4x4 ptr sampler sampler_comparison texture_1d texture_2d texture_2d_array texture_3d
texture_cube texture_cube_array texture_multisampled_2d texture_depth_multisampled_2d
texture_external texture_storage_1d texture_storage_2d texture_storage_2d_array
texture_storage_3d texture_depth_2d texture_depth_2d_array texture_depth_cube
texture_depth_cube_array vec2 vec3 vec4 binding_array acceleration_structure ray_query RayDesc
RayIntersection
"""
_SPACES = """
function handle immediate private push_constant read read_write storage uniform workgroup write
"""
_TEXELS = """
bgra8unorm r8unorm r8snorm r8uint r8sint rg8unorm rg8snorm rg8uint rg8sint rgba8unorm rgba8snorm
rgba8uint rgba8sint r16unorm r16snorm r16uint r16sint r16float rg16unorm rg16snorm rg16uint
rg16sint rg16float rgba16unorm rgba16snorm rgba16uint rgba16sint rgba16float r32uint r32sint
r32float rg32uint rg32sint rg32float rgba32uint rgba32sint rgba32float r64uint rgb10a2uint
rgb10a2unorm rg11b10ufloat
"""
_FUNCTIONS = """
abs acos acosh all any arrayLength asin asinh atan atan2 atanh atomicAdd atomicAnd
atomicCompareExchangeWeak atomicExchange atomicLoad atomicMax atomicMin atomicOr atomicStore
atomicSub atomicXor bitcast ceil clamp cos cosh countLeadingZeros countOneBits countTrailingZeros
cross degrees determinant distance dot dot4I8Packed dot4U8Packed dpdx dpdxCoarse dpdxFine dpdy
dpdyCoarse dpdyFine exp exp2 extractBits faceForward firstLeadingBit firstTrailingBit floor fma
fract frexp fwidth fwidthCoarse fwidthFine insertBits inverse inverseSqrt ldexp length log log2
max min mix modf normalize outerProduct pack2x16float pack2x16snorm pack2x16unorm pack4x8snorm
pack4x8unorm pack4xI8 pack4xI8Clamp pack4xU8 pack4xU8Clamp pow quantizeToF16 radians reflect
refract reverseBits round saturate select sign sin sinh smoothstep sqrt step storageBarrier tan
tanh textureBarrier textureDimensions textureGather textureGatherCompare textureLoad
textureNumLayers textureNumLevels textureNumSamples textureSample textureSampleBaseClampToEdge
textureSampleBias textureSampleCompare textureSampleCompareLevel textureSampleGrad
textureSampleLevel textureStore transpose trunc unpack2x16float unpack2x16snorm unpack2x16unorm
unpack4x8snorm unpack4x8unorm unpack4xI8 unpack4xU8 workgroupBarrier workgroupUniformLoad
"""
_VECTORS = [f"vec{n}{kind}" for n in "234" for kind in "fhiu"]
_MATRICES = [f"mat{n}x{m}{kind}" for n in "234" for m in "234" for kind in "fh"]

PREDECLARED = frozenset(
    [*f"{_TYPES} {_SPACES} {_TEXELS} {_FUNCTIONS}".split(), *_VECTORS, *_MATRICES]
)
"""Source: WebGPU Shading Language, sections 6, 16.1 and 17; naga's own types."""

_FAMILIES = ("subgroup", "quad", "textureAtomic", "coop", "ray", "atomic")


def is_predeclared(name: str) -> bool:
    """Say whether ``name`` may be declared already; names of growing families all may."""
    return name in PREDECLARED or name.startswith(_FAMILIES)
