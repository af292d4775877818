"""Seeded mutations of texts, models and attributes: a result, or one line that is no accident."""

import random
import re
from pathlib import Path

import pytest

from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge.registry import op_class, typed_ops

SOURCES = sorted((Path(__file__).parents[1] / "filecheck").rglob("*.mlir"))
PIECES = [
    *("0", "-1", "99999999999", "9223372036854775807", "true", '"', "\\", "\0", "x", "?"),
    *("tensor<*xf32>", "tensor<?xf32>", "tensor<0xf32>", "tensor<f32>", "f16", "i64", "array<i64>"),
    *("[", "]", "{", "}", "(", ")", "<", ">", "->", ":", ",", "=", "%x", "%y", "ge.Relu"),
    *('#ge.weight<"k">', "dense<0> : tensor<1xi32>", "func.return"),
]
PIPELINES = [
    ["-p", "ge-infer-shape"],
    ["-p", "ge-simplify,ge-fold-constants,ge-cse,ge-dce"],
    ["-p", "ge-fuse,ge-decompose", "--print-op-generic"],
]


def holds(main, argv, capsys):
    """The promise: exit code 0 or 1, one error for 1, nothing internal, no traceback."""
    code = main(argv)
    err = capsys.readouterr().err
    assert code in (0, 1), err
    assert "internal" not in err
    assert "Traceback" not in err
    errors = [line for line in err.splitlines() if re.search(r"(^|: )error: ", line)]
    assert len(errors) == code, err


def mutated(rng, text):
    for _ in range(rng.randint(1, 3)):
        kind, at = rng.randrange(6), rng.randrange(len(text) + 1)
        if kind == 0:
            text = text[:at] + chr(rng.randrange(1, 256)) + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + text[at + rng.randint(1, 30) :]
        elif kind == 2:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 3:
            lines = text.split("\n")
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            text = "\n".join(lines)
        else:
            pattern = r"[\w%.]+|[<>(){}\[\]]" if kind == 4 else r"\d+"
            found = list(re.finditer(pattern, text))
            if found:
                where = rng.choice(found)
                text = text[: where.start()] + rng.choice(PIECES) + text[where.end() :]
    return text


@pytest.mark.parametrize("seed", range(10))
def test_mutated_texts(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    for _ in range(25):
        part = rng.choice(rng.choice(SOURCES).read_text().split("// -----"))
        Path("t.mlir").write_text(mutated(rng, part), encoding="utf-8")
        holds(opt.main, ["t.mlir", *rng.choice(PIPELINES)], capsys)


NUMBERS = [-(2**63), -(2**31), -3, -1, 0, 1, 2, 3, 4, 7, 2**31, 2**62, 2**63 - 1]
WORDS = ["", "SAME", "VALID", "NCHW", "NHWC", "nearest", "linear", "constant", "reflect", "x"]
FLOATS = ["0.0", "1.0", "-1.0", "1e30", "0x7FC00000", "0x7F800000"]
SHAPES = ["", "0x", "1x", "2x3x", "1x1x", "2x3x4x", "1x2x4x4x", "2x0x3x", "?x", "?x?x", "*x"]
WRITERS = {
    "Int": lambda rng: f"{rng.choice(NUMBERS)} : i64",
    "Float": lambda rng: f"{rng.choice(FLOATS)} : f32",
    "Bool": lambda rng: rng.choice(["true", "false"]),
    "String": lambda rng: f'"{rng.choice(WORDS)}"',
    "ListInt": lambda rng: (
        f"[{', '.join(str(rng.choice(NUMBERS)) for _ in range(rng.randint(0, 4)))}]"
    ),
    "ListFloat": lambda rng: f"array<f32: {rng.choice(FLOATS[:3])}>",
}


def random_graph(rng, name):
    """A graph of one op with operands and attributes of the right kinds and hostile values."""
    proto = op_class(name).prototype
    element = rng.choice(["f32", "f32", "f16", "i32", "i64"])
    common = f"tensor<{rng.choice(SHAPES)}{element}>"
    types, counts, consts = [], [], []
    for io in proto.inputs:
        low, high = {"required": (1, 1), "optional": (0, 1)}.get(io.kind, (0, 3))
        counts.append(rng.randint(low, high))
        for _ in range(counts[-1]):
            if rng.random() < 0.3:
                consts.append(
                    (len(types), rng.choice(["i32", "i64"]), rng.choice([0, 1, 2, -1, 7]))
                )
                types.append(f"tensor<2x{consts[-1][1]}>")
            else:
                mixed = f"tensor<{rng.choice(SHAPES)}{rng.choice(['f32', 'i32', 'i1'])}>"
                types.append(common if rng.random() < 0.7 else mixed)
    attrs = [
        f"{spec.name} = {WRITERS[spec.kind](rng)}"
        for spec in proto.attrs
        if spec.kind in WRITERS and (spec.required or rng.random() < 0.5)
    ]
    if proto.needs_operand_segments:
        attrs.append(f"operandSegmentSizes = array<i32: {', '.join(map(str, counts))}>")
    if proto.needs_result_segments:
        attrs.append(f"resultSegmentSizes = array<i32: {', '.join('1' for _ in proto.outputs)}>")
    known = {index for index, _, _ in consts}
    args = ", ".join(f"%v{i}: {t}" for i, t in enumerate(types) if i not in known)
    made = "".join(
        f"  %v{i} = ge.Const() {{value = dense<{value}> : {types[i]}}} : () -> {types[i]}\n"
        for i, _, value in consts
    )
    operands = ", ".join(f"%v{i}" for i in range(len(types)))
    result, count = f"tensor<*x{element}>", len(proto.outputs)
    return (
        f"func.func @main({args}) -> {result} {{\n{made}"
        f'  %y:{count} = "ge.{name}"({operands}) <{{{", ".join(attrs)}}}> : '
        f"({', '.join(types)}) -> ({', '.join([result] * count)})\n"
        f"  func.return %y#0 : {result}\n}}\n"
    )


FUZZED = [
    name
    for name in typed_ops()
    if op_class(name).has_infer()
    and op_class(name).prototype.outputs
    and not op_class(name).prototype.subgraphs
]


@pytest.mark.parametrize("seed", range(10))
def test_ops_with_hostile_attributes(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    for _ in range(30):
        Path("t.mlir").write_text(random_graph(rng, rng.choice(FUZZED)))
        holds(opt.main, ["t.mlir", "-p", "ge-infer-shape,ge-fold-constants,ge-simplify"], capsys)
        holds(run.main, ["t.mlir", "--random-inputs"], capsys)


def models():
    """Small models of several ops, attributes and tensors, as bytes."""
    onnx = pytest.importorskip("onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    x = helper.make_tensor_value_info("x", number, [1, 2, 4, 4])
    y = helper.make_tensor_value_info("y", number, None)
    weight = helper.make_tensor("w", number, [3, 2, 3, 3], [0.5] * 54)
    shape = helper.make_tensor("s", onnx.TensorProto.INT64, [2], [1, -1])
    pool = helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2])
    graphs = [
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])],
        [helper.make_node("Reshape", ["x", "s"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])],
        [pool, helper.make_node("Transpose", ["a"], ["y"], perm=[0, 2, 3, 1])],
        [helper.make_node("ConstantOfShape", ["s"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
    ]
    made = []
    for nodes in graphs:
        graph = helper.make_graph(nodes, "g", [x], [y], [weight, shape])
        opsets = [helper.make_opsetid("", 17)]
        made.append(helper.make_model(graph, opset_imports=opsets).SerializeToString())
    return made


@pytest.mark.parametrize("seed", range(10))
def test_mutated_models(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng, sources = random.Random(seed), models()
    for _ in range(25):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del data[at : at + rng.randint(1, 6)]
            elif kind == 2:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 6)))
            else:
                data[at : at + 9] = b"\xff" * 9
        Path("t.onnx").write_bytes(bytes(data))
        holds(run.main, ["t.onnx", "--random-inputs"], capsys)
