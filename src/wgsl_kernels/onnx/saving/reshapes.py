"""Reshapes that a run can do without: one behind another, and one that undoes another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.onnx.saving.tracing import FunctionTrace, GraphValue
from wgsl_kernels.ops.control.batching_rules import MAPS

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.onnx.saving.tracing import TracedCall

_RESHAPES = frozenset({"ExpandDims", "Reshape"})
_CUTS = frozenset({"Slice", "StridedSlice"})


def without_reshapes(traced: FunctionTrace) -> FunctionTrace:
    """Return a run in which reshapes read what the reshapes before them do.

    One that gives the shape that is there already is left out. So is one that undoes another with
    maps in between, which then have that shape, too, if nothing else reads what they give. What is
    read no longer stays among the calls; writers drop it.
    """
    return _Run(traced).result()


class _Run:
    """The calls of a run, and what is known of their values.

    Attributes:
        calls: In order, changed.
    """

    def __init__(self, traced: FunctionTrace) -> None:
        self.calls: list[TracedCall] = []
        self._traced = traced
        self._reads = Counter(x for call in traced.calls for x in call.inputs)
        self._reads.update(traced.outputs.values())
        self._same: dict[GraphValue, GraphValue] = {}
        self._source: dict[GraphValue, GraphValue] = {}
        self._places: dict[GraphValue, int] = {}

    def result(self) -> FunctionTrace:
        """Return the run."""
        for one in self._traced.calls:
            inputs = [None if x is None else self._same.get(x, x) for x in one.inputs]
            call = replace(one, inputs=inputs)
            if _is_reshape(call):
                self._reshape(call)
            else:
                self._places.update(dict.fromkeys(call.outputs, len(self.calls)))
                self.calls.append(call)
        outputs = {name: self._same.get(y, y) for name, y in self._traced.outputs.items()}
        return FunctionTrace(self._traced.inputs, outputs, self.calls)

    def _reshape(self, call: TracedCall) -> None:
        given, y = call.inputs[0], call.outputs[0]
        assert given is not None, "a reshape has an input"
        x = self._source.get(given, given)
        if x.shape != y.shape and self._is_moved(given, y.shape):
            x = self._moved(given, y.shape)
            self._reads[x] -= 1
        self._reads[given] -= 1
        if x.shape == y.shape:
            self._same[y] = x
            self._reads[x] += self._reads[y]
        else:
            self._source[y] = x
            self._reads[x] += 1
            self.calls.append(replace(call, kernel="Reshape", inputs=[x]))

    def _is_moved(self, x: GraphValue, shape: Shape) -> bool:
        """Say whether maps alone, of what had a shape, gave ``x``, and nothing else reads it."""
        if x in self._source:
            return self._source[x].shape == shape
        call = self.calls[self._places[x]] if x in self._places else None
        if call is None or call.kernel not in MAPS or self._reads[x] > 1:
            return False
        return all(
            _broadcasts_alike(one, x.shape, shape)
            if one.array is not None
            else one.shape == x.shape and self._is_moved(one, shape)
            for one in call.inputs
            if one is not None
        )

    def _moved(self, x: GraphValue, shape: Shape) -> GraphValue:
        """Return ``x`` in that shape, and have the maps that give it compute it so."""
        if x in self._source:
            self._reads[x] -= 1
            self._reads[self._source[x]] += 1
            return self._source[x]
        call = self.calls[self._places[x]]
        inputs = [
            one if one is None or one.array is not None else self._moved(one, shape)
            for one in call.inputs
        ]
        made = GraphValue(x.spec.like(shape=shape), made=x.made)
        self._reads[made], self._places[made] = 1, self._places[x]
        self.calls[self._places[x]] = replace(call, inputs=inputs, outputs=[made])
        return made


def _is_reshape(call: TracedCall) -> bool:
    """Say whether a call gives what it is given, in order: as an index does that cuts nothing."""
    x, y = call.inputs[0], call.outputs[0]
    if x is None or call.kernel not in _RESHAPES | _CUTS:
        return False
    steps = call.attrs.get("strides") or ()
    is_whole = x.size == y.size > 0 and all(one > 0 for one in steps)
    return call.kernel in _RESHAPES or is_whole


def _broadcasts_alike(x: GraphValue, *shapes: Shape) -> bool:
    """Say whether a constant meets the same elements of a value in each of several shapes."""
    ndim = x.ndim - next((i for i, n in enumerate(x.shape) if n != 1), x.ndim)
    return len({one[len(one) - ndim :] for one in shapes}) == 1 and all(
        x.ndim <= len(one) for one in shapes
    )
