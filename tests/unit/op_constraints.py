"""The numbered constraints that op classes state, and the cases that refuse a graph for each."""

import re

from op_text import check_refused

from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.registry import op_class

_NUMBER = re.compile(r"\bC(\d+):")


def snake(op_type):
    """`TopKV2` -> `top_k_v2`"""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]|V\d)", "_", op_type)
    return words.lower()


def stated(op_type):
    """The constraints of an op: those of its class, else of the nearest base that has some."""
    for cls in op_class(op_type).__mro__:
        found = _NUMBER.findall(vars(cls).get("__doc__") or "")
        if found:
            return [int(n) for n in found]
    return []


def missing(family, cases):
    """The constraints of a family's ops that no case `<op>_c<n>` or `<op>_c<n>_...` refuses."""
    found = {m.group(0) for name in cases if (m := re.match(r".*?_c\d+(?=_|$)", name))}
    return [
        f"{snake(op)}_c{n}"
        for op in FAMILIES[family].split()
        for n in stated(op)
        if f"{snake(op)}_c{n}" not in found
    ]


def refuse(op, message):
    """`check_refused` with the number of results that the op has."""
    results = len(op_class(op.partition("(")[0].removeprefix("ge.")).prototype.outputs)
    check_refused(op, message, results=results)
