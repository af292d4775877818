"""What rewrite tests share: run rules on a text, note the outcomes, compare numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype, tensor_of
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.pattern.rule import Applied, Outcome, Rule


@dataclass
class Notes:
    """A recorder that keeps every outcome."""

    explains: bool = True
    reasons: list[str] = field(default_factory=list[str])
    applied: int = 0

    def attempt(self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float):
        if isinstance(outcome, Applied):
            self.applied += 1
        else:
            self.reasons.append(outcome.reason)

    def swept(self, pass_name: str, rule: str, tried: int, micros: float):
        pass


def types_of(module: ModuleOp) -> list[str]:
    """The op types of the main graph in order, constants left out."""
    ops = ge_ops(main_function(module))
    return [op.op_type for op in ops if op.op_type != "Const"]


def random_inputs(module: ModuleOp, seed: int = 0) -> dict[str, Any]:
    """An array per graph input, small numbers of both signs."""
    func = main_function(module)
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for name, arg in zip(input_names(func), func.body.block.args, strict=True):
        tensor = tensor_of(arg.type)
        shape = [d if d >= 0 else 3 for d in tensor.shape or (2, 3)]
        values = rng.standard_normal(shape) * 2
        if tensor.dtype.name.startswith(("DT_INT", "DT_UINT")):
            values = rng.integers(0, 5, shape)
        elif tensor.dtype is DataType.DT_BOOL:
            values = rng.integers(0, 2, shape)
        made[name] = np.asarray(values).astype(numpy_dtype(tensor.dtype))
    return made


def rewrite(text: str, rules: Sequence[Rule]) -> tuple[ModuleOp, Notes]:
    """The module after the fixpoint driver, verified, and what the rules said."""
    module = parse_module(text)
    verify(module)
    notes = Notes()
    run_fixpoint(module, rules, recorders=[notes])
    verify(module)
    return module, notes


def check_fires(text: str, rules: Sequence[Rule], tolerance: float = 0.0) -> ModuleOp:
    """The rules apply, the stock walker agrees, and the numbers stay what they were.

    `tolerance` is relative to the largest value of an output; 0 asks for equal numbers.
    """
    before = parse_module(text)
    after, notes = rewrite(text, rules)
    assert notes.applied, notes.reasons
    walked = parse_module(text)
    walker = PatternRewriteWalker(GreedyRewritePatternApplier(list(rules), dce_enabled=True))
    walker.rewrite_module(walked)
    assert module_text(walked) == module_text(after)
    assert str(main_function(before).function_type) == str(main_function(after).function_type)
    for seed in (0, 1):
        inputs = random_inputs(before, seed)
        wanted = run_function(main_function(before), inputs)
        found = run_function(main_function(after), inputs)
        for want, have in zip(wanted, found, strict=True):
            assert want.dtype == have.dtype
            assert want.shape == have.shape
            a, b = want.astype(np.float64), have.astype(np.float64)
            limit = tolerance * max(1.0, float(np.abs(a).max(initial=0)))
            np.testing.assert_allclose(b, a, rtol=0, atol=limit)
    return after


def check_declines(text: str, rules: Sequence[Rule], reason: str) -> None:
    """No rule applies, one says `reason`, and the graph is as it was."""
    module, notes = rewrite(text, rules)
    assert not notes.applied
    assert module_text(module) == module_text(parse_module(text))
    assert any(reason in found for found in notes.reasons), notes.reasons


def graph(inputs: str, body: str, returns: str) -> str:
    """A main function: `x: 2x3xf32, b: 3xf32`, lines `r = Relu(x) {..}: 2x3xf32`, `r`."""
    types: dict[str, str] = {}
    for entry in inputs.split(", "):
        name, _, shape = entry.partition(": ")
        types[name] = f"tensor<{shape}>"
    args = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
    lines: list[str] = []
    for line in filter(None, map(str.strip, body.strip().split("\n"))):
        call, _, shape = line.rpartition(" : ")
        name, _, right = call.partition(" = ")
        op, _, rest = right.partition("(")
        operands, _, attrs = rest.partition(")")
        names = [word.rpartition("= ")[2] for word in filter(None, operands.split(", "))]
        written = ", ".join(
            word.replace(n, f"%{n}") if "= " not in word else word.replace(f"= {n}", f"= %{n}")
            for word, n in zip(filter(None, operands.split(", ")), names, strict=True)
        )
        types[name] = f"tensor<{shape}>"
        sources = ", ".join(types[n] for n in names)
        lines.append(f"%{name} = ge.{op}({written}){attrs} : ({sources}) -> {types[name]}")
    outs = returns.split(", ")
    kinds = ", ".join(types[n] for n in outs)
    values = ", ".join(f"%{n}" for n in outs)
    lines.append(f"func.return {values} : {kinds}")
    return f"func.func @main({args}) -> ({kinds}) {{\n" + "\n".join(lines) + "\n}\n"
