// What a first pass reads: two neighbours, of any view. There is nothing to multiply by.

fn pair_of(row: u32, place: u32, s: u32) -> vec4<f32> {
  let i = row * params.length + place + s * params.apart;
  return vec4<f32>(load_x(i), load_x(i + 1u));
}
