"""Certificates of parity: what they say, where they differ, and the matrix that they make."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.testing.commands import run

import wgsl_kernels as wk
from wgsl_kernels.bench.parity import certify as certifying
from wgsl_kernels.bench.parity.certificates import (
    Certificate,
    Machine,
    ParityRecord,
    from_json,
    lost,
    read_records,
    to_json,
)
from wgsl_kernels.bench.parity.certify import certify
from wgsl_kernels.bench.parity.differences import differences, joined
from wgsl_kernels.bench.parity.matrix import matrix_page, matrix_table
from wgsl_kernels.testing import Sample, add_samples
from wgsl_kernels.testing.report import Row
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "benchmarks/results/parity").glob("*.json"))

HERE = Machine("GPU (1)", "Vulkan", "Driver 1", "Linux x86_64", "adapter", "0.1.0", "0.32", "2.4")
THERE = replace(HERE, adapter="Other GPU", backend="Metal")
EXP = Certificate("Exp", "float32", "forward", samples=2, ulp=0.75, used=0.25)
SIN = Certificate("Sin", "float32", "gradient", samples=1, ulp=3.0, used=0.5)
HALF = replace(EXP, dtype="float16")

pytestmark = pytest.mark.usefixtures("as_before")


def record(*certificates: Certificate, machine: Machine = HERE) -> ParityRecord:
    return ParityRecord(machine, "2026-11-26", certificates)


def kept(folder: Path, name: str, *records: ParityRecord) -> Path:
    file = folder / name
    file.write_text(to_json(records))
    return file


def test_records_come_back_from_json_as_they_were() -> None:
    records = (record(EXP, lost("Sin", "the worker died")), record(SIN, machine=THERE))

    text = to_json(records)

    assert from_json(text) == records
    assert "Infinity" not in text
    assert text.count('"kernel"') == 3


def test_a_certificate_that_differs_on_one_machine_fails() -> None:
    (found,) = differences(record(EXP, SIN), record(EXP, replace(SIN, ulp=3.00001)))

    assert found.fails
    assert str(found).startswith("Sin, float32 gradient, on GPU (1) through Vulkan: 3 ULP")


def test_a_certificate_that_is_missing_on_one_machine_fails() -> None:
    (found,) = differences(record(EXP, SIN), record(EXP))

    assert found.fails
    assert "now no certificate" in str(found)


def test_another_machine_may_differ_in_ulp_but_not_in_its_verdict() -> None:
    other = record(replace(EXP, ulp=1.5), replace(SIN, failures=("off",)), machine=THERE)

    exp, sin = differences(record(EXP, HALF, SIN), other)

    assert (exp.key, exp.fails, exp.ulp) == (EXP.key, False, 0.75)
    assert (sin.key, sin.fails) == (SIN.key, True)


def test_records_of_one_machine_are_joined_and_contradictions_are_told() -> None:
    report = joined([record(SIN), record(EXP, machine=THERE), record(EXP, replace(SIN, used=0.6))])

    ours, theirs = report.records
    assert ours.certificates == (EXP, SIN)
    assert theirs.machine == THERE
    assert [one.key for one in report.contradictions] == [SIN.key]
    assert not report.passed


def test_the_matrix_has_a_row_per_kernel_and_a_column_per_machine() -> None:
    failed = replace(EXP, ulp=math.inf, used=math.inf, failures=("NaN",))

    table = matrix_table([record(EXP, HALF, SIN), record(failed, machine=THERE)])

    assert table.splitlines() == [
        "| kernel | 1. GPU, Vulkan | 2. Other GPU, Metal |",
        "| --- | --- | --- |",
        "| Exp | 0.75 ULP, 25 % | **FAILED** |",
        "| Exp, float16 | 0.75 ULP, 25 % | – |",
        "| Sin | 3 ULP, 50 % | – |",
    ]


def test_the_page_shows_apart_where_machines_differ() -> None:
    other = record(EXP, replace(SIN, ulp=3.5), machine=THERE)

    page = matrix_page([record(EXP, HALF, SIN), other])

    differing = page.split("## ")[2].splitlines()
    assert [one for one in differing if one.startswith("| ")][2:] == [
        "| Sin, float32 gradient | 3 ULP, 50 % | 3.5 ULP, 50 % |"
    ]
    assert "5 certificates of 2 machines; 0 failed." in page


def test_merge_prints_the_matrix_and_writes_the_page(tmp_path: Path) -> None:
    one = kept(tmp_path, "one.json", record(EXP))
    two = kept(tmp_path, "two.json", record(SIN, machine=THERE))

    done = run("parity", "--merge", one, two, "--out", tmp_path / "page.md")

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("| kernel | 1. GPU, Vulkan | 2. Other GPU, Metal |")
    assert (tmp_path / "page.md").read_text() == matrix_page(
        [*read_records(one), *read_records(two)]
    )


def test_merge_names_the_first_kernel_of_which_two_files_differ(tmp_path: Path) -> None:
    one = kept(tmp_path, "one.json", record(EXP, SIN))
    two = kept(tmp_path, "two.json", record(replace(EXP, ulp=0.76), replace(SIN, ulp=4.0)))

    done = run("parity", "--merge", one, two, "--out", tmp_path / "both.json")

    assert done.exit_code == 1
    assert "DIFFERS first in Exp, float32 forward" in done.stderr
    assert read_records(tmp_path / "both.json") == (record(EXP, SIN),)


@pytest.mark.gpu
def test_parity_certifies_each_dtype_and_direction(tmp_path: Path) -> None:
    out = tmp_path / "square.json"

    done = run("parity", "--only", "Square", "--out", out)

    assert done.exit_code == 0, done.output
    (found,) = json.loads(out.read_text())
    assert all(found["machine"].values())
    rows = {(one["dtype"], one["direction"]): one for one in found["certificates"]}
    assert {("float32", "forward"), ("float32", "gradient")} <= rows.keys()
    for one in rows.values():
        assert one["failures"] == []
        assert one["samples"] >= 1
        assert one["used"] <= 1
    assert "Square" in done.stdout


def forget_the_last_digit(text: str) -> str:
    rows = json.loads(text)
    (row,) = [
        one
        for one in rows[0]["certificates"]
        if (one["kernel"], one["dtype"], one["direction"]) == ("Softmax", "float32", "forward")
    ]
    row["ulp"] = round(row["ulp"], 1)
    return json.dumps(rows)


def of_another_driver(text: str) -> str:
    rows = json.loads(forget_the_last_digit(text))
    rows[0]["machine"]["driver"] = "another"
    return json.dumps(rows)


def of_another_verdict(text: str) -> str:
    rows = json.loads(of_another_driver(text))
    rows[0]["certificates"][-1]["failures"] = ["it failed there"]
    return json.dumps(rows)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (str, 0, "equal to the last digit"),
        (forget_the_last_digit, 1, "DIFFERS first in Softmax, float32 forward, on "),
        (of_another_driver, 0, "equal verdicts on another machine"),
        (of_another_verdict, 1, "DIFFERS first in Softmax, float32 gradient"),
    ],
)
def test_verify_runs_again_what_a_file_certifies(
    change: Callable[[str], str], code: int, words: str, tmp_path: Path
) -> None:
    out = tmp_path / "three.json"
    run("parity", "--only", "Exp", "--only", "Relu", "--only", "Softmax", "--out", out)
    out.write_text(change(out.read_text()))

    done = run("parity", "--verify", out)

    assert (done.exit_code, done.output.count("DIFFERS")) == (code, code), done.output
    assert words in done.output


@pytest.mark.gpu
def test_what_a_kernel_raises_is_a_failure_of_its_certificate() -> None:
    def raises(x: wk.Tensor) -> wk.Tensor:
        raise RuntimeError(f"refuses rank {x.ndim}")

    add_samples("Relu", Sample("Relu", raises, ((2, 3),)), Sample("Relu", wk.relu, ((3,),)))

    forward, *_ = certify(["Relu"]).certificates

    assert not forward.passed
    assert forward.samples == 2
    assert math.isinf(forward.ulp)
    assert forward.failures == ("Relu-2x3: RuntimeError: refuses rank 2",)
    assert str(forward) == "FAILED"


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("code", "is_warned"), [("unknown-bound", True), ("wrong-values", False), ("", False)]
)
def test_what_a_check_only_warns_of_is_no_failure(
    code: str, is_warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = Row("forward", "Relu-2x3", "webgpu", False, worst_abs=3.0, tolerance=2.0, note="too far")
    found = [Finding(code, "got 1.0, expected 4.0.", "Relu")] if code else []
    monkeypatch.setattr(certifying, "check_forward", lambda *_: off)
    monkeypatch.setattr(certifying, "judged", lambda *_: found)
    add_samples("Relu", Sample("Relu", wk.relu, ((2, 3),)))

    forward, *_ = made = certify(["Relu"]).certificates

    assert (forward.passed, forward.used) == (is_warned, 1.5)
    assert forward.warnings == (("Relu-2x3: got 1.0, expected 4.0.",) if is_warned else ())
    assert forward.failures == (() if is_warned else ("Relu-2x3: too far",))
    text = to_json([record(*made)])
    assert from_json(text) == (record(*made),)
    assert text.count('"warnings"') == is_warned


def test_a_file_none_of_whose_kernels_is_there_says_what_to_give(tmp_path: Path) -> None:
    mine = kept(tmp_path, "mine.json", record(replace(EXP, kernel="OfMine")))
    nothing = kept(tmp_path, "nothing.json", record())

    for given, words in (
        (("--verify", mine), "has certificates of OfMine, and no kernel of these is registered."),
        (("--verify", mine), f"wgsl-kernels parity FILE.py --verify {mine}"),
        (("--verify", mine, "--only", "Exp"), "has no certificate of Exp; it has OfMine."),
        (("--verify", nothing), "nothing.json has no certificate."),
    ):
        done = run("parity", *given)
        assert done.exit_code == 2, done.output
        assert words in " ".join(done.output.split()), done.output


def test_a_machine_alone_is_one_machine() -> None:
    assert "1 certificate of 1 machine; 0 failed." in matrix_page([record(EXP)])


def test_the_page_of_the_docs_is_made_of_the_certificates_that_are_kept() -> None:
    report = joined(one for file in KEPT for one in read_records(file))

    assert len(report.records) == len(KEPT) >= 4
    assert report.passed
    assert (ROOT / "docs/vendor-matrix.md").read_text() == matrix_page(report.records)
    assert all(file.stat().st_size < 300_000 for file in KEPT)


@pytest.mark.gpu
def test_kernels_of_a_file_are_certified(tmp_path: Path) -> None:
    file, empty = tmp_path / "mine.py", tmp_path / "none.py"
    empty.write_text("")
    file.write_text(
        """
import wgsl_kernels as wk
from wgsl_kernels.testing import Sample, add_samples

wk.wgsl_kernel("Tripled", "fn op(x: f32) -> f32 {\\n  return 3.0 * x;\\n}\\n")
wk.signature("Tripled")(lambda x, /: x.like())
wk.cpu_kernel("Tripled")(lambda x: 3 * x)
add_samples("Tripled", Sample("Tripled", lambda x: wk.run("Tripled", x), ((2, 3),)))
"""
    )
    found = run("parity", file, "--json")
    (tmp_path / "mine.json").write_text(found.stdout)
    again = run("parity", file, "--verify", tmp_path / "mine.json")
    refused = run("parity", empty)
    farm = run("parity", file, "--cluster", "tcp://127.0.0.1:1")

    assert found.exit_code == 0, found.output
    assert {one.kernel for one in from_json(found.stdout)[0].certificates} == {"Tripled"}
    assert (again.exit_code, again.stdout) == (0, "equal to the last digit\n")
    assert (refused.exit_code, farm.exit_code) != (0, 0)
    assert "registers no kernel with samples" in refused.output
    assert "WorkerSetup(modules=" in " ".join(farm.output.split())
