"""The names of ops: what is written from them, and TensorFlow.js's and NumPy's among them.

That TensorFlow.js's are complete is held against the recorded ones where that folder is present.
"""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.public_names import all_public, snake_case
from wgsl_kernels.ops.names.methods import methods
from wgsl_kernels.ops.names.names import NOT_OURS, aliases, public_names, tfjs_names

WRITER = Path(__file__).resolve().parents[1] / "scripts" / "write_names.py"
RECORDED = Path(__file__).resolve().parents[2] / "shared/tfjs-golden/op_signatures.json"


def test_what_is_written_from_the_names_is_what_ops_say() -> None:
    written: dict[Path, str] = runpy.run_path(str(WRITER))["written"]()
    old = [str(file) for file, text in written.items() if file.read_text("utf-8") != text]

    assert old == [], "run `python scripts/write_names.py`"


def test_advice_goes_when_the_op_is_there(tmp_path: Path) -> None:
    """What errors say for want of a function or method is dropped where there is one."""
    writer = runpy.run_path(str(WRITER))
    file = writer["PACKAGE"] / "ops/names/foreign_names.py"
    text = file.read_text("utf-8")
    stale = tmp_path / "foreign_names.py"
    stale.write_text(
        re.sub("^(FUNCTIONS|METHODS) = {\n", r'\g<0>    "exp": "2.7**x",\n', text, flags=re.M)
    )

    assert stale.read_text().count('"exp": "2.7**x"') == 2
    assert writer["_advice"](writer["ops"](), stale) == text


def test_methods_are_the_ops_themselves() -> None:
    assert [name for name, op in methods().items() if getattr(wk.Tensor, name) is not op] == []


def test_numpy_has_what_ops_say_that_it_calls_them() -> None:
    names = [name for one in all_public().values() for name in one.numpy]

    assert [name for name in names if not callable(getattr(np, name, None))] == []


@pytest.mark.parametrize("kind", ["numpy", "scipy", "tfjs", "operators", "methods"])
def test_no_name_means_two_ops(kind: str) -> None:
    names = [name for one in all_public().values() for name in getattr(one, kind)]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_name_is_both_ours_and_not() -> None:
    assert tfjs_names().keys() & NOT_OURS.keys() == set()


@pytest.mark.parametrize(("theirs", "ours"), tfjs_names().items())
def test_each_name_in_the_table_is_public(theirs: str, ours: str) -> None:
    assert callable(attrgetter(ours)(wk)), theirs


@pytest.mark.parametrize(("alias", "ours"), aliases().items())
def test_their_name_works_as_well(alias: str, ours: str) -> None:
    assert getattr(wk, alias) is attrgetter(ours)(wk)


def test_of_names_that_end_alike_one_counts_whichever_module_was_loaded_first() -> None:
    names = public_names()

    assert [names["mat_mul"], names["conv2d"], names["fft"]] == ["matmul", "fused_conv2d", "fft"]
    assert {name: names[name] for name in aliases()} == aliases()


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

        assert paths - tfjs_names().keys() - NOT_OURS.keys() == set()
