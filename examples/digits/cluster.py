"""Train the demo's network on two workers, one of which is killed, and on one: the same bits."""

import argparse
import base64
import functools
import io
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from distributed import Client, LocalCluster, get_worker
from rich.console import Console

import wgsl_kernels as wk
from data import load
from model import loss, new_network
from wgsl_kernels.dask import FitResult, WorkerSetup, fit

HERE = str(Path(__file__).parent)
MICRO_BATCHES, ROWS, SEED = 4, 16, 0
KILLED_AT = 25
"""The step in which worker 1 is killed, once."""


def make() -> Any:
    """Return the network's variables, their optimizer, and the loss of a micro-batch."""
    network = new_network(SEED)
    return network, wk.train.Adam(0.003), lambda batch: loss(network, *batch)


def batches(step: int, folder: str, kills: bool) -> list[Any]:
    """Return the micro-batches of a step, and note in a file who begins it."""
    name = worker_name()
    with Path(folder, f"{name}-{os.getpid()}.txt").open("a") as file:
        file.write(f"{step} {time.time()}\n")
    marker = Path(folder, "killed")
    if kills and name == 1 and step == KILLED_AT and not marker.exists():
        marker.write_text(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)
    digits = _digits()
    rows = np.random.default_rng([SEED, step]).permutation(len(digits.labels))
    found = []
    for number in range(MICRO_BATCHES):
        own = rows[number * ROWS : (number + 1) * ROWS]
        found.append((digits.images[own], digits.labels[own]))
    return found


@functools.cache
def _digits() -> Any:
    return load(SEED)


def worker_name() -> Any:
    """Return the worker's name, "here" in a process that is none."""
    try:
        return get_worker().name
    except ValueError:
        return "here"


def train(workers: int, steps: int, folder: Path, *, kills: bool) -> FitResult:
    """Train on so many processes."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    given = functools.partial(batches, folder=str(folder), kills=kills)
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(WorkerSetup(backend="cpu"))
        return fit(client, make, given, steps, micro_batches=MICRO_BATCHES)


def timeline(folder: Path) -> bytes:
    """Return a picture of when each process began its steps."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    files = sorted(folder.glob("*-*.txt"), key=lambda one: one.read_text().split()[1])
    rows = {one.stem: np.loadtxt(one, ndmin=2) for one in files}
    begin = min(one[0, 1] for one in rows.values())
    figure, axes = pyplot.subplots(figsize=(9, 0.6 * len(rows) + 1.4), layout="constrained")
    for at, (name, steps) in enumerate(rows.items()):
        axes.plot(steps[:, 1] - begin, np.full(len(steps), at), "|", markersize=14)
        label = f"worker {name.partition('-')[0]}, process {name.partition('-')[2]}"
        axes.text(steps[0, 1] - begin, at + 0.28, label, fontsize=9)
    killed = folder / "killed"
    if killed.exists():
        at = float(killed.read_text()) - begin
        axes.axvline(at, color="tab:red")
        axes.text(at, -0.75, " killed", color="tab:red")
    axes.set(yticks=[], ylim=(-1, len(rows)), xlabel="seconds; a stroke is a step that begins")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    pyplot.close(figure)
    return picture.getvalue()


def accuracy(network: Any) -> float:
    """Return the share of held-out digits that the network gets right."""
    digits = _digits()
    with wk.use_backend("cpu"):
        logits = network(wk.tensor(digits.test_images)).numpy()
    return float((logits.argmax(1) == digits.test_labels).mean())


def main() -> int:
    """Train twice, compare the digests, write a report; return 0 where they are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120, help="%(default)s")
    parser.add_argument("--output", type=Path, default=Path("build/demo-cluster"))
    options = parser.parse_args()
    console = Console(highlight=False)
    console.print(f"two workers; one is killed at step {KILLED_AT}")
    two = train(2, options.steps, options.output / "two", kills=True)
    console.print("one worker")
    one = train(1, options.steps, options.output / "one", kills=False)
    rows = [("2 workers, one killed", two), ("1 worker", one)]
    for label, found in rows:
        console.print(f"{label:24} {found.digest}  loss {found.losses[-1]:.4f}")
    right = accuracy(two.model)
    console.print(f"{right:.2%} of the held-out digits are right")
    picture = base64.b64encode(timeline(options.output / "two")).decode()
    cells = "".join(
        f"<tr><td>{label}</td><td><code>{found.digest}</code></td></tr>" for label, found in rows
    )
    report = options.output / "report.html"
    report.write_text(
        f"<!doctype html><meta charset='utf-8'><title>Two workers</title><body style='font: 16px "
        f"sans-serif; max-width: 60em; margin: 2em auto'><h1>The same bits</h1><table>{cells}"
        f"</table><p>{right:.2%} of the held-out digits are right.</p>"
        f"<img alt='When each process began its steps' src='data:image/png;base64,{picture}'>"
    )
    console.print(f"report: {report}")
    return 0 if two.digest == one.digest else 1


if __name__ == "__main__":
    sys.exit(main())
