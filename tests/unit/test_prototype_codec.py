"""Python values to op attributes and back."""

import math

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    f64,
    i32,
    i64,
)

from ge_xdsl.dialects.ge.graph import ge_ops
from ge_xdsl.dialects.ge.prototype import (
    AttrSpec,
    decode,
    encode,
    has_kind,
    kind_of,
    normalize,
    round_f32,
)
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.weights import const_attr

VALUES = [
    ("Int", 3, 3),
    ("Int", -(2**63), -(2**63)),
    ("Float", 1, 1.0),
    ("Float", 0.1, round_f32(0.1)),
    ("Float", 1e39, math.inf),
    ("Bool", True, True),
    ("Bool", 0, False),
    ("String", 'a"\\\n', 'a"\\\n'),
    ("Type", DataType.DT_BF16, DataType.DT_BF16),
    ("Type", 3, DataType.DT_INT32),
    ("ListInt", [1, -2], (1, -2)),
    ("ListInt", [], ()),
    ("ListFloat", (1, 2.5), (1.0, 2.5)),
    ("ListBool", [True, False], (True, False)),
    ("ListString", ["a", ""], ("a", "")),
    ("ListType", [0, 1], (DataType.DT_FLOAT, DataType.DT_FLOAT16)),
    ("ListListInt", [[1, 2], []], ((1, 2), ())),
]


@pytest.mark.parametrize(("kind", "value", "decoded"), VALUES)
def test_round_trip(kind, value, decoded):
    attr = encode(kind, value)
    assert decode(attr) == decoded
    assert encode(kind, value) is attr
    assert has_kind(attr, kind)


def test_values_whose_text_does_not_tell_them_whole():
    import numpy as np

    low, high = np.arange(2000), np.arange(2000)
    high[1000] = -1  # in the part that numpy's text leaves out
    assert decode(encode("ListInt", low)) == tuple(range(2000))
    assert decode(encode("ListInt", high)) == (*range(1000), -1, *range(1001, 2000))
    assert decode(encode("ListListInt", [low, high]))[1][1000] == -1
    for count in range(1, 4):  # each generator may stand where the one before stood
        assert decode(encode("ListInt", (i for i in range(count)))) == tuple(range(count))
    assert encode("ListInt", low) is encode("ListInt", tuple(range(2000)))
    assert encode("String", np.str_("a")) is encode("String", "a")


WRONG = [
    ("Int", True, "is True, expected an integer"),
    ("Int", 1.5, "is 1.5, expected an integer"),
    ("Int", 2**63, "is 9223372036854775808, expected an integer of 64 bits"),
    ("Float", "1", "is '1', expected a number"),
    ("Float", True, "is True, expected a number"),
    ("Bool", 2, "is 2, expected true or false"),
    ("String", 1, "is 1, expected a string"),
    ("String", "\ud800", r"is '\\ud800', expected text that UTF-8 can hold"),
    ("Type", 5, "is 5, expected a data type such as DT_FLOAT"),
    ("Type", "DT_FLOAT", "is 'DT_FLOAT', expected a data type"),
    ("ListInt", 3, "is 3, expected a list of integers"),
    ("ListInt", "12", "is '12', expected a list of integers"),
    ("ListInt", [1, 2.5], r"is \[1, 2.5\], expected a list of integers"),
    ("ListListInt", [1], r"is \[1\], expected a list of lists of integers"),
    ("ListString", [1], r"is \[1\], expected a list of strings"),
    ("Tensor", 1, "is 1, expected a tensor"),
]


@pytest.mark.parametrize(("kind", "value", "text"), WRONG)
def test_wrong_kind(kind, value, text):
    with pytest.raises(ValueError, match=text):
        encode(kind, value)


def test_equal_values_of_other_kinds_do_not_mix():
    assert math.copysign(1, decode(encode("Float", -0.0))) == -1
    assert math.copysign(1, decode(encode("Float", 0.0))) == 1
    encode("ListInt", [1])
    with pytest.raises(ValueError, match="expected a list of integers"):
        encode("ListInt", [True])


NARROW = [
    ("Int", IntegerAttr(3, i32), 3),
    ("Float", FloatAttr(0.1, f64), 0.1),
    ("ListInt", DenseArrayBase.from_list(i32, [1, 2]), (1, 2)),
    ("ListFloat", DenseArrayBase.from_list(f64, [0.1]), (0.1,)),
]


@pytest.mark.parametrize(("kind", "attr", "value"), NARROW)
def test_numbers_of_another_width_normalize(kind, attr, value):
    assert normalize(kind, attr) is encode(kind, value)


def test_the_generic_form_reads_as_the_custom_one():
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = {} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}}
"""
    generic = '"ge.LeakyRelu"(%x) <{negative_slope = 0.1 : f64}>'
    ops = [
        next(ge_ops(parse_module(text.format(line))))
        for line in (generic, "ge.LeakyRelu(%x) {negative_slope = 0.1}")
    ]
    assert ops[0].properties == ops[1].properties


def test_defaults_are_what_is_stored():
    spec = AttrSpec("epsilon", "Float", False, 1e-7)
    assert spec.unset == round_f32(1e-7) != 1e-7
    assert AttrSpec("scales", "ListFloat", False, (0.1, 2.0)).unset == (round_f32(0.1), 2.0)


def test_generic_lists_normalize():
    generic = ArrayAttr([IntegerAttr(1, i64), IntegerAttr(2, i64)])
    assert has_kind(generic, "ListInt")
    assert normalize("ListInt", generic) is encode("ListInt", (1, 2))
    empty = ArrayAttr([])
    assert has_kind(empty, "ListString")
    assert not has_kind(empty, "Int")


def test_kinds():
    import numpy as np

    assert kind_of(const_attr(np.zeros(2, np.float32))) == "Tensor"
    assert kind_of(const_attr(np.zeros(1000, np.float32), "w")) == "Tensor"
    assert kind_of(UnitAttr()) is None
    assert kind_of(ArrayAttr([IntegerAttr(1, i64), UnitAttr()])) is None
