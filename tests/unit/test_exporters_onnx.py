"""ONNX out: standard ops give onnxruntime's numbers, everything else stays in GE's own domain."""

import runpy
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import ge_xdsl as gx
from ge_xdsl.cli import opt
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import OUTPUT_NAMES, input_names, set_string_list
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.weights import Weight, WeightAttr, const_attr
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.onnx import model as exporter
from ge_xdsl.exporters.onnx import tensors
from ge_xdsl.importers.mlir import mlir_module
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.importers.onnx.tensors import ELEMENT_TYPES as IMPORTED

onnxruntime.set_default_logger_severity(4)
PROJECT = Path(__file__).parents[2]
RNG = np.random.default_rng(3)
F = RNG.uniform(0.1, 0.9, (2, 3, 4)).astype(np.float32)
G = RNG.uniform(-2, 2, (2, 3, 4)).astype(np.float32)
SIGNED = RNG.integers(-9, 9, (2, 3, 4))
J = RNG.integers(1, 5, (2, 3, 4))
IMAGE = RNG.standard_normal((1, 4, 6, 6)).astype(np.float32)


def written(module):
    """The model of a module, checked, and the op types that it left to the domain ai.ge."""
    made = exporter.Model(main_function(module))
    onnx.checker.check_model(made.proto, full_check=not made.foreign)
    return made


def agrees(module, arrays, tolerance=1e-5):
    """Run the exported model in onnxruntime and the graph in the reference interpreter."""
    made = written(module)
    assert not made.foreign, made.reasons
    session = onnxruntime.InferenceSession(made.data(), providers=["CPUExecutionProvider"])
    wanted = gx.run(module, arrays)
    assert [out.name for out in session.get_outputs()] == list(wanted)
    assert {i.name for i in session.get_inputs()} == set(input_names(main_function(module)))
    for want, got in zip(wanted.values(), session.run(None, arrays), strict=True):
        assert want.dtype == got.dtype
        assert want.shape == got.shape
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    return made


def standard(op, inputs, outputs=1, opset=18, consts=(), **attrs):
    """One ONNX node on arrays, imported; the inputs listed in `consts` are initializers."""
    names = [f"x{k}" if array is not None else "" for k, array in enumerate(inputs)]
    given = {n: np.asarray(a) for n, a in zip(names, inputs, strict=True) if a is not None}
    fixed = [n for k, n in enumerate(names) if k in consts]
    graph = helper.make_graph(
        [helper.make_node(op, names, [f"y{k}" for k in range(outputs)], name="node", **attrs)],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in given.items()
            if n not in fixed
        ],
        [helper.make_empty_tensor_value_info(f"y{k}") for k in range(outputs)],
        [numpy_helper.from_array(given[n], n) for n in fixed],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    module = import_onnx_bytes(model.SerializeToString(), "m.onnx")
    return module, {n: a for n, a in given.items() if n not in fixed}


UNARY = (
    "Abs Acos Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Identity Log Neg Reciprocal Round "
    "Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh Relu HardSwish Mish IsNaN IsInf Elu "
    "Selu Celu LeakyRelu HardSigmoid ThresholdedRelu Softmax LogSoftmax Hardmax Shape Size Flatten "
    "NonZero"
)
FLOAT_PAIRS = "Add Sub Mul Div Max Min Equal Less Greater"
INTEGER_PAIRS = "Add Sub Mul Max Min LessOrEqual GreaterOrEqual Mod"
REDUCTIONS = "Max Mean Min Prod Sum L1 L2 LogSum LogSumExp SumSquare"
W = RNG.standard_normal((4, 4, 3, 3)).astype(np.float32)
C4 = RNG.uniform(0.5, 1.5, 4).astype(np.float32)
M = RNG.standard_normal((3, 4)).astype(np.float32)
AXES = np.array([1])


def ints(*numbers):
    return np.array(numbers, np.int64)


CASES = [
    *[(op, [F], {}) for op in UNARY.split()],
    *[(op, [F, G], {}) for op in FLOAT_PAIRS.split()],
    *[(op, [SIGNED, J], {}) for op in INTEGER_PAIRS.split()],
    *[(op, [SIGNED > 0, J > 2], {}) for op in ["And", "Or"]],
    *[(f"Reduce{n}", [F, AXES], {"consts": [1], "keepdims": k})
      for n in REDUCTIONS.split() for k in (0, 1)],
    ("Div", [SIGNED, J], {}),
    ("Pow", [F, G], {}),
    ("Sum", [F, G, F], {}),
    ("Mod", [G, F], {"fmod": 1}),
    ("Not", [SIGNED > 0], {}),
    ("Where", [SIGNED > 0, F, G], {}),
    ("Clip", [G, np.float32(-0.5), np.float32(0.5)], {"consts": [1, 2]}),
    ("Clip", [G, np.float32(0.5), np.float32(-0.5)], {"consts": [1, 2]}),
    ("Clip", [G, None, np.float32(0.5)], {}),
    ("Cast", [G], {"to": onnx.TensorProto.INT32}),
    ("Gelu", [G], {"opset": 20}),
    ("Gelu", [G], {"opset": 20, "approximate": "tanh"}),
    ("PRelu", [IMAGE, C4.reshape(4, 1, 1)], {"consts": [1]}),
    ("Softmax", [F], {"axis": 1, "opset": 11}),
    ("MatMul", [F, M.T], {}),
    ("MatMul", [M[0], M[1]], {}),
    ("MatMul", [F, M[0]], {}),
    ("Gemm", [M, M, M[:, 0]], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", [M, M], {"transA": 1}),
    ("Einsum", [F, G], {"equation": "abc,abd->cd"}),
    ("Trilu", [F], {"upper": 1}),
    ("Conv", [IMAGE, W, C4], {"pads": [1, 0, 2, 1], "strides": [2, 1], "consts": [1]}),
    ("Conv", [IMAGE, W[:, :1]], {"group": 4, "dilations": [2, 2], "auto_pad": "SAME_LOWER"}),
    ("Conv", [IMAGE, W], {"auto_pad": "VALID"}),
    ("Conv", [IMAGE[..., 0], W[..., 0]], {}),
    ("ConvTranspose", [IMAGE, W, C4], {"strides": [2, 2], "output_padding": [1, 0]}),
    ("MaxPool", [IMAGE], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 2]}),
    ("MaxPool", [IMAGE], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", [IMAGE], {"kernel_shape": [2, 2], "dilations": [2, 2]}),
    ("AveragePool", [IMAGE], {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1}),
    ("AveragePool", [IMAGE], {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}),
    ("GlobalAveragePool", [IMAGE], {}),
    ("GlobalMaxPool", [IMAGE], {}),
    ("BatchNormalization", [IMAGE, C4, C4, C4 - 1, C4], {"epsilon": 1e-3}),
    ("InstanceNormalization", [IMAGE, C4, C4], {}),
    ("LayerNormalization", [F, M[0], M[1]], {}),
    ("LayerNormalization", [F, M, M], {"axis": 1, "outputs": 3}),
    ("LRN", [IMAGE], {"size": 3}),
    ("ArgMax", [G], {"axis": 1}),
    ("ArgMin", [G], {"axis": -1, "keepdims": 0}),
    ("CumSum", [G, np.int64(1)], {"reverse": 1, "exclusive": 1}),
    ("TopK", [G, ints(2)], {"outputs": 2, "largest": 0}),
    ("Reshape", [F, ints(0, -1)], {"consts": [1]}),
    ("Reshape", [F, ints(4, 6)], {}),
    ("Transpose", [F], {"perm": [2, 0, 1]}),
    ("Squeeze", [F[:, :1], ints(1)], {"consts": [1]}),
    ("Unsqueeze", [F, ints(0, -1)], {"consts": [1]}),
    ("Expand", [F[:1], ints(2, 1, 4)], {}),
    ("Tile", [F, ints(1, 2, 3)], {}),
    ("Concat", [F, G], {"axis": -1}),
    ("Split", [F], {"axis": 2, "outputs": 2, "num_outputs": 2}),
    ("Split", [F, ints(1, 3)], {"axis": 2, "outputs": 2, "consts": [1]}),
    ("Slice", [F, ints(-1), ints(-9), ints(2), ints(-2)], {"consts": [1, 2, 3, 4]}),
    ("Slice", [F, ints(0, 1), ints(1, 9)], {}),
    ("Pad", [F, ints(1, 0, 2, 0, 1, 0), np.float32(2)], {"consts": [1]}),
    ("Pad", [F, ints(0, 1, 1, 0, 1, 2)], {"consts": [1], "mode": "reflect"}),
    ("ConstantOfShape", [ints(2, 3)], {}),
    ("Range", [np.int64(1), np.int64(9), np.int64(3)], {}),
    ("Gather", [F, ints(0, -1)], {"axis": 1}),
    ("GatherElements", [F, ints(0, 1, 1).reshape(1, 1, 3)], {"axis": 1}),
    ("GatherND", [F, ints(0, 1, 1, 2).reshape(2, 2)], {}),
    ("OneHot", [ints(0, -1, 5), np.int64(3), np.array([1, 4], np.float32)], {"axis": 0}),
    ("ScatterElements", [M, ints(0, 2).reshape(1, 2), M[:1, :2]], {"reduction": "add"}),
    ("ScatterND", [M, ints(2, 0).reshape(2, 1), M[:2]], {}),
    ("DepthToSpace", [IMAGE], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", [IMAGE], {"blocksize": 2}),
    ("ReverseSequence", [M, ints(1, 2, 3, 1)], {}),
    ("Resize", [IMAGE, None, None, ints(1, 4, 9, 3)], {"consts": [3], "mode": "linear"}),
    ("Resize", [IMAGE, None, np.array([1, 1, 2, 2], np.float32)], {"consts": [2],
     "mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "options"), CASES, ids=lambda v: v if v is str else None)
def test_a_standard_op_comes_back_with_the_same_numbers(op, inputs, options):
    module, arrays = standard(op, inputs, **options)
    agrees(module, arrays)


def graph(body, result, inputs="%x: tensor<1x4x6x6xf32>"):
    text = f"func.func @main({inputs}) -> {result} {{\n  {body}\n  func.return %y : {result}\n}}\n"
    return mlir_module(text, "m.mlir", Path())


T, X = "tensor<1x4x6x6xf32>", {"x": IMAGE}
GE_CASES = {
    "muls": (f"%y = ge.Muls(%x) {{value = 2.5}} : ({T}) -> {T}", T),
    "rsqrt": (f"%s = ge.Square(%x) : ({T}) -> {T}\n  %y = ge.Rsqrt(%s) : ({T}) -> {T}", T),
    "power": (f"%y = ge.Power(%x) {{power = 2.0, scale = 3.0, shift = 1.0}} : ({T}) -> {T}", T),
    "relu6": (f"%y = ge.Relu6(%x) : ({T}) -> {T}", T),
    "swish": (f"%y = ge.Swish(%x) {{scale = 1.5}} : ({T}) -> {T}", T),
    "nan": (f"%y = ge.DivNoNan(%x, %x) : ({T}, {T}) -> {T}", T),
    "zeros": (f"%y = ge.ZerosLike(%x) : ({T}) -> {T}", T),
    "pack": (f"%y = ge.Pack([%x, %x]) {{axis = -1, N = 2}} : ({T}, {T}) -> tensor<1x4x6x6x2xf32>",
             "tensor<1x4x6x6x2xf32>"),
    "crd": (f'%y = ge.SpaceToDepth(%x) {{block_size = 2, data_format = "NCHW"}} : ({T}) -> '
            "tensor<1x16x3x3xf32>", "tensor<1x16x3x3xf32>"),
    "sum": (f"%y = ge.ReduceSumD(%x) {{axes = [1, 2]}} : ({T}) -> tensor<1x6xf32>",
            "tensor<1x6xf32>"),
    "many": (f"%y = ge.SoftmaxV2(%x) {{axes = [1, 3]}} : ({T}) -> {T}", T),
}  # fmt: skip


@pytest.mark.parametrize("name", GE_CASES)
def test_ge_ops_without_a_namesake_are_composed(name):
    agrees(graph(*GE_CASES[name]), X)


def test_matmul_with_transposes_and_bias():
    a, b, c = "tensor<4x3xf32>", "tensor<5x4xf32>", "tensor<5xf32>"
    module = graph(
        "%y = ge.MatMul(%a, %b, bias = %c) {transpose_x1 = true, transpose_x2 = true} : "
        f"({a}, {b}, {c}) -> tensor<3x5xf32>",
        "tensor<3x5xf32>",
        f"%a: {a}, %b: {b}, %c: {c}",
    )
    arrays = {
        name: RNG.standard_normal(shape).astype(np.float32)
        for name, shape in (("a", (4, 3)), ("b", (5, 4)), ("c", (5,)))
    }
    made = agrees(module, arrays)
    assert [node.op_type for node in made.proto.graph.node] == ["Gemm"]


def test_floor_division_and_remainders_of_negative_integers():
    t = "tensor<2x3x4xi64>"
    for op in ("FloorDiv", "FloorMod", "Mod", "Div"):
        module = graph(f"%y = ge.{op}(%a, %b) : ({t}, {t}) -> {t}", t, f"%a: {t}, %b: {t}")
        agrees(module, {"a": SIGNED, "b": np.where(SIGNED % 2 == 0, J, -J)})


@pytest.mark.parametrize(("start", "end"), [(6, 2**31 - 1), (-1, 1), (3, -(2**31)), (-6, 0)])
def test_backward_slices(start, end):
    given = {"b": start, "e": end, "s": -2}
    consts = "".join(
        f"%{name} = ge.Const() {{value = dense<{number}> : tensor<1xi64>}} : () -> "
        "tensor<1xi64>\n  "
        for name, number in given.items()
    )
    count = len(range(*slice(start, end, -2).indices(5)))
    y, v = f"tensor<{count}xf32>", "tensor<1xi64>"
    body = f"%y = ge.StridedSlice(%x, %b, %e, %s) : (tensor<5xf32>, {v}, {v}, {v}) -> {y}"
    module = graph(consts + body, y, "%x: tensor<5xf32>")
    if start < -5:
        assert written(module).foreign == {"StridedSlice": 1}
    else:
        agrees(module, {"x": np.arange(5, dtype=np.float32)})


FOREIGN = [
    ("%y = ge.AvgPoolV2(%x) {ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2], divisor_override = 3} "
     f": ({T}) -> tensor<1x4x3x3xf32>", "tensor<1x4x3x3xf32>",
     "attribute 'divisor_override' is not the default"),
    (f"%y = ge.Elu(%x) {{scale = 2.0}} : ({T}) -> {T}", T,
     "attribute 'scale' is not the default"),
    (f"%y = ge.FloorMod(%x, %x) : ({T}, {T}) -> {T}", T,
     "Mod of floats has the sign of the dividend"),
    (f"%y = ge.Roll(%x) {{shifts = [1], dims = [2]}} : ({T}) -> {T}", T,
     "the op is not standard"),
    (f"%y = ge.Power(%x) {{scale = 0.0}} : ({T}) -> {T}", T, "attribute 'scale' is 0"),
    (f"%y = ge.Round(%x) {{decimals = 2}} : ({T}) -> {T}", T,
     "attribute 'decimals' is not the default"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "result", "reason"), FOREIGN)
def test_what_has_no_exact_form_stays_a_ge_op(body, result, reason):
    made = written(graph(body, result))
    (node,) = made.proto.graph.node
    assert node.domain == "ai.ge"
    assert node.name == "y"
    assert made.foreign == {node.op_type: 1}
    assert made.reasons == {node.op_type: reason}
    assert {o.domain: o.version for o in made.proto.opset_import} == {"": 18, "ai.ge": 1}


def test_attributes_of_ge_ops_are_kept(tmp_path, capsys):
    body, result, _ = FOREIGN[0]
    gx.save(graph(body, result), tmp_path / "m.mlir")
    out = str(tmp_path / "m.onnx")
    assert opt.main([str(tmp_path / "m.mlir"), "-o", out]) == 0
    assert (
        "warning: 1 ops have no standard form and are in domain ai.ge: AvgPoolV2 x 1 "
        "(attribute 'divisor_override' is not the default)" in capsys.readouterr().err
    )
    node = onnx.load(out).graph.node[0]
    attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert attrs["ksize"] == [1, 1, 2, 2]
    assert attrs["divisor_override"] == 3


def test_a_branch_reads_the_outer_values():
    t = "tensor<2x3xf32>"
    module = graph(
        f"%m = ge.Abs(%x) : ({t}) -> {t}\n  %y = ge.If(%c, [%m]) then_branch {{\n"
        f"  ^bb0(%a: {t}):\n    ge.yield([%a]) : ({t}) -> ()\n  }} else_branch {{\n"
        f"  ^bb0(%a: {t}):\n    %n = ge.Neg(%a) : ({t}) -> {t}\n"
        f"    ge.yield([%n]) : ({t}) -> ()\n  }} : (tensor<i1>, {t}) -> {t}",
        t,
        f"%x: {t}, %c: tensor<i1>",
    )
    for flag in (True, False):
        agrees(module, {"x": M[:2, :3], "c": np.array(flag)})


def test_a_loop_that_changes_nothing_stays_a_ge_op_with_its_graphs():
    t = "tensor<2xf32>"
    region = f"{{\n  ^bb0(%a: {t}):\n    ge.yield([%a]) : ({t}) -> ()\n  }}"
    cond = (
        f"{{\n  ^bb0(%b: {t}):\n    %r = ge.ReduceAnyD(%b) {{axes = [0]}} : ({t}) -> tensor<i1>\n"
        "    ge.yield([%r]) : (tensor<i1>) -> ()\n  }"
    )
    module = graph(f"%y = ge.While([%x]) cond {cond} body {region} : ({t}) -> {t}", t, f"%x: {t}")
    made = written(module)
    (node,) = made.proto.graph.node
    graphs = {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
    assert set(graphs) == {"cond", "body"}
    assert len(graphs["body"].input) == len(graphs["body"].output) == 1


def test_returned_inputs_and_constants_and_repeated_outputs():
    t = "tensor<2xf32>"
    module = mlir_module(
        f"func.func @main(%x: {t}) -> ({t}, {t}, {t}, {t}) {{\n"
        f"  %c = ge.Const() {{value = dense<[1.0, 2.0]> : {t}}} : () -> {t}\n"
        f"  %r = ge.Relu(%x) : ({t}) -> {t}\n"
        f"  func.return %x, %c, %r, %r : {t}, {t}, {t}, {t}\n}}\n",
        "m.mlir",
        Path(),
    )
    agrees(module, {"x": np.array([-1, 1], np.float32)})


def test_the_small_cnn_before_and_after_passes(tmp_path):
    model = runpy.run_path(str(PROJECT / "examples" / "small_cnn.py"))["build"]()
    module = import_onnx_bytes(model.SerializeToString(), "cnn.onnx")
    arrays = {"x": RNG.standard_normal((1, 3, 32, 32)).astype(np.float32)}
    agrees(module, arrays)
    gx.optimize(module)
    agrees(module, arrays)
    gx.save(module, tmp_path / "cnn.onnx")
    again = gx.load(tmp_path / "cnn.onnx")
    want, got = (next(iter(gx.run(m, arrays).values())) for m in (module, again))
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_large_weights_stand_beside_the_file(tmp_path, monkeypatch):
    model = runpy.run_path(str(PROJECT / "examples" / "small_cnn.py"))["build"]()
    module = import_onnx_bytes(model.SerializeToString(), "cnn.onnx")
    monkeypatch.setattr(exporter, "INLINE_LIMIT", 1024)
    gx.save(module, tmp_path / "m.onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    arrays = {"x": RNG.standard_normal((1, 3, 32, 32)).astype(np.float32)}
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    want = next(iter(gx.run(module, arrays).values()))
    np.testing.assert_allclose(session.run(None, arrays)[0], want, rtol=1e-4, atol=1e-6)
    again = next(iter(gx.run(gx.load(tmp_path / "m.onnx"), arrays).values()))
    np.testing.assert_allclose(again, want, rtol=1e-5)
    with pytest.raises(CompileError, match=r"expected at most 1024 in a stream; with -o FILE.onnx"):
        exporter.onnx_bytes(main_function(module))


def test_unknown_dimensions_stay_open():
    t = "tensor<?x3xf32>"
    made = written(graph(f"%y = ge.Relu(%x) : ({t}) -> {t}", t, f"%x: {t}"))
    dims = made.proto.graph.input[0].type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in dims] == [None, "dim_value"]


Q = "tensor<2x!ge.element<DT_QINT8>>"
U = "tensor<2xf32>"


def test_an_open_operand_is_an_error():
    body = f"%x = ge.unconnected() : () -> {U}\n  %y = ge.Relu(%x) : ({U}) -> {U}"
    with pytest.raises(CompileError, match="is an open operand, expected a value"):
        written(graph(body, U, ""))


def test_a_weight_without_its_store_is_an_error():
    module, _ = standard("Add", [M, M], consts=[1])
    const = next(op for op in main_function(module).walk() if op.name == "ge.Const")
    const.properties["value"] = WeightAttr(Weight("gone"))
    with pytest.raises(CompileError, match=r"ge.Const 'x1': has no data, expected its weights"):
        written(module)


def test_a_constant_of_another_type_is_an_error():
    module, _ = standard("Add", [M, M], consts=[1])
    const = next(op for op in main_function(module).walk() if op.name == "ge.Const")
    values = np.zeros(100, np.int8)
    const.properties["value"] = const_attr(values, "q", DataType.DT_QINT8)
    const.update_types()
    with pytest.raises(CompileError, match=r"ge.Const 'x1': element type is DT_QINT8, expected"):
        written(module)


def test_names_that_inputs_and_outputs_share_are_an_error():
    module = graph(f"%y = ge.Relu(%x) : ({T}) -> {T}", T)
    set_string_list(main_function(module), OUTPUT_NAMES, ["x"])
    with pytest.raises(CompileError, match="two inputs or outputs are named 'x', expected one"):
        written(module)


def test_an_input_of_a_type_that_onnx_lacks_is_an_error():
    module = graph(f"%y = ge.Identity(%x) : ({Q}) -> {Q}", Q, f"%x: {Q}")
    with pytest.raises(CompileError, match=r"output 'x': element type is DT_QINT8, expected one"):
        written(module)


def test_element_types_are_those_of_the_importer():
    pairs = {number: dtype for dtype, (number, _) in tensors.ELEMENT_TYPES.items()}
    assert pairs.items() <= IMPORTED.items()
    with pytest.raises(ValueError, match="element type is DT_QINT8, expected one that ONNX has"):
        tensors.number_of(DataType.DT_QINT8)


def test_the_bytes_do_not_change():
    module, _ = standard("Gelu", [G], opset=20)
    assert len({written(module).data() for _ in range(2)}) == 1


def test_without_the_onnx_package_it_says_what_to_install(monkeypatch):
    module = graph(f"%y = ge.Relu(%x) : ({T}) -> {T}", T)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(CompileError, match=r"onnx is not installed, expected the extra: pip"):
        exporter.Model(main_function(module))
