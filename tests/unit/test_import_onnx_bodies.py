"""ONNX subgraphs and functions against onnxruntime, and the limits of what is expanded."""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import B, W, X, by_reference, check, f32, i64, imported, model, node

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx import scope as scopes
from ge_xdsl.importers.onnx.reader import import_onnx_bytes

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(nodes, inputs=(), outputs=(), initializers=None):
    """A subgraph; inputs and outputs are names of floats or declarations."""
    declared = [[info(v) if isinstance(v, str) else v for v in side] for side in (inputs, outputs)]
    arrays = [numpy_helper.from_array(a, n) for n, a in (initializers or {}).items()]
    return helper.make_graph(nodes, "body", *declared, arrays)


def branches(then_nodes, else_nodes, outputs=("t",)):
    return {
        "then_branch": graph(then_nodes, (), outputs),
        "else_branch": graph(else_nodes, (), outputs),
    }


def loop_model(body, inputs, outputs, arrays, initializers=None, opset=16):
    return model([node("Loop", inputs, outputs, "loop", body=body)], arrays, outputs, opset,
                 initializers or {})  # fmt: skip


STEP = [info("i", INT64, []), info("c", BOOL, [])]


def counted(cond="c"):
    """A body that passes its condition on."""
    return [node("Identity", [cond], ["go"])]


@pytest.mark.parametrize("flag", [True, False])
def test_if_captures_values_weights_and_constants(flag):
    then_nodes = [
        node("MatMul", ["x", "w"], ["p"]),
        node("Add", ["p", "b"], ["q"]),
        node("Add", ["q", "k"], ["t"]),
    ]
    else_nodes = [node("MatMul", ["x", "w"], ["p"]), node("Mul", ["p", "z"], ["t"])]
    nodes = [
        node("Relu", ["x"], ["z0"]),
        node("ReduceMax", ["z0"], ["z"]),
        node("Constant", [], ["k"], value=numpy_helper.from_array(np.float32(2))),
        node("If", ["flag"], ["y"], "choice", **branches(then_nodes, else_nodes)),
    ]
    made = model(nodes, {"x": X, "flag": np.array(flag)}, ["y"], 17, {"w": W, "b": B})
    check(made, {"x": X, "flag": np.array(flag)})
    choice = next(op for op in ge_ops(imported(made)) if op.op_type == "If")
    assert len(choice.operands) == 3, "cond, x and z, no constant"


@pytest.mark.parametrize("rows", [2, 3])
def test_branches_of_different_shapes(rows):
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Equal", ["n", "two"], ["flag"]),
        node(
            "If", ["flag"], ["y"],
            **branches([node("Identity", ["x"], ["t"])],
                       [node("Concat", ["x", "x"], ["t"], axis=0)]),
        ),
    ]  # fmt: skip
    x = f32(rows, 4)
    fixed = {"zero": np.int64(0), "two": np.int64(2)}
    made = model(nodes, {"x": x}, ["y"], 17, fixed, dims={"x": ("n", 4)})
    check(made, {"x": x})


def test_nested_conditionals_read_the_outermost_graph():
    inner = node("If", ["second"], ["t"], **branches([node("Neg", ["z"], ["t"])],
                                                     [node("Identity", ["x"], ["t"])]))  # fmt: skip
    nodes = [
        node("Exp", ["x"], ["z"]),
        node("If", ["first"], ["y"], **branches([inner], [node("Abs", ["x"], ["t"])])),
    ]
    for first in (True, False):
        for second in (True, False):
            inputs = {"x": X, "first": np.array(first), "second": np.array(second)}
            check(model(nodes, inputs, ["y"], 17), inputs)


@pytest.mark.parametrize("turns", [0, 3])
def test_loop_with_carried_and_gathered_values(turns):
    body = graph(
        [
            *counted(),
            node("Add", ["v", "x"], ["next"]),
            node("Cast", ["i"], ["f"], to=FLOAT),
            node("Mul", ["next", "f"], ["row"]),
        ],
        [*STEP, "v"],
        [info("go", BOOL), "next", "row"],
    )
    arrays = {"m": np.array(turns), "x": X}
    made = loop_model(body, ["m", "", "x"], ["last", "rows"], arrays)
    if turns:
        check(made, arrays)
    found = by_reference(made, arrays)
    np.testing.assert_allclose(found[0], X * (1 + turns))
    assert found[1].shape == (turns, *X.shape)


def test_loop_ends_by_its_condition():
    body = graph(
        [
            node("Mul", ["v", "two"], ["next"]),
            node("ReduceSum", ["next"], ["s"], keepdims=0),
            node("Less", ["s", "limit"], ["go"]),
        ],
        [*STEP, "v"],
        [info("go", BOOL), "next"],
        {"two": np.float32(2)},
    )
    arrays = {"x": np.ones(3, np.float32), "limit": np.array(50, np.float32)}
    check(loop_model(body, ["", "yes", "x"], ["last"], arrays, {"yes": np.array(True)}), arrays)


def test_loop_whose_value_grows():
    body = graph(
        [*counted(), node("Concat", ["v", "x"], ["next"], axis=0)],
        [*STEP, info("v", FLOAT, None)],
        [info("go", BOOL), info("next", FLOAT, None)],
    )
    arrays = {"x": f32(2, 3)}
    made = loop_model(body, ["three", "", "x"], ["last"], arrays, {"three": np.array(3)})
    check(made, arrays)
    func = main_function(imported(made))
    assert str(func.function_type.outputs.data[0]) == "tensor<?x3xf32>"
    loop = next(op for op in ge_ops(func) if op.op_type == "While")
    names = [op.node_name for op in ge_ops(loop.regions[1].block)]
    assert names[:2] == ["go", "next_ConcatD"], "a body that is built again keeps its names"


def test_loop_that_gathers_values_of_unknown_shape():
    body = graph(
        [*counted(), node("Reshape", ["x", "s"], ["row"])],
        STEP,
        [info("go", BOOL), info("row", FLOAT, None)],
    )
    arrays = {"x": X, "s": i64(6, 2)}
    made = loop_model(body, ["m", "yes"], ["rows"], {**arrays, "m": np.array(2)},
                      {"yes": np.array([True])})  # fmt: skip
    found = by_reference(made, {**arrays, "m": np.array(2)})
    np.testing.assert_array_equal(found[0], np.stack([X.reshape(6, 2)] * 2))


def test_nested_loops():
    inner = graph(
        [*counted(), node("Add", ["v", "u"], ["next"])],
        [*STEP, "v"],
        [info("go", BOOL), "next"],
    )
    outer = graph(
        [
            node("Identity", ["oc"], ["ogo"]),
            node("Add", ["oi", "one"], ["turns"]),
            node("Loop", ["turns", "", "u"], ["done"], body=inner),
        ],
        [info("oi", INT64, []), info("oc", BOOL, []), "u"],
        [info("ogo", BOOL), "done"],
        {"one": np.array(1)},
    )
    arrays = {"x": X}
    check(loop_model(outer, ["three", "", "x"], ["y"], arrays, {"three": np.array(3)}), arrays)


@pytest.mark.parametrize("backward", [0, 1])
def test_scan_both_ways_along_other_axes(backward):
    body = graph(
        [node("Add", ["h", "e"], ["n"]), node("Mul", ["n", "w"], ["row"])],
        ["h", "e"],
        ["n", "row"],
    )
    scan = node(
        "Scan", ["h0", "x"], ["h", "rows"], "scan", body=body, num_scan_inputs=1,
        scan_input_axes=[1], scan_input_directions=[backward], scan_output_axes=[-1],
        scan_output_directions=[backward],
    )  # fmt: skip
    arrays = {"h0": f32(3), "x": f32(3, 5)}
    check(model([scan], arrays, ["h", "rows"], 11, {"w": f32(3)}), arrays)


def test_the_text_of_a_loop_parses_back():
    body = graph(
        [*counted(), node("Add", ["v", "x"], ["next"])],
        [*STEP, "v"],
        [info("go", BOOL), "next", "next"],
    )
    text = module_text(imported(loop_model(body, ["m", "", "x"], ["y", "z"],
                                           {"m": np.array(2), "x": X})))  # fmt: skip
    assert module_text(parse_module(text)) == text


# Functions


def with_function(call, function_nodes, inputs, outputs, attributes=(), defaults=(), arrays=None):
    made = model([call], arrays or {"x": X}, ["y"], 17)
    made.opset_import.append(helper.make_opsetid("mine", 1))
    function = helper.make_function(
        "mine", call.op_type, inputs, outputs, function_nodes, [helper.make_opsetid("", 17)],
        list(attributes), list(defaults),
    )  # fmt: skip
    made.functions.append(function)
    made.ir_version = 9
    return made


def referring(op, inputs, outputs, name, attribute, kind):
    made = node(op, inputs, outputs)
    made.attribute.add(name=name, type=kind, ref_attr_name=attribute)
    return made


@pytest.mark.parametrize("given", [{}, {"slope": 0.25}])
def test_a_function_of_the_model(given):
    body = [
        referring("LeakyRelu", ["a"], ["l"], "alpha", "slope", 1),
        node("Add", ["l", "a"], ["r"]),
    ]
    call = node("Twice", ["x"], ["y"], "call", domain="mine", **given)
    default = helper.make_attribute("slope", 0.5)
    made = with_function(call, body, ["a"], ["r"], defaults=[default])
    check(made, {"x": X})
    names = [op.node_name for op in ge_ops(imported(made))]
    assert names == ["call_l", "call_r"]


def test_an_attribute_that_the_caller_leaves_out_is_left_out():
    body = [referring("LeakyRelu", ["a"], ["r"], "alpha", "slope", 1)]
    call = node("Lazy", ["x"], ["y"], "call", domain="mine")
    found = by_reference(with_function(call, body, ["a"], ["r"], ["slope"]), {"x": X})
    np.testing.assert_allclose(found[0], np.where(X < 0, 0.01 * X, X), rtol=1e-6)


def test_an_input_that_the_caller_leaves_out_is_left_out():
    body = [node("Clip", ["a", "low", "high"], ["r"])]
    call = node("Cut", ["x", "", "x0"], ["y"], "call", domain="mine")
    arrays = {"x": X, "x0": np.float32(1)}
    made = with_function(call, body, ["a", "low", "high"], ["r"], arrays=arrays)
    np.testing.assert_array_equal(by_reference(made, arrays)[0], np.minimum(X, 1))


def test_a_function_of_the_operator_set():
    x = f32(2, 4, 8)
    made = model(
        [node("GroupNormalization", ["x", "s", "b"], ["y"], "gn", num_groups=2)],
        {"x": x}, ["y"], 21, {"s": f32(4), "b": f32(4, seed=1)},
    )  # fmt: skip
    check(made, {"x": x})
    assert all(op.node_name.startswith("gn_") for op in ge_ops(imported(made)) if op.operands)


def text_of(made):
    with pytest.raises(CompileError) as error:
        import_onnx_bytes(made.SerializeToString(), "model.onnx")
    return str(error.value)


def doubling(depth):
    """Functions of which each calls the next twice."""
    made = model([node("F0", ["x"], ["y"], "call", domain="mine")], {"x": X}, ["y"], 17)
    made.opset_import.append(helper.make_opsetid("mine", 1))
    for k in range(depth):
        name = f"F{k + 1}" if k < depth - 1 else "Relu"
        domain = "mine" if k < depth - 1 else ""
        body = [node(name, ["a"], ["b"], domain=domain), node(name, ["b"], ["c"], domain=domain)]
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
        made.functions.append(helper.make_function("mine", f"F{k}", ["a"], ["c"], body, imports))
    return made


def test_functions_do_not_grow_without_bound(monkeypatch):
    assert len(list(ge_ops(imported(doubling(5))))) == 32
    monkeypatch.setattr(scopes, "EXPANSION_LIMIT", 50)
    assert "functions and subgraphs expand to more than 50 nodes" in text_of(doubling(6))


def test_a_function_that_calls_itself_is_refused():
    made = with_function(
        node("Again", ["x"], ["y"], "call", domain="mine"),
        [node("Again", ["a"], ["r"], "inner", domain="mine")],
        ["a"],
        ["r"],
    )
    made.functions[0].opset_import.append(helper.make_opsetid("mine", 1))
    assert "functions and subgraphs nest deeper than 32 levels" in text_of(made)


def test_a_call_with_too_many_inputs_is_refused():
    call = node("One", ["x", "x"], ["y"], "call", domain="mine")
    made = with_function(call, [node("Relu", ["a"], ["r"])], ["a"], ["r"])
    assert "One 'call': has 2 inputs, expected at most 1" in text_of(made)


def test_an_attribute_that_a_function_does_not_declare_is_refused():
    call = node("One", ["x"], ["y"], "call", domain="mine", size=1)
    made = with_function(call, [node("Relu", ["a"], ["r"])], ["a"], ["r"])
    assert "One 'call': attribute 'size' is not supported" in text_of(made)


@pytest.mark.parametrize(
    ("call", "opset", "message"),
    [
        (node("SequenceMap", ["x"], ["y"], "n"), 17, r"Invalid \W+body"),
        (
            node("RotaryEmbedding", ["x"] * 3, ["y"], "n"), 23,
            "expected known ranks and types",
        ),
    ],
)  # fmt: skip
def test_a_body_that_the_operator_set_refuses(call, opset, message):
    text = text_of(model([call], {"x": X}, ["y"], opset))
    assert re.search(f"'n': the operator set gives no body for the op, {message}", text), text


# What is refused


def one_loop(body, inputs=("m", "", "x"), outputs=("y",)):
    return loop_model(body, list(inputs), list(outputs), {"m": np.array(2), "x": X})


def scan_of(body, outputs=("h", "rows"), opset=11, **attrs):
    made = node("Scan", ["h0", "x"], list(outputs), "scan", body=body,
                **{"num_scan_inputs": 1, **attrs})  # fmt: skip
    return model([made], {"h0": f32(3), "x": f32(4, 3)}, list(outputs), opset)


PAIR = graph([node("Add", ["h", "e"], ["n"])], ["h", "e"], ["n", "n"])
CHANGING = graph(
    [*counted(), node("Unsqueeze", ["v", "zero"], ["next"])],
    [*STEP, "v"],
    [info("go", BOOL), "next"],
    {"zero": i64(0)},
)

REFUSED = [
    (
        model([node("If", ["f"], ["y"], "n", then_branch=graph([], (), ["x"]),
                    else_branch=graph([], (), []))], {"x": X, "f": np.array(True)}, ["y"], 17),
        "If 'n': the branches have 1 and 0 outputs, expected 1",
    ),
    (
        model([node("If", ["f"], ["y"], "n")], {"f": np.array(True)}, ["y"], 17),
        "If 'n': attribute 'then_branch' is missing, it is required",
    ),
    (
        one_loop(graph([], STEP, [info("c", BOOL)])),
        "Loop 'loop': the body has 1 outputs, expected 2",
    ),
    (
        one_loop(graph(counted(), STEP, [info("go", BOOL), "x"])),
        "Loop 'loop': a subgraph has 2 inputs, expected 3",
    ),
    (
        one_loop(graph([*counted()], [*STEP, "v"], [info("go", BOOL), "nowhere"])),
        "graph output 'nowhere': is not defined, expected the output of a node",
    ),
    (scan_of(PAIR, opset=8), "Scan 'scan': the opset is 8, expected 9 or newer"),
    (
        scan_of(PAIR, num_scan_inputs=3),
        r"Scan 'scan': attribute 'num_scan_inputs' is 3, expected one in \[1, 2\]",
    ),
    (scan_of(PAIR, ("h",)), "Scan 'scan': the body has 2 outputs, expected 1"),
    (
        scan_of(PAIR, scan_input_axes=[0, 1]),
        "Scan 'scan': attribute 'scan_input_axes' has 2 entries, expected 1",
    ),
    (scan_of(PAIR, scan_input_axes=[2]), r"Scan 'scan': the axis is 2, expected one in \[-2, 2\)"),
    (
        loop_model(
            graph([*counted(), node("Identity", ["v"], ["row"])], [*STEP, "v"],
                  [info("go", BOOL), "v", "row"]),
            ["m", "", "x"], ["y", "rows"], {"m": np.array(2), "x": X},
        ),
        "Loop 'loop': a value that is gathered has unknown rank, expected a known one",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused(made, message):
    if "unknown rank" in message:
        made.graph.input[1].type.tensor_type.ClearField("shape")
    text = text_of(made)
    assert re.search(message, text), text
    assert "\n" not in text


def test_a_value_whose_rank_changes_has_unknown_rank():
    made = one_loop(CHANGING)
    func = main_function(imported(made))
    assert str(func.function_type.outputs.data[0]) == "tensor<*xf32>"
    found = by_reference(made, {"m": np.array(2), "x": X})
    assert found[0].shape == (1, 1, *X.shape)
