"""`register_module`: functions and matching for ops that only their prototype tells of."""

import inspect

import pytest
from ge.es import GraphBuilder, get_plugin, register_module
from ge.graph import DataType
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.session import SessionContext

RECORD = {
    "op": "AddCustom",
    "inputs": [{"name": "x1", "dtypes": ["DT_FLOAT"]}, {"name": "x2", "kind": "optional"}],
    "outputs": [{"name": "y"}],
    "attrs": [
        {"name": "axis", "type": "Int", "required": True},
        {"name": "rows", "type": "ListListInt", "default": [[1], [2]]},
        {"name": "kind", "type": "Type", "default": "DT_INT8"},
        {"name": "sizes", "type": "ListInt", "default": [3]},
    ],
}
PHONY = [
    (
        {
            "op": "phony_keyword",
            "inputs": [{"name": "for"}, {"name": "case", "kind": "dynamic"}],
            "outputs": [{"name": "if", "kind": "dynamic"}],
            "subgraphs": [{"name": "or"}],
            "attrs": [{"name": "not", "type": "Int", "default": 0}],
        },
        "(in_for, case, out_if_num, subgraph_or, *, attr_not=0)",
    ),
    (
        {
            "op": "phony_2opi1i_1o",
            "inputs": [
                {"name": "x1", "kind": "optional"},
                {"name": "x2", "kind": "optional"},
                {"name": "x3"},
            ],
            "outputs": [{"name": "y"}],
        },
        "(x1, x2, x3)",
    ),
    (
        {
            "op": "phony_3opi_1o",
            "inputs": [{"name": f"x{i}", "kind": "optional"} for i in (1, 2, 3)],
            "outputs": [{"name": "y"}],
        },
        "(x1=None, x2=None, x3=None, owner_builder=None)",
    ),
    (
        {
            "op": "phony_1opi_1dyo",
            "inputs": [{"name": "x1", "kind": "optional"}],
            "outputs": [{"name": "dy", "kind": "dynamic"}],
            "attrs": [{"name": "x1", "type": "Bool", "required": True}],
        },
        "(x1, owner_builder, dy_num, *, attr_x1)",
    ),
]


@pytest.mark.parametrize(("record", "expected"), PHONY, ids=[r["op"] for r, _ in PHONY])
def test_parameter_rules(record, expected):
    module = register_module("phony", [record])
    signature = inspect.signature(getattr(module, record["op"]))
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == expected


def test_a_module_of_ones_own():
    module = register_module("custom", [RECORD])
    assert get_plugin("custom") is module
    from es_custom import AddCustom
    from ge.es.custom import AddCustom as Same

    assert AddCustom is Same
    assert module.__all__[0] == "AddCustom"
    assert module.get_module() is module
    assert module.GraphBuilder is GraphBuilder
    builder = GraphBuilder()
    y = AddCustom(builder.create_input(0), axis=1, rows=[[1], [2]], kind=DataType.DT_INT8)
    graph = builder.build_and_reset([y])
    node = graph.find_node_by_name("AddCustom_0")
    assert node.get_attr("axis") == 1
    assert not node.has_attr("rows")
    assert not node.has_attr("kind")
    with pytest.raises(AttributeError, match=r"module 'ge.es.custom' has no attribute 'Add'"):
        _ = module.Add


def test_a_pass_matches_a_custom_op():
    module = register_module("custom", [RECORD])

    @register_fusion_pass(name="DropCustom", stage=PassStage.BEFORE_INFER_SHAPE)
    class DropCustom(PatternFusionPass):
        @pattern
        def custom(self, inputs):
            return module.AddCustom(inputs[0], axis=0)

        def replacement(self, inputs):
            return inputs[0]

    t = "tensor<2xf32>"
    parsed = parse_module(f"""func.func @main(%x: {t}) -> {t} {{
      %y = ge.AddCustom(%x) {{axis = 3}} : ({t}) -> {t}
      func.return %y : {t}
    }}""")
    GeCustomPassesPass().apply(SessionContext(), parsed)
    assert [op.name for op in main_function(parsed).body.block.ops] == ["func.return"]


BAD = [
    ("a b", [RECORD], "module name is 'a b', expected an identifier"),
    ("x", [{}], "op type is None, expected an identifier"),
    ("x", [{"op": "O", "inputs": [{}]}], "O: name is None, expected an identifier"),
    ("x", [{"op": "O", "inputs": [{"name": "x", "kind": "k"}]}], "O: kind is 'k', expected one of"),
    (
        "x",
        [{"op": "O", "outputs": [{"name": "x", "dtypes": ["F"]}]}],
        "O: data type is 'F', expected DT_",
    ),
    ("x", [{"op": "O", "attrs": [{"name": "a", "type": "Z"}]}], "O: type is 'Z', expected one of"),
]


@pytest.mark.parametrize(("name", "records", "text"), BAD)
def test_malformed_records(name, records, text):
    with pytest.raises(ValueError, match=text):
        register_module(name, records)
