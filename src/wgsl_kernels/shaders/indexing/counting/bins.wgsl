// bins[i] = the bin of x[i] among those of all rows, or -1 where its row has no such bin; a negative
// number is reported

const GROUP = 64u;

struct Params {
  bins_size: u32,
  length: u32, // of a row of x
  size: u32, // bins of a row
}

@group(0) @binding(0) var<storage, read_write> bins: array<i32>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i >= params.bins_size) {
    return;
  }
  let bin = load_x(i);
  if (bin < 0) {
    report_index_of_x(bin);
  }
  let is_bin = u32(bin) < params.size;
  bins[i] = select(-1, bin + i32(i / params.length * params.size), is_bin);
}
