// What it declares for one workgroup array, NAME, whose shadow of WORDS words is in workgroup memory, by
// barriers.
var<workgroup> wkd_shadow_NAME: array<atomic<u32>, WORDS>;

fn wkd_read_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let own = (wkd_epoch << 11u) | (wkd_lane + 1u);
  let writer = atomicLoad(&wkd_shadow_NAME[2u * flat]);
  if (writer == 0u) {
    wkd_note(site, 3u, flat, length, 0u);
  } else if ((writer >> 11u) == wkd_epoch && writer != own) {
    wkd_note(site, 2u, flat, length, writer & 2047u);
  }
  atomicStore(&wkd_shadow_NAME[2u * flat + 1u], own);
  return index;
}

fn wkd_write_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let own = (wkd_epoch << 11u) | (wkd_lane + 1u);
  let writer = atomicExchange(&wkd_shadow_NAME[2u * flat], own);
  let reader = atomicLoad(&wkd_shadow_NAME[2u * flat + 1u]);
  if (writer != 0u && (writer >> 11u) == wkd_epoch && writer != own) {
    wkd_note(site, 1u, flat, length, writer & 2047u);
  } else if (reader != 0u && (reader >> 11u) == wkd_epoch && reader != own) {
    wkd_note(site, 2u, flat, length, reader & 2047u);
  }
  return index;
}

fn wkd_mark_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
  } else {
    atomicStore(&wkd_shadow_NAME[2u * flat], (wkd_epoch << 11u) | (wkd_lane + 1u));
  }
  return index;
}

fn wkd_set_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
  } else if (atomicLoad(&wkd_shadow_NAME[2u * flat]) == 0u) {
    wkd_note(site, 3u, flat, length, 0u);
  }
  return index;
}
