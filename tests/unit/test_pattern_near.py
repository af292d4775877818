"""Nearest misses: the one-step-away variant that would have matched is named in the reason."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, node, pattern

from ge_xdsl.pattern.driver import PatternRule, run_ge
from ge_xdsl.pattern.explain import Explanation
from ge_xdsl.pattern.rule import Declined

GEMM = "a w b\n m = MatMul(a, w)\n y = Add(m, b)\n return y"
SOFTMAX = "q k\n m = MatMul(q, k)\n y = SoftmaxV2(m)\n return y"
SCALED = "a\n c = Const 2.0\n m = Mul(a, c)\n y = Relu(m)\n return y"
TWO = "a b\n s = Add(a, b)\n y = Relu(s)\n z = Exp(s)\n return y, z"
VALUE = {"const_value": True}
ATTRS = {"ir_attr": True}

REASONS = {
    "operands swapped": (
        GEMM,
        "x w b\n m = MatMul(x, w)\n y = Add(b, m)\n return y",
        {},
        "operand 0: is graph input 'b', expected MatMul (matches with operands 0 and 1 swapped)",
    ),
    "swapping is not enough": (
        "a w b c\n m = MatMul(a, w)\n r = Relu(b)\n y = Add(m, r)\n return y",
        "x w b\n m = MatMul(x, w)\n y = Add(b, m)\n return y",
        {},
        "operand 0: is graph input 'b', expected MatMul (MatMul is operand 1)",
    ),
    "Identity in between": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n i = Identity(m)\n y = SoftmaxV2(i)\n return y",
        {},
        "operand 0: is Identity, expected MatMul (Identity in between, matches without)",
    ),
    "Identity and a Cast to the same type": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n c = Cast(m) dst_type=0\n i = Identity(c)\n j = Identity(i)\n"
        " y = SoftmaxV2(j)\n return y",
        {},
        "operand 0: is Identity, expected MatMul (Identity and Cast in between, matches without)",
    ),
    "a Cast that changes the type": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n c = Cast(m) dst_type=1\n y = SoftmaxV2(c)\n return y",
        {},
        "operand 0: is Cast, expected MatMul (MatMul is one step further)",
    ),
    "one attribute": (
        GEMM,
        "x w b\n m = MatMul(x, w) transpose_x1=True\n y = Add(m, b)\n return y",
        ATTRS,
        "operand 0: attribute transpose_x1 is true, expected false (the only difference)",
    ),
    "two attributes": (
        GEMM,
        "x w b\n m = MatMul(x, w) transpose_x1=True transpose_x2=True\n y = Add(m, b)\n return y",
        ATTRS,
        "operand 0: attribute transpose_x1 is true, expected false "
        "(2 attributes differ, the rest matches)",
    ),
    "an attribute and more": (
        "a\n r = Relu(a)\n m = MatMul(r, a) transpose_x1=True\n y = Relu(m)\n return y",
        "x\n m = MatMul(x, x)\n y = Relu(m)\n return y",
        ATTRS,
        "operand 0: attribute transpose_x1 is false, expected true",
    ),
    "the value of a constant": (
        SCALED,
        "x\n c = Const 3.0\n m = Mul(x, c)\n y = Relu(m)\n return y",
        VALUE,
        "operand 1: const value is 3.0, expected 2.0 (the only difference)",
    ),
    "a large constant": (
        "a[5]\n c = Const [1.0, 2.0, 3.0, 4.0, 5.0]\n y = Mul(a, c)\n return y",
        "x[5]\n c = Const [1.0, 2.0, 3.0, 0.0, 0.0]\n y = Mul(x, c)\n return y",
        VALUE,
        "operand 1: const value differs in 2 of 5 elements (the only difference)",
    ),
    "the element type of a constant": (
        SCALED,
        "x\n c = Const float64 2.0\n m = Mul(x, c) typed=True\n y = Relu(m)\n return y",
        VALUE,
        "operand 1: const is tensor<f64>, expected tensor<f32> of the same value "
        "(the only difference)",
    ),
    "a further output": (
        TWO,
        "a b c\n s = Add(a, b)\n y = Relu(s)\n t = Add(a, c)\n z = Exp(t)\n return y, z",
        {},
        "output 1 at ge.Exp 'z': operand 0: is ge.Add 't', expected 's' as elsewhere",
    ),
    "no further output": (
        TWO,
        "a b\n s = Add(a, b)\n y = Relu(s)\n return y",
        {},
        "output 1: no candidate in the graph",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_reason(name: str) -> None:
    wanted, target, config, reason = REASONS[name]
    compiled = pattern(wanted, **config)
    func = graph(target)
    outcome = compiled.explain(node(func, "y"))
    assert isinstance(outcome, Declined)
    assert outcome.reason == reason
    assert outcome.total == len(compiled.graph.nodes)


def test_a_match_is_no_miss() -> None:
    func = graph("a b\n s = Add(a, b)\n y = Relu(s)\n z = Exp(s)\n return y, z")
    assert not isinstance(pattern(TWO).explain(node(func, "y")), Declined)


def test_the_nearest_candidate_of_a_further_output_is_explained() -> None:
    count = 400
    lines = [f"t{i} = Add(a, b)\ne{i} = Exp(t{i})" for i in range(count)]
    outs = ", ".join(f"e{i}" for i in range(count))
    body = "\n".join(lines)
    func = graph(f"a b c\n{body}\ns = Add(c, b)\ny = Relu(s)\nz = Exp(c)\nreturn {outs}, y, z")
    outcome = pattern(TWO).explain(node(func, "y"))
    assert isinstance(outcome, Declined)
    assert outcome.reason == ("output 1 at ge.Exp 'z': operand 0: is graph input 'c', expected Add")


def test_sites_with_one_variant_are_summed_up() -> None:
    body = "\n".join(f"m{i} = MatMul(x, w)\ny{i} = Add(b, m{i})" for i in range(30))
    func = graph(f"x w b\n{body}\nreturn y0, y29")
    module_of(func)
    explanation = Explanation()
    rule = PatternRule(pattern(GEMM, name="gemm"), lambda _: None)
    run_ge(func.body.block, [rule], pass_name="Fuse", recorders=[explanation])
    assert explanation.as_text().splitlines()[1] == (
        "  30 sites: operand 0: is graph input 'b', expected MatMul (matches with operands 0 and 1 "
        "swapped) [1 of 2 nodes matched] at 'y0', 'y1', 'y2' and 27 more"
    )
    (miss,) = explanation.as_json()[0]["misses"]
    assert (miss["progress"], miss["nodes"]) == (1, 2)
