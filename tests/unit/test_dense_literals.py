"""Constants that the text of a module holds: infinities and NaN are written as their bits."""

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import Tensor, dtype_of_numpy
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.errors import CompileError


def text_of(array):
    """The module of a function that gives a constant, as text."""
    const = ConstOp.create(
        result_types=(Tensor(dtype_of_numpy(array.dtype), array.shape).type,),
        properties={"value": const_attr(array, "c")},
    )
    block = Block([const, ReturnOp(const.results[0])])
    return module_text(ModuleOp([FuncOp("main", ([], [const.results[0].type]), Region(block))]))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (1,), (2, 2)])
def test_infinities_and_nan_read_back(dtype, shape):
    values = np.array([-np.inf, np.nan, np.inf, 1.5])[: max(int(np.prod(shape)), 1)]
    array = values.reshape(shape).astype(dtype)
    (const,) = ge_ops(main_function(parse_module(text_of(array))))
    found = constant_of(const.results[0])
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found.astype("f8"), array.astype("f8"))


def test_hexadecimal_integers_are_numbers():
    text = text_of(np.array([16, 255], np.int32)).replace("[16, 255]", "[0x10, 0xFF]")
    (const,) = ge_ops(main_function(parse_module(text)))
    np.testing.assert_array_equal(constant_of(const.results[0]), [16, 255])


def test_bits_that_a_type_does_not_have_are_refused():
    text = text_of(np.array([-np.inf, 1], np.float32)).replace("0xff800000", "0x1ff800000")
    with pytest.raises(CompileError, match=r"0x1ff800000 is no f32, expected 4 bytes"):
        parse_module(text)
