"""Computing in f32 what half floats cannot hold, as one fused kernel does."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.cast import CastOp
from ge_xdsl.dialects.ge.types import HALVES, DataType
from ge_xdsl.rewrites.support import Emitter, tensor


def float_problem(value: SSAValue) -> str:
    """Why a value cannot be computed with here, '' for f16, bf16, f32 and f64."""
    dtype = tensor(value).dtype
    if dtype in HALVES or dtype in (DataType.DT_FLOAT, DataType.DT_DOUBLE):
        return ""
    return f"x is {dtype.name}, expected a floating-point type"


def to_type(emit: Emitter, value: SSAValue, dtype: DataType) -> SSAValue:
    """`value` in an element type, through a Cast where it has another one."""
    return value if tensor(value).dtype == dtype else emit(CastOp, value, dst_type=int(dtype))


def widened(dtype: DataType) -> DataType:
    """The type that values of `dtype` are computed in: f32 for half floats."""
    return DataType.DT_FLOAT if dtype in HALVES else dtype
