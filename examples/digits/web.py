"""Train the network and write a page on which one draws a digit and sees it recognised."""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

import wgsl_kernels as wk
from data import Digits, load
from training import Settings, train

PAGE = Path(__file__).with_name("draw.html")
EPOCHS = 12


def recogniser(digits: Digits, epochs: int) -> Callable[[wk.Tensor], dict[str, wk.Tensor]]:
    """Return a function of counts from 0 to 16, [count, 8, 8, 1], trained on ``cpu``."""
    run = train("cpu", digits, Settings(epochs, 32, seed=1), lambda loss: None)
    print(f"{run.accuracy:.2%} of the held-out digits are right")

    def recognise(counts: wk.Tensor) -> dict[str, wk.Tensor]:
        logits = run.network((counts - digits.center) / digits.spread)
        return {"logits": logits, "probabilities": wk.softmax(logits)}

    return recognise


def main() -> None:
    """Train, export, and say where the page is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="how often each image is seen")
    parser.add_argument("--output", type=Path, default=Path("build/demo-web"))
    parser.add_argument("--serve", action="store_true", help="serve it until Ctrl-C")
    options = parser.parse_args()
    recognise = recogniser(load(0), options.epochs)
    counts = np.zeros((1, 8, 8, 1), np.float32)
    wk.web.export(recognise, options.output / "digits", {"counts": counts})
    shutil.copy(PAGE, options.output / "index.html")
    if not options.serve:
        print(f"page: {options.output / 'index.html'}; make demo-web SERVE=1 serves it")
        return
    with wk.web.serve(options.output, open=False) as server:
        print(f"page: {server.url} until Ctrl-C", flush=True)
        try:
            server.wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
