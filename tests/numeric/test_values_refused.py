"""What ops have a shape for and no value: one run per message."""

import numpy as np
import pytest
from op_runs import make
from op_witness import F16, F32, I8, I32, I64

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp, result


def f(*shape, dtype=F32):
    return np.ones(shape, dtype)


BSH = {"num_heads": 2, "num_key_value_heads": 2, "input_layout": "BSH"}
TND = {"head_num": 2, "input_layout": "TND"}
ENDS = [np.array([4], I64), np.array([4], I64)]
HIDDEN = f(4, 4).astype(bool)
CODES = f(1, 4, 8, dtype=I8)
PLAN = "its layout is not modelled"
MODE = "its mode is not modelled"
SEQUENCE = [f(5, 3, 4), f(10, 24), f(24)]
IMAGE = f(1, 2, 4, 4)
SIZE = np.array([8, 8], I32)
CASES = [
    ("PromptFlashAttention", [CODES] * 3, BSH, f"query is DT_INT8, expected a float: {MODE}"),
    (
        "FusedInferAttentionScore",
        [CODES, [CODES], [CODES]],
        {**BSH, "scale": 1.0},
        f"query or key is DT_INT8, expected floats: {MODE}",
    ),
    (
        "IncreFlashAttention",
        [f(1, 1, 8, dtype=I8), [CODES], [CODES]],
        BSH,
        f"query or key is DT_INT8, expected floats: {MODE}",
    ),
    (
        "PromptFlashAttention",
        [f(4, 2, 4, dtype=F16)] * 3 + [None, HIDDEN, *ENDS],
        {**BSH, "input_layout": "TND"},
        f"pse_shift or atten_mask is given, expected none: {PLAN}",
    ),
    (
        "FlashAttentionScore",
        [f(4, 2, 4)] * 3 + [None, None, None, HIDDEN, None, *ENDS],
        TND,
        f"atten_mask is given, expected none: {PLAN}",
    ),
    (
        "FlashAttentionScore",
        [f(4, 2, 4)] * 3 + [f(1, 2, 4, 4), None, None, None, None, *ENDS],
        TND,
        f"real_shift is given, expected none: {PLAN}",
    ),
    (
        "DynamicRNN",
        [*SEQUENCE, np.full(3, 5, I32)],
        {},
        "seq_length is given, expected none: its effect is unconfirmed",
    ),
    (
        "DynamicRNN",
        [f(5, 3, 4), f(20, 24), f(48)],
        {"direction": "BIDIRECTIONAL"},
        "direction is 'BIDIRECTIONAL', expected one direction",
    ),
    (
        "ResizeBilinearV2",
        [IMAGE, SIZE],
        {"scales": [2.0, 2.0]},
        r"scales are \[2.0, 2.0\], expected zeros: their effect is unconfirmed",
    ),
    (
        "ResizeBilinearV2",
        [IMAGE.astype(np.uint8), SIZE],
        {"dtype": 4},
        "dtype is DT_UINT8, expected a float: its rounding is unconfirmed",
    ),
]


GRAMS = {
    "max_gram_length": 1, "min_gram_length": 1, "max_skip_count": 0, "mode": "TF",
    "ngram_counts": [0], "ngram_indexes": [0], "pool_strings": ["a"],
}  # fmt: skip
CASES += [
    ("TfIdfVectorizer", [np.ones((2, 3), I64)], GRAMS,
     "pool_int64s is empty, expected numbers: strings have no value"),
    ("SubSampleLabels", [np.ones(3, I32), np.array([0, 0, 2], I32)],
     {"batch_size_per_images": 4, "positive_fraction": 0.5},
     "shuffle_matrix is no permutation, expected each number once"),
    ("MoeInitRoutingV3", [f(5, 8), np.zeros((5, 2), I32)], {"expert_num": 4, "quant_mode": 1},
     "drop_pad_mode, quant_mode or active_expert_range is set, expected the defaults"),
    ("FFN", [np.ones((2, 4), I8), np.ones((4, 8), I8), np.ones((8, 4), I8)],
     {"activation": "relu"}, "scale or a deq_scale is missing, expected all for DT_INT8"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "message"), CASES)
def test_a_value_is_refused(op_type, inputs, attrs, message):
    op = make(op_type, inputs, True, (), None, attrs)
    arrays = [a for x in inputs if x is not None for a in (x if isinstance(x, list) else [x])]
    with pytest.raises(ValueError, match=f"^{message}$"):
        op.execute(arrays)


def test_a_constant_without_a_value():
    op = ConstOp.create(result_types=[make("Relu", [f(2)], False).y.type])
    with pytest.raises(ValueError, match=r"^ge\.Const: has no value, expected one$"):
        op.execute([])


def test_an_evaluation_of_another_type():
    class Wrong(GeOp):
        """y = 1 in i64, against what infer says."""

        name = "ge.WrongTypeOfResult"
        y = result()

        def infer(self):
            from ge_xdsl.dialects.ge.types import DataType, Tensor

            return Tensor(DataType.DT_FLOAT, ())

        def evaluate(self):
            return np.array(1)

    message = r"^ge\.WrongTypeOfResult: evaluate gives int64, infer says DT_FLOAT$"
    with pytest.raises(ValueError, match=message):
        Wrong.build().execute([])
