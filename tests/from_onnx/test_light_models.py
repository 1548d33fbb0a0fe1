"""One light model of ONNX with drawn weights; `light_models` compares and records all."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.from_onnx import light_models
from tests.from_onnx.graphs import peer

import wgsl_kernels as wk

SMALL = "squeezenet"


@pytest.mark.parametrize("backend", light_models.BACKENDS)
def test_a_light_model_gives_the_logits_of_onnx_runtime(backend: str) -> None:
    proto = light_models.seeded(SMALL)
    given = light_models.image(proto)
    with wk.use_backend(backend):
        model = wk.onnx.load(proto)
        found = model(**given).numpy()

    (want,) = peer(proto.SerializeToString(), given)
    assert light_models.off(found, want) <= light_models.WITHIN
    assert {node.op for node in model.nodes} == {
        "Concat", "Conv", "Dropout", "GlobalAveragePool", "MaxPool",
    }  # fmt: skip


def test_logits_that_are_one_number_prove_nothing() -> None:
    same = np.full((1, 1000), 0.5, np.float32)

    assert light_models.off(same, same) == np.inf


def test_all_light_models_are_recorded_and_within_what_is_wanted() -> None:
    recorded = json.loads(light_models.RECORDED.read_text(encoding="utf-8"))

    assert sorted(recorded) == light_models.NAMES
    worst = {name: max(row["off"].values()) for name, row in recorded.items()}
    assert {name: one for name, one in worst.items() if not one <= light_models.WITHIN} == {}
    times = [row["times"]["processor"] for row in recorded.values()]
    assert max(times) <= 12
    assert sum(times) / len(times) <= 6
