"""What a name or a keyword of another library, or a slip of the fingers, is answered with."""

from __future__ import annotations

import linecache
import operator
import re
import sys
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.call_notes import note_for
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.ops.names import foreign_calls, foreign_names

if TYPE_CHECKING:
    from collections.abc import Callable

MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: operator.setitem(wk.ones(2), 0, 1.0), TypeError, r"x.at\[index\].set"),  # type: ignore[call-overload]  # a habit
    (lambda: getattr(wk, "cat"), AttributeError, "Use wk.concat"),  # noqa: B009  a wrong name
    (lambda: getattr(wk, "sofmax"), AttributeError, "'softmax'"),  # noqa: B009  a wrong name
    (lambda: getattr(wk.ones(2), "sumn"), AttributeError, "'sum'"),  # noqa: B009  a wrong name
    (lambda: getattr(wk.ones(2), "view"), AttributeError, "x.reshape"),  # noqa: B009  a wrong name
    (lambda: wk.ones(2, dtype="float23"), wk.DTypeError, "mean 'float32'"),  # type: ignore[arg-type]  # a wrong name
    (lambda: wk.train.Adam(lr=0.1), wk.ArgumentError, "Use learning_rate"),  # type: ignore[call-arg]  # a wrong name
    (lambda: wk.train.SGD(learning_rat=1), wk.ArgumentError, "'learning_rate'"),  # type: ignore[call-arg]  # a wrong name
    (lambda: wk.train.SGD(0.1, momentum=0.9), wk.ArgumentError, "Use wk.train.Momentum"),  # type: ignore[call-arg]  # a wrong name
    (lambda: wk.train.Adam(wk.nn.dense(3, 2)), wk.ArgumentError, r"minimize\(f, model\)"),
    (lambda: wk.zeros(2, 3), wk.DTypeError, r"A shape is one argument: \(2, 3\)"),  # type: ignore[arg-type]  # a habit
    (lambda: wk.max_pool(wk.ones((1, 4, 4, 1)), 2, pad="SAME"), wk.ArgumentError, "'same'\\?"),  # type: ignore[arg-type]  # a habit
    (lambda: wk.ones((2, 3)).cumsum(), wk.ArgumentError, r"x has 2 axes; .*x.reshape\(-1\)"),
]


@pytest.mark.parametrize(("use", "error", "words"), MISTAKES)
def test_a_wrong_name_says_what_is_meant(
    use: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        use()


NAMES = [
    (wk, "interp", "Use np.interp(x, xp, fp)"),
    (wk, "compile", "Use wk.capture(f)."),
    (wk, "set_default_device", "Use wk.set_backend(name)."),
    (wk, "device_count", "Use wk.backends()."),
    (wk, "max_pool2d", "Use wk.max_pool(x, filter_size)."),
    (wk.ones(1), "flat", "Use x.reshape(-1)."),
    (wk.train, "adam", "Use wk.train.Adam(learning_rate)."),
    (wk.train, "sgd", "Use wk.train.SGD(learning_rate)."),
    (wk, "isclose", "Use wk.abs(a - b) <= tolerance, or np.allclose(a, b)."),
    (wk, "image", "Use wk.resize_bilinear"),
    (wk, "losses", "Use wk.mean_squared_error"),
    (wk, "median", "Use wk.sort(x)"),
    (wk, "int64", "Use wk.int32"),
    (wk.linalg, "norm", "Use wk.linalg.vector_norm(x)"),
    (wk, "lstsq", "Use wk.linalg.lstsq(a, b)"),
    (wk.random, "normal", "Use wk.random_normal(shape)."),
    (wk.random, "permutaton", "Did you mean 'permutation'?"),
    (wk.linalg, "nrom", "Use wk.linalg.vector_norm(x)"),
    (wk.linalg, "solvee", "Did you mean 'solve'?"),
    (wk.fft, "ftt", "Did you mean 'fft'?"),
    (wk.tfjs, "matMul", "Did you mean 'mat_mul'?"),
    (wk.fft, "fft2", "Use wk.fft.fftn(x, axes=(-2, -1))."),
    (wk.train, "CosineAnnealingLR", "Use wk.train.CosineDecay."),
    (wk.testing, "check_gradent", "Did you mean 'check_gradient'?"),
    (wk.nn, "Linear", "Use wk.nn.dense(inputs, outputs)."),
    (wk.nn, "linear", "Use wk.nn.dense(inputs, outputs)."),
    (wk.nn, "attention", "Use wk.nn.multi_head_attention(features, heads)"),
    (wk.nn, "mha", "Use wk.nn.multi_head_attention(features, heads)"),
    (wk.nn, "relu", "Use wk.relu, a function."),
    (wk.nn, "flatten", "Use lambda x: x.reshape(len(x), -1)"),
    (wk.nn, "max_pool", "Use wk.max_pool(x, filter_size)"),
    (wk.nn, "cross_entropy", "Use wk.sparse_softmax_cross_entropy(labels, logits)."),
    (wk, "kl_divergence", "Use wk.sum(p * "),
    (wk.ones(1), "cuda", "Use x.to_device('webgpu')."),
    (wk.ones(1), "to", "Use x.astype(dtype), or x.to_device(name)."),
    (wk.ones(1), "view", "Use x.reshape(shape)."),
    (wk.ones(1), "mul", "Use x * y."),
    (wk.ones(1), "unique", "Use wk.unique(x)."),
    (wk.ones(1), "requires_grad_", "Use wk.variable, or wk.grad."),
    (wk.train.SGD(0.1), "lr", "Use optimizer.learning_rate."),
    (wk.train.SGD(0.1), "zero_grad", "gradients are values"),
    (wk.train.SGD(0.1), "minimise", "Did you mean 'minimize'?"),
]


@pytest.mark.parametrize(("where", "name", "words"), NAMES)
def test_names_of_others_are_answered_with_ours(where: Any, name: str, words: str | None) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(where, name)
    said = str(caught.value)
    if words is None:
        assert said.endswith(f"has no attribute {name!r}.")
    else:
        assert words in said


def test_python_adds_no_guess_to_ours() -> None:
    for where, name in [(wk, "matmull"), (wk.fft, "fft2"), (wk.ones(1), "sumn"),
                        (wk.train.SGD(0.1), "minimise"), (wk.nn, "densee")]:  # fmt: skip
        with pytest.raises(AttributeError) as caught:
            getattr(where, name)
        (line,) = traceback.format_exception_only(caught.value)
        assert line == f"AttributeError: {caught.value}\n"
        assert caught.value.name == name


def test_what_is_suggested_is_there() -> None:
    """Every ``wk.…`` among the words of the tables is a name of the package."""
    tables = [
        foreign_names.functions(),
        foreign_names.METHODS,
        foreign_calls.KEYWORDS,
        foreign_names.OPTIMIZERS,
    ]
    tables += [foreign_calls.ARGUMENTS, foreign_calls.CALLS, foreign_calls.CALLED]
    for table in (*tables, *foreign_names.SPACES.values()):
        for written in table.values():
            for path in re.findall(r"wk((?:\.\w+)+)", written):
                operator.attrgetter(path[1:])(wk)
            for method in re.findall(r"\bx\.(\w+)", written):
                assert hasattr(wk.Tensor, method), written
    for table, owner in ((foreign_names.functions(), wk), (foreign_names.METHODS, wk.Tensor)):
        assert [name for name in table if name in dir(owner)] == []


@pytest.mark.parametrize(
    ("call", "note"),
    [
        ("wk.ones((2, 3)).sum(dim=0)", "wk.sum: Use axis."),
        ("wk.std(wk.ones(3), ddof=1)", "wk.std: Use correction."),
        ("wk.mean(wk.ones(3), keepdim=True)", "wk.mean: Use keepdims."),
        ("wk.softmax(wk.ones(3), axes=0)", "wk.softmax: Did you mean 'axis'?"),
        ("print(ends='')", ""),
        ("wk.dropout(wk.ones(3), p=0.5)", "wk.dropout: Use rate."),
        ("wk.linalg.inv(wk.eye(2), out=1)", "wk.linalg.inv: Use the result"),
        ("wk.conv2d(x, x, 1, 'same')", "wk.conv2d: Give strides= and pad= by keyword."),
        ("wk.leaky_relu(wk.ones(3), 0.1)", "wk.leaky_relu: Give alpha= by keyword."),
        ("wk.where(wk.ones(2) > 0)", "wk.where: Use wk.nonzero(mask)"),
        ("wk.round(wk.ones(2), 2)", "wk.round: Use round(x, decimals)"),
        ("wk.Tensor([1.0])", "wk.Tensor: Use wk.tensor(values)."),
        ("wk.Variable([1.0])", "wk.Variable: Use wk.variable(values)."),
        ("x.size()", "size is an attribute here, not a method. Use x.size"),
        (
            "[x, wk.train.Adam(0.1).step()]",
            "step is an attribute here, not a method. Use optimizer.",
        ),
        ("(lambda é: x.shape(1))(0)", "shape is an attribute here, not a method. Use x.shape."),
        ("x.tolist()()", ""),
    ],
)
def test_a_note_says_how_a_refused_call_is_written(call: str, note: str) -> None:
    linecache.cache[call] = (len(call), None, [call], call)
    with pytest.raises(TypeError) as caught:
        eval(compile(call, call, "eval"), {"wk": wk, "x": wk.ones(2)})

    said = note_for(caught.value)
    assert said.startswith(note)
    assert bool(said) == bool(note)


def test_errors_that_nobody_catches_are_printed_with_the_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(TypeError) as caught:
        wk.ones(2).sum(dim=0)  # type: ignore[call-arg]  # a habit
    sys.excepthook(TypeError, caught.value, caught.value.__traceback__)
    sys.excepthook(TypeError, caught.value, caught.value.__traceback__)

    printed = capsys.readouterr().err
    assert printed.count("unexpected keyword argument 'dim'\nwk.sum: Use axis.\n") == 2


def test_a_gradient_with_a_slip_in_it_is_told_the_name_that_is_meant() -> None:
    before = take_snapshot()
    try:
        wk.signature("Scaled")(lambda x, /, *, alpha: x.like())
        wk.cpu_kernel("Scaled")(lambda x, *, alpha: x * alpha)

        def slope() -> None:
            with wk.use_backend("cpu"):
                f = partial(wk.engine().run_kernel, "Scaled", attrs={"alpha": 2.0})
                wk.grad(lambda x: f({"x": x}))(wk.tensor([1.0]))

        wk.gradient("Scaleds")(lambda dy, *, alpha: dy * alpha)
        with pytest.raises(wk.GradientNotFound, match="there is one of 'Scaleds'"):
            slope()
        wk.gradient("Scaled")(lambda dy, alphas: dy * alphas)
        with pytest.raises(wk.ArgumentError, match=r"'alphas' names nothing.*Did you mean 'alpha'"):
            slope()
        wk.gradient("Scaled", override=True)(lambda dy, alpha: {"xs": dy * alpha})
        with pytest.raises(wk.ArgumentError, match=r"gave 'xs'; the inputs are x\."):
            slope()
    finally:
        before.restore()
