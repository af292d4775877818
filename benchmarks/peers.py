"""Other rewriters on a benchmark's graph, where they are installed: tinygrad and onnxscript.

A peer turns a block of GE ops into its own graph (not timed) and applies the same four rewrites
to it: MatMul + Add -> MatMul with a bias, Add(x, 0) -> x, two transposes -> one, two Relus -> one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp, constant_of

Run: TypeAlias = Callable[[], int]
"""Rewrites a graph that was made for it; how often."""
Prepare: TypeAlias = Callable[[Block], Run]

BIAS = {"MatMul", "BatchMatMulV2", "MatMulV2"}
"""Products whose bias is a third operand."""


def known() -> dict[str, Prepare]:
    """The peers, by name."""
    return {"tinygrad": tinygrad_run, "onnxscript": onnxscript_run}


def installed() -> dict[str, Prepare]:
    """The peers that can be imported, by name."""
    return {name: prepare for name, prepare in known().items() if find_spec(name) is not None}


def missing() -> list[str]:
    """The names of the others."""
    return [name for name in known() if find_spec(name) is None]


def _nodes(block: Block) -> list[GeOp]:
    return [op for op in block.ops if isinstance(op, GeOp)]


def _kind(op: GeOp) -> str:
    return {"TransposeD": "Transpose"}.get(
        op.op_type, "MatMul" if op.op_type in BIAS else op.op_type
    )


def _perm(op: GeOp) -> tuple[int, ...] | None:
    return tuple(op.get_attr("perm")) if op.op_type == "TransposeD" else None


def _scalar(op: ConstOp) -> float | None:
    array = constant_of(op.results[0])
    return float(array) if array is not None and array.shape == () else None


def tinygrad_run(block: Block) -> Run:
    """UOps under a PatternMatcher; an Ops member stands for each op type that a rule names."""
    tg: Any = import_module("tinygrad.uop.ops")
    dtypes: Any = import_module("tinygrad.dtype").dtypes
    Ops: Any = import_module("tinygrad.uop").Ops

    kinds: dict[str, Any] = {
        "MatMul": Ops.WMMA,
        "Add": Ops.CUSTOM,
        "Transpose": Ops.CUSTOMI,
        "Relu": Ops.CONTIGUOUS,
    }
    made: dict[SSAValue, Any] = {}

    def leaf(key: object) -> Any:
        return tg.UOp(Ops.BINARY, dtypes.float, (), key)

    for arg in block.args:
        made[arg] = leaf(("input", arg.index))
    for op in _nodes(block):
        if isinstance(op, ConstOp):
            value = _scalar(op)
            new = leaf(("weight", op.node_name) if value is None else value)
        else:
            kind = _kind(op)
            source = tuple(made[v] for v in op.operands)
            label = _perm(op) or ((kind, op.node_name) if kind not in kinds else kind)
            new = tg.UOp(kinds.get(kind, Ops.CUSTOM_FUNCTION), dtypes.float, source, label)
        made[op.results[0]] = new
    last: Operation | None = block.last_op
    sink = tg.UOp(Ops.SINK, dtypes.void, tuple(made[v] for v in last.operands) if last else ())
    APPLIED.clear()
    NEW.update({kind: partial(tg.UOp, op, dtypes.float) for kind, op in kinds.items()})
    NEW["Gemm"] = partial(tg.UOp, Ops.MULACC, dtypes.float)
    matcher = _matcher(tg, kinds, Ops.BINARY)

    def run() -> int:
        tg.graph_rewrite(sink, matcher)
        return len(APPLIED)

    return run


APPLIED: list[str] = []
"""The rules that tinygrad applied, one entry for each rewrite."""
NEW: dict[str, Callable[..., Any]] = {}
"""Makes a UOp of a kind; tinygrad's rules may hold no variables of a function around them."""


def _product(x: Any, w: Any, b: Any) -> Any:
    APPLIED.append("matmul_add")
    return NEW["Gemm"]((x, w, b), "Gemm")


def _zero(x: Any) -> Any:
    APPLIED.append("add_zero")
    return x


def _transposed(x: Any, inner: Any, outer: Any) -> Any:
    APPLIED.append("transpose")
    return NEW["Transpose"]((x,), tuple(inner.arg[i] for i in outer.arg))


def _relu(x: Any) -> Any:
    APPLIED.append("relu")
    return NEW["Relu"]((x,), "Relu")


def _matcher(tg: Any, kinds: dict[str, Any], constant: Any) -> Any:
    var, pat = tg.UPat.var, tg.UPat
    product = pat(kinds["MatMul"], src=(var("x"), var("w")))
    inner = pat(kinds["Transpose"], src=(var("x"),), name="inner")
    relu = pat(kinds["Relu"], src=(var("x"),))
    return tg.PatternMatcher(
        [
            (pat(kinds["Add"], src=(product, var("b"))), _product),
            (pat(kinds["Add"], src=(var("x"), pat(constant, arg=0.0))), _zero),
            (pat(kinds["Transpose"], src=(inner,), name="outer"), _transposed),
            (pat(kinds["Relu"], src=(relu,)), _relu),
        ]
    )


def onnxscript_run(block: Block) -> Run:
    """onnxscript's rewriter: one pass over the nodes, as its API does."""
    onnx: Any = import_module("onnx")
    ir: Any = import_module("onnx_ir")
    helper, numpy_helper = onnx.helper, import_module("onnx.numpy_helper")
    rewriting: Any = import_module("onnxscript.rewriter.pattern")

    names: dict[SSAValue, str] = {arg: f"x{arg.index}" for arg in block.args}
    nodes: list[Any] = []
    weights: list[Any] = []
    for op in _nodes(block):
        name = names[op.results[0]] = f"v{len(names)}"
        if isinstance(op, ConstOp):
            weights.append(numpy_helper.from_array(constant_of(op.results[0]), name))
            continue
        perm = _perm(op)
        attrs = {} if perm is None else {"perm": perm}
        nodes.append(helper.make_node(_kind(op), [names[v] for v in op.operands], [name], **attrs))

    def infos(values: Sequence[SSAValue]) -> list[Any]:
        shapes: list[tuple[str, Any]] = [(names[v], v.type) for v in values]
        return [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, t.get_shape())
            for name, t in shapes
        ]

    last = block.last_op
    outputs = infos(last.operands if last else ())
    graph = helper.make_graph(nodes, "main", infos(block.args), outputs, weights)
    model: Any = ir.from_proto(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    )
    rules: Any = rewriting.RewriteRuleSet(_onnxscript_rules(rewriting))
    return lambda: int(rules.apply_to_model(model))


def _onnxscript_rules(rewriting: Any) -> list[Any]:
    def product(op: Any, x: Any, w: Any, b: Any) -> Any:
        return op.Add(op.MatMul(x, w), b)

    def fused(op: Any, x: Any, w: Any, b: Any) -> Any:
        return op.Gemm(x, w, b)

    def zero(op: Any, x: Any) -> Any:
        return op.Add(x, 0.0)

    def same(op: Any, x: Any) -> Any:
        return x

    def transposes(op: Any, x: Any, p: Any, q: Any) -> Any:
        return op.Transpose(op.Transpose(x, perm=p), perm=q)

    def transposed(op: Any, x: Any, p: Any, q: Any) -> Any:
        inner, outer = p.as_ints(), q.as_ints()
        return op.Transpose(x, perm=[inner[i] for i in outer])

    def relus(op: Any, x: Any) -> Any:
        return op.Relu(op.Relu(x))

    def relu(op: Any, x: Any) -> Any:
        return op.Relu(x)

    pairs = ((product, fused), (zero, same), (transposes, transposed), (relus, relu))
    return [rewriting.RewriteRule(old, new) for old, new in pairs]
