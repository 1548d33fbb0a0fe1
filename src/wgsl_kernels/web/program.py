"""A traced function as what a page loads: program.json, its shaders, and its tensors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS
from wgsl_kernels.backends.webgpu.arrays.array import device_bytes
from wgsl_kernels.backends.webgpu.devices.status import SLOTS
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.web.portable import stage_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.status import Status
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.web.tracing import TracedRun

FORMAT, VERSION = "wgsl-kernels-program", 1
_TYPES = {"read": "read-only-storage", "read_write": "storage", "uniform": "uniform"}
_SOME_VALUE = -1234567891
"""What no shape in a message can be: where it stands, the page puts the value."""


@dataclass
class WebProgram:
    """What is written.

    Attributes:
        content: What program.json says.
        texts: The shaders, by their paths in the folder.
        tensors: Weights, states and constants, by name.
        pipelines: What was compiled of each, for who checks it.
    """

    content: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict[str, str])
    tensors: dict[str, Array] = field(default_factory=dict[str, "Array"])
    pipelines: list[Pipeline] = field(default_factory=list["Pipeline"])


def program_of(traced: TracedRun, limits: Mapping[str, int], features: Sequence[str]) -> WebProgram:
    """Return a traced function as a page loads it."""
    return _ProgramWriter(traced, limits, features).written()


class _ProgramWriter:
    """Numbers buffers and pipelines while it goes through the dispatches."""

    def __init__(
        self, traced: TracedRun, limits: Mapping[str, int], features: Sequence[str]
    ) -> None:
        self._traced = traced
        self._buffers: list[dict[str, Any]] = []
        self._blocks: dict[Any, int] = {}
        replay = traced.replay
        self._outside = {one.block for one in replay._kept}
        if len(replay._statuses) > 1:
            raise ArgumentError(f"export: more than {SLOTS} of its kernels check values.")
        self._reporting = next(iter(replay._statuses), None)
        self._status = None if self._reporting is None else self._reporting.storage.block
        self._slots: list[int] = []
        self._of_variable: dict[int, int] = {}
        self._pipelines: dict[int, int] = {}
        more = {name: most for name, most in limits.items() if most != DEFAULT_LIMITS[name]}
        requires = {"features": list(features), "limits": {camel(n): m for n, m in more.items()}}
        self._program = WebProgram({"format": FORMAT, "version": VERSION, "requires": requires})

    def written(self) -> WebProgram:
        replay = self._traced.replay
        content = self._program.content
        content["inputs"] = self._inputs()
        for nbytes in replay._made:
            self._slots.append(self._buffer("temporary", nbytes))
        content["pipelines"] = []
        content["dispatches"] = [
            self._dispatch(row.ready, row.blocks) for row in replay._rows if all(row.ready.groups)
        ]
        content["outputs"] = self._outputs()
        content["copies"] = self._copies()
        content["reports"] = self._reports(self._reporting)
        content["buffers"] = self._buffers
        return self._program

    def _buffer(self, role: str, nbytes: int, **more: Any) -> int:
        self._buffers.append({"role": role, "bytes": max(nbytes, 4), **more})
        return len(self._buffers) - 1

    def _inputs(self) -> list[dict[str, Any]]:
        """Make the buffers of inputs and variables; slots number those that are used."""
        traced, found = self._traced, []
        used = set(traced.run._arguments)
        for number, (name, one) in enumerate(traced.inputs.items()):
            buffer = self._tensor_buffer("input", name, one.spec)
            found.append(_described(name, buffer, one.spec))
            if number in used:
                self._slots.append(buffer)
        for one in traced.variables:
            self._slots.append(self._variable(one))
        return found

    def _variable(self, one: Any) -> int:
        """Return the buffer of a variable, with what it holds at first."""
        found = self._of_variable.get(one._id)
        if found is None:
            role = "state" if any(one is other for other in self._traced.updates) else "weight"
            name = self._tensor(one.name or "variable", self._traced.values[one._id])
            found = self._tensor_buffer(role, name, one.spec, tensor=name)
            self._of_variable[one._id] = found
        return found

    def _tensor_buffer(self, role: str, name: str, spec: Spec, **more: Any) -> int:
        facts = {"name": name, "dtype": str(spec.dtype), "shape": list(spec.shape)}
        return self._buffer(role, _words_of(spec), **facts, **more)

    def _tensor(self, name: str, values: Array) -> str:
        """Have a tensor in the file of weights; return what it is called there."""
        known, number = self._program.tensors, 1
        free = name
        while free in known:
            number += 1
            free = f"{name}-{number}"
        known[free] = values
        return free

    def _block(self, block: Any) -> int:
        """Return the buffer of one that belongs to the run: what it works in, or a constant."""
        if block in self._blocks:
            return self._blocks[block]
        words = block.buffer.words[: block.capacity // 4]
        if block not in self._outside:
            found = self._buffer("temporary", 4)
        elif block.buffer.is_computed and block is not self._status:
            raise ArgumentError(
                "export: it uses a tensor that another function has computed for export; want "
                "functions of their inputs and variables alone."
            )
        elif not words.any():
            found = self._buffer("constant", 4)
        else:
            name = self._tensor("constant", words.view(np.int32).copy())
            more = {"tensor": name, "dtype": "int32", "shape": [len(words)]}
            found = self._buffer("constant", block.capacity, **more)
        self._blocks[block] = found
        return found

    def _dispatch(self, ready: Ready, blocks: Sequence[Any]) -> dict[str, Any]:
        pipeline, fitting, params, groups, _, label, _ = ready
        places = [self._slots[one] if isinstance(one, int) else self._block(one) for one in blocks]
        storages = pipeline.layout.storages
        for buffer, (first, size) in zip(places, fitting.ranges, strict=True):
            held = self._buffers[buffer]  # a result's buffer may hold larger values before
            held["bytes"] = max(held["bytes"], first + size)
        bindings = [
            {"binding": one.number, "buffer": buffer, "offset": first, "size": size}
            for one, buffer, (first, size) in zip(storages, places, fitting.ranges, strict=True)
        ]
        label = label or pipeline.label
        label = label if isinstance(label, str) else " + ".join(label)
        found: dict[str, Any] = {
            "label": label,
            "pipeline": self._pipeline(pipeline, label),
            "workgroups": list(groups),
            "bindings": bindings,
        }
        if pipeline.layout.uniform is not None:
            data = params.ljust(-(-len(params) // 16) * 16, b"\0")
            found["params"] = np.frombuffer(data, np.uint32).tolist()
        return found

    def _pipeline(self, pipeline: Pipeline, label: str) -> int:
        known = self._pipelines.get(id(pipeline))
        if known is not None:
            return known
        program = self._program
        number = self._pipelines[id(pipeline)] = len(program.pipelines)
        program.pipelines.append(pipeline)
        stage, layout = stage_of(pipeline), pipeline.layout
        path = next((one for one, text in program.texts.items() if text == stage.text), None)
        if path is None:
            words = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-")[:40]
            path = f"{len(program.texts):02}-{words}.wgsl"
            program.texts[path] = stage.text
        entries = [{"binding": one.number, "type": _TYPES[one.kind]} for one in layout.storages]
        if layout.uniform is not None:
            entries.append({"binding": layout.uniform, "type": "uniform"})
        program.content["pipelines"].append(
            {
                "shader": path,
                "entryPoint": stage.entry,
                "constants": {name: float(one) for name, one in stage.constants.items()},
                "bindings": entries,
            }
        )
        return number

    def _outputs(self) -> list[dict[str, Any]]:
        traced, found = self._traced, []
        run = traced.run
        arguments = [*traced.inputs.items()]
        for name, form in zip(traced.outputs, run._results, strict=True):
            if form.argument is not None:
                spec = arguments[form.argument][1].spec
                buffer = form.argument
            elif form.variable is not None:
                variable = form.variable()
                assert variable is not None
                spec, buffer = variable.spec, self._variable(variable)
            else:
                assert form.spec is not None
                spec = form.spec
                buffer = (
                    self._constant(name, form.constant[1].download(form.constant[0], spec), spec)
                    if form.constant is not None
                    else self._slot_of(form.output or 0, name, spec)
                )
            if self._buffers[buffer]["role"] == "temporary":
                self._buffers[buffer].update(role="output", name=name)
            found.append(_described(name, buffer, spec))
        return found

    def _slot_of(self, output: int, name: str, spec: Spec) -> int:
        """Return the buffer that holds an array that the run makes."""
        one = self._traced.replay._outputs[output]
        if one.slot >= 0:
            return self._slots[one.slot]
        if one.constant is not None and one.constant.host is not None:
            return self._constant(name, one.constant.host.values, spec)
        if one.constant is None or one.constant.storage is None:
            return self._buffer("constant", 4)  # it is empty
        return self._block(one.constant.storage.block)

    def _constant(self, name: str, values: Array, spec: Spec) -> int:
        called = self._tensor(name, np.array(values).reshape(spec.shape))
        return self._tensor_buffer("constant", called, spec, tensor=called)

    def _copies(self) -> list[dict[str, int]]:
        """Return what gives states their new values, in order, after all dispatches.

        New values that are in other states' buffers are set aside first.
        """
        traced = self._traced
        aside: list[dict[str, int]] = []
        found: list[dict[str, int]] = []
        for number, one in enumerate(traced.updates, start=traced.run._outputs):
            state = self._variable(one)
            source = self._slot_of(number, one.name or "variable", one.spec)
            nbytes = _words_of(one.spec)
            if source == state or not one.size:
                continue
            if self._buffers[source]["role"] == "state":
                kept = self._buffer("temporary", nbytes)
                aside.append({"from": source, "to": kept, "bytes": nbytes})
                source = kept
            found.append({"from": source, "to": state, "bytes": nbytes})
        return aside + found

    def _reports(self, status: Status | None) -> dict[str, Any] | None:
        """Return what each slot of the status buffer means, by the code that it may hold."""
        if status is None:
            return None
        slots: list[dict[str, str]] = []
        for describe in status._owners:
            messages: dict[str, str] = {}
            for code in range(1, 1 << 8):
                try:
                    words = str(describe(code, _SOME_VALUE))
                except IndexError:  # it has no more inputs
                    break
                messages[str(code)] = words.replace(str(_SOME_VALUE), "{value}")
            slots.append(messages)
        return {"buffer": self._block(self._status), "slots": slots}


def _words_of(spec: Spec) -> int:
    """Return the bytes of a tensor on a device, whole words."""
    return -(-device_bytes(spec.size, spec.dtype) // 4) * 4


def _described(name: str, buffer: int, spec: Spec) -> dict[str, Any]:
    return {"name": name, "buffer": buffer, "dtype": str(spec.dtype), "shape": list(spec.shape)}


def camel(limit: str) -> str:
    """Return a limit's name as WebGPU has it in JavaScript."""
    first, *others = limit.split("-")
    return first + "".join(one.capitalize() for one in others)


def kebab(limit: str) -> str:
    """Return a limit's name as this package has it.

    Raises:
        ArgumentError: WebGPU has no such limit.
    """
    known = {camel(one): one for one in DEFAULT_LIMITS}
    if limit not in known:
        raise ArgumentError(
            f"export: limits has {limit!r}; want WebGPU's names: {', '.join(known)}."
        )
    return known[limit]
