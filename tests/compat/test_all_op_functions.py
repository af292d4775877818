"""Every op's `ge.es` function: one node with all it may have, one with what it must have.

The arguments follow from the prototype by the rules of the API, not from the function's own
signature: inputs in order, the builder where no input tells it, the numbers of dynamic outputs,
subgraphs, attributes by keyword.
"""

import importlib
import keyword

import pytest
from ge.es import GraphBuilder
from ge.graph import DataType, Tensor
from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import decode
from ge_xdsl.dialects.ge.prototypes import known_ops, prototype_of
from ge_xdsl.dialects.ge.text import module_text, parse_module

ALL = importlib.import_module("ge.es.all")
MODULES = sorted({prototype_of(name).module for name in known_ops()})
WITHOUT_FUNCTION = {
    *("Data", "RefData", "AippData", "AnyData", "AnnData", "NetOutput", "Variable"),
    *("Switch", "RefSwitch", "StreamSwitch", "Merge", "RefMerge", "StreamMerge", "LoopCond"),
    *("Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration"),
}
"""What a builder makes by other means, and the parts of old loops."""

SAMPLES = {
    "Int": -3,
    "Float": 0.5,
    "Bool": True,
    "String": 'a "b"',
    "Type": DataType.DT_BF16,
    "ListInt": [1, -2],
    "ListFloat": [0.5, -4.0],
    "ListBool": [True, False],
    "ListString": ["a", "b c"],
    "ListType": [DataType.DT_FLOAT, DataType.DT_INT8],
    "ListListInt": [[1, 2], []],
}


def sample(kind):
    if kind == "Tensor":
        return Tensor([1.0, 2.0], None, DataType.DT_FLOAT, shape=[2])
    return SAMPLES[kind]


def subgraph(name, inputs, outputs):
    """A graph that gives its first input (or a constant) `outputs` times."""
    builder = GraphBuilder(name)
    values = builder.create_inputs(inputs) if inputs else [builder.create_const_float(1.0)]
    return builder.build_and_reset(values[:1] * outputs)


def parameter(name, prefix, taken=()):
    if keyword.iskeyword(name):
        return prefix + name
    return f"attr_{name}" if name in taken else name


def call(proto, builder, x, full):
    """Call the function; the attributes that it was given."""
    many = 2 if full else 1
    inputs = [
        [x] * many if io.kind == "dynamic" else x if io.kind == "required" or full else None
        for io in proto.inputs
    ]
    handed = next((many for io in proto.inputs if io.kind == "dynamic"), 0)
    counts = [many for io in proto.outputs if io.kind == "dynamic"]
    graphs = []
    for i, graph in enumerate(proto.subgraphs):
        results = 1 if graph.name == "cond" else counts[0] if counts else 1
        made = [
            subgraph(f"{proto.op_type}_{full}_{i}_{k}", handed, results)
            for k in range(1 if graph.kind == "static" else many)
        ]
        graphs.append(made[0] if graph.kind == "static" else made)
    owner = [builder] if all(io.kind == "optional" for io in proto.inputs) else []
    taken = {io.name for io in proto.inputs}
    attrs = {
        parameter(spec.name, "attr_", taken): sample(spec.kind)
        for spec in proto.attrs
        if spec.required or full
    }
    given = {spec.name: spec for spec in proto.attrs if spec.required or full}
    getattr(ALL, proto.op_type)(*inputs, *owner, *counts, *graphs, **attrs)
    return given


def nodes_of(func):
    """The nodes of the graph itself, by name."""
    return {
        op.node_name: op
        for op in func.body.block.ops
        if isinstance(op, GeOp) and op.op_type != "control_edge"
    }


def test_functions_are_there_for_every_op():
    assert set(known_ops()) - set(ALL.op_names()) <= WITHOUT_FUNCTION


@pytest.mark.parametrize("full", [False, True], ids=["least", "most"])
@pytest.mark.parametrize("module", MODULES)
def test_nodes_print_and_parse(module, full):
    builder = GraphBuilder("g")
    x = builder.create_input(0, shape=[2, 3])
    expected = {}
    made = set(ALL.op_names())
    for name in known_ops():
        proto = prototype_of(name)
        if proto.module != module or name not in made:
            continue
        given = call(proto, builder, x, full)
        node = builder._block.last_op
        assert node.op_type == name
        expected[node.node_name] = (proto, given)
    func = builder.build_and_reset([x])._handle.parent_op()
    text = module_text(ModuleOp([func.clone()]))
    parsed = parse_module(text)
    assert module_text(parsed) == text
    nodes, again = nodes_of(func), nodes_of(parsed.body.block.first_op)
    assert list(nodes) == list(again)
    for key, (proto, given) in expected.items():
        one, two = nodes[key], again[key]
        assert type(one) is type(two)
        assert one.properties == two.properties
        assert one.operand_counts() == two.operand_counts()
        assert one.result_counts() == two.result_counts()
        assert len(one.regions) == len(two.regions)
        check_node(two, proto, given, full)


def check_node(node, proto, given, full):
    """The parsed node has what the function was given."""
    many = 2 if full else 1
    counts = {"required": 1, "optional": int(full), "dynamic": many}
    assert list(node.operand_counts()) == [counts[io.kind] for io in proto.inputs]
    if not node.token:
        wanted = [many if io.kind == "dynamic" else 1 for io in proto.outputs]
        assert list(node.result_counts()) == wanted
    for name, spec in given.items():
        if spec.kind == "Tensor":
            assert decode(node.properties[name]).tolist() == [1.0, 2.0]
        else:
            found = node.get_attr(name)
            wanted = SAMPLES[spec.kind]
            if isinstance(wanted, list):
                wanted = tuple(tuple(w) if isinstance(w, list) else w for w in wanted)
            assert found == wanted, f"{proto.op_type}.{name}"
