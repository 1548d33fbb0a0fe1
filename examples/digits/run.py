"""Train a small network on handwritten digits with both backends, compare them, write a report."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from threadpoolctl import threadpool_limits

import wgsl_kernels as wk
from costs import costs
from data import Digits, batches, load
from findings import Findings
from parity import Check, Parity, compare, record
from pictures import write_overview
from report import write_report
from training import Run, Settings, Trainer, train
from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice, choose_adapter

ACCURACY = 0.97
QUICK_ACCURACY = 0.5


def main() -> int:
    """Run the demo, and return 0 if accuracy and parity are as they should be."""
    start = time.perf_counter()
    options = _options()
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(width=120, highlight=False)
    epochs = options.epochs or (1 if options.quick else 12)
    settings = Settings(epochs, options.batch, options.seed)
    choice = _adapter()
    backends = ["cpu"] if choice is None else ["cpu", "webgpu"]
    console.print(_in_words(choice))
    digits = load(settings.seed)
    if not settings.steps(digits):
        sys.exit(f"--batch: there are {len(digits.labels)} images to train on; want at most these.")
    runs = _train_all(console, backends, digits, settings)
    parities = _parities(console, backends, digits, settings)
    found = Findings(
        adapter=_in_words(choice),
        settings=settings,
        wanted=QUICK_ACCURACY if options.quick else ACCURACY,
        digits=digits,
        runs=runs,
        parities=parities,
        costs={backend: costs(backend, digits, settings) for backend in backends},
        seconds=time.perf_counter() - start,
    )
    console.print(_table(found))
    for run in runs:
        console.print(f"{run.backend:7} {run.accuracy:.2%} of the held-out digits are right")
        console.print(f"{'':7} {run.pace}")
    write_report(options.output, found)
    if options.picture:
        write_overview(options.picture, found)
    console.print(f"report: {options.output} ({time.perf_counter() - start:.0f} s in all)")
    for failure in found.failures:
        console.print(f"[red]failed:[/] {failure}")
    return 1 if found.failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, help="how often each image is seen; 12")
    parser.add_argument("--batch", type=int, default=32, help="images in a step; %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of values, batches and held-out fifth")
    parser.add_argument("--output", type=Path, default=Path("build/demo/report.html"))
    parser.add_argument("--picture", type=Path, help="also write the pictures as one PNG")
    parser.add_argument("--quick", action="store_true", help="one epoch, and less is asked of it")
    return parser.parse_args()


def _adapter() -> AdapterChoice | None:
    """Return the adapter that the webgpu backend will use; None where there is none."""
    try:
        return choose_adapter()
    except (ImportError, OSError, RuntimeError):  # no GPU library can load here
        return None


def _in_words(choice: AdapterChoice | None) -> str:
    if choice is None:
        return "No WebGPU adapter was found: the CPU trains alone"
    info = choice.info
    kind = "software adapter" if info.is_software else "adapter"
    return f"Trained on the {kind} {info.name} through {info.backend}, driver {info.driver}"


def _train_all(
    console: Console, backends: Sequence[str], digits: Digits, settings: Settings
) -> list[Run]:
    columns = (
        TextColumn("{task.description:7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps  loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
    )
    runs = []
    with Progress(*columns, console=console) as progress:
        steps = settings.steps(digits)
        for backend in backends:
            task = progress.add_task(backend, total=steps, loss=float("nan"))

            def watch(loss: float, task: TaskID = task) -> None:
                progress.update(task, advance=1, loss=loss)

            runs.append(train(backend, digits, settings, watch))
    return runs


def _parities(
    console: Console, backends: Sequence[str], digits: Digits, settings: Settings
) -> list[Parity]:
    with wk.use_backend("cpu"):
        trainer = Trainer(settings)
        batch = next(batches(digits, settings.batch, settings.seed, epoch=0))
        trainer.step(batch)
        recorded = record(lambda: trainer.step(batch))
    with console.status(f"comparing {len(recorded)} kernel runs"):
        return list(compare(recorded, backends))


def _table(found: Findings) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Parity and cost of every kernel of a training step")
    table.add_column("kernel")
    for heading in ("calls", *(f"{name} ms" for name in found.costs)):
        table.add_column(heading, justify="right")
    for kind in ("forward", "gradient"):
        for heading in (f"{kind}\nULP", "\nerror", "\nallowed"):
            table.add_column(heading, justify="right")
    table.add_column("verdict")
    for one in found.parities:
        spent = [found.costs[backend].get(one.kernel) for backend in found.costs]
        table.add_row(
            one.kernel,
            str(max((cost.calls for cost in spent if cost), default=0)),
            *("-" if cost is None else f"{cost.milliseconds:.2f}" for cost in spent),
            *_cells(list(one.forward.values())),
            *_cells(list(one.gradient.values())),
            "[green]ok[/]" if one.passed else "[red]beyond[/]",
        )
    return table


def _cells(checks: list[Check]) -> tuple[str, str, str]:
    """Return the worst of the backends."""
    if not checks:
        return ("-", "-", "-")
    worst = max(checks, key=lambda one: (not one.passed, one.used))
    return (f"{worst.ulp:.3g}", f"{worst.error:.1e}", f"{worst.allowed:.1e}")


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):  # matrices this small do not gain from threads, they wait
        sys.exit(main())
