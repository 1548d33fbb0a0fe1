"""The commands, as typer reads them; each hands its work to a module of its own."""

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
