"""The Python door: load, optimize, run, lower, estimate, run_stage, save."""

import importlib
import re
import sys

import numpy as np
import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import INPUT_DIMS, set_string_list
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.passes import registry

T = "tensor<16x32xf32>"
INPUTS = "%x: tensor<16x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>"
DENSE = f"""func.func @main({INPUTS}) -> {T} {{
  %mm = ge.MatMul(%x, %w) : (tensor<16x64xf32>, tensor<64x32xf32>) -> {T}
  %y = ge.Add(%mm, %b) : ({T}, tensor<32xf32>) -> {T}
  func.return %y : {T}
}}
"""
PASS = """from ge.es.all import MatMul
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

@register_fusion_pass(name="MatMulBias", stage=PassStage.BEFORE_INFER_SHAPE)
class MatMulBias(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w, b)
"""


class Listed:
    """What is no array and can be read as one."""

    def __init__(self, array):
        self.kept = array

    def __array__(self, dtype=None, copy=None):
        return self.kept


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "dense.mlir"
    path.write_text(DENSE)
    return gx.load(path)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    shapes = {"x": (16, 64), "w": (64, 32), "b": (32,)}
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def pass_file(tmp_path, text=PASS):
    path = tmp_path / "my_pass.py"
    path.write_text(text)
    return path


def test_optimize_runs_the_user_pass_and_forgets_it(model, arrays, tmp_path):
    before = gx.run(model, arrays)
    report = gx.optimize(model, [pass_file(tmp_path)], pipeline="ge-custom-passes")
    assert (report.before, report.after) == ({"Add": 1, "MatMul": 1}, {"MatMul": 1})
    assert report.changed
    [rule] = report.statistics
    assert (rule["pass"], rule["applied"]) == ("MatMulBias", 1)
    after = gx.run(model, arrays)
    np.testing.assert_allclose(after["output_0"], before["output_0"], 1e-5, 1e-5)
    again = gx.optimize(model, pipeline="ge-custom-passes")
    assert not again.changed
    assert again.statistics == []


def test_a_failing_pass_leaves_the_module_and_the_registry(model, tmp_path):
    text = module_text(model)
    bad = PASS.replace("return MatMul(x, w, b)", "raise KeyError('no')")
    with pytest.raises(gx.PassError, match="replacement at ge.Add 'y' raised KeyError: 'no'"):
        gx.optimize(model, [pass_file(tmp_path, bad)])
    assert module_text(model) == text
    assert gx.optimize(model, [pass_file(tmp_path)], pipeline="ge-custom-passes").changed


def test_verify_leaves_out_a_wrong_rewrite(model, tmp_path):
    wrong = PASS.replace("return MatMul(x, w, b)", "return MatMul(x, w) - b")
    report = gx.optimize(
        model, pass_file(tmp_path, wrong), pipeline="ge-custom-passes", verify=True
    )
    assert not report.changed
    [failure] = report.failures
    assert "ge.Add 'y': rule 'MatMulBias_matmul_add_pattern' of pass 'MatMulBias' chang" in failure
    right = gx.optimize(model, pass_file(tmp_path), pipeline="ge-custom-passes", verify=True)
    assert (right.changed, right.failures) == (True, [])
    assert (report.checked, right.checked, right.unchecked) == (1, 1, {})


def test_verify_counts_apart_what_it_cannot_check(tmp_path):
    text = """func.func @main(%x: tensor<0x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>)
  -> tensor<0x4xf32> {
  %m = ge.MatMul(%x, %w) : (tensor<0x8xf32>, tensor<8x4xf32>) -> tensor<0x4xf32>
  %y = ge.Add(%m, %b) : (tensor<0x4xf32>, tensor<4xf32>) -> tensor<0x4xf32>
  func.return %y : tensor<0x4xf32>
}
"""
    (tmp_path / "empty.mlir").write_text(text)
    model = gx.load(tmp_path / "empty.mlir")
    report = gx.optimize(model, pass_file(tmp_path), pipeline="ge-custom-passes", verify=True)
    assert (report.changed, report.checked) == (True, 0)
    assert report.unchecked == {"the results have no elements": 1}


def test_the_default_pipeline_keeps_the_numbers(model, arrays):
    before = gx.run(model, arrays)["output_0"]
    gx.optimize(model)
    np.testing.assert_allclose(gx.run(model, arrays)["output_0"], before, 1e-5, 1e-5)


def test_both_levels_agree_and_cost_something(model, arrays):
    outputs, report = gx.run(model, arrays, level="aicore")
    np.testing.assert_allclose(outputs["output_0"], gx.run(model, arrays)["output_0"], 1e-4, 1e-4)
    assert report.kernels
    priced = gx.estimate(model)
    assert [kernel.us for kernel in priced.kernels] == [kernel.us for kernel in report.kernels]
    assert "aicore.kernel" in module_text(gx.lower(model))


def test_unknown_dimensions_are_fixed_by_the_inputs(tmp_path):
    path = tmp_path / "dynamic.mlir"
    path.write_text(DENSE.replace("16x", "?x"))
    model = gx.load(path)
    rng = np.random.default_rng(0)
    given = {
        n: rng.standard_normal(s, np.float32)
        for n, s in {"x": (3, 64), "w": (64, 32), "b": (32,)}.items()
    }
    outputs, _ = gx.run(model, given, level="aicore")
    assert outputs["output_0"].shape == (3, 32)
    assert "?x64" in module_text(model)


def test_shapes_of_what_is_priced(tmp_path):
    path = tmp_path / "dynamic.mlir"
    path.write_text(DENSE.replace("16x", "?x"))
    model = gx.load(path)
    known = "expected a known one, or shapes={'x': ...}"
    with pytest.raises(gx.CompileError, match=re.escape(f"'x': shape is ?x64, {known}")):
        gx.estimate(model)
    with pytest.raises(gx.CompileError, match=re.escape(f"'x': shape is ?x64, {known}")):
        gx.estimate(model, shapes={"x": (-1, 64)})
    path.write_text(DENSE.replace("16x", "48x"))
    static = gx.load(path)
    lowered = gx.lower(model, shapes={"x": (48, 64)})
    for priced in (gx.estimate(model, shapes={"x": (48, 64)}), gx.estimate(lowered)):
        assert priced.kernels == gx.estimate(static).kernels
    assert "?x64" in module_text(model)
    with pytest.raises(gx.UsageError, match=r"is lowered, expected them in gx\.lower"):
        gx.estimate(lowered, shapes={"x": (48, 64)})


def test_a_size_of_a_named_dimension_is_a_number(tmp_path):
    path = tmp_path / "dynamic.mlir"
    path.write_text(DENSE.replace("16x", "?x"))
    model = gx.load(path)
    set_string_list(main_function(model), INPUT_DIMS, ["batch, 64", "64, 32", "32"])
    assert gx.estimate(model, shapes={"batch": 48}).us == (
        gx.estimate(model, shapes={"x": (48, 64)}).us
    )


def test_a_wrong_name_of_a_shape_is_told_with_inputs_and_dimensions(model):
    set_string_list(main_function(model), INPUT_DIMS, ["batch, 64", "64, 32", "32"])
    with pytest.raises(
        gx.CompileError, match=r"no graph input 'bath', expected one of: x, w, b, b"
    ):
        gx.estimate(model, shapes={"bath": 48})


def test_a_pass_file_that_is_imported_can_be_given_by_its_path(model, tmp_path, monkeypatch):
    gx.activate()
    path = tmp_path / "imported_matmul_bias.py"
    path.write_text(PASS.replace('"MatMulBias"', '"ImportedBias"'))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(path.stem)
    try:
        report = gx.optimize(model, path, pipeline="ge-custom-passes")
        known = [user_pass.name for user_pass in registry.registered()]
    finally:
        registry.discard({"ImportedBias"})
        del sys.modules[path.stem]
    assert report.after == {"MatMul": 1}
    assert "ImportedBias" in known  # it stays what the import made it
    other = tmp_path / "elsewhere" / path.name
    other.parent.mkdir()
    other.write_text(path.read_text())
    assert gx.optimize(model, other, pipeline="ge-custom-passes").after == {"MatMul": 1}


def test_save_and_load(model, arrays, tmp_path):
    gx.save(model, tmp_path / "out.mlir")
    assert module_text(gx.load(tmp_path / "out.mlir")) == module_text(model)


def test_run_stage_on_a_ge_graph(tmp_path):
    assert gx.activate()
    from ge.es.graph_builder import GraphBuilder
    from ge.es.nn import Relu

    builder = GraphBuilder("g")
    graph = builder.build_and_reset([Relu(builder.create_input(0))])
    report = gx.run_stage(graph, "BeforeInferShape")
    assert (report.status, list(report.changed)) == (0, [])
    with pytest.raises(gx.UsageError, match="stage is 'Before', expected one of BeforeInferShape"):
        gx.run_stage(graph, "Before")


def test_errors(model, arrays, tmp_path):
    with pytest.raises(gx.UsageError, match="level is 'chip', expected ge or aicore"):
        gx.run(model, arrays, level="chip")
    with pytest.raises(gx.CompileError, match="cannot be read|no such file"):
        gx.load(tmp_path / "missing.mlir")
    with pytest.raises(gx.UsageError, match="unknown pass 'ge-fuze', did you mean 'ge-fuse'"):
        gx.optimize(model, pipeline="ge-fuze")
    for call in (gx.optimize, gx.lower, gx.estimate, gx.text, lambda m: gx.run(m, {})):
        with pytest.raises(gx.UsageError, match="module is str, expected what gx.load returns"):
            call("dense.mlir")
    with pytest.raises(gx.UsageError, match="module is NoneType, expected what gx.load returns"):
        gx.save(None, tmp_path / "x.mlir")
    with pytest.raises(gx.UsageError, match=r"graph is ModuleOp, expected a ge\.graph\.Graph"):
        gx.run_stage(model, "BeforeInferShape")


def test_whatever_numpy_takes_is_an_array(model, arrays):
    listed = {**arrays, "b": Listed(arrays["b"])}
    want = gx.run(model, arrays)["output_0"]
    assert np.array_equal(gx.run(model, listed)["output_0"], want)
    assert np.allclose(
        gx.run(model, listed, level="aicore")[0]["output_0"], want, rtol=1e-5, atol=1e-5
    )


def test_arrays_in_the_order_of_the_inputs(model, arrays):
    want = gx.run(model, arrays)["output_0"]
    listed = [arrays["x"], arrays["w"], arrays["b"]]
    assert np.array_equal(gx.run(model, listed)["output_0"], want)
    assert np.array_equal(gx.run(model, tuple(listed))["output_0"], want)
    with pytest.raises(gx.UsageError, match="2 arrays, expected one for each input: x, w, b"):
        gx.run(model, listed[:2])
    with pytest.raises(gx.UsageError, match="inputs is ndarray, expected arrays by the names x, w"):
        gx.run(model, arrays["x"])


def test_reports_are_readable(model, arrays, tmp_path):
    report = gx.optimize(model, pass_file(tmp_path), pipeline="ge-custom-passes")
    assert str(report).splitlines() == [
        "op type  before  after",
        "Add           1      0",
        "all ops       2      1",
        "MatMulBias: MatMulBias_matmul_add_pattern rewrote 1",
    ]
    _, timing = gx.run(model, arrays, level="aicore")
    assert str(timing).startswith("target Ascend910B1\nkernel ")


def test_text_is_what_the_tool_prints(model, capsys, tmp_path):
    from ge_xdsl.cli import opt

    gx.optimize(model, pipeline="ge-fuse")
    assert opt.main([str(tmp_path / "dense.mlir"), "-p", "ge-fuse"]) == 0
    assert gx.text(model) == capsys.readouterr().out


def test_everything_public_is_there():
    assert all(hasattr(gx, name) for name in gx.__all__)
    assert dir(gx) == sorted(gx.__all__)
