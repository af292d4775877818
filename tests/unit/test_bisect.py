"""Bisection of a pipeline: what is found, what is reduced, and what is told when nothing is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.cli.opt import main
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.bisect import Bisection
from ge_xdsl.passes.dce import GeDcePass
from ge_xdsl.passes.extract import extract
from ge_xdsl.passes.numbers import GraphSamples
from ge_xdsl.passes.session import Session, session_of
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.driver import PatternRule, run_ge
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.samples import EVERY_SAMPLE, NotChecked

CHAIN = ["Exp", "Neg", "Relu", "Abs", "Relu", "Square"]


def chain(names, kind="tensor<3xf32>"):
    """One op per name, each reading the one before; node `v2` is the third."""
    lines, last = [], "%x"
    for i, name in enumerate(names):
        lines.append(f"  %v{i} = ge.{name}({last}) : ({kind}) -> {kind}")
        last = f"%v{i}"
    body = "\n".join(lines)
    text = f"func.func @main(%x: {kind}) -> {kind} {{\n{body}\n  func.return {last} : {kind}\n}}\n"
    return parse_module(text, "chain.mlir")


def types_of(module):
    return [op.op_type for op in ge_ops(module)]


@dataclass(frozen=True)
class RenamePass(ModulePass):
    """Puts the class of the second-named op in the place of the first, as a rule or by hand."""

    name = "rename"
    before: str = "Relu"
    after: str = "Sigmoid"
    by_rule: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = main_function(op).body.block
        if self.by_rule:
            graph = PatternGraph.from_function(main_function(chain([self.before])), (), "p")
            new = main_function(chain([self.after]))
            rule = PatternRule(compile_pattern(graph), lambda match: new, name="rule")
            run_ge(block, [rule], pass_name=self.name, recorders=session_of(ctx).recorders)
            return
        for old in list(ge_ops(op)):
            if old.op_type == self.before:
                (new,) = ge_ops(chain([self.after]))
                new.detach()
                new.operands = old.operands
                new.node_name = old.node_name
                block.insert_op_before(new, old)
                old.results[0].replace_all_uses_with(new.results[0])
                old.detach()
                old.erase()


@dataclass(frozen=True)
class FailPass(ModulePass):
    """Fails on a graph with a Relu behind a Neg."""

    name = "fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = types_of(op)
        if ("Neg", "Relu") in pairwise(names):
            raise CompileError("is no good, expected better", subject="ge.Relu")


def found(module, *passes):
    search = Bisection(Session())
    return search.run(module, passes), search


def test_rule_and_site_are_named() -> None:
    finding, search = found(chain(CHAIN), GeDcePass(), RenamePass(), GeDcePass())
    assert finding is not None
    first, rule, site, error, file = finding.lines("f.mlir")
    assert first == "pass: rename, number 2 of 3"
    assert rule == "rule: rule"
    assert site == "site: ge.Relu 'v2' at chain.mlir:4:3"
    assert error.startswith("max error: output 0 is off by up to ")
    assert file == "file: f.mlir"
    assert types_of(finding.reduced) == ["Relu"]
    assert search.checked == 1


def test_pass_without_rules_is_cut_down() -> None:
    finding, search = found(chain(["Exp"] * 40 + CHAIN), RenamePass("Neg", "Identity", False))
    assert finding is not None
    assert finding.rule == ""
    assert finding.lines("")[1:3] == [
        "rule: unknown, no rewrite of the pass was told apart",
        "site: ge.Neg 'v41'",
    ]
    assert types_of(finding.reduced) == ["Neg"]
    assert search.trials < 20


def test_failing_pass_is_cut_down_with_the_same_failure() -> None:
    finding, _ = found(chain(CHAIN), GeDcePass(), FailPass())
    assert finding is not None
    assert finding.lines("")[2:4] == ["site: ge.Relu", "error: is no good, expected better"]
    assert types_of(finding.reduced) == ["Neg", "Relu"]
    verify(finding.reduced)


def test_right_passes_are_counted() -> None:
    finding, search = found(chain(CHAIN), GeDcePass(), RenamePass("Cos", "Sin"))
    assert finding is None
    assert search.summary() == "no pass is wrong, 2 checked by numbers"


def test_rewrites_are_checked_where_the_graph_cannot_run() -> None:
    text = module_text(chain(CHAIN)).replace(
        "func.func @main(%x: tensor<3xf32>)",
        "func.func @main(%u: tensor<*xf32>, %x: tensor<3xf32>)",
    )
    finding, _ = found(parse_module(text, "u.mlir"), RenamePass())
    assert finding is not None
    assert finding.rule == "rule"
    assert types_of(finding.reduced) == ["Relu"]
    finding, search = found(parse_module(text, "u.mlir"), GeDcePass())
    assert finding is None
    assert search.summary() == (
        "no pass is checked by numbers, expected a graph that runs before and after; "
        "1 not checked: graph input 'u' has "
        "unknown rank, expected --shape u=..."
    )


def test_extract_levels_constants_cuts() -> None:
    module = parse_module(
        """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %a = ge.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = ge.Mul(%a, %c) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %y = ge.Add(%b, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
""",
        "g.mlir",
    )
    *_, last = main_function(module).body.block.ops
    (value,) = last.operands
    nodes = {op.node_name: op for op in ge_ops(module)}
    shapes = {
        (1, ()): (["Add"], ["b", "a"]),
        (2, ()): (["Const", "Exp", "Mul", "Add"], ["x"]),
        (None, ("a",)): (["Const", "Mul", "Add"], ["a"]),
        (None, ("b",)): (["Exp", "Add"], ["x", "b"]),
    }
    for (levels, cut), expected in shapes.items():
        part = extract([value], levels, [nodes[name] for name in cut])
        verify(part)
        assert (types_of(part), input_names(main_function(part))) == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "--bisect without passes, expected -p PASSES with it"),
        (
            ["-p", "ge-dce", "--split-input-file"],
            "--bisect with an input in parts, expected one graph",
        ),
    ],
)
def test_usage(options, text, tmp_path, capsys) -> None:
    path = tmp_path / "g.mlir"
    path.write_text(module_text(chain(CHAIN)))
    assert main([str(path), "--bisect", *options]) == 2
    assert capsys.readouterr().err == f"ge-opt: error: {text}\n"


# What whole graphs are tried on


GATHERED = """func.func @main(%x: tensor<4x2xf32>, %i: I) -> Y {
  %a = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %y = ge.GatherV2(%x, %i, %a) : (tensor<4x2xf32>, I, tensor<i32>) -> Y
  func.return %y : Y
}
""".replace("I", "tensor<5000xi32>").replace("Y", "tensor<5000x2xf32>")


def samples_of(text, **options):
    return GraphSamples.of(main_function(parse_module(text, "g.mlir")), **options)


def test_samples_that_a_graph_is_not_defined_on_are_left_out() -> None:
    kinds = [run.kind for run in samples_of(GATHERED).runs]
    assert kinds == ["random values", "zeros", "huge values", "NaN and infinite values"]


def test_small_inputs_are_tried_with_every_value_where_that_is_cheap() -> None:
    text = module_text(chain(["Exp"], "tensor<f16>"))
    counts = Counter(run.kind for run in samples_of(text).runs)
    assert set(counts) == set(EVERY_SAMPLE)
    assert counts["random values"] == 16
    wide = module_text(chain(["Exp"], "tensor<2048xf32>"))
    assert [run.kind for run in samples_of(wide).runs] == [
        k for k in EVERY_SAMPLE if "large" not in k
    ]


def test_a_graph_without_elements_is_not_checked() -> None:
    finding, search = found(chain(["Exp"], "tensor<0xf32>"), GeDcePass())
    assert finding is None
    assert search.summary() == (
        "no pass is checked by numbers, expected a graph that runs before and after; "
        "1 not checked: the results have no elements"
    )


def test_the_rewrite_that_breaks_the_graph_is_named() -> None:
    """A rewrite that is wrong by itself, but right behind an Abs, is passed over."""
    module = chain(["Abs", "Relu", "Neg", "Relu", "Exp"])
    finding, _ = found(module, RenamePass("Relu", "Identity"))
    assert finding is not None
    assert finding.site.startswith("ge.Relu 'v3'")
    assert types_of(finding.reduced) == ["Relu"]


POOLED = """
func.func @main(%x: tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32> {
  %v0 = ge.Relu(%x) : (tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  %v1 = ge.MaxPoolV3(%v0) {ksize = [1, 1, 20, 20], strides = [1, 1, 20, 20],
    padding_mode = "VALID"} : (tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  func.return %v1 : tensor<?x3x?x?xf32>
}
"""
LOOKED_UP = """
func.func @main(%x: tensor<4xi64>) -> tensor<4x2xf32> {
  %table = ge.Const() {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}
    : () -> tensor<2x2xf32>
  %axis = ge.Const() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %v1 = ge.GatherV2(%table, %x, %axis)
    : (tensor<2x2xf32>, tensor<4xi64>, tensor<i64>) -> tensor<4x2xf32>
  func.return %v1 : tensor<4x2xf32>
}
"""


def test_sizes_that_windows_accept_are_found() -> None:
    found = samples_of(POOLED)
    assert {run.inputs["x"].shape for run in found.runs} == {(1, 3, 32, 32)}
    found = samples_of(POOLED, shapes={"x": (2, 3, -1, 40)})
    assert {run.inputs["x"].shape for run in found.runs} == {(2, 3, 32, 40)}


def test_integers_that_a_table_has_rows_for_are_found() -> None:
    assert max(run.inputs["x"].max() for run in samples_of(LOOKED_UP).runs) == 1


def test_dimensions_of_one_name_have_one_size() -> None:
    text = POOLED.replace(
        "%x: tensor<?x3x?x?xf32>)", "%x: tensor<?x3x?x?xf32>, %s: tensor<2x?xf32>)"
    )
    text = text.replace("?xf32> {", '?xf32> attributes {ge.input_dims = ["n, 3, h, w", "2, n"]} {')
    inputs = samples_of(text).runs[0].inputs
    assert [inputs[name].shape for name in ("x", "s")] == [(1, 3, 32, 32), (2, 1)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"shapes": {"x": (1, 3, 8, 8)}},
            "no size fits graph input 'x' of shape ?x3x?x?, expected --shape x=... (window of 20 ",
        ),
        ({"limit": 100}, "takes more than 100 multiplications, raise the limit with --verify-"),
    ],
)
def test_why_a_graph_is_not_sampled(options, reason) -> None:
    with pytest.raises(NotChecked, match=re.escape(reason)):
        samples_of(POOLED, **options)


def test_shapes_reach_the_samples_of_the_tools(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mlir").write_text(POOLED)
    for how, blind in (("--bisect", 1), ("--verify-rewrites=pass", 0)):
        call = ["g.mlir", "-p", "ge-dce", how]
        assert main([*call, "--shape", "x=1x3x8x8"]) == blind
        assert "1 not checked: no size fits graph input 'x'" in capsys.readouterr().err
        assert main([*call, "--shape", "x=1x3x20x20"]) == 0
        assert "not checked" not in capsys.readouterr().err
        assert main([*call, "--shape", "x=1x4x20x20"]) == 1
        assert capsys.readouterr().err == (
            "g.mlir: error: graph input 'x': shape is 1x4x20x20, expected one that fits ?x3x?x?\n"
        )
        assert main([*call, "--verify-limit", "100"]) == blind
        assert "takes more than 100 multiplications" in capsys.readouterr().err
