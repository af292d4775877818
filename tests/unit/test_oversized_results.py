"""Integer attributes and operands of every op, one after another, at sizes that no memory holds and
at the ends of 64 bits: an op refuses them with a message of this project, or gives the results that
`infer` says, and never tries what is above the limit.
"""

import signal
import traceback
from math import prod
from pathlib import Path

import numpy as np
import pytest
from op_bases import BASES
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

import ge_xdsl
from ge_xdsl.dialects.ge.limits import ELEMENT_LIMIT
from ge_xdsl.dialects.ge.op import KnownValues, constant_of, operand_tensors, set_type
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, compatible, numpy_dtype, tensor_of

PACKAGE = str(Path(ge_xdsl.__file__).parent)
HUGE = (10**12, 2**63 - 1, -(2**63))
MOST_ENTRIES = 12
"""Operands with more entries hold data rather than sizes."""
PATIENCE = 60
"""Seconds after which a walk counts as endless."""


@pytest.fixture(autouse=True)
def _endless():
    """A loop over 10^12 things ends the test, not the test run."""

    def stop(*_):
        raise TimeoutError(f"still running after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def each_entry(held, huge):
    """The list with all entries replaced, and with each."""
    yield [huge] * max(len(held), 1)
    for i in range(len(held) if len(held) > 1 else 0):
        yield [*held[:i], huge, *held[i + 1 :]]


def attribute_forms(op_type):
    """The op with each of its integer attributes at a huge value."""
    for spec in BASES[op_type]().prototype.attrs:
        for huge in HUGE if spec.kind in ("Int", "ListInt") else ():
            held = BASES[op_type]().get_attr(spec.name)
            values = [huge] if spec.kind == "Int" else each_entry(list(held or ()), huge)
            for value in values:
                op = BASES[op_type]()
                op.set_attr(spec.name, value)
                yield op, operand_arrays(op), f"{spec.name} = {value}"


def operand_forms(op_type):
    """The op on each of its short integer operands at a huge value, which inference may see."""
    for i, array in enumerate(operand_arrays(BASES[op_type]())):
        if array.dtype.kind not in "iu" or array.size > MOST_ENTRIES:
            continue
        ends = np.iinfo(array.dtype)
        for huge in sorted({min(max(huge, ends.min), ends.max) for huge in HUGE}):
            for value in each_entry(array.reshape(-1).tolist(), huge):
                op = BASES[op_type]()
                arrays = operand_arrays(op)
                arrays[i] = np.array(value[: array.size], array.dtype).reshape(array.shape)
                op.operands[i] = Block(arg_types=[op.operands[i].type]).args[0]
                yield op, arrays, f"operand {i} = {value}"


def operand_arrays(op):
    """Zeros for what is no constant."""
    return [
        np.zeros(t.shape, numpy_dtype(t.dtype)) if (c := constant_of(v)) is None else c
        for v, t in zip(op.operands, operand_tensors(op), strict=True)
    ]


def inferred(op, arrays):
    """The results of inference that sees the operands' values; None where it refuses them."""
    try:
        with KnownValues(dict(zip(op.operands, arrays, strict=True))):
            found = op.inferred()
    except VerifyException as error:
        assert str(error)
        return None
    for value, tensor in zip(op.results, found, strict=True):
        assert tensor.shape is None or all(d >= 0 or d == DYNAMIC for d in tensor.shape)
        set_type(value, tensor.type)
    return found


def refusal(op, arrays):
    """The message with which a run refuses the operands; None for results as inferred."""
    try:
        with np.errstate(all="ignore"):
            found = op.execute(arrays)
    except ValueError as error:
        raised = traceback.extract_tb(error.__traceback__)[-1].filename
        assert raised.startswith(PACKAGE), error
        return str(error)
    for array, value in zip(found, op.results, strict=True):
        tensor = tensor_of(value.type)
        assert compatible(tensor, Tensor(tensor.dtype, array.shape))
    return None


def messages(op_type, forms):
    """What refuses each form; the form is added to what goes wrong."""
    for op, arrays, what in forms(op_type):
        try:
            tensors = inferred(op, arrays)
            sizes = [prod(t.shape) for t in tensors or () if t.shape and DYNAMIC not in t.shape]
            said = refusal(op, arrays) if op.has_evaluate() else None
            if max(sizes, default=0) > ELEMENT_LIMIT and op.has_evaluate():
                assert f"elements, expected at most {ELEMENT_LIMIT}" in said
        except Exception as error:
            error.add_note(f"ge.{op_type} with {what}")
            raise
        yield what, said


def has_arrays(op_type):
    try:
        operand_arrays(BASES[op_type]())
    except ValueError:  # an element type without values
        return False
    return True


RUN = [op_type for op_type in BASES if has_arrays(op_type)]


@pytest.mark.parametrize("op_type", RUN)
def test_huge_attributes(op_type):
    list(messages(op_type, attribute_forms))


@pytest.mark.parametrize("op_type", RUN)
def test_huge_operands(op_type):
    list(messages(op_type, operand_forms))


SIZED = {
    "shape": "BroadcastToD ExpandD ScatterNdD FileConstant StridedSliceGradD HcomReceive",
    "dims": "FillD FillV2D",
    "multiples": "TileD",
    "depth": "OneHotD",
    "pads": "Conv2D Conv2DV2 Conv3D DepthwiseConv2D MaxPoolV3 AvgPoolV2 AvgPool1D AvgPool3D Im2col",
    "strides": "Conv2DTranspose Conv3DTranspose Deconvolution",
    "dilations": "Conv2DTranspose Conv3DTranspose Deconvolution",
    "output_padding": "Conv2DTranspose Conv3DTranspose",
    "filter_size": "Conv2DBackpropFilterD Conv3DBackpropFilterD",
    "orig_input_shape": "AvgPoolGradD AvgPoolV2GradD AvgPool3DGradD AdaptiveAvgPool2dGrad",
    "output_size": "AdaptiveAvgPool2d AdaptiveMaxPool2d AdaptiveAvgPool3d SpatialTransformerD",
    "size": "ResizeBilinearV2D ResizeNearestNeighborV2D ResizeNearestNeighborV2GradD",
    "sizes": "ResizeD",
    "pooled_height": "ROIAlign RoiExtractor",
    "sample_num": "ROIAlign",
    "stride_h": "Upsample",
    "bins": "Histogram HistogramV2",
    "nbins": "HistogramFixedWidthD",
    "num_classes": "ConfusionMatrix",
    "num_weights": "EmbeddingDenseGrad",
    "num_segments": "UnsortedSegmentSumD UnsortedSegmentProdD",
    "diagonal": "DiagFlat",
    "num_rows": "Eye",
    "batch_shape": "Eye",
    "paddings": "SpaceToBatchD SpaceToBatchNDD",
    "post_nms_topn": "YoloV3DetectionOutput Proposal",
    "num_output": "RNN LSTM",
    "rank_size": "HcomAllGather",
    "num_experts": "MoeComputeExpertTokens",
}
"""Attribute -> ops whose result grows with it."""


@pytest.mark.parametrize(
    ("name", "op_type"), [(name, op) for name, ops in SIZED.items() for op in ops.split()]
)
def test_the_limit_is_named(name, op_type):
    said = set()
    for op, arrays, what in attribute_forms(op_type):
        if what.startswith(f"{name} = ") and str(10**12) in what:
            try:
                op.inferred()
            except VerifyException as error:
                said.add(str(error))
            else:
                said.add(refusal(op, arrays))
    assert any("elements, expected" in text for text in said), said


def test_operands_size_results_too():
    sized = ("BroadcastTo", "Fill", "LinSpaceD", "RandomUniform", "RepeatInterleave", "Resize")
    for op_type in (*sized, "ScatterNd", "SpaceToBatch", "SparseToDense", "Tile"):
        said = [text for _, text in messages(op_type, operand_forms) if text]
        assert any("elements, expected" in text for text in said), op_type
