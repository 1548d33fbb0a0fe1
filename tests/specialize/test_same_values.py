"""A specialised text gives the values that WGSL gives to the text that it was made from."""

from __future__ import annotations

import random

import pytest
from tests.specialize.programs import CONSTANTS, HEAD, Writer, run, specialized, with_constants

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", range(24))
def test_a_random_program_gives_the_same_values(seed: int) -> None:
    rng = random.Random(seed)
    text = Writer(rng).program()
    for _ in range(2):
        constants = {
            "A": rng.choice([1, 3, 4]),
            "B": rng.choice([0, 1, 2]),
            "C": rng.choice([False, True]),
            "D": rng.choice([-2, 0, 5, -(2**31) + 8]),
        }
        # naga clears a variable in a loop once only
        plain = with_constants(text, constants).replace(": u32; z", ": u32 = 0u; z")
        shorter = specialized(text, **constants)
        assert "const" not in shorter
        assert "unroll" not in shorter
        assert run(shorter) == run(plain), shorter


def test_programs_reach_what_they_are_for() -> None:
    texts = [Writer(random.Random(seed)).program() for seed in range(24)]
    shorter = [specialized(text, **CONSTANTS) for text in texts]
    for word in ("@unroll", "switch", "if (C)", "select(", "<<"):
        assert any(word in text for text in texts), word
    assert sum(text.count("for (") for text in shorter) < sum(t.count("for (") for t in texts)
    assert sum(text.count("let ") for text in shorter) < sum(t.count("let ") for t in texts)


EXPRESSIONS = [
    "A + 4294967295u", "u32(D) + 0u", "A << 30u", "u32(D >> 1u)", "u32(-D)", "u32(~D)", "~A",
    "u32(D / 3)", "u32(D % 3)", "A / 2u", "A % 2u", "select(1u, A, C)", "select(A, 2, !C)",
    "u32(abs(D))", "u32(clamp(D, -1, 4))", "min(A, 2)", "u32(max(D, -1))", "u32(C)", "u32(!C)",
    "u32(A > 2u && D < 0)", "u32(bool(A))", "u32(i32(A) - 5)", "(A & 6u) | 1u", "A ^ 0xffu",
    "u32(i32(4294967295u))", "A * B + E", "u32(C & (A == 3u))", "0x10u - A", "u32(D * 0 + 7)",
]  # fmt: skip


def test_folding_gives_what_wgsl_gives() -> None:
    puts = "\n".join(f"put({one});" for one in EXPRESSIONS)
    text = f"{HEAD}@compute @workgroup_size(1) fn main() {{\n{puts}\n}}\n"
    folded = specialized(text, **CONSTANTS)
    # At run time: the constants' values come from variables.
    at_run_time = text.replace("const A = 3u;", "var<private> A = 3u;")
    at_run_time = at_run_time.replace("const B = 1u;", "var<private> B = 1u;")
    at_run_time = at_run_time.replace("const C = true;", "var<private> C = true;")
    at_run_time = at_run_time.replace("const D: i32 = -2;", "var<private> D = -2;")
    at_run_time = at_run_time.replace("const E = select(A, B, C);", "var<private> E = 1u;")
    for one in EXPRESSIONS:
        assert f"put({one})" not in folded, one
    assert run(folded)[: len(EXPRESSIONS)] == run(at_run_time)[: len(EXPRESSIONS)]
