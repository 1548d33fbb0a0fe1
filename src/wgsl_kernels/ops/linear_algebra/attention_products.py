"""Attention on webgpu as products of matrices, block by block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.control.parts import added, excess, joined
from wgsl_kernels.ops.elementwise.cast import converted
from wgsl_kernels.ops.linear_algebra.attention_blocks import ScoreBlock, blocks_of
from wgsl_kernels.ops.linear_algebra.matrix import product_webgpu
from wgsl_kernels.ops.shapes.shape import reshaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.ops.linear_algebra.attention_blocks import AttentionSizes

_ROWS = 16  # of a workgroup, as in attention/rows.wesl
_FORWARD, _BACKWARD = "linear_algebra/attention/", "linear_algebra/attention_gradient/"


def attention_by_products(
    gpu: Gpu,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray]:
    """Return the means and the logarithms of the sums.

    Args:
        gpu: The device.
        sizes: The sizes, of which none that makes up scores is 0.
        arrays: query, key and value.
        mask: As the kernel takes it.
        causal: Likewise.
        scale: Likewise.
    """
    query = arrays["query"]
    plan = Products(gpu, sizes, mask, causal=causal, scale=scale)
    y = gpu.empty((*query.shape[:3], sizes.value_size), query.dtype)
    log_sums = gpu.empty(query.shape[:3], "float32")
    q, k, v = plan.grouped(query, arrays["key"], arrays["value"])
    for block in plan.blocks:
        keys = plan.part(k, block, 0, block.keys)
        products = product_webgpu(gpu, plan.rows(q, block), keys, False, True)
        inverses = plan.weigh(products, block, log_sums)
        sums = product_webgpu(gpu, products, plan.part(v, block, 0, block.keys), False, False)
        plan.divide(sums, inverses, block, y)
    return y, log_sums


def gradient_by_products(
    gpu: Gpu,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return the gradients of query, key and value.

    Args:
        gpu: The device.
        sizes: The sizes, of which none that makes up scores is 0.
        arrays: query, key, value, log_sums, level and dy.
        mask: As the kernel takes it.
        causal: Likewise.
        scale: Likewise.
    """
    query, key, value = (arrays[name] for name in ("query", "key", "value"))
    plan = Products(gpu, sizes, mask, causal=causal, scale=scale)
    q, k, v = plan.grouped(query, key, value)
    upstream = plan.groups_of(arrays["dy"], sizes.rows)
    log_sums, level = (gpu.contiguous(arrays[name]) for name in ("log_sums", "level"))
    of_query: list[GpuArray] = []
    of_key: dict[int, GpuArray] = {}
    of_value: dict[int, GpuArray] = {}
    for block in plan.blocks:
        queries, dy = plan.rows(q, block), plan.rows(upstream, block)
        keys, values = (plan.part(one, block, 0, block.keys) for one in (k, v))
        weights = product_webgpu(gpu, queries, keys, False, True)
        slopes = product_webgpu(gpu, dy, values, False, True)
        plan.slope(weights, slopes, block, log_sums, level)
        of_query.append(product_webgpu(gpu, slopes, keys, False, False))
        plan.add(of_key, product_webgpu(gpu, slopes, queries, True, False), block)
        plan.add(of_value, product_webgpu(gpu, weights, dy, True, False), block)
    return (
        converted(gpu, _whole(gpu, of_query, query.shape), query.dtype),
        converted(gpu, _whole(gpu, [*of_key.values()], key.shape), key.dtype),
        converted(gpu, _whole(gpu, [*of_value.values()], value.shape), value.dtype),
    )


class Products:
    """The blocks of attention on a device.

    Attributes:
        blocks: The blocks of its scores.
    """

    def __init__(
        self, gpu: Gpu, sizes: AttentionSizes, mask: GpuArray | None, *, causal: bool, scale: float
    ) -> None:
        self._gpu, self._sizes = gpu, sizes
        self.blocks = blocks_of(sizes, gpu.policy.attention_scores, causal=causal)
        self._mask = None if mask is None else mask_view(gpu, mask, sizes)
        self._flags = flags_of(mask, causal=causal)
        self._fields: dict[str, Any] = {
            "key_heads": sizes.key_heads,
            "sharing": sizes.sharing,
            "steps": sizes.steps,
            "length": sizes.length,
            "scale": scale,
        }
        if mask is None:
            self._fields |= {"mask_strides": (0, 0, 0, 0), "mask_offset": 0}

    def groups_of(self, x: GpuArray, rows: int) -> GpuArray:
        """Return [..., rows, size] of [batch, heads, length, size], in float32.

        Where there is one block its groups may have two axes, which needs no copy of a view.
        """
        sizes = self._sizes
        whole = (sizes.batch, sizes.key_heads), (sizes.groups,)
        wide = converted(self._gpu, x, "float32")
        return reshaped(self._gpu, wide, (*whole[len(self.blocks) > 1], rows, x.shape[3]))

    def grouped(
        self, query: GpuArray, key: GpuArray, value: GpuArray
    ) -> tuple[GpuArray, GpuArray, GpuArray]:
        """Return what `groups_of` gives of all three."""
        rows, length = self._sizes.rows, self._sizes.length
        of_keys = self.groups_of(key, length), self.groups_of(value, length)
        return self.groups_of(query, rows), *of_keys

    def rows(self, x: GpuArray, block: ScoreBlock) -> GpuArray:
        """Return the rows of a block, of what `groups_of` gives of queries."""
        return self.part(x, block, block.row, block.rows)

    def part(self, x: GpuArray, block: ScoreBlock, first: int, count: int) -> GpuArray:
        """Return a block's groups of what `groups_of` gives, and of these some rows."""
        if len(self.blocks) == 1:
            return x
        shape = (block.groups, count, x.shape[-1])
        start = x.offset + block.group * x.strides[0] + first * x.strides[1]
        return self._gpu.view(x, shape, x.strides, start)

    def weigh(self, products: GpuArray, block: ScoreBlock, log_sums: GpuArray) -> GpuArray:
        """Write weights to products; return what they are still to be multiplied by, for each row.

        Args:
            products: [..., rows, keys]; the weights are relative to the row's largest.
            block: Which rows and keys these are.
            log_sums: [batch, heads, steps], of which the block's are written.
        """
        gpu = self._gpu
        count = block.groups * block.rows
        inverses = gpu.empty((count,), "float32")
        results = {"inverses": inverses, "log_sums": log_sums}
        parts = gpu.policy.attention_parts(count, block.keys)
        if parts == 1:
            self._dispatch(_FORWARD + "weights.wesl", {"products": products, **results}, block)
        else:
            tops, totals = (gpu.empty((count, parts), "float32") for _ in range(2))
            self._dispatch(
                _FORWARD + "part_tops.wesl", {"products": products, "tops": tops}, block, parts
            )
            arrays = {"products": products, "tops": tops, "totals": totals}
            self._dispatch(_FORWARD + "part_totals.wesl", arrays, block, parts)
            joins = {"tops": tops, "totals": totals, **results}
            self._dispatch(_FORWARD + "join_totals.wesl", joins, block, parts, each=False)
        return inverses

    def divide(self, sums: GpuArray, inverses: GpuArray, block: ScoreBlock, y: GpuArray) -> None:
        """Write a block's means to y: sums of values times what `weigh` has returned."""
        gpu, size = self._gpu, self._sizes.value_size
        if not size:
            return
        count, unit = block.groups * block.rows, 1 if size % 4 else 4
        run = max(gpu.policy.attention_run // 4, 1)
        parts = math.ceil(size / unit / run)
        gpu.dispatch(
            _FORWARD + "means.wesl",
            {"sums": sums, "inverses": inverses, "y": y},
            configuration={"VEC4": unit == 4},
            params={
                "count": count,
                "first": block.group * self._sizes.rows + block.row,
                "parts": parts,
                "part_size": run,
                "value_size": size,
            },
            groups=gpu.grid(count * parts, _ROWS),
        )

    def slope(
        self,
        products: GpuArray,
        slopes: GpuArray,
        block: ScoreBlock,
        log_sums: GpuArray,
        level: GpuArray,
    ) -> None:
        """Write weights to products, and to slopes what the scores' gradient is."""
        arrays = {"products": products, "slopes": slopes, "log_sums": log_sums, "level": level}
        parts = math.ceil(block.keys / self._gpu.policy.attention_run)
        self._dispatch(_BACKWARD + "slopes.wesl", arrays, block, parts)

    def _dispatch(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        block: ScoreBlock,
        parts: int = 1,
        *,
        each: bool = True,
    ) -> None:
        count = block.groups * block.rows
        mask, first = self._mask_of(block)
        self._gpu.dispatch(
            shader,
            {**arrays, **mask},
            configuration={**self._flags, "VEC4": block.keys % 4 == 0},
            params={
                **self._fields,
                "mask_first": first,
                "count": count,
                "parts": parts,
                "part_size": -(-block.keys // parts // 4) * 4,
                "keys": block.keys,
                "group": block.group,
                "row": block.row,
                "block_rows": block.rows,
            },
            groups=self._gpu.grid(count * parts if each else count, _ROWS),
        )

    def _mask_of(self, block: ScoreBlock) -> tuple[dict[str, GpuArray], tuple[int, int, int]]:
        """Return the mask, if there is one, and the batch, head and step that it begins with.

        Of a mask above the binding limit it is the part that the block needs.
        """
        gpu, sizes, mask = self._gpu, self._sizes, self._mask
        if mask is None:
            return {}, (0, 0, 0)
        if excess(gpu, mask) == 1:
            return {"mask": mask}, (0, 0, 0)
        batch, key_head = divmod(block.group, sizes.key_heads)
        head, step = divmod(block.row, sizes.steps)
        if block.groups > 1:
            first = batch, 0, 0
            last = (block.group + block.groups - 1) // sizes.key_heads
            shape = (last - batch + 1, sizes.key_heads * sizes.sharing, sizes.steps, block.keys)
        else:
            first = batch, key_head * sizes.sharing + head, step
            heads = max(block.rows // sizes.steps, 1)
            shape = (1, heads, block.rows // heads, block.keys)
        moved = sum(n * stride for n, stride in zip(first, mask.strides, strict=False))
        return {"mask": gpu.view(mask, shape, mask.strides, mask.offset + moved)}, first

    def add(self, sums: dict[int, GpuArray], x: GpuArray, block: ScoreBlock) -> None:
        """Add what a block has for its keys to the sum of its groups, by the first of them."""
        rest = self._sizes.length - block.keys
        if rest:
            zeros = self._gpu.full((*x.shape[:-2], rest, x.shape[-1]), x.dtype, 0.0)
            x = joined(self._gpu, [x, zeros], -2)
        before = sums.get(block.group)
        sums[block.group] = x if before is None else added(self._gpu, [before, x])


def _whole(gpu: Gpu, blocks: Sequence[GpuArray], shape: Shape) -> GpuArray:
    """Return blocks of rows one behind the other as an array of ``shape``."""
    flat = [reshaped(gpu, one, (math.prod(one.shape[:-1]), one.shape[-1])) for one in blocks]
    return reshaped(gpu, flat[0] if len(flat) == 1 else joined(gpu, flat, 0), shape)


def flags_of(mask: GpuArray | None, *, causal: bool) -> dict[str, bool]:
    """Return the configuration of the shaders that says which keys a query may attend to."""
    is_added = mask is not None and mask.dtype != "bool"
    return {"MASKED": mask is not None, "ADDED": is_added, "CAUSAL": causal}


def mask_view(gpu: Gpu, mask: GpuArray, sizes: AttentionSizes) -> GpuArray:
    """Return the mask as a view of all scores; broadcast axes have strides of 0."""
    shape = (sizes.batch, sizes.key_heads * sizes.sharing, sizes.steps, sizes.length)
    steps = [0 if n == 1 else step for n, step in zip(mask.shape, mask.strides, strict=True)]
    return gpu.view(mask, shape, steps, mask.offset)
