"""What a shader's file has and nothing reads is said where it is registered."""

from __future__ import annotations

import re

import pytest

import wgsl_kernels as wk

pytestmark = pytest.mark.usefixtures("own_kernels")

MAP = "fn op(x: T) -> T { return x; }"
TOTAL = "fn init() -> T { return T(); }\nfn combine(a: T, b: T) -> T { return a + b; }"
APPLIED = f"{TOTAL}\nfn apply(x: T, a: T) -> T {{ return x; }}"
MAIN = "@compute @workgroup_size(1)\nfn main() {}"
SLIPS = [
    ("", "opp", "1:4: nothing calls opp. Did you mean 'op'?"),
    (MAP, "op_f64", "2:4: a map has no op_f64; it reads op, op_bool, op_complex, op_f16, op_f32"),
    (MAP, "finish", "2:4: a map has no finish; it reads op, "),
    (TOTAL, "op", "3:4: a reduction has no op; it reads append, combine, finish, init, lift."),
    (TOTAL, "finish_complex", "3:4: a reduction has no finish_complex; it reads append, "),
    (TOTAL, "settle", "3:4: a reduction has no settle; it reads append, "),
    (APPLIED, "finish", "4:4: a reduction with apply has no finish; it reads append, apply, "),
    (MAIN, "lift", "3:4: a kernel with a main has no lift; it reads its main alone."),
    (f"{MAP}\nconst N = 1u; // @tune 1 2", "", "2:18: nothing chooses what is behind @tune here."),
    (f"{MAP}\nconst N = 1u; // @Tune 1 2", "", "2:18: nothing reads @Tune in a comment. Did you"),
    (f"// @derivatve op(x) = 1\n{MAP}", "", "1:4: nothing reads @derivatve in a comment. Did"),
]


@pytest.mark.parametrize(("text", "function", "said"), SLIPS)
def test_slips_at_registration_are_told_on_any_backend(text: str, function: str, said: str) -> None:
    more = f"\nfn {function}(x: T) -> T {{ return x; }}" if function else ""
    with pytest.warns(RuntimeWarning, match=re.escape(said)) as found:
        wk.wgsl_kernel("Slip", f"{text}{more}".lstrip(), override=True)

    assert len(found) == 1


def test_what_is_called_or_is_no_mark_is_no_slip() -> None:
    for text in (
        "fn op(x: T) -> T { return finish(x); }\nfn finish(x: T) -> T { return x; }",
        f"{MAP}\nfn helper_2(x: T) -> T {{ return x; }}",
        f"// @param x: any\n// @given x, x\n// @todo\n{MAP}",
        "fn op(x: T) -> T { wk_print(f32(x)); // @tuned\n  return x; }",
    ):
        wk.wgsl_kernel("Slip", text, override=True)


def test_text_that_is_taken_for_a_path_is_told() -> None:
    with pytest.warns(RuntimeWarning, match="taken for a path"):
        wk.wgsl_kernel("Text", "fn op(x: T) -> T return x;")
