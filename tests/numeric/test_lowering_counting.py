"""Boxes, counts, bits and gated layers as kernels, against `evaluate`."""

import numpy as np
import pytest
from lowered_op import check_op, make_with, module_of
from lowering_check import CHIP
from op_runs import SHAPING
from op_witness import BF16, F16, F32, I8, I16, I32, I64, U8, sample

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower

RNG = np.random.default_rng(0)


def f(*shape, dtype=F32, seed=0):
    return sample("any", shape, dtype, seed)


def p(*shape, dtype=F32, seed=0):
    """Numbers above 0."""
    return (np.abs(sample("any", shape, F32, seed)) + 0.3).astype(dtype)


def boxes(count, seed=0):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 50, (count, 2))
    return np.concatenate([corner, corner + rng.uniform(1, 30, (count, 2))], 1).astype(F32)


def turned(count, seed=0):
    return boxes(count, seed).T.copy()


def labels(high, *shape, dtype=I32):
    return RNG.integers(0, high, shape).astype(dtype)


ENDS = np.concatenate([np.linspace(-1, 1, 201), [1.5, np.nan, 1e-8, 0.9999999]]).astype(F32)
ROWS, ROW = np.sort(f(3, 11), -1), np.sort(f(11))
SCORES = f(6, 9)
SCORES[2, 3] = np.inf
CLASSES = np.array([0, 4, 1, 9, -1, 3], I32)

CASES = {
    "Iou": [
        ([boxes(9), boxes(7, 1)], {}),
        ([boxes(9), boxes(7, 1)], {"mode": "iof", "eps": 0.5}),
        ([boxes(9), boxes(9, 1)], {"aligned": True, "eps": 0.0}),
    ],
    "BoundingBoxEncode": [
        ([boxes(9), boxes(9, 1)], {"means": [0.1, 0.0, 0.0, 0.0], "stds": [0.1, 0.1, 0.2, 0.2]}),
    ],
    "BoundingBoxDecode": [([boxes(9), f(9, 4) / 3], {"max_shape": [40, 60]})],
    "DecodeBboxV2": [
        ([f(9, 4) / 3, boxes(9)], {"scales": [10.0, 10.0, 5.0, 5.0], "decode_clip": 1.0}),
        ([f(4, 9) / 3, turned(9)], {"reversed_box": True}),
    ],
    "YoloBoxesEncode": [([boxes(9), boxes(9, 1), np.full(9, 16, I32)], {})],
    "DIoU": [([turned(9), turned(9, 1)], {"is_cross": False, "trans": t}) for t in (False, True)],
    "CIoU": [([turned(9), turned(9, 1)], {"is_cross": False, "trans": t}) for t in (False, True)],
    "Erfinv": [([ENDS], {}), ([ENDS.astype(F16)], {}), ([ENDS.astype(BF16)], {})],
    "SearchSorted": [([ROW, f(3, 7)], {"right": True}), ([ROWS, f(3, 7)], {})],
    "LowerBound": [([ROWS, f(3, 7)], {})],
    "UpperBound": [([ROWS, f(3, 7)], {"out_type": DataType.DT_INT64})],
    "Bucketize": [([f(3, 7)], {"boundaries": [-1.0, 0.0, 0.5]})],
    "BucketizeV2": [([f(3, 7, dtype=F16), ROW.astype(F16)], {"out_int32": True})],
    "Bincount": [([labels(9, 40), np.array(7, I32), f(40)], {})],
    "DenseBincount": [
        ([labels(9, 3, 40, dtype=I64), np.array(7, I32), f(3, 40)], {"binary_output": True}),
        ([labels(9, 40), np.array(7, I32), f(40)], {}),
    ],
    "ConfusionMatrix": [
        ([labels(5, 40), labels(5, 40)], {"num_classes": 5, "dtype": "int32"}),
        ([labels(5, 40), labels(5, 40), f(40)], {"num_classes": 5, "dtype": "float32"}),
    ],
    "InTopKD": [([SCORES, CLASSES], {"k": 3})],
    "InTopK": [([SCORES, CLASSES, np.array(3, I32)], {"known": ("k",)})],
    "InTopKV2": [([SCORES, CLASSES.astype(I64), np.array(3, I64)], {"known": ("k",)})],
    "NthElement": [
        ([f(3, 9), np.array(2, I32)], {"known": ("n",), "reverse": r}) for r in (False, True)
    ],
    "ArgMaxWithK": [
        ([f(3, 4, 5)], {"topk": 3}),
        ([f(3, 4, 5, dtype=F16)], {"topk": 2, "axis": 1, "out_max_val": True}),
    ],
    "SignBitsPack": [([f(20)], {"size": 1}), ([f(48, dtype=F16)], {"size": 3})],
    "SignBitsUnpack": [([labels(256, 6, dtype=U8)], {"size": 2, "dtype": DataType.DT_FLOAT16})],
    "CompareAndBitpack": [([f(3, 16), np.array(0.3, F32)], {})],
    "PopulationCount": [([labels(256, 3, 9, dtype=U8)], {}), ([np.arange(-9, 9).astype(I8)], {})],
    "DropOutDoMask": [([f(5, 7, dtype=F16), labels(256, 8, dtype=U8), np.array([0.7], F16)], {})],
    "FillV2D": [([], {"value": 2.5, "dims": [300, 400]})],
    "Empty": [([np.array([300, 400], I32)], {"dtype": 0})],
    "Eye": [([], {"num_rows": 300, "num_columns": 400}), ([], {"num_rows": 3, "batch_shape": [2]})],
    "LinSpace": [([np.array(1.5, F32), np.array(7.0, F32), np.array(9, I32)], {})],
    "LinSpaceD": [([np.array(1.5, F32), np.array(7.0, F32), np.array(1, I32)], {})],
    "RangeD": [([f(9)], {"start": 1.0, "limit": 5.5, "delta": 0.5})],
    "AdaCast": [([labels(65536, 3, 9, dtype=np.uint16)], {"pixel": 1000})],
    "TransArgb": [([f(2, 3, 4, 5, 6, dtype=F16) * 30], {})],
    "BlendFaceBgPartTwo": [
        ([*(p(5, 6, 3, seed=i) for i in range(3)), labels(256, 5, 6, 3, dtype=U8)], {}),
    ],
    "Clip": [([f(5, 6, dtype=F16)], {"min": -1.0, "max": 2.0})],
}  # fmt: skip


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize("op_type", CASES)
def test_boxes_and_counts(op_type, chip):
    for inputs, attrs in CASES[op_type]:
        attrs = dict(attrs)
        known = ("num", *attrs.pop("known", ()))
        check_op(op_type, *inputs, chip=chip, checked=True, known=known, **attrs)


def gru(dtype, *rest, kind=F16):
    x, w, h = f(3, 2, 6, dtype=kind), f(6, 12) / 3, f(4, 12, seed=1) / 3
    return [x, w.astype(kind), h.astype(kind), *rest]


LAYERS = {
    "DynamicGRUV2": [
        (lambda t: [f(12, dtype=t), f(12, dtype=t, seed=1)], {}),
        (lambda t: [None, f(12, dtype=t), np.array([3, 1], I32), f(1, 2, 4, dtype=t)],
         {"gate_order": "rzh", "direction": "REDIRECTIONAL"}),
    ],
    "DynamicAUGRU": [(lambda t: [p(3, 2, dtype=t), f(12, dtype=t), f(12, dtype=t, seed=1)], {})],
}  # fmt: skip


@pytest.mark.parametrize("kind", [F16, F32])
@pytest.mark.parametrize("op_type", LAYERS)
def test_gated_layers(op_type, kind):
    for rest, attrs in LAYERS[op_type]:
        check_op(op_type, *gru(kind, *rest(kind), kind=kind), **attrs)
        if kind == F16:
            check_op(op_type, *gru(kind, *rest(kind), kind=kind), chip="Ascend310P3", **attrs)


DECLINED = [
    ("SearchSorted", [ROW, f(3), np.arange(11)], {}, "no lowering with a sorter"),
    ("LowerBound", [labels(9, 3, 4), labels(9, 3, 2)], {}, "no lowering for element type DT_INT32"),
    ("Bincount", [labels(9, 40), np.array(7, I32), labels(9, 40)], {}, "for weights of DT_INT32"),
    ("DenseBincount", [labels(9, 40), np.array(7, I32), labels(9, 40, dtype=I64)], {},
     "for element type DT_INT64"),
    ("PopulationCount", [labels(9, 4, dtype=I16)], {}, "no lowering for element type DT_INT16"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), DECLINED)
def test_what_stays_a_call(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)


def test_the_bits_of_every_byte_are_counted():
    x = np.arange(256).astype(U8)
    report = check_op("PopulationCount", x, exact=True, checked=True)
    assert len(report.kernels) <= 2
    op = make_with("PopulationCount", [x], SHAPING, (), {})
    (got,), _ = aicore.run(lower(module_of(op), CHIP), {"x0": x}, CHIP)
    assert got.tolist() == [n.bit_count() for n in range(256)]
