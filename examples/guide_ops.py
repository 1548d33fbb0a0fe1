"""The ways to extend the library, in turn: ops of ops, kernels, gradients, custom_grad."""

import argparse
from collections.abc import Callable

import numpy as np

import wgsl_kernels as wk

# 1. An op composed of existing ops: no kernel of its own, and its gradient comes by itself.


def moving_average(
    v: wk.Tensor,
    x: wk.Tensor,
    decay: float,
    step: int | None = None,
    *,
    zero_debias: bool = True,
) -> wk.Tensor:
    """Return v moved towards x: v + (1 - decay) · (x - v).

    Args:
        v: The average so far.
        x: What was seen now.
        decay: How much of the old average stays; in [0, 1].
        step: How many values were seen, this one included.
        zero_debias: Whether, where a step is given, the update is divided by 1 - decay^step, which
            takes away the pull towards the zero that the average began with.
    """
    update = (x - v) * (1.0 - decay)
    if zero_debias and step is not None:
        update = update / (1.0 - decay**step)
    return v + update


# 2. An op that runs a kernel by name, on whichever backend is in force.


def square_root(x: wk.Tensor) -> wk.Tensor:
    """Return the square root, by the kernel that the library has for it."""
    return wk.engine().run_kernel("Sqrt", {"x": x})


# 3. A kernel, registered for one backend and then, under the same name, for the other.


@wk.signature("MySquare")
def _my_square_signature(x: wk.Spec, /) -> wk.Spec:
    return x.like()


def _my_square_cpu(x: np.ndarray) -> np.ndarray:
    y: np.ndarray = x * x
    return y


wk.register_kernel("MySquare", "cpu", _my_square_cpu)
wk.wgsl_kernel("MySquare", "// y = x^2\nfn op(x: T) -> T { return x * x; }")


def my_square(x: wk.Tensor) -> wk.Tensor:
    """Return x², by the kernels above."""
    return wk.engine().run_kernel("MySquare", {"x": x})


# 4. A gradient for that kernel. It is made of ops, so it serves both backends.


def _my_square_grad(dy: wk.Tensor, x: wk.Tensor) -> wk.Tensor:
    return dy * (x + x)


wk.register_gradient("MySquare", _my_square_grad)


def clipped_square_grad(dy: wk.Tensor, x: wk.Tensor) -> wk.Tensor:
    """Another way to differentiate the square: never steeper than 1."""
    return dy * wk.clip(x + x, -1.0, 1.0)


# 5. A function with a gradient of its own, past the registry.

Save = Callable[[list[wk.Tensor]], None]
Backward = Callable[[wk.Tensor, list[wk.Tensor]], tuple[wk.Tensor, wk.Tensor]]


@wk.custom_grad
def cross_entropy(labels: wk.Tensor, logits: wk.Tensor, save: Save) -> tuple[wk.Tensor, Backward]:
    """Return the cross-entropy of ``labels``, whose rows sum to 1, with softmax(``logits``).

    softmax(logits) - labels is exact and cheap; a rule for each op on the way is neither.
    """
    save([labels, logits])

    def backward(dy: wk.Tensor, saved: list[wk.Tensor]) -> tuple[wk.Tensor, wk.Tensor]:
        labels, logits = saved
        dy = wk.expand_dims(dy, axis=-1)
        return dy * -wk.log_softmax(logits), dy * (wk.softmax(logits) - labels)

    return -wk.sum(labels * wk.log_softmax(logits), axis=-1), backward


def main() -> None:
    """Show each at work."""
    average = wk.tensor([0.0, 0.0])
    for step, seen in enumerate(([1.0, 4.0], [3.0, 4.0], [2.0, 4.0]), start=1):
        average = moving_average(average, wk.tensor(seen), decay=0.9, step=step)
    print("moving average  ", average.numpy())

    print("square root     ", square_root(wk.tensor([1.0, 2.0, 9.0])).numpy())

    x = wk.tensor([-2.0, 0.25, 3.0])
    slope = wk.grad(my_square)
    print("square          ", my_square(x).numpy())
    print("its gradient    ", slope(x).numpy())
    with wk.override_gradient("MySquare", clipped_square_grad):  # for this block and thread
        print("  in a block    ", slope(x).numpy())
    print("  after it      ", slope(x).numpy())
    wk.register_gradient("MySquare", clipped_square_grad, override=True)  # for everybody
    print("  replaced      ", slope(x).numpy())
    wk.register_gradient("MySquare", _my_square_grad, override=True)
    print("  restored      ", slope(x).numpy())

    labels = wk.tensor([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    logits = wk.tensor([[1.0, 3.0, 0.5], [100.0, -100.0, 100.0]])
    print("cross-entropy   ", cross_entropy(labels, logits).numpy())
    print("gradient for the logits", *wk.grads(cross_entropy)(labels, logits)[1].numpy())
    print("its error       ", wk.testing.compute_gradient_error(cross_entropy, [labels, logits]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    wk.set_backend(parser.parse_args().backend)
    main()
