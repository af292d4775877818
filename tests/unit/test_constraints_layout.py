"""Constraints of TransData, and the shapes it infers from layouts."""

import pytest
from op_constraints import refuse
from op_text import module_of

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DYNAMIC, Format, Layout, tensor_of

KNOWN = "NCHW, NHWC, HWCN, ND, NC1HWC0, FRACTAL_Z, FRACTAL_NZ"


def text(operand, source, target, more=""):
    return f'ge.TransData({operand}) {{src_format = "{source}", dst_format = "{target}"{more}}}'


def pair(source, target):
    return (
        f"formats are '{source}' and '{target}', expected two of {KNOWN} that can be made of "
        "each other"
    )


CASES = {
    "trans_data_c1": (text("<2x3x4x5xf16>", "NCHW", "NDHWC"), pair("NCHW", "NDHWC")),
    "trans_data_c1_two_blocked": (
        text("<2x1x4x5x16xf16>", "NC1HWC0", "FRACTAL_NZ"),
        pair("NC1HWC0", "FRACTAL_NZ"),
    ),
    "trans_data_c1_nd": (text("<2x3x4x5xf16>", "ND", "NC1HWC0"), pair("ND", "NC1HWC0")),
    "trans_data_c2": (
        text("<2x3x4x5xf16>", "NCHW", "NC1HWC0", ", groups = 2"),
        "groups is 2, expected 1",
    ),
    "trans_data_c3": (text("<2x3xf16>", "NCHW", "NC1HWC0"), "src is 2x3, expected rank 4"),
    "trans_data_c3_blocked": (
        text("<2x3x4x5xf16>", "NC1HWC0", "NCHW"),
        "src is 2x3x4x5, expected rank 5",
    ),
    "trans_data_c3_matrix": (
        text("<3xf16>", "ND", "FRACTAL_NZ"),
        "src is 3, expected rank 2 or more",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])


@pytest.mark.parametrize(
    ("op", "shape", "layout"),
    [
        (
            text("<2x35x4x5xf16>", "NCHW", "NC1HWC0"),
            "2x3x4x5x16",
            Layout(Format.FORMAT_NC1HWC0, Format.FORMAT_NCHW, (2, 35, 4, 5)),
        ),
        (
            text("<2x35x?x5xi8>", "NCHW", "FRACTAL_Z"),
            "?x1x16x32",
            Layout(Format.FORMAT_FRACTAL_Z, Format.FORMAT_NCHW, (2, 35, DYNAMIC, 5)),
        ),
        (text("<*xf16>", "NCHW", "NC1HWC0"), "unknown rank", Layout()),
        (
            text("<2x3x4x5x16xf16>", "NC1HWC0", "NCHW"),
            "?x?x?x?",
            Layout(Format.FORMAT_NCHW, Format.FORMAT_NCHW),
        ),
        (
            text("<2x3x4x5x16xf16, #ge.layout(NC1HWC0, NCHW, [2, 35, 4, 5])>", "NC1HWC0", "NCHW"),
            "2x35x4x5",
            Layout(Format.FORMAT_NCHW, Format.FORMAT_NCHW),
        ),
        (text("<7x3x1x16x16xf16>", "FRACTAL_NZ", "ND"), "7x?x?", Layout()),
    ],
)
def test_inferred_shapes(op, shape, layout):
    module = parse_module(module_of(op, result_type="*xf16"))
    (found,) = (o for o in module.walk() if o.name == "ge.TransData")
    found.update_types()
    tensor = tensor_of(found.dst.type)
    assert shape_text(tensor.shape) == shape
    assert tensor.layout == layout
    verify(module)
    assert module_text(parse_module(module_text(module))) == module_text(module)
