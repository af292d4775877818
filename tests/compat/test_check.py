"""`ge-check`: each finding with its text, its place and its severity; counterexamples are real."""

from __future__ import annotations

import textwrap
from collections import Counter

import pytest

from ge_xdsl.cli.check import main
from ge_xdsl.cli.opt import main as opt
from ge_xdsl.errors import counted
from ge_xdsl.importers import load_module
from ge_xdsl.passes.check.trial import Tally

HEAD = """\
from ge.es.all import Add, Concat, ConcatD, Exp, MatMul, Mul, Neg, Relu, Sigmoid, Sub
from ge.es.graph_builder import GraphBuilder
from ge.passes import (
    DecomposePass, FusionBasePass, PassStage, PatternFusionPass, PatternMatcherConfigBuilder,
    pattern, register_decompose_pass, register_fusion_pass,
)

EARLY, LATE = PassStage.BEFORE_INFER_SHAPE, PassStage.AFTER_INFER_SHAPE
"""
LINES = HEAD.count("\n")


def rule(name, pattern, replacement, stage="EARLY", extra=""):
    """A pattern pass of ten lines: the class is in its second, the pattern's method after it."""
    return (
        f'@register_fusion_pass(name="{name}", stage={stage})\n'
        f"class {name}(PatternFusionPass):\n"
        f"    @pattern\n    def find(self, i):\n        {pattern}\n\n"
        f"    def replacement(self, inputs):\n        i = inputs\n        {replacement}\n{extra}\n"
    )


RELUS = rule("Relus", "return Relu(Relu(i[0]))", "return Relu(i[0])")
GREEDY = rule("Any", "return Relu(i[0])", "return Neg(i[0])").replace(
    "    def replacement",
    "    @pattern\n    def longer(self, i):\n        return Neg(Relu(i[0]))\n\n    def replacement",
)

FINDINGS = {
    "right": (RELUS, 0, []),
    "other numbers": (
        rule("Wrong", "return Exp(Neg(i[0]))", "return Sigmoid(i[0])"),
        1,
        [
            "pass.py:9: error: Wrong: changes the result (as it is, f32, shapes [4, 4]): graph "
            "output "
            "'output_0' is off by up to * on random values, expected the same values; see "
            "Wrong.counterexample.mlir"
        ],
    ),
    "a forgotten attribute": (
        rule("Bias", "return MatMul(i[0], i[1]) + i[2]", "return MatMul(i[0], i[1], i[2])"),
        1,
        [
            "pass.py:9: error: Bias: changes the result (another transpose_x1, f32, *",
            "pass.py:9: error: Bias: fails (*bias is 4x4, expected one row",
        ],
    ),
    "a constant of any value": (
        rule("Zero", "return i[0] + 0.0", "return i[0]"),
        1,
        ["pass.py:9: error: Zero: changes the result (another constant, f32, *"],
    ),
    "its own pattern": (
        rule("Grows", "return Relu(i[0])", "return Relu(Relu(i[0]))"),
        1,
        [
            "pass.py:11: error: Grows: replacement of 'find' contains its own pattern, expected "
            "one "
            "that it does not match",
            "pass.py:11: warning: Grows: pattern 'find' never fired on * graphs, it fails, "
            "expected it to",
            "pass.py:15: error: Grows: fails (as it is, f32, shapes [4, 4]): *; "
            "see Grows.counterexample.mlir",
        ],
    ),
    "its own pattern, but for a requirement": (
        rule(
            "Scaled",
            "return Neg(i[0])",
            "return Neg(Neg(Neg(i[0])))",
            extra=(
                "\n    def meet_requirements(self, match):\n"
                "        return len(match.get_matched_nodes()[-1].name) < 8\n"
            ),
        ),
        0,
        [
            "pass.py:11: warning: Scaled: replacement of 'find' contains its own pattern, only "
            "meet_requirements ends it, expected one that it does not match"
        ],
    ),
    "unreachable": (
        GREEDY,
        1,
        [
            "pass.py:9: error: Any: changes the result *",
            "pass.py:15: error: Any: pattern 'longer' is unreachable, 'find' stands before it and "
            "matches in its graph, expected the other order",
            "pass.py:15: warning: Any: pattern 'longer' never fired on * graphs, expected it to",
        ],
    ),
    "number of outputs": (
        rule("Two", "return Relu(i[0])", "return [Relu(i[0]), Exp(i[0])]"),
        1,
        [
            "pass.py:11: error: Two: replacement of 'find' has 2 outputs, expected 1, as the "
            "pattern "
            "has",
            "pass.py:11: error: Two: replacement of 'find' contains its own pattern, *",
            "pass.py:11: warning: Two: pattern 'find' never fired *",
            "pass.py:15: error: Two: fails *Replacement output size: 2 not equal with Boundary "
            "output "
            "size: 1, expected a rewrite; see Two.counterexample.mlir",
        ],
    ),
    "number of inputs": (
        rule("Drops", "return Add(Neg(i[0]), i[1])", "return Sub(i[0], i[0])"),
        1,
        [
            "pass.py:11: error: Drops: replacement of 'find' has 1 input, expected 2, as the "
            "pattern "
            "has",
            "pass.py:11: warning: Drops: pattern 'find' never fired *",
            "pass.py:15: error: Drops: fails *Replacement input size: 1 not equal *",
        ],
    ),
    "unused input and node": (
        rule("Loose", "Exp(i[1]); return Relu(Relu(i[0]))", "return Relu(i[0])"),
        0,
        [
            "pass.py:11: warning: Loose: input 1 of pattern 'find' is in no node, expected it to "
            "be "
            "used",
            "pass.py:11: warning: Loose: ge.Exp 'Exp_0' of pattern 'find' leads to no output, "
            "expected "
            "it to",
        ],
    ),
    "dynamic inputs": (
        rule("Never", "return ConcatD([i[0], i[1]], concat_dim=0, N=2)", "return Add(i[0], i[1])"),
        1,
        [
            "pass.py:9: error: Never: a pattern can never match: *'x' is dynamic input, expected a "
            "pattern that can match"
        ],
    ),
    "shadowed by an earlier pass": (
        rule("B", "return Neg(Neg(i[0]))", "return i[0]")
        + rule("A", "return Relu(Neg(Neg(i[0])))", "return Relu(i[0])")
        + rule("C", "return Sub(Neg(Neg(i[0])), i[1])", "return Sub(i[0], i[1])", "LATE"),
        0,
        [],
    ),
    "shadowed": (
        rule("A", "return Neg(Neg(i[0]))", "return i[0]")
        + rule("B", "return Relu(Neg(Neg(i[0])))", "return Relu(i[0])"),
        0,
        [
            "pass.py:21: warning: B: pattern 'find' is shadowed by pass 'A', which runs before it "
            "and "
            "matches in its graph, expected another stage or name"
        ],
    ),
    "a requirement that raises": (
        RELUS + "\n    def meet_requirements(self, match):\n        return match.nothing\n",
        0,
        [
            "pass.py:11: warning: Relus: pattern 'find' never fired on * graphs, meet_requirements "
            "raised *, expected it to",
            "pass.py:21: warning: Relus: meet_requirements raised AttributeError: *, taken as "
            "False, "
            "expected no warning",
        ],
    ),
    "patterns that raise": (
        rule("Typo", "return Reluu(i[0])", "return Relu(i[0])"),
        1,
        [
            "pass.py:13: error: Typo: patterns raised NameError: name 'Reluu' is not defined, did "
            "you mean 'Relu'?, taken as no pattern, expected a pattern that can match",
        ],
    ),
    "a replacement that raises": (
        rule("Fails", "return Relu(Relu(i[0]))", "return {}['x']"),
        1,
        [
            "pass.py:11: warning: Fails: pattern 'find' never fired *",
            "pass.py:17: error: Fails: fails *raised KeyError: 'x', expected a rewrite; see *",
        ],
    ),
    "a name of two lines": (
        RELUS.replace('"Relus"', '"Re\\nlus"').replace("Relu(i[0])", "Reluu(i[0])"),
        1,
        ["pass.py:*: error: Re lus: *"],
    ),
    "a replacement that tells why": (
        rule("Says", "return Relu(Relu(i[0]))", "return {}['x']").replace(
            "replacement(self, inputs):",
            "replacement(self, inputs, match, context):\n"
            "        context.set_error_message('no licence')",
        ),
        1,
        [
            "pass.py:11: warning: Says: pattern 'find' never fired *",
            "pass.py:18: error: Says: fails *raised KeyError: 'x'; set_error_message: no licence*",
        ],
    ),
    "a graph by hand": (
        '@register_fusion_pass(name="Hand", stage=LATE)\nclass Hand(FusionBasePass):\n'
        "    def run(self, graph, context):\n        return 0\n",
        0,
        [
            "pass.py:9: warning: Hand: run() has no pattern to make graphs from, expected a MODEL "
            "to "
            "try it on"
        ],
    ),
}


def decompose(body, types='["Swish"]'):
    return (
        f'@register_decompose_pass(name="Split", stage=LATE, op_types={types})\n'
        "class Split(DecomposePass):\n"
        f"    def meet_requirements(self, node):\n        return {body}\n\n"
        "    def replacement(self, node):\n"
        '        builder = GraphBuilder("swish")\n'
        "        x = builder.create_input(0)\n"
        "        return builder.build_and_reset([Mul(x, Sigmoid(x))])\n"
    )


FINDINGS |= {
    "decompose": (decompose('not node.has_attr("scale")'), 0, []),
    "decompose without a check": (
        decompose("True"),
        1,
        ["pass.py:9: error: Split: changes the result (another scale, f32, *"],
    ),
    "decompose what cannot be built": (
        decompose("True", '["ConcatD"]'),
        0,
        [
            "pass.py:9: warning: Split: no node of type ConcatD was replaced, no graph with known "
            "shapes could be made for it, expected one"
        ],
    ),
}


NOT_LESS = rule("NotLess", "return LogicalNot(Less(i[0], i[1]))", "return GreaterEqual(i[0], i[1])")
FINDINGS |= {
    "NaN": (
        "from ge.es.all import GreaterEqual, Less, LogicalNot\n" + NOT_LESS,
        1,
        [
            "pass.py:10: error: NotLess: changes the result (as it is, f32, *elements on NaN and "
            "infinite values, expected the same values; see NotLess.counterexample.mlir"
        ],
    ),
    "no NaN where the rule asks for finite numbers": (
        "from ge.es.all import GreaterEqual, Less, LogicalNot\n"
        "from ge_xdsl.patterns import matching\n"
        + NOT_LESS.replace("\nclass", "\n@matching(finite=True)\nclass"),
        0,
        [],
    ),
    "large f16": (
        "from ge.es.all import Abs, Sqrt\n"
        + rule("Root", "return Abs(Neg(i[0]))", "return Sqrt(Mul(i[0], i[0]))"),
        1,
        [
            "pass.py:10: error: Root: changes the result (as it is, f16, *): graph output "
            "'output_0' overflows in * it did not before on large values, *",
            "pass.py:10: error: Root: fails (as it is, i32, *",
        ],
    ),
    "a small epsilon in the wrong place": (
        "from ge.es.all import Sqrt\n"
        + rule("Eps", "return Sqrt(i[0] * i[0] + 1e-6)", "return Sqrt(i[0] * i[0]) + 1e-6"),
        1,
        [
            "pass.py:10: error: Eps: changes the result (as it is, f32, *",
            "pass.py:10: error: Eps: fails (*",
        ],
    ),
    "a condition that is no float": (
        "from ge.es.all import LogicalNot, Select\n"
        + rule(
            "Pick", "return Select(LogicalNot(i[0]), i[1], i[2])", "return Select(i[0], i[1], i[2])"
        ),
        1,
        ["pass.py:10: error: Pick: changes the result (as it is, f32, *on random values*"],
    ),
    "an order of axes that is an operand": (
        "from ge.es.all import Abs, Transpose\n"
        + rule("Turn", "return Relu(Transpose(*i[:2]))", "return Transpose(Abs(i[0]), i[1])"),
        1,
        [
            "pass.py:10: error: Turn: changes the result (integers are constants, f32, shapes [4, "
            "4]): graph output 'output_0' is off by up to *on random values, expected *"
        ],
    ),
    "offsets that are operands": (
        "from ge.es.all import Abs, Slice\n"
        + rule("Cut", "return Relu(Slice(*i[:3]))", "return Slice(Abs(i[0]), *i[1:3])"),
        1,
        ["pass.py:10: error: Cut: changes the result (integers are constants, f32, shapes *"],
    ),
    "an op type with a slip": (
        '@register_decompose_pass(name="Split", stage=EARLY, op_types=["Reluu"])\n'
        "class Split(DecomposePass):\n    def replacement(self, node):\n        return None\n",
        1,
        [
            "pass.py:9: error: Split: op type Reluu is no known op, expected a GE op type, did you "
            "mean 'Relu'?",
            "pass.py:9: warning: Split: no node of type Reluu was replaced, *",
        ],
    ),
    "nothing to compare": (
        "from ge.es.all import Bernoulli\n"
        + rule("Blind", "return Neg(Neg(Bernoulli(*i[:2])))", "return Bernoulli(*i[:2])"),
        0,
        [
            "pass.py:10: warning: Blind: no rewrite was compared by numbers: *, expected one; try "
            "it on a model as well"
        ],
    ),
}


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run ge-check on the text of a pass file: exit code, output and error text."""
    monkeypatch.chdir(tmp_path)

    def run(text, *words):
        (tmp_path / "pass.py").write_text(HEAD + text)
        code = main(["pass.py", *words])
        done = capsys.readouterr()
        return code, done.out, done.err

    return run


def fits(line, expected):
    """Whether a line is the expected one; each `*` stands for any text."""
    first, *rest = expected.split("*")
    if not line.startswith(first):
        return False
    position = len(first)
    for part in rest:
        found = line.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return expected.endswith("*") or position == len(line)


@pytest.mark.parametrize("name", FINDINGS)
def test_finding(name, check) -> None:
    text, code, expected = FINDINGS[name]
    done, out, err = check(text)
    found = [line for line in out.splitlines() if line.startswith("pass.py:")]
    assert len(found) == len(expected), out
    for line, wanted in zip(found, expected, strict=True):
        assert fits(line, wanted), line
    assert done == code
    errors = sum(": error: " in line for line in found)
    assert err == f"note: {counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}\n"


def test_inputs_that_can_be_no_floats_have_types_of_their_own(check) -> None:
    bits = rule("Bits", "return BitwiseAnd(i[0], i[0])", "return BitwiseOr(i[0], i[0])")
    _, out, _ = check("from ge.es.all import BitwiseAnd, BitwiseOr\n" + bits)
    assert out.startswith("Bits: 6 graphs tried (6 i32; 1 variant, 6 choices of shapes), 6 rewrit")


def test_what_was_tried_is_told(check) -> None:
    _, out, _ = check(RELUS)
    head, fired = out.splitlines()[:2]
    assert head.startswith("Relus: ")
    assert " graphs tried (" in head
    assert all(kind in head for kind in (" f32, ", " f16, ", " i32; "))
    assert head.endswith(" rewritten, 0 wrong")
    assert fired.startswith("  'find' fired ")


def test_the_rarer_reasons_for_no_check_are_counted() -> None:
    tally = Tally(unchecked=Counter({"f": 1, "b": 2, "a": 2, "c": 9, "d": 1, "e": 3}))
    assert tally.lines("P")[1:] == [
        "  not checked 9: c",
        "  not checked 3: e",
        "  not checked 2: a",
        "  not checked 2: b",
        "  not checked 2: 2 other reasons",
    ]


def test_a_wrong_rewrite_is_no_refused_one(check) -> None:
    cut = rule(
        "Cut", "return Relu(StridedSlice(*i[:4]))", "return StridedSlice(Abs(i[0]), *i[1:4])"
    )
    _, out, _ = check("from ge.es.all import Abs, StridedSlice\n" + cut)
    assert " wrong\n" in out
    assert "refused" not in out


def test_counterexample_shows_the_fault_again(check, tmp_path, capsys) -> None:
    check(FINDINGS["a forgotten attribute"][0])
    file = str(tmp_path / "Bias.counterexample.mlir")
    assert load_module(file) is not None
    words = [file, "--load", "pass.py", "-p", "ge-custom-passes", "--verify-rewrites=pass"]
    assert opt(words) == 1
    assert "pass ge-custom-passes changes the result" in capsys.readouterr().err


MODEL = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.Neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.Relu(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Relu(%c) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_models_are_tried(check, tmp_path) -> None:
    (tmp_path / "m.mlir").write_text(MODEL)
    code, out, _ = check(RELUS, "m.mlir")
    assert code == 0
    assert out.splitlines()[-1] == "  m.mlir: Relus rewrote 1, the numbers agree"


def test_model_gives_a_reduced_counterexample(check, tmp_path) -> None:
    (tmp_path / "m.mlir").write_text(MODEL)
    body = """
    @register_fusion_pass(name="Hand", stage=LATE)
    class Hand(FusionBasePass):
        def run(self, graph, context):
            for node in graph.get_direct_nodes():
                if node.type == "Neg":
                    source, port = node.get_in_data_nodes_and_port_indexes(0)
                    for reader in graph.get_direct_nodes():
                        if reader.type == "Relu" or reader.type == "NetOutput":
                            first, out = reader.get_in_data_nodes_and_port_indexes(0)
                            if first.type == "Neg":
                                graph.remove_edge(first, out, reader, 0)
                                graph.add_data_edge(source, port, reader, 0)
            return 0
    """
    code, out, _ = check(textwrap.dedent(body), "m.mlir")
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("pass.py:")]
    assert line.startswith("pass.py:10: error: Hand: changes the result (cut from m.mlir): ")
    text = (tmp_path / "Hand.counterexample.mlir").read_text()
    assert "ge.Neg" in text
    assert "ge.Exp" not in text


def test_usage(capsys) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "ge-check: error: no pass file given, expected PASS.py\n"


def test_file_without_a_pass(check) -> None:
    code, _, err = check("")
    assert code == 1
    assert err == (
        "pass.py: error: registers no pass, expected @register_fusion_pass or "
        "@register_decompose_pass\n"
    )


def test_model_that_is_missing(check) -> None:
    code, _, err = check(RELUS, "none.mlir")
    assert code == 1
    assert err.startswith("none.mlir: error: ")


def test_a_pass_name_of_two_lines_is_one_in_reports(tmp_path, monkeypatch, capsys) -> None:
    from ge_xdsl.cli.opt import main as opt

    monkeypatch.chdir(tmp_path)
    (tmp_path / "pass.py").write_text(HEAD + RELUS.replace('"Relus"', '"Re\\nlus"'))
    (tmp_path / "g.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    assert opt(["--load", "pass.py", "--emit=patterns"]) == 0
    assert capsys.readouterr().out.startswith("// Re lus: pattern_fusion")
    files = ["g.mlir", "--load", "pass.py", "-p", "ge-custom-passes", "-o", "o.mlir"]
    assert opt([*files, "--stats", "--explain"]) == 0
    assert "\nRe lus  Relus_find_pattern" in capsys.readouterr().out
