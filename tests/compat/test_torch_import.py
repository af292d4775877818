"""`torch.export` programs as GE graphs: numbers of eager torch, names, shapes, refusals."""

import numpy as np
import pytest
from torch_runs import Function, check, exported, flat, normal

import ge_xdsl as gx
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.names import input_names, output_names
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, tensor_of
from ge_xdsl.importers.torch.reader import import_exported
from ge_xdsl.importers.torch.values import (
    array_of_tensor,
    tensor_of_array,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, F = torch.nn, torch.nn.functional


# Operators, a family at a time: one graph with an output for each


X, Y = normal(2, 3, 4), normal(2, 3, 4, seed=1)
POSITIVE = X.abs() + 0.5
UNIT = X.tanh() * 0.9
INTS = torch.tensor([[-7, -2, 0], [1, 5, 9]])
DIVISORS = torch.tensor([[2, -3, 4], [-2, 3, 5]])
BOOLS = torch.tensor([[True, False, True], [False, False, True]])
OTHER = torch.tensor([True, False, True])
IMAGE = normal(2, 4, 7, 9)
INDEX = torch.tensor([[0, 2], [1, -1]])

PLAIN = (
    "abs", "neg", "sign", "exp", "expm1", "erf", "erfc", "sin", "cos", "tan", "atan", "sinh",
    "cosh", "asinh", "floor", "ceil", "round", "trunc", "square", "isnan", "isinf", "isfinite",
    "relu", "sigmoid", "tanh",
)  # fmt: skip

GROUPS = {
    "elementwise": (
        (X, Y, INTS, DIVISORS),
        [
            lambda x, y, i, d: x + y,
            lambda x, y, i, d: torch.add(x, y, alpha=2.5),
            lambda x, y, i, d: torch.sub(x, y, alpha=-3),
            lambda x, y, i, d: x + 2,
            lambda x, y, i, d: 2 - x,
            lambda x, y, i, d: torch.rsub(x, y, alpha=2),
            lambda x, y, i, d: i + 0.5,
            lambda x, y, i, d: i * 3,
            lambda x, y, i, d: x[:, :, :3] * i[:, None],
            lambda x, y, i, d: i / d,
            lambda x, y, i, d: x / y,
            lambda x, y, i, d: i // d,
            lambda x, y, i, d: torch.div(i, d, rounding_mode="trunc"),
            lambda x, y, i, d: torch.div(x, y, rounding_mode="trunc"),
            lambda x, y, i, d: torch.div(x, 0.3, rounding_mode="floor"),
            lambda x, y, i, d: i % d,
            lambda x, y, i, d: torch.fmod(i, d),
            lambda x, y, i, d: torch.remainder(x, 0.7),
            lambda x, y, i, d: x**2,
            lambda x, y, i, d: x.abs() ** y,
            lambda x, y, i, d: 2**y,
            lambda x, y, i, d: torch.maximum(x, y),
            lambda x, y, i, d: torch.minimum(i, d),
            lambda x, y, i, d: x.clamp(-0.5, 0.5),
            lambda x, y, i, d: x.clamp(min=0.1),
            lambda x, y, i, d: x.clamp(max=0.1),
            lambda x, y, i, d: x.clamp(0.5, -0.5),
            lambda x, y, i, d: torch.clamp(x, y, y + 1),
            lambda x, y, i, d: torch.addcmul(x, y, y, value=0.5),
            lambda x, y, i, d: torch.addcdiv(x, y, y + 4),
            lambda x, y, i, d: torch.lerp(x, y, 0.3),
        ],
    ),
    "unary": (
        (X, POSITIVE, UNIT, INTS),
        [
            *[
                lambda x, p, u, i, name=name: getattr(torch, name)(x)
                for name in PLAIN
            ],
            *[
                lambda x, p, u, i, name=name: getattr(torch, name)(p)
                for name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal")
            ],
            *[
                lambda x, p, u, i, name=name: getattr(torch, name)(u)
                for name in ("asin", "acos", "atanh")
            ],
            lambda x, p, u, i: torch.acosh(p + 1),
            lambda x, p, u, i: torch.round(x, decimals=1),
            lambda x, p, u, i: torch.ceil(i),
            lambda x, p, u, i: torch.exp(i),
            lambda x, p, u, i: torch.isnan(i),
            lambda x, p, u, i: torch.sqrt(i.abs()),
        ],
    ),
    "compare": (
        (X, INTS, BOOLS, OTHER),
        [
            lambda x, i, b, o: x > 0,
            lambda x, i, b, o: i >= 0.5,
            lambda x, i, b, o: x[:, :, :3] < i[:, None],
            lambda x, i, b, o: i <= 1,
            lambda x, i, b, o: i == 5,
            lambda x, i, b, o: i != torch.tensor([1, 5, 9]),
            lambda x, i, b, o: torch.logical_and(b, i),
            lambda x, i, b, o: torch.logical_or(b, o),
            lambda x, i, b, o: torch.logical_xor(b, o),
            lambda x, i, b, o: torch.logical_not(i),
            lambda x, i, b, o: b & o,
            lambda x, i, b, o: b | o,
            lambda x, i, b, o: b ^ o,
            lambda x, i, b, o: ~b,
            lambda x, i, b, o: i & 3,
            lambda x, i, b, o: i | 8,
            lambda x, i, b, o: i ^ 5,
            lambda x, i, b, o: ~i,
            lambda x, i, b, o: torch.where(b, i, 2),
            lambda x, i, b, o: torch.where(b, 1.5, x[0, :2, :3]),
            lambda x, i, b, o: x[:, :2, :3].masked_fill(b, float("-inf")),
        ],
    ),
    "activation": (
        (X * 3,),
        [
            F.gelu,
            lambda x: F.gelu(x, approximate="tanh"),
            F.silu,
            F.mish,
            F.relu6,
            F.selu,
            F.elu,
            lambda x: F.celu(x, 0.7),
            F.hardswish,
            F.hardsigmoid,
            F.hardtanh,
            lambda x: F.leaky_relu(x, 0.2),
            lambda x: F.softplus(x, 2.0, 3.0),
            lambda x: F.softmax(x, 1),
            lambda x: F.log_softmax(x, -1),
            lambda x: F.softmax(x.sum(), 0),
            lambda x: F.logsigmoid(x),
            lambda x: F.softmin(x, 0),
            F.glu,
            lambda x: F.prelu(x, torch.tensor([0.3])),
        ],
    ),
    "reduce": (
        (X, INTS, BOOLS),
        [
            lambda x, i, b: x.sum(),
            lambda x, i, b: x.sum((0, -1), keepdim=True),
            lambda x, i, b: b.sum(1),
            lambda x, i, b: x.mean(),
            lambda x, i, b: x.mean(1),
            lambda x, i, b: i.prod(),
            lambda x, i, b: x.prod(2),
            lambda x, i, b: x.amax((1, 2)),
            lambda x, i, b: x.amin(0, keepdim=True),
            lambda x, i, b: b.amax(0),
            lambda x, i, b: x.max(),
            lambda x, i, b: i.min(),
            lambda x, i, b: x.max(1)[0],
            lambda x, i, b: x.max(1, keepdim=True)[1],
            lambda x, i, b: x.min(-1)[1],
            lambda x, i, b: torch.max(x, x + 1),
            lambda x, i, b: b.any(),
            lambda x, i, b: b.all(0),
            lambda x, i, b: i.any(1, keepdim=True),
            lambda x, i, b: x.var(),
            lambda x, i, b: x.var(1, correction=0),
            lambda x, i, b: x.std(-1, keepdim=True),
            lambda x, i, b: torch.var_mean(x, 2, keepdim=True)[1],
            lambda x, i, b: torch.var_mean(x, (0, 1))[1],
            lambda x, i, b: torch.logsumexp(x, 1),
            lambda x, i, b: torch.linalg.vector_norm(x, dim=-1),
            lambda x, i, b: torch.linalg.vector_norm(x, 1, keepdim=True),
            lambda x, i, b: torch.linalg.vector_norm(x, float("inf"), 1),
            lambda x, i, b: x.argmax(),
            lambda x, i, b: x.argmax(1, keepdim=True),
            lambda x, i, b: x.argmin(-1),
            lambda x, i, b: x.argmax(keepdim=True),
            lambda x, i, b: x.cumsum(1),
            lambda x, i, b: i.cumsum(0),
            lambda x, i, b: x.cumprod(-1),
            lambda x, i, b: x.topk(2)[0],
            lambda x, i, b: x.topk(2, dim=1, largest=False)[1],
            lambda x, i, b: x.sort(1, descending=True)[0],
            lambda x, i, b: x.sort(-1)[1],
        ],
    ),
    "shape": (
        (X, INTS),
        [
            lambda x, i: x.view(6, 4),
            lambda x, i: x.reshape(-1),
            lambda x, i: x.permute(2, 0, -2),
            lambda x, i: x.transpose(0, -1),
            lambda x, i: i.t(),
            lambda x, i: i[0].t(),
            lambda x, i: x[:, :1].expand(-1, 5, -1),
            lambda x, i: i.expand(2, 2, 3),
            lambda x, i: i.repeat(2, 1, 2),
            lambda x, i: x[:, :1].squeeze(),
            lambda x, i: x[:, :1].squeeze(1),
            lambda x, i: x.squeeze(1),
            lambda x, i: x.unsqueeze(-1),
            lambda x, i: x.flatten(1),
            lambda x, i: torch.cat([x, x[:1]]),
            lambda x, i: torch.cat([torch.zeros(0), i.flatten()]),
            lambda x, i: torch.cat([x, i[:, :, None].expand(2, 3, 4)], 1),
            lambda x, i: torch.stack([x, x + 1], -1),
            lambda x, i: x.split(3, -1)[1],
            lambda x, i: x.split([1, 2], 1)[1],
            lambda x, i: x.chunk(2, 2)[0],
            lambda x, i: x.unbind(1)[2],
            lambda x, i: x[:, 1:3],
            lambda x, i: x[:, :, ::2],
            lambda x, i: x[:, :, -3:-1],
            lambda x, i: x[-1],
            lambda x, i: F.pad(x, (1, 2, 0, 1), value=0.5),
            lambda x, i: x.flip(0, 2),
            lambda x, i: x.roll(1, 1),
            lambda x, i: x.roll(2),
            lambda x, i: x.tril(),
            lambda x, i: x.triu(1),
            lambda x, i: x.to(torch.int32),
            lambda x, i: i.to(torch.float16),
            lambda x, i: i.bool(),
            lambda x, i: x.to(torch.bfloat16),
            lambda x, i: x.clone(),
        ],
    ),
    "index": (
        (X, INDEX, INTS),
        [
            lambda x, k, i: torch.arange(5) + 0 * i[0, 0],
            lambda x, k, i: torch.arange(1, 2, 0.25) + 0 * x[0, 0],
            lambda x, k, i: torch.full((2, 3), 1.5) + x[0, 0, 0],
            lambda x, k, i: torch.ones_like(x) + torch.zeros(4),
            lambda x, k, i: torch.full_like(i, 3),
            lambda x, k, i: torch.scalar_tensor(2.0) + x,
            lambda x, k, i: x.new_zeros(3),
            lambda x, k, i: torch.ops.aten.copy(x, i[0, :1]),
            lambda x, k, i: torch.ops.aten.fill(x, 3),
            lambda x, k, i: F.embedding(k.abs(), x[0]),
            lambda x, k, i: x.index_select(1, torch.tensor([2, 0])),
            lambda x, k, i: i.gather(1, k.abs()),
            lambda x, k, i: x[k[0].abs() % 2],
            lambda x, k, i: x[:, k],
            lambda x, k, i: x[torch.tensor([[0], [1]]), k],
            lambda x, k, i: x[:, k, torch.tensor([3, -4])],
            lambda x, k, i: x[torch.tensor([1, 0]), :, torch.tensor([3, -4])],
            lambda x, k, i: x.index_put((k[0].abs() % 2,), x[:2] + 9),
            lambda x, k, i: torch.ops.aten.index_put(x, [None, k], x[0, 0] + 9),
            lambda x, k, i: torch.ops.aten.index_put(x, [None, k[0], k[1]], x[:, 0, :2] + 9),
            lambda x, k, i: torch.ops.aten.index_put(x, [k[0] % 2, None, k[1]], x[:2, :, 0] + 9),
            lambda x, k, i: torch.ops.aten.index_put(x, [k[0] * 0], x[:1] + 9, True),
            lambda x, k, i: i.scatter(1, k.abs(), 7),
            lambda x, k, i: i.scatter_add(1, k.abs(), i[:, :2]),
            lambda x, k, i: i.scatter(1, torch.tensor([[0, 2], [1, 0]]), i[:, 1:]),
            lambda x, k, i: torch.slice_scatter(x, x[:, :1] + 9, 1, 1, 2),
            lambda x, k, i: torch.select_scatter(x, x[:, 0] + 9, 1, -1),
        ],
    ),
    "matmul": (
        (normal(3, 4), normal(4, 5), normal(2, 3, 4), normal(2, 4, 5)),
        [
            lambda a, b, c, d: a @ b,
            lambda a, b, c, d: c @ d,
            lambda a, b, c, d: c @ b,
            lambda a, b, c, d: a[0] @ b[:, 0],
            lambda a, b, c, d: a @ b[:, 0],
            lambda a, b, c, d: torch.addmm(a[:, :1], a, b),
            lambda a, b, c, d: torch.addmm(b[0], a, b),
            lambda a, b, c, d: torch.addmm(b[0], a, b, alpha=2, beta=0.5),
            lambda a, b, c, d: torch.addmm(b[0], a, b, beta=0),
            lambda a, b, c, d: torch.baddbmm(c[:, :, :1], c, d, alpha=0.5),
            lambda a, b, c, d: F.linear(c, b.t(), b[0]),
            lambda a, b, c, d: torch.einsum("bij,bjk->bik", c, d),
        ],
    ),
    "image": (
        (IMAGE, normal(6, 2, 3, 3), normal(4, 3, 2, 2)),
        [
            lambda x, w, t: F.conv2d(x, w, None, 2, 1, 1, 2),
            lambda x, w, t: F.conv2d(x, w, x[0, 0, 0, :6], (1, 2), (0, 2), (2, 1), 2),
            lambda x, w, t: F.conv_transpose2d(x, t, None, 2, 1, 1),
            lambda x, w, t: F.conv1d(x[:, :, 0], w[:, :, 0], None, 2, 1, 1, 2),
            lambda x, w, t: F.conv_transpose1d(x[:, :, 0], t[:, :, 0], None, 2),
            lambda x, w, t: F.conv3d(x[:, :, None], w[:, :, None], None, 1, 1, 1, 2),
            lambda x, w, t: F.max_pool2d(x, 3, 2, 1),
            lambda x, w, t: F.max_pool2d(x, 2, ceil_mode=True),
            lambda x, w, t: F.max_pool2d(x, 2, 1, 0, 2),
            lambda x, w, t: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1],
            lambda x, w, t: F.avg_pool2d(x, 3, 2, 1),
            lambda x, w, t: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            lambda x, w, t: F.avg_pool2d(x, 2, divisor_override=3),
            lambda x, w, t: F.avg_pool1d(x[:, :, 0], 2),
            lambda x, w, t: F.avg_pool3d(x[:, :, None], (1, 2, 2)),
            lambda x, w, t: F.adaptive_avg_pool2d(x, 1),
            lambda x, w, t: F.adaptive_avg_pool2d(x, (3, 4)),
            lambda x, w, t: F.interpolate(x, scale_factor=2),
            lambda x, w, t: F.interpolate(x, size=(9, 13), mode="bilinear"),
            lambda x, w, t: F.interpolate(x, size=9, mode="bilinear", align_corners=True),
            lambda x, w, t: F.pixel_shuffle(x, 2),
            lambda x, w, t: F.layer_norm(x, (9,), x[0, 0, 0], x[0, 0, 1]),
            lambda x, w, t: F.layer_norm(x, (7, 9)),
            lambda x, w, t: F.group_norm(x, 2, x[0, :, 0, 0], x[0, :, 0, 1]),
            lambda x, w, t: F.group_norm(x, 4),
            lambda x, w, t: F.instance_norm(x),
            lambda x, w, t: F.batch_norm(x, x[0, :, 0, 0], x[1, :, 0, 0].abs()),
            lambda x, w, t: F.rms_norm(x, (9,)),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_operators(group):
    args, functions = GROUPS[group]
    model = Function(lambda *given: tuple(f(*given) for f in functions))
    module = gx.load(exported(model, args))
    check(module, args, flat(model(*args)))


# Models


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False)
        self.head = nn.Linear(8, 5)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 3, 2, 1)
        x = x + F.hardswish(self.depthwise(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Attention(nn.Module):
    """Embeddings and causal attention; a mask by keyword, two outputs, one of them None."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 50)
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)

    def forward(self, ids, *, mask=None, gain=None):
        batch, length = ids.shape
        hidden = self.words(ids) + self.places(torch.arange(length))
        heads = [t.view(batch, length, 4, 8).transpose(1, 2) for t in self.qkv(hidden).chunk(3, -1)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, 32) * self.scale
        if gain is not None:
            y = y * gain
        if mask is not None:
            y = torch.where(mask[..., None], y, 0.0)
        return self.out(y), None, y.mean(1)


IDS = torch.randint(0, 50, (3, 9), generator=torch.Generator().manual_seed(3))


def test_convolutional_network():
    model, x = Convolutions(), normal(2, 3, 32, 32)
    check(gx.load(exported(model, (x,))), [x], flat(model(x)))


def test_transformer_block():
    model = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    x = normal(2, 7, 32)
    check(gx.load(exported(model, (x,))), [x], flat(model(x)))


def test_dynamic_batch():
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
    batch = torch.export.Dim("batch")
    program = exported(model, (normal(5, 8),), dynamic_shapes={"input": {0: batch}})
    for size in (2, 5, 11):
        x = normal(size, 8)
        module = gx.load(program)
        (arg,) = main_function(module).body.block.args
        assert tensor_of(arg.type).shape == (DYNAMIC, 8)
        check(module, [x], flat(model(x)))


def test_resampling_with_a_dynamic_batch():
    model = Function(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"))
    options = {"dynamic_shapes": (({0: torch.export.Dim("batch")},),)}
    program = exported(model, (IMAGE,), **options)
    x = normal(3, 4, 7, 9)
    check(gx.load(program), [x], flat(model(x)))


def test_keywords_none_and_dynamic_sizes():
    """The keywords come in the order of the call; None is no output; shapes are computed."""
    model = Attention()
    dims = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=64)}
    keywords = {"gain": torch.tensor(2.0), "mask": IDS > 20}
    shapes = {"ids": dims, "gain": {}, "mask": dims}
    program = exported(model, (IDS,), keywords, dynamic_shapes=shapes)
    for ids in (IDS, IDS[:2, :4], IDS[:, :1].expand(3, 20).contiguous()):
        module = gx.load(program)
        names = input_names(main_function(module))
        given = {"ids": ids, "gain": keywords["gain"], "mask": ids > 20}
        assert sorted(names) == sorted(given)
        expected = flat(model(ids, gain=given["gain"], mask=given["mask"]))
        check(module, [given[name] for name in names], expected)


def test_sizes_are_computed():
    def function(x):
        rows = x.shape[0] * 2 - 1
        wide = x.repeat(2, 1)[:rows]
        return wide.reshape(rows, -1).sum(0) / (x.shape[0] + 1), torch.zeros(rows, x.shape[0]) + 1

    model = Function(function)
    options = {"dynamic_shapes": (({0: torch.export.Dim("n", min=2)},),)}
    program = exported(model, (normal(5, 3),), **options)
    for size in (2, 6):
        x = normal(size, 3)
        check(gx.load(program), [x], flat(model(x)))


def test_bf16_weights_are_kept_as_they_are():
    model = nn.Linear(64, 32).to(torch.bfloat16)
    program = exported(model, (normal(2, 64).bfloat16(),))
    module = gx.load(program)
    (weight,) = [op for op in ge_ops(module) if op.node_name == "weight"]
    assert isinstance(weight, ConstOp)
    assert tensor_of(weight.results[0].type).dtype == DataType.DT_BF16
    address = weight.value.__array_interface__["data"][0]
    assert address == model.weight.data_ptr()
    x = normal(2, 64).bfloat16()
    check(module, [x], flat(model(x)), 2e-2)


def test_names():
    module = gx.load(exported(Convolutions(), (normal(1, 3, 16, 16),)))
    names = {op.node_name for op in ge_ops(module)}
    assert {"first.weight", "norm.running_var", "head.bias", "convolution", "addmm"} <= names
    assert output_names(main_function(module)) == ["addmm"]


def test_written_buffers_follow_the_outputs():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count.add_(x)
            return x * self.count

    x = torch.tensor([2.0, 3.0])
    module = gx.load(exported(Counter(), (x,)))
    outputs = gx.run(module, {"x": x.numpy()})
    assert list(outputs)[1] == "count"
    assert [array.tolist() for array in outputs.values()] == [[4.0, 9.0], [2.0, 3.0]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float16", "bool", "int64"])
def test_arrays_and_tensors_share_memory(dtype):
    tensor = torch.tensor([0, 1, 2]).to(getattr(torch, dtype))
    array = array_of_tensor(tensor)
    again = tensor_of_array(array, tensor.dtype)
    assert again.dtype == tensor.dtype
    assert again.data_ptr() == tensor.data_ptr() == array.__array_interface__["data"][0]
    assert array.astype(np.float32).tolist() == tensor.float().tolist()


def test_import_leaves_the_program_alone():
    program = exported(nn.Linear(3, 2), (normal(1, 3),))
    before = str(program)
    import_exported(program)
    assert str(program) == before
