"""The results as Markdown: targets, times and ratios."""

from collections.abc import Iterator

from benchmarks.items import ITEMS
from benchmarks.results import (
    Results,
    best_of_ours,
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
}
"""The peers in the order of the columns; the first three run on the CPU, the others on the GPU."""
VERDICTS = {True: "met", False: "**not met**", None: "not measured"}


def markdown(results: Results) -> str:
    """Return everything that one adapter's results say, as a page's part."""
    return "\n".join([*_head(results), "", *targets(results), "", *times(results), ""])


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
    peers = [name for name in TITLES if any(name in row for row in results["items"].values())]
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
