// Operands and result of a convolution (convolution.wgsl) whose channels all lie in fours.
#include "conv/columns_in_fours.wgsl"

@group(0) @binding(0) var<storage, read> x: array<vec4<T_x>>;

fn load_a4(place: Place, channel: u32) -> vec4<Sum> {
  let inside = channel - place.low < place.count;
  let index = select(0u, place.start + channel, inside);
  return select(vec4<Sum>(), vec4<Sum>(x[index / 4u]), inside);
}
