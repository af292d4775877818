"""Convolutions and pools.

1x1         a matrix product of the filter and the planes, no layout changes
depthwise   kernel taps on the vector core (`taps`), as pools are
others      the planes to channel blocks (NC1HWC0) by a vector kernel of its own; im2col products
            on the cube, bias and relu on the way out, pixels by channels; those turned to planes
            by a second vector kernel
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, SSAValue

from ge_xdsl.dialects.aicore.maps import CopyMapL1Op, Geometry, Load3dOp
from ge_xdsl.dialects.aicore.move import CopyGmL1Op
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, BLOCK_ROWS, Tile
from ge_xdsl.dialects.ge.conv import Convolution, GroupedConvolution
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.buffers import Program, Value
from ge_xdsl.lowering.conv_tiling import ConvShape, conv_tiling
from ge_xdsl.lowering.drain import refused, without_table
from ge_xdsl.lowering.emitter import Emitter, cast_to
from ge_xdsl.lowering.matmul import FACTORS, Body, Product, alloc, matmul_kernel, only_relu
from ge_xdsl.lowering.matmul import shape_of as product_shape
from ge_xdsl.lowering.movement import Copy, Movement, Side, contiguous, movement_kernel
from ge_xdsl.lowering.taps import Taps, taps_kernel
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.tile_choice import Choice, check_choice, chosen
from ge_xdsl.lowering.tile_price import cores_of
from ge_xdsl.lowering.tile_search import best_tiling
from ge_xdsl.lowering.tiling import MatmulTiling
from ge_xdsl.lowering.turn import block_kernel, turn_kernel
from ge_xdsl.lowering.unit import Placer, Unit
from ge_xdsl.lowering.vector_kernel import Chain, vector_kernel
from ge_xdsl.targets.target import Target

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

TYPES = frozenset({"Conv2D", "FusedConv2D_BiasAdd_ReLU", "DepthwiseConv2D"})


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution in numbers; filter axes are those of Cout, Cin, kernel."""

    images: int
    inputs: int
    outputs: int
    groups: int
    geometry: Geometry
    planes: bool
    """Whether x is NCHW, not NHWC."""
    axes: tuple[int, ...]
    element: str
    bias: str
    relu: bool
    tile: Choice | None = None
    """The tile of its products that the user wants."""

    @property
    def is_pointwise(self) -> bool:
        g = self.geometry
        plain = g.kernel == g.stride == (1, 1) and g.out == g.size
        return plain and self.groups == 1

    @property
    def is_depthwise(self) -> bool:
        return self.groups == self.inputs == self.outputs and self.groups > 1


def geometry_of(windows: Sequence[Window], size: tuple[int, int]) -> Geometry:
    """The windows over height and width of a map."""
    high, wide = windows
    return Geometry(
        size,
        (high.kernel, wide.kernel),
        (high.stride, wide.stride),
        (high.dilation, wide.dilation),
        (high.before, wide.before),
        (high.count, wide.count),
    )


def conv_of(op: GeOp, relu: bool) -> Conv:
    assert isinstance(op, Convolution)
    x, w = tensor_of(op.operands[0].type), tensor_of(op.operands[1].type)
    shape, stored = x.shape or (), w.shape or ()
    axes = op.filter_axes(w)
    out, depth, *kernel = (stored[i] for i in axes)
    letters = op.data_format
    images, inputs, high, wide = (shape[letters.index(letter)] for letter in "NCHW")
    groups = inputs
    if isinstance(op, GroupedConvolution):
        groups = op.group_count(inputs, depth)
    else:
        # the multiplier stands first: channel c gives channels c * K .. c * K + K - 1
        out = out * depth
    bias = op.operands[2] if len(op.operands) > 2 else None
    return Conv(
        images,
        inputs,
        out,
        groups,
        geometry_of(op.windows(shape, kernel), (high, wide)),
        letters == "NCHW",
        axes,
        element_of(x.dtype),
        element_of(tensor_of(bias.type).dtype) if bias is not None else "",
        relu or op.op_type == "FusedConv2D_BiasAdd_ReLU",
    )


def reason(op: GeOp, target: Target) -> str:
    """Why a convolution is not lowered, '' when it is."""
    for value in (*op.operands, *op.results):
        tensor = static_tensor(value)
        if tensor is None:
            return unshaped(value)
        if element_of(tensor.dtype) not in FACTORS:
            return f"no lowering for element type {tensor.dtype.name}"
    conv = conv_of(op, False)
    core = "vector" if conv.is_depthwise else "cube"
    if core not in target.lowers:
        return f"no {core} kernels for {target.name}"
    why = refused(conv.element, target) if not conv.is_depthwise else ""
    if why:
        return why
    if conv.bias == "bf16" and not conv.is_depthwise:
        return "no lowering for a bias of element type bf16"
    if conv.is_pointwise:
        return ""
    if not conv.planes:
        return "no lowering for NHWC, except 1x1"
    constant = constant_of(op.operands[1]) is not None
    if conv.is_depthwise and conv.axes != (0, 1, 2, 3) and not constant:
        return "no lowering for a filter in this format that is not constant"
    try:
        return _declined(op, conv, target)
    except CompileError as error:
        return f"no lowering: {error.message}"


def _declined(op: GeOp, conv: Conv, target: Target) -> str:
    """Why a convolution that is not 1x1 is not lowered; raises CompileError when no tile fits."""
    if conv.is_depthwise:
        _taps_of(conv).lines(target)
        return ""
    if not isinstance(op, GroupedConvolution):
        return "no lowering for a channel multiplier"
    conv_tiling(without_table(shape_of(conv), target), target)
    return ""


def unit(op: GeOp, target: Target) -> Unit:
    """The launches of a convolution, with the Relu that is its only user."""
    relu = only_relu(op)
    conv = replace(conv_of(op, relu is not None), tile=chosen(op))
    ops = [op] if relu is None else [op, relu]
    place: Callable[[Placer, GeOp, Conv, Target], SSAValue]
    if conv.is_pointwise:
        place = _place_product
    elif conv.is_depthwise:
        place = _place_taps
    else:
        place = _place_map
        check_choice(op, conv.tile, without_table(shape_of(conv), target), target)
    return Unit(
        ops,
        ops[-1].results,
        lambda placer: [_typed(placer, place(placer, op, conv, target), ops[-1])],
    )


def _typed(placer: Placer, value: SSAValue, op: GeOp) -> SSAValue:
    """A value in the type of an op's result."""
    want = op.results[0].type
    return value if value.type == want else placer.view(value, want)


def _tensor(dtype: DataType, *shape: int) -> Attribute:
    return Tensor(dtype, shape).type


# 1x1


def _place_product(placer: Placer, op: GeOp, conv: Conv, target: Target) -> SSAValue:
    """Filter times planes, or pixels times filter where a pixel's channels are neighbours."""
    x, w, *bias = (placer.value(v) for v in op.operands)
    out_first = conv.axes[0] < conv.axes[1]
    pixels = conv.geometry.pixels
    filter_shape = (conv.outputs, conv.inputs) if out_first else (conv.inputs, conv.outputs)
    result = op.results[0].type
    if pixels == 1 or not conv.planes:
        rows = conv.images * pixels
        product = Product(
            (rows, conv.inputs),
            filter_shape,
            (rows, conv.outputs),
            False,
            out_first,
            conv.element,
            conv.bias,
            conv.relu,
            tile=conv.tile,
        )
        return _launch_product(placer, product, [x, w, *bias], result, target)
    lead = () if conv.images == 1 else (conv.images,)
    one = () if conv.images == 1 else (1,)
    product = Product(
        (*one, *filter_shape),
        (*lead, conv.inputs, pixels),
        (*lead, conv.outputs, pixels),
        not out_first,
        False,
        conv.element,
        "",
        conv.relu and not bias,
        "f32" if bias else "",
        conv.tile,
    )
    if not bias:
        return _launch_product(placer, product, [w, x], result, target)
    wide = _tensor(DataType.DT_FLOAT, *product.y)
    sums = _launch_product(placer, product, [w, x], wide, target)
    return _launch_bias(placer, conv, (sums, bias[0]), result, target)


def _launch_product(
    placer: Placer,
    product: Product,
    operands: Sequence[SSAValue],
    type: Attribute,
    target: Target,
) -> SSAValue:
    shape = without_table(product_shape(product), target)
    check_choice(placer.unit.ops[0], product.tile, shape, target)
    return placer.launch(
        product, lambda name: matmul_kernel(name, product, target), operands, [type]
    )[0]


def _launch_bias(
    placer: Placer, conv: Conv, operands: Sequence[SSAValue], type: Attribute, target: Target
) -> SSAValue:
    """One number per channel added to f32 planes, relu, and the rounding to the element type."""
    program = Program()
    sums, bias = program.add(Value("f32")), program.add(Value(conv.bias, True, False))
    program.inputs += [sums, bias]
    emit = Emitter(program, "f32")
    y = emit.binary("add", sums, bias)
    y = emit.unary("relu", y) if conv.relu else y
    program.outputs.append(cast_to(program, y, conv.element))
    shape = (conv.images, conv.outputs, conv.geometry.pixels)
    chain = Chain(program, (), (), shape, (shape, (1, conv.outputs, 1)), (shape,))
    return placer.launch(
        chain.key(),
        lambda name: vector_kernel(name, chain, target),
        operands,
        [type],
        stem="ChannelBias",
    )[0]


# Depthwise


def _taps_of(conv: Conv) -> Taps:
    return Taps(
        "muladd",
        conv.images,
        conv.inputs,
        conv.geometry,
        conv.element,
        conv.element,
        conv.bias,
        conv.relu,
    )


def _place_taps(placer: Placer, op: GeOp, conv: Conv, target: Target) -> SSAValue:
    """One kernel of taps; a filter in another order is turned at compile time."""
    x, w, *bias = (placer.value(v) for v in op.operands)
    if conv.axes != (0, 1, 2, 3):
        array = constant_of(op.operands[1])
        assert array is not None
        stored = array.transpose(conv.axes).reshape(conv.inputs, conv.geometry.taps)
        w = placer.constant(stored.copy(), f"{op.node_name or 'filter'}_taps")
    taps = _taps_of(conv)
    return placer.launch(
        taps, lambda name: taps_kernel(name, taps, target), [x, w, *bias], [op.results[0].type]
    )[0]


# The rest


def shape_of(conv: Conv) -> ConvShape:
    size = Tile((1,), conv.element, "gm").size
    blocks = -(-(conv.inputs // conv.groups) // (BLOCK_BYTES // size))
    return ConvShape(
        conv.images * conv.groups,
        conv.outputs // conv.groups,
        blocks,
        size,
        conv.geometry,
        bool(conv.bias),
        conv.groups,
    )


def blocked_filter(array: Array, groups: int, c0: int) -> Array:
    """[Cout, Cin/groups, kh, kw] as [groups, K1, N1, 16, C0], K = channel block, kernel, C0.

    Zeros fill the last channel block and the last 16 output channels.
    """
    import numpy as np

    out, depth, high, wide = array.shape
    each, blocks = out // groups, -(-depth // c0)
    columns = -(-each // BLOCK_ROWS) * BLOCK_ROWS
    full = np.zeros((groups, columns, blocks * c0, high, wide), array.dtype)
    full[:, :each, :depth] = array.reshape(groups, each, depth, high, wide)
    split = full.reshape(groups, columns // BLOCK_ROWS, BLOCK_ROWS, blocks, c0, high, wide)
    turned = split.transpose(0, 3, 5, 6, 1, 2, 4)
    return turned.reshape(groups, blocks * high * wide, columns // BLOCK_ROWS, BLOCK_ROWS, c0)


def _place_map(placer: Placer, op: GeOp, conv: Conv, target: Target) -> SSAValue:
    """Blocks, products, turned back to planes."""
    x, _, *bias = (placer.value(v) for v in op.operands)
    shape, element = shape_of(conv), conv.element
    dtype, g = tensor_of(op.operands[0].type).dtype, conv.geometry
    c0 = BLOCK_BYTES // shape.size
    w = _filter(placer, op, conv, target)
    depth, high_wide = conv.inputs // conv.groups, g.size[0] * g.size[1]
    key = ("blocks", shape.batch, depth, high_wide, element)
    kind = _tensor(dtype, shape.batch, shape.blocks, high_wide * c0)
    (blocks,) = placer.launch(
        key,
        lambda name: block_kernel(name, shape.batch, depth, high_wide, element, target),
        [x],
        [kind],
        stem="TransData",
    )
    kind = _tensor(dtype, shape.batch, g.pixels, shape.n)
    (y,) = placer.launch(
        ("conv", conv), lambda name: conv_kernel(name, conv, target), [blocks, w, *bias], [kind]
    )
    if 1 in (g.pixels, shape.n):
        return y
    key = ("turn", shape.batch, g.pixels, shape.n, element)
    return placer.launch(
        key,
        lambda name: turn_kernel(name, shape.batch, g.pixels, shape.n, element, target),
        [y],
        [op.results[0].type],
        stem="TransData",
    )[0]


def _filter(placer: Placer, op: GeOp, conv: Conv, target: Target) -> SSAValue:
    """The filter in blocks: a constant at compile time, any other by a kernel."""
    tensor, c0 = tensor_of(op.operands[1].type), BLOCK_BYTES // shape_of(conv).size
    array = constant_of(op.operands[1])
    if array is not None:
        stored = blocked_filter(array.transpose(conv.axes), conv.groups, c0)
        return placer.constant(stored, f"{op.node_name or 'filter'}_blocks")
    shape = tuple(tensor.shape or ())
    found = filter_movement(shape, conv.axes, conv.groups, c0, conv.element)
    return placer.launch(
        found,
        lambda name: movement_kernel(name, found, target),
        [placer.value(op.operands[1])],
        [_tensor(tensor.dtype, found.outputs[0])],
        stem="TransData",
    )[0]


def filter_movement(
    shape: Sequence[int], axes: Sequence[int], groups: int, c0: int, element: str
) -> Movement:
    """`blocked_filter` of a filter of `shape`, with dimensions Cout, Cin / groups, kh and kw
    at `axes`: copies of whole and of last blocks, and zeros for the rest of these.
    """
    strides = [contiguous(shape)[axis] for axis in axes]
    out, depth, high, wide = (shape[axis] for axis in axes)
    each = out // groups
    blocks, columns = -(-depth // c0), -(-each // BLOCK_ROWS)
    full = (groups, blocks, high, wide, columns, BLOCK_ROWS, c0)
    to = contiguous(full)
    o, i, h, w = strides
    come = (each * o, c0 * i, h, w, BLOCK_ROWS * o, o, i)
    copies: list[Copy] = []
    for b, nb, c, nc, in_depth in _spans(depth, c0):
        for r, nr, n, nn, in_each in _spans(each, BLOCK_ROWS):
            part = (groups, nb, high, wide, nr, nn, nc)
            src = b * come[1] + c * i + r * come[4] + n * o
            dst = b * to[1] + c * to[6] + r * to[4] + n * to[5]
            side = Side(0, src, come) if in_depth and in_each else None
            copies.append(Copy(part, side, Side(1, dst, to)))
    return Movement(element, (prod(shape),), (prod(full),), tuple(copies))


def _spans(count: int, block: int) -> list[tuple[int, int, int, int, bool]]:
    """Blocks of `count` elements: first block, blocks, first element and elements of each of them,
    and whether there is something: whole blocks, the last one, and what fills it."""
    whole, rest = divmod(count, block)
    found = [(0, whole, 0, block, True)] if whole else []
    if rest:
        found += [(whole, 1, 0, rest, True), (whole, 1, rest, block - rest, False)]
    return found


def conv_kernel(
    name: str, conv: Conv, target: Target, tiling: MatmulTiling | None = None
) -> KernelOp:
    """The products of a convolution; arguments are the map, the filter, the bias, and y."""
    shape = shape_of(conv)
    if tiling is None:
        tiling = best_tiling(
            (conv, shape), target, lambda t: conv_kernel(name, conv, target, t), conv.tile
        )
    g, groups = conv.geometry, conv.groups
    lead = (conv.images, groups)
    high_wide = g.size[0] * g.size[1] * BLOCK_BYTES // shape.size
    args = [
        Tile((*lead, shape.blocks, high_wide), conv.element, "gm"),
        Tile((groups, shape.k, shape.n), conv.element, "gm", "zn"),
    ]
    names = ["x", "w"]
    if conv.bias:
        args.append(Tile((groups, shape.n), conv.bias, "gm"))
        names.append("bias")
    y = (*lead, shape.m, shape.n)
    args.append(Tile(y, conv.element, "gm"))
    block = Block(arg_types=[tile.type for tile in args])
    for arg, hint in zip(block.args, [*names, "y"], strict=True):
        arg.name_hint = hint
    product = Product(
        (shape.m, shape.k), (shape.k, shape.n), y, False, False, conv.element, conv.bias, conv.relu
    )
    _Body(product, tiling, target, block, g, shape).fill(tiling.strip)
    return KernelOp.make(name, "cube", cores_of(shape, tiling, target), 1, block)


class _Body(Body):
    """A product whose left factor is the im2col matrix of a map."""

    def __init__(
        self,
        product: Product,
        tiling: MatmulTiling,
        target: Target,
        block: Block,
        geometry: Geometry,
        shape: ConvShape,
    ) -> None:
        super().__init__(product, tiling, target, block)
        self.geometry = geometry
        self.shape = shape

    def bias_window(self) -> list[Index]:
        return [self.batch[1], self.n]

    def copy_a(self, body: Block, k: Index, length: Index, depth: int) -> SSAValue:
        shape, tiling = self.shape, self.tiling
        columns = shape.map_bytes(tiling.m) // shape.size
        tile = Tile((-(-depth // shape.depth), columns), self.product.element, "l1")
        a1 = alloc(body, tile, "a1", tiling.a_buffers)
        offsets: list[Index] = [*self.batch, self.m, k]
        sizes: list[Index] = [self.vm, length]
        options = self.geometry.options()
        body.add_op(
            CopyMapL1Op.build(self.block.args[0], a1, offsets=offsets, sizes=sizes, **options)
        )
        return a1

    def copy_b(self, body: Block, k: Index, length: Index, depth: int) -> SSAValue:
        tiling = self.tiling
        tile = Tile((depth, tiling.n), self.product.element, "l1", "zn")
        b1 = alloc(body, tile, "b1", tiling.b_buffers)
        offsets: list[Index] = [self.batch[1], k, self.n]
        sizes: list[Index] = [length, self.vn]
        body.add_op(CopyGmL1Op.build(self.block.args[1], b1, offsets=offsets, sizes=sizes))
        return b1

    def load_a(self, body: Block, a1: SSAValue, k: Index, length: Index) -> SSAValue:
        a0 = self.left(body)
        options = self.geometry.options()
        sizes: list[Index] = [self.vm, length]
        body.add_op(Load3dOp.build(a1, a0, offsets=[self.m, k], sizes=sizes, **options))
        return a0
