// A product (product.wgsl) in registers for adapters that are CPUs: a workgroup is one subgroup, and
// sums HEIGHT rows x 32 columns, 4 channels at a time. An invocation is the lane of a vector
// register there, and what it loads is loaded alone. So each element of a is loaded by one lane
// only, and broadcast to the others; each lane has 4 columns of b.
//
// The kernel gives what product_vec4.wgsl or product_vec4_rows.wgsl want, and includes
// product_vec4_columns.wgsl or product_vec4_terms.wgsl, and product_lanes_terms.wgsl or
// product_lanes_rows.wgsl. Channels and columns are multiples of 4. No lane may return early: the
// others want what it has loaded.

const LANES = 8u; // invocations of a workgroup, and at most of a subgroup
const LANE_COLS = 4u; // columns that an invocation sums

// Eight rows of four columns.
struct Stack {
  sum0: vec4<Sum>,
  sum1: vec4<Sum>,
  sum2: vec4<Sum>,
  sum3: vec4<Sum>,
  sum4: vec4<Sum>,
  sum5: vec4<Sum>,
  sum6: vec4<Sum>,
  sum7: vec4<Sum>,
}

// Adds the products of four channels of one row.
fn add_four(a: vec4<Sum>, b: Fours, sum: vec4<Sum>) -> vec4<Sum> {
  let first = multiply_add(a.y, b.b10, multiply_add(a.x, b.b00, sum));
  return multiply_add(a.w, b.b30, multiply_add(a.z, b.b20, first));
}

fn put_stack(sums: ptr<function, array<vec4<Sum>, 32>>, first: u32, stack: Stack) {
  (*sums)[first + 0u] = stack.sum0;
  (*sums)[first + 1u] = stack.sum1;
  (*sums)[first + 2u] = stack.sum2;
  (*sums)[first + 3u] = stack.sum3;
  (*sums)[first + 4u] = stack.sum4;
  (*sums)[first + 5u] = stack.sum5;
  (*sums)[first + 6u] = stack.sum6;
  (*sums)[first + 7u] = stack.sum7;
}

// The workgroup in block_at's order that is the next one down, where that has the next one across.
fn downwards(group: u32, down: u32, across: u32) -> u32 {
  let within = group % (down * across);
  return group - within + within % down * across + within / down;
}

fn product_in_lanes(group: u32, lane: u32) {
  let down = parts_of(params.rows, HEIGHT);
  let across = parts_of(params.cols, LANES * LANE_COLS);
  let at = block_at(downwards(group, down, across), HEIGHT, LANES * LANE_COLS);
  if (at.batch >= params.batches) {
    return;
  }
  let row0 = row_at(at.batch, row_of(at.row, lane));
  let row1 = row_at(at.batch, row_of(at.row + 8u, lane));
  let row2 = row_at(at.batch, row_of(at.row + 16u, lane));
  let row3 = row_at(at.batch, row_of(at.row + 24u, lane));
  let col = at.col + lane * LANE_COLS;
  let columns = columns_at(at.batch, min(col, params.cols - LANE_COLS));
  var stack0: Stack;
  var stack1: Stack;
  var stack2: Stack;
  var stack3: Stack;
  for (var tap = at.tap; tap < at.tap_end; tap++) {
    let place0 = place_at(row0, tap);
    let place1 = place_at(row1, tap);
    let place2 = place_at(row2, tap);
    let place3 = place_at(row3, tap);
    var start = tap_start(tap) / 4u + at.channel / 4u * columns.step;
    for (var channel = at.channel; channel < at.channel_end; channel += 4u) {
      let b = load_fours(columns, start);
      let own = channel_of(channel, lane);
      add_stack(&stack0, load_a4(place0, own), b);
      if (HEIGHT > 8u) {
        add_stack(&stack1, load_a4(place1, own), b);
      }
      if (HEIGHT > 16u) {
        add_stack(&stack2, load_a4(place2, own), b);
        add_stack(&stack3, load_a4(place3, own), b);
      }
      start += columns.step;
    }
  }
  var sums: array<vec4<Sum>, 32>;
  put_stack(&sums, 0u, stack0);
  if (HEIGHT > 8u) {
    put_stack(&sums, 8u, stack1);
  }
  if (HEIGHT > 16u) {
    put_stack(&sums, 16u, stack2);
    put_stack(&sums, 24u, stack3);
  }
  // A loop, because what a kernel does to each sum may be long, and compilers write out all that is
  // called: for 32 rows of a few maps one driver took a minute.
  let rows = min(HEIGHT, params.rows - at.row);
  for (var n = 0u; n < rows; n++) {
    store4(at, at.row + n, col, sums[n]);
  }
}
