"""The builtin rules give one result in whatever order they stand.

Random graphs of the ops that they touch, and every graph of the lit tests, are rewritten to the
fixpoint with the rules shuffled; the results are compared as what their outputs compute.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from rewrite_case import graph
from test_rewrites_random import Chain
from xdsl.utils.exceptions import ParseError

from ge_xdsl.dialects.ge.graph import functions, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import decompose_rules, fusion_rules, simplify_rules

SETS = {
    "simplify": simplify_rules,
    "fuse": fusion_rules,
    "decompose": decompose_rules,
    "all": lambda: [*simplify_rules(), *fusion_rules(), *decompose_rules()],
}
SEEDS = 400 if os.environ.get("GE_XDSL_NIGHTLY") else 12
FOLDER = Path(__file__).parents[1] / "filecheck"
FILES = sorted(p for p in FOLDER.rglob("*.mlir") if not {"Output", "Inputs"} & {*p.parts})


def meaning(module) -> list[object]:
    """What each function returns, as ops numbered from its outputs; names say nothing."""
    found: list[object] = []
    for func in functions(module):
        known: dict[object, str] = {}
        ops: list[object] = []
        last = func.body.block.last_op
        assert last is not None
        stack = list(reversed(last.operands))
        while stack:
            value = stack.pop()
            if value in known:
                continue
            op = value.owner
            if not isinstance(op, GeOp):
                known[value] = f"argument {value.index}"
                continue
            missing = [v for v in op.operands if v not in known]
            if missing:
                stack += [value, *reversed(missing)]
                continue
            properties = sorted((key, str(attr)) for key, attr in op.properties.items())
            regions = [[inner.name for inner in region.walk()] for region in op.regions]
            types = [str(result.type) for result in op.results]
            operands = [known[v] for v in op.operands]
            known |= {result: f"{len(ops)}:{result.index}" for result in op.results}
            ops.append((op.name, operands, properties, types, regions))
        found.append((func.sym_name.data, ops, [known[v] for v in last.operands]))
    return found


def check_orders(text: str, make, seed: int, count: int = 5) -> int:
    """All orders give one result; how many rewrites there were in the first."""
    rng = random.Random(seed)
    rules = make()
    first = parse_module(text)
    applied = run_fixpoint(first, rules).applied
    if not applied:
        return 0  # no rule fits anywhere, in any order
    wanted = meaning(first)
    orders = [list(reversed(range(len(rules))))]
    orders += [rng.sample(range(len(rules)), len(rules)) for _ in range(count)]
    for order in orders:
        module, fresh = parse_module(text), make()
        run_fixpoint(module, [fresh[i] for i in order])
        assert meaning(module) == wanted, [fresh[i].name for i in order]
    return applied


class Views(Chain):
    """A chain with more ways to change nothing."""

    def step(self) -> None:
        if self.random.random() < 0.6:
            super().step()
            return
        pick = self.random.choice
        name, shape, dtype = pick(self.values[-3:])
        what = pick(["FlattenV2", "Unsqueeze", "Squeeze", "identity", "same", "Flatten"])
        if what == "identity":
            perm = list(range(len(shape)))
            self.put(f"TransposeD({name}) {{perm = {perm}}}", shape, dtype)
        elif what == "same":
            to = {"f32": 0, "f16": 1, "f64": 11}[dtype]
            self.put(f"Cast({name}) {{dst_type = {to}}}", shape, dtype)
        elif what == "Unsqueeze":
            self.put(f"Unsqueeze({name}) {{axes = [0]}}", (1, *shape), dtype)
        elif what == "Squeeze" and 1 in shape:
            axis = shape.index(1)
            rest = (*shape[:axis], *shape[axis + 1 :])
            self.put(f"Squeeze({name}) {{axis = [{axis}]}}", rest, dtype)
        elif what == "Flatten" and len(shape) > 1:
            self.put(f"Flatten({name})", (shape[0], 24 // shape[0]), dtype)
        else:
            self.put(f"FlattenV2({name}) {{axis = 0, end_axis = -1}}", (24,), dtype)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_simplifications_of_chains(seed: int) -> None:
    chain = Views(seed)
    for _ in range(30):
        chain.step()
    check_orders(chain.text(), simplify_rules, seed)


NOTHING = {
    "identity behind a transpose": (
        "p = Const() {value = dense<[0, 1, 2]> : tensor<3xi64>} : 3xi64\n"
        "t = TransposeD(x) {perm = [2, 0, 1]} : 4x2x3xf32\n"
        "y = Transpose(t, p) : 4x2x3xf32"
    ),
    "transpose behind an identity": (
        "t = TransposeD(x) {perm = [0, 1, 2]} : 2x3x4xf32\n"
        "y = TransposeD(t) {perm = [2, 0, 1]} : 4x2x3xf32"
    ),
    "reshape to the same shape behind a view": (
        "s = Const() {value = dense<[2, 12]> : tensor<2xi64>} : 2xi64\n"
        "f = Flatten(x) : 2x12xf32\n"
        "y = Reshape(f, s) : 2x12xf32"
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_changes_nothing_is_removed_first(name: str) -> None:
    text = graph("x: 2x3x4xf32", NOTHING[name], "y")
    assert check_orders(text, simplify_rules, 0, 20) == 1


UNARY = ("Relu", "Abs", "Identity", "Gelu", "Neg")


def matrices(seed: int) -> str:
    """A graph of 4x4 matrices: products, sums with rows and matrices, activations."""
    rng = random.Random(seed)
    lines: list[str] = []
    values = ["x", "w"]
    for i in range(25):
        x, y = rng.choice(values[-3:]), rng.choice(values)
        name = f"v{i}"
        call = rng.choice(
            [
                f"MatMul({x}, {y})",
                f"MatMulV2({x}, {y})",
                f"BatchMatMul({x}, {y})",
                f"BatchMatMulV2({x}, {y})",
                f"Add({x}, row)",
                f"Add(row, {x})",
                f"BiasAdd({x}, row)",
                f"Add({x}, {y})",
                f"SoftmaxV2({x})",
                f"TransposeD({x}) {{perm = [1, 0]}}",
                f"{rng.choice(UNARY)}({x})",
                f"{rng.choice(UNARY)}({x})",
            ]
        )
        lines.append(f"{name} = {call} : 4x4xf32")
        values.append(name)
    outs = ", ".join(sorted({values[-1], rng.choice(values[2:])}))
    return graph("x: 4x4xf32, w: 4x4xf32, row: 4xf32", "\n".join(lines), outs)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_rules_on_matrices(seed: int) -> None:
    check_orders(matrices(seed), SETS["all"], seed)


def lit_graphs() -> Iterator[tuple[str, str]]:
    """The graphs of the lit tests that are valid and hold no more than 300 ops."""
    for path in FILES:
        for i, part in enumerate(path.read_text().split("// -----")):
            try:
                module = parse_module(part)
                verify(module)
            except (CompileError, ParseError):  # made to be refused
                continue
            ops = sum(isinstance(op, GeOp) for op in module.walk())
            if 0 < ops <= 300:
                yield f"{path.relative_to(FOLDER)}#{i}", part


GRAPHS = dict(lit_graphs())


def test_the_lit_graphs_are_many() -> None:
    assert len(GRAPHS) > 40


@pytest.mark.parametrize("name", GRAPHS)
def test_lit_graphs(name: str) -> None:
    for make in SETS.values():
        check_orders(GRAPHS[name], make, 0, 3)


@pytest.mark.parametrize("key", SETS)
def test_each_set_rewrites_some_of_them(key: str) -> None:
    texts = [*GRAPHS.values(), *(matrices(seed) for seed in range(12))]
    counts = [run_fixpoint(parse_module(text), SETS[key]()).applied for text in texts]
    assert sum(map(bool, counts)) > 2
