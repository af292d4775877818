"""Constraints of diagonal, linalg and statistics ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "expected DT_INT32 or DT_INT64"
REAL = "x is DT_INT32, expected a floating-point type"
AXIS = "axis is 2, expected one in [-2, 2)"
MATRIX = "x is 3, expected rank 2 or more"
HUGE = "result has 1152921504606846976 elements, expected at most 1099511627776"
BIG = "<1073741824xf32>"
COUNT = "expected 1 to 1099511627776"

DIAGONAL = {
    "diag_flat_c1": (f"ge.DiagFlat({BIG})", HUGE),
    "diag_v2_c1": ("ge.DiagV2(<2x3x4xf32>)", "x is 2x3x4, expected rank 1 or 2"),
    "diag_v2_c2": (f"ge.DiagV2({BIG})", HUGE),
    "trilu_c1": ("ge.Trilu(<3xf32>)", MATRIX),
    "trilu_c2": ("ge.Trilu(<3x3xf32>, k = <f32>)", f"k is DT_FLOAT, {INDEX}"),
    "trilu_c2_count": ("ge.Trilu(<3x3xf32>, k = <2xi64>)", "k is 2, expected one element"),
    "tril_c1": ("ge.Tril(<3xf32>)", MATRIX),
    "triu_c1": ("ge.Triu(<3xf32>)", MATRIX),
    "matrix_band_part_c1": ("ge.MatrixBandPart(<3xf32>, <i64>, <i64>)", MATRIX),
    "matrix_band_part_c2": (
        "ge.MatrixBandPart(<3x3xf32>, <i64>, <f32>)",
        f"num_upper is DT_FLOAT, {INDEX}",
    ),
    "matrix_band_part_c2_count": (
        "ge.MatrixBandPart(<3x3xf32>, <2xi64>, <i64>)",
        "num_lower is 2, expected one element",
    ),
    "eye_c1": ("ge.Eye() {num_rows = 0}", f"num_rows is 0, {COUNT}"),
    "eye_c2": (
        "ge.Eye() {num_rows = 2, batch_shape = [0]}",
        f"batch_shape entry is 0, {COUNT}",
    ),
    "eye_c3": (
        "ge.Eye() {num_rows = 2, dtype = 13}",
        "dtype is 13, expected GE's number of a numeric type",
    ),
    "eye_c4": ("ge.Eye() {num_rows = 1073741824}", HUGE),
    "fill_diagonal_c1": ("ge.FillDiagonal(<3xf32>) {fill_value = 1.0}", MATRIX),
    "fill_diagonal_c2": (
        "ge.FillDiagonal(<3x3x2xf32>) {fill_value = 1.0}",
        "x is 3x3x2, expected equal dimensions",
    ),
}
for op, more in (("", ""), ("D", ", <f32>")):
    for name, text, message in (
        ("Diag_c1", BIG, HUGE),
        ("DiagPart_c1", "<2x3x2xf32>", "x is 2x3x2, expected an even rank above 0"),
        ("DiagPart_c1_scalar", "<f32>", "x is scalar, expected an even rank above 0"),
        ("DiagPart_c2", "<2x3xf32>", "halves of the shape of x are 2 and 3, expected equal ones"),
        ("MatrixDiag_c1", "<f32>", "x is scalar, expected rank 1 or more"),
        ("MatrixDiag_c2", BIG, HUGE),
        ("MatrixDiagPart_c1", "<3xf32>", MATRIX),
        ("MatrixSetDiag_c1", "<3xf32>, <3xf32>", MATRIX),
        ("MatrixSetDiag_c2", "<3x3xf32>, <3xf16>", TWO_TYPES),
        (
            "MatrixSetDiag_c3",
            "<3x4xf32>, <4xf32>",
            "shapes of diagonal and of that of x are 4 and 3, expected equal ones",
        ),
    ):
        op_type, _, tail = name.partition("_")
        case = f"{snake(op_type + op)}_{tail}"
        DIAGONAL[case] = (f"ge.{op_type}{op}({text}{more})", message)

SQUARE = "rows and columns are 2 and 3, expected equal ones"
KIND = "is DT_INT32, expected a floating-point or complex type"
LINALG = {
    "trace_c1": ("ge.Trace(<2xf32>)", "x is 2, expected rank 2"),
    "trace_c2": (
        "ge.Trace(<2x2x!ge.element(DT_STRING)>)",
        "x is DT_STRING, expected numbers",
    ),
    "dot_c1": (
        "ge.Dot(<2xf32>, <3xf32>)",
        "shapes of input_x and input_y are 2 and 3, expected equal ones",
    ),
    "dot_c1_rank": ("ge.Dot(<2x1xf32>, <2xf32>)", "input_x is 2x1, expected rank 1"),
    "dot_c2": ("ge.Dot(<2xf32>, <2xf16>)", TWO_TYPES),
    "ger_c1": ("ge.Ger(<2xf32>, <2x1xf32>)", "x2 is 2x1, expected rank 1"),
    "ger_c2": ("ge.Ger(<2xf32>, <2xf16>)", TWO_TYPES),
    "ger_huge": (f"ge.Ger({BIG}, {BIG})", HUGE),
    "cross_c1": (
        "ge.Cross(<2x3xf32>, <3x3xf32>)",
        "shapes of x1 and x2 are 2x3 and 3x3, expected equal ones",
    ),
    "cross_c2": ("ge.Cross(<2x3xf32>, <2x3xf16>)", TWO_TYPES),
    "cross_c3": (
        "ge.Cross(<2x3xf32>, <2x3xf32>) {dim = 0}",
        "x1 is 2x3, expected 3 in dimension 0",
    ),
    "cross_c3_none": ("ge.Cross(<2x4xf32>, <2x4xf32>)", "x1 is 2x4, expected a dimension of 3"),
    "einsum_c1": (
        'ge.Einsum([<2x3xf32>]) {equation = "ij", N = 1}',
        "equation is 'ij', expected labels such as 'ij,jk->ik'",
    ),
    "einsum_c1_terms": (
        'ge.Einsum([<2x3xf32>]) {equation = "ij,jk->ik", N = 1}',
        "equation is 'ij,jk->ik', expected 1 terms before '->'",
    ),
    "einsum_c1_result": (
        'ge.Einsum([<2x3xf32>]) {equation = "ij->ik", N = 1}',
        "equation is 'ij->ik', expected each result label once before",
    ),
    "einsum_c2": (
        'ge.Einsum([<2x3xf32>, <3xf16>]) {equation = "ij,j->i", N = 2}',
        TWO_TYPES,
    ),
    "einsum_c3": (
        'ge.Einsum([<2x3x4xf32>]) {equation = "ij->i", N = 1}',
        "an operand is 2x3x4, expected labels 'ij'",
    ),
    "einsum_c4": (
        'ge.Einsum([<2x3xf32>, <4xf32>]) {equation = "ij,j->i", N = 2}',
        "sizes of 'j' are 3 and 4, expected equal ones",
    ),
    "einsum_c5": (
        'ge.Einsum([<2x3xf32>]) {equation = "ij->i", N = 2}',
        "has 1 operands, expected N = 2, at least 1",
    ),
    "l2_loss_c1": ("ge.L2Loss(<2xi32>)", REAL),
}
for op in ("MatrixDeterminant", "LogMatrixDeterminant", "Slogdet", "MatrixInverse", "Cholesky"):
    LINALG[f"{snake(op)}_c1"] = (f"ge.{op}(<2x2xi32>)", f"x {KIND}")
    LINALG[f"{snake(op)}_c2"] = (f"ge.{op}(<3xf32>)", MATRIX)
    LINALG[f"{snake(op)}_c3"] = (f"ge.{op}(<2x3xf32>)", SQUARE)
for op in ("MatrixSolve", "MatrixTriangularSolve"):
    name = snake(op)
    LINALG[f"{name}_c1"] = (f"ge.{op}(<2x2xi32>, <2x2xi32>)", f"matrix {KIND}")
    LINALG[f"{name}_c2"] = (f"ge.{op}(<3xf32>, <3x1xf32>)", MATRIX.replace("x", "matrix", 1))
    LINALG[f"{name}_c3"] = (f"ge.{op}(<2x3xf32>, <2x2xf32>)", SQUARE)
    LINALG[f"{name}_c4"] = (f"ge.{op}(<2x2xf32>, <2x2xf16>)", TWO_TYPES)
    LINALG[f"{name}_c5"] = (
        f"ge.{op}(<2x2xf32>, <3x1xf32>)",
        "sizes of matrix and rows of rhs are 2 and 3, expected equal ones",
    )
    LINALG[f"{name}_c5_rank"] = (
        f"ge.{op}(<2x2xf32>, <2xf32>)",
        "rhs is 2, expected rank 2 or more",
    )
    LINALG[f"{name}_c5_leading"] = (
        f"ge.{op}(<4x2x2xf32>, <5x2x1xf32>)",
        "leading shapes of matrix and rhs are 4 and 5, expected equal ones",
    )
for op in ("LpNorm", "LpNormV2"):
    LINALG[f"{snake(op)}_c1"] = (f"ge.{op}(<2x3xf32>) {{axes = [2]}}", AXIS)
    LINALG[f"{snake(op)}_c2"] = (f"ge.{op}(<2x3xi32>)", REAL)

STATISTICS = {
    "euclidean_norm_d_c1": ("ge.EuclideanNormD(<2x3xf32>) {axes = [2]}", AXIS),
    "reduce_mean_with_cast_c3": (
        "ge.ReduceMeanWithCast(<2x3xf32>, <0: i32>) {dtype = DT_STRING}",
        "dtype is DT_STRING, expected a numeric type",
    ),
    "square_sum_all_c1": ("ge.SquareSumAll(<2xi32>, <2xi32>)", REAL.replace("x", "x1", 1)),
    "square_sum_all_c1_types": ("ge.SquareSumAll(<2xf32>, <2xf16>)", TWO_TYPES),
    "square_sum_all_c2": (
        "ge.SquareSumAll(<2xf32>, <3xf32>)",
        "shapes of x1 and x2 are 2 and 3, expected equal ones",
    ),
}
for op in ("ReduceLogSum", "ReduceLogSumExp", "EuclideanNorm", "ReduceMeanWithCast"):
    STATISTICS[f"{snake(op)}_c1"] = (f"ge.{op}(<2x3xf32>, <f32>)", f"axes is DT_FLOAT, {INDEX}")
    STATISTICS[f"{snake(op)}_c1_rank"] = (
        f"ge.{op}(<2x3xf32>, <1x1xi32>)",
        "axes is 1x1, expected rank 1",
    )
    STATISTICS[f"{snake(op)}_c2"] = (f"ge.{op}(<2x3xf32>, <2: i32>)", AXIS)
    if "Log" in op:
        STATISTICS[f"{snake(op)}_c3"] = (f"ge.{op}(<2x3xi32>, <0: i32>)", REAL)
for op, attr in (
    ("SquareSumV1", "axis"),
    ("SquareSumV2", "axis"),
    ("ReduceMeanVariance", "axes"),
    ("ReduceStd", "dim"),
    ("ReduceStdV2", "dim"),
    ("ReduceVar", "dim"),
):
    STATISTICS[f"{snake(op)}_c1"] = (f"ge.{op}(<2x3xf32>) {{{attr} = [2]}}", AXIS)
    STATISTICS[f"{snake(op)}_c2"] = (f"ge.{op}(<2x3xi32>) {{{attr} = [0]}}", REAL)

FAMILIES = {"diagonal": DIAGONAL, "linalg": LINALG, "statistics": STATISTICS}
CASES = DIAGONAL | LINALG | STATISTICS


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
