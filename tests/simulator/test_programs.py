"""The simulator runs WGSL: against NumPy, and against the device where it is run there, too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.simulator.accesses import AccessLog
from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.syntax.places import Text

COUNT = 96
HEAD = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
"""
MAIN = """
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = id.x;
"""
Array = np.ndarray[Any, Any]


def run(body: str, declared: str = "", *, log: AccessLog | None = None) -> Array:
    """Return y of a program whose main has this body, x being from -3 to 3."""
    text = Text("program.wgsl", f"{HEAD}{declared}{MAIN}{body}\n}}\n")
    y = np.full(COUNT, -7, np.float32)
    entry = compile_entry(text, "main", {})
    bound = {(0, 0): values().view(np.uint32), (0, 1): y.view(np.uint32)}
    entry.run((COUNT // 32, 1, 1), bound, log=log)
    return y


def values() -> Array:
    return np.linspace(-3, 3, COUNT, dtype=np.float32)


def groups(x: Array) -> Array:
    return x.reshape(-1, 32)


PROGRAMS: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "branches": (
        """if (x[i] < -1.0) { y[i] = 1.0; }
        else if (x[i] < 1.0) { y[i] = 2.0; }
        else { y[i] = 3.0; }""",
        "",
        lambda x: np.select([x < -1, x < 1], [1, 2], 3),
    ),
    "loop with break and continue": (
        """var s = 0.0;
        for (var k = 0u; k < 9u; k++) {
          if (k == lane % 4u) { continue; }
          if (f32(k) > x[i] + 4.0) { break; }
          s += f32(k);
        }
        y[i] = s;""",
        "",
        lambda x: np.array([
            sum(k for k in range(9) if k != i % 4 and not any(
                j > np.float32(v + np.float32(4)) and j != i % 4 for j in range(k + 1)))
            for i, v in enumerate(x)]),
    ),
    "loop with continuing and break if": (
        "var n = 0.0; loop { n += 1.0; continuing { n += 0.5; break if n > x[i]; } } y[i] = n;",
        "",
        lambda x: 1.5 * np.maximum(1, np.floor(x / 1.5) + 1),
    ),
    "an index that hides a constant": (
        "let N = i; var a: array<f32, 3>; { const N = 2; a[N] = x[i]; } y[N] = a[2];",
        "const N = 0u;",
        lambda x: x,
    ),
    "sizes by local constants": (
        "const N = 3 + M; var a: array<f32, N>; a[N - 1] = x[i]; y[i] = a[4] + a[3];",
        "const N = 1; const M = 2;",
        lambda x: x,
    ),
    "while with return inside": (
        "var n = 0.0; while (true) { n += 1.0; if (n > x[i] + 3.0) { y[i] = n; return; } }",
        "",
        lambda x: np.floor(x + np.float32(3)) + 1,
    ),
    "switch": (
        """switch (lane % 5u) {
          case 0u: { y[i] = 1.0; }
          case 1u, 2u: { if (x[i] > 0.0) { break; } y[i] = 2.0; }
          default: { y[i] = 3.0; }
        }""",
        "",
        lambda x: np.select(
            [np.arange(COUNT) % 32 % 5 == 0, np.isin(np.arange(COUNT) % 32 % 5, (1, 2))],
            [np.ones(COUNT), np.where(x > 0, -7, 2)], 3),
    ),
    "early returns of functions": (
        "y[i] = f(x[i]) + f(-x[i]);",
        """fn f(a: f32) -> f32 {
          for (var k = 0; k < 4; k++) { if (a < f32(k) - 1.5) { return f32(k); } }
          return 9.0;
        }""",
        lambda x: _first_below(x) + _first_below(-x),
    ),
    "pointers to variables and their parts": (
        """var v = V(x[i], array<f32, 2>(0.0, 1.0)); var n = 1.0;
        add(&v.b[1], 2.0); add(&n, v.b[1]); add(&v.a, n);
        y[i] = v.a * 10.0 + n;""",
        """struct V { a: f32, b: array<f32, 2> }
        fn add(p: ptr<function, f32>, by: f32) { *p = *p + by; }""",
        lambda x: (x + np.float32(4)) * np.float32(10) + np.float32(4),
    ),
    "pointers to memory": (
        "let p = &t[lane]; *p = x[i]; workgroupBarrier(); let q = &t[31u - lane]; y[i] = *q;",
        "var<workgroup> t: array<f32, 32>;",
        lambda x: groups(x)[:, ::-1].ravel(),
    ),
    "structs, arrays of arrays and dynamic indices": (
        """var p = P(vec3<f32>(x[i]), array<array<f32, 2>, 3>());
        p.b[lane % 3u][1] = 5.0; p.a[lane % 3u] += 1.0;
        y[i] = p.a.x + 10.0 * p.b[1][1] + p.b[lane % 3u][0];""",
        "struct P { a: vec3<f32>, b: array<array<f32, 2>, 3> }",
        lambda x: x + (np.arange(COUNT) % 32 % 3 == 0) + 50.0 * (np.arange(COUNT) % 32 % 3 == 1),
    ),
    "matrices": (
        """let m = mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
        let v = m * vec2<f32>(x[i], 1.0); let w = vec3<f32>(1.0, 0.0, 1.0) * m;
        y[i] = v.x + v.y + v.z + w.x * w.y + determinant(mat2x2<f32>(1.0, 2.0, 3.0, 4.0));""",
        "",
        lambda x: 6 * x + 15 + 40 - 2,
    ),
    "workgroup memory and barriers": (
        """t[lane] = x[i];
        for (var s = 16u; s > 0u; s /= 2u) {
          workgroupBarrier();
          if (lane < s) { t[lane] += t[lane + s]; }
        }
        workgroupBarrier();
        y[i] = t[0];""",
        "var<workgroup> t: array<f32, 32>;",
        lambda x: np.repeat(_tree(groups(x)), 32),
    ),
    "atomics": (
        """atomicStore(&n, 0u); atomicStore(&m, 0u); workgroupBarrier();
        let before = atomicAdd(&n, 2u); let most = atomicMax(&m, lane);
        workgroupBarrier();
        let all = 100.0 * f32(atomicLoad(&n)) + f32(atomicLoad(&m));
        y[i] = f32(before) + all + f32(select(1u, 0u, most < lane));""",
        "var<workgroup> n: atomic<u32>;\nvar<workgroup> m: atomic<u32>;",
        lambda x: np.tile(2.0 * np.arange(32) + 6400 + 31 + (np.arange(32) == 0), 3),
    ),
    "adding floats by exchange": (
        """atomicStore(&n, 0u); workgroupBarrier();
        var old = atomicLoad(&n);
        loop {
          let r = atomicCompareExchangeWeak(&n, old, bitcast<u32>(bitcast<f32>(old) + 1.0));
          if (r.exchanged) { break; }
          old = r.old_value;
        }
        workgroupBarrier();
        y[i] = bitcast<f32>(atomicLoad(&n));""",
        "var<workgroup> n: atomic<u32>;",
        lambda x: np.full(COUNT, 32.0),
    ),
    "integers wrap and divide towards zero": (
        """let a = i32(lane) - 16; let b = i32(lane % 5u) - 2;
        y[i] = f32(a / b) + 1000.0 * f32(a % b) + f32((4294967295u + lane) >> 1u);""",
        "",
        lambda x: np.array([_integers(i % 32) for i in range(COUNT)], np.float32),
    ),
    "bits": (
        """let w = lane * 2654435761u;
        y[i] = f32(countOneBits(w) + firstLeadingBit(w | 1u) + countTrailingZeros(w | 64u))
          + f32(extractBits(w, 5u, 7u)) + f32(extractBits(i32(w), 28u, 4u))
          + f32(insertBits(0u, w, 3u, 4u)) + f32(reverseBits(lane) >> 27u);""",
        "",
        lambda x: np.array([_bits(i % 32) for i in range(COUNT)], np.float32),
    ),
    "packed words": (
        """let h = unpack2x16float(pack2x16float(vec2<f32>(x[i], 0.5)));
        let b = unpack4xU8(pack4xU8(vec4<u32>(lane, 300u, 2u, 3u)));
        let s = unpack4x8snorm(pack4x8snorm(vec4<f32>(x[i], -1.0, 0.5, 1.0)));
        y[i] = h.x + h.y + f32(b.x + b.y) + s.x;""",
        "",
        lambda x: x.astype(np.float16).astype(np.float32) + 0.5 + np.arange(COUNT) % 32 + 44
        + np.floor(0.5 + 127 * np.clip(x.astype(np.float64), -1, 1)) / 127,
    ),
    "private variables, constants and a short circuit": (
        """count += 1.0; bump(); if (lane < 3u && bump() > 2.5) { count += 10.0; }
        y[i] = count + f32(TABLE[lane % 3u]) * SCALE;""",
        """var<private> count: f32 = 0.5;
        const TABLE = array<u32, 3>(5u, 6u, 7u);
        const SCALE = 2 * 3.0;
        fn bump() -> f32 { count += 1.0; return count; }""",
        lambda x: np.where(np.arange(COUNT) % 32 < 3, 13.5, 2.5)
        + 6.0 * (5 + np.arange(COUNT) % 32 % 3),
    ),
    "vectors": (
        """let v = vec4<f32>(x[i], vec2<f32>(2.0, 3.0), 4.0);
        let c = cross(v.xyz, v.zyx); let d = v.wz + v.xy * 2.0;
        y[i] = dot(v, v) + length(v.yz) + c.x + d.x + d.y + select(0.0, 1.0, all(v > vec4(0.0)))
          + max(v, vec4<f32>(2.5)).y + mix(1.0f, 3.0f, 0.25f);""",
        "",
        lambda x: x * x + 4 + 9 + 16 + np.sqrt(13) + 2 * x - 6 + 4 + 2 * x + 3 + 4 + (x > 0) + 2.5
        + 1.5,
    ),
}  # fmt: skip


def _first_below(x: Array) -> Array:
    return np.select([x < k - 1.5 for k in range(4)], range(4), 9)


def _tree(rows: Array) -> Array:
    found = rows.copy()
    for step in (16, 8, 4, 2, 1):
        found[:, :step] += found[:, step : 2 * step]
    return found[:, 0]


def _integers(lane: int) -> float:
    a, b = lane - 16, lane % 5 - 2
    quotient, rest = (a, 0) if b == 0 else (int(a / b), a - int(a / b) * b)
    return quotient + 1000.0 * rest + ((2**32 - 1 + lane) % 2**32 >> 1)


def _bits(lane: int) -> float:
    w = lane * 2654435761 % 2**32
    signed = (w >> 28) - (16 if w >> 31 else 0)
    counted = bin(w).count("1") + (w | 1).bit_length() - 1
    trailing = ((w | 64) & -(w | 64)).bit_length() - 1
    turned = int(f"{lane:032b}"[::-1], 2) >> 27
    return float(counted + trailing + ((w >> 5) & 127) + signed + ((w & 15) << 3) + turned)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    body, declared, expected = PROGRAMS[name]
    np.testing.assert_allclose(run(body, declared), expected(values()), rtol=2e-6)


CHOICE = choose_adapter()
ON_DEVICES = PROGRAMS.keys() - {"pointers to variables and their parts"}
"""Those that wgpu's compiler takes, too; it has no pointers to parts as arguments."""
if CHOICE is not None and CHOICE.info.backend == "OpenGL":
    # GLSL leaves the remainder of negative integers open (GLSL 4.60, 5.9)
    ON_DEVICES -= {"integers wrap and divide towards zero"}


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(ON_DEVICES))
def test_a_program_gives_what_the_device_gives(name: str) -> None:
    body, declared, _ = PROGRAMS[name]
    before = take_snapshot()
    text = HEAD + declared + MAIN + body + "\n}\n"
    try:
        wk.wgsl_kernel("Program", text, groups=lambda: (COUNT // 32,), init={"y": -7})
        wk.signature("Program")(lambda x, /: {"y": x.like()})
        found: list[Array] = []
        for backend in ("webgpu", "simulator"):
            with wk.use_backend(backend):
                (y,) = wk.engine().run_kernel("Program", {"x": wk.tensor(values())})
                found.append(y.numpy())
    finally:
        before.restore()
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_loads_and_stores_outside_of_a_buffer_do_no_harm() -> None:
    y = run("y[i * 2u] = x[i + 1000u];")

    np.testing.assert_array_equal(y[::2], values()[-1])
    assert (y[1::2] == -7).all()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y[i] = textureThing(x[i]);", "wants a texture"),
        ("y[i] = x[i] + 1u;", "f32"),
        ("y[i] = ;", "want an expression"),
    ],
)
def test_what_is_not_run_is_refused_at_its_place(body: str, words: str) -> None:
    with pytest.raises(RefusedError) as caught:
        run(body)

    whole = f"{HEAD}{MAIN}{body}"
    assert caught.value.begin >= len(HEAD + MAIN) - 2, whole
    assert words in caught.value.message


def test_a_loop_that_does_not_end_is_an_error_at_its_place() -> None:
    with pytest.raises(ShaderError, match=r"program.wgsl:9:1: this loop goes on for too long"):
        run("\nloop { if (x[i] > 100.0) { break; } }", log=AccessLog(most_rounds=1000))


def test_a_loop_beyond_what_software_adapters_run_ends() -> None:
    y = run("var n = 0u;\nfor (; n < 70000u; n++) { }\ny[i] = f32(n);")
    np.testing.assert_equal(y, np.full(COUNT, 70000, np.float32))


ROUNDS = {
    "rounds are known before the first": "for (var n = first; n < last; n++) { total += 1.0; }",
    "rounds are known with another step": (
        "for (var n = 2 * first; n < 2 * last; n += 2) { total += 1.0; }"
    ),
    "rounds are known to the last": "for (var n = first; n <= last - 1; n++) { total += 1.0; }",
    "the counter is written": "for (var n = first; n < last; n++) { total += 1.0; n += 0; }",
    "some leave": "for (var n = first; n < last; n++) { total += 1.0; if (n > 99) { break; } }",
    "a loop without a counter": "var n = first; while (n < last) { total += 1.0; n++; }",
}


@pytest.mark.parametrize("loop", ROUNDS.values(), ids=ROUNDS)
def test_a_loop_ends_in_the_same_round_however_its_rounds_are_counted(loop: str) -> None:
    body = f"let first = -2; let last = select(1, LAST, i == 40u); var total = 0.0; {loop}"
    y = run(f"{body.replace('LAST', '6')} y[i] = total;", log=AccessLog(most_rounds=9))
    assert y[40] == 8
    assert y[0] == 3

    with pytest.raises(ShaderError, match="this loop goes on for too long"):
        run(f"{body.replace('LAST', '7')} y[i] = total;", log=AccessLog(most_rounds=9))


RACES = {
    "no barrier around an array": (
        "t[lane] = x[i]; y[i] = t[31u - lane];", "var<workgroup> t: array<f32, 32>;", "read-race",
    ),
    "no barrier around a scalar": (
        "if (lane == 0u) { m = x[i]; } y[i] = m;", "var<workgroup> m: f32;", "read-race",
    ),
    "no barrier around a component": (
        "t[lane].x = x[i]; y[i] = t[31u - lane].x;",
        "var<workgroup> t: array<vec4<f32>, 32>;", "read-race",
    ),
    "a barrier between workgroups": (
        "if (i == 0u) { y[0] = x[0]; } storageBarrier(); if (i > 0u) { y[i] = y[0]; }",
        "", "read-race",
    ),
    "all write one element": ("y[lane / 2u] = x[i];", "", "write-race"),
    "read before it is written": (
        "if (lane > 0u) { t[lane] = x[i]; } workgroupBarrier(); y[i] = t[lane];",
        "var<workgroup> t: array<f32, 32>;", "unset",
    ),
    "an index outside of workgroup memory": (
        "t[lane + 1u] = x[i]; y[i] = x[i];", "var<workgroup> t: array<f32, 32>;", "outside",
    ),
    "an index outside of a buffer": ("y[i] = x[i + 1u];", "", "outside"),
}  # fmt: skip
RIGHT = {
    "parts of one vector": (
        "t[lane / 2u][lane % 2u] = x[i]; workgroupBarrier(); y[i] = t[lane / 2u][lane % 2u];",
        "var<workgroup> t: array<vec2<f32>, 16>;",
    ),
    "members of one struct": (
        """if (lane == 0u) { s.a = x[i]; }
        if (lane == 1u) { s.b = x[i]; }
        workgroupBarrier();
        y[i] = s.a;""",
        "struct S { a: f32, b: f32 }\nvar<workgroup> s: S;",
    ),
    "guarded by a short circuit": ("if (i + 1u < 96u && x[i + 1u] > 0.0) { y[i] = 1.0; }", ""),
    "atomics": ("atomicAdd(&n, 1u); workgroupBarrier(); y[i] = f32(atomicLoad(&n));",
                "var<workgroup> n: atomic<u32>;"),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_a_wrong_access_is_noted(name: str) -> None:
    body, declared, kind = RACES[name]
    log = AccessLog()
    run(body, declared, log=log)

    assert kind in {one.kind for one in log.found.values()}


@pytest.mark.parametrize("name", [*RIGHT, *PROGRAMS])
def test_a_right_program_has_no_wrong_access(name: str) -> None:
    log = AccessLog()
    run(*(RIGHT | {n: p[:2] for n, p in PROGRAMS.items()})[name], log=log)

    assert log.found == {}


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_another_order_shows_what_depends_on_it(order: str) -> None:
    text = Text(
        "a.wgsl", f"{HEAD}var<workgroup> n: atomic<u32>;{MAIN}y[i] = f32(atomicAdd(&n, 1u));}}"
    )
    found = []
    for one in ("forward", order):
        y = np.zeros(COUNT, np.float32)
        bound = {(0, 0): values().view(np.uint32), (0, 1): y.view(np.uint32)}
        compile_entry(text, "main", {}).run((3, 1, 1), bound, order=one)  # type: ignore[arg-type]  # one of the words
        found.append(y)

    assert (found[0] != found[1]).any()
    assert sorted(found[0]) == sorted(found[1])
