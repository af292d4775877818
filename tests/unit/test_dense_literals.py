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
from ge_xdsl.dialects.ge.text import GeContext, GeParser, module_text, parse_module
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


def long_literals():
    """Literals that are long enough to be read at once, and near misses of them."""
    rng = np.random.default_rng(0)
    floats = [f"{v:.6e}" for v in rng.standard_normal(120)]
    ints = [str(v) for v in rng.integers(-100, 100, 120)]
    rows = "[" + ", ".join(f"[{', '.join(floats[k : k + 12])}]" for k in range(0, 120, 12)) + "]"
    flat = f"[{', '.join(floats)}]"
    yield rows, "tensor<10x12xf32>"
    yield rows, "tensor<10x12xf64>"
    yield rows, "tensor<10x12xf16>"
    yield rows, "tensor<12x10xf32>"  # another shape
    yield rows, "tensor<120xf32>"
    yield flat, "tensor<120xbf16>"
    yield flat, "tensor<120xi32>"  # no integers
    yield flat, "tensor<121xf32>"
    yield flat, "tensor<1x120xf32>"
    yield flat.replace(", ", ",\n  "), "tensor<120xf32>"
    yield flat.replace(floats[7], "1.0e+39"), "tensor<120xf32>"
    yield flat.replace(floats[7], "1.0e+05"), "tensor<120xf16>"
    yield flat.replace(floats[7], "3"), "tensor<120xf32>"
    yield flat.replace(floats[7], ""), "tensor<120xf32>"
    yield flat.replace(floats[7], "1.0 2.0"), "tensor<120xf32>"
    yield flat.replace(floats[7], "- 1.0"), "tensor<120xf32>"
    yield flat.replace(floats[7], "1.e5"), "tensor<120xf32>"
    yield flat.replace(floats[7], "+1.0"), "tensor<120xf32>"
    yield flat.replace(floats[7], "[1.0]"), "tensor<120xf32>"
    for kind in ("i8", "i16", "i32", "i64", "ui8", "ui32", "i1", "index"):
        yield f"[{', '.join(ints * 4)}]", f"tensor<480x{kind}>"
    for kind in ("i8", "i64", "ui64"):
        yield f"[{', '.join(['200', '9223372036854775807'] * 100)}]", f"tensor<200x{kind}>"
    yield f"[{', '.join(['-0'] * 400)}]", "tensor<400xi32>"
    yield f"[{', '.join(['-0.0'] * 400)}]", "tensor<400xf32>"
    yield f"[{', '.join(['007'] * 400)}]", "tensor<400xi32>"
    yield f"[{', '.join(['0.1e5'] * 300)}]", "vector<300xf32>"


LONG = list(long_literals())


@pytest.mark.parametrize(("literal", "kind"), LONG, ids=[f"{k}-{c[1]}" for k, c in enumerate(LONG)])
def test_long_literals_are_read_as_the_stock_parser_reads_them(literal, kind):
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError

    text = f"dense<{literal}> : {kind}"
    try:
        stock = Parser(GeContext(), text).parse_attribute()
    except ParseError as error:
        stock = error.msg
    except (ValueError, OverflowError) as error:
        stock = type(error).__name__
    try:
        ours = GeParser(GeContext(), text).parse_attribute()
    except ParseError as error:
        ours = error.msg
    except (ValueError, OverflowError) as error:
        ours = type(error).__name__
    assert ours == stock


def test_a_million_elements_are_read_at_once(monkeypatch):
    """The general parser, which makes an object of each element, is not asked."""
    monkeypatch.setattr(GeParser, "_parse_tensor_literal_element", None)
    text = ", ".join(["1.5", "-2.5e-3"] * 500_000)
    parser = GeParser(GeContext(), f"dense<[{text}]> : tensor<1000000xf32>")
    array = np.frombuffer(parser.parse_attribute().data.data, np.float32)
    np.testing.assert_array_equal(array[:2], np.array([1.5, -2.5e-3], np.float32))
    assert array.size == 1_000_000
