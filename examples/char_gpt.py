"""A transformer learns to write a text, letter by letter: two layers, one step captured.

By default the text is the licence of this project. The picture shows the loss, what each head of
the first layer looks at, and what the network writes.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import wgsl_kernels as wk

WIDTH, HEADS, LAYERS, CONTEXT = 64, 4, 2, 48
TEMPERATURE = 0.5
LICENCE = Path(__file__).resolve().parents[1] / "LICENSE"
PROMPT = "subject to the"

Part = dict[str, Any]
"""Variables of the network, by name."""


def linear(inputs: int, outputs: int) -> dict[str, wk.Tensor]:
    """Return the parameters of an affine layer: small weights, no bias yet."""
    w = wk.random_normal((inputs, outputs)) * (1.0 / inputs) ** 0.5
    return {"w": wk.variable(w), "b": wk.variable(wk.zeros(outputs))}


def new_model(letters: int) -> Part:
    """Return the parameters of the transformer."""
    blocks = [
        {
            "attend": linear(WIDTH, 3 * WIDTH),
            "project": linear(WIDTH, WIDTH),
            "widen": linear(WIDTH, 4 * WIDTH),
            "narrow": linear(4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    letter = wk.variable(wk.random_normal((letters, WIDTH)) * 0.1)
    place = wk.variable(wk.random_normal((CONTEXT, WIDTH)) * 0.1)
    return {"letter": letter, "place": place, "blocks": blocks, "out": linear(WIDTH, letters)}


def apply(layer: dict[str, wk.Tensor], x: wk.Tensor) -> wk.Tensor:
    """Return the affine layer of x: [..., inputs] to [..., outputs]."""
    return x @ layer["w"] + layer["b"]


def heads_of(x: wk.Tensor) -> wk.Tensor:
    """Return [batch, length, width] as [batch, heads, length, width / heads]."""
    batch, length, width = x.shape
    return wk.permute_dims(x.reshape(batch, length, HEADS, width // HEADS), (0, 2, 1, 3))


def attention(block: Part, x: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    """Return what each letter has seen of those before it, and how much of each."""
    batch, length, _ = x.shape
    q, k, v = (heads_of(part) for part in wk.split(apply(block["attend"], x), 3, axis=-1))
    scores = q @ k.mT / (WIDTH // HEADS) ** 0.5
    past = wk.tril(wk.ones((length, length))) > 0.0
    seen = wk.softmax(wk.where(past, scores, -1e9))
    y = wk.permute_dims(seen @ v, (0, 2, 1, 3)).reshape(batch, length, WIDTH)
    return apply(block["project"], y), seen


def logits(model: Part, text: wk.Tensor) -> wk.Tensor:
    """Return a score per place and letter: [batch, length] to [batch, length, letters]."""
    x = wk.take(model["letter"], text) + model["place"][: text.shape[1]]
    for block in model["blocks"]:
        x = x + attention(block, wk.layer_norm(x))[0]
        x = x + apply(block["narrow"], wk.relu(apply(block["widen"], wk.layer_norm(x))))
    return apply(model["out"], wk.layer_norm(x))


def loss_of(model: Part, text: wk.Tensor) -> wk.Tensor:
    """Return the mean surprise at the next letter, in nats; text: [batch, context + 1]."""
    scores = logits(model, text[:, :-1])
    picked = wk.one_hot(text[:, 1:], scores.shape[-1]) * wk.log_softmax(scores)
    return -picked.sum(-1).mean()


def learn(model: Part, text: np.ndarray, steps: int, batch: int) -> list[float]:
    """Train on windows of the text, and return the loss of each step."""
    schedule = wk.train.LinearWarmup(20, wk.train.CosineDecay(1e-2, steps))
    adam = wk.train.AdamW(learning_rate=schedule)

    @wk.capture
    def step(window: wk.Tensor) -> wk.Tensor:
        return adam.minimize(lambda: loss_of(model, window))

    draw = np.random.default_rng(0)
    losses = []
    for number in range(1, steps + 1):
        starts = draw.integers(0, len(text) - CONTEXT - 1, batch)
        windows = text[starts[:, None] + np.arange(CONTEXT + 1)]
        losses.append(step(wk.tensor(windows)).item())
        if number % 25 == 0:
            print(f"step {number:4}  loss {np.mean(losses[-25:]):.5f}")
    return losses


def write(model: Part, prompt: list[int], length: int) -> list[int]:
    """Return the prompt and letters drawn from what the network expects to follow."""
    text = list(prompt)
    for _ in range(length):
        seen = text[-CONTEXT:]
        padded = seen + [0] * (CONTEXT - len(seen))  # one shape, so that nothing compiles anew
        scores = logits(model, wk.tensor([padded]))[0, len(seen) - 1]
        text.append(wk.random.categorical(scores / TEMPERATURE).item())
    return text


def draw(path: Path, losses: list[float], seen: np.ndarray, prompt: str, written: str) -> None:
    """Draw the loss, the attention of each head over the prompt, and the text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=(3, 2))
    curve, *maps = rows[0].subplots(1, 1 + len(seen), width_ratios=(2.5, *[1] * len(seen)))
    curve.plot(losses, color="tab:blue", linewidth=1)
    curve.set(xlabel="step", ylabel="loss, nats a letter", title="learning")
    for head, panel in enumerate(maps):
        panel.imshow(seen[head, : len(prompt), : len(prompt)], cmap="magma")
        panel.set(title=f"head {head + 1}", xticks=range(len(prompt)), yticks=range(len(prompt)))
        panel.set_xticklabels(prompt, fontsize=5)
        panel.set_yticklabels(prompt, fontsize=5)
    lines = "\n".join(written[i : i + 78] for i in range(0, len(written), 78))
    rows[1].text(0.03, 0.92, lines, family="monospace", va="top", fontsize=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Learn the text, write some of it, and draw both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    parser.add_argument("--text", type=Path, default=LICENCE, help="what to learn")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=220, help="letters to write")
    parser.add_argument("--output", type=Path, help="where the picture is written")
    given = parser.parse_args()
    wk.set_backend(given.backend)
    wk.random.seed(0)

    text = " ".join(given.text.read_text(encoding="utf-8").split())
    letters = sorted(set(text) | set(given.prompt))
    numbers = {letter: number for number, letter in enumerate(letters)}
    model = new_model(len(letters))
    encoded = np.array([numbers[one] for one in text], np.int32)
    losses = learn(model, encoded, given.steps, given.batch)
    prompt = [numbers[one] for one in given.prompt]
    written = "".join(letters[number] for number in write(model, prompt, given.length))
    print(f"wrote: {written}")
    if given.output is not None:
        x = wk.take(model["letter"], wk.tensor([prompt])) + model["place"][: len(prompt)]
        seen = attention(model["blocks"][0], wk.layer_norm(x))[1]
        draw(given.output, losses, seen.numpy()[0], given.prompt, written)
        print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
