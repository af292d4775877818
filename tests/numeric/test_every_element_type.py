"""Every element type with values: graphs print, parse and run, constants and casts keep them."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor, dtype_of_numpy, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program


def has_values(dtype):
    try:
        return numpy_dtype(dtype) != np.dtype(object)
    except ValueError:
        return False


TYPES = [dtype for dtype in DataType if has_values(dtype)]
VALUES = [0, 1, 0, 1, 1, 0]
"""What even the smallest types hold."""


def drawn(dtype):
    """Small numbers that the type holds exactly."""
    plain = numpy_dtype(dtype)
    if dtype in (DataType.DT_BOOL, DataType.DT_UINT1) or plain.itemsize == 1:
        return np.array(VALUES, np.float32).reshape(2, 3).astype(plain)
    array = np.array([0, 1, 2, 3, 4, 8]).reshape(2, 3).astype(plain)
    return array + plain.type(1j) if plain.kind == "c" else array


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.name)
def test_values_print_parse_and_run(dtype):
    array = drawn(dtype)
    tensor = Tensor(dtype, (2, 3)).type
    text = (
        f"func.func @main(%x: {tensor}) -> {tensor} {{\n"
        f"  %y = ge.Identity(%x) : ({tensor}) -> {tensor}\n"
        f"  func.return %y : {tensor}\n}}"
    )
    module = parse_module(text)
    verify(module)
    printed = module_text(module)
    again = parse_module(printed)
    assert module_text(again) == printed
    func = main_function(again)
    for found in (run_function(func, {"x": array}), Program(func).run({"x": array})):
        assert found[0].dtype == array.dtype
        assert found[0].tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.name)
def test_constants_keep_their_bytes(dtype):
    array = drawn(dtype)
    constant = ConstOp.build(value=const_attr(array))
    [found] = constant.execute([])
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()
    assert tensor_of(constant.y.type) == Tensor(dtype_of_numpy(array.dtype), (2, 3))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.name)
def test_casts_there_and_back(dtype):
    array = drawn(dtype)
    wide = DataType.DT_COMPLEX128 if array.dtype.kind == "c" else DataType.DT_DOUBLE
    there, back = Tensor(wide, (2, 3)).type, Tensor(dtype, (2, 3)).type
    text = (
        f"func.func @main(%x: {back}) -> ({there}, {back}) {{\n"
        f"  %y = ge.Cast(%x) {{dst_type = {int(wide)}}} : ({back}) -> {there}\n"
        f"  %z = ge.Cast(%y) {{dst_type = {int(dtype)}}} : ({there}) -> {back}\n"
        f"  func.return %y, %z : {there}, {back}\n}}"
    )
    func = main_function(parse_module(text))
    y, z = run_function(func, {"x": array})
    plain = array.astype(np.float32) if array.dtype.kind not in "fciub" else array
    np.testing.assert_array_equal(y, plain.astype(numpy_dtype(wide)))
    assert z.tobytes() == array.tobytes()
