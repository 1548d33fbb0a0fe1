"""Right calls of every public function, whose arguments tests replace by odd ones."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tests.odd_compositions import COMPOSED, METHODS, uncalled
from tests.odd_images import PLACED, einsum
from tests.odd_windows import OWN as WINDOWS
from tests.odd_windows import images

import wgsl_kernels as wk
from wgsl_kernels import train
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.tensors.scopes import tensors_in


class Call(NamedTuple):
    """A function and the right arguments for it; each argument is made when it is called."""

    name: str
    f: Callable[..., Any]
    args: tuple[Callable[[], Any], ...]
    kwargs: dict[str, Callable[[], Any]]


def _matrix() -> wk.Tensor:
    return wk.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])


def _codes() -> wk.Tensor:
    return wk.tensor([[1, 2], [3, 255]], dtype="uint8")


def _is(value: Any) -> Callable[[], Any]:
    return lambda: value


_BY_NAME: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(["x", "a", "b", "x1", "x2", "labels", "predictions", "logits"], _matrix),
    **dict.fromkeys(["values", "dy", "params_dense_values"], _matrix),
    **dict.fromkeys(["real", "imag", "alpha", "tensor", "obj"], _matrix),
    **dict.fromkeys(["arrays", "inputs", "tensors"], lambda: [_matrix(), _matrix()]),
    "backend": _is("cpu"), "device": _is(None), "copy": _is(True), "endpoint": _is(True),
    "include_initial": _is(False), "from_": _is("int32"), "to": _is("float32"),
    "type": _is("float32"), "kind": _is("numeric"),
    "weights": lambda: wk.tensor([[1.0], [2.0]]),
    "axis": _is(0), "axes": _is((1, 0)), "keepdims": _is(False), "dtype": _is("float32"),
    "shape": _is((3, 2)), "fill_value": _is(2.5), "n_rows": _is(2), "n_cols": _is(3), "k": _is(1),
    "batch_shape": _is((2,)), "indices": lambda: wk.tensor([0, 1]), "depth": _is(3),
    "on_value": _is(1), "off_value": _is(0), "start": _is(0), "stop": _is(4), "step": _is(1),
    "num": _is(5), "paddings": _is(((1, 0), (0, 2))), "constant_value": _is(0.5),
    "mode": _is("constant"),
    "repetitions": _is((1, 2)), "delta": _is(1.0), "reduction": _is("mean"),
    "label_smoothing": _is(0.1), "filter_size": _is(2), "strides": _is(1), "pad": _is("valid"),
    "data_format": _is("NHWC"), "dilations": _is(1), "dilation": _is(1),
    "dim_rounding_mode": _is(None), "groups": _is(1),
    "activation": _is("relu"), "leakyrelu_alpha": _is(0.2),
    "transpose_a": _is(False), "transpose_b": _is(True), "batch_dims": _is(0), "begin": _is((0, 1)),
    "size": _is((1, 2)), "end": _is((2, 3)), "num_or_size_splits": _is(2), "sorted": _is(True),
    "largest": _is(False),
    "correction": _is(1.0), "min": _is(0.0), "max": _is(1.0), "mean": _is(0.0), "std_dev": _is(1.0),
    "minval": _is(0.0), "maxval": _is(1.0), "variance_epsilon": _is(0.001), "epsilon": _is(0.001),
    "exclusive": _is(False), "reverse": _is(True), "num_segments": _is(2),
    "segment_ids": lambda: wk.tensor([0, 1]), "skip_empty": _is(True),
    "delimiter": _is(" "), "condition": lambda: wk.tensor([[True], [False]]),
    "params_nested_splits": lambda: [wk.tensor([0, 1, 2])],
    **dict.fromkeys(
        ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"], _is(0)
    ),
    **dict.fromkeys(["bias", "prelu_activation_weights", "output_ragged_rank", "name"], _is(None)),
    "offset": _is(None), "scale": _is(None), "trainable": _is(False),
    "align_corners": _is(False), "half_pixel_centers": _is(True), "depth_radius": _is(1),
    "beta": _is(0.5), "descending": _is(False), "stable": _is(True), "sorter": _is(None),
    "source": lambda: np.ones((2, 2), "f4"), "tape": _is(None), "learning_rate": _is(0.1),
    "momentum": _is(0.9), "use_nesterov": _is(True), "beta1": _is(0.9), "beta2": _is(0.99),
    "generator": _is(None), "n": _is(2),
}  # fmt: skip
_STRIDED: dict[str, Callable[[], Any]] = {"strides": _is((1, 1))}
_COMPLEX: dict[str, Callable[[], Any]] = {"input": lambda: wk.tensor([1j, 2.0, 3.0])}
_BOOLS = dict.fromkeys("xab", lambda: wk.tensor([True, False]))
_WHOLES = dict.fromkeys("xab", lambda: wk.tensor([1, 2, 5]))
_SEGMENTS: dict[str, Callable[[], Any]] = {
    "data": _matrix,
    "segment_ids": lambda: wk.tensor([0, 1]),
}
_BOXES: dict[str, Callable[[], Any]] = {
    "boxes": lambda: wk.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1]]),
    "scores": lambda: wk.tensor([0.5, 0.75]),
    "max_output_size": _is(2),
    "iou_threshold": _is(0.5),
    "score_threshold": _is(0.1),
    "soft_nms_sigma": _is(0.5),
    "pad_to_max_output_size": _is(True),
}
_ROW: dict[str, Callable[[], Any]] = dict.fromkeys(("x1", "x2"), lambda: wk.tensor([1.0, 2.0, 3.0]))
_OWN: dict[str, dict[str, Callable[[], Any]]] = {
    **WINDOWS, "strided_slice": _STRIDED,
    "batch_to_space_nd": {
        "x": lambda: wk.ones((4, 1, 2, 1)), "block_shape": _is((2, 2)),
        "crops": _is(((0, 1), (0, 0))),
    },
    "space_to_batch_nd": {
        "x": images, "block_shape": _is((2, 2)), "paddings": _is(((0, 0), (2, 0))),
    },
    "depth_to_space": {"x": lambda: wk.ones((1, 2, 1, 8)), "block_size": _is(2)},
    "band_part": {"num_lower": _is(1), "num_upper": _is(0)}, "flip_left_right": {"image": images},
    "broadcast_args": dict.fromkeys(("s0", "s1"), lambda: wk.tensor([2, 1])),
    "gather_nd": {"indices": lambda: wk.tensor([[0, 1]])},
    "scatter_nd": {
        "indices": lambda: wk.tensor([[0], [1]]), "updates": _matrix, "shape": _is((3, 3)),
    },
    "tensor_scatter_update": {"indices": lambda: wk.tensor([[1], [0]]), "updates": _matrix},
    "sparse_to_dense": {
        "sparse_indices": lambda: wk.tensor([2, 0]), "sparse_values": lambda: wk.tensor([0.5, 2.0]),
        "output_shape": _is((3,)), "default_value": _is(0.5),
    },
    "bincount": {
        "x": lambda: wk.tensor([1, 1, 0]), "weights": lambda: wk.tensor([0.5, 1.0, 2.0]),
        "size": _is(2),
    },
    "dense_bincount": {
        "x": lambda: wk.tensor([[1, 1, 0]]), "weights": lambda: wk.tensor([[0.5, 1.0, 2.0]]),
        "size": _is(2), "binary_output": _is(False),
    },
    "searchsorted": {"x1": lambda: wk.tensor([1.0, 2.0, 4.0]), "side": _is("right")},
    "lower_bound": {"sorted_sequence": lambda: wk.tensor([[0.0, 1.0], [2.0, 3.0]])},
    "upper_bound": {"sorted_sequence": lambda: wk.tensor([[0.0, 1.0], [2.0, 3.0]])},
    "resize_bilinear": {"images": images}, "resize_nearest_neighbor": {"images": images},
    "local_response_normalization": {"x": images, "bias": _is(1.0), "alpha": _is(1.0)},
    "ragged_range": {
        "starts": lambda: wk.tensor([0, 5]), "limits": lambda: wk.tensor([3, 1]),
        "deltas": lambda: wk.tensor([1, -2]),
    },
    "sparse_fill_empty_rows": {
        "indices": lambda: wk.tensor([[1, 0]]), "values": lambda: wk.tensor([2.5]),
        "dense_shape": lambda: wk.tensor([3, 2]), "default_value": _is(0.5),
    },
    "sparse_reshape": {
        "input_indices": lambda: wk.tensor([[1, 2]]), "input_shape": lambda: wk.tensor([2, 3]),
        "new_shape": lambda: wk.tensor([3, 2]),
    },
    "sparse_segment_mean": _SEGMENTS, "sparse_segment_sum": _SEGMENTS,
    "static_regex_replace": {
        "input": lambda: wk.tensor(["a b", "c"]), "pattern": _is("[a-b]"), "rewrite": _is("$&"),
        "replace_global": _is(True),
    },
    "string_to_hash_bucket_fast": {
        "input": lambda: wk.tensor(["a b", "c"]), "num_buckets": _is(7),
    },
    "string_n_grams": {
        "data": lambda: wk.tensor(["a", "b", "c"]), "data_splits": lambda: wk.tensor([0, 2, 3]),
        "separator": _is("|"), "n_gram_widths": _is((2,)), "left_pad": _is("l"),
        "right_pad": _is("r"), "pad_width": _is(-1), "preserve_short_sequences": _is(False),
    },
    "dilation2d": {"x": images, "filter": lambda: wk.ones((2, 2, 2))},
    "non_max_suppression": _BOXES, "non_max_suppression_with_score": _BOXES,
    "non_max_suppression_padded": _BOXES,
    "meshgrid": {"indexing": _is("ij")}, "empty": {"shape": _is((2, 3))},
    "tensordot": {"x2": lambda: wk.ones((2, 3)), "axes": _is(2)}, "vecdot": {"axis": _is(-1)},
    "diff": {"n": _is(1), "prepend": _is(None), "append": _is(None), "axis": _is(-1)},
    "mirror_pad": {"mode": _is("reflect")}, "repeat": {"repeats": _is(2)},
    "roll": {"shift": _is(1)},
    "moveaxis": {"source": _is(0), "destination": _is(-1)},
    "take_along_axis": {"indices": lambda: wk.tensor([[0, 1, 1]])},
    "fft": _COMPLEX, "ifft": _COMPLEX,
    "logical_and": _BOOLS, "logical_xor": _BOOLS, "bitwise_and": _WHOLES, "bitwise_or": _WHOLES,
    "bitwise_xor": _WHOLES, "bitwise_invert": _WHOLES, "bitwise_left_shift": _WHOLES,
    "bitwise_right_shift": _WHOLES, "logical_or": _BOOLS, "logical_not": _BOOLS, "all": _BOOLS,
    "any": _BOOLS, "dot": _ROW, "outer": _ROW, "step": {"alpha": _is(0.5)},
    "leaky_relu": {"alpha": _is(0.5)}, "string_split": {"input": lambda: wk.tensor(["a b", "c"])},
    "batch_norm": {
        "mean": lambda: wk.zeros((3,)), "variance": lambda: wk.ones((3,)),
    },
    "sparse_softmax_cross_entropy": {
        "labels": lambda: wk.tensor([0, 1]), "ignore_index": _is(1), "weights": _is(None),
    },
    "gelu": {"approximate": _is(True)},
    "scaled_dot_product_attention": {
        "mask": _is(None), "causal": _is(True), "scale": _is(0.5),
        **dict.fromkeys(["query", "key", "value"], lambda: wk.ones((2, 3, 4))),
    },
    "matmul": {"transpose_b": _is(True)}, "iinfo": {"type": _is("int32")},
    "unique": {"x": lambda: wk.tensor([1, 2, 1])},
    "unbroadcast": {"shape": _is((1, 3))}, "tensor": {"shape": _is((3, 2))},
    "imag": {"x": lambda: wk.tensor([1j, 2.0])}, "real": {"x": lambda: wk.tensor([1j, 2.0])},
    "broadcast_to": {"shape": _is((2, 2, 3))}, "squeeze": {"x": lambda: wk.ones((1, 3))},
    "variable": {"values": _matrix}, "get_gradient": {"name": _is("Add")},
    "get_kernel": {"name": _is("Add")},
    "widen": {"x": _codes, "kind": _is("uint4"), "size": _is(3)},
    "matmul_nbits": {
        "a": lambda: wk.ones((2, 3)), "b": _codes, "scales": lambda: wk.ones((2, 2)),
        "zero_points": _is(7), "kind": _is("uint4"), "block_size": _is(2), "size": _is(3),
    },
    "quantize_nbits": {"bits": _is(4), "block_size": _is(2), "symmetric": _is(True)},
    "rotary_angles": {"length": _is(3), "size": _is(4), "base": _is(100.0)},
    "rotary_embedding": {
        **dict.fromkeys(["cos", "sin"], lambda: wk.ones((3, 1))), "axis": _is(-2),
        "positions": lambda: wk.tensor([2, 0]), "interleaved": _is(True),
    },
}  # fmt: skip

ELSEWHERE = {
    "registers for the whole process": (
        "cpu_kernel wgsl_kernel register_backend register_kernel register_gradient gradient "
        "no_gradient op signature unregister_kernel unregister_gradient copy_registered_kernels"
    ),
    "changes the process's backend": "set_backend",
    "takes tensors and dtypes in any number": "result_type run",
    "takes nothing": (
        "engine backends get_backend coverage ledger gradients_in_force memory flush synchronize "
        "reload_kernels"
    ),
    "takes a function or a model, which is called": "warmup override_gradient to_scipy summary",
    "stands before a block": "shadow",
    "reads or writes files": "save load load_weights draw from_pixels",
    "takes texts and folders of shaders": "link shader_package",
}
"""Public functions that are not called here, by reason; suites of their own have their errors."""


def public() -> dict[str, Callable[..., Any]]:
    """Return the public functions under their first names."""
    found: dict[int, str] = {}
    for name, value in vars(wk).items():
        if not name.startswith("_") and inspect.isfunction(value):
            found.setdefault(id(value), name)
    return {name: getattr(wk, name) for name in found.values()}


def _call(name: str, f: Callable[..., Any]) -> Call:
    own = _OWN.get(name) or COMPOSED.get(name) or PLACED.get(name, {})
    args: list[Callable[[], Any]] = []
    kwargs: dict[str, Callable[[], Any]] = {}
    for one in inspect.signature(f).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            continue
        make = own.get(one.name) or _BY_NAME.get(one.name)
        if make is None:  # what may be left out is right as it is
            assert one.default is not one.empty, f"{name}: give _BY_NAME a right {one.name!r}"
            make = _is(one.default)
        if one.kind is one.KEYWORD_ONLY:
            kwargs[one.name] = make
        else:
            args.append(make)
    return Call(name, f, tuple(args), kwargs)


def _variable() -> wk.Variable:
    return wk.variable([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]], name="w")


def _stepped(kind: Callable[..., Any], what: str, given: Any) -> Any:
    made = train.Momentum(0.1, 0.9) if kind is train.Momentum else kind(0.1)
    w = _variable()
    if what == "rate":
        made.learning_rate = given
        return made.learning_rate
    if what == "pairs":
        made.apply_gradients(given)
    elif what == "gradient":
        made.apply_gradients([(given, w)])
    elif what == "state":
        made.load_state_dict(given)
    else:
        made.minimize(lambda: wk.sum(w * w), given)
    return w


def _config(name: str, value: Any) -> Any:
    with wk.config.using(**{name: value}):
        return None


def _on_backend(name: Any) -> Any:
    with wk.use_backend(name):
        return wk.ones((2,))


_METHODS: dict[str, tuple[Callable[..., Any], tuple[Callable[[], Any], ...]]] = {
    "x[i]": (lambda i: _matrix()[i], (_is((0, slice(0, 2))),)),
    "x[i, j]": (lambda i, j: _matrix()[i, j], (_is(0), _is(slice(1, None)))),
    "x[a:b:c]": (lambda a, b, c: _matrix()[a:b:c], (_is(0), _is(2), _is(1))),
    **{
        f"x {sign} b": (f, (_matrix,))
        for sign, f in {
            "+": lambda b: _matrix() + b, "*": lambda b: _matrix() * b,
            "/": lambda b: _matrix() / b, "//": lambda b: _matrix() // b,
            "**": lambda b: _matrix() ** b, "<": lambda b: _matrix() < b,
            "@": lambda b: wk.matrix_transpose(_matrix()) @ b,
        }.items()
    },
    "assign": (lambda v: _variable().assign(v), (_matrix,)),
    "random.seed": (lambda n: wk.random.seed(n), (_is(3),)),
    "Adam": (train.Adam, (_is(0.1), _is(0.9), _is(0.99), _is(1e-7))),
    "SGD": (train.SGD, (_is(0.1),)),
    "Momentum": (train.Momentum, (_is(0.1), _is(0.9), _is(True))),
    **{
        f"{kind.__name__}.{what}": (
            lambda given, kind=kind, what=what: _stepped(kind, what, given), (_is(None),)
        )
        for kind in (train.Adam, train.SGD, train.Momentum)
        for what in ("gradient", "variables")
    },
    **{
        f"{kind.__name__}.rate": (
            lambda given, kind=kind: _stepped(kind, "rate", given), (_is(0.5),)
        )
        for kind in (train.Adam, train.SGD, train.Momentum)
    },
    "SGD.pairs": (lambda given: _stepped(train.SGD, "pairs", given), (list,)),
    "Adam.state": (
        lambda given: _stepped(train.Adam, "state", given),
        (lambda: train.Adam(0.1).state_dict(),),
    ),
    **{
        f"config.{name}": (lambda v, name=name: _config(name, v), (_is(right),))
        for name, right in {
            "fusion": "never", "fallback": "silent", "deterministic": True, "memory_limit": 1 << 26,
            "check_numerics": False, "small_ops": "host", "tuning": "off",
        }.items()
    },
    "grad": (
        lambda f, x, dy: wk.grad(uncalled(f))(x, dy=dy), (_is(wk.square), _matrix, _is(None))
    ),
    "grads": (
        lambda f, x, dy: wk.grads(uncalled(f))(x, dy=dy), (_is(wk.square), _matrix, _is(None))
    ),
    **METHODS,
    "capture": (lambda f, x: wk.capture(uncalled(f))(x), (_is(wk.square), _matrix)),
    **{
        f.__name__: (lambda given, f=f: f(given if not callable(given) else list), (_is(list),))
        for f in (wk.tidy, wk.profile, wk.time, wk.explain)
    },
    "custom_grad": (
        lambda x: wk.custom_grad(lambda y: (y * 2.0, lambda *dy: dy[0]))(x), (_matrix,)
    ),
    "variable_grads": (lambda v: wk.variable_grads(lambda: wk.sum(_matrix()), v), (_is([]),)),
    "captured": (
        lambda x: wk.capture(lambda y: list(map(wk.square, tensors_in(y))))(x), (_matrix,)
    ),
    "tape.watch": (lambda x: wk.GradientTape().watch(x), (_matrix,)),
    "tape.gradient": (
        lambda y, x, dy: wk.GradientTape().gradient(y, x, dy), (_matrix, _matrix, _matrix)
    ),
    "use_backend": (lambda name: _on_backend(name), (_is("cpu"),)),
    "spec": (lambda shape: wk.Spec(shape, "float32").shape, (_is((2, 3)),)),
}  # fmt: skip


def _again(value: Any) -> Callable[[], Any]:
    """Return what makes a tensor of the same values anew, or a list of such."""
    if isinstance(value, list):
        makes = [_again(one) for one in value]
        return lambda: [make() for make in makes]
    if value is None:
        return lambda: None
    values, dtype = value.numpy(), value.dtype
    return lambda: wk.tensor(values, dtype=dtype)


def _kernel_calls(calls: list[Call]) -> list[Call]:
    """Return a call by name of every kernel that these calls run, with the attributes they gave."""
    found: dict[str, Call] = {}

    def noted(call: Any, proceed: Any) -> Any:
        declared = find_signature(call.name)
        if declared is not None and call.name not in found:
            names = tuple(one.name for one in declared.inputs)
            pairs = zip(names, call.inputs, strict=False)
            given = {name: _again(value) for name, value in pairs if value is not None}
            given |= {
                name: _is(call.attrs.get(name, declared.attrs[name])) for name in declared.attrs
            }
            f = functools.partial(_kernel, call.name, names)
            found[call.name] = Call(f"run_kernel {call.name}", f, (), given)
        return proceed(call)

    with wk.use_backend("cpu"), wk.engine().intercept(noted):
        for call in calls:
            named = {name: make() for name, make in call.kwargs.items()}
            call.f(*[make() for make in call.args], **named)
    return list(found.values())


def _kernel(name: str, inputs: tuple[str, ...], /, **given: Any) -> Any:
    tensors = {one: given.pop(one) for one in inputs if one in given}
    return wk.engine().run_kernel(name, tensors, given)


_TAKING_FUNCTIONS = {
    *("grad", "grads", "value_and_grad", "value_and_grads", "variable_grads", "capture"),
    *("vjp", "jvp", "hvp", "jacobian", "hessian", "scan", "to_scipy"),
    *("checkpoint", "vmap"),
    *("explain", "tidy", "use_backend", "profile", "time", "custom_grad", "einsum", "run"),
}
"""Public functions that are called with a function, or any number of tensors: see below."""


def all_calls() -> list[Call]:
    """Return a right call of every public function that is to be tried, and of methods."""
    apart = {name for names in ELSEWHERE.values() for name in names.split()}
    called = {name: f for name, f in public().items() if name not in apart}
    found = [_call(name, f) for name, f in called.items() if name not in _TAKING_FUNCTIONS]
    found.append(Call("einsum", einsum, (_is("ij,kj->ik"), _matrix, _matrix), {}))
    run = Call(
        "run_kernel",
        lambda name, inputs, attrs: wk.engine().run_kernel(name, inputs, attrs),
        (_is("Sum"), lambda: {"x": _matrix()}, lambda: {"axis": 0}),
        {},
    )
    methods = [Call(name, f, args, {}) for name, (f, args) in _METHODS.items()]
    return [*found, *_kernel_calls(found), run, *methods]
