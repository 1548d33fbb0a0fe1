// Operands and result of a product of matrices (matrices.wgsl) that all lie in fours, a by its terms.
#include "matrix/columns_in_fours.wgsl"

@group(0) @binding(0) var<storage, read> a: array<vec4<T_a>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return vec4<Sum>(a[(place.start + channel) / 4u]);
}
