// One pass of a transform along rows of `length`, by any radix: transforms of `done` elements
// become such of done * radix elements.
//
//   y[(block * radix + q) * done + k] = scale * sum over s of
//     x[block * done + k + s * length / radix] * root^(s * (q * done + k)),  0 <= k < done
//
// root being e^(2 pi i turn / (done * radix)). After passes whose radices multiply to the length all
// is in order. An element of y is a sum of `radix` products, so a pass adds at most radix + 10
// roundings of the sum of |x|: 6 of the root, 3 of a complex product, the additions, the scale.
// Source: Stockham, High-Speed Convolution and Correlation, 1966; Van Loan, Computational Frameworks
// for the Fast Fourier Transform, 1992, section 1.7.
#include "include/complex.wgsl"
#include "include/safe_math.wgsl"

const GROUP = 64u;

struct Params {
  y_size: u32,
  length: u32,
  radix: u32,
  done: u32,
  first_root: u32, // of the length
  scale: f32,
}

@group(0) @binding(0) var<storage, read> roots: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.y_size) {
    return;
  }
  let start = i / params.length * params.length; // a remainder would divide again
  let grown = params.done * params.radix;
  let block = (i - start) / grown;
  let step = i - start - block * grown; // q * done + k
  let k = step - step / params.done * params.done;
  let first = start + block * params.done + k;
  let apart = params.length / params.radix;
  let turns = params.length / grown;
  var sum = load_x(first);
  var power = 0u;
  for (var s = 1u; s < params.radix; s++) {
    power += step;
    power -= select(0u, grown, power >= grown);
    sum += complex_mul(load_x(first + s * apart), roots[params.first_root + power * turns]);
  }
  y[i] = params.scale * sum;
}
