"""Trains the networks of this folder: all, or those that are named, each with its steps.

For instance ``python examples/networks/run.py vae gru=50 --backend webgpu``.
"""

import argparse
import importlib

import wgsl_kernels as wk

NAMES = ("vae", "gru", "resnet", "kvcache", "pinn", "node", "reinforce", "deblur")


def main() -> None:
    """Train them one after the other, each from the same random numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NAMES, metavar="NAME[=STEPS]")
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    given = parser.parse_args()
    wk.set_backend(given.backend)
    for one in given.networks:
        name, _, steps = one.partition("=")
        if name not in NAMES:
            parser.error(f"{name!r} is no network; want some of {', '.join(NAMES)}.")
        print(f"{name}:")
        wk.random.seed(0)
        importlib.import_module(name).main(*[int(steps)] if steps else [])


if __name__ == "__main__":
    main()
