"""A shader that cannot be read, filled or compiled says where, in its author's lines and words."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.refusal import held

import wgsl_kernels as wk
from wgsl_kernels.wgsl.errors.notebook import shown_file

pytestmark = pytest.mark.gpu
Try = Callable[..., str]


@pytest.fixture
def failing() -> Iterator[Try]:
    """Give a function that registers a shader, runs it on two numbers, and returns the message."""

    def run(source: str, error: type[Exception] = wk.ShaderError, *, attrs: Any = None) -> str:
        wk.wgsl_kernel("Shaky", source, override=True)
        gc.collect()
        before = held()
        with wk.use_backend("webgpu"), pytest.raises(error) as caught:
            wk.engine().run_kernel("Shaky", {"x": wk.tensor([1.0, 2.0])}, attrs)
        message = str(caught.value)
        del caught
        gc.collect()  # an error with a cause may stay in a cycle
        assert held() == before
        with wk.use_backend("webgpu"):  # the device goes on
            assert wk.exp(wk.tensor([0.0])).tolist() == [1.0]
        return message

    yield run
    wk.unregister_kernel("Shaky", "webgpu")


def test_a_compile_error_shows_file_line_column_and_the_compilers_words(
    failing: Try, tmp_path: Path
) -> None:
    shader = tmp_path / "shaky.wgsl"
    shader.write_text("// y = x\nfn op(x: T) -> T {\n  let y = x\n  return y;\n}\n")

    message = failing(str(shader)).splitlines()

    assert message[0] == f"Shaky: {shader}:4:3: want ';', found 'return'."
    assert message[1:3] == ["      return y;", "      ^"]
    assert any('expected `;`, found "return"' in line for line in message[3:])


@pytest.mark.parametrize(
    ("again", "column"),
    [("fn f(x: T) -> T { return x + 1.0; }", 4), ("const f = 1.0;", 7), ("struct f { a: f32 }", 8)],
)
def test_a_name_that_is_declared_twice_is_shown_where_it_comes_again(
    failing: Try, again: str, column: int
) -> None:
    message = failing(
        f"fn f(x: T) -> T {{ return x; }}\nfn op(x: T) -> T {{ return f(x); }}\n{again}\n"
    )

    place, said, first = message.partition("'f' is given twice; first at ")
    assert said
    assert place.endswith(f">:3:{column}: ")
    assert first.splitlines()[0].endswith(">:1:4.")
    assert first.splitlines()[1:] == [f"    {again}", " " * (column + 3) + "^"]


def test_an_error_of_types_points_into_the_function(failing: Try) -> None:
    message = failing("fn op(x: T) -> T {\n\tlet one = true;\n\treturn x + one;\n}\n")

    said = "f32 + bool has no meaning. Write select(f32(0), f32(1), one)."
    assert f">:3:13: {said}\n    \treturn x + one;\n    \t           ^^^\n" in message
    assert "Operation Add can't work with" in message


def test_a_shader_that_is_mended_runs_once_it_is_read_again(failing: Try, tmp_path: Path) -> None:
    shader = tmp_path / "shaky.wgsl"
    shader.write_text("fn op(x: T) -> T {\n  return x + true;\n}\n")
    assert "shaky.wgsl:2:" in failing(str(shader))

    shader.write_text("fn op(x: T) -> T {\n  return x + 1.0;\n}\n")
    assert wk.reload_kernels() == ["Shaky"]
    with wk.use_backend("webgpu"):
        assert wk.engine().run_kernel("Shaky", {"x": wk.tensor([1.0])}).tolist() == [2.0]


def test_a_shader_in_the_program_is_named_by_the_programs_line(failing: Try) -> None:
    message = failing("fn op(x: T) -> T {\n  return x * nowhere;\n}\n")

    assert message.startswith(f"Shaky: <inline in {shown_file(__file__)}:")
    assert (
        ">:2:14: nothing is called 'nowhere' here.\n      return x * nowhere;\n                 ^"
        in message
    )


def test_a_field_without_a_source_lists_what_there_is(failing: Try) -> None:
    text = "struct Attrs { alfa: f32 }\nfn op(x: T) -> T {\n  return x + attrs.alfa;\n}\n"
    message = failing(text, attrs={"alpha": 1.0}).splitlines()

    assert message[0] == (
        "Shaky: shader field 'alfa' matches no attr or tensor fact; "
        "known: alpha, y_size, x_shape, y_shape."
    )
    assert message[1].endswith(":1:16")
    assert message[2:] == ["    struct Attrs { alfa: f32 }", "                   ^"]


def test_a_field_of_another_kind_says_what_it_was_given(failing: Try) -> None:
    text = "struct Attrs { alpha: f32 }\nfn op(x: T) -> T {\n  return x + attrs.alpha;\n}\n"

    message = failing(text, attrs={"alpha": "x"}).splitlines()

    assert message[0].startswith(f"Shaky: <inline in {shown_file(__file__)}:")
    assert message[0].endswith(
        ">:1:16: shader field 'alpha' is a number; alpha is 'x'. Return the field from params=."
    )
    assert message[1:] == ["    struct Attrs { alpha: f32 }", "                   ^^^^^"]


def test_a_file_that_is_missing_lists_where_it_was_looked_for(failing: Try) -> None:
    message = failing("nowhere.wgsl")

    assert message.startswith("shader file 'nowhere.wgsl' is missing; tried ")
    assert str(Path(__file__).parent / "nowhere.wgsl") in message


def test_an_include_points_at_its_line_with_the_import_to_write(failing: Try) -> None:
    message = failing(
        '#include "include/safe_math.wgsl"\nfn op(x: T) -> T { return safe_max(x, -x); }\n'
    )

    wanted = "import wgsl_kernels::lib::safe_math::safe_max;"
    assert f":1:1: #include is not known; write '{wanted}' in its place." in message
    assert '    #include "include/safe_math.wgsl"\n    ^' in message


def test_a_text_that_defines_no_kernel_says_what_one_is(failing: Try) -> None:
    assert "defines no kernel; want fn op (a map), fn init and fn combine" in failing(
        "fn half(x: f32) -> f32 {\n  return 0.5 * x;\n}\n"
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("syntax", "fn op(x: T) -> T { return x; /* for y"),
        ("syntax", "fn op(x: T) -> T { return (x; }"),
        ("syntax", "fn op(x: T) -> T { return x; } }"),
        ("syntax", "fn op(x: T) -> T { return half(x); } fn half( -> T { return 0.5; }"),
        ("unknown-name", "fn op(x: T) -> T { return other; } // is never closed"),
        ("unknown-field", "struct Attrs { a: f32 } fn op(x: T) -> T { return attrs.a; }"),
        ("no-kernel", "fn half(x: f32) -> f32 { return 0.5 * x; }"),
        (
            "does-not-compile",
            "const a = 1; const a = 2; fn op(x: T) -> T { return x; } // never closed",
        ),
        ("wrong-type", "fn op(x: f32) -> f32 { return 1u; } // is never closed"),
    ],
)
def test_an_error_has_a_code_that_is_not_read_out_of_its_text(code: str, text: str) -> None:
    try:
        wk.wgsl_kernel("Shaky", f"{text}\n", override=True)
        with wk.use_backend("webgpu"), pytest.raises(wk.ShaderError) as caught:
            wk.engine().run_kernel("Shaky", {"x": wk.tensor([1.0, 2.0])})
    finally:
        wk.unregister_kernel("Shaky", "webgpu")

    assert caught.value.code == code, str(caught.value)


def test_a_shader_of_its_own_main_asks_for_a_signature(failing: Try) -> None:
    text = "@compute @workgroup_size(1)\nfn main() {\n}\n"

    assert failing(text, wk.ArgumentError) == (
        "Shaky: a free shader needs a signature that gives its output's shape; "
        "declare one with @signature('Shaky')."
    )


def test_inputs_that_the_op_does_not_take_are_counted(failing: Try) -> None:
    text = "fn op(a: T, b: T) -> T {\n  return a + b;\n}\n"

    assert failing(text, wk.ArgumentError) == "Shaky: input 'x' is unknown; known: a, b."
