"""Every op with a base in `constraint_tables` and an attribute that names dimensions refuses one
that its operands do not have, from either end, with a message that says so."""

import pytest
from op_cases import changed, op_text, result_count
from op_text import module_of
from test_constraint_tables import BASES

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError

NAMES = ("axis", "axes", "dim", "dims", "dimension", "split_dim", "concat_dim", "seq_dim")
SHAPES = {("FillD", "dims"), ("FillV2D", "dims")}
"""What has one of those names and lists sizes."""
FREE = {("ConcatFromSequence", "axis"): "the rank of what stands behind a handle is not known"}
"""(op, attribute) -> why any number is accepted there."""


def walk():
    for op_type in BASES:
        for spec in op_class(op_type).prototype.attrs:
            if (op_type, spec.name) in SHAPES:
                continue
            if spec.name in NAMES and spec.kind in ("Int", "ListInt"):
                for place in (99, -99):
                    yield op_type, spec.name, [place] if spec.kind == "ListInt" else place


@pytest.mark.parametrize(("op_type", "name", "value"), list(walk()))
def test_a_dimension_that_is_not_there_is_refused(op_type, name, value):
    operands, attrs = changed(BASES[op_type], op_type, {name: value})
    text = module_of(op_text(op_type, operands, attrs), result_count(op_type, attrs))
    module = parse_module(text)
    if (op_type, name) in FREE:
        verify(module)
        return
    with pytest.raises(CompileError) as caught:
        verify(module)
    assert "99" in caught.value.message
    assert "expected" in caught.value.message
    assert caught.value.subject.startswith(f"ge.{op_type}")
