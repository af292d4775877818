"""ATen reshapes, permutations and sizes."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call, Dim
from ge_xdsl.importers.torch.table import Converter


def view(call: Call, g: TorchBuilder) -> SSAValue:
    """Reshape, or a bitwise view in another element type, which is refused"""
    x = call.value("self")
    if g.dtype(x) != call.dtype:
        call.fail(f"views {g.dtype(x).name} as {call.dtype.name}, expected one element type")
    return g.reshape(x, call.dims("size" if call.raw("size") is not None else "shape"), call.name)


def flatten(call: Call, g: TorchBuilder) -> SSAValue:
    """Reshape with the dimensions in the range as one"""
    x = call.value("self")
    rank = g.rank(x, "flatten")
    if rank == 0:
        return g.reshape(x, [1], call.name)
    start, end = call.integer("start_dim") % rank, call.integer("end_dim") % rank
    kept = [g.known_dim(x, k) for k in range(rank)]
    return g.reshape(x, [*kept[:start], -1, *kept[end + 1 :]], call.name)


def permute(call: Call, g: TorchBuilder) -> SSAValue:
    """Transpose"""
    x = call.value("self")
    rank = g.rank(x, "permute")
    perm = [axis % rank for axis in call.integers("dims")]
    return g.op("Transpose", x, g.helper(perm, "int32"))


def transpose(call: Call, g: TorchBuilder) -> SSAValue:
    """Transpose of two dimensions; of less than two dimensions nothing"""
    x = call.value("self")
    rank = g.rank(x, "transpose")
    if rank < 2:
        return x
    first, second = (
        call.integer(name) % rank if call.raw(name) is not None else k
        for k, name in enumerate(("dim0", "dim1"))
    )
    perm = list(range(rank))
    perm[first], perm[second] = second, first
    return g.op("Transpose", x, g.helper(perm, "int32"))


def expand(call: Call, g: TorchBuilder) -> SSAValue:
    """BroadcastTo; -1 is the dimension as it is"""
    x, dims = call.value("self"), call.dims("size")
    rank = g.rank(x, "expand")
    missing = len(dims) - rank
    full = [
        g.known_dim(x, k - missing) if isinstance(dim, int) and dim == -1 else dim
        for k, dim in enumerate(dims)
    ]
    return g.broadcast(x, full, call.name)


def repeat(call: Call, g: TorchBuilder) -> SSAValue:
    """Tile, after Reshape where there are more repeats than dimensions"""
    x, repeats = call.value("self"), call.dims("repeats")
    rank = g.rank(x, "repeat")
    if len(repeats) > rank:
        x = g.part("Unsqueeze", x, axes=list(range(len(repeats) - rank)))
    return g.op("Tile", x, g.sizes(repeats))


def squeeze(call: Call, g: TorchBuilder) -> SSAValue:
    """Squeeze of the dimensions of 1 among those named, all when none is"""
    x = call.value("self")
    shape = g.shape(x)
    axes = g.axes_of(call.integers("dim"), x)
    if shape is None or not (ones := [axis for axis in axes if shape[axis : axis + 1] == (1,)]):
        return x
    return g.op("Squeeze", x, axis=ones)


def unsqueeze(call: Call, g: TorchBuilder) -> SSAValue:
    """Unsqueeze"""
    x = call.value("self")
    return g.op("Unsqueeze", x, axes=[call.integer("dim") % (g.rank(x, "unsqueeze") + 1)])


def size(call: Call, g: TorchBuilder) -> SSAValue:
    """Gather of one entry of Shape"""
    return g.dim(call.value("self"), call.integer("dim"))


def count(call: Call, g: TorchBuilder) -> SSAValue:
    """ReduceProd of Shape"""
    x = call.value("self")
    dims: list[Dim] = [g.known_dim(x, k) for k in range(g.rank(x, "sym_numel"))]
    numbers = [dim for dim in dims if isinstance(dim, int)]
    if len(numbers) == len(dims):
        return g.scalar(prod(numbers), "int64")
    return g.part("ReduceProd", g.shape_of(x), g.helper([0], "int32"))


def item(call: Call, g: TorchBuilder) -> SSAValue:
    """The one element as an i64 scalar, which a size can be"""
    x = call.value("self")
    if g.dtype(x) in FLOATS:
        call.fail(f"takes the number out of {g.tensor_text(x)}, expected integers")
    return g.reshape(g.cast(x, DataType.DT_INT64), [], g.part_name("Reshape"))


TABLE: dict[str, Converter] = {
    "_local_scalar_dense": item,
    **dict.fromkeys(("_reshape_copy", "_unsafe_view", "reshape", "view"), view),
    "expand": expand,
    "flatten": flatten,
    "permute": permute,
    "repeat": repeat,
    "squeeze": squeeze,
    "sym_numel": count,
    "sym_size": size,
    "t": transpose,
    "transpose": transpose,
    "unsqueeze": unsqueeze,
}
