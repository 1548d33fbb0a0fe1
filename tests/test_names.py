"""The table of TensorFlow.js's names: complete, and true of what is public.

Completeness is held against the recorded names where that folder is present.
"""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path

import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.names.names import NOT_OURS, TFJS_NAMES, aliases, snake_case

RECORDED = Path(__file__).resolve().parents[2] / "shared/tfjs-golden/op_signatures.json"


def test_no_name_is_both_ours_and_not() -> None:
    assert TFJS_NAMES.keys() & NOT_OURS.keys() == set()


@pytest.mark.parametrize(("theirs", "ours"), TFJS_NAMES.items())
def test_each_name_in_the_table_is_public(theirs: str, ours: str) -> None:
    assert callable(attrgetter(ours)(wk)), theirs


@pytest.mark.parametrize(("alias", "ours"), aliases().items())
def test_their_name_works_as_well(alias: str, ours: str) -> None:
    assert getattr(wk, alias) is attrgetter(ours)(wk)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("addN", "add_n"), ("isNaN", "is_nan"), ("basicLSTMCell", "basic_lstm_cell")],
)
def test_a_name_is_written_as_python_writes_it(theirs: str, ours: str) -> None:
    assert snake_case(theirs) == ours


if RECORDED.exists():

    def test_every_op_of_tensorflow_js_is_in_the_table() -> None:
        ops = json.loads(RECORDED.read_text(encoding="utf-8"))
        paths = {
            path.removeprefix("tf.") for name, op in ops.items() for path in op["public"] or [name]
        }

        assert paths - TFJS_NAMES.keys() - NOT_OURS.keys() == set()
