"""The commands ``wgsl-kernels onnx …``: models from ONNX run, listed, compared and covered."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wgsl_kernels.cli.output import FAILED, console, print_json, telling_errors
from wgsl_kernels.engine.drivers.backends import set_backend
from wgsl_kernels.engine.environment.origin import called_by

app = typer.Typer(no_args_is_help=True, help="Models from ONNX: run, show, compare backends.")
File = Annotated[Path, typer.Argument(help="A model of ONNX.", exists=True, dir_okay=False)]
Inputs = Annotated[
    Path | None,
    typer.Option(
        "--input",
        help="An .npz file of the inputs by name; else they are drawn.",
        exists=True,
        dir_okay=False,
    ),
]
On = Annotated[str, typer.Option(help="cpu or webgpu; else the default.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@app.command("run")
def run_model(
    model: File,
    inputs: Inputs = None,
    out: Annotated[Path | None, typer.Option(help="An .npz file for the outputs.")] = None,
    backend: On = "",
) -> None:
    """Run a model; print a summary of each output, and write them."""
    import numpy as np

    from wgsl_kernels.cli import models
    from wgsl_kernels.onnx import load

    with telling_errors(), called_by("the command line"):
        if backend:
            set_backend(backend)
        if out is not None:
            models.check_out(out)
        loaded = load(model)
        found = models.outputs_of(loaded, models.inputs_of(loaded, inputs))
        if out is not None:
            np.savez(out, **found)
    models.show_outputs(console(), found)


@app.command("show")
def show_model(model: File, inputs: Inputs = None, backend: On = "", as_json: Json = False) -> None:
    """List a model's nodes: shapes, milliseconds; parameters, dispatches, what load folded."""
    from wgsl_kernels.cli import models
    from wgsl_kernels.onnx import load

    with telling_errors(), called_by("the command line"):
        if backend:
            set_backend(backend)
        loaded = load(model)
        facts = models.facts_of(loaded, models.inputs_of(loaded, inputs))
    if as_json:
        print_json(facts)
    else:
        models.show_facts(console(), facts)


@app.command("parity")
def compare_backends(model: File, inputs: Inputs = None, as_json: Json = False) -> None:
    """Compare backends node by node; name the first node whose outputs differ."""
    from wgsl_kernels.cli import models
    from wgsl_kernels.onnx import load

    with telling_errors(), called_by("the command line"):
        loaded = load(model)
        rows = models.differences_of(loaded, models.inputs_of(loaded, inputs))
    if as_json:
        print_json([asdict(one) for one in rows])
        passed = all(one.error <= models.TOLERANCE for one in rows)
    else:
        passed = models.show_differences(console(), rows)
    if not passed:
        raise typer.Exit(FAILED)


@app.command("coverage")
def list_operators(
    model: Annotated[
        Path | None,
        typer.Argument(help="A model; by default all of ONNX.", exists=True, dir_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """List operators and how each is computed; fail where a model has one that is not known."""
    from wgsl_kernels.cli import models
    from wgsl_kernels.onnx import coverage

    with telling_errors():
        rows = coverage(model)
    if as_json:
        print_json([asdict(one) for one in rows])
    else:
        models.show_coverage(console(), rows)
    if model is not None and not all(one.how for one in rows):
        raise typer.Exit(FAILED)
