"""What a kernel with full control is given: ``gpu``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
from wgsl_kernels.backends.webgpu.control import argument_checks
from wgsl_kernels.backends.webgpu.control.array_making import ArrayMaker
from wgsl_kernels.backends.webgpu.control.choosing import configuration_of
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering.copying import lower_packing, packing_call
from wgsl_kernels.backends.webgpu.lowering.fit import check_fit
from wgsl_kernels.backends.webgpu.lowering.free import lower_custom
from wgsl_kernels.backends.webgpu.modules.packages import plain_path
from wgsl_kernels.backends.webgpu.programs.arguments import arguments_of
from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
from wgsl_kernels.backends.webgpu.runtime.launch import KernelLaunch
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
from wgsl_kernels.backends.webgpu.runtime.shader import ShaderLowering
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.attributes import field_key, integers, plain
from wgsl_kernels.engine.values.dtypes import canonical
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.engine.values.windows import sliding_by

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.text.operands import DeclaredForm, Form
    from wgsl_kernels.backends.webgpu.declare.sources import Sources
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.wgsl.syntax.places import Text

_ARRAYS = {GpuArray}


class Gpu(ArrayMaker):
    """The device, to a kernel registered with ``@wgsl_kernel`` or ``register_kernel``.

    Arrays have ``shape``, ``dtype``, ``size``, ``strides`` and ``offset`` (in elements).

    Attributes:
        has_promised: Whether a run has promised that the function repeats, and none has read.
    """

    def __init__(self, backend: Session, kernel: str, origin: Origin, sources: Sources) -> None:
        super().__init__(backend, kernel, origin, sources)
        self.has_promised = self.has_read = False

    @property
    def device(self) -> Device:
        """The device as the backend has it; for the library's own parts."""
        return self._backend.open()

    @property
    def is_software(self) -> bool:
        """Whether the adapter is the CPU, whose workgroup memory is no faster than any other."""
        return self._backend.open().info.is_software

    @property
    def policy(self) -> Policy:
        """What our own kernels do on this kind of adapter and not on another."""
        return self._backend.open().policy

    def map(
        self, shader: str, arrays: Mapping[str, GpuArray], shape: Shape, dtype: DType
    ) -> GpuArray:
        """Return what a map gives for each element; it may be fused with what is done to that.

        Args:
            shader: WGSL text that defines ``op``, or a path as for `dispatch`.
            arrays: By the names of op's parameters; they broadcast to ``shape``.
            shape: The result's shape.
            dtype: Its dtype; op calls it ``T_y``.

        Raises:
            ShaderError: The shader does not compose or compile.
            ShapeError: The arrays do not broadcast to ``shape``.
        """
        if type(arrays) is not dict or {*map(type, arrays.values())} != _ARRAYS:
            argument_checks.check_arrays(self._kernel, arrays)
        shape = shape if type(shape) is tuple else integers(self._kernel, "shape", shape)
        specs = tuple((name, one.shape, one.dtype) for name, one in arrays.items())
        if type(shader) is not str or type(dtype) is not str:
            shader, dtype = plain_path(self._kernel, "shader", shader), canonical(dtype)
        key = ("map", shader, specs, shape, dtype)
        launch = self._ready[key]
        if launch is None:
            launch = self._map_launch(key, shader, arrays, {}, Spec(shape, dtype))
        return self._launched(launch, list(arrays.values()))

    def epilogue(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        shape: Shape,
        dtype: DType,
        **attrs: float,
    ) -> GpuArray:
        """Return a map of what this run has dispatched, as the last that a function of ours does.

        In the function's program it is computed by the dispatch that writes what it is a map of,
        however `config.fusion` is set.

        Args:
            shader: As for `map`.
            arrays: As for `map`; one is made by a dispatch of this run, or is such a map.
            shape: The result's shape, which is that one's.
            dtype: The result's dtype.
            **attrs: The fields of the shader's ``Attrs``.
        """
        return self._epilogue(shader, arrays, Spec(shape, dtype), attrs)

    def _epilogue(
        self, shader: str, arrays: Mapping[str, GpuArray], y: Spec, attrs: dict[str, Any]
    ) -> GpuArray:
        launch = self._epilogue_launch(shader, arrays, y, attrs)
        return self._launched(launch, list(arrays.values()))

    def _epilogue_launch(
        self, shader: str, arrays: Mapping[str, GpuArray], y: Spec, attrs: dict[str, Any]
    ) -> KernelLaunch:
        specs = tuple((name, one.shape, one.dtype) for name, one in arrays.items())
        key = ("epilogue", shader, specs, y, tuple(attrs.items()))
        found: KernelLaunch | None = self._ready[key]
        return self._map_launch(key, shader, arrays, attrs, y) if found is None else found

    def _map_launch(
        self, key: Any, shader: str, arrays: Mapping[str, GpuArray], attrs: dict[str, Any], y: Spec
    ) -> KernelLaunch:
        kernel = ShaderKernel(self._kernel, shader, self._origin, shared=self._sources)
        call = ShaderCall(kernel, tuple(arrays), attrs, (y,), ("y",))
        check_fit("map", call, [Spec(one.shape, one.dtype) for one in arrays.values()])
        return self._keep_launch(key, call, "map")

    def scan(
        self,
        shader: str,
        x: GpuArray,
        dtype: DType,
        *,
        axis: int,
        exclusive: bool = False,
        reverse: bool = False,
    ) -> GpuArray:
        """Return running totals along an axis; they may be fused with what is done to them.

        Args:
            shader: WGSL text that defines ``init`` and ``combine``, or a path as for `dispatch`.
            x: The array.
            dtype: The result's; the shader calls it ``T_y``.
            axis: The axis.
            exclusive: Whether an element itself is left out.
            reverse: Whether to go from the last element to the first.

        Raises:
            ShaderError: The shader does not compose or compile.
        """
        attrs = argument_checks.scan_attrs(self._kernel, x, axis, exclusive, reverse)
        return self._formed("scan", shader, x, Spec(x.shape, dtype), attrs)

    def window(self, shader: str, x: GpuArray, dtype: DType, **attrs: Any) -> GpuArray:
        """Return a total of each window over images; they may be fused with what is done to them.

        Args:
            shader: As for `scan`.
            x: [batch, height, width, channels].
            dtype: The result's.
            **attrs: ``filter_size``, ``strides``, ``pad``, ``dilations``, ``dim_rounding_mode``.

        Raises:
            ShaderError: The shader does not compose or compile.
            ArgumentError, ShapeError: An attribute is wrong.
        """
        if type(x) is not GpuArray:
            raise argument_checks.no_array(self._kernel, x, "x")
        attrs = argument_checks.window_attrs(self._kernel, attrs)
        shape = sliding_by(self._kernel, x.shape, attrs).out_shape
        return self._formed("window", shader, x, Spec(shape, dtype), attrs)

    def dispatch(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        *,
        slots: str | Text | None = None,
        configuration: Mapping[str, bool | int] | None = None,
        params: Mapping[str, Any] | None = None,
        groups: Sequence[int] | None = None,
        constants: Mapping[str, float] | None = None,
        windows: Mapping[str, tuple[int, int]] | None = None,
        key: Hashable = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Record one dispatch of a shader with its own ``main``.

        Args:
            shader: WGSL text, or a path beside the kernel's Python file or among the package's.
            slots: Of a template, the module that fills its slots: a path, or text.
            configuration: Values of a template's constants; others keep their defaults.
            arrays: By binding name; those bound read_write are written. Views that the shader
                cannot take are copied first.
            params: Fields of the uniform struct beside the arrays' facts: numbers and tuples.
            groups: Workgroup counts; by default an invocation per element of the first output.
            constants: Values of ``override`` constants.
            windows: Of arrays above the binding limit, the first byte and the bytes to bind.
            key: What stands for all other arguments and the arrays' layouts, if the caller has
                something: the same key means the same dispatch.
            notes: Lines that `explain` prints with it.

        Raises:
            ShaderError: The shader does not compose or compile.
            ArgumentError: It writes no array, or does not name one of the arrays or params.
        """
        device = self._backend.open()
        if type(arrays) is not dict or {*map(type, arrays.values())} != _ARRAYS:
            argument_checks.check_arrays(self._kernel, arrays)
        layouts: list[Any] = []
        for name, array in arrays.items():
            is_value = array.host is not None and array.size == 1
            if not is_value and (array.storage is None or array.device is not device):
                self._backend.make_resident(array, f"{self._kernel} takes buffers")
            if key is None:
                layouts.append((name, array.shape, array.dtype, array.layout, is_value))
        fields = params or {}
        if device is not self._ready.device:
            self._ready.begin(device)
        chosen = configuration_of(self.chosen)
        try:
            given_key: Any = (key, chosen) if key is not None else (
                chosen, shader, slots,
                None if configuration is None else tuple(configuration.items()),
                tuple(layouts), _keyed(fields),
                tuple(groups) if isinstance(groups, (tuple, list)) else groups,
                None if constants is None else _keyed(constants),
                None if windows is None else tuple(windows.items()),
            )  # fmt: skip
            loaded = self._ready[given_key]
        except (TypeError, AttributeError):  # lists or arrays among the fields
            given_key = loaded = None
        if loaded is None:
            options: dict[str, Any] = {"groups": groups, "constants": constants}
            options |= {"windows": windows, "notes": notes}
            argument_checks.check_options(self._kernel, fields, configuration, key, **options)
            if given_key is None:
                self.dispatch(
                    plain_path(self._kernel, "shader", shader), arrays,
                    slots=argument_checks.slots(self._kernel, slots), configuration=configuration,
                    params=plain_fields(fields), **options,
                )  # fmt: skip
                return
            bound = arguments_of(list(arrays.values()), device.largest_binding)
            given = {name: one for name, one in zip(arrays, bound, strict=True) if one is not None}
            program = lower_custom(
                self._kernel, self._source(shader, slots, configuration), given, device,
                params=fields, is_ours=self._origin.is_ours, is_whole=slots is not None, **options,
            )  # fmt: skip
            program = replace(program, configuration=chosen)
            loaded = self._ready.keep(given_key, Loaded(device, program))
        self._run(loaded, arrays)

    def repeats(self) -> None:
        """Promise that this run does what any other would on arrays of these layouts.

        Nothing but shapes, dtypes, layouts, attributes, the adapter and what `choose` answers may
        decide what the function does. It is then run once for each of these, for its program, which
        is recorded from then on without a call.
        """
        self.has_promised = not self.has_read

    def _run(self, loaded: Loaded, arrays: Mapping[str, GpuArray]) -> None:
        device = loaded.device
        given = list(arrays.values())
        for n in loaded.written:
            written = given[n]
            if written.immutable or written.host is not None or written.source is not None:
                name = list(arrays)[n]
                raise ArgumentError(
                    f"{self._kernel}: the shader writes {name}, which is an input or a result, or "
                    "holds host values; write to an array of gpu.empty()."
                )
        for n in loaded.packed:
            given[n] = self.contiguous(given[n])
        for n in loaded.bound:
            if given[n].storage is None or given[n].device is not device:
                self._backend.make_resident(given[n])
        loaded.run(given)

    def pack(self, x: GpuArray, dtype: DType) -> GpuArray:
        """Return int32, int8 or uint8 modulo 256 as bytes; maps before it may be fused with it."""
        y = Spec(x.shape, dtype)
        key = ("pack", x.dtype, y)
        launch = self._ready[key]
        if launch is None:
            call = packing_call(self._kernel, y)
            launch = self._keep_launch(key, call, "free", lowering=lower_packing, reads=1)
        return self._launched(launch, [x])

    def _formed(
        self, form: DeclaredForm, shader: str, x: GpuArray, y: Spec, attrs: dict[str, Any]
    ) -> GpuArray:
        if type(shader) is not str:
            shader = plain_path(self._kernel, "shader", shader)
        key = (form, shader, x.shape, x.dtype, y, tuple(attrs.items()))
        launch = self._ready[key]
        if launch is None:
            kernel = ShaderKernel(
                self._kernel, shader, self._origin, form=form, shared=self._sources
            )
            call = ShaderCall(kernel, ("x",), attrs, (y,), ("y",))
            launch = self._keep_launch(key, call, form)
        return self._launched(launch, [x])

    def _keep_launch(self, key: Any, call: ShaderCall, form: Form, **options: Any) -> KernelLaunch:
        if (device := self._backend.open()) is not self._ready.device:
            self._ready.begin(device)
        lowering = partial(ShaderLowering, call, form, **options)
        launch = KernelLaunch(self._backend, self._kernel, lowering, call.outputs)
        self._ready.keep(key, launch)
        return launch

    def _launched(self, launch: KernelLaunch, arrays: Sequence[GpuArray]) -> GpuArray:
        """Run a kernel that is no shader with its own ``main``; it is deferred where it may be."""
        is_trusted = launch.is_map and self._origin.is_ours
        # what is neither a tensor's nor deferred may be written again by the function
        may_defer = is_trusted or all(one.immutable or one.op is not None for one in arrays)
        given = [self._now(one) for one in arrays]
        made: GpuArray = (launch if may_defer else launch.run_now)(given)[0]
        return made

    def _source(
        self, shader: str, slots: str | Text | None, configuration: Mapping[str, bool | int] | None
    ) -> Source:
        shader = plain_path(self._kernel, "shader", shader)
        return self._sources.find(shader, argument_checks.slots(self._kernel, slots), configuration)


def plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in fields.items()}


def _keyed(fields: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple([(name, field_key(value)) for name, value in fields.items()])
