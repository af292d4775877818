"""Time of rewriting a transformer and a CNN with four rewrites, in microseconds per node.

    python benchmarks/bench_rewrite.py [--nodes 1000,10000] [--kinds transformer,cnn] [--repeat 3]
        [--runs run_fixpoint]

Builds the graphs straight in the IR: layers of 52 nodes (constants not counted) with 9 rewrites
each (6 MatMul + Add, 2 Add x 0, 1 TransposeD pair), units of 11 nodes with 4 (2 Relu pairs, 1
Add x 0, 1 TransposeD pair). Prints JSON: for each graph the microseconds per node of `run_ge` with
patterns, of `run_fixpoint` with patterns and with hand-written rules, of xDSL's own walker with
the same hand-written rules, of tinygrad and onnxscript where they are installed, and of 100 and
400 patterns that match nothing; then how many times ours each of the others takes, and the
exponent from the first size to the last: 1 is linear. A last entry names the peers that are not
installed. CPU time, best of the repeats, which take turns; the graph is built anew for each.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
)

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import peers
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule

TOKENS, WIDTH, HEADS = 4, 8, 2
DEPTH = WIDTH // HEADS
REWRITES = {"matmul_add": 6, "add_zero": 2, "transpose": 1}
LAYER, UNIT = 52, 11


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


def cnn(nodes: int) -> tuple[ModuleOp, int, int]:
    """The module, its node count without constants, and how many rewrites it holds."""
    shape = (1, 4, 4, 4)
    b = Builder(shape)
    x: SSAValue = b.block.args[0]

    def block(x: SSAValue) -> SSAValue:
        window = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "data_format": "NCHW"}
        y = b.op("Conv2D", [x, b.weight(4, 4, 3, 3), b.weight(4)], shape, **window)
        weights = [b.weight(4), b.weight(4), b.weight(1), b.weight(4), b.weight(4)]
        y = b.op("BNInference", [y, *weights], shape)
        return b.op("Relu", [b.op("Relu", [y], shape)], shape)

    units = max(1, round(nodes / UNIT))
    for _ in range(units):
        x = block(x)
        for perm in ([0, 2, 3, 1], [0, 2, 1, 3]):
            x = b.op("TransposeD", [x], shape, perm=perm)
        x = b.op("Add", [block(x), b.const(0.0)], shape)
    module = ModuleOp([b.func(b.op("Erf", [x], shape))])
    real = sum(type(op) is not ConstOp for op in b.block.ops) - 1
    return module, real, 4 * units


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
    return tensor_of(bias).rank == 1


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
        if inner is None or tensor_of(bias.type).rank != 1:
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


def idle_rules(hard: bool, count: int = 100) -> list[Rule]:
    """Patterns that match nothing in the transformer.

    Easy ones need an edge that is not there; hard ones have their edges in the graph and fail
    at a repeated input deep inside.
    """
    roots = ("Add", "Mul", "RealDiv", "MatMul", "Sub")
    inner = ("Tanh", "Sigmoid", "Exp", "Log") if not hard else ("Mul", "RealDiv", "Add", "MatMul")
    rules: list[Rule] = []
    for k in range(count):
        b = Builder((4, 4), (4, 4))
        x, y = b.block.args
        low, op_type = inner[k // 5 % 4], roots[k % 5]
        below = b.op(low, [x, x] if hard else [x], (4, 4))
        out = b.op(op_type, [below, below if k % 2 else y], (4, 4))
        compiled = pattern(f"idle_{k}", b, out)
        rules.append(PatternRule(compiled, lambda match: None))
    return rules


def run_stock(module: ModuleOp) -> int:
    PatternRewriteWalker(GreedyRewritePatternApplier(list(hand_written()))).rewrite_module(module)
    return -1


def block_of(module: ModuleOp) -> Block:
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    return func.body.block


Start: TypeAlias = Callable[[ModuleOp], Callable[[], int]]
"""Gets ready to rewrite a module, which is not timed; the rewriting tells how often."""
KINDS: dict[str, Callable[[int], tuple[ModuleOp, int, int]]] = {
    "transformer": transformer,
    "cnn": cnn,
}


def at_once(run: Callable[[ModuleOp], int]) -> Start:
    return lambda module: lambda: run(module)


def runs(kind: str) -> dict[str, Start]:
    """What is timed on a kind of graph, ours first."""
    patterns, rules = pattern_rules(), hand_written()
    found: dict[str, Start] = {
        "run_ge, patterns": at_once(lambda m: run_ge(block_of(m), patterns, pass_name="P").applied),
        "run_fixpoint, patterns": at_once(lambda m: run_fixpoint(m, patterns).applied),
        "run_fixpoint, rules": at_once(lambda m: run_fixpoint(m, rules).applied),
        "xDSL walker, rules": at_once(run_stock),
    }
    for name, prepare in peers.installed().items():
        found[name] = lambda m, prepare=prepare: prepare(block_of(m))
    for count in (100, 400) if kind == "transformer" else ():
        for hard in (False, True):
            idle = idle_rules(hard, count)
            name = f"{count} idle{', edges present' if hard else ''}"
            found[f"run_ge, {name}"] = at_once(lambda m, r=idle: run_ge(block_of(m), r).applied)
            found[f"run_fixpoint, {name}"] = at_once(lambda m, r=idle: run_fixpoint(m, r).applied)
    return found


def measure(kind: str, nodes: int, repeat: int, only: str = "") -> dict[str, Any]:
    """One row: the best time of each run; the runs take turns.

    `only`: those whose names begin so, beside `run_ge`.
    """
    _, real, expected = KINDS[kind](nodes)
    best: dict[str, float] = {}
    known = {
        name: start
        for name, start in runs(kind).items()
        if name.startswith(only) or name == "run_ge, patterns"
    }
    for _ in range(repeat):
        for name, start in known.items():
            go = start(KINDS[kind](nodes)[0])
            gc.collect()
            begun = process_time()
            made = go()
            taken = (process_time() - begun) / real * 1e6
            best[name] = min(best.get(name, math.inf), taken)
            wanted = 0 if "idle" in name else expected
            if made not in (-1, wanted):
                raise SystemExit(f"{name}: {made} rewrites, expected {wanted}")
    ours = best["run_ge, patterns"]
    return {
        "kind": kind,
        "nodes": real,
        "rewrites": expected,
        "us_per_node": {name: round(t, 2) for name, t in best.items()},
        "times_run_ge": {
            name: round(t / ours, 2) for name, t in best.items() if "idle" not in name
        },
    }


def exponents(first: dict[str, Any], last: dict[str, Any]) -> dict[str, float]:
    """How the time of each run grows from one size to another: 1 is linear; {} for one size."""
    growth = last["nodes"] / first["nodes"]
    if growth == 1:
        return {}
    pairs = {name: (t, last["us_per_node"][name]) for name, t in first["us_per_node"].items()}
    return {n: round(1 + math.log(b / a) / math.log(growth), 3) for n, (a, b) in pairs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", default="1000,10000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--runs", default="", help="only runs whose names begin so, and run_ge's")
    args = parser.parse_args()
    gc.set_threshold(100_000, 50, 1000)
    sizes = [int(n) for n in args.nodes.split(",")]
    results: list[dict[str, Any]] = []
    for kind in args.kinds.split(","):
        rows = [measure(kind, n, args.repeat, args.runs) for n in sizes]
        rows[-1]["exponent"] = exponents(rows[0], rows[-1])
        results += rows
    if absent := peers.missing():
        results.append({"not_installed": absent, "install": f"pip install {' '.join(absent)}"})
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
