"""The targets, each with what was reached: read out of the results, never timed here."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.items import GRAPHS, ITEMS
from benchmarks.results import Results, best_of_ours, fact, geometric_mean, times_faster

AGAINST_TFJS = {
    "the chain of ten maps": (15.0, ("chain-10",)),
    "softmax": (8.0, ("softmax", "log-softmax")),
    "layer norm": (8.0, ("layer-norm",)),
    "the column sum": (30.0, ("sum-columns",)),
    "the cumulative sum": (50.0, ("cumulative-sum",)),
    "top-k": (50.0, ("top-10",)),
    "matmul 1024": (4.0, ("matmul-1024",)),
    "the training steps": (4.0, ("mlp-step", "cnn-step")),
}
"""How many times faster than TensorFlow.js these have to be."""
PLAIN: tuple[str, ...] = (
    "add-1m",
    "add-16m",
    "multiply-1m",
    "multiply-16m",
    "add-broadcast",
    "chain-10",
    "softmax",
    "log-softmax",
    "layer-norm",
    "batch-norm",
    "cumulative-sum",
    "top-10",
    "gather-rows",
)
"""What is a plain expression of NumPy's too, on a million elements at least."""
PLAIN += tuple(
    f"{op}-{over}" for op in ("sum", "max", "argmax") for over in ("all", "rows", "columns")
)
WINDOWS: tuple[str, ...] = (
    "conv-3x3",
    "conv-1x1",
    "conv-depthwise",
    "conv-7x7-stride-2",
    "max-pool",
    "conv-3x3x3",
    "max-pool-3d",
    "avg-pool-3d",
    "cnn-step",
    "cnn-step-wide",
)

STARTING = ("onnx-encoder", "onnx-mobilenet")
"""The models of ONNX whose start is held against ONNX Runtime's."""

MOVED_BYTES = {
    "add-16m": 3 << 26,
    "multiply-16m": 3 << 26,
    "sum-all-4096": 1 << 26,
    "softmax-4096": 2 << 26,
    "transpose-4096": 2 << 26,
}
"""What these read and write at least."""


@dataclass(frozen=True)
class Line:
    """A target: in words, what was wanted, what was reached, by which item, and whether it is met.

    ``met`` is None where nothing was measured.
    """

    target: str
    wanted: str
    reached: str
    met: bool | None


def lines(results: Results) -> Iterator[Line]:
    """Yield a line for each target."""
    yield from _against_tensorflow_js(results)
    yield from _against_the_limit(results)
    yield from _on_the_cpu(results)
    yield from _host_cost(results)
    yield from _memory(results)
    yield from _new_processes(results)
    yield from _against_onnx_runtime(results)
    if results["adapter"].get("type", "CPU") != "CPU":
        yield from _of_the_device(results)


def _against_tensorflow_js(results: Results) -> Iterator[Line]:
    ratios = {name: times_faster(results, name, "tfjs") for name in ITEMS}
    yield _least("every item, against TensorFlow.js", 1.0, ratios)
    mean = geometric_mean(ratios.values())
    yield _ratio("all items, geometric mean", 5.0, mean)
    for words, (wanted, names) in AGAINST_TFJS.items():
        yield _least(
            f"{words}, against TensorFlow.js", wanted, {name: ratios[name] for name in names}
        )


def _against_the_limit(results: Results) -> Iterator[Line]:
    ratios = {name: times_faster(results, name, "limit") for name in ITEMS}
    yield _least("every item, of the raw limit's speed", 0.9, ratios)
    yield _ratio(
        "all items, geometric mean of the limit's speed", 0.9, geometric_mean(ratios.values())
    )


def _on_the_cpu(results: Results) -> Iterator[Line]:
    plain = {name: times_faster(results, name, "numpy", "ours-cpu") for name in PLAIN}
    yield _least("our CPU backend, of NumPy's speed from 1 M elements", 0.9, plain)
    windows = {name: times_faster(results, name, "torch", "ours-cpu") for name in WINDOWS}
    yield _least("our CPU backend, of PyTorch's speed in windows", 1 / 3, windows)


def _host_cost(results: Results) -> Iterator[Line]:
    host = results.get("host_cost", {})
    wanted = {
        "an eager map, forcing included": ("map_us", 5.0),
        "an eager map under a tape": ("taped_us", 6.0),
        "another eager op": ("other_us", 15.0),
        "a small op on our CPU backend, beyond NumPy": ("cpu_beyond_numpy_us", 12.0),
    }
    for words, (key, most) in wanted.items():
        reached = host.get(key)
        text = "" if reached is None else f"{reached:.1f} µs"
        met = None if reached is None else reached <= most
        yield Line(f"{words}: the calling thread's time", f"≤ {most:g} µs", text, met)
    replays = host.get("replays", {})
    over = {int(n): us - (70 + 2 * int(n)) for n, us in replays.items()}
    text = ", ".join(f"{us:.0f} µs for {n}" for n, us in replays.items())
    met = all(one <= 0 for one in over.values()) if over else None
    yield Line("a captured replay", "≤ 70 µs + 2 µs per dispatch", text, met)


def _memory(results: Results) -> Iterator[Line]:
    grown = results.get("steady", {}).get("grown")
    text = "" if grown is None else f"{grown['buffers']:+} buffers, {grown['bytes']:+} bytes"
    met = None if grown is None else grown["buffers"] <= 0 and grown["bytes"] <= 0
    yield Line("alive after 1,000 training steps, beyond step 200", "nothing more", text, met)
    imports = results.get("import_time", {}).get("seconds_min")
    text = "" if imports is None else f"{imports * 1e3:.0f} ms"
    met = None if imports is None else imports <= 0.08
    yield Line("import, beyond NumPy's own", "≤ 80 ms", text, met)


def _new_processes(results: Results) -> Iterator[Line]:
    """Yield what is asked of the time from a process's start to its third training step."""
    for network, states in results.get("first_result", {}).items():
        for state, peers in states.items():
            words = f"a new process to the third step of the {network}, caches {state}"
            seconds = {name: one["seconds"] for name, one in peers.items()}
            most = seconds.get("tfjs")
            if most is not None and state == "warm":
                most += seconds["opening"]
            wanted = "" if most is None else f"≤ {most:.1f} s"
            met = None if most is None else seconds["ours"] <= most
            yield Line(words, wanted, f"{seconds['ours']:.1f} s", met)


def _against_onnx_runtime(results: Results) -> Iterator[Line]:
    """Yield what is asked of models of ONNX; on a real GPU, to be no slower in the mean."""
    names = [name for name in GRAPHS if name in results["items"]]
    if not names:
        return
    ratios = {name: times_faster(results, name, "ort", key="median_ms") for name in names}
    mean = geometric_mean(ratios.values())
    if results["adapter"].get("type", "CPU") == "CPU":
        yield _least("every model of ONNX, against ONNX Runtime WebGPU", 2.0, ratios)
        yield _ratio("all models of ONNX, geometric mean", 5.0, mean)
    else:
        yield _ratio("all models of ONNX, against ONNX Runtime WebGPU, geometric mean", 1.0, mean)
    on_cpu = {
        name: times_faster(results, name, "ort-cpu", "ours-cpu", key="median_ms") for name in names
    }
    words = "our CPU backend, of ONNX Runtime's speed on the CPU"
    yield _least(f"{words}, every model", 1 / 12, on_cpu)
    yield _ratio(f"{words}, geometric mean", 1 / 6, geometric_mean(on_cpu.values()))
    for name in STARTING:
        for state, caches in (("cold", "empty"), ("again", "filled")):
            own, other = (fact(results, name, x, f"{state}_seconds") for x in ("ours", "ort"))
            if own is not None and other is not None:
                words = f"a new process to the first output of {name}, caches {caches}"
                yield Line(words, f"≤ {other:.1f} s", f"{own:.1f} s", own <= other)


def _of_the_device(results: Results) -> Iterator[Line]:
    """Yield what is asked of a real GPU: parts of what its own memory and arithmetic can do."""
    ceilings = results.get("ceilings")
    if ceilings is None:
        return
    bandwidth, arithmetic = ceilings["copy_gb_per_s"], ceilings["fma_gflop_per_s"]
    memory = {name: _rate(results, name, moved) for name, moved in MOVED_BYTES.items()}
    parts = {name: rate and rate / bandwidth for name, rate in memory.items()}
    yield _least("64 MB and more, of the device's copy bandwidth", 0.85, parts)
    matmul = _rate(results, "matmul-4096", 2 * 4096**3)
    yield _ratio("matmul 4096, of the device's multiply-adds", 0.6, matmul and matmul / arithmetic)
    conv = _rate(results, "conv-3x3", 2 * 8 * 56 * 56 * 64 * 64 * 9)
    yield _ratio("conv 3x3, of our matmul's rate", 0.7, conv and matmul and conv / matmul)


def _rate(results: Results, item: str, amount: float) -> float | None:
    """Return thousands of millions a second, of ``amount`` for each call of ours."""
    taken = best_of_ours(results, item)
    return None if taken is None else amount / taken / 1e6


def _least(words: str, wanted: float, ratios: dict[str, float | None]) -> Line:
    """Return the line of a target that the worst of several items decides."""
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    want = f"≥ {wanted:.2g}×"
    if not known:
        return Line(words, want, "", None)
    worst = min(known, key=lambda name: known[name])
    misses = sum(ratio < wanted for ratio in known.values())
    text = (
        f"{in_digits(known[worst])}× ({worst})"
        if len(ratios) > 1
        else f"{in_digits(known[worst])}×"
    )
    if misses > 1:
        text += f"; {misses} of {len(known)} miss it"
    return Line(words, want, text, misses == 0)


def _ratio(words: str, wanted: float, reached: float | None) -> Line:
    text = "" if reached is None else f"{in_digits(reached)}×"
    return Line(words, f"≥ {wanted:.2g}×", text, None if reached is None else reached >= wanted)


def in_digits(number: float) -> str:
    """Return a positive number with two or three digits that count."""
    for digits, below in ((3, 0.1), (2, 10), (1, 100)):
        if number < below:
            return f"{number:.{digits}f}"
    return f"{number:,.0f}"
