"""torch's own samples for the ops it shares with GE, and torch's results as the witness.

`op_db` holds for each torch function the inputs that torch tests it with: scalars, empty and
broadcast shapes, strides, extreme dtypes. Integer inputs of functions that give floats are left
out, since GE's ops give back the type they got.
"""

import functools
import itertools
import sys
import types
import unittest

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, assert_close

from ge_xdsl.dialects.ge.prototypes import prototype_of

torch = pytest.importorskip("torch", reason="torch is the witness of these tests")

SAMPLES = 3
"""The most samples of one op and dtype."""
ELEMENTS = 500
"""The largest operand: what is above only repeats the shape."""

LOOKED_AT = 24
"""How many samples of an op are made at all."""

FLOATS = ("f32", "f16", "bf16")
NUMBERS = (*FLOATS, "i32")
ALL = (*NUMBERS, "bool")

UNARY = {
    "abs": ("Abs", NUMBERS), "acos": ("Acos", FLOATS), "acosh": ("Acosh", FLOATS),
    "asin": ("Asin", FLOATS), "asinh": ("Asinh", FLOATS), "atan": ("Atan", FLOATS),
    "atanh": ("Atanh", FLOATS), "ceil": ("Ceil", FLOATS), "cos": ("Cos", FLOATS),
    "cosh": ("Cosh", FLOATS), "erf": ("Erf", FLOATS), "erfc": ("Erfc", FLOATS),
    "erfinv": ("Erfinv", FLOATS), "exp": ("Exp", FLOATS), "expm1": ("Expm1", FLOATS),
    "floor": ("Floor", FLOATS), "log": ("Log", FLOATS), "log1p": ("Log1p", FLOATS),
    "logical_not": ("LogicalNot", ("bool",)), "neg": ("Neg", NUMBERS),
    "reciprocal": ("Reciprocal", FLOATS), "rsqrt": ("Rsqrt", FLOATS),
    "sigmoid": ("Sigmoid", FLOATS), "sign": ("Sign", NUMBERS), "sin": ("Sin", FLOATS),
    "sinh": ("Sinh", FLOATS), "sqrt": ("Sqrt", FLOATS), "square": ("Square", NUMBERS),
    "tan": ("Tan", FLOATS), "tanh": ("Tanh", FLOATS), "trunc": ("Trunc", FLOATS),
    "isnan": ("IsNan", FLOATS), "isinf": ("IsInf", FLOATS), "isfinite": ("IsFinite", FLOATS),
    "bitwise_not": ("Invert", ("i32",)), "sinc": ("Sinc", FLOATS),
    "nn.functional.relu": ("Relu", NUMBERS), "nn.functional.relu6": ("Relu6", FLOATS),
    "nn.functional.selu": ("Selu", FLOATS), "nn.functional.softsign": ("Softsign", FLOATS),
    "nn.functional.mish": ("Mish", FLOATS), "nn.functional.hardswish": ("HardSwish", FLOATS),
    "nn.functional.logsigmoid": ("LogSigmoid", FLOATS), "nn.functional.silu": ("Swish", FLOATS),
}  # fmt: skip
BINARY = {
    "add": ("Add", NUMBERS), "sub": ("Sub", NUMBERS), "mul": ("Mul", NUMBERS),
    "maximum": ("Maximum", NUMBERS), "minimum": ("Minimum", NUMBERS),
    "atan2": ("Atan2", FLOATS), "pow": ("Pow", FLOATS), "eq": ("Equal", ALL),
    "ne": ("NotEqual", ALL), "gt": ("Greater", NUMBERS), "ge": ("GreaterEqual", NUMBERS),
    "lt": ("Less", NUMBERS), "le": ("LessEqual", NUMBERS), "logical_and": ("LogicalAnd", ("bool",)),
    "logical_or": ("LogicalOr", ("bool",)), "bitwise_and": ("BitwiseAnd", ("i32",)),
    "bitwise_or": ("BitwiseOr", ("i32",)), "bitwise_xor": ("BitwiseXor", ("i32",)),
    "xlogy": ("Xlogy", FLOATS), "true_divide": ("RealDiv", FLOATS), "gcd": ("Gcd", ("i32",)),
    "remainder": ("FloorMod", NUMBERS), "floor_divide": ("FloorDiv", ("i32",)),
}  # fmt: skip
REDUCTIONS = {
    "sum": ("ReduceSumD", FLOATS), "mean": ("ReduceMeanD", FLOATS), "amax": ("ReduceMaxD", NUMBERS),
    "amin": ("ReduceMinD", NUMBERS), "all": ("ReduceAllD", ("bool",)),
    "any": ("ReduceAnyD", ("bool",)),
}  # fmt: skip
ROUGH = {"erfinv": 64, "acosh": 8, "sinh": 8, "cosh": 8, "tan": 16, "pow": 16, "sinc": 16}
"""Name -> how many times the usual tolerance, where both sides approximate."""


@functools.cache
def database():
    """Name -> OpInfo.

    torch's test package derives its test case from expecttest's, which the samples do not need.
    """
    stand_in = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    sys.modules.setdefault("expecttest", stand_in)
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name: op for op in op_db if not op.variant_test_name}


def torch_type(name):
    return {
        "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32,
        "bool": torch.bool,
    }[name]  # fmt: skip


def array(tensor):
    """A numpy array of a tensor; bf16 goes through its bits."""
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BF16)
    return tensor.contiguous().numpy()


def samples(name, dtype):
    """Samples whose tensors are few and small, and no other arguments than those."""
    torch.manual_seed(3)
    op = database()[name]
    if torch_type(dtype) not in op.dtypes:
        pytest.skip(f"torch has no {name} of {dtype} here")
    found = op.sample_inputs("cpu", torch_type(dtype), requires_grad=False)
    first = itertools.islice(found, LOOKED_AT)
    chosen = [s for s in first if isinstance(s.input, torch.Tensor) and s.input.numel() <= ELEMENTS]
    return op, chosen


def pairs(table):
    return [(name, dtype) for name, (_, dtypes) in table.items() for dtype in dtypes]


def check(found, expected, name):
    """Equal to torch's result within the tolerance of the type."""
    expected = array(expected)
    with np.errstate(all="ignore"):
        assert_close(found, expected.astype(found.dtype), scale=4 * ROUGH.get(name, 1))


@pytest.mark.parametrize(("name", "dtype"), pairs(UNARY))
def test_unary(name, dtype):
    op, chosen = samples(name, dtype)
    plain = [s for s in chosen if not s.args and not s.kwargs][:SAMPLES]
    assert plain
    for sample in plain:
        (y,) = run(UNARY[name][0], array(sample.input))
        check(y, op.op(sample.input), name)


@pytest.mark.parametrize(("name", "dtype"), pairs(BINARY))
def test_binary(name, dtype):
    op, chosen = samples(name, dtype)
    tried = 0
    for sample in chosen:
        other = sample.args[0] if len(sample.args) == 1 else None
        same = isinstance(other, torch.Tensor) and other.dtype == sample.input.dtype
        if not same or sample.kwargs or other.numel() > ELEMENTS or tried == SAMPLES:
            continue
        if dtype == "i32" and name in ("remainder", "floor_divide") and (other == 0).any():
            continue
        (y,) = run(BINARY[name][0], array(sample.input), array(other))
        check(y, op.op(sample.input, other), name)
        tried += 1
    assert tried


@pytest.mark.parametrize(("name", "dtype"), pairs(REDUCTIONS))
def test_reduction(name, dtype):
    op, chosen = samples(name, dtype)
    tried = 0
    for sample in chosen:
        dims = sample.kwargs.get("dim", sample.args[0] if sample.args else None)
        if set(sample.kwargs) - {"dim", "keepdim"} or len(sample.args) > 1 or tried == SAMPLES:
            continue
        if sample.input.ndim == 0 or dims is None or dims == ():
            continue
        axes = [dims] if isinstance(dims, int) else list(dims)
        keeps = bool(sample.kwargs.get("keepdim", False))
        (y,) = run(REDUCTIONS[name][0], array(sample.input), axes=axes, keep_dims=keeps)
        check(y, op.op(sample.input, *sample.args, **sample.kwargs), name)
        tried += 1
    assert tried


@pytest.mark.parametrize("table", [UNARY, BINARY, REDUCTIONS])
def test_every_row_names_a_ge_op_and_a_torch_op(table):
    for name, (op_type, _) in table.items():
        assert name in database()
        assert prototype_of(op_type) is not None
