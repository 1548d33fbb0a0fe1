"""Odd arguments to every public function: a valid result or an error of ours, alike on both.

What is allowed besides is Python's own TypeError for a call that does not fit a function's
parameters (an unknown keyword, one too many, one missing): it names function and argument.
"""

import gc
import os
import random
import re
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.modes import ALL_MODES, ENGINE
from tests.odd_calls import ELSEWHERE, Call, all_calls, public
from tests.odd_values import ODD, Make

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.scopes import tensors_in

CALLS = all_calls()
SHARE = 6 if ALL_MODES else 2
"""Odd calls of each argument: those of all modes together are more than 10,000."""
MODE = ENGINE + "".join(
    os.environ.get(f"WGSL_KERNELS_{name}", "") for name in ("LIMITS", "ADAPTER")
)
"""Each mode tries values of its own."""
LIMIT = 64 << 20

Outcome = tuple[Any, ...]


def _trials(call: Call) -> Iterator[tuple[list[Make], dict[str, Make], str]]:
    """Yield arguments of which one is odd, and some of which two or three are."""
    chance = random.Random(call.name + MODE)
    places: list[int | str] = [*range(len(call.args)), *call.kwargs]
    for place in places:
        values = list(range(len(ODD)))
        chance.shuffle(values)
        for number in range(SHARE):
            args, kwargs = list(call.args), dict(call.kwargs)
            odd = [place] if number % 4 else chance.sample(places, min(len(places), 3))
            used = []
            for index, one in enumerate(odd):
                which = values[(number + index * 7) % len(values)]
                used.append(f"{one}=odd[{which}]")
                if isinstance(one, int):
                    args[one] = ODD[which]
                else:
                    kwargs[one] = ODD[which]
            yield args, kwargs, f"{call.name}({', '.join(used)})"


def _outcome(call: Call, args: list[Make], kwargs: dict[str, Make], through: bool) -> Outcome:
    """Return what a call gives on the backend in force: values, or an error's type and words."""
    wk.random.seed(1)
    given = [make() for make in args]
    named = {name: make() for name, make in kwargs.items()}
    try:
        if through and given:
            result = wk.grad(lambda x: _floats(call.f(x, *given[1:], **named)))(given[0])
        else:
            result = call.f(*given, **named)
        return "gives", [_seen(one) for one in tensors_in(result)]
    except wk.OutOfMemoryError:  # the words name the backend and what it holds
        return "raises", wk.OutOfMemoryError
    except wk.WgslKernelsError as error:
        return "raises", type(error), re.sub(r"0x[0-9a-f]+", "0x", str(error))
    except OSError:  # of a function that refuses to be called; what it raises is the user's own
        if not any(type(one).__name__ == "Refusing" for one in (*given, *named.values())):
            raise
        return "raises", OSError
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            return "raises", TypeError
        raise


def _floats(result: Any) -> Any:
    return next(iter(tensors_in(result)), result)


def _seen(one: wk.Tensor) -> tuple[Any, ...]:
    return one.shape, one.dtype, one.tolist() if one.dtype == "string" else one.numpy()


def _are_alike(cpu: Outcome, webgpu: Outcome) -> bool:
    if webgpu[0] == "raises" and "cannot live on backend" in str(webgpu):
        return True  # float64 does on cpu, and what that says of the value is another thing
    if webgpu == ("raises", wk.OutOfMemoryError) and cpu[0] == "gives":
        return True  # the limit counts what a backend holds meanwhile, which unfused is more
    if cpu[1] is webgpu[1] is wk.IndexOutOfRange:
        # which a device finds later, when it is known by its kernel and what the shader has alone
        return _found_out_of_range(cpu) == _found_out_of_range(webgpu)
    if cpu[0] == "raises" or webgpu[0] == "raises":
        return bool(cpu == webgpu)
    return len(cpu[1]) == len(webgpu[1]) and all(map(_is_alike, cpu[1], webgpu[1]))


def _found_out_of_range(outcome: Outcome) -> str:
    """Return the input and its value that a message names, or the whole of another message."""
    found = re.search(r"\w+ holds -?\d+, which is out of range", outcome[2])
    return outcome[2] if found is None else found[0]


def _is_alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if a[:2] != b[:2] or a[1] == "string":
        return bool(a == b)
    # a number beyond the dtype is an infinity, of which a formula in another order makes NaN
    finite = np.isfinite(a[2]) | np.isfinite(b[2])
    return bool(np.allclose(a[2][finite], b[2][finite], rtol=1e-3, atol=1e-5, equal_nan=True))


def _canary() -> list[Any]:
    """Return what some right calls give whose plans odd ones may have broken."""
    x = wk.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    made = [
        wk.ones((1,)) + wk.zeros((1,)), wk.reshape(x, (3, 2)), wk.broadcast_to(x[:1], (2, 3)),
        wk.sum(x, axis=1), wk.eye(2), wk.arange(3), wk.tile(x, (1, 2)), wk.take(x, [1], axis=0),
    ]  # fmt: skip
    return [(one.shape, list(map(type, one.shape)), one.tolist()) for one in made]


def _failures(call: Call) -> tuple[list[str], int]:
    found: list[str] = []
    count = 0
    for args, kwargs, said in _trials(call):
        count += 1
        outcomes: list[Outcome] = []
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend), wk.config.using(memory_limit=LIMIT, fallback="silent"):
                try:
                    outcomes.append(_outcome(call, args, kwargs, count % 7 == 6))
                except Exception as error:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
                    found.append(f"{backend}: {said}: {type(error).__name__}: {error} at {place}")
                    break
                if outcomes[-1][0] == "raises" and _canary() != RIGHT[backend]:
                    found.append(f"{backend}: {said} broke a right call")
        if len(outcomes) == 2 and not _are_alike(*outcomes):
            found.append(f"{said}: cpu {outcomes[0]!r:.300} but webgpu {outcomes[1]!r:.300}")
    return found, count


RIGHT: dict[str, list[Any]] = {}


@pytest.fixture(scope="module", autouse=True)
def _right_values() -> Iterator[None]:
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            RIGHT[backend] = _canary()
    yield
    gc.collect()


def test_every_public_function_is_tried_or_said_to_be_tried_elsewhere() -> None:
    tried = {call.name.partition(".")[0] for call in CALLS}
    apart = [name for names in ELSEWHERE.values() for name in names.split()]
    others = {"value_and_grad", "value_and_grads"}  # which share all they check with grad and grads

    assert set(public()) <= tried | set(apart) | others
    assert len(apart) == len(set(apart))


def test_all_modes_together_make_ten_thousand_odd_calls() -> None:
    modes = 6
    arguments = sum(len(call.args) + len(call.kwargs) for call in CALLS)

    assert arguments * 6 * modes >= 10_000
    assert sum(1 for call in CALLS for _ in _trials(call)) == arguments * SHARE


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_the_calls_are_right_before_an_argument_is_replaced(backend: str) -> None:
    with wk.use_backend(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in CALLS:
            named = {name: make() for name, make in call.kwargs.items()}
            call.f(*[make() for make in call.args], **named)


@pytest.mark.parametrize("backend", ["webgpu"])  # and beside it cpu: what they say is compared
@pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])
def test_odd_arguments_give_a_result_or_an_error_of_ours(call: Call, backend: str) -> None:
    assert backend == "webgpu"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = _failures(call)
    assert found == [], "\n".join(found)
