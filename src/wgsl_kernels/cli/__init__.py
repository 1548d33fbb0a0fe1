"""The command line, ``wgsl-kernels``; typer and rich load when it runs, never on import."""


def main() -> None:
    """Run the command line on ``sys.argv`` and exit the process."""
    from wgsl_kernels.cli.app import app

    app(prog_name="wgsl-kernels")
