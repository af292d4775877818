"""`ge.runtime`: the tensors that kernels and shape functions of custom ops are given.

They are classes of their own, as in GE; here they behave like those of `ge.graph`.
"""

from __future__ import annotations

from ge_xdsl.compat.ge.graph import tensor, tensor_desc

__all__ = ["Shape", "Tensor", "TensorDesc"]


class Shape(tensor_desc.Shape):
    """The dimensions of a tensor."""


class TensorDesc(tensor_desc.TensorDesc):
    """What is known of a tensor before it has values."""


class Tensor(tensor.Tensor):
    """A tensor with values."""
