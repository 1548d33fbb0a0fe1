"""Compute pipelines, their layouts and bind groups: made once, found by what they are made of.

Every layout is explicit, so that unused bindings stay and pipelines share bind groups. All sizes
are checked here against the device's limits before wgpu sees them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from wgsl_kernels.backends.webgpu.devices.compiling import PipelineDescriptor
from wgsl_kernels.backends.webgpu.devices.native import is_loss
from wgsl_kernels.backends.webgpu.devices.pairs import FEATURE, in_pairs
from wgsl_kernels.backends.webgpu.devices.ready import (
    BindGroupLayoutEntry,
    Fitting,
    PipelineLayout,
    Ready,
    shown,
)
from wgsl_kernels.backends.webgpu.devices.recorder import is_empty
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.environment.progress import busy, count, logger
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.engine.values.attributes import field_key
from wgsl_kernels.wgsl.errors.errors import coded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.compiling import Ahead, Background
    from wgsl_kernels.backends.webgpu.devices.deadlines import Deadlines
    from wgsl_kernels.backends.webgpu.devices.native import NativeCalls
    from wgsl_kernels.backends.webgpu.devices.pool import Block, Pool
    from wgsl_kernels.backends.webgpu.devices.ready import Kind
    from wgsl_kernels.backends.webgpu.devices.recorder import Label
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall

Ranges = tuple[tuple[int, int], ...]

GROUP_BYTES, FITTING_BYTES, LAYOUT_BYTES = 2000, 500, 5000
"""What a bind group takes with its share of the driver's memory, what fits it, and its layout."""
KEPT_PIPELINES = 64
"""Pipelines that are kept though nothing may need them any more."""


class CompileFailure(Exception):  # noqa: N818  it is a report for the composer, not for the user
    """The compiler refused a shader; ``message`` is its own text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Pipeline:
    """A compiled shader, ready to dispatch.

    Attributes:
        immediates: The bytes of parameters that each dispatch brings along; 0: they are bound.
        offsets: How many offsets into a bound uniform a dispatch gives: 0 or 1.
        refused: Why it cannot be dispatched, if the compiler refused it or takes too long.
    """

    __slots__ = (
        "__weakref__", "_late", "handle", "immediates", "label", "layout", "offsets", "owner",
        "refused",
    )  # fmt: skip

    def __init__(
        self, owner: Any, handle: Any, layout: PipelineLayout, label: str, immediates: int
    ) -> None:
        self.owner = owner
        self.handle = handle
        self.layout = layout
        self.label = label
        self.immediates = immediates
        self.offsets = 0 if layout.uniform is None else 1
        self.refused: Exception | None = None
        self._late: ThreadCall[Any] | None = None

    def refuse(self, why: Exception, late: ThreadCall[Any] | None = None) -> None:
        """Have every batch with it refused, at least until ``late``, which compiles it, ends."""
        self.handle = None
        self.refused, self._late = why, late

    def look_again(self, handle_of: Callable[[Any], Any]) -> bool:
        """Take it as compiled if what took too long has ended; say whether it is so."""
        late = self._late
        if late is None or not late.is_done or late.failed:
            return False
        self.owner = late.take_result() or self.owner
        self.handle = handle_of(self.owner)
        self.refused = self._late = None
        return True


class BindGroup:
    """A bind group."""

    __slots__ = ("blocks", "handle", "owner")

    def __init__(self, owner: Any, handle: Any, blocks: tuple[Block, ...]) -> None:
        self.owner = owner
        self.handle = handle
        self.blocks = blocks


class PipelineCache:
    """The pipelines of one device, by text, entry point, constants and bindings.

    One is kept while a program or a replay holds it; of the others those that were asked for last.

    Attributes:
        background: What compiles in threads all that is asked for; None where nobody wants that.
        own: What compiles the package's own texts in threads; None where that gains nothing.
        ahead: What has the driver compile before a pipeline runs; None where it needs no telling.
    """

    def __init__(
        self,
        device: Any,
        calls: NativeCalls,
        limits: Mapping[str, int],
        immediates: int,
        deadlines: Deadlines,
    ) -> None:
        """Take also how many bytes of parameters a dispatch can bring along."""
        self._immediates = immediates
        self._deadlines = deadlines
        self._device = device
        self._moves_pairs = FEATURE in device.features
        self._calls = calls
        self._limits = limits
        self._layouts: Recent[tuple[BindGroupLayoutEntry, ...], PipelineLayout] = Recent(
            LAYOUT_BYTES
        )
        self._alive: WeakValueDictionary[object, Pipeline] = WeakValueDictionary()
        self._latest: dict[object, Pipeline] = {}
        self.background: Background | None = None
        self.own: Background | None = None
        self.ahead: Ahead | None = None
        self.made = 0

    def __len__(self) -> int:
        return len(self._alive)

    def find(
        self,
        text: str,
        bindings: Sequence[tuple[int, Kind]],
        label: str,
        needs: tuple[int, tuple[int, ...] | None],
        constants: Mapping[str, float],
        entry: str,
        immediates: int,
        *,
        is_ours: bool = False,
    ) -> Pipeline:
        """Return the pipeline for ``text``, compiled at the first call; see ``Device.pipeline``.

        ``needs`` is the bytes of workgroup memory, and the workgroup's size.
        """
        order = tuple(BindGroupLayoutEntry(*one) for one in bindings)
        values = tuple(sorted(constants.items()))
        key = (text, entry, tuple([(name, field_key(value)) for name, value in values]), order)
        pipeline = self._latest.pop(key, None) or self._alive.get(key)
        if pipeline is None:
            self._check_limits(label, order, *needs)
            own = int(self.ahead is None)  # else that counts them, and takes longer
            count("compiling", expected=own)
            best = in_pairs(text) if self._moves_pairs else text
            try:
                with busy("compiling", label):
                    pipeline = self._compile(
                        (best, text), order, label, dict(values), entry, immediates, is_ours=is_ours
                    )
            finally:
                count("compiling", done=own)
            logger.debug("Compiled %s.", label)
            if self.ahead is not None:
                self.ahead.add(
                    PipelineDescriptor(best, entry, values, order, self._immediates), pipeline
                )
            self._deadlines.is_made(pipeline)
            self._alive[key] = pipeline
            self.made += 1
        while len(self._latest) >= KEPT_PIPELINES:
            del self._latest[next(iter(self._latest))]
        self._latest[key] = pipeline  # the last of them
        return pipeline

    def forget_device(self) -> None:
        self._latest.clear()
        self._layouts.clear()

    def _check_limits(
        self,
        label: str,
        bindings: tuple[BindGroupLayoutEntry, ...],
        workgroup_bytes: int,
        workgroup_size: tuple[int, ...] | None,
    ) -> None:
        storages = sum(one.kind != "uniform" for one in bindings)
        needs = [
            ("max-storage-buffers-per-shader-stage", "storage bindings", storages),
            ("max-compute-workgroup-storage-size", "bytes of workgroup memory", workgroup_bytes),
        ]
        if workgroup_size is not None:
            x, y, z = (*workgroup_size, 1, 1)[:3]
            invocations = x * y * z
            needs += [
                ("max-compute-workgroup-size-x", "invocations along x", x),
                ("max-compute-workgroup-size-y", "invocations along y", y),
                ("max-compute-workgroup-size-z", "invocations along z", z),
                ("max-compute-invocations-per-workgroup", "invocations a workgroup", invocations),
            ]
        for limit, noun, needed in needs:
            if needed > self._limits[limit]:
                raise coded(
                    "over-default-limits",
                    f"{label}: needs {needed} {noun}; this device allows {self._limits[limit]} "
                    f"({limit}).",
                )
        if sum(one.kind == "uniform" for one in bindings) > 1:
            raise ShaderError(f"{label}: has more than one uniform binding; want at most one.")

    def _compile(
        self,
        texts: tuple[str, str],
        bindings: tuple[BindGroupLayoutEntry, ...],
        label: str,
        constants: dict[str, float],
        entry: str,
        immediates: int,
        *,
        is_ours: bool,
    ) -> Pipeline:
        """Compile a text as the device runs it best, or as it was given, whose places are known."""
        best, text = texts
        stage: dict[str, Any] = {"entry_point": entry, "constants": constants}

        def make_module() -> None:
            create = partial(self._device.create_shader_module, label=label)
            if best != text:
                with suppress(self._calls.gpu_error):
                    stage["module"] = create(code=best)
                    return
            stage["module"] = create(code=text)

        def make() -> Any:
            return self._device.create_compute_pipeline(
                label=label, layout=layout.pipeline_layout, compute=stage
            )

        def make_both() -> Any:
            make_module()
            return make()

        try:
            layout = self._layout(bindings)
            if self.background is not None and not constants:  # whose errors must show here
                self._deadlines.compile(make_module, label)
                pipeline = Pipeline(None, None, layout, label, immediates)
                self.background.add(pipeline, make)
                return pipeline
            if is_ours and self.own is not None and self.background is None:
                pipeline = Pipeline(None, None, layout, label, immediates)
                self.own.add(pipeline, make_both)
                return pipeline
            owner = self._deadlines.compile(make_both, label)
            if self.background is not None:
                self.background.note()
        except self._calls.gpu_error as error:
            if is_loss(error):
                raise
            raise CompileFailure(str(error)) from None
        return Pipeline(owner, self._calls.handle(owner), layout, label, immediates)

    def _layout(self, bindings: tuple[BindGroupLayoutEntry, ...]) -> PipelineLayout:
        layout = self._layouts[bindings]
        if layout is None:
            made = PipelineLayout(self._device, bindings, self._immediates)
            layout = self._layouts.keep(bindings, made)
        return layout


class GroupCache:
    """The bind groups of one device: bounded, and dropped with their buffers."""

    def __init__(
        self,
        device: Any,
        calls: NativeCalls,
        limits: Mapping[str, int],
        pool: Pool,
        window: Callable[[int], int],
    ) -> None:
        """Take also what tells how much of the parameters a dispatch with so many bytes sees."""
        self.found: Recent[tuple[object, ...], BindGroup] = Recent(GROUP_BYTES, _let_go)
        self._fittings: Recent[tuple[PipelineLayout, int, Ranges], Fitting] = Recent(FITTING_BYTES)
        self._window = window
        self._most_groups = limits["max-compute-workgroups-per-dimension"]
        self.made = 0
        self._device = device
        self._calls = calls
        self._pool = pool
        self._alignment = limits["min-storage-buffer-offset-alignment"]
        self._largest = limits["max-storage-buffer-binding-size"]

    def ready(
        self,
        pipeline: Pipeline,
        ranges: Ranges,
        params: bytes,
        groups: tuple[int, int, int],
        label: Label = "",
    ) -> Ready:
        """Return a dispatch that can be run on any buffers, of which it binds ``ranges`` of bytes.

        ``params`` are the bytes of the uniform or the immediates, ignored where there is neither;
        no workgroups along an axis mean that there is nothing to do. The label is that of all
        kernels in a fused dispatch, by default the pipeline's.

        Raises:
            ArgumentError: The device cannot run such a grid, or takes fewer parameters, or these
                are not as many bytes as the dispatch brings along.
        """
        label = label or pipeline.label
        if pipeline.immediates and pipeline.immediates != len(params):
            raise ArgumentError(
                f"{shown(label)}: got {len(params)} bytes of parameters; its shader takes "
                f"{pipeline.immediates}."
            )
        x, y, z = groups
        most = self._most_groups
        inside = 0 < x <= most and 0 < y <= most and 0 < z <= most
        work = 0 if not inside and is_empty(groups, most, shown(label)) else x * y * z
        seen = 0 if pipeline.layout.uniform is None else self._window(len(params))
        key = (pipeline.layout, seen, ranges)
        fitting = self._fittings[key]
        if (
            fitting is None
        ):  # one that was forgotten and that a dispatch holds stays as good as ever
            fitting = self._fittings.keep(key, Fitting(*key))
        return Ready(pipeline, fitting, params, groups, work, label)

    def create(
        self, pipeline: Pipeline, blocks: Sequence[Block], ranges: Ranges, uniform: tuple[Any, int]
    ) -> BindGroup:
        """Check the bindings of a dispatch and make their bind group.

        ``uniform`` is the parameter buffer and how many bytes of it one dispatch sees.
        """
        layout = pipeline.layout
        if not len(blocks) == len(ranges) == len(layout.storages):
            raise ArgumentError(
                f"{pipeline.label}: got {len(blocks)} storages and {len(ranges)} ranges for "
                f"{len(layout.storages)} storage bindings."
            )
        entries: list[dict[str, object]] = []
        for binding, block, (offset, size) in zip(layout.storages, blocks, ranges, strict=True):
            size = max(4, (size + 3) & ~3)
            self._check_range(pipeline.label, binding, block, offset, size)
            resource = {"buffer": block.buffer, "offset": offset, "size": size}
            entries.append({"binding": binding.number, "resource": resource})
        self._check_sharing(pipeline, blocks)
        if layout.uniform is not None:
            buffer, window = uniform
            resource = {"buffer": buffer, "offset": 0, "size": window}
            entries.append({"binding": layout.uniform, "resource": resource})
        owner = self._device.create_bind_group(
            label=pipeline.label, layout=layout.group_layout, entries=entries
        )
        return BindGroup(owner, self._calls.handle(owner), tuple(blocks))

    def forget(self, block: Block) -> None:
        for key in tuple(block.keys):
            group = self.found[key]
            if group is not None:
                self.found.pop(key, None)
                _let_go(key, group)

    def forget_device(self) -> None:
        self.found.clear()
        self._fittings.clear()

    def remember(self, key: tuple[object, ...], group: BindGroup) -> BindGroup:
        """Keep a bind group under ``key``, within bounds, and return it."""
        for block in group.blocks:
            block.keys.add(key)
        self.made += 1
        return self.found.keep(key, group)

    def _check_range(
        self, label: str, binding: BindGroupLayoutEntry, block: Block, offset: int, size: int
    ) -> None:
        where = f"{label}: binding {binding.number}"
        if block.pool is not self._pool:
            raise ArgumentError(f"{where}: the storage belongs to another device.")
        if size > self._largest:
            raise ArgumentError(
                f"{where}: {size} bytes; this device binds at most {self._largest} "
                f"(max-storage-buffer-binding-size)."
            )
        if offset < 0 or offset % self._alignment:
            raise ArgumentError(
                f"{where}: offset {offset} is no multiple of {self._alignment} bytes "
                f"(min-storage-buffer-offset-alignment)."
            )
        if offset + size > block.capacity:
            raise ArgumentError(
                f"{where}: bytes {offset} to {offset + size} are past the buffer's "
                f"{block.capacity}."
            )

    def _check_sharing(self, pipeline: Pipeline, blocks: Sequence[Block]) -> None:
        for binding, block in zip(pipeline.layout.storages, blocks, strict=True):
            if binding.kind == "read_write" and tuple(blocks).count(block) > 1:
                raise ArgumentError(
                    f"{pipeline.label}: binding {binding.number} is written and shares its buffer "
                    f"with another binding; want one read_write binding for both."
                )


def _let_go(key: tuple[object, ...], group: BindGroup) -> None:
    for block in group.blocks:
        block.keys.discard(key)
