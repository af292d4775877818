"""`ge.graph.types`: the enumerations of the graph API."""

from __future__ import annotations

from enum import IntEnum

from ge_xdsl.dialects.ge.types import DataType, Format

__all__ = ["AttrValueType", "DataType", "Format", "Placement"]


class Placement(IntEnum):
    """Where the bytes of a tensor are."""

    PLACEMENT_HOST = 0
    PLACEMENT_DEVICE = 1


class AttrValueType(IntEnum):
    """The kinds of attribute values, with GE's numbers."""

    VT_NONE = 0
    VT_STRING = 1
    VT_FLOAT = 2
    VT_BOOL = 3
    VT_INT = 4
    VT_TENSOR_DESC = 5
    VT_TENSOR = 6
    VT_BYTES = 7
    VT_GRAPH = 8
    VT_NAMED_ATTRS = 9
    VT_LIST_LIST_INT = 10
    VT_DATA_TYPE = 11
    VT_LIST_LIST_FLOAT = 12
    VT_LIST_BASE = 1000
    VT_LIST_STRING = 1001
    VT_LIST_FLOAT = 1002
    VT_LIST_BOOL = 1003
    VT_LIST_INT = 1004
    VT_LIST_TENSOR_DESC = 1005
    VT_LIST_TENSOR = 1006
    VT_LIST_BYTES = 1007
    VT_LIST_GRAPH = 1008
    VT_LIST_NAMED_ATTRS = 1009
    VT_LIST_DATA_TYPE = 1011
