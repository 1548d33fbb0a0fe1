"""The commands, as typer reads them; each hands its work to a module of its own."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from wgsl_kernels.cli.onnx import app as onnx_app
from wgsl_kernels.cli.output import FAILED, console, print_json, telling_errors
from wgsl_kernels.engine.environment.errors import ArgumentError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(onnx_app, name="onnx")
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Attrs = Annotated[
    list[str] | None, typer.Option(help="An attribute of a kernel with given shapes, as axis=1.")
]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"wgsl-kernels {version('wgsl-kernels')}, wgpu {version('wgpu')}")
        raise typer.Exit


@app.callback()
def _describe(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions."),
    ] = False,
) -> None:
    """Tensors and gradients whose kernels are WGSL compute shaders."""


@app.command()
def info(as_json: Json = False) -> None:
    """List the GPU adapters, and say which one would be used and why."""
    from wgsl_kernels.cli.info import adapter_facts, adapter_report

    with telling_errors():
        if as_json:
            print_json(adapter_facts())
        else:
            console().print(adapter_report())


@app.command("kernels")
def list_kernels(
    name: Annotated[str, typer.Argument(help="Only kernels with this in their names.")] = "",
    backend: Annotated[str, typer.Option(help="Only those that this backend has.")] = "",
    missing: Annotated[
        bool, typer.Option(help="Only those that lack a backend, or samples.")
    ] = False,
    module: Annotated[str, typer.Option(help="Import this, and list what it registers.")] = "",
    as_json: Json = False,
) -> None:
    """List kernels: backends, dtypes, gradient, samples, the last check, where they are written."""
    from wgsl_kernels.cli.kernels import ledger, show

    with telling_errors():
        rows = ledger(name, backend, module, missing=missing)
    if as_json:
        print_json(rows)
    else:
        show(console(), rows)


@app.command("new")
def new_kernel(
    name: Annotated[str, typer.Argument(help="The kernel's name, as Swish.")],
    form: Annotated[
        str, typer.Option(help="map, reduce, scan, window, product or free (its own main).")
    ] = "map",
    inputs: Annotated[str, typer.Option(help="Names of the inputs, as x,y.")] = "",
    attr: Annotated[list[str] | None, typer.Option(help="An attribute, as alpha=0.1.")] = None,
    folder: Annotated[Path, typer.Option(help="Where the file goes.")] = Path(),
    overwrite: Annotated[bool, typer.Option(help="Replace a file of that name.")] = False,
) -> None:
    """Write a Python file with a kernel, its gradient and its samples, which passes check as is."""
    from wgsl_kernels.cli.new import wanted, write_kernel

    with telling_errors():
        path = write_kernel(wanted(name, form, inputs, attr or []), folder, overwrite=overwrite)
    typer.echo(f"wrote {path}; next: wgsl-kernels check {path} --watch")


@app.command("check")
def check_kernels(
    targets: Annotated[
        list[str] | None, typer.Argument(help="Python files, shader files, or kernels' names.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every kernel with samples.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this kernel; again for more.")
    ] = None,
    backend: Annotated[list[str] | None, typer.Option(help="Only this backend.")] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(help="Only compiles, portable, right, gradient, safe or fast."),
    ] = None,
    case: Annotated[str, typer.Option(help="Only cases with this in their names.")] = "",
    quick: Annotated[
        bool, typer.Option(help="Only the samples as they stand, as --watch begins.")
    ] = False,
    watch: Annotated[bool, typer.Option(help="Check again at every save.")] = False,
    window: Annotated[
        bool, typer.Option(help="Show the output in a window, and check again at every save.")
    ] = False,
    image: Annotated[
        Path | None, typer.Option(help="A folder for heat maps of outputs that are like images.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Warnings fail, too.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line per check.")] = False,
    form: Annotated[str, typer.Option("--format", help="text, gcc, sarif, json or html.")] = "text",
    as_json: Json = False,
) -> None:
    """Check kernels: do they compile, are they portable, right, safe, fast?"""
    from wgsl_kernels.bench.formats import check_format
    from wgsl_kernels.cli import check

    with telling_errors():
        check_format(form)
        asked = check.asked_for(only, backend, section, case, strict=strict, quick=quick)
        given = targets or []
        target = given[0] if len(given) == 1 else None
        if window:
            from wgsl_kernels.cli.watching import session_of
            from wgsl_kernels.cli.window import open_window

            session = session_of(target, asked)
            open_window(console(), session, session.asked)
            return
        if watch:
            from wgsl_kernels.cli.watching import watch_file

            watch_file(console(), target, asked)
            return
        verdict = check.check_targets(given, asked, everything=everything)
        check.show(console(), verdict, "json" if as_json else form, verbose=verbose)
        if image is not None:
            check.draw(verdict, asked, image, console(error=True))
    check.remember(verdict)
    if not verdict.passed(strict=strict):
        raise typer.Exit(FAILED)


@app.command("prelude")
def print_prelude(
    file: Annotated[Path, typer.Argument(help="A shader file.")],
    whole: Annotated[bool, typer.Option(help="With the file and what it imports.")] = False,
) -> None:
    """Print declarations of the names that a shader file need not declare, for WGSL editors."""
    from wgsl_kernels.cli.prelude import prelude_of

    with telling_errors():
        typer.echo(prelude_of(file, whole=whole), nl=False)


@app.command("lsp")
def serve_editor() -> None:
    """Serve an editor on standard input and output: findings, types, definitions, completion."""
    with telling_errors():
        try:
            from wgsl_kernels.lsp.server import serve
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("lsprotocol", "pygls"):
                raise
            raise ArgumentError('lsp: wants pygls; pip install "wgsl-kernels[lsp]".') from None
        serve()


@app.command("explain")
def explain_call(
    name: Annotated[
        str,
        typer.Argument(help="A kernel, file.py:Kernel, or file.py:function without parameters."),
    ],
    shapes: Annotated[
        list[str] | None, typer.Argument(help="Of a kernel's inputs, as 64x32.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of these inputs.")] = "float32",
    attr: Attrs = None,
    as_json: Json = False,
) -> None:
    """Say what one call does: dispatches, grids, bindings, traffic, what was chosen and why."""
    from wgsl_kernels.cli.explaining import explained, words_of

    with telling_errors():
        found = explained(name, shapes or [], dtype, attr or [])
    if as_json:
        print_json(found)
    else:
        typer.echo(words_of(found))


@app.command("bench")
def bench_kernels(
    names: Annotated[
        list[str], typer.Argument(help="Kernels with samples, file.py, or file.py:Kernel.")
    ],
    compare: Annotated[
        Path | None, typer.Option(help="An earlier run's JSON, to be compared with.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Samples of a kernel, the largest ones.")] = 3,
    as_json: Json = False,
) -> None:
    """Time kernels on both backends, beside each other or an earlier run."""
    from wgsl_kernels.cli import bench

    with telling_errors():
        rows = bench.bench_rows(names, most)
        if compare is not None:
            rows = bench.compared(rows, compare)
    if as_json:
        print_json(rows)
    else:
        bench.show(console(), rows)


@app.command("parity")
def check_parity(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Python files with kernels of one's own; or certificates to be merged.",
            show_default=False,
        ),
    ] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="On each adapter.")] = False,
    cluster: Annotated[
        str, typer.Option(help="On each worker of this Dask scheduler, as tcp://127.0.0.1:8786.")
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option(help="Only this kernel; again for more.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Run again what this file certifies, and compare.")
    ] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Make a table of the files.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="A file for the certificates, as JSON; .md: as a page.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Certify how far kernels are from float64, here or on a cluster; compare certificates."""
    from wgsl_kernels.bench.parity.matrix import matrix_table
    from wgsl_kernels.cli import parity

    with telling_errors():
        scripts = tuple([] if merge else [one for one in files or [] if one.suffix == ".py"])
        wanted = parity.Request(tuple(only or ()), everywhere, cluster, verify, out, scripts)
        wanted.check([one for one in files or [] if one not in scripts], merge=merge)
        found = parity.merged(files or []) if merge else parity.run(wanted, console(error=True))
        if out is not None:
            parity.write(found.report, out)
    if as_json:
        typer.echo(found.report.to_json(), nl=False)
    elif merge:
        typer.echo(matrix_table(found.report.records))
    elif verify is None:
        parity.show(console(), found.report)
    parity.show_differences(console(error=as_json or merge), found)
    if not found.passed:
        raise typer.Exit(FAILED)


@app.command("tune")
def tune_kernels(
    functions: Annotated[
        list[str] | None,
        typer.Argument(
            help="Kernels, file.py:Kernel, or file.py:function without parameters; "
            "by default the usual shapes."
        ),
    ] = None,
    only: Annotated[str, typer.Option(help="Only the items whose names contain this.")] = "",
    as_json: Json = False,
) -> None:
    """Measure which variants of the kernels are fastest on this adapter, and remember them."""
    from wgsl_kernels.cli import tune

    with telling_errors():
        found = tune.tune(console(error=as_json), only, functions or [])
        if as_json:
            print_json(found.to_dict())
        else:
            tune.show(console(), found)


@app.command("show")
def show_program(
    name: Annotated[
        str,
        typer.Argument(
            help="A kernel, a shader file, file.py:Kernel, or file.py:function without parameters."
        ),
    ],
    shapes: Annotated[
        list[str] | None, typer.Argument(help="Of a kernel's inputs, as 64x32.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of these inputs.")] = "float32",
    attr: Attrs = None,
    config: Annotated[str | None, typer.Option(help="The variant that a kernel runs as.")] = None,
    gradient: Annotated[
        str | None, typer.Option(help="An input: print the gradient by it that a map's text gives.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what runs: the program with its grids and bindings, each line with its origin."""
    from wgsl_kernels.cli.show import gradient_of, lines_of, shown

    if gradient is not None:
        with telling_errors():
            text = gradient_of(name, gradient)
        if as_json:
            print_json({"name": name, "gradient": gradient, "text": text})
        else:
            typer.echo(text)
        return
    with telling_errors():
        seen = shown(name, shapes or [], dtype, config, attr or [])
    if as_json:
        print_json({"name": name, "dispatches": lines_of(seen)})
    else:
        typer.echo(seen.show())


@app.command("step")
def step_through(
    target: Annotated[
        str, typer.Argument(help="A Python file, a shader file, file.py:Kernel, or a kernel.")
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(help="The kernel of a Python file; shapes of its inputs, as 64x32."),
    ] = None,
    at: Annotated[
        str, typer.Option(help="The element of a result, as y[3,5]; by default a wrong one.")
    ] = "",
    invocation: Annotated[
        str, typer.Option(help="The invocation instead, as x,y,z; with --workgroup within that.")
    ] = "",
    workgroup: Annotated[str, typer.Option(help="The workgroup, as x,y,z.")] = "",
    dispatch: Annotated[
        int | None, typer.Option(min=1, help="Which dispatch of the call; by default the last.")
    ] = None,
    case: Annotated[str, typer.Option(help="The case of a sample with this in its name.")] = "",
    dtype: Annotated[str, typer.Option(help="Of inputs of the given shapes.")] = "float32",
    attr: Attrs = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With all rounds, and the package's own loops.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print the steps, in a terminal too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Step through one invocation of a kernel, line by line, float32 beside float64."""
    from wgsl_kernels.cli.step import asked_for, traced
    from wgsl_kernels.cli.stepping import browse
    from wgsl_kernels.testing.stepping.text import text_of

    with telling_errors():
        wanted = asked_for(at, invocation, workgroup, dispatch)
        trace = traced(target, more or [], dtype, case, wanted, attr or [])
    to = console()
    if as_json:
        print_json(trace.to_dict())
    elif plain or not (to.is_terminal and sys.stdin.isatty()):
        typer.echo(text_of(trace, whole=whole))
    else:
        browse(to, trace, whole=whole)
