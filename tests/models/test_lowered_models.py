"""Real models as tile programs: no op is left as a whole-tensor call, outputs agree with the graph.

A few small ones always, all of them with GE_XDSL_NIGHTLY=1, when they have been fetched.
"""

import os

import numpy as np
import pytest
from test_models import MODELS, inputs_of, model_path

import ge_xdsl as gx
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.interpreters.aicore import LoweredProgram
from ge_xdsl.interpreters.program import Program
from ge_xdsl.passes.infer_shape import set_input_shapes

CHIP = "Ascend910B1"
SMALL = ("ppocr_v2_cls", "minilm_l3_fp32", "arname_encoder", "silero_vad_16k_op15")
NAMES = list(MODELS) if os.environ.get("GE_XDSL_NIGHTLY") == "1" else SMALL
PASSES = "ge-infer-shape,ge-fold-constants,ge-simplify,ge-cse,ge-dce"


@pytest.mark.parametrize("name", NAMES)
def test_models_run_as_tile_programs(name):
    path, given = model_path(name), inputs_of(MODELS[name])
    wanted = Program(main_function(gx.load(path))).run(given)
    module = gx.load(path)
    set_input_shapes(main_function(module), {key: a.shape for key, a in given.items()})
    gx.optimize(module, target=CHIP, pipeline=PASSES)
    program = LoweredProgram(gx.lower(module, CHIP), CHIP)
    assert not program.report.calls, program.report.reasons
    assert program.report.us > 0
    for found, expected in zip(program.run(given), wanted, strict=True):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":
            largest = np.abs(expected).max()
            assert np.abs(found - expected).max() <= 1e-4 * largest + 1e-6
        else:
            np.testing.assert_array_equal(found, expected)
