// y[i] = finish(sum over part of parts[part, i], i): the last step of a product in several parts.
// The kernel that includes this declares parts, y and params.parts, params.y_size, and gives
// fn finish(value: Sum, i: u32) -> Sum.

const SUM_GROUP = 64u;

fn sum_parts(i: u32) {
  if (i < params.y_size) {
    var sum = Sum();
    for (var part = 0u; part < params.parts; part++) {
      sum += parts[part * params.y_size + i];
    }
    y[i] = T_y(finish(sum, i));
  }
}
