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
    functions: Annotated[
        list[str] | None,
        typer.Argument(help="file.py:function without parameters; by default the usual shapes."),
    ] = None,
    only: Annotated[str, typer.Option(help="Only the items whose names contain this.")] = "",
) -> None:
    """Measure which variants of the kernels are fastest on this adapter, and remember them."""
    from wgsl_kernels.cli.tune import tune

    try:
        tune(Console(highlight=False), only, functions or [])
    except WgslKernelsError as error:
        Console(stderr=True, highlight=False, markup=False).print(str(error))
        raise typer.Exit(1) from None


@app.command("show")
def show_program(
    name: Annotated[str, typer.Argument(help="A kernel, or file.py:function without parameters.")],
    shapes: Annotated[
        list[str] | None, typer.Argument(help="Of a kernel's inputs, as 64x32.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of these inputs.")] = "float32",
    config: Annotated[str | None, typer.Option(help="The variant that a kernel runs as.")] = None,
) -> None:
    """Print what runs: the program with its grids and bindings, each line with its origin."""
    from wgsl_kernels.cli.show import show

    try:
        text = show(name, shapes or [], dtype, config)
    except WgslKernelsError as error:
        Console(stderr=True, highlight=False, markup=False).print(str(error))
        raise typer.Exit(1) from None
    typer.echo(text)
