"""Constraints of gather, segment and cumulative ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "expected DT_INT32 or DT_INT64"
RANK = "expected rank 1 or more"
HUGE = "expected at most 1099511627776"
CASES = {
    "gather_nd_c1": ("ge.GatherNd(<2x3xf32>, <4x1xf32>)", f"indices is DT_FLOAT, {INDEX}"),
    "gather_nd_c2": ("ge.GatherNd(<2x3xf32>, <i32>)", f"indices is scalar, {RANK}"),
    "gather_nd_c3": (
        "ge.GatherNd(<2x3xf32>, <4x3xi32>)",
        "indices is 4x3, expected a last dimension of at most 2",
    ),
    "gather_v2_d_c1": (
        "ge.GatherV2D(<2x3xf32>, <4xf32>) {axis = 0}",
        f"indices is DT_FLOAT, {INDEX}",
    ),
    "gather_v2_d_c2": ("ge.GatherV2D(<f32>, <4xi32>) {axis = 0}", f"x is scalar, {RANK}"),
    "gather_v2_d_c3": (
        "ge.GatherV2D(<2x3xf32>, <4xi32>) {axis = 2}",
        "axis is 2, expected one in [-2, 2)",
    ),
    "gather_c1": ("ge.Gather(<2x3xf32>, <4xf32>)", f"indices is DT_FLOAT, {INDEX}"),
    "gather_c2": (
        "ge.Gather(<2x3xf32>, <4xi32>) {batch_dims = 2}",
        "batch_dims is 2 for ranks 2 and 1, expected one that both have",
    ),
    "gather_c2_scalar": (
        "ge.Gather(<f32>, <4xi32>)",
        "batch_dims is 0 for ranks 0 and 1, expected one that both have",
    ),
    "gather_c3": (
        "ge.Gather(<2x3xf32>, <4x3xi32>) {batch_dims = 1}",
        "batch shapes of x and indices are 2 and 4, expected equal ones",
    ),
    "embedding_c1": ("ge.Embedding(<2x3xf32>, <4xf32>)", f"indices is DT_FLOAT, {INDEX}"),
    "embedding_c2": ("ge.Embedding(<f32>, <4xi32>)", f"x is scalar, {RANK}"),
    "embedding_huge": (
        "ge.Embedding(<2x2097152xf32>, <1048576xi32>)",
        f"result has 2199023255552 elements, {HUGE}",
    ),
    "embedding_dense_grad_c1": (
        "ge.EmbeddingDenseGrad(<2x3xf32>, <2xf32>) {num_weights = 4}",
        f"indices is DT_FLOAT, {INDEX}",
    ),
    "embedding_dense_grad_c2": (
        "ge.EmbeddingDenseGrad(<2x3xf32>, <4xi32>) {num_weights = 4}",
        "leading shapes of grad and indices are 2 and 4, expected equal ones",
    ),
    "embedding_dense_grad_c2_rank": (
        "ge.EmbeddingDenseGrad(<f32>, <i32>) {num_weights = 4}",
        f"grad is scalar, {RANK}",
    ),
    "embedding_dense_grad_c3": (
        "ge.EmbeddingDenseGrad(<2x3xf32>, <2xi32>) {num_weights = -1}",
        "num_weights is -1, expected 0 to 1099511627776",
    ),
    "embedding_dense_grad_c3_huge": (
        "ge.EmbeddingDenseGrad(<2x3xf32>, <2xi32>) {num_weights = 1099511627776}",
        f"result has 3298534883328 elements, {HUGE}",
    ),
    "gather_shapes_c1": (
        "ge.GatherShapes([<2xf32>]) {axes = [[0, 0]], dtype = 1}",
        "dtype is 1, expected 3 (DT_INT32) or 9 (DT_INT64)",
    ),
    "gather_shapes_c2": (
        "ge.GatherShapes([<2xf32>]) {axes = [[1, 0]]}",
        "axes has [1, 0], expected an operand below 1 and a dimension",
    ),
    "gather_shapes_c2_dimension": (
        "ge.GatherShapes([<2xf32>]) {axes = [[0, 1]]}",
        "axes has [0, 1], expected a dimension of 2",
    ),
    "index_put_v2_c5": (
        "ge.IndexPutV2(<2x3xf32>, <f16>, <1: i64>, <0: i64>, [<4xi32>])",
        TWO_TYPES,
    ),
    "index_put_v2_c6": (
        "ge.IndexPutV2(<2x3xf32>, <2xf32>, <1: i64>, <0: i64>, [<4xi32>])",
        "shapes are 4x3 and 2, expected ones that broadcast",
    ),
    "index_put_v2_c6_larger": (
        "ge.IndexPutV2(<2x3xf32>, <2x4x3xf32>, <1: i64>, <0: i64>, [<4xi32>])",
        "shapes of value and of the indexed part are 2x4x3 and 4x3, expected equal ones",
    ),
    "sparse_to_dense_c1": (
        "ge.SparseToDense(<2xf32>, <[4]: 1xi64>, <2xf32>, <f32>)",
        f"indices is DT_FLOAT, {INDEX}",
    ),
    "sparse_to_dense_c1_shape": (
        "ge.SparseToDense(<2xi32>, <1xf32>, <2xf32>, <f32>)",
        f"output_shape is DT_FLOAT, {INDEX}",
    ),
    "sparse_to_dense_c2": (
        "ge.SparseToDense(<2x1x1xi32>, <[4]: 1xi64>, <2xf32>, <f32>)",
        "indices has rank 3, expected at most 2",
    ),
    "sparse_to_dense_c3": (
        "ge.SparseToDense(<2xi32>, <[4]: 1xi64>, <2xf32>, <f16>)",
        TWO_TYPES,
    ),
    "sparse_to_dense_c4": (
        "ge.SparseToDense(<2xi32>, <[4]: 1xi64>, <2xf32>, <2xf32>)",
        "default_value is 2, expected one element",
    ),
    "sparse_to_dense_c5": (
        "ge.SparseToDense(<2xi32>, <[-4]: 1xi64>, <2xf32>, <f32>)",
        "shape is [-4], expected none negative",
    ),
    "sparse_tensor_dense_add_c1": (
        "ge.SparseTensorDenseAdd(<4x2xi64>, <4xf32>, <2xi64>, <2x3xf16>)",
        TWO_TYPES,
    ),
    "sparse_tensor_dense_add_c2": (
        "ge.SparseTensorDenseAdd(<4xi64>, <4xf32>, <2xi64>, <2x3xf32>)",
        "x1_indices is 4, expected rank 2",
    ),
    "sparse_tensor_dense_add_c2_length": (
        "ge.SparseTensorDenseAdd(<4x2xi64>, <5xf32>, <2xi64>, <2x3xf32>)",
        "lengths of x1_indices and x1_values are 4 and 5, expected equal ones",
    ),
    "sparse_tensor_dense_add_c3": (
        "ge.SparseTensorDenseAdd(<4x3xi64>, <4xf32>, <2xi64>, <2x3xf32>)",
        "columns of x1_indices and dimensions of x2 are 3 and 2, expected equal ones",
    ),
    "dynamic_partition_c1": (
        "ge.DynamicPartition(<4xf32>, <4xf32>)",
        f"partitions is DT_FLOAT, {INDEX}",
    ),
    "dynamic_partition_c2": (
        "ge.DynamicPartition(<4xf32>, <3xi32>)",
        "leading shapes of x and partitions are 4 and 3, expected equal ones",
    ),
    "dynamic_partition_c3": (
        "ge.DynamicPartition(<4xf32>, <4xi32>) {num_partitions = 2}",
        "num_partitions is 2, expected the number of results (1), at least 1",
    ),
}
for op, value in (("Index", ""), ("IndexPutV2", ", <f32>")):
    name, x = snake(op), f"<2x3xf32>{value}"
    CASES[f"{name}_c1"] = (
        f"ge.{op}({x}, <1xf32>, <1xi64>, [<4xi32>])",
        f"indexed_sizes is DT_FLOAT, {INDEX}",
    )
    CASES[f"{name}_c2"] = (
        f"ge.{op}({x}, <[1, 1]: 2xi64>, <2xi64>, [<4xi32>, <4xi1>])",
        f"indices 1 is DT_BOOL, {INDEX}",
    )
    CASES[f"{name}_c3"] = (
        f"ge.{op}({x}, <[1, 1]: 2xi64>, <2xi64>, [<4xi32>, <3xi32>])",
        "shapes are 4 and 3, expected ones that broadcast",
    )
    CASES[f"{name}_c4"] = (
        f"ge.{op}({x}, <[1, 0]: 2xi64>, <2xi64>, [<4xi32>, <4xi32>])",
        "indexed_sizes is [1, 0], expected 2 marks of 1 in at most 2 entries",
    )
for how in ("Sum", "Prod", "Max", "Min"):
    for op, count, attrs in (
        (f"UnsortedSegment{how}", ", <{}: i64>", ""),
        (f"UnsortedSegment{how}D", "", " {{num_segments = {}}}"),
    ):
        name = snake(op)

        def segments(operands, n, op=op, count=count, attrs=attrs):
            return f"ge.{op}({operands}{count.format(n)}){attrs.format(n)}"

        CASES[f"{name}_c1"] = (
            segments("<4x3xf32>, <4xf32>", 2),
            f"segment_ids is DT_FLOAT, {INDEX}",
        )
        CASES[f"{name}_c2"] = (
            segments("<4x3xf32>, <3xi32>", 2),
            "leading shapes of x and segment_ids are 4 and 3, expected equal ones",
        )
        CASES[f"{name}_c3"] = (
            segments("<4x3xf32>, <4xi32>", -1),
            "num_segments is -1, expected 0 to 1099511627776",
        )
        CASES[f"{name}_c3_huge"] = (
            segments("<4x3xf32>, <4xi32>", 2**40),
            f"result has 3298534883328 elements, {HUGE}",
        )
for op in ("SegmentSum", "SegmentMax"):
    CASES[f"{snake(op)}_c1"] = (
        f"ge.{op}(<4x3xf32>, <4xf32>)",
        f"segment_ids is DT_FLOAT, {INDEX}",
    )
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<4x3xf32>, <3xi32>)",
        "leading shapes of x and segment_ids are 4 and 3, expected equal ones",
    )
    CASES[f"{snake(op)}_c2_rank"] = (
        f"ge.{op}(<4x3xf32>, <4x3xi32>)",
        "segment_ids is 4x3, expected rank 1",
    )
for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
    name = snake(op)
    CASES[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <2: i32>)", "axis is 2, expected one in [-2, 2)")
    CASES[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <f32>)", f"axis is DT_FLOAT, {INDEX}")
    CASES[f"{name}_c2_count"] = (
        f"ge.{op}(<2x3xf32>, <2xi32>)",
        "axis is 2, expected one element",
    )
    CASES[f"{name}_d_c1"] = (
        f"ge.{op}D(<2x3xf32>) {{axis = -3}}",
        "axis is -3, expected one in [-2, 2)",
    )
REAL = "x is DT_INT32, expected a floating-point type"
CASES["cumulative_logsumexp_c3"] = ("ge.CumulativeLogsumexp(<2xi32>, <0: i32>)", REAL)
CASES["cumulative_logsumexp_d_c2"] = ("ge.CumulativeLogsumexpD(<2xi32>) {axis = 0}", REAL)


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
