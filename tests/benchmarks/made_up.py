"""Results that nobody measured, for the tests of what is made of results."""

from typing import Any

ADAPTER = {"name": "Sample (of nothing)", "driver": "driver 1.0", "backend": "Vulkan"}


def results(**measures: Any) -> dict[str, Any]:
    """Return times of three items on five peers, and measures."""
    return {
        "adapter": ADAPTER,
        "date": "2026-01-01",
        "cores": 2,
        "packages": {"numpy": "2.0.0"},
        "missing": {"tinygrad": "it is not installed"},
        "items": {
            "matmul-1024": _row(numpy=10.0, ours=200.0, captured=160.0, tfjs=800.0, limit=152.0),
            "chain-10": _row(numpy=3.0, ours=2.0, tfjs=20.0, limit=1.0),
            "softmax": {**_row(numpy=1.0, tfjs=16.0), "ours": {"error": "it is off"}},
        },
        **measures,
    }


def _row(**times: float) -> dict[str, dict[str, Any]]:
    return {peer: {"ms": ms} for peer, ms in times.items()}
