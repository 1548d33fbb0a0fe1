// What a watching shader declares beside its log; what begins with wkd_ and is not declared here are the
// log's binding and the numbers of its layout.
var<private> wkd_who: u32;
var<private> wkd_lane: u32;
var<private> wkd_epoch: u32;
var<private> wkd_rounds: u32;
var<private> wkd_row: u32;

fn wkd_note(site: u32, event: u32, index: u32, length: u32, other: u32) {
  if (atomicAdd(&wkd_log[wkd_sites + site], 1u) < wkd_per_site) {
    let at = atomicAdd(&wkd_log[0], 1u);
    if (at < wkd_most_records) {
      let word = wkd_records + at * wkd_record_words;
      atomicStore(&wkd_log[word], site);
      atomicStore(&wkd_log[word + 1u], index);
      atomicStore(&wkd_log[word + 2u], length);
      atomicStore(&wkd_log[word + 3u], wkd_who);
      atomicStore(&wkd_log[word + 4u], (event << 24u) | min(other, 0xffffffu));
    }
  }
}

fn wkd_in(index: u32, length: u32, site: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
  }
  return index;
}

fn wkd_outer(index: u32, length: u32, site: u32) -> u32 {
  wkd_row = index;
  return wkd_in(index, length, site);
}

fn wkd_read(index: u32, length: u32, site: u32, shadow: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let base = atomicLoad(&wkd_log[wkd_shadows + shadow]);
  if (base != 0u) {
    let writer = atomicLoad(&wkd_log[base + 2u * index]);
    if (writer != 0u && writer != wkd_who) {
      wkd_note(site, 2u, index, length, writer);
    }
    atomicStore(&wkd_log[base + 2u * index + 1u], wkd_who);
  }
  return index;
}

fn wkd_write(index: u32, length: u32, site: u32, shadow: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let base = atomicLoad(&wkd_log[wkd_shadows + shadow]);
  if (base != 0u) {
    let writer = atomicExchange(&wkd_log[base + 2u * index], wkd_who);
    let reader = atomicLoad(&wkd_log[base + 2u * index + 1u]);
    if (writer != 0u && writer != wkd_who) {
      wkd_note(site, 1u, index, length, writer);
    } else if (reader != 0u && reader != wkd_who) {
      wkd_note(site, 2u, index, length, reader);
    }
  }
  return index;
}

fn wkd_say(value: u32, site: u32, component: u32) {
  if (atomicAdd(&wkd_log[1], 1u) >= wkd_most_said) {
    return;
  }
  let at = atomicAdd(&wkd_log[0], 1u);
  if (at < wkd_most_records) {
    let word = wkd_records + at * wkd_record_words;
    atomicStore(&wkd_log[word], site);
    atomicStore(&wkd_log[word + 1u], value);
    atomicStore(&wkd_log[word + 2u], component);
    atomicStore(&wkd_log[word + 3u], wkd_who);
    atomicStore(&wkd_log[word + 4u], 5u << 24u);
  }
}

fn wkd_hold(condition: bool, site: u32) {
  if (!condition) {
    wkd_note(site, 6u, 0u, 0u, 0u);
  }
}

fn wkd_round(site: u32) -> bool {
  wkd_rounds += 1u;
  if (wkd_rounds > wkd_most_rounds) {
    wkd_note(site, 4u, wkd_rounds, wkd_most_rounds, 0u);
    return true;
  }
  return false;
}
