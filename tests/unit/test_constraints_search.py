"""Constraints of bisection and counting ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "expected DT_INT32 or DT_INT64"
COUNT = "expected 1 to 1099511627776"
CASES = {
    "search_sorted_c1": ("ge.SearchSorted(<3xf32>, <3xf16>)", TWO_TYPES),
    "search_sorted_c2": (
        "ge.SearchSorted(<f32>, <3xf32>)",
        "sorted_sequence is scalar, expected rank 1 or more",
    ),
    "search_sorted_c3": (
        "ge.SearchSorted(<2x3xf32>, <3x4xf32>)",
        "leading shapes of sorted_sequence and values are 2 and 3, expected equal ones",
    ),
    "search_sorted_c3_scalar": (
        "ge.SearchSorted(<2x3xf32>, <f32>)",
        "values is scalar, expected rank 1 or more",
    ),
    "search_sorted_c4": (
        "ge.SearchSorted(<3xf32>, <2xf32>, sorter = <3xi8>)",
        f"sorter is DT_INT8, {INDEX}",
    ),
    "search_sorted_c4_shape": (
        "ge.SearchSorted(<3xf32>, <2xf32>, sorter = <4xi64>)",
        "shapes of sorted_sequence and sorter are 3 and 4, expected equal ones",
    ),
    "search_sorted_c5": (
        "ge.SearchSorted(<3xf32>, <2xf32>) {dtype = DT_INT8}",
        f"dtype is DT_INT8, {INDEX}",
    ),
    "bucketize_c1": (
        "ge.Bucketize(<3xf32>) {boundaries = [2.0, 1.0]}",
        "boundaries are [2.0, 1.0], expected ascending numbers",
    ),
    "bucketize_c2": (
        "ge.Bucketize(<3xf32>) {boundaries = [2.0], dtype = DT_INT8}",
        f"dtype is DT_INT8, {INDEX}",
    ),
    "bucketize_v2_c1": (
        "ge.BucketizeV2(<3xf32>, <2x3xf32>)",
        "boundaries is 2x3, expected rank 1",
    ),
    "bucketize_v2_c2": ("ge.BucketizeV2(<3xf32>, <2xf16>)", TWO_TYPES),
    "histogram_c1": ("ge.Histogram(<3xf32>) {bins = 0}", f"bins is 0, {COUNT}"),
    "histogram_c1_huge": (
        "ge.Histogram(<3xf32>) {bins = 1099511627777}",
        f"bins is 1099511627777, {COUNT}",
    ),
    "histogram_c2": (
        "ge.Histogram(<3xf32>) {min = 2.0, max = 1.0}",
        "min is 2.0 and max 1.0, expected min <= max",
    ),
    "histogram_v2_c1": (
        "ge.HistogramV2(<3xf32>, <f32>, <f32>) {bins = -1}",
        f"bins is -1, {COUNT}",
    ),
    "histogram_v2_c2": ("ge.HistogramV2(<3xf32>, <f16>, <f32>)", TWO_TYPES),
    "histogram_v2_c2_count": (
        "ge.HistogramV2(<3xf32>, <f32>, <2xf32>)",
        "max is 2, expected one element",
    ),
    "histogram_v2_c3": (
        "ge.HistogramV2(<3xf32>, <f32>, <f32>) {y_dtype = DT_INT64}",
        "y_dtype is DT_INT64, expected DT_INT32 or DT_FLOAT",
    ),
    "histogram_fixed_width_c4": (
        "ge.HistogramFixedWidth(<3xf32>, <2xf32>, <0: i32>)",
        f"nbins is 0, {COUNT}",
    ),
    "histogram_fixed_width_c4_type": (
        "ge.HistogramFixedWidth(<3xf32>, <2xf32>, <f32>)",
        f"nbins is DT_FLOAT, {INDEX}",
    ),
    "histogram_fixed_width_d_c4": (
        "ge.HistogramFixedWidthD(<3xf32>, <2xf32>) {nbins = 0}",
        f"nbins is 0, {COUNT}",
    ),
    "bincount_c3": ("ge.Bincount(<3xf32>, <i32>, <0xf32>)", f"array is DT_FLOAT, {INDEX}"),
    "dense_bincount_c3": (
        "ge.DenseBincount(<3xf32>, <i32>, <0xf32>)",
        f"input is DT_FLOAT, {INDEX}",
    ),
    "dense_bincount_c4": (
        "ge.DenseBincount(<1x2x3xi32>, <i32>, <0xf32>)",
        "input has rank 3, expected 1 or 2",
    ),
    "dense_bincount_huge": (
        "ge.DenseBincount(<3x4xi32>, <1099511627776: i64>, <0xf32>)",
        "result has 3298534883328 elements, expected at most 1099511627776",
    ),
    "confusion_matrix_c1": (
        'ge.ConfusionMatrix(<3xi32>, <3xi32>) {num_classes = 0, dtype = "int32"}',
        f"num_classes is 0, {COUNT}",
    ),
    "confusion_matrix_c2": (
        'ge.ConfusionMatrix(<3xi32>, <3xi32>) {num_classes = 2, dtype = "f32"}',
        "dtype is 'f32', expected one of float32, int32, float16, int8, uint8",
    ),
    "confusion_matrix_c3": (
        'ge.ConfusionMatrix(<3xi32>, <4xi32>) {num_classes = 2, dtype = "int32"}',
        "shapes of labels and predictions are 3 and 4, expected equal ones",
    ),
    "confusion_matrix_c3_rank": (
        'ge.ConfusionMatrix(<1x3xi32>, <3xi32>) {num_classes = 2, dtype = "int32"}',
        "labels is 1x3, expected rank 1",
    ),
}
for op in ("LowerBound", "UpperBound"):
    CASES[f"{snake(op)}_c1"] = (f"ge.{op}(<1x3xf32>, <1x3xf16>) {{out_type = DT_INT32}}", TWO_TYPES)
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<3xf32>, <1x3xf32>) {{out_type = DT_INT32}}",
        "sorted_x is 3, expected rank 2",
    )
    CASES[f"{snake(op)}_c3"] = (
        f"ge.{op}(<2x3xf32>, <1x3xf32>) {{out_type = DT_INT32}}",
        "rows of sorted_x and values are 2 and 1, expected equal ones",
    )
    CASES[f"{snake(op)}_c4"] = (
        f"ge.{op}(<2x3xf32>, <2x3xf32>) {{out_type = DT_FLOAT}}",
        f"out_type is DT_FLOAT, {INDEX}",
    )
for op, more, attrs in (
    ("HistogramFixedWidth", ", <i32>", "dtype = {}"),
    ("HistogramFixedWidthD", "", "nbins = 2, dtype = {}"),
):
    given = f"{{{attrs.format(3)}}}"
    CASES[f"{snake(op)}_c1"] = (f"ge.{op}(<3xf32>, <2xf16>{more}) {given}", TWO_TYPES)
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<3xf32>, <3xf32>{more}) {given}",
        "range has 3 elements, expected 2",
    )
    CASES[f"{snake(op)}_c3"] = (
        f"ge.{op}(<3xf32>, <2xf32>{more}) {{{attrs.format(9)}}}",
        "dtype is 9, expected 3 (DT_INT32)",
    )
for op in ("Bincount", "DenseBincount"):
    CASES[f"{snake(op)}_c1"] = (
        f"ge.{op}(<3xi32>, <-1: i32>, <0xf32>)",
        "size is -1, expected 0 to 1099511627776",
    )
    CASES[f"{snake(op)}_c1_count"] = (
        f"ge.{op}(<3xi32>, <2xi32>, <0xf32>)",
        "size is 2, expected one element",
    )
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<3xi32>, <i32>, <2xf32>)",
        "shapes of the values and weights are 3 and 2, expected equal ones",
    )


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
