"""The passes ge-fuse, ge-simplify and ge-decompose: options, recorders, whole graphs."""

import pytest
from rewrite_case import Notes, graph, random_inputs, types_of

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import UsageError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes import cost_model
from ge_xdsl.passes.pipeline import make_passes
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.rewrites import catalog

X = "x: 2x3xf32, w: 3x3xf32, b: 3xf32"
BODY = """
i = Identity(x) : 2x3xf32
p = MatMul(i, w) : 2x3xf32
s = Add(p, b) : 2x3xf32
r = Relu(s) : 2x3xf32
rr = Relu(r) : 2x3xf32
y = SoftmaxV2(rr) : 2x3xf32
"""


def run(pipeline: str, notes: Notes | None = None) -> list[str]:
    module = parse_module(graph(X, BODY, "y"))
    inputs = random_inputs(module)
    (wanted,) = run_function(main_function(module), inputs)
    ctx = SessionContext(Session(recorders=[notes] if notes else []))
    for item in make_passes(pipeline):
        item.apply(ctx, module)
    verify(module)
    (found,) = run_function(main_function(module), inputs)
    assert abs(wanted - found).max() < 1e-6
    return types_of(module)


@pytest.mark.parametrize(
    ("pipeline", "left"),
    [
        ("ge-fuse", ["Identity", "MatMul", "Relu", "Relu", "SoftmaxV2"]),
        (
            "ge-fuse{only=FuseConv2DBiasRelu}",
            ["Identity", "MatMul", "Add", *["Relu"] * 2, "SoftmaxV2"],
        ),
        ("ge-simplify", ["MatMul", "Add", "Relu", "SoftmaxV2"]),
        (
            "ge-simplify{only=RemoveIdentity,RemoveNeutral}",
            ["MatMul", "Add", "Relu", "Relu", "SoftmaxV2"],
        ),
        (
            "ge-simplify,ge-fuse,ge-decompose{to=primitive}",
            ["MatMul", "Relu", "ReduceMax", "Sub", "Exp", "ReduceSum", "RealDiv"],
        ),
        (
            "ge-decompose{only=DecomposeGelu}",
            ["Identity", "MatMul", "Add", *["Relu"] * 2, "SoftmaxV2"],
        ),
    ],
)
def test_pipelines(pipeline: str, left: list[str]):
    assert run(pipeline) == left


def test_recorders_are_fed():
    notes = Notes(explains=False)
    run("ge-simplify", notes)
    assert notes.applied == 2


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            "ge-fuse{only=FuseConv2DBiasRel}",
            "pass ge-fuse: option 'only' is 'FuseConv2DBiasRel', expected one of "
            "FuseConv2DBiasRelu, FuseMatMulBias, did you mean 'FuseConv2DBiasRelu'?",
        ),
        ("ge-simplify{only=X}", "pass ge-simplify: option 'only' is 'X', expected one of"),
        ("ge-decompose{only=X}", "pass ge-decompose: option 'only' is 'X', expected one of"),
        ("ge-decompose{to=x}", "pass ge-decompose: option 'to' is 'x', expected one of primitive"),
        (
            "ge-decompose{only=DecomposeGelu to=target}",
            "only is given with to=target, expected it with to=primitive",
        ),
    ],
)
def test_wrong_options(pipeline: str, message: str):
    with pytest.raises(UsageError) as caught:
        make_passes(pipeline)
    assert message in str(caught.value)


def test_rule_names_are_class_names_and_documented():
    rules = [*catalog.fusion_rules(), *catalog.simplify_rules(), *catalog.decompose_rules()]
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.name == type(rule).__name__
        assert rule.root_types
        assert "->" in (type(rule).__doc__ or "")


DENSE = """func.func @main(%x: X, %w: tensor<64x32xf16>, %b: tensor<32xf16>) -> Y {
  %mm = ge.MatMul(%x, %w) : (X, tensor<64x32xf16>) -> Y
  %y = ge.Add(%mm, %b) : (Y, tensor<32xf16>) -> Y
  func.return %y : Y
}
"""


def fused_with_cost_model(rows, monkeypatch=None, prices=()):
    """The op types after `ge-fuse{cost-model=on}`, and the warnings."""
    text = DENSE.replace("X", f"tensor<{rows}x64xf16>").replace("Y", f"tensor<{rows}x32xf16>")
    module, session = parse_module(text, "d.mlir"), Session()
    left = iter(prices)
    if monkeypatch is not None:
        monkeypatch.setattr(cost_model, "price", lambda module, chip: next(left))
    (item,) = make_passes("ge-fuse{cost-model=on}")
    item.apply(SessionContext(session), module)
    return [op.op_type for op in ge_ops(module)], session.messages


def test_a_rule_that_pays_is_kept():
    assert fused_with_cost_model(16) == (["MatMul"], [])


@pytest.mark.parametrize(
    ("after", "text"), [((0, 5.5), "5.50 us"), ((1, 3.0), "3.00 us and 1 op without a kernel")]
)
def test_a_rule_that_does_not_pay_is_left_out(monkeypatch, after, text):
    types, messages = fused_with_cost_model(16, monkeypatch, ((0, 4.0), after))
    assert types == ["MatMul", "Add"]
    assert messages == [
        "warning: ge-fuse: rule FuseMatMulBias does not pay on Ascend910B1, 4.00 us before and "
        f"{text} after, left out"
    ]


def test_a_graph_without_a_price():
    types, messages = fused_with_cost_model("?")
    assert types == ["MatMul"]
    assert messages == [
        "warning: ge-fuse: cost-model has no effect, no op of the graph has a kernel, expected "
        "some and known shapes"
    ]
