"""The results as Markdown: targets, times and ratios."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.items import GRAPHS, ITEMS
from benchmarks.results import (
    Results,
    best_of_ours,
    fact,
    geometric_mean,
    in_words,
    milliseconds,
    times_faster,
)
from benchmarks.targets import in_digits, lines

TITLES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "ours-cpu": "ours, cpu",
    "tinygrad": "tinygrad",
    "tfjs": "TensorFlow.js",
    "ours": "ours, eager",
    "captured": "ours, captured",
    "limit": "raw WGSL",
    "ort-cpu": "ONNX Runtime, CPU",
    "ort": "ONNX Runtime, WebGPU",
}
"""The peers in the order of the columns; the first three and the last but one run on the CPU."""
PEERS_IN_WORDS = {"ours": "ours", "tfjs": "TensorFlow.js", "opening": "importing and opening alone"}
"""The peers among new processes."""
PICTURES_HERE = "### Times\n"
"""Before this heading the docs put the pictures."""
VERDICTS = {True: "met", False: "**not met**", None: "not measured"}


def markdown(results: Results) -> str:
    """Return everything that one adapter's results say, as a page's part."""
    parts = [*_head(results), "", "### Targets", "", *targets(results), ""]
    parts += [PICTURES_HERE, LEGEND, "", *times(results), ""]
    if any(name in results["items"] for name in GRAPHS):
        parts += ["### Models of ONNX", "", GRAPHS_LEGEND, "", *graphs(results), ""]
    parts += ["### Other measures", ""]
    return "\n".join([*parts, *measures(results), ""])


LEGEND = """\
Milliseconds of one call, the least of all turns; bold is the better of ours on the GPU. "Faster
than TensorFlow.js" is its time divided by that one, "of the limit's speed" the raw shader's time
divided by it. A dash: left out, for the reason that the item gives."""


GRAPHS_LEGEND = """\
Medians of the turns: milliseconds of one call, from NumPy's arrays to NumPy's arrays. "Faster" is
ONNX Runtime's time divided by ours, both on a GPU or both on the CPU. "Off" is the largest
difference from ONNX Runtime's CPU provider, as a part of the largest value. "Cold" is how many
seconds a new process takes to its first output where the caches on disk are empty, "again" where
that process has filled them: ours, then ONNX Runtime's."""


def _head(results: Results) -> Iterator[str]:
    adapter = results["adapter"]
    yield f"Measured on {results['date']} on {in_words(adapter)}; {results['cores']} CPU cores."
    yield ""
    facts = [f"{name} {version}" for name, version in sorted(results["packages"].items())]
    yield f"Versions: {', '.join(facts)}."
    for name, why in results.get("missing", {}).items():
        yield ""
        yield f"{TITLES.get(name, name)} is left out: {why}."


def targets(results: Results) -> Iterator[str]:
    """Yield the lines of the table of targets."""
    yield "| target | wanted | reached | |"
    yield "|---|---|---|---|"
    for one in lines(results):
        yield f"| {one.target} | {one.wanted} | {one.reached} | {VERDICTS[one.met]} |"


def times(results: Results) -> Iterator[str]:
    """Yield the lines of the table of times, a row per item."""
    rows = [row for name, row in results["items"].items() if name in ITEMS]
    peers = [name for name in TITLES if any(name in row for row in rows)]
    heads = [TITLES[name] for name in peers]
    yield f"| ms | {' | '.join(heads)} | faster than TensorFlow.js | of the limit's speed |"
    yield f"|---|{'---:|' * (len(heads) + 2)}"
    for name in ITEMS:
        if name in results["items"]:
            cells = [_cell(results, name, peer) for peer in peers]
            yield f"| {name} | {' | '.join(cells)} | {_ratios(results, name)} |"
    means = [
        geometric_mean(times_faster(results, name, than) for name in ITEMS)
        for than in ("tfjs", "limit")
    ]
    known = " | ".join("" if one is None else f"**{in_digits(one)}×**" for one in means)
    yield f"| geometric mean |{' |' * len(heads)} {known} |"


def _ratios(results: Results, item: str) -> str:
    ratios = (times_faster(results, item, than) for than in ("tfjs", "limit"))
    return " | ".join("" if one is None else f"{in_digits(one)}×" for one in ratios)


def _cell(results: Results, item: str, peer: str) -> str:
    taken = milliseconds(results, item, peer)
    if taken is not None:
        best = peer in ("ours", "captured") and taken == best_of_ours(results, item)
        return f"**{in_digits(taken)}**" if best else in_digits(taken)
    facts = results["items"][item].get(peer, {})
    return "fails" if "error" in facts else "–"


def graphs(results: Results) -> Iterator[str]:
    """Yield the lines of the table of ONNX's models, a row per item."""
    columns = ("ort", "ours", "ort-cpu", "ours-cpu")
    heads = [*(TITLES[name] for name in columns[:1]), "ours, webgpu", "faster"]
    heads += [TITLES["ort-cpu"], TITLES["ours-cpu"], "faster", "off: ours, ONNX Runtime's"]
    heads += ["cold, s", "again, s"]
    yield f"| ms | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    known = [name for name in GRAPHS if name in results["items"]]
    pairs = (("ort", "ours"), ("ort-cpu", "ours-cpu"))
    for name in known:
        cells = []
        for than, own in pairs:
            cells += [_median(results, name, peer) for peer in (than, own)]
            ratio = times_faster(results, name, than, own, key="median_ms")
            cells.append("" if ratio is None else f"{in_digits(ratio)}×")
        for key, form in (
            ("off", "{:.0e}"),
            ("cold_seconds", "{:.1f}"),
            ("again_seconds", "{:.1f}"),
        ):
            both = (fact(results, name, peer, key) for peer in ("ours", "ort"))
            cells.append(", ".join("–" if one is None else form.format(one) for one in both))
        yield f"| {name} | {' | '.join(cells)} |"
    means = [
        geometric_mean(times_faster(results, name, *pair, key="median_ms") for name in known)
        for pair in pairs
    ]
    first, second = ("" if one is None else f"**{in_digits(one)}×**" for one in means)
    yield f"| geometric mean | | | {first} | | | {second} | | | |"


def _median(results: Results, item: str, peer: str) -> str:
    taken = fact(results, item, peer, "median_ms")
    if taken is not None:
        return in_digits(taken)
    return "fails" if "error" in results["items"][item].get(peer, {}) else "–"


def figures(results: Results) -> Iterator[str]:
    """Yield the few lines that the README shows."""
    adapter = results["adapter"]
    yield f"On {adapter['name']} through {adapter['backend']}, {adapter['driver']}:"
    yield ""
    yield "| measure | figure |"
    yield "|---|---|"
    for than, words in (
        ("tfjs", "times faster than TensorFlow.js's WebGPU backend"),
        ("limit", "of the speed of the best raw WGSL that we know"),
    ):
        ratios = [times_faster(results, name, than) for name in ITEMS]
        mean = geometric_mean(ratios)
        if mean is not None:
            count = sum(one is not None for one in ratios)
            yield f"| {words}, geometric mean of {count} items | {in_digits(mean)}× |"
    if host := results.get("host_cost"):
        yield f"| an eager map: the calling thread's time | {host['map_us']:.1f} µs |"
    for one in lines(results):
        if one.target.startswith(("alive", "import")) and one.reached:
            yield f"| {one.target} | {one.reached} |"


def measures(results: Results) -> Iterator[str]:
    """Yield the lines of the table of what is measured beside the items."""
    yield "| measure | figure |"
    yield "|---|---|"
    for words, figure in _measures(results):
        yield f"| {words} | {figure} |"


def _measures(results: Results) -> Iterator[tuple[str, str]]:
    if host := results.get("host_cost"):
        yield "an eager map, unfused: the calling thread's time", f"{host['unfused_map_us']:.1f} µs"
        for name, us in host["others_us"].items():
            yield f"an eager {name}: the calling thread's time", f"{us:.1f} µs"
        if turn := host.get("python_loop_ns"):
            yield "a turn of a plain Python loop, for comparison", f"{turn:.0f} ns"
    if steady := results.get("steady"):
        grown = steady["grown"]
        yield "resident size after 1,000 training steps", f"{grown['resident_mib']:+.1f} MiB"
    if imports := results.get("import_time"):
        left = "wgpu" if imports["imports_wgpu"] else "no wgpu"
        yield "what import brings along", f"{left}, {imports['shaders_read']} shaders"
    if ceilings := results.get("ceilings"):
        yield (
            "the device's copy bandwidth",
            f"{ceilings['copy_gb_per_s']:.1f} GB/s, read and written",
        )
        yield "the device's float32 multiply-adds", f"{ceilings['fma_gflop_per_s']:.0f} GFLOP/s"
    if recurrence := results.get("recurrence"):
        ms = recurrence["ms"]
        for what in ("values", "gradient"):
            ratio = ms[f"loop {what}"] / ms[f"scan {what}"]
            words = f"an LSTM of {recurrence['steps']} steps by scan, its {what}: of a loop's speed"
            yield words, f"{ratio:.2f}×"
    if first := results.get("first_result"):
        yield from _starts(first)


def _starts(first: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures of new processes, by network and state of the caches."""
    for network, states in first.items():
        for state, peers in states.items():
            figures = [
                f"{PEERS_IN_WORDS[name]} {one['seconds']:.1f} s ({one['cpu_seconds']:.1f} s)"
                for name, one in peers.items()
            ]
            words = f"to the third step of the {network} in a new process, caches {state}"
            yield words, f"{', '.join(figures)} of the clock (of the processors)"
