// owners[rows[i]] = the largest i + 1: the last update of each row; rows that have none keep 0

const GROUP = 64u;

struct Params {
  rows_size: u32,
}

@group(0) @binding(0) var<storage, read> rows: array<i32>;
@group(0) @binding(1) var<storage, read_write> owners: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.rows_size) {
    atomicMax(&owners[rows[i]], i32(i) + 1);
  }
}
