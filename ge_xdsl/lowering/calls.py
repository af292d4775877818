"""Op types that no kernel and no expansion is for, and why: they run as whole-tensor calls."""

from __future__ import annotations

VALUES = "the shape of the result is known only once the values are, and the host allocates it"
ORDER = "each step needs the one before it: the host's work"
RANDOM = "random numbers come from a generator of the host, whose stream a kernel has to reproduce"
HOST = "the order of steps is the host's"
LINK = "it goes over the links between chips, which are no part of a core"
COMPILE = "worked out when the graph is compiled"
BYTES = "no instruction gives the bytes of an element another type"
COMPLEX = "tiles have no complex numbers"
FEEDS = "it feeds the graph, so that it runs no instruction"
WORDS = "sequences are looked up in a pool, as the host does"
REGIONS = "values tell how many elements each maximum is of"

RANDOM_TYPES = (
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"),
    *("RandomShuffle", "Multinomial", "DropOutGenMask", "StatelessDropOutGenMask"),
    *("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessBernoulli"),
    "StatelessBernoulliV2",
)
"""Op types that draw random numbers."""

CALLS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("NonZero", "Where", "Unique", "UniqueConsecutive", "UniqueExt2", "UniqueWithCounts"),
            *("UniqueWithCountsAndSorting", "UniqueWithCountsExt2", "MaskedSelect", "ListDiff"),
            *("MaskedSelectV2", "DynamicPartition", "Range", "NonMaxSuppression"),
            *("NonMaxSuppressionV2", "NonMaxSuppressionV3", "DynSeqOuter", "SegmentMax"),
            *("SegmentSum", "SparseSegmentMean"),
        ),
        VALUES,
    ),
    **dict.fromkeys(
        (
            *("NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionV6", "Cholesky"),
            *("CombinedNonMaxSuppression", "MatrixDeterminant", "LogMatrixDeterminant", "Slogdet"),
            *("MatrixInverse", "MatrixSolve", "MatrixTriangularSolve"),
        ),
        ORDER,
    ),
    **dict.fromkeys(RANDOM_TYPES, RANDOM),
    **dict.fromkeys(("Enter", "Exit", "NextIteration", "LoopCond"), HOST),
    "TfIdfVectorizer": WORDS,
    "ROIPooling": REGIONS,
    **dict.fromkeys(
        (
            *("HcomAllGather", "HcomAllReduce", "HcomAllToAll", "HcomBroadcast", "HcomReduce"),
            "HcomReduceScatter",
        ),
        LINK,
    ),
    **dict.fromkeys(
        ("Shape", "Size", "Rank", "GatherShapes", "ContinuationIndicator"),
        COMPILE,
    ),
    "Complex": COMPLEX,
    **dict.fromkeys(("Bitcast", "TransQuantParamV2"), BYTES),
    **dict.fromkeys(("Const", "Constant", "Data", "RefData", "Variable", "NoOp"), FEEDS),
}
"""Op type -> why it is a call. One that gets a lowering needs no reason any more."""


def reason_of_call(op_type: str, why: str) -> str:
    """`why` an op has no kernel, and what keeps its type from having one."""
    known = CALLS.get(op_type)
    return why if known is None else f"{why}: {known}"
