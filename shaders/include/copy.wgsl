// y = x, row-major, x being a view. The axes of x are those of y, but the one along which x lies side
// by side may have been moved before the last; `steps_y` says where it went.

struct Params {
  x_shape: array<vec4<u32>, 2>,
  x_strides: array<vec4<u32>, 2>,
  x_offset: u32,
  steps_y: array<vec4<u32>, 2>, // elements of y from one place on an axis to the next
  corners: u32, // places on the outer axes
  turns: u32, // of rows: fours that an invocation copies
  along_bits: u32, // of tiles
  across_bits: u32,
}

@group(0) @binding(2) var<uniform> params: Params;

struct Axis {
  size: u32,
  step_x: u32,
  step_y: u32,
}

fn axis_at(axis: u32) -> Axis { // below x_rank
  let at = 8u - x_rank + axis;
  return Axis(
    params.x_shape[at / 4u][at % 4u],
    params.x_strides[at / 4u][at % 4u],
    params.steps_y[at / 4u][at % 4u],
  );
}

struct Corner {
  x: u32,
  y: u32,
}

// A place on all axes but the last `inner`, where they begin in x and y; without a loop, which a
// compiler might not unroll
fn corner_of(number: u32, inner: u32) -> Corner {
  var walk = Walk(number, Corner(params.x_offset, 0u));
  walk = outward(walk, inner);
  walk = outward(walk, inner + 1u);
  walk = outward(walk, inner + 2u);
  walk = outward(walk, inner + 3u);
  walk = outward(walk, inner + 4u);
  walk = outward(walk, inner + 5u);
  walk = outward(walk, inner + 6u);
  return walk.at;
}

struct Walk {
  rest: u32, // of the place's number
  at: Corner,
}

// What the axis before the last `after` adds
fn outward(walk: Walk, after: u32) -> Walk {
  if (x_rank <= after) {
    return walk;
  }
  let axis = axis_at(x_rank - after - 1u);
  var place = walk.rest;
  var rest = 0u;
  if (x_rank > after + 1u) { // dividing is dear
    rest = place / axis.size;
    place -= rest * axis.size;
  }
  let at = Corner(walk.at.x + place * axis.step_x, walk.at.y + place * axis.step_y);
  return Walk(rest, at);
}
