// What scans share. A row is what is scanned: the elements along the axis, wk_inner apart;
// neighbouring rows begin side by side. It is cut into parts: where there are several, a first
// dispatch (scan_<method>_totals) writes the total of each, and in a second (scan_<method>) each
// part begins with the combined totals before it. Totals are always combined in the order of the
// scan, so that `combine` need not be commutative.

struct wk_Part {
  row: u32,
  number: u32, // in the order of the scan
  start: u32, // where the row begins
  begin: u32, // in the order of the scan
  end: u32,
}

fn wk_part_at(row: u32, number: u32) -> wk_Part {
  let inner = wk_params.wk_inner;
  let start = row / inner * inner * wk_params.wk_length + row % inner;
  let begin = number * wk_params.wk_part_size;
  let end = min(begin + wk_params.wk_part_size, wk_params.wk_length);
  return wk_Part(row, number, start, begin, end);
}

// Where along the axis the k-th element of the scan stands
fn wk_along_axis(k: u32) -> u32 {
  return select(k, wk_params.wk_length - 1u - k, wk_backward);
}

fn wk_index(part: wk_Part, k: u32) -> u32 {
  return part.start + wk_along_axis(k) * wk_params.wk_inner;
}

// What the k-th element gives for which the total was `before`, and is `with_it` from there on
fn wk_result(before: wk_Total, with_it: wk_Total, k: u32) -> T_y {
  if (wk_exclusive) {
    return wk_finished(before, k);
  }
  return wk_finished(with_it, k + 1u);
}
