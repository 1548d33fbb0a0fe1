// The names that shaders need not declare, for tensors of float32; what TENSOR is part of is of a tensor.
alias T = f32;
alias T_TENSOR = f32;
var<private> attrs: Attrs;
const TENSOR_rank = 2u;
const has_TENSOR = true;
fn load_TENSOR_at(coords: Coords_TENSOR) -> f32 { return 0.0; }
fn load4_TENSOR(i: u32) -> vec4<f32> { return vec4(0.0); }
fn load_TENSOR(i: u32) -> f32 { return 0.0; }
alias Coords_TENSOR = array<u32, 2>;
fn coords_TENSOR(i: u32) -> Coords_TENSOR { return Coords_TENSOR(); }
fn store4_TENSOR(i: u32, values: vec4<f32>) { }
fn store_TENSOR(i: u32, value: f32) { }
fn report_index(bad: i32) { }
fn report_index_of_TENSOR(bad: i32) { }
fn hold(x: f32) -> f32 { return x; }
fn wk_print_i32(value: i32) { }
fn wk_print_u32(value: u32) { }
fn wk_print(value: f32) { }
fn wk_assert(condition: bool) { }
fn wk_nan() -> f32 { return bitcast<f32>(0x7fc00000u); }
fn wk_inf() -> f32 { return bitcast<f32>(0x7f800000u); }
