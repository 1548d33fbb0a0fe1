"""What other shading languages call things, and what WGSL calls them."""

from __future__ import annotations

_TYPES = {
    "float": "f32, or T for the type of the elements",
    "double": "f32, or T for the type of the elements",
    "half": "f16, or T for the type of the elements",
    "int": "i32",
    "uint": "u32",
    "boolean": "bool",
    **{f"float{n}": f"vec{n}<f32>" for n in "234"},
    **{f"int{n}": f"vec{n}<i32>" for n in "234"},
    **{f"uint{n}": f"vec{n}<u32>" for n in "234"},
    **{f"ivec{n}": f"vec{n}<i32>" for n in "234"},
    **{f"uvec{n}": f"vec{n}<u32>" for n in "234"},
    **{f"bvec{n}": f"vec{n}<bool>" for n in "234"},
}
_FUNCTIONS = {
    "lerp": "mix(a, b, t)",
    "fmod": "a % b",
    "mod": "a % b",
    "frac": "fract(x)",
    "rsqrt": "inverseSqrt(x)",
    "rsqrtf": "inverseSqrt(x)",
    "powf": "pow(x, y)",
    "expf": "exp(x)",
    "logf": "log(x)",
    "sqrtf": "sqrt(x)",
    "fabs": "abs(x)",
    "fmax": "max(a, b)",
    "fmin": "min(a, b)",
    "log1p": "safe_log1p of wgsl_kernels::lib::safe_math",
    "expm1": "safe_expm1 of wgsl_kernels::lib::safe_math",
    "erf": "safe_erf of wgsl_kernels::lib::error_function",
    "erfc": "safe_erfc of wgsl_kernels::lib::error_function",
    "erfinv": "safe_erfinv of wgsl_kernels::lib::error_function",
    "lgamma": "safe_lgamma of wgsl_kernels::lib::gamma",
    "isnan": "is_nan of wgsl_kernels::lib::safe_math",
    "isinf": "is_inf of wgsl_kernels::lib::safe_math",
    "as_float": "bitcast<f32>(x)",
    "asfloat": "bitcast<f32>(x)",
    "asuint": "bitcast<u32>(x)",
    "asint": "bitcast<i32>(x)",
    "not": "!",
    "sizeof": "x_size of the parameters, or arrayLength(&x)",
    "barrier": "workgroupBarrier()",
    "__syncthreads": "workgroupBarrier()",
    "GroupMemoryBarrierWithGroupSync": "workgroupBarrier()",
    "NAN": "wk_nan()",
    "INFINITY": "wk_inf()",
    "nan": "wk_nan()",
    "inf": "wk_inf()",
}


def remedy_for(name: str) -> str:
    """Return what to say of a name that another language has, "" where none is known."""
    if name in _TYPES:
        return f"WGSL has no type {name!r}. Write {_TYPES[name]}."
    if name in _FUNCTIONS:
        return f"WGSL has no {name!r}. Write {_FUNCTIONS[name]}."
    if name == "attrs":
        return (
            "nothing is called 'attrs' here. Declare struct Attrs { alpha: T } with the "
            "attributes that the file reads."
        )
    return ""
