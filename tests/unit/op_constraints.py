"""The numbered constraints that op classes state, and the cases that refuse a graph for each."""

import re

from op_text import check_refused

from ge_xdsl.dialects.ge.registry import op_class

_NUMBER = re.compile(r"\bC(\d+):")


def snake(op_type):
    """`TopKV2` -> `top_k_v2`"""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]|V\d)", "_", op_type)
    return words.lower()


def stated(op_type):
    """The constraints of an op: those of its class and of its bases, sorted."""
    docs = [vars(cls).get("__doc__") or "" for cls in op_class(op_type).__mro__]
    return sorted({int(n) for text in docs for n in _NUMBER.findall(text)})


def refuse(op, message):
    """`check_refused` with the number of results that the op has."""
    results = len(op_class(op.partition("(")[0].removeprefix("ge.")).prototype.outputs)
    check_refused(op, message, results=results)
