// Where the elements of windows are, by the fields of wk_sizes.

struct wk_Cell {
  start: u32, // of the channel of its image, in units of elements
  at: vec3<u32>,
}

// Where a number is in images of such lengths; ``other`` are those of what it is counted in.
fn wk_cell(i: u32, lengths: vec3<u32>, other: vec3<u32>) -> wk_Cell {
  let cell = i / wk_sizes.channels;
  let line = cell / lengths.z;
  let plane = line / lengths.y;
  let image = plane / lengths.x;
  let start = image * other.x * other.y * other.z * wk_sizes.channels + i % wk_sizes.channels;
  return wk_Cell(start, vec3<u32>(plane % lengths.x, line % lengths.y, cell % lengths.z));
}

fn wk_index(start: u32, at: vec3<u32>, lengths: vec3<u32>) -> u32 {
  return start + ((at.x * lengths.y + at.y) * lengths.z + at.z) * wk_sizes.channels;
}

// How many elements of a window are before some place of the padded image.
fn wk_elements_before(at: vec3<u32>, corner: vec3<u32>) -> vec3<u32> {
  return (max(at, corner) - corner + wk_sizes.dilation - 1u) / wk_sizes.dilation;
}

// The number of a place of a window, in row-major order.
fn wk_number(w: vec3<u32>) -> u32 {
  return (w.x * wk_sizes.window.y + w.y) * wk_sizes.window.z + w.z;
}
