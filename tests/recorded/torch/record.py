"""Record weights.pt and outputs.npz: layers of PyTorch, and what they give.

Run it with PyTorch installed: ``python tests/recorded/torch/record.py``. The files were written by
PyTorch 2.13.0 on a CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

FOLDER = Path(__file__).parent
CHANNELS_LAST = {3: (0, 2, 1), 4: (0, 2, 3, 1)}


def main() -> None:
    """Write both files."""
    torch.manual_seed(0)
    layers = nn.ModuleDict(
        {
            "dense": nn.Linear(6, 4),
            "conv": nn.Conv2d(4, 6, 3, groups=2),
            "up": nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1),
            "line": nn.Conv1d(3, 5, 3),
            "batch": nn.BatchNorm2d(6),
            "layer": nn.LayerNorm(6),
            "group": nn.GroupNorm(2, 6),
            "rms": nn.RMSNorm(6, eps=1e-6),
            "rows": nn.Embedding(7, 6),
            "lstm": nn.LSTM(3, 5, batch_first=True),
            "gru": nn.GRU(3, 5, batch_first=True),
            "heads": nn.MultiheadAttention(8, 2, batch_first=True),
            "net": nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 2)),
        }
    )
    layers["batch"](torch.randn(8, 6, 4, 4) * 2 + 1)
    layers.eval()
    found: dict[str, Any] = {}

    def record(name: str, x: torch.Tensor, last: bool = False) -> None:
        y = layers[name](x, x, x) if name == "heads" else layers[name](x)
        y = y[0] if isinstance(y, tuple) else y
        for key, value in (("x", x), ("y", y)):
            axes = CHANNELS_LAST[value.ndim] if last else range(value.ndim)
            found[f"{name}_{key}"] = value.permute(*axes).numpy()

    with torch.no_grad():
        for parameter in layers.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        for name in ("dense", "layer", "rms", "net"):
            record(name, torch.randn(2, 6))
        for name in ("conv", "up"):
            record(name, torch.randn(2, 4, 5, 6), last=True)
        record("line", torch.randn(2, 3, 9), last=True)
        for name in ("batch", "group"):
            record(name, torch.randn(2, 6, 3, 3), last=True)
        record("rows", torch.tensor([[1, 6, 0]]))
        for name in ("lstm", "gru"):
            record(name, torch.randn(2, 4, 3))
        record("heads", torch.randn(2, 4, 8))
    torch.save(layers.state_dict(), FOLDER / "weights.pt")
    np.savez(FOLDER / "outputs.npz", **found)


if __name__ == "__main__":
    main()
