"""checkpoint: a function whose intermediates are not kept for its gradient, but computed again."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.nodes import Saved, TapeNode, output_ids
from wgsl_kernels.engine.autodiff.tape import Tape, active_tapes, recording
from wgsl_kernels.engine.capture.watch import VariableWatch
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.entries import EntryObserver, Substitution, substituted
from wgsl_kernels.engine.tensors.tensor import Tensor, next_id, with_values_of
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.trees.structure import OpaqueError, TreeDefinition
from wgsl_kernels.engine.values.attributes import function
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.values.spec import Spec

_NAME = "checkpoint"


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``f`` without its intermediates on the tape: its gradient runs it once more.

    A network of n blocks, each of them under `checkpoint`, keeps the n inputs of its blocks and, in
    the backward pass, the intermediates of one block, for about a third more time. Gradients flow
    to the arguments and to whatever else ``f`` reads, variables among it. Values are equal bit for
    bit to those without, and so are gradients, except that what one tensor gets from several places
    in ``f`` is added up before what it gets from elsewhere.

    In the second run variables have the values that they had in the first, so that random streams
    draw the same numbers; what it assigns, such as the running mean of a batch norm, is not kept.
    Nested in one another, inner functions are run again when the outer one is. Where no gradient is
    recorded, ``f`` is called as it is.

    Args:
        f: Takes anything and returns tensors, bare or in tuples, lists, dicts and dataclasses. What
            it closes over must be the same in both runs.

    Raises:
        ArgumentError: ``f`` returns something else, assigns a trainable variable, whose gradient
            would be lost, or reads or returns other tensors in its second run. Other numbers of
            Python are not seen.

    Example:
        >>> block = wk.checkpoint(lambda x: wk.sin(wk.exp(x)))
        >>> x = wk.tensor([0.5])
        >>> wk.grad(block)(x).tolist() == wk.grad(lambda x: wk.sin(wk.exp(x)))(x).tolist()
        True

    Source: Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost, 2016.
    """
    function(_NAME, "f", f)

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        call = functools.partial(f, *args, **kwargs)
        return _recorded(call) if active_tapes() else call()

    return checkpointed


def _recorded(call: Callable[[], Any]) -> Any:
    """Run a function and record it as one node on every tape that follows what it reads."""
    tapes, around = active_tapes(), context.current()
    reads, watch = _Reads(tapes), VariableWatch()
    try:
        with hidden_from_tapes(), context.changed(watch=watch), context.intercepted(reads):
            form = _form_of(call())
            reads.end(form.tensors)
        for one, _ in watch.changed.values():
            if one.trainable:
                raise ArgumentError(
                    f"{_NAME}: f assigns the trainable variable {one.name!r}, whose gradient would "
                    "be lost. Assign it outside, or make it trainable=False."
                )
        watch.commit()
    except BaseException:
        watch.put_back()
        raise
    outputs = [with_values_of(substituted(one)) for one in form.tensors]
    inputs = list(reads.followed.values())
    if inputs:
        node = TapeNode(
            _NAME,
            tuple(f"input {index}" for index in range(len(inputs))),
            [(one.id, one.spec) for one in inputs],
            output_ids(outputs),
            _SecondRun(call, reads, around, [one.spec for one in outputs]),
        )
        for tape in tapes:
            if not tape.tracked.isdisjoint(reads.followed):
                tape.record(node)
    return form.filled(outputs)


def _form_of(result: Any) -> TreeDefinition:
    try:
        return TreeDefinition(result)
    except OpaqueError as error:
        raise ArgumentError(f"{_NAME}: f is not to be run again: {error}.") from None


class _Reads(Substitution, EntryObserver):
    """What a function reads that was there before it, as it was when it was first read.

    Attributes:
        found: What kernels took for each, by its id.
        followed: Those of them through which gradients flow, by an id of their own.
        variables: The variables among them, with their arrays and whose these are.
    """

    def __init__(self, tapes: list[Tape]) -> None:
        self.found: dict[int, Saved] = {}
        self.followed: dict[int, Saved] = {}
        self.variables: list[tuple[Variable, Any, Any]] = []
        self._tapes = tapes
        self._start = self._stop = next_id()

    def instead(self, tensor: Tensor) -> Tensor:
        """Note an input of a kernel, and leave it."""
        self._note(tensor)
        return tensor

    def _note(self, tensor: Tensor) -> None:
        if tensor._id > self._start or tensor._id in self.found:
            return
        taken = substituted(tensor, around=self)
        array, driver = taken._array_and_driver()
        found = self.found[tensor._id] = Saved(taken.spec, array, driver, taken._id)
        if isinstance(taken, Variable):
            self.variables.append((taken, array, driver))
        is_followed = [tape.depends((taken,)) for tape in self._tapes]  # asks each of them
        if any(is_followed) and is_differentiable(taken.dtype):
            self.followed[taken._id] = found

    def end(self, results: list[Tensor]) -> None:
        """Take what the function returns: it may return what it has not read."""
        for one in results:
            self._note(one)
        self._stop = next_id()
        self._tapes = []  # which will hold this

    def is_known(self, tensor: Tensor, start: int) -> bool:
        """Say whether a tensor of a run that began at ``start`` is one that the first run had.

        So are those that the first run has made and left to the second, such as tables.
        """
        return (
            tensor._id > start or tensor._id in self.found or self._start < tensor._id < self._stop
        )

    def entered(self, tensor: Tensor, values: Any) -> None:
        """See what comes from the host, which belongs to the run."""

    def copied(self, tensor: Tensor, source: Tensor) -> None:
        """Note what is copied."""
        self._note(source)

    def was_read(self, tensor: Tensor) -> None:
        """Note what Python reads, which may steer it."""
        self._note(tensor)

    def assigned(self, variable: Any, value: Tensor) -> None:
        """Note what a variable is given."""
        self._note(value)


class _SecondRun:
    """Goes back through a function: runs it again under a tape of its own, then back over that."""

    def __init__(
        self, call: Callable[[], Any], reads: _Reads, around: context.Context, specs: list[Spec]
    ) -> None:
        self._call = call
        self._reads = reads
        self._specs = specs
        self._around = {
            name: getattr(around, name) for name in ("driver", "gradients", "config", "double")
        }

    def __call__(self, dys: list[Tensor | None]) -> Sequence[Any]:
        """Return the gradients of what the function has read."""
        reads, tape, watch = self._reads, Tape(watch_variables=False), VariableWatch()
        sources = [one.restore() for one in reads.followed.values()]
        watch.assign(reads.variables)
        try:
            with (
                context.changed(watch=watch, **self._around),
                recording(tape),
                context.intercepted(_AsBefore(reads)),
            ):
                for one in sources:
                    tape.watch(one)
                results = [substituted(one) for one in _form_of(self._call()).tensors]
        finally:
            watch.put_back()
        if [one.spec for one in results] != self._specs:
            raise _differs(f"its results are {results}")
        given = [(one, dy) for one, dy in zip(results, dys, strict=True) if dy is not None]
        found = tape.backward(
            [one for one, _ in given], [dy for _, dy in given], [one._id for one in sources]
        )
        return [found.get(one._id) for one in sources]


class _AsBefore(Substitution):
    """Has what the first run has read taken in place of what may be gone or changed."""

    def __init__(self, reads: _Reads) -> None:
        self._reads = reads
        self._start = next_id()

    def instead(self, tensor: Tensor) -> Tensor:
        if not self._reads.is_known(tensor, self._start):
            raise _differs(f"{tensor.dtype}{list(tensor.shape)} is read that was not")
        saved = self._reads.found.get(tensor._id)
        # of variables the watch shows what they were, and what the function has assigned since
        if saved is None or (isinstance(tensor, Variable) and saved.id == tensor._id):
            return tensor
        return saved.restore()


def _differs(how: str) -> ArgumentError:
    return ArgumentError(
        f"{_NAME}: f does not do the same in its second run, for the gradient: {how}. Pass what "
        "changes between them as an argument."
    )
