"""Rewrites checked by numbers: right ones pass, wrong ones are undone, the rest counted."""

from dataclasses import replace

import numpy as np
import pytest
from wrong_pass import WRONG_PASS
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.cli.opt import main
from ge_xdsl.dialects.ge.activation import ReluOp
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.unary import NegOp
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.driver import PatternRule, decompose, run_fixpoint, run_ge
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import MatcherConfig
from ge_xdsl.pattern.rule import APPLIED, Outcome, Rule
from ge_xdsl.pattern.samples import SIZES, NotChecked, difference, sample
from ge_xdsl.pattern.verify import Failure, Verifier, WrongRewrite


def function(lines, kind="tensor<2x3xf32>", arguments="%x", returned="%y"):
    args = ", ".join(f"{name}: {kind}" for name in arguments.split(", "))
    body = "\n".join(f"  {line.replace('T', kind)}" for line in lines)
    text = f"func.func @main({args}) -> {kind} {{\n{body}\n  func.return {returned} : {kind}\n}}\n"
    return parse_module(text, "g.mlir")


def unary(*names, kind="tensor<2x3xf32>"):
    lines, last = [], "%x"
    for i, name in enumerate(names):
        value = "%y" if i == len(names) - 1 else f"%v{i}"
        lines.append(f"{value} = ge.{name}({last}) : (T) -> T")
        last = value
    return function(lines, kind)


def pattern_rule(pattern, new):
    graph = PatternGraph.from_function(main_function(pattern), (), "p")
    compiled = compile_pattern(graph, MatcherConfig())
    return PatternRule(compiled, lambda match: main_function(new), name="rule")


def run(module, rule, verifier):
    return run_ge(main_function(module).body.block, [rule], pass_name="P", recorders=[verifier])


RIGHT = {
    "relu": (("Relu", "Relu"), ("Relu",)),
    "neg": (("Neg", "Neg"), ("Identity",)),
    "abs of neg": (("Neg", "Abs"), ("Abs",)),
    "square": (("Abs", "Square"), ("Square",)),
}
WRONG = {
    "sign": (("Neg",), ("Abs",)),
    "only negatives": (("Abs", "Relu"), ("Relu",)),
    "only zeros": (("ZerosLike",), ("Relu",)),
}


@pytest.mark.parametrize("kind", ["tensor<2x3xf32>", "tensor<4xf16>", "tensor<?x3xf32>"])
@pytest.mark.parametrize(("old", "new"), RIGHT.values(), ids=RIGHT)
def test_right_rewrites_are_applied(old, new, kind):
    module, verifier = unary(*old, kind=kind), Verifier()
    report = run(module, pattern_rule(unary(*old), unary(*new)), verifier)
    assert (report.applied, verifier.passed, verifier.failures) == (1, 1, [])


@pytest.mark.parametrize(("old", "new"), WRONG.values(), ids=WRONG)
def test_wrong_rewrites_are_undone(old, new):
    module, verifier = unary(*old), Verifier()
    before = module_text(module)
    report = run(module, pattern_rule(unary(*old), unary(*new)), verifier)
    assert (report.matched, report.applied) == (1, 0)
    assert module_text(module) == before
    [failure] = verifier.failures
    text = str(failure.error())
    assert text.startswith(f"g.mlir:{len(old) + 1}:3: error: ge.{old[-1]} 'y': rule 'rule' of pass")
    assert "changes the result on " in text
    assert "is off by up to" in text


def test_the_real_constants_are_used():
    scaled = (
        "%c = ge.Const() {{value = dense<{}> : tensor<f32>}} : () -> tensor<f32>",
        "%y = ge.Mul(%x, %c) : (T, tensor<f32>) -> T",
    )
    pattern = function([scaled[0].format(0.0), scaled[1]])
    for value, wrong in ((1.0, 0), (2.0, 1)):
        module, verifier = function([scaled[0].format(value), scaled[1]]), Verifier()
        run(module, pattern_rule(pattern, unary("Identity")), verifier)
        assert (verifier.passed, len(verifier.failures)) == (1 - wrong, wrong)


def test_integers_must_be_equal():
    module = unary("Neg", kind="tensor<8xi32>")
    verifier = Verifier()
    run(module, pattern_rule(unary("Neg"), unary("Identity")), verifier)
    assert "output 0 differs in" in str(verifier.failures[0].error())


def test_a_decomposition_is_checked():
    module, verifier = unary("Neg"), Verifier()
    block = main_function(module).body.block
    decompose(block, ["Neg"], lambda op: main_function(unary("Abs")), recorders=[verifier])
    assert [failure.rule for failure in verifier.failures] == ["Neg"]
    assert "ge.Neg" in module_text(module)


class NegToRelu(Rule):
    """Neg(x) -> Relu(x), which is wrong."""

    name = "NegToRelu"
    root_types = ("Neg",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        assert isinstance(op, NegOp)
        rewriter.replace(op, ReluOp.build(op.x))
        return APPLIED


def test_a_wrong_builtin_rule_ends_the_pass():
    with pytest.raises(WrongRewrite, match="rule 'NegToRelu' of pass 'B' changes the result"):
        run_fixpoint(unary("Neg"), [NegToRelu()], pass_name="B", recorders=[Verifier()])


NOT_CHECKED = {
    "unknown rank": (
        unary("Neg", kind="tensor<*xf32>"),
        unary("Neg"),
        unary("Abs"),
        "a tensor of unknown rank enters",
    ),
    "no values": (
        unary("FresnelCos"),
        unary("FresnelCos"),
        unary("Abs"),
        "ge.FresnelCos: has no value semantics, expected an op with evaluate",
    ),
    "too large": (
        unary("Neg", kind="tensor<100000x1000xf32>"),
        unary("Neg"),
        unary("Abs"),
        "a tensor of more than 16777216 elements enters",
    ),
}


@pytest.mark.parametrize(("module", "pattern", "new", "why"), NOT_CHECKED.values(), ids=NOT_CHECKED)
def test_what_cannot_be_checked_is_counted(module, pattern, new, why):
    verifier = Verifier()
    run(module, pattern_rule(pattern, new), verifier)
    assert verifier.unchecked == {why: 1}
    assert verifier.summary() == (f"checked 0 rewrites by numbers, 0 wrong; 1 not checked: {why}")


@pytest.mark.parametrize(
    ("old", "new", "dtype", "text"),
    [
        (np.float32([1, 2]), np.float32([1, 2.0001]), DataType.DT_FLOAT, ""),
        (np.float32([1, 2]), np.float32([1, 2.01]), DataType.DT_FLOAT, "is off by up to 0.01"),
        (np.float16([1, 2]), np.float16([1, 2.01]), DataType.DT_FLOAT16, ""),
        (np.float32([np.nan, 1]), np.float32([np.nan, 1]), DataType.DT_FLOAT, ""),
        (np.float32([np.nan]), np.float32([1]), DataType.DT_FLOAT, "1 infinite or NaN elements"),
        (np.float32([np.inf]), np.float32([np.inf]), DataType.DT_FLOAT, ""),
        (np.float32([np.inf]), np.float32([-np.inf]), DataType.DT_FLOAT, "1 infinite or NaN"),
        (np.float32([1]), np.float32([[1]]), DataType.DT_FLOAT, "has shape (1, 1), it was (1,)"),
        (np.float32([1]), np.float64([1]), DataType.DT_FLOAT, "is float64, it was float32"),
        (np.int32([1, 2]), np.int32([1, 3]), DataType.DT_INT32, "differs in 1 of 2 elements"),
        (np.float32([]), np.float32([]), DataType.DT_FLOAT, ""),
    ],
)
def test_difference(old, new, dtype, text):
    found = difference(old, new, dtype)
    assert text in found
    assert bool(found) == bool(text)


def test_samples():
    tensor = Tensor(DataType.DT_FLOAT16, (2, 3))
    first = sample(tensor, "random values", 1, SIZES[0])
    assert first.dtype == np.float16
    np.testing.assert_array_equal(first, sample(tensor, "random values", 1, SIZES[0]))
    assert not sample(tensor, "zeros", 1, SIZES[0]).any()
    with pytest.raises(NotChecked, match="DT_VARIANT has no numpy type"):
        sample(Tensor(DataType.DT_VARIANT, ()), "zeros", 0, SIZES[0])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mlir").write_text(module_text(unary("Neg")))
    (tmp_path / "wrong.py").write_text(WRONG_PASS)
    return ["g.mlir", "--load", "wrong.py", "-p", "ge-custom-passes"]


def test_the_tool_undoes_and_tells(files, capsys):
    from ge_xdsl.passes.loader import unload

    try:
        assert main([*files, "--verify-rewrites"]) == 1
        out, err = capsys.readouterr()
        assert "ge.Neg" in out
        assert "note: checked 1 rewrite by numbers, 1 wrong" in err
        assert "error: ge.Neg 'y': rule 'Wrong_neg_pattern' of pass 'Wrong' changes" in err
        assert main([*files, "--verify-rewrites=pass", "-o", "out.mlir"]) == 1
        err = capsys.readouterr().err
        assert "graph output 'output_0': pass ge-custom-passes changes the result on" in err
        assert main([*files, "--verify-rewrites=off"]) == 0
        assert "ge.Abs" in capsys.readouterr().out
        assert main([*files, "--verify-rewrites=all"]) == 2
        assert "--verify-rewrites=all, expected each, pass or off" in capsys.readouterr().err
    finally:
        unload()


def test_passes_are_checked_as_a_whole(files, capsys):
    assert main(["g.mlir", "-p", "ge-simplify,ge-dce", "--verify-rewrites=pass"]) == 0
    assert "note: checked 2 passes by numbers" in capsys.readouterr().err


def test_a_failure_names_the_pass_when_it_has_one() -> None:
    failure = Failure("", "R", "ge.Relu 'y'", "zeros", "output 0 differs")
    text = "ge.Relu 'y': rule 'R'{} changes the result on zeros: output 0 differs, expected the"
    assert text.format("") in failure.error().render()
    assert text.format(" of pass 'P'") in replace(failure, pass_name="P").error().render()
