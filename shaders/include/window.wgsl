// How pooling reads x: a window per unit of y, both NHWC. x may be a view. A unit is as many
// neighbouring channels as the kernel's UNIT says; x and y are bound in units.

const GROUP = 64u;

struct Params {
  x_strides: vec4<u32>,
  x_offset: u32,
  units: u32, // of y
  depth: u32, // units of channels
  image: vec2<u32>,
  places: vec2<u32>,
  window: vec2<u32>,
  step: vec2<u32>,
  before: vec2<u32>,
  begin: vec2<u32>, // the elements of the window that this dispatch looks at
  end: vec2<u32>,
}

struct PlaceInY {
  start: u32, // of the channel of the image
  place: vec2<u32>,
}

struct Seen {
  begin: vec2<u32>, // in the image
  end: vec2<u32>,
}

fn place_of(i: u32) -> PlaceInY {
  let cell = i / params.depth; // a remainder would divide again
  let line = cell / params.places.y;
  let image = line / params.places.x;
  let channel = (i - cell * params.depth) * UNIT;
  return PlaceInY(
    params.x_offset + image * params.x_strides.x + channel * params.x_strides.w,
    vec2<u32>(line - image * params.places.x, cell - line * params.places.y),
  );
}

// The part of the window from `first` to `last` that lies on the image.
fn part_of_window(place: vec2<u32>, first: vec2<u32>, last: vec2<u32>) -> Seen {
  let corner = place * params.step; // counted from the padding's first element
  let begin = min(max(corner + first, params.before) - params.before, params.image);
  let end = min(max(corner + last, params.before) - params.before, params.image);
  return Seen(begin, end);
}

fn window_at(at: PlaceInY) -> Seen {
  return part_of_window(at.place, params.begin, params.end);
}

fn index_of(at: PlaceInY, row: u32, col: u32) -> u32 {
  return (at.start + row * params.x_strides.y + col * params.x_strides.z) / UNIT;
}
