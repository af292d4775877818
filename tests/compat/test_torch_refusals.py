"""What the importer of `torch.export` programs refuses, each in one line."""

import sys
from types import SimpleNamespace

import pytest
from torch_runs import Function, exported, normal
from xdsl.ir import Block

import ge_xdsl as gx
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.errors import Location
from ge_xdsl.importers.torch import table
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.reader import import_fx
from ge_xdsl.importers.torch.values import (
    array_of_tensor,
    dtype_of_torch,
    torch_module,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, F = torch.nn, torch.nn.functional

X, IMAGE = normal(2, 3, 4), normal(2, 4, 7, 9)


def refusal(function, *args):
    with pytest.raises(gx.CompileError) as caught:
        gx.load(exported(Function(function), args))
    (line,) = str(caught.value).splitlines()
    return line


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (torch.linalg.eigvals, (normal(2, 2),), "aten.linalg_eig.default 'linalg_eig': has no"),
        (lambda x: x.view(torch.int32), (X,), "views DT_FLOAT as DT_INT32, expected one element"),
        (lambda x: F.pad(x, (-1, 0)), (X,), "pads are [-1, 0], expected none below 0"),
        (lambda x: torch.linalg.vector_norm(x, -1), (X,), "'ord' is -1.0, expected one above 0"),
        (lambda x: F.max_pool2d(x, 2), (X,), "expected rank 4 with a batch dimension"),
        (lambda x: (x, "text"), (X,), "output 'output': is str, expected a tensor"),
    ],
)  # fmt: skip
def test_refusals(function, args, expected):
    assert expected in refusal(function, *args)


T = Tensor(DataType.DT_FLOAT, (2, 3, DYNAMIC))


def value(tensor=T):
    return Block(arg_types=[tensor.type]).args[0]


V = value()


@pytest.mark.parametrize(
    ("base", "args", "expected"),
    [
        ("neg", {"self": 3}, "argument 'self' is 3, expected a tensor"),
        ("cat", {"tensors": [V, 3], "dim": 0}, "argument 'tensors' holds 3, expected tensors"),
        ("tril", {"self": V, "diagonal": V}, "'diagonal' is known at run time only, expected"),
        ("celu", {"self": V, "alpha": "x"}, "argument 'alpha' is x, expected a number"),
        ("permute", {"self": V, "dims": [V]}, "'dims' is known at run time only, expected"),
        ("split", {"self": V, "split_size": 2, "dim": 2}, "splits a dimension known at run time"),
        ("convolution", {"input": V, "weight": value(Tensor(T.dtype, (1, 2)))}, "has rank 2"),
        ("scatter", {"self": V, "index": V, "reduce": "add"}, "'reduce' is add, expected none"),
        ("scatter_reduce", {"self": V, "reduce": "amax"}, "reduction is amax without the elements"),
        ("_local_scalar_dense", {"self": V}, "takes the number out of tensor<2x3x?xf32>, exp"),
        ("diagonal", {"self": V}, "'self' is tensor<2x3x?xf32>, expected a known shape"),
        ("slice_scatter", {"self": V, "src": V, "dim": 2}, "bounds are known at run time only"),
        ("select_scatter", {"self": V, "src": V, "dim": 2}, "bounds are known at run time only"),
    ],
)  # fmt: skip
def test_refused_calls(base, args, expected):
    """What export cannot be brought to write, or hardly."""
    fake = torch.empty(2, 3, 5, device="meta")
    node = SimpleNamespace(name="node", meta={"val": fake}, users={})
    builder = TorchBuilder(Block(), Location("<test>"))
    call = builder.node = Call(node, f"aten.{base}.default", args)
    with pytest.raises(gx.CompileError) as caught:
        table.converter_of(base)(call, builder)
    assert expected in str(caught.value)
    assert f"aten.{base}.default 'node'" in str(caught.value)


def graph_of(kind, target):
    """An fx graph module with an input x that returns one node."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.create_node(kind, target, () if kind == "get_attr" else (x,)),))
    far = torch.empty(3, device="meta")
    return torch.fx.GraphModule({"text": "words", "far": far}, graph)


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        ("call_method", "relu", "call_method 'relu': is no call of an operator, expected one"),
        ("get_attr", "text", "constant 'text': is str, expected a tensor"),
        ("get_attr", "far", "constant 'far': tensor is torch.strided on meta, expected a strided"),
        ("call_function", len, "len 'len_1': has no conversion, expected a core ATen operator"),
    ],
)  # fmt: skip
def test_refused_graphs(kind, target, expected):
    with pytest.raises(gx.CompileError) as caught:
        import_fx(graph_of(kind, target))
    assert expected in str(caught.value)


def test_refused_graph_inputs():
    module = graph_of("call_function", len)
    next(iter(module.graph.nodes)).meta["val"] = torch.empty(
        2, dtype=torch.complex32, device="meta"
    )
    with pytest.raises(gx.CompileError, match="graph input 'x': element type is complex32, exp"):
        import_fx(module)


def test_statistics_that_are_not_given():
    model = Function(
        lambda x, c: torch.ops.aten._native_batch_norm_legit_no_training(
            x, c, c, c, c, 0.1, 1e-5
        )[1]
    )  # fmt: skip
    program = exported(model, (IMAGE, torch.ones(4)))
    with pytest.raises(gx.CompileError, match="result 1 of '_native.*' is asked for, it is not"):
        gx.load(program)


def test_torch_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(gx.CompileError, match="importing from torch needs the torch package, exp"):
        torch_module()


def test_refused_results(monkeypatch):
    """A converter that gives another shape than torch is found at its call."""
    monkeypatch.setitem(table._LOADED, "neg", lambda call, g: g.reshape(call.value("self"), [-1]))
    assert refusal(lambda x: -x, X) == (
        "error: aten.neg.default 'neg': result is tensor<24xf32>, "
        "expected tensor<2x3x4xf32> as in torch"
    )


def test_refused_tensors():
    with pytest.raises(
        gx.CompileError, match=r"tensor is torch.strided on meta, expected a strided one on the cpu"
    ):
        array_of_tensor(torch.empty(2, device="meta"))
    with pytest.raises(gx.CompileError, match=r"element type is qint8, expected one of bfloat16"):
        dtype_of_torch(torch.qint8)
