"""The ledger: complete against what was recorded of TensorFlow.js, and true of what is public."""

import json
from operator import attrgetter
from pathlib import Path

import wgsl_kernels as wk
from wgsl_kernels.ops.names.standards import ARRAY_API, REASONS, TFJS_KERNELS

RECORDED = Path(__file__).resolve().parents[2] / "shared/tfjs-golden/kernel_signatures.json"
ROWS = wk.ledger()


def _ours(standard: str) -> dict[str, str]:
    return {row.name: row.ours for row in ROWS if row.standard == standard}


def test_the_ledger_names_nothing_twice_and_all_of_both_standards() -> None:
    keys = [(row.standard, row.name) for row in ROWS]

    assert len(keys) == len(set(keys))
    assert len(_ours("TensorFlow.js kernel")) == 180
    assert len(ARRAY_API["linalg"]) == 23
    assert len(ARRAY_API["fft"]) == 14


def test_the_ledger_knows_what_is_here() -> None:
    assert _ours("TensorFlow.js kernel")["Add"] == "Add"
    assert _ours("TensorFlow.js op")["argMax"] == "argmax"
    assert _ours("array API")["permute_dims"] == "permute_dims"
    assert all(
        callable(attrgetter(name)(wk)) for name in _ours("TensorFlow.js op").values() if name
    )


def test_a_kernel_that_is_missing_has_a_row_without_backends() -> None:
    rows = {row.name: row for row in wk.coverage()}
    missing = [name for name, ours in _ours("TensorFlow.js kernel").items() if not ours]

    assert set(TFJS_KERNELS) <= set(rows)
    assert [name for name in missing if rows[name].backends or rows[name].origin] == []


def test_what_has_a_reason_is_not_here() -> None:
    assert [name for name in REASONS if _ours("array API")[name]] == []


if RECORDED.exists():

    def test_every_kernel_of_tensorflow_js_is_in_the_ledger() -> None:
        names = json.loads(RECORDED.read_text(encoding="utf-8"))

        assert sorted(names) == sorted(TFJS_KERNELS)
