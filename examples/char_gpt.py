"""A transformer learns to write a text, letter by letter: two layers, one step captured.

By default the text is the licence of this project. The picture shows the loss, what each head of
the first layer looks at, and what the network writes.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import wgsl_kernels as wk

WIDTH, HEADS, LAYERS, CONTEXT = 64, 4, 2, 48
TEMPERATURE = 0.5
LICENCE = Path(__file__).resolve().parents[1] / "LICENSE"
PROMPT = "subject to the"


@dataclass
class Block:
    """A layer of the transformer: attention to the letters before, then two dense layers."""

    norms: tuple[wk.nn.LayerNorm, wk.nn.LayerNorm]
    attention: wk.nn.MultiHeadAttention
    dense: wk.nn.Sequential

    def __call__(self, x: wk.Tensor) -> wk.Tensor:
        """Return [batch, length, width] with what each letter has drawn from those before it."""
        x = x + self.attention(self.norms[0](x), causal=True)
        return x + self.dense(self.norms[1](x))


@dataclass
class Letters:
    """Vectors of letters, by what they are and where they are."""

    letters: wk.nn.Embedding
    places: wk.nn.Embedding

    def __call__(self, text: wk.Tensor) -> wk.Tensor:
        """Return [batch, length, width] of [batch, length]."""
        return self.letters(text) + self.places(wk.arange(text.shape[1]))


def new_block() -> Block:
    """Return a block whose weights are drawn."""
    dense = wk.nn.sequential(wk.nn.dense(WIDTH, 4 * WIDTH), wk.relu, wk.nn.dense(4 * WIDTH, WIDTH))
    norms = wk.nn.layer_norm(WIDTH), wk.nn.layer_norm(WIDTH)
    return Block(norms, wk.nn.multi_head_attention(WIDTH, HEADS), dense)


def new_model(letters: int) -> wk.nn.Sequential:
    """Return the transformer: [batch, length] to a score per letter, [batch, length, letters]."""
    return wk.nn.sequential(
        Letters(wk.nn.embedding(letters, WIDTH), wk.nn.embedding(CONTEXT, WIDTH)),
        *(new_block() for _ in range(LAYERS)),
        wk.nn.layer_norm(WIDTH),
        wk.nn.dense(WIDTH, letters),
    )


def attended(model: wk.nn.Sequential, text: wk.Tensor) -> wk.Tensor:
    """Return how much of each letter the first block's heads draw: [heads, length, length]."""
    block = model[1]
    x = block.norms[0](model[0](text[wk.newaxis]))[0]
    q, k = (
        layer(x).reshape(-1, HEADS, WIDTH // HEADS).transpose(1, 0, 2)
        for layer in (block.attention.query, block.attention.key)
    )
    scores = q @ k.mT / (WIDTH // HEADS) ** 0.5
    return wk.softmax(wk.where(wk.tril(wk.ones(scores.shape)) > 0, scores, -wk.inf))


def learn(model: wk.nn.Sequential, text: np.ndarray, steps: int, batch: int) -> list[float]:
    """Train on windows of the text, and return the loss of each step."""
    schedule = wk.train.LinearWarmup(20, wk.train.CosineDecay(1e-2, steps))
    adam = wk.train.AdamW(learning_rate=schedule)

    @wk.capture
    def step(window: wk.Tensor) -> wk.Tensor:
        def loss() -> wk.Tensor:
            return wk.sparse_softmax_cross_entropy(window[:, 1:], model(window[:, :-1]))

        return adam.minimize(loss, model)

    windows = sliding_window_view(text, CONTEXT + 1)
    data = wk.data.batches(windows, None, batch, shuffle=True, drop_last=True)
    losses: list[float] = []
    for window in data.steps(steps):
        losses.append(step(window).item())
        if len(losses) % 25 == 0:
            print(f"step {len(losses):4}  loss {np.mean(losses[-25:]):.5f}")
    return losses


def write(model: wk.nn.Sequential, prompt: list[int], length: int) -> list[int]:
    """Return the prompt and letters drawn from what the network expects to follow."""
    text = list(prompt)
    for _ in range(length):
        seen = text[-CONTEXT:]
        padded = seen + [0] * (CONTEXT - len(seen))  # one shape, so that nothing compiles anew
        scores = model(wk.tensor([padded]))[0, len(seen) - 1]
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
        seen = attended(model, wk.tensor(prompt)).numpy()
        draw(given.output, losses, seen, given.prompt, written)
        print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
