"""Element types that GE's prototypes do not list: values, a warning, an error when strict."""

import numpy as np
import pytest

from ge_xdsl import optimize
from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge import prototypes
from ge_xdsl.dialects.ge.check import foreign_element_type
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.prototypes import known_ops, prototype_of
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor

CELU = """func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %y = ge.Celu(%x) {ge.name = "a"} : (tensor<2xf64>) -> tensor<2xf64>
  %z = ge.Celu(%y) {ge.name = "b"} : (tensor<2xf64>) -> tensor<2xf64>
  func.return %z : tensor<2xf64>
}
"""
TEXT = "ge.Celu 'a': operand 'x' is DT_DOUBLE, expected DT_FLOAT, DT_FLOAT16"


def one_op(text, args):
    """The op of a one-op function on `args` types."""
    names = ", ".join(f"%{i}: {t}" for i, t in enumerate(args))
    return next(ge_ops(main_function(parse_module(f"func.func @main({names}) {{\n{text}\n}}"))))


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ("%y = ge.Relu(%0) : (tensor<2xf32>) -> tensor<2xf32>", ["tensor<2xf32>"], ""),
        (
            "%y = ge.Equal(%0, %0) : (tensor<2xui16>, tensor<2xui16>) -> tensor<2xi1>",
            ["tensor<2xui16>"],
            "operand 'x1' is DT_UINT16, expected DT_FLOAT, DT_BF16, DT_FLOAT16, DT_INT32, "
            "DT_INT8, DT_UINT8, ...",
        ),
        (
            "%y = ge.TopK(%0, %1) : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>",
            ["tensor<2xf32>", "tensor<i64>"],
            "operand 'k' is DT_INT64, expected DT_INT32",
        ),
        (
            "%y = ge.Shape(%0) : (tensor<2xf32>) -> tensor<1xf32>",
            ["tensor<2xf32>"],
            "result 'y' is DT_FLOAT, expected DT_INT32, DT_INT64",
        ),
        (
            "%y = ge.Identity(%0) : (tensor<2xi4>) -> tensor<2xi4>",
            ["tensor<2xi4>"],
            "operand 'x' is DT_INT4, expected DT_BOOL, DT_COMPLEX128, DT_COMPLEX64, DT_DOUBLE, "
            "DT_FLOAT, DT_FLOAT16, ...",
        ),
        (
            "%y = ge.AscendQuant(%0) {scale = 1.0, offset = 0.0, dst_type = 29} : "
            "(tensor<2xf16>) -> tensor<2xi4>",
            ["tensor<2xf16>"],
            "",
        ),
    ],
)
def test_the_first_foreign_type_is_told(text, args, message):
    found = foreign_element_type(one_op(text, args))
    assert found == message


def test_optional_and_dynamic_operands_have_their_own_slots():
    args = ["tensor<1x4x5x5xf16>", "tensor<4x4x1x1xf16>", "tensor<4xf64>"]
    op = one_op(
        f"""%y = ge.Conv2D(%0, %1, bias = %2) {{strides = [1, 1, 1, 1], pads = [0, 0, 0, 0],
        data_format = "NCHW"}} : ({", ".join(args)}) -> tensor<1x4x5x5xf16>""",
        args,
    )
    assert foreign_element_type(op).startswith("operand 'bias' is DT_DOUBLE, expected DT_FLOAT")


def test_an_undefined_type_passes():
    op = one_op("%y = ge.Celu(%0) : (tensor<2xf64>) -> tensor<2xf64>", ["tensor<2xf64>"])
    for value in (*op.operands, *op.results):
        value._type = Tensor(DataType.DT_UNDEFINED, (2,)).type
    assert foreign_element_type(op) == ""


def test_the_table_is_asked_once_per_op_type(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "ge_xdsl.dialects.ge.check.prototype_of", lambda name: asked.append(name) or None
    )
    op = one_op("%y = ge.ArgMaxV2(%0, %1) : (tensor<2xf32>, tensor<i32>) -> tensor<i64>",
                ["tensor<2xf32>", "tensor<i32>"])  # fmt: skip
    from ge_xdsl.dialects.ge.check import _element_types

    _element_types.cache_clear()
    try:
        for _ in range(3):
            foreign_element_type(op)
        assert asked == ["ArgMaxV2"]
    finally:
        _element_types.cache_clear()


@pytest.mark.parametrize("flags", [[], ["-p", "ge-simplify"]])
def test_ge_opt_warns_once_per_op_type(tmp_path, capsys, flags):
    path = tmp_path / "celu.mlir"
    path.write_text(CELU)
    assert opt.main([str(path), *flags]) == 0
    assert capsys.readouterr().err == f"warning: {TEXT} (and 1 more)\n"


def test_ge_opt_strict_fails_at_the_op(tmp_path, capsys):
    path = tmp_path / "celu.mlir"
    path.write_text(CELU)
    assert opt.main([str(path), "--strict"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{path}:2:3: error: {TEXT}\n"


def test_ge_run_gives_numbers(tmp_path, capsys):
    path, saved = tmp_path / "celu.mlir", tmp_path / "out.npz"
    path.write_text(CELU)
    np.savez(tmp_path / "in.npz", x=np.array([1.0, -1.0]))
    arguments = [str(path), "--inputs", str(tmp_path / "in.npz"), "--save-outputs", str(saved)]
    assert run.main(arguments) == 0
    assert "warning" not in capsys.readouterr().err
    once = np.expm1(-1.0)
    np.testing.assert_allclose(next(iter(np.load(saved).values())), [1, np.expm1(once)])


def test_the_door_reports_it():
    module = parse_module(CELU)
    assert f"warning: {TEXT} (and 1 more)" in optimize(module).messages


def test_verification_passes():
    verify(parse_module(CELU))


def test_most_ops_list_types():
    """The table does list types, so the check is not empty."""
    listed = sum(any(io.dtypes for io in prototype_of(name).inputs) for name in known_ops())
    assert listed > 1000, prototypes.FILE
