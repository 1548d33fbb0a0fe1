"""The commands, as typer reads them; each hands its work to a module of its own."""

from typing import Annotated

import typer
from rich.console import Console

from wgsl_kernels.cli.info import adapter_report
from wgsl_kernels.engine.errors import WgslKernelsError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _describe() -> None:
    """Tensors and gradients whose kernels are WGSL compute shaders."""


@app.command()
def info() -> None:
    """List the GPU adapters, and say which one would be used and why."""
    try:
        report = adapter_report()
    except WgslKernelsError as error:
        Console(stderr=True, highlight=False, markup=False).print(str(error))
        raise typer.Exit(1) from None
    Console(highlight=False).print(report)


@app.command("tune")
def tune_kernels(
    only: Annotated[str, typer.Option(help="Only the items whose names contain this.")] = "",
) -> None:
    """Measure which variants of the kernels are fastest on this adapter, and remember them."""
    from wgsl_kernels.cli.tune import tune

    try:
        tune(Console(highlight=False), only)
    except WgslKernelsError as error:
        Console(stderr=True, highlight=False, markup=False).print(str(error))
        raise typer.Exit(1) from None
