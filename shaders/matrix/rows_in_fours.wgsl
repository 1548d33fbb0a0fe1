// Operands and result of a product of matrices (matrices.wgsl) that all lie in fours, a by its rows.
#include "matrix/fours.wgsl"

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  return vec4<Sum>(a[(place.start + channel * place.step) / 4u]);
}
