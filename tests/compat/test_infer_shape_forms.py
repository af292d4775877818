"""`infer_shape` on a replacement: what of the replaced node's inputs it knows."""

from __future__ import annotations

import pytest
from ge.es.all import Add, ConcatV2, Relu, Reshape
from ge.es.graph_builder import GraphBuilder
from ge.graph import Graph
from ge.passes import infer_shape

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module

SHAPE = "%s = ge.Const() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>"
CASES = {
    # the replaced node `r`, what replaces it, and the shape that this is found to have
    "a constant's value is known": (
        "(%x: tensor<6xf16>) -> tensor<2x3xf16>",
        [SHAPE, "%r = ge.Reshape(%x, %s) : (tensor<6xf16>, tensor<2xi64>) -> tensor<2x3xf16>"],
        lambda x, s: Reshape(x, s),
        [2, 3],
    ),
    "no constant, no value": (
        "(%x: tensor<6xf16>, %s: tensor<2xi64>) -> tensor<?x?xf16>",
        ["%r = ge.Reshape(%x, %s) : (tensor<6xf16>, tensor<2xi64>) -> tensor<?x?xf16>"],
        lambda x, s: Reshape(x, s),
        [-1, -1],
    ),
    "several producers": (
        "(%x: tensor<2x1xf32>) -> tensor<2x3xf32>",
        [
            "%a = ge.Abs(%x) : (tensor<2x1xf32>) -> tensor<2x1xf32>",
            "%b = ge.Const() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<3xf32>",
            "%r = ge.Add(%a, %b) : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>",
        ],
        lambda a, b: Relu(Add(b, a)),
        [2, 3],
    ),
    "one producer twice": (
        "(%x: tensor<2x3xf32>) -> tensor<2x3xf32>",
        [
            "%a = ge.Abs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "%r = ge.Add(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
        ],
        lambda a: Relu(a),
        [2, 3],
    ),
    "a dynamic shape": (
        "(%x: tensor<?x3xf32>) -> tensor<?x3xf32>",
        ["%r = ge.Abs(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>"],
        lambda x: Relu(Relu(x)),
        [-1, 3],
    ),
    "a constant beside others": (
        "(%x: tensor<2x1xf32>, %y: tensor<2x2xf32>) -> tensor<2x3xf32>",
        [
            "%c = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>",
            "%r = ge.ConcatV2([%x, %y], %c) {N = 2} : (tensor<2x1xf32>, tensor<2x2xf32>, "
            "tensor<i32>) -> tensor<2x3xf32>",
        ],
        lambda x, y, c: Relu(ConcatV2([x, y], c, N=2)),
        [2, 3],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_infer_shape(name) -> None:
    signature, lines, replace, shape = CASES[name]
    kind = signature.rpartition("-> ")[2]
    body = "\n".join([*lines, f"func.return %r : {kind}"])
    graph = Graph._create_from(
        main_function(parse_module(f"func.func @main{signature} {{\n{body}\n}}"))
    )
    [target] = [node for node in graph.get_direct_nodes() if node.name == "r"]
    builder = GraphBuilder("new")
    result = replace(*builder.create_inputs(replace.__code__.co_argcount))
    name = result.name
    new = builder.build_and_reset([result])
    infer_shape(new, target)
    [found] = [node for node in new.get_direct_nodes() if node.name == name]
    assert found.get_output_desc(0).shape == shape
