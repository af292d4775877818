"""Every attribute of an op with values takes part in its shape or its values, or the op's docstring
says by name that it does not."""

import re
import types

import pytest

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class, typed_ops

FAMILY = "ge_xdsl.dialects.ge."
ROOTS = {cls.__name__ for cls in GeOp.__mro__}


def family_bases(cls):
    return [base for base in cls.__mro__ if base.__name__ not in ROOTS]


def strings(value):
    """The strings in a constant: itself, those of a tuple, a set or a dictionary."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, tuple | list | set | frozenset | dict):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return {text for part in parts for text in strings(part)}
    return set()


def functions_of(value):
    """The functions behind a class attribute."""
    if isinstance(value, property):
        return [value.fget]
    value = getattr(value, "__func__", value)
    return [value] if isinstance(value, types.FunctionType) else []


def names_in(code, names):
    """Names that the code reads, as attributes, globals or strings."""
    names |= {*code.co_names, *strings(code.co_consts)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names_in(constant, names)
    return names


def words_of(cls):
    """All names and strings in the methods of a class and of the functions that they reach."""
    found, seen, queue = set(), set(), []
    for base in family_bases(cls):
        for value in vars(base).values():
            found |= strings(value) if not isinstance(value, str) else set()
            queue += functions_of(value)
    while queue:
        function = queue.pop()
        if function in seen:
            continue
        seen.add(function)
        names = names_in(function.__code__, set())
        found |= names
        for name in sorted(names):
            value = function.__globals__.get(name)
            if isinstance(value, types.FunctionType) and value.__module__.startswith(FAMILY):
                queue.append(value)
            elif not isinstance(value, str):
                found |= strings(value)
    return found


def unread(op_type):
    words = words_of(op_class(op_type))
    return [spec.name for spec in op_class(op_type).prototype.attrs if spec.name not in words]


def described(op_type, name):
    docs = " ".join(base.__doc__ or "" for base in family_bases(op_class(op_type)))
    return re.search(rf"\b{name}\b", docs) is not None


VALUED = [op_type for op_type in typed_ops() if op_class(op_type).has_evaluate()]


@pytest.mark.parametrize("op_type", VALUED)
def test_each_attribute_is_read_or_said_to_do_nothing(op_type):
    assert [name for name in unread(op_type) if not described(op_type, name)] == []


def test_the_walk_tells_the_two_apart():
    assert unread("Elu") == []
    assert "is_preprocessed" in unread("GatherV2")
    assert not described("Elu", "is_preprocessed")
