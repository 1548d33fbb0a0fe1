// How the gradients of pooling read dy: for each element of the image the places whose window
// covers it. All NHWC and bound in units of neighbouring channels; dy is contiguous.

const GROUP = 64u;

struct Params {
  units: u32, // of y
  depth: u32, // units of channels
  image: vec2<u32>,
  places: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  before: vec2<u32>,
  begin: vec2<u32>, // the places that this dispatch looks at
  end: vec2<u32>,
}

struct Covering {
  start: u32, // of the channel of dy's image
  begin: vec2<u32>,
  end: vec2<u32>,
}

fn covering_at(i: u32) -> Covering {
  let cell = i / params.depth; // a remainder would divide again
  let line = cell / params.image.y;
  let image = line / params.image.x;
  let place = vec2<u32>(line - image * params.image.x, cell - line * params.image.y);
  let at = place + params.before;
  let first = (max(at + 1u, params.window) - params.window + params.step - 1u) / params.step;
  let last = at / params.step;
  return Covering(
    image * params.places.x * params.places.y * params.depth + (i - cell * params.depth),
    max(first, params.begin),
    min(last + 1u, params.end),
  );
}

fn index_in_dy(covering: Covering, row: u32, col: u32) -> u32 {
  return covering.start + (row * params.places.y + col) * params.depth;
}
