// y[i] = finish(sum over part of parts[part, i], i): the last step of a product in several parts.
// The kernel that includes this declares parts and y, gives params.parts_count and params.y_size,
// alias Sum and fn finish(sum: Sum, i: u32) -> Sum.

const SUM_GROUP = 64u;

fn sum_parts(i: u32) {
  if (i < params.y_size) {
    var sum = Sum();
    for (var part = 0u; part < params.parts_count; part++) {
      sum += parts[part * params.y_size + i];
    }
    store_y(i, T_y(finish(sum, i)));
  }
}
