"""What holds of every op with an accepted base form: unknown, empty and huge operands.

A shape that `infer` gives for what is partly known fits the one for all that is known; operands
without elements end in a result of the inferred shape or in a message of this project, never in
one of numpy's; results that would not fit in memory are refused before anything is computed.
"""

import traceback
from math import prod
from pathlib import Path

import numpy as np
import pytest
from op_bases import BASES
from xdsl.utils.exceptions import VerifyException

import ge_xdsl
from ge_xdsl.dialects.ge.limits import ELEMENT_LIMIT, check_sizes
from ge_xdsl.dialects.ge.op import constant_of, operand_tensors, set_type
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, compatible, numpy_dtype, tensor_of

PACKAGE = str(Path(ge_xdsl.__file__).parent)


def vaguer(tensor):
    """What may be known of a tensor before: one dimension less, none, no rank."""
    shape = tensor.shape
    for i in range(len(shape)):
        yield tensor.with_shape((*shape[:i], DYNAMIC, *shape[i + 1 :]))
    yield tensor.with_shape((DYNAMIC,) * len(shape))
    yield tensor.with_shape(None)


@pytest.mark.parametrize("op_type", BASES)
def test_unknown_dimensions_agree(op_type):
    op = BASES[op_type]()
    known = operand_tensors(op)
    exact = op.inferred(known)
    less = [[*known[:i], v, *known[i + 1 :]] for i, t in enumerate(known) for v in vaguer(t)]
    less.append([t.with_shape((DYNAMIC,) * len(t.shape)) for t in known])
    less.append([t.with_shape(None) for t in known])
    for tensors in less:
        found = op.inferred(tensors)
        assert len(found) == len(exact)
        for vague, sure in zip(found, exact, strict=True):
            assert compatible(vague, sure), f"{[t.shape for t in tensors]}: {vague} for {sure}"


def changed(op_type, change):
    """The op with changed dimensions of its operands that are no constants; None where `infer`
    refuses them or a constant would have to change."""
    op = BASES[op_type]()
    for value, tensor in zip(op.operands, operand_tensors(op), strict=True):
        shape = tuple(map(change, tensor.shape))
        if shape == tensor.shape:
            continue
        if constant_of(value) is not None:
            return None
        set_type(value, tensor.with_shape(shape).type)
    try:
        op.update_types()
    except VerifyException:
        return None
    return op


def sizes_of(op_type):
    return sorted({d for t in operand_tensors(BASES[op_type]()) for d in t.shape})


def operand_arrays(op):
    """Zeros for what is no constant; None for an element type that numpy lacks."""
    try:
        return [
            np.zeros(t.shape, numpy_dtype(t.dtype)) if (c := constant_of(v)) is None else c
            for v, t in zip(op.operands, operand_tensors(op), strict=True)
        ]
    except ValueError:
        return None


@pytest.mark.parametrize("op_type", BASES)
def test_operands_without_elements(op_type):
    for size in sizes_of(op_type):
        op = changed(op_type, lambda d, size=size: 0 if d == size else d)
        if op is None or not op.has_evaluate() or (arrays := operand_arrays(op)) is None:
            continue
        try:
            with np.errstate(all="ignore"):
                found = op.execute(arrays)
        except ValueError as error:
            raised = traceback.extract_tb(error.__traceback__)[-1].filename
            assert raised.startswith(PACKAGE), error
            continue
        for array, value in zip(found, op.results, strict=True):
            inferred = tensor_of(value.type)
            assert array.dtype == numpy_dtype(inferred.dtype)
            assert compatible(inferred, Tensor(inferred.dtype, array.shape))


@pytest.mark.parametrize("op_type", BASES)
def test_huge_operands(op_type):
    """Each dimension a million times larger, alone and together with the others."""
    for size in (None, *sizes_of(op_type)):
        op = changed(op_type, lambda d, size=size: d << 20 if size in (None, d) else d)
        if op is None:
            continue
        results = [tensor_of(value.type) for value in op.results]
        counts = [t.size() for t in results]
        arrays = [
            np.broadcast_to(np.zeros((), np.int8), t.shape)
            for t in operand_tensors(op)
            if prod(t.shape) < 1 << 60
        ]
        if len(arrays) < len(op.operands) or None in counts:
            continue
        if max(counts, default=0) > ELEMENT_LIMIT:
            with pytest.raises(ValueError, match=r"has \d+ elements, expected at most"):
                check_sizes(op, arrays)
        else:
            check_sizes(op, arrays)
