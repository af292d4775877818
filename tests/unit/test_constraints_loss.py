"""Constraints of loss ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
REAL = "is DT_INT32, expected a floating-point type"
REDUCTION = "reduction is 'max', expected none, sum or mean"
CASES = {
    "softmax_cross_entropy_with_logits_c1": (
        "ge.SoftmaxCrossEntropyWithLogits(<2x3xf32>, <2x3xf16>)",
        TWO_TYPES,
    ),
    "softmax_cross_entropy_with_logits_c1_kind": (
        "ge.SoftmaxCrossEntropyWithLogits(<2x3xi32>, <2x3xi32>)",
        f"features {REAL}",
    ),
    "softmax_cross_entropy_with_logits_c2": (
        "ge.SoftmaxCrossEntropyWithLogits(<2x3xf32>, <2x4xf32>)",
        "shapes are 2x3 and 2x4, expected ones that broadcast",
    ),
    "softmax_cross_entropy_with_logits_c3": (
        "ge.SoftmaxCrossEntropyWithLogits(<f32>, <2x4xf32>)",
        "features is scalar, expected rank 1 or more",
    ),
    "sparse_softmax_cross_entropy_with_logits_c1": (
        "ge.SparseSoftmaxCrossEntropyWithLogits(<2x3xi32>, <2xi32>)",
        f"features {REAL}",
    ),
    "sparse_softmax_cross_entropy_with_logits_c2": (
        "ge.SparseSoftmaxCrossEntropyWithLogits(<2x3x4xf32>, <2xi32>)",
        "features is 2x3x4, expected rank 2",
    ),
    "sparse_softmax_cross_entropy_with_logits_c3": (
        "ge.SparseSoftmaxCrossEntropyWithLogits(<2x3xf32>, <3xi32>)",
        "shapes of labels and of the rows are 3 and 2, expected equal ones",
    ),
    "sparse_softmax_cross_entropy_with_logits_c3_type": (
        "ge.SparseSoftmaxCrossEntropyWithLogits(<2x3xf32>, <2xf32>)",
        "labels is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "sigmoid_cross_entropy_with_logits_v2_c1_weight": (
        "ge.SigmoidCrossEntropyWithLogitsV2(<2x3xf32>, <2x3xf32>, weight = <f16>)",
        TWO_TYPES,
    ),
    "sigmoid_cross_entropy_with_logits_v2_c4": (
        "ge.SigmoidCrossEntropyWithLogitsV2(<1x3xf32>, <1x3xf32>, pos_weight = <2x3xf32>)",
        "shapes of predict and of it with pos_weight are 1x3 and 2x3, expected equal ones",
    ),
    "binary_cross_entropy_c4": (
        "ge.BinaryCrossEntropy(<1x3xf32>, <1x3xf32>, weight = <2x3xf32>)",
        "shapes of x and of it with weight are 1x3 and 2x3, expected equal ones",
    ),
    "lp_loss_c4": ("ge.LpLoss(<2xf32>, <2xf32>) {p = 2}", "p is 2, expected 1"),
    "nll_loss_c1": ("ge.NLLLoss(<2x3xi32>, <2xi32>)", f"x {REAL}"),
    "nll_loss_c1_weight": ("ge.NLLLoss(<2x3xf32>, <2xi32>, weight = <3xf16>)", TWO_TYPES),
    "nll_loss_c2": (
        "ge.NLLLoss(<2x3xf32>, <3xi32>)",
        "shapes of target and of the scores are 3 and 2, expected equal ones",
    ),
    "nll_loss_c2_type": (
        "ge.NLLLoss(<2x3xf32>, <2xf32>)",
        "target is DT_FLOAT, expected DT_INT32, DT_INT64 or DT_UINT8",
    ),
    "nll_loss_c2_rank": (
        "ge.NLLLoss(<f32>, <i32>)",
        "the scores is scalar, expected rank 1 or more",
    ),
    "nll_loss_c3": ('ge.NLLLoss(<2x3xf32>, <2xi32>) {reduction = "max"}', REDUCTION),
    "nll_loss_c4": (
        "ge.NLLLoss(<2x3xf32>, <2xi32>, weight = <2xf32>)",
        "lengths of weight and of the classes are 2 and 3, expected equal ones",
    ),
    "nll_loss_c4_rank": (
        "ge.NLLLoss(<2x3xf32>, <2xi32>, weight = <1x3xf32>)",
        "weight is 1x3, expected rank 1",
    ),
    "softmax_cross_entropy_loss_c1": (
        "ge.SoftmaxCrossEntropyLoss(<2x3xi32>, <2xi32>)",
        f"scores {REAL}",
    ),
    "softmax_cross_entropy_loss_c2": (
        "ge.SoftmaxCrossEntropyLoss(<2x3xf32>, <3xi32>)",
        "shapes of labels and of the scores are 3 and 2, expected equal ones",
    ),
    "softmax_cross_entropy_loss_c3": (
        'ge.SoftmaxCrossEntropyLoss(<2x3xf32>, <2xi32>) {reduction = "max"}',
        REDUCTION,
    ),
    "softmax_cross_entropy_loss_c4": (
        "ge.SoftmaxCrossEntropyLoss(<2x3xf32>, <2xi32>, weights = <2xf32>)",
        "lengths of weight and of the classes are 2 and 3, expected equal ones",
    ),
    "softmax_cross_entropy_loss_c5": (
        "ge.SoftmaxCrossEntropyLoss(<3xf32>, <i32>)",
        "scores is 3, expected rank 2 or more",
    ),
}
PAIRS = {
    "SigmoidCrossEntropyWithLogits": "predict and target",
    "SigmoidCrossEntropyWithLogitsV2": "predict and target",
    "SmoothL1Loss": "predict and label",
    "SmoothL1LossV2": "predict and label",
    "MseLoss": "predict and label",
    "LpLoss": "predict and label",
    "SoftMarginLoss": "input_x and input_y",
    "BinaryCrossEntropy": "x and y",
    "KLDivV2": "x and target",
    "PoissonNllLoss": "input_x and target",
}
for op, names in PAIRS.items():
    name, p = snake(op), "p = 1, " if op == "LpLoss" else ""
    given = "{p = 1}" if p else ""
    CASES[f"{name}_c1"] = (f"ge.{op}(<2xf32>, <2xf16>) {given}", TWO_TYPES)
    CASES[f"{name}_c1_kind"] = (
        f"ge.{op}(<2xi32>, <2xi32>) {given}",
        f"{names.split(maxsplit=1)[0]} {REAL}",
    )
    CASES[f"{name}_c2"] = (
        f"ge.{op}(<2xf32>, <3xf32>) {given}",
        f"shapes of {names} are 2 and 3, expected equal ones",
    )
    wanted = REDUCTION.replace("sum or mean", "sum, mean or batchmean")
    CASES[f"{name}_c3"] = (
        f'ge.{op}(<2xf32>, <2xf32>) {{{p}reduction = "max"}}',
        wanted if op == "KLDivV2" else REDUCTION,
    )
for op in ("SigmoidCrossEntropyWithLogits", "SmoothL1Loss"):  # they have no reduction
    del CASES[f"{snake(op)}_c3"]


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
