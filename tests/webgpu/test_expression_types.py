"""The types of expressions: the specification's rules, and every shader that samples compose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.modes import rows, some

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices import pipeline
from wgsl_kernels.engine.registry.registry import announce_change
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import arrays_for, call_of, tensors_for
from wgsl_kernels.wgsl.linking.linker import link_modules
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.builtins import BUILTINS, RESULTS
from wgsl_kernels.wgsl.types.infer import Types, infer
from wgsl_kernels.wgsl.types.kinds import I32, scalar_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.testing import Sample

DECLARED = """
struct Inner { v: vec3f, n: array<i32, 4> }
struct Outer { inner: array<Inner, N>, flag: bool, count: atomic<u32> }
alias Real = f32;
alias Pair = vec2<Real>;
const N = 2u * WIDTH;
const WIDTH = 3;
const table = array(1.0, 2, 3);
override scale = 2;
@group(0) @binding(0) var<storage, read_write> outer: Outer;
@group(0) @binding(1) var<storage> data: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> matrix: mat3x2f;
@group(0) @binding(3) var image: texture_2d<u32>;
@group(0) @binding(4) var depth: texture_depth_cube;
@group(0) @binding(5) var target: texture_storage_3d<rgba16float, write>;
@group(0) @binding(6) var point: sampler;
var<private> seed: u32;
var<workgroup> tile: array<array<f32, WIDTH + 1>, 8>;
fn half(x: Real) -> Real { return x / 2; }
fn nothing() { }
"""
PARAMETERS = (
    "b: bool, i: i32, u: u32, f: f32, v2: vec2f, v3: vec3<f32>, v4: vec4f, iv: vec3i, uv: vec2u,"
    "bv: vec3<bool>, m22: mat2x2f, m34: mat3x4<f32>, p: ptr<function, array<f32, 4>>,"
    "pv: ptr<private, vec3f>, s: Inner, h: f16"
)


def typed(statement: str) -> tuple[Types, tree.Function]:
    """Return the types of a module whose function ``f`` has ``statement`` for its body."""
    module = parse(Text("test", f"{DECLARED} fn f({PARAMETERS}) {{ var x = 1; {statement} }}"))
    assert module.problems == ()
    function = module.declarations[-1]
    assert isinstance(function, tree.Function)
    return infer(module.declarations), function


def type_of(expression: str) -> str:
    types, function = typed(f"_ = {expression};")
    assert isinstance(function.body, tree.CompoundStatement)
    statement = function.body.statements[-1]
    assert isinstance(statement, tree.Assign)
    assert types.problems == ()
    assert [spell(one) for one in types.unknown] == []
    return str(types.of(statement.value))


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("1", "AbstractInt"),
        ("0xfF", "AbstractInt"),
        ("0x1F", "AbstractInt"),
        ("1.0", "AbstractFloat"),
        ("1e3", "AbstractFloat"),
        ("0x1p3", "AbstractFloat"),
        ("1i", "i32"),
        ("0x1fu", "u32"),
        ("1f", "f32"),
        ("1.5h", "f16"),
        ("0x1p3f", "f32"),
        ("true", "bool"),
        ("1 + 2.0", "AbstractFloat"),
        ("1 + 2u", "u32"),
        ("1 + f", "f32"),
        ("1 + h", "f16"),
        ("-i", "i32"),
        ("!b", "bool"),
        ("!bv", "vec3<bool>"),
        ("~uv", "vec2<u32>"),
        ("(i)", "i32"),
        ("i < 3", "bool"),
        ("v3 == v3", "vec3<bool>"),
        ("v3 <= vec3(1.0)", "vec3<bool>"),
        ("b && i > 0", "bool"),
        ("b & true", "bool"),
        ("u ^ 3", "u32"),
        ("1 << u", "i32"),
        ("1 << 2", "AbstractInt"),
        ("u >> 2", "u32"),
        ("uv << vec2(1u)", "vec2<u32>"),
        ("f * v3", "vec3<f32>"),
        ("v3 / 2", "vec3<f32>"),
        ("2 * v2 + v2", "vec2<f32>"),
        ("iv % 3", "vec3<i32>"),
        ("m34 * v3", "vec4<f32>"),
        ("v4 * m34", "vec3<f32>"),
        ("m22 * m34_", "mat3x2<f32>"),
        ("2 * m34", "mat3x4<f32>"),
        ("m22 - m22", "mat2x2<f32>"),
        ("m22[1]", "vec2<f32>"),
        ("m34[i].w", "f32"),
        ("v4.xyz", "vec3<f32>"),
        ("v4.bgr", "vec3<f32>"),
        ("v4[2]", "f32"),
        ("v2.yyxx", "vec4<f32>"),
        ("x", "ref<function, i32, read_write>"),
        ("seed", "ref<private, u32, read_write>"),
        ("tile", "ref<workgroup, array<array<f32, 4>, 8>, read_write>"),
        ("tile[1][u]", "ref<workgroup, f32, read_write>"),
        ("&seed", "ptr<private, u32, read_write>"),
        ("*p", "ref<function, array<f32, 4>, read_write>"),
        ("(*p)[1]", "ref<function, f32, read_write>"),
        ("p[1]", "ref<function, f32, read_write>"),
        ("pv.x", "ref<private, f32, read_write>"),
        ("pv.xy", "vec2<f32>"),
        ("outer.inner", "ref<storage, array<Inner, 6>, read_write>"),
        ("outer.inner[u].n[2]", "ref<storage, i32, read_write>"),
        ("outer.inner[1].v.xy", "vec2<f32>"),
        ("s.n[2]", "i32"),
        ("data", "ref<storage, array<vec4<f32>>, read>"),
        ("data[3].y", "ref<storage, f32, read>"),
        ("matrix[1]", "ref<uniform, vec2<f32>, read>"),
        ("image", "ref<handle, texture_2d<u32>, read>"),
        ("N", "u32"),
        ("WIDTH", "AbstractInt"),
        ("scale", "i32"),
        ("table", "array<AbstractFloat, 3>"),
        ("table[i]", "AbstractFloat"),
        ("half(1)", "f32"),
        ("f32(i)", "f32"),
        ("Real(u)", "f32"),
        ("Pair(1, 2)", "vec2<f32>"),
        ("vec3f()", "vec3<f32>"),
        ("vec3(1)", "vec3<AbstractInt>"),
        ("vec3(1, 2.0, 3)", "vec3<AbstractFloat>"),
        ("vec3(v2, 1)", "vec3<f32>"),
        ("vec4<u32>(uv, uv)", "vec4<u32>"),
        ("vec2i(v2)", "vec2<i32>"),
        ("mat2x2(1, 2, 3, 4)", "mat2x2<AbstractFloat>"),
        ("mat2x3f(v3, v3)", "mat2x3<f32>"),
        ("array<f32, WIDTH>(1, 2, 3)", "array<f32, 3>"),
        ("array(u, 2, 3)", "array<u32, 3>"),
        ("Inner(v3, array(1, 2, 3, 4))", "Inner"),
        ("bitcast<u32>(f)", "u32"),
        ("bitcast<vec2u>(v2)", "vec2<u32>"),
        ("max(1, u)", "u32"),
        ("clamp(v3, vec3f(), vec3(1.0))", "vec3<f32>"),
        ("sqrt(2)", "AbstractFloat"),
        ("exp(v3)", "vec3<f32>"),
        ("pow(f, 2)", "f32"),
        ("abs(-i)", "i32"),
        ("select(1, u, b)", "u32"),
        ("select(v3, v3, bv)", "vec3<f32>"),
        ("dot(iv, iv)", "i32"),
        ("length(v4)", "f32"),
        ("cross(v3, v3)", "vec3<f32>"),
        ("mix(v3, v3, f)", "vec3<f32>"),
        ("mix(v3, v3, v3)", "vec3<f32>"),
        ("mix(f, 1, 0.5)", "f32"),
        ("refract(v3, v3, f)", "vec3<f32>"),
        ("ldexp(f, 2)", "f32"),
        ("ldexp(v3, iv)", "vec3<f32>"),
        ("frexp(v3).exp", "vec3<i32>"),
        ("frexp(f).fract", "f32"),
        ("modf(f).whole", "f32"),
        ("transpose(m34)", "mat4x3<f32>"),
        ("determinant(m22)", "f32"),
        ("any(v3 > v3)", "bool"),
        ("all(b)", "bool"),
        ("countOneBits(uv)", "vec2<u32>"),
        ("extractBits(i, 1u, 2)", "i32"),
        ("arrayLength(&data)", "u32"),
        ("atomicLoad(&outer.count)", "u32"),
        ("atomicAdd(&outer.count, 1)", "u32"),
        ("atomicCompareExchangeWeak(&outer.count, 1, 2).exchanged", "bool"),
        ("atomicCompareExchangeWeak(&outer.count, 1, 2).old_value", "u32"),
        ("unpack4xI8(u)", "vec4<i32>"),
        ("pack2x16float(v2)", "u32"),
        ("dot4U8Packed(u, u)", "u32"),
        ("workgroupUniformLoad(&tile[0])", "array<f32, 4>"),
        ("subgroupAdd(v3)", "vec3<f32>"),
        ("subgroupBroadcast(f, 3)", "f32"),
        ("subgroupBallot(b)", "vec4<u32>"),
        ("subgroupElect()", "bool"),
        ("textureLoad(image, uv, 0)", "vec4<u32>"),
        ("textureDimensions(image)", "vec2<u32>"),
        ("textureDimensions(target)", "vec3<u32>"),
        ("textureNumLevels(image)", "u32"),
        ("textureSample(depth, point, v3)", "f32"),
        ("textureGather(depth, point, v3)", "vec4<f32>"),
    ],
)
def test_an_expression_has_the_type_that_the_specification_gives(
    expression: str, type_: str
) -> None:
    assert type_of(expression.replace("m34_", "mat3x2f()")) == type_


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("let y: u32 = -1.0;", "want u32, found AbstractFloat."),
        ("let y: u32 = i;", "want u32, found i32."),
        ("var y = 1; y = u;", "want i32, found u32."),
        ("x += f;", "i32 + f32 has no meaning."),
        ("_ = u + i;", "u32 + i32 has no meaning."),
        ("_ = v2 * v3;", "vec2<f32> * vec3<f32> has no meaning."),
        ("_ = m22 * v3;", "mat2x2<f32> * vec3<f32> has no meaning."),
        ("_ = f & 1;", "f32 & AbstractInt has no meaning."),
        ("_ = b + b;", "bool + bool has no meaning."),
        ("_ = i && b;", "i32 && bool has no meaning."),
        ("_ = 1 << v2;", "AbstractInt << vec2<f32> has no meaning."),
        ("if i { }", "want bool, found i32."),
        ("while f { }", "want bool, found f32."),
        ("for (; i; ) { }", "want bool, found i32."),
        ("const_assert 1;", "want bool, found AbstractInt."),
        ("_ = data[f];", "want an integer, found f32."),
        ("_ = v2.z;", "vec2<f32> has no 'z'."),
        ("_ = v4.xg;", "vec4<f32> has no 'xg'."),
        ("_ = s.w;", "Inner has no 'w'."),
        ("_ = half(u);", "want f32, found u32."),
        ("_ = half(1, 2);", "half takes 1, not 2, arguments."),
        ("_ = sqrt(u);", "sqrt wants float here, not u32."),
        ("_ = max(u, i);", "max wants one type, not u32 and i32."),
        ("_ = abs(1, 2);", "abs takes 1, not 2, arguments."),
        ("_ = all(i);", "all wants bool here, not i32."),
        ("_ = countOneBits(f);", "countOneBits wants int here, not f32."),
        (
            "_ = atomicLoad(&seed);",
            "atomicLoad wants atomic here, not ptr<private, u32, read_write>.",
        ),
        ("_ = vec3(v2, v2);", "vec3<f32> is not made of vec2<f32>, vec2<f32>."),
        ("_ = vec3f(v2, v2);", "vec3<f32> is not made of vec2<f32>, vec2<f32>."),
        ("_ = vec3<u32>(v2, 1);", "vec3<u32> is not made of vec2<f32>, AbstractInt."),
        ("_ = array<f32, 2>(1, 2, 3);", "array<f32, 2> takes 2 elements, not 3."),
        ("_ = Inner(v3);", "Inner takes 2 values, not 1."),
        ("_ = Inner(v3, 1);", "Inner wants array<i32, 4> here, not AbstractInt."),
        ("_ = u32(v2);", "u32 is made of one scalar."),
        ("i = 2;", "i32 cannot be written to."),
        ("return 1;", "want nothing, found AbstractInt."),
    ],
)
def test_what_does_not_fit_is_a_problem_at_its_place(statement: str, said: str) -> None:
    types, function = typed(statement)
    assert [problem.message for problem in types.problems] == [said]
    problem = types.problems[0]
    assert problem.declaration is function
    assert function.begin < problem.begin < function.end


def test_names_mean_what_their_scope_says() -> None:
    types, _ = typed(
        "let a = x; { let x = 1.0; let a: f32 = x; } let c: i32 = x + a;"
        "for (var x = 0u; x < 3; x++) { let d: u32 = x; }"
        "loop { let e = 2.0; continuing { let g: f32 = e; break if g > 1; } }"
    )
    assert types.problems == ()
    assert types.unknown == ()


def test_depth_and_length_are_no_matter() -> None:
    deep = f"{'(' * 90}{'-' * 9}i{')' * 90}"
    chain = "".join(f"const c{n} = c{n + 1}; alias A{n} = A{n + 1};" for n in range(900))
    text = f"{chain} const c900 = 1u; alias A900 = u32; fn f(i: i32) {{ _ = {deep};"
    text += f"let x: A0 = {' + '.join(['c0'] * 900)}; }}"
    types = infer(parse(Text("t", text)).declarations)

    assert types.problems == ()
    assert types.unknown == ()


def test_what_contains_itself_has_no_type_and_ends() -> None:
    module = parse(
        Text("t", "const a = b; const b = a + 1; alias T = U; alias U = T; fn f(x: T) { _ = a; }")
    )
    types = infer(module.declarations)
    assert {spell(one) for one in types.unknown} >= {"a+1", "T"}


def test_every_row_of_the_table_is_a_function_of_wgsl() -> None:
    assert [name for name in BUILTINS if not is_predeclared(name)] == []
    results = {row.result for row in BUILTINS.values() if row.result.startswith("__")}
    assert results == RESULTS.keys()


def test_a_linked_module_knows_the_types_of_all_its_parts() -> None:
    modules = {
        "main.wgsl": "import package::a::{S, K as k};"
        "fn f(s: S) -> f32 { let y = s.x * k; return y; }",
        "a.wgsl": "struct S { x: f32 }\nconst K = 2;\nfn unused() { _ = 1u + 1.0; }",
    }
    linked = link_modules(modules, "main", {}, {}, {}, "path")
    types = linked.types()

    assert types.problems == ()
    assert types.unknown == ()
    function = linked.declarations[0].node
    assert isinstance(function, tree.Function)
    assert isinstance(function.body, tree.CompoundStatement)
    let = function.body.statements[0]
    assert isinstance(let, tree.Value)
    assert let.value is not None
    assert str(types.of(let.value)) == "f32"


def test_a_problem_in_a_linked_module_names_the_part_that_it_is_in() -> None:
    modules = {"main.wgsl": "const y = package::a::K;", "a.wgsl": "\nconst K: u32 = 1.5;"}
    linked = link_modules(modules, "main", {}, {}, {}, "clash")
    (problem,) = linked.types().problems
    (part,) = (one for one in linked.declarations if one.node is problem.declaration)

    assert part.text.place(problem.begin).label == "a.wgsl:2:16"


GROUPS = 4


@pytest.mark.sampled(one_in=2)
@pytest.mark.gpu
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_expression_of_a_composed_shader_has_a_type_and_no_remainder_is_signed(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: set[str] = set()
    find = pipeline.PipelineCache.find

    def noted(
        self: pipeline.PipelineCache, text: str, *rest: Any, **options: Any
    ) -> pipeline.Pipeline:
        texts.add(text)
        return find(self, text, *rest, **options)

    monkeypatch.setattr(pipeline.PipelineCache, "find", noted)
    announce_change()  # what other tests have planned would find no pipeline again
    samples = some(rows(), 3, "types")[group::GROUPS]
    for sample in samples:
        _run(sample)
    assert len(texts) > len(samples) / 3
    for text in texts:
        source = Text("composed", text)
        declarations = parse(source).declarations
        types = infer(declarations)
        assert [source.point(one.message, one.begin) for one in types.problems] == []
        assert [source.point(spell(one), one.begin) for one in types.unknown] == []
        signed = [one for each in declarations for one in _signed_remainders(each, types)]
        assert [source.point("GLSL leaves it open", one.begin) for one in signed] == []


def _signed_remainders(node: tree.Declaration, types: Types) -> Iterator[tree.Node]:
    """Yield each ``%`` of integers with a sign, which lib/integer.wesl has functions for."""
    for one in descendants(node):
        if isinstance(one, tree.Binary) and one.operator == "%":
            found = types.value_of(one.left)
        elif isinstance(one, tree.Assign) and one.operator == "%=" and one.target is not None:
            found = types.value_of(one.target)
        else:
            continue
        if found is not None and scalar_of(found) == I32:
            yield one


def _run(sample: Sample) -> None:
    """Run a sample's kernel for what it composes."""
    with wk.use_backend("webgpu"), wk.config.using(fallback="silent", small_ops="device"):
        for one in outputs_of(call_of(sample), tensors_for(arrays_for(sample))):
            one.numpy()
