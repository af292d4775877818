"""ATen views that pick elements at places which the program knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def as_strided(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2 of the flattened storage, Reshape where the elements stay in their order"""
    import numpy as np

    if _keeps_order(call):
        return g.reshape(call.value("self"), call.dims("size"), call.name)
    sizes, steps = call.integers("size"), call.integers("stride")
    x, order = _storage(call, g)
    positions = np.asarray(call.raw("storage_offset") or 0)
    g.check_count(int(np.prod(sizes, dtype=object)))
    for size, step in zip(sizes, steps, strict=True):
        positions = positions[..., None] + step * np.arange(size)
    count = int(np.prod(_known(call, g, x)))
    if positions.size and not 0 <= positions.min() <= positions.max() < count:
        call.fail(f"reads element {positions.max()} of a storage of {count}, expected one inside")
    return _picked(call, g, g.transpose(x, order), positions)


def _keeps_order(call: Call) -> bool:
    """Whether the tensor and the view of it are both row-major over the same memory."""
    before, after = call.node.args[0].meta["val"], call.results[0]
    offset = call.raw("storage_offset") or 0
    return bool(
        before.is_contiguous()
        and after.is_contiguous()
        and before.numel() == after.numel()
        and offset == before.storage_offset() == 0
    )


def _storage(call: Call, g: TorchBuilder) -> tuple[SSAValue, list[int]]:
    """The tensor and the order of its dimensions in memory, which holds it without gaps."""
    x, fake = call.value("self"), call.node.args[0].meta["val"]
    shape, strides = _known(call, g, x), fake.stride()
    order = sorted(range(len(shape)), key=lambda k: (-strides[k], k))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            call.fail(f"argument 'self' has the strides {strides}, expected memory without gaps")
        expected *= shape[axis]
    if fake.storage_offset():
        call.fail("argument 'self' starts inside its storage, expected the whole of it")
    return x, order


def _known(call: Call, g: TorchBuilder, x: SSAValue) -> tuple[int, ...]:
    shape = g.shape(x)
    if shape is None or DYNAMIC in shape:
        call.fail(f"argument 'self' is {g.tensor_text(x)}, expected a known shape")
    return shape


def _picked(call: Call, g: TorchBuilder, x: SSAValue, positions: Array) -> SSAValue:
    """The elements of the flattened x at `positions`, in their shape."""
    flat = g.reshape(x, [-1], g.part_name("Reshape"))
    index = g.const(positions.astype("int64"), g.part_name("Const"))
    return g.op("GatherV2", flat, index, g.helper(0, "int32"))


def diagonal(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2 of the flattened tensor"""
    import numpy as np

    x = call.value("self")
    shape = _known(call, g, x)
    g.check_count(int(np.prod(shape, dtype=object)))
    everywhere = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    offset, first, second = (call.integer(name) for name in ("offset", "dim1", "dim2"))
    return _picked(call, g, x, np.diagonal(everywhere, offset, first, second))


TABLE: dict[str, Converter] = {"as_strided": as_strided, "diagonal": diagonal}
