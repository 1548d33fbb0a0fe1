"""A bench for composed shaders: it compiles and runs them on a device of its own."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.source import load_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline, Ranges
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

Array = np.ndarray[Any, Any]
HERE = Path(__file__).parent
_STORED = {"bool": "uint32", "complex64": "complex64"}


def inline(text: str) -> Source:
    """Return a source given as text."""
    return load_text(text, "<inline in test:1>", HERE)


def to_buffer(values: Array) -> bytes:
    """Return the bytes of ``values`` as they lie in a buffer, rounded up to 16."""
    stored = values.astype(_STORED.get(values.dtype.name, values.dtype))
    data = stored.tobytes()
    return data + bytes(-len(data) % 16)


def dispatch(
    device: Device,
    pipeline: Pipeline,
    storages: Sequence[Storage],
    ranges: Ranges | None,
    params: bytes,
    groups: tuple[int, int, int],
    label: str = "",
) -> None:
    """Record one dispatch; without ``ranges`` it binds the whole of each storage."""
    bound = ranges or tuple([(0, one.nbytes) for one in storages])
    device.run(device.ready(pipeline, bound, params, groups, label), storages)


def strides_of(values: Array) -> tuple[int, ...]:
    """Return the strides of an array in elements."""
    return tuple(step // values.itemsize for step in values.strides)


class Lab:
    """One device with float16, if the adapter has it."""

    def __init__(self) -> None:
        import wgpu

        adapter = wgpu.gpu.enumerate_adapters_sync()[0]
        self.has_f16 = "shader-f16" in adapter.features
        self.device: Any = adapter.request_device_sync(
            required_features=["shader-f16"] if self.has_f16 else []
        )

    def compile(self, composed: Composed, constants: Mapping[str, float] | None = None) -> Any:
        """Return the pipeline, or raise the error that the author would see."""
        import wgpu

        kinds = {"read": "read-only-storage", "read_write": "storage", "uniform": "uniform"}
        entries = [
            {"binding": b.number, "visibility": 4, "buffer": {"type": kinds[b.access]}}
            for b in composed.bindings
        ]
        try:
            layout = self.device.create_bind_group_layout(entries=entries)
            module = self.device.create_shader_module(label=composed.kernel, code=composed.text)
            return layout, self.device.create_compute_pipeline(
                layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={
                    "module": module,
                    "entry_point": composed.entry,
                    "constants": dict(constants or {}),
                },
            )
        except wgpu.GPUError as error:
            raise composed.explain(str(error)) from None

    def run(
        self,
        composed: Composed,
        arrays: Mapping[str, Array],
        facts: Mapping[str, Any],
        groups: Sequence[int] = (1, 1, 1),
        constants: Mapping[str, float] | None = None,
    ) -> dict[str, bytes]:
        """Dispatch once; return the bytes of every writable binding afterwards.

        ``arrays`` give every bound tensor's content, an output's the canary it starts from.
        """
        layout, pipeline = self.compile(composed, constants)
        buffers: dict[str, Any] = {}
        entries = []
        for bound in composed.bindings:
            if bound.role == "params":
                data = composed.pack(facts)
            elif bound.is_absent:
                data = bytes(16)
            else:
                data = to_buffer(arrays[bound.name])
            buffer = self.device.create_buffer_with_data(data=data, usage=0x4 | 0x8 | 0x40 | 0x80)
            buffers[bound.name] = buffer
            size = len(data)
            if bound.name in arrays and not composed.vec4:
                stored = arrays[bound.name]
                step = max(4, bound.stride)
                itemsize = 4 if stored.dtype == bool else stored.itemsize
                size = -(-stored.size * itemsize // step) * step
            resource = {"buffer": buffer, "offset": 0, "size": size}
            entries.append({"binding": bound.number, "resource": resource})
        group = self.device.create_bind_group(layout=layout, entries=entries)
        encoder = self.device.create_command_encoder()
        pass_ = encoder.begin_compute_pass()
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, group)
        pass_.dispatch_workgroups(*groups)
        pass_.end()
        self.device.queue.submit([encoder.finish()])
        return {
            b.name: bytes(self.device.queue.read_buffer(buffers[b.name]))
            for b in composed.bindings
            if b.access == "read_write"
        }


@functools.cache
def lab() -> Lab:
    """Return the one bench of this process."""
    return Lab()


def values_of(data: bytes, like: Array) -> Array:
    """Return the elements in a buffer as an array of ``like``'s dtype and shape."""
    stored = np.frombuffer(data, _STORED.get(like.dtype.name, like.dtype))[: like.size]
    return stored.astype(like.dtype).reshape(like.shape)


def operand(name: str, values: Array, access: Any = "flat", rank: int | None = None) -> Operand:
    """Return the operand for an array."""
    return Operand(name, values.dtype.name, values.ndim if rank is None else rank, access)


def run_map(
    text: str,
    inputs: Mapping[str, Array | Any],
    expected: Array,
    *,
    attrs: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, str] | None = None,
    options: Options = Options(),  # noqa: B008  frozen
    check: Callable[[Composed], None] | None = None,
) -> Array:
    """Run a map on arrays (views and broadcasts included) and scalars; return y."""
    operands, arrays = [], {}
    facts: dict[str, Any] = {"y_size": expected.size, "wk_space0": expected.shape, **(attrs or {})}
    facts["wk_first"] = 0
    for name, given in inputs.items():
        if not isinstance(given, np.ndarray):
            operands.append(Operand(name, (dtypes or {}).get(name, "float32"), 0, "value"))
            facts[f"{name}_value"] = given
            continue
        if given.flags.c_contiguous and given.shape == expected.shape:
            operands.append(operand(name, given))
            arrays[name] = given
            continue
        whole = given if given.base is None else given.base
        assert isinstance(whole, np.ndarray)
        shifted = np.broadcast_to(given, expected.shape)
        start = given.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        facts[f"wk_{name}_strides"] = strides_of(shifted)
        facts[f"wk_{name}_offset"] = start // given.itemsize
        operands.append(operand(name, given, "strided", expected.ndim))
        arrays[name] = whole.reshape(-1)
    composed = compose(
        "Probe",
        inline(text),
        operands,
        [operand("y", expected)],
        attrs=tuple(attrs or ()),
        options=options,
    )
    if check is not None:
        check(composed)
    canary = np.zeros(expected.shape, expected.dtype)
    found = lab().run(composed, {**arrays, "y": canary}, facts, (2, 2, 1))
    return values_of(found["y"], expected)
