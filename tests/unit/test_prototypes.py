"""The prototype table: look-up, round trips, and the typed op classes against it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge import prototypes
from ge_xdsl.dialects.ge.check import check_arity
from ge_xdsl.dialects.ge.op import OPERAND_SEGMENTS, GeOp, segments
from ge_xdsl.dialects.ge.prototype import AttrKind, AttrSpec, Io, Prototype, Subgraph, encode
from ge_xdsl.dialects.ge.prototypes import known_ops, prototype_of
from ge_xdsl.dialects.ge.registry import class_of_prototype, load_all, op_class
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor


def oldest_of(op_type: str) -> Prototype:
    found = prototype_of(op_type)
    assert found is not None
    return found


OWN = {"control_edge", "unconnected", "yield", "FusedConv2D_BiasAdd_ReLU"}
"""The project's own ops, which GE's table does not have."""

TOOL = Path(__file__).parents[2] / "tools" / "check_prototypes.py"

SAMPLES: dict[AttrKind, Any] = {
    "Int": -3,
    "Float": 0.1,
    "Bool": True,
    "String": 'a "b" \\ ü\n',
    "Type": DataType.DT_BF16,
    "ListInt": (1, -2),
    "ListFloat": (0.5, 1e-7),
    "ListBool": (True, False),
    "ListString": ("a", "b c"),
    "ListType": (DataType.DT_FLOAT, DataType.DT_INT4),
    "ListListInt": ((1, 2), ()),
}


def test_find_one_op():
    assert prototype_of("Conv2D") == Prototype(
        "Conv2D",
        (
            Io("x", "required", prototypes_types("Conv2D", 0)),
            Io("filter", "required", prototypes_types("Conv2D", 1)),
            Io("bias", "optional", prototypes_types("Conv2D", 2)),
            Io("offset_w", "optional", (DataType.DT_INT8,)),
        ),
        (Io("y", "required", prototypes_output("Conv2D")),),
        (
            AttrSpec("strides", "ListInt", required=True),
            AttrSpec("pads", "ListInt", required=True),
            AttrSpec("dilations", "ListInt", default=(1, 1, 1, 1)),
            AttrSpec("groups", "Int", default=1),
            AttrSpec("data_format", "String", default="NHWC"),
            AttrSpec("offset_x", "Int", default=0),
        ),
        (),
        "nn",
    )


def prototypes_types(op_type: str, index: int) -> tuple[DataType, ...]:
    proto = prototype_of(op_type)
    assert proto is not None
    assert DataType.DT_FLOAT16 in proto.inputs[index].dtypes
    return proto.inputs[index].dtypes


def prototypes_output(op_type: str) -> tuple[DataType, ...]:
    proto = prototype_of(op_type)
    assert proto is not None
    return proto.outputs[0].dtypes


@pytest.mark.parametrize(
    "op_type", ["", "NoSuchOp", "A", "zzz", "#", "=3", "a b", "é", "Conv2D ", "\n", "\0", "Conv2"]
)
def test_unknown_type_has_no_prototype(op_type: str):
    assert prototype_of(op_type) is None


def test_known_ops_are_sorted_and_all_found():
    names = known_ops()
    assert len(names) == 1975
    assert names == sorted(set(names))
    for name in names:
        found = prototype_of(name)
        assert found is not None
        assert found.op_type == name


def test_known_ops_is_a_fresh_list():
    known_ops().clear()
    assert known_ops()


def test_special_prototypes():
    case, const, cast = prototype_of("Case"), prototype_of("Const"), prototype_of("_If")
    assert case is not None
    assert case.subgraphs == (Subgraph("branches", "dynamic"),)
    assert const is not None
    assert const.attrs == (AttrSpec("value", "Tensor"),)
    assert cast is not None
    assert [g.name for g in cast.subgraphs] == ["then_branch", "else_branch"]


def test_import_reads_no_file():
    code = (
        "import sys; from ge_xdsl.dialects.ge import prototypes as p; "
        "assert p.table_bytes.cache_info().misses == 0; assert p.prototype_of('Add'); "
        "assert p.type_set.cache_info().currsize <= 2; assert p._names.cache_info().misses == 0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("check_prototypes", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tool_accepts_the_table(capsys: pytest.CaptureFixture[str]):
    assert tool().main([]) == 0
    assert capsys.readouterr().out.startswith("1975 ops, 8426 operands and results, 4101 attr")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("Abs math", "Zabs math"), "is not in canonical form, expected sorted lines"),
        (("\nAcos ", "\nAbs "), "Abs: defined twice"),
        (("keep_dims:Bool=false", "keep_dims:Bool=3"), "attribute 'keep_dims' is 3, expected true"),
        (("x1:=14 x2:=14", "x1:=14 x1:=14"), "MatMul: input 'x1' is declared twice"),
        (("transpose_x1:Bool", "a-b:Bool"), "attribute 'a-b' is no identifier"),
        (("prefix?+:", "prefix+:"), "input 'prefix' is newer, expected it optional and an input"),
        (("atten_mask?:", "atten_mask?+:"), "an input of the oldest form follows a newer one"),
        (("  ", " "), "is not in canonical form, expected sorted lines"),
    ],
)
def test_tool_finds_problems(change: tuple[str, str], problem: str):
    text = prototypes.FILE.read_text()
    assert change[0] in text
    found = tool().problems(text.replace(*change))
    assert any(problem in line for line in found), found[:3]


def test_tool_writes_the_table_from_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"op":"B","module":"ge.es.nn","inputs":[{"name":"x","kind":"dynamic","dtypes":'
        '["FloatingDataType","DT_FP32"]}],"outputs":[{"name":"y","kind":"required","dtypes":'
        '["?Promote()"]}],"attrs":[{"name":"t","type":"ListType","required":false,"default":'
        '["DT_INT8"]},{"name":"s","type":"String","required":false,"default":"a | b"}],'
        '"subgraphs":[{"name":"g","kind":"dynamic"}]}\n'
        '{"op":"A","module":"ge.es.all","inputs":[],"outputs":[],"attrs":[{"name":"f","type":'
        '"ListFloat","required":false,"default":["1.f / 4"]}],"subgraphs":[]}\n'
    )
    table = tmp_path / "prototypes.txt"
    monkeypatch.setattr(prototypes, "FILE", table)
    for cached in (prototypes.table_bytes, prototypes.type_set, prototypes.prototype_of):
        cached.cache_clear()
    try:
        assert tool().main(["--write", str(rows)]) == 0
        assert table.read_text().splitlines()[1:] == [
            "=0 double float float16 bf16",
            "A all |  |  | f:ListFloat=[0.25] |",
            r'B nn | x*:=0 | y | t:ListType=["DT_INT8"] s:String="a\u0020\u007c\u0020b" | g*',
        ]
        found = prototypes.prototype_of("B")
        assert found is not None
        assert found.attrs[1].default == "a | b"
    finally:
        monkeypatch.undo()
        for cached in (prototypes.table_bytes, prototypes.type_set, prototypes.prototype_of):
            cached.cache_clear()


# Older and newer forms


NEWER = [name for name in known_ops() if any(io.newer for io in oldest_of(name).inputs)]


def test_ops_with_several_forms():
    assert [
        *("FlashAttentionScore", "FusedInferAttentionScore", "GroupedMatmul"),
        *("KvRmsNormRopeCache", "RotaryPositionEmbedding"),
    ] == NEWER


@pytest.mark.parametrize("op_type", NEWER)
def test_counts_of_each_form_load(op_type: str):
    """The generic form of a graph written for any form of the op reads as the newest."""
    cls, proto = op_class(op_type), oldest_of(op_type)
    assert cls is not None
    block = Block(arg_types=[Tensor(DataType.DT_FLOAT, (2, 3)).type])
    for known in range(proto.oldest_inputs, len(proto.inputs) + 1):
        inputs: list[Any] = [
            [block.args[0]] if io.kind == "dynamic" else block.args[0]
            for io in proto.inputs[: proto.oldest_inputs]
        ]
        dynamic = sum(io.kind == "dynamic" for io in proto.outputs)
        types = [Tensor(DataType.DT_FLOAT, (2, 3)).type] * len(proto.outputs)
        op = cls.build(*inputs, result_types=types, result_counts=[1] * dynamic)
        counts = op.operand_counts()
        assert len(counts) == len(proto.inputs)
        op.properties[OPERAND_SEGMENTS] = segments(counts[:known])
        if cls.prototype.needs_operand_segments:
            assert op.operand_counts() == counts
        check_arity(op)
    op.properties[OPERAND_SEGMENTS] = segments(counts[: proto.oldest_inputs - 1])
    with pytest.raises(VerifyException, match="expected"):
        check_arity(op)


# The typed classes


def shape_of(proto: Prototype) -> dict[str, Any]:
    """What a class and the table must agree on: names, kinds, order, attributes."""
    return {
        "inputs": [(io.name, io.kind, io.newer) for io in proto.inputs],
        "outputs": [(io.name, io.kind) for io in proto.outputs],
        "attrs": [(a.name, a.kind, a.required, default_of(a)) for a in proto.attrs],
        "subgraphs": [(g.name, g.kind) for g in proto.subgraphs],
    }


def default_of(spec: AttrSpec) -> Any:
    """The default as it is stored: f32 for a number."""
    return None if spec.required or spec.default is None else encode(spec.kind, spec.default)


@pytest.mark.parametrize(
    "op_type", [cls.prototype.op_type for cls in load_all() if cls.prototype.op_type not in OWN]
)
def test_typed_class_agrees_with_the_table(op_type: str):
    cls, proto = op_class(op_type), prototype_of(op_type)
    assert cls is not None
    assert proto is not None
    assert shape_of(cls.prototype) == shape_of(proto)


# Every op, built, printed and parsed


def subgraph_region(count: int) -> Region:
    block = Block(arg_types=[Tensor(DataType.DT_FLOAT, (2, 3)).type] * count)
    yield_class = op_class("yield")
    assert yield_class is not None
    block.add_op(yield_class.build(list(block.args)))
    return Region(block)


def build(cls: type[GeOp], value: SSAValue, full: bool) -> GeOp:
    """An op with the required operands and attributes only, or (`full`) with every one."""
    proto = cls.prototype
    inputs: list[Any] = []
    for io in proto.inputs:
        loose = {"dynamic": [value] * (2 if full else 0), "optional": value if full else None}
        inputs.append(loose.get(io.kind, value))
    dynamic = sum(io.kind == "dynamic" for io in proto.outputs)
    counts = [2 if full else 1] * dynamic
    results = sum(1 for io in proto.outputs if io.kind == "required") + sum(counts)
    attrs = {
        a.name: SAMPLES[a.kind] for a in proto.attrs if a.kind != "Tensor" and (a.required or full)
    }
    made = cls.build(
        *inputs,
        result_types=[Tensor(DataType.DT_FLOAT16, (4, 5)).type] * results,
        result_counts=counts,
        regions=[subgraph_region(1) for _ in proto.subgraphs],
    )
    for name, sample in attrs.items():
        made.set_attr(name, sample)
    return made


@pytest.mark.parametrize("full", [False, True])
def test_every_op_prints_and_parses(full: bool):
    block = Block(arg_types=[Tensor(DataType.DT_FLOAT, (2, 3)).type])
    for name in known_ops():
        proto = prototype_of(name)
        assert proto is not None
        op = build(class_of_prototype(proto), block.args[0], full)
        if op.results:
            op.node_name = f"node_{name}"
        block.add_op(op)
    block.add_op(ReturnOp(block.args[0]))
    func = FuncOp("main", ((block.args[0].type,), (block.args[0].type,)), Region(block))
    text = module_text(ModuleOp([func]))
    parsed = parse_module(text)
    assert module_text(parsed) == text
    again = [op for op in parsed.walk() if isinstance(op, GeOp) and op.parent_op() is not None]
    found = {op.op_type: op for op in again if isinstance(op.parent_op(), FuncOp)}
    assert list(found) == known_ops()
    for op in block.ops:
        if isinstance(op, GeOp):
            other = found[op.op_type]
            assert op.properties == other.properties, op.op_type
            assert op.operand_counts() == other.operand_counts(), op.op_type
            assert op.result_counts() == other.result_counts(), op.op_type
            assert [r.type for r in op.results] == [r.type for r in other.results]
            assert len(op.regions) == len(other.regions)
