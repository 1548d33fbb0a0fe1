// A depthwise convolution (depthwise.wgsl) where the channels lie in fours and the multiplier is 1.
#include "conv/depthwise.wgsl"

const LANES = 4u;

alias Value = vec4<Sum>;
alias Stored = vec4<T_y>;

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;
@group(0) @binding(1) var<storage, read> filter_: array<vec4<T_filter_>>;
