"""ge-cse, ge-dce and ge-fold-constants: subgraphs, side effects, values kept, linear time."""

from collections import Counter

import numpy as np
import pytest
from xdsl.ir import Operation
from xdsl.ir.core import OpOperands
from xdsl.irdl import traits_def

from ge_xdsl.dialects.ge import registry
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.fields import operand
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes import cse
from ge_xdsl.passes.fold_constants import GeFoldConstantsPass
from ge_xdsl.passes.pipeline import make_passes
from ge_xdsl.passes.session import SessionContext

V = "tensor<4xf32>"


def passed(module, pipeline, ctx=None):
    for item in make_passes(pipeline):
        item.apply(ctx or SessionContext(), module)
    verify(module)
    return module


def names(module):
    return [op.node_name for op in ge_ops(module) if op.node_name]


SUBGRAPHS = """func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %dead = ge.If(%c, [%a]) then_branch {
  ^bb0(%p: tensor<4xf32>):
    %d1 = ge.Relu(%p) : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield([%d1]) : (tensor<4xf32>) -> ()
  } else_branch {
  ^bb0(%p: tensor<4xf32>):
    ge.yield([%p]) : (tensor<4xf32>) -> ()
  } : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  %y = ge.If(%c, [%x]) then_branch {
  ^bb0(%p: tensor<4xf32>):
    %t1 = ge.Relu(%p) : (tensor<4xf32>) -> tensor<4xf32>
    %t2 = ge.Relu(%p) : (tensor<4xf32>) -> tensor<4xf32>
    %t3 = ge.Add(%t1, %t2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t4 = ge.Mul(%t1, %t2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ge.yield([%t3]) : (tensor<4xf32>) -> ()
  } else_branch {
  ^bb0(%p: tensor<4xf32>):
    %e1 = ge.Relu(%p) : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield([%e1]) : (tensor<4xf32>) -> ()
  } : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>)
  func.return %y : tensor<4xf32>
}
"""


def test_subgraphs_are_worked_on_one_by_one():
    module = passed(parse_module(SUBGRAPHS), "ge-cse,ge-dce")
    assert names(module) == ["y", "t1", "t3", "e1"]


class Prints(GeOp):
    """An op with a side effect."""

    name = "ge.PrintsForTest"
    x = operand()
    traits = traits_def()


def test_ops_with_side_effects_stay_and_keep_what_they_read():
    registry.register(Prints)
    text = f"""func.func @main(%x: {V}) -> {V} {{
  %a = ge.Relu(%x) : ({V}) -> {V}
  %b = ge.Relu(%x) : ({V}) -> {V}
  "ge.PrintsForTest"(%a) : ({V}) -> ()
  "ge.PrintsForTest"(%b) : ({V}) -> ()
  func.return %x : {V}
}}
"""
    module = passed(parse_module(text), "ge-cse,ge-dce")
    kinds = [op.op_type for op in ge_ops(module)]
    assert kinds == ["Relu", "PrintsForTest", "PrintsForTest"]


def test_ops_known_by_prototype_only_might_do_anything():
    text = """func.func @main(%x: tensor<2xi64>) -> (tensor<?xi32>, tensor<?xi32>) {
  %a = ge.NonDeterministicInts(%x) {dtype = DT_INT32} : (tensor<2xi64>) -> tensor<?xi32>
  %b = ge.NonDeterministicInts(%x) {dtype = DT_INT32} : (tensor<2xi64>) -> tensor<?xi32>
  %unused = ge.NonDeterministicInts(%x) {dtype = DT_INT32} : (tensor<2xi64>) -> tensor<?xi32>
  func.return %a, %b : tensor<?xi32>, tensor<?xi32>
}
"""
    assert registry.family_of("NonDeterministicInts") is None
    assert names(passed(parse_module(text), "ge-cse,ge-dce")) == ["a", "b", "unused"]


def random_graph(rng, size=40):
    """A text whose values are sums, products, ReLUs and constants of earlier ones."""
    lines = [f"func.func @main(%v0: {V}, %v1: {V}) -> ({V}, {V}) {{"]
    for i in range(2, size):
        a, b = rng.integers(max(0, i - 8), i, 2)
        kind = rng.choice(["Add", "Mul", "Maximum", "Relu", "Const"], p=[0.25, 0.2, 0.15, 0.2, 0.2])
        if kind == "Const":
            values = ", ".join(f"{v:.1f}" for v in rng.integers(-1, 2, 4))
            lines.append(f"  %v{i} = ge.Const() {{value = dense<[{values}]> : {V}}} : () -> {V}")
        elif kind == "Relu":
            lines.append(f"  %v{i} = ge.Relu(%v{a}) : ({V}) -> {V}")
        else:
            lines.append(f"  %v{i} = ge.{kind}(%v{a}, %v{b}) : ({V}, {V}) -> {V}")
    return "\n".join([*lines, f"  func.return %v{size - 1}, %v{size - 2} : {V}, {V}", "}", ""])


@pytest.mark.parametrize("seed", range(20))
def test_values_are_kept(seed):
    rng = np.random.default_rng(seed)
    text = random_graph(rng)
    inputs = {f"v{i}": rng.standard_normal(4).astype(np.float32) for i in range(2)}
    before = run_function(main_function(parse_module(text)), inputs)
    for pipeline in ("ge-cse", "ge-dce", "ge-fold-constants", "ge-fold-constants,ge-cse,ge-dce"):
        module = passed(parse_module(text), pipeline)
        after = run_function(main_function(module), inputs)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert len(list(ge_ops(module))) < len(list(ge_ops(parse_module(text))))
    again = module_text(module)
    assert module_text(passed(module, "ge-fold-constants,ge-cse,ge-dce")) == again


def constants(*arrays):
    """A module that adds up one weight per array."""
    text = f"func.func @main(%x: {V}) -> {V} {{\n  func.return %x : {V}\n}}\n"
    module = parse_module(text)
    block = main_function(module).body.block
    for i, array in enumerate(arrays):
        op = ConstOp.build(value=const_attr(array, f"w{i}"), node_name=f"w{i}")
        block.insert_op_before(op, block.last_op)
    return module


def test_equal_weights_become_one_and_large_ones_by_their_buffer(monkeypatch):
    a = np.arange(1000, dtype=np.float32)
    other = a + 1
    assert names(passed(constants(a, a.copy(), other), "ge-cse")) == ["w0", "w2"]
    monkeypatch.setattr(cse, "CONTENT_LIMIT", 100)
    assert names(passed(constants(a, a, a.copy()), "ge-cse")) == ["w0", "w2"]


@pytest.mark.parametrize(
    ("count", "limit", "is_folded"), [(8, 32, True), (8, 31, False), (9, 32, False)]
)
def test_a_result_above_the_limit_and_its_operands_is_not_folded(count, limit, is_folded):
    text = f"""func.func @main() -> tensor<{count}xf32> {{
  %v = ge.Const() {{value = dense<1.0> : tensor<1xf32>}} : () -> tensor<1xf32>
  %s = ge.Const() {{value = dense<{count}> : tensor<1xi32>}} : () -> tensor<1xi32>
  %y = ge.BroadcastTo(%v, %s) : (tensor<1xf32>, tensor<1xi32>) -> tensor<{count}xf32>
  func.return %y : tensor<{count}xf32>
}}
"""
    module = passed(parse_module(text), f"ge-fold-constants{{limit={limit}}},ge-dce")
    kinds = [op.op_type for op in ge_ops(module)]
    assert kinds == (["Const"] if is_folded else ["Const", "Const", "BroadcastTo"])


@pytest.mark.parametrize(("limit", "is_folded"), [(128, True), (127, False)])
def test_a_result_whose_size_depends_on_values_is_bounded_by_the_operand(limit, is_folded):
    text = """func.func @main() -> tensor<?x2xi64> {
  %v = ge.Const() {value = dense<[[1.0, 0.0], [0.0, 2.0]]> : tensor<2x2xf32>}
       : () -> tensor<2x2xf32>
  %y = ge.Where(%v) : (tensor<2x2xf32>) -> tensor<?x2xi64>
  func.return %y : tensor<?x2xi64>
}
"""
    module = passed(parse_module(text), f"ge-fold-constants{{limit={limit}}},ge-dce")
    (op,) = list(ge_ops(module))[-1:]
    assert op.op_type == ("Const" if is_folded else "Where")
    if is_folded:
        assert op.value.tolist() == [[0, 0], [1, 1]]
        assert str(main_function(module).function_type) == "() -> tensor<2x2xi64>"


def test_an_op_that_is_not_defined_on_its_constants_stays_with_a_warning():
    text = """func.func @main() -> tensor<1xf32> {
  %v = ge.Const() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %i = ge.Const() {value = dense<5> : tensor<1xi32>} : () -> tensor<1xi32>
  %a = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %y = ge.GatherV2(%v, %i, %a) : (tensor<2xf32>, tensor<1xi32>, tensor<i32>) -> tensor<1xf32>
  func.return %y : tensor<1xf32>
}
"""
    ctx = SessionContext()
    module = passed(parse_module(text), "ge-fold-constants", ctx)
    assert [op.op_type for op in ge_ops(module)] == ["Const", "Const", "Const", "GatherV2"]
    (message,) = ctx.session.messages
    assert message.startswith("warning: ge.GatherV2 'y': not folded: ")


def test_a_negative_limit():
    with pytest.raises(ValueError, match="option 'limit' is -1, expected 0 or more"):
        GeFoldConstantsPass(-1)


WIDE = 12_000


def count_operand_writes(monkeypatch):
    """Op name -> how often its operand list is written, in whole or in part."""
    writes = Counter()
    item, whole = OpOperands.__setitem__, Operation.operands.fset

    def write_item(operands, index, value):
        writes[operands._op.name] += 1
        item(operands, index, value)

    def write_whole(op, values):
        writes[op.name] += 1
        whole(op, values)

    monkeypatch.setattr(OpOperands, "__setitem__", write_item)
    monkeypatch.setattr(Operation, "operands", Operation.operands.setter(write_whole))
    return writes


@pytest.mark.parametrize("pipeline", ["ge-cse", "ge-infer-shape", "ge-dce"])
def test_an_op_with_many_operands_is_rebuilt_once(pipeline, monkeypatch):
    """Each write of one operand copies the whole list, so there must not be one per operand."""
    operands = ", ".join(f"%v{i}" for i in range(WIDE))
    kinds = ", ".join([V] * WIDE)
    lines = [f"  %v{i} = ge.Relu(%x) : ({V}) -> {V}" for i in range(WIDE)]
    lines.append(f"  %y = ge.AddN([{operands}]) {{N = {WIDE}}} : ({kinds}) -> {V}")
    text = "\n".join(
        [f"func.func @main(%x: {V}) -> {V} {{", *lines, f"  func.return %y : {V}", "}"]
    )
    module = parse_module(text)
    writes = count_operand_writes(monkeypatch)
    for item in make_passes(pipeline):
        item.apply(SessionContext(), module)
    assert writes["ge.AddN"] <= 1
    assert len(list(ge_ops(module))) == (2 if pipeline == "ge-cse" else WIDE + 1)


ADDED = (
    "ge.InplaceAddRmsNorm(%a, %b, %g) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) "
    "-> (tensor<4xf32>, tensor<1xf32>, tensor<4xf32>)"
)
WRITES = f"""func.func @main(%a: {V}, %b: {V}, %g: {V}) -> {V} {{
  %unread = ge.Relu(%a) : ({V}) -> {V}
  %n:3 = {ADDED}
  %m:3 = {ADDED}
  func.return %b : {V}
}}
"""


def test_an_op_that_writes_its_operand_stays():
    module = passed(parse_module(WRITES), "ge-cse,ge-dce")
    assert names(module) == ["n", "m"]
