"""Random graphs of the ops that rules touch: the numbers stay what they were, bit for bit.

(-0.0 and 0.0 count as equal: see the docstring of RemoveNeutral.)
"""

import random
from math import prod

import numpy as np
import pytest
from rewrite_case import graph, random_inputs, rewrite

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.rewrites.catalog import simplify_rules

CASTS = {"f32": 0, "f16": 1, "f64": 11}
SHAPES = [(2, 3, 4), (6, 4), (24,), (4, 6, 1), (1, 24), (3, 2, 2, 2)]


class Chain:
    """Lines of a random graph; every value holds 24 numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.values: list[tuple[str, tuple[int, ...], str]] = [("x", (2, 3, 4), "f32")]

    def kind(self, shape: tuple[int, ...], dtype: str) -> str:
        return "x".join([*map(str, shape), dtype])

    def put(self, call: str, shape: tuple[int, ...], dtype: str) -> None:
        name = f"v{len(self.values)}"
        self.lines.append(f"{name} = {call} : {self.kind(shape, dtype)}")
        self.values.append((name, shape, dtype))

    def const(self, value: str, kind: str) -> str:
        name = f"c{len(self.lines)}"
        self.lines.append(f"{name} = Const() {{value = dense<{value}> : tensor<{kind}>}} : {kind}")
        return name

    def step(self) -> None:
        pick = self.random.choice
        recent = self.values[-2:] if self.random.random() < 0.8 else self.values
        name, shape, dtype = pick(recent)
        what = pick(["unary", "transpose", "transpose", "reshape", "cast", "cast", "neutral"])
        if what == "unary":
            self.put(f"{pick(['Identity', 'Relu', 'Abs', 'Floor', 'Neg'])}({name})", shape, dtype)
        elif what == "transpose":
            perm = self.random.sample(range(len(shape)), len(shape))
            moved = tuple(shape[i] for i in perm)
            if pick([True, False]):
                self.put(f"TransposeD({name}) {{perm = {perm}}}", moved, dtype)
            else:
                perm_name = self.const(str(perm), f"{len(perm)}xi64")
                self.put(f"Transpose({name}, {perm_name})", moved, dtype)
        elif what == "reshape":
            wanted = pick(SHAPES)
            self.put(
                f"Reshape({name}, {self.const(str(list(wanted)), f'{len(wanted)}xi64')})",
                wanted,
                dtype,
            )
        elif what == "cast":
            to = pick(list(CASTS))
            self.put(f"Cast({name}) {{dst_type = {CASTS[to]}}}", shape, to)
        else:
            op, value = pick([("Add", "0.0"), ("Add", "1.0"), ("Mul", "1.0"), ("Sub", "0.0")])
            one = self.const(value, self.kind(pick([(), (1,), shape]), dtype))
            self.put(f"{op}({name}, {one})", shape, dtype)

    def text(self) -> str:
        assert all(prod(shape) == 24 for _, shape, _ in self.values)
        outs = {self.values[-1][0], self.random.choice(self.values[1:])[0]}
        return graph("x: 2x3x4xf32", "\n".join(self.lines), ", ".join(sorted(outs)))


@pytest.mark.parametrize("seed", range(40))
def test_simplify_keeps_the_numbers(seed: int):
    chain = Chain(seed)
    for _ in range(25):
        chain.step()
    text = chain.text()
    before = parse_module(text)
    after, notes = rewrite(text, simplify_rules())
    inputs = random_inputs(before, seed)
    wanted = run_function(main_function(before), inputs)
    found = run_function(main_function(after), inputs)
    for want, have in zip(wanted, found, strict=True):
        assert want.dtype == have.dtype
        assert np.array_equal(want, have)
    assert len(list(ge_ops(main_function(after)))) <= len(chain.lines)
    rest, more = rewrite(module_text(after), simplify_rules())
    assert more.applied == 0, module_text(rest)
    assert notes.applied
