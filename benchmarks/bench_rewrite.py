"""Time of rewriting a transformer with four rewrites, in microseconds per node.

    python benchmarks/bench_rewrite.py [--nodes 1000,10000] [--repeat 3]

Builds the graph straight in the IR: layers of 52 nodes (constants not counted) with 9 rewrites
each (6 MatMul + Add, 2 Add x 0, 1 TransposeD pair). Prints JSON: for each size the microseconds
per node of `run_ge` with patterns, of `run_fixpoint` with patterns and with hand-written rules,
of xDSL's own walker with the same hand-written rules, and of a hundred patterns that match
nothing. CPU time, best of the repeats; the graph is built anew for each.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Sequence
from functools import cache
from time import process_time
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
)

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule

TOKENS, WIDTH, HEADS = 4, 8, 2
DEPTH = WIDTH // HEADS
REWRITES = {"matmul_add": 6, "add_zero": 2, "transpose": 1}
LAYER = 52


def f32(*shape: int) -> Attribute:
    return Tensor(DataType.DT_FLOAT, shape).type


class Builder:
    """Appends ops with given result types; shared constants are made once."""

    def __init__(self, *inputs: tuple[int, ...]) -> None:
        self.block = Block(arg_types=[f32(*shape) for shape in inputs])
        self.count = 0
        self.weights = np.random.default_rng(0)

    def op(self, op_type: str, inputs: Sequence[SSAValue], shape: tuple[int, ...], **attrs: Any):
        cls = op_class(op_type)
        assert cls is not None
        self.count += 1
        op = cls.build(
            *inputs, result_types=[f32(*shape)], node_name=f"{op_type}_{self.count}", **attrs
        )
        self.block.add_op(op)
        return op.results[0]

    def const(self, array: np.ndarray | Sequence[int] | float, dtype: str = "float32") -> SSAValue:
        self.count += 1
        op = ConstOp.build(value=const_attr(np.array(array, dtype)), node_name=f"c_{self.count}")
        self.block.add_op(op)
        return op.results[0]

    def weight(self, *shape: int) -> SSAValue:
        return self.const(self.weights.standard_normal(shape))

    def func(self, *outputs: SSAValue, name: str = "main") -> FuncOp:
        self.block.add_op(ReturnOp(*outputs))
        types = ([arg.type for arg in self.block.args], [output.type for output in outputs])
        return FuncOp(name, types, Region(self.block))


def layer_norm(b: Builder, x: SSAValue, axes: SSAValue) -> SSAValue:
    row, full = (TOKENS, 1), (TOKENS, WIDTH)
    mean = b.op("ReduceMean", [x, axes], row, keep_dims=True)
    centred = b.op("Sub", [x, mean], full)
    square = b.op("Pow", [centred, b.const(2.0)], full)
    variance = b.op("ReduceMean", [square, axes], row, keep_dims=True)
    padded = b.op("Add", [variance, b.const(1e-5)], row)
    normal = b.op("RealDiv", [centred, b.op("Sqrt", [padded], row)], full)
    scaled = b.op("Mul", [normal, b.weight(WIDTH)], full)
    return b.op("Add", [scaled, b.weight(WIDTH)], full)


def linear(b: Builder, x: SSAValue, inner: int, outer: int) -> SSAValue:
    product = b.op("MatMul", [x, b.weight(inner, outer)], (TOKENS, outer))
    return b.op("Add", [product, b.weight(outer)], (TOKENS, outer))


def layer(b: Builder, x: SSAValue, axes: SSAValue, split: SSAValue, join: SSAValue) -> SSAValue:
    full, heads, square = (TOKENS, WIDTH), (HEADS, TOKENS, DEPTH), (HEADS, TOKENS, TOKENS)

    def head(value: SSAValue) -> SSAValue:
        cut = b.op("Reshape", [value, split], (TOKENS, HEADS, DEPTH))
        return b.op("TransposeD", [cut], heads, perm=[1, 0, 2])

    h = layer_norm(b, x, axes)
    q, k, v = (head(linear(b, h, WIDTH, WIDTH)) for _ in range(3))
    k = b.op("TransposeD", [k], (HEADS, DEPTH, TOKENS), perm=[0, 2, 1])
    s = b.op("BatchMatMul", [q, k], square)
    s = b.op("SoftmaxV2", [b.op("RealDiv", [s, b.const(DEPTH**0.5)], square)], square)
    c = b.op(
        "TransposeD", [b.op("BatchMatMul", [s, v], heads)], (TOKENS, HEADS, DEPTH), perm=[1, 0, 2]
    )
    o = linear(b, b.op("Reshape", [c, join], full), WIDTH, WIDTH)
    x = b.op("Add", [x, b.op("Add", [o, b.const(0.0)], full)], full)
    wide = (TOKENS, 2 * WIDTH)
    f = linear(b, layer_norm(b, x, axes), WIDTH, 2 * WIDTH)
    t = b.op("Erf", [b.op("RealDiv", [f, b.const(2**0.5)], wide)], wide)
    t = b.op("Mul", [f, b.op("Add", [t, b.const(1.0)], wide)], wide)
    t = b.op("Mul", [t, b.const(0.5)], wide)
    o = linear(b, t, 2 * WIDTH, WIDTH)
    return b.op("Add", [x, b.op("Add", [o, b.const(0.0)], full)], full)


def transformer(nodes: int) -> tuple[ModuleOp, int, int]:
    """The module, its node count without constants, and how many rewrites it holds."""
    b = Builder((TOKENS, WIDTH))
    axes, split = b.const([-1], "int32"), b.const([TOKENS, HEADS, DEPTH], "int32")
    join = b.const([TOKENS, WIDTH], "int32")
    x: SSAValue = b.block.args[0]
    layers = max(1, round(nodes / LAYER))
    for _ in range(layers):
        x = layer(b, x, axes, split, join)
    module = ModuleOp([b.func(x)])
    real = sum(type(op) is not ConstOp for op in b.block.ops) - 1
    return module, real, layers * sum(REWRITES.values())


# The rewrites as patterns


def pattern(name: str, b: Builder, *outputs: SSAValue, **config: bool):
    return compile_pattern(
        PatternGraph.from_function(b.func(*outputs, name=name), name=name), MatcherConfig(**config)
    )


def compose(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    return [inner[i] for i in outer]


def transposed(match: Match) -> FuncOp:
    return transpose_by(tuple(compose(*(op.get_attr("perm") for op in match.targets))))


@cache
def transpose_by(perm: tuple[int, ...]) -> FuncOp:
    """One graph for each permutation: replacements are copied, so they can be shared."""
    b = Builder((2, 3, 4))
    return b.func(b.op("TransposeD", [b.block.args[0]], (2, 3, 4), perm=perm))


def is_row_bias(match: Match) -> bool:
    bias = match.inputs[2].type
    return len(bias.get_shape()) == 1


def pattern_rules() -> list[Rule]:
    b = Builder((4, 8), (8, 8), (8,))
    x, w, bias = b.block.args
    matmul_add = pattern(
        "matmul_add", b, b.op("Add", [b.op("MatMul", [x, w], (4, 8)), bias], (4, 8))
    )
    fused = Builder((4, 8), (8, 8), (8,))
    gemm = fused.func(fused.op("MatMul", fused.block.args, (4, 8)))
    b = Builder((4, 8))
    zero = b.const(0.0)
    add_zero = pattern(
        "add_zero", b, b.op("Add", [b.block.args[0], zero], (4, 8)), const_value=True
    )
    same = Builder((4, 8))
    through = same.func(same.block.args[0])
    b = Builder((2, 3, 4))
    once = b.op("TransposeD", [b.block.args[0]], (2, 3, 4), perm=[0, 1, 2])
    transposes = pattern("transpose", b, b.op("TransposeD", [once], (2, 3, 4), perm=[0, 1, 2]))
    b = Builder((4, 8))
    relus = pattern("relu", b, b.op("Relu", [b.op("Relu", [b.block.args[0]], (4, 8))], (4, 8)))
    one = Builder((4, 8))
    relu = one.func(one.op("Relu", [one.block.args[0]], (4, 8)))
    return [
        PatternRule(matmul_add, lambda match: gemm, is_row_bias),
        PatternRule(add_zero, lambda match: through),
        PatternRule(transposes, transposed),
        PatternRule(relus, lambda match: relu),
    ]


# The rewrites by hand


def inner_op(op: GeOp, op_type: str) -> GeOp | None:
    """The producer of operand 0 when it has this type and no other reader."""
    value = op.operands[0]
    if not isinstance(value, OpResult) or not value.has_one_use():
        return None
    inner = value.op
    return inner if isinstance(inner, GeOp) and inner.op_type == op_type else None


MISS = Declined("no match")


class MatMulAdd(Rule):
    """Add(MatMul(x, w), b) -> MatMul(x, w, b)"""

    name = "matmul_add"
    root_types = ("Add",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = inner_op(op, "MatMul")
        bias = op.operands[1]
        if inner is None or len(bias.type.get_shape()) != 1:
            return MISS
        new = type(inner).create(
            operands=[*inner.operands, bias],
            result_types=[op.results[0].type],
            properties=inner.properties,
            attributes=op.attributes,
        )
        rewriter.replace(op, new)
        return Applied()


class AddZero(Rule):
    """Add(x, 0) -> x"""

    name = "add_zero"
    root_types = ("Add",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        zero = op.operands[1].owner
        if not isinstance(zero, ConstOp) or zero.properties["value"] != ZERO:
            return MISS
        rewriter.replace(op, [], [op.operands[0]])
        return Applied()


ZERO = const_attr(np.array(0.0, np.float32))


class TransposePair(Rule):
    """TransposeD(TransposeD(x, p), q) -> TransposeD(x, p[q])"""

    name = "transpose"
    root_types = ("TransposeD",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = inner_op(op, "TransposeD")
        if inner is None:
            return MISS
        perm = compose(op.get_attr("perm"), inner.get_attr("perm"))
        types = [op.results[0].type]
        new = type(op).build(inner.operands[0], result_types=types, perm=perm)
        new.attributes.update(op.attributes)
        rewriter.replace(op, new)
        return Applied()


class ReluPair(Rule):
    """Relu(Relu(x)) -> Relu(x)"""

    name = "relu"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = inner_op(op, "Relu")
        if inner is None:
            return MISS
        rewriter.replace(op, [], [inner.results[0]])
        return Applied()


def hand_written() -> list[Rule]:
    return [MatMulAdd(), AddZero(), TransposePair(), ReluPair()]


def idle_rules(hard: bool) -> list[Rule]:
    """A hundred patterns that match nothing in the transformer.

    Easy ones need an edge that is not there; hard ones have their edges in the graph and fail
    at a repeated input deep inside.
    """
    roots = ("Add", "Mul", "RealDiv", "MatMul", "Sub")
    inner = ("Tanh", "Sigmoid", "Exp", "Log") if not hard else ("Mul", "RealDiv", "Add", "MatMul")
    rules: list[Rule] = []
    for k in range(100):
        b = Builder((4, 4), (4, 4))
        x, y = b.block.args
        low, op_type = inner[k // 5 % 4], roots[k % 5]
        below = b.op(low, [x, x] if hard else [x], (4, 4))
        out = b.op(op_type, [below, below if k % 2 else y], (4, 4))
        compiled = pattern(f"idle_{k}", b, out)
        rules.append(PatternRule(compiled, lambda match: None))
    return rules


def timed(nodes: int, repeat: int, run: Callable[[ModuleOp], int]) -> tuple[float, int]:
    """Microseconds per node of the best run, and the rewrites that it made."""
    best, made = float("inf"), 0
    for _ in range(repeat):
        module, real, _ = transformer(nodes)
        gc.collect()
        start = process_time()
        made = run(module)
        best = min(best, (process_time() - start) / real * 1e6)
    return best, made


def run_stock(module: ModuleOp) -> int:
    PatternRewriteWalker(GreedyRewritePatternApplier(list(hand_written()))).rewrite_module(module)
    return -1


def block_of(module: ModuleOp) -> Block:
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    return func.body.block


def measure(nodes: int, repeat: int) -> dict[str, Any]:
    _, real, expected = transformer(nodes)
    patterns, rules = pattern_rules(), hand_written()
    easy, hard = idle_rules(False), idle_rules(True)
    runs: dict[str, Callable[[ModuleOp], int]] = {
        "run_ge, patterns": lambda m: run_ge(block_of(m), patterns, pass_name="P").applied,
        "run_fixpoint, patterns": lambda m: run_fixpoint(m, patterns).applied,
        "run_fixpoint, rules": lambda m: run_fixpoint(m, rules).applied,
        "xDSL walker, rules": run_stock,
        "run_ge, 100 idle": lambda m: run_ge(block_of(m), easy).applied,
        "run_ge, 100 idle, edges present": lambda m: run_ge(block_of(m), hard).applied,
        "run_fixpoint, 100 idle": lambda m: run_fixpoint(m, easy).applied,
    }
    times: dict[str, float] = {}
    for name, run in runs.items():
        times[name], made = timed(nodes, repeat, run)
        wanted = 0 if "idle" in name else expected
        if made not in (-1, wanted):
            raise SystemExit(f"{name}: {made} rewrites, expected {wanted}")
    stock = times["xDSL walker, rules"]
    return {
        "nodes": real,
        "rewrites": expected,
        "us_per_node": {name: round(t, 2) for name, t in times.items()},
        "xdsl_walker_over": {
            name: round(stock / t, 1) for name, t in times.items() if "idle" not in name
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", default="1000,10000")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    gc.set_threshold(100_000, 50, 1000)
    gc.freeze()
    results = [measure(int(n), args.repeat) for n in args.nodes.split(",")]
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
