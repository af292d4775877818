"""ATen operator -> the function that converts it, by family file, imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

if TYPE_CHECKING:
    from ge_xdsl.importers.torch.builder import TorchBuilder
    from ge_xdsl.importers.torch.call import Call

Converter: TypeAlias = "Callable[[Call, TorchBuilder], SSAValue | Sequence[SSAValue | None]]"
"""Appends the GE ops of a call and returns its results, in order."""

FAMILIES: dict[str, str] = {
    "activation": (
        "_log_softmax _softmax celu elu gelu hardsigmoid hardswish hardtanh leaky_relu mish relu "
        "relu6 selu sigmoid silu softplus tanh"
    ),
    "arg": "argmax argmin",
    "bags": "_embedding_bag _embedding_bag_forward_only",
    "bitwise": (
        "__lshift__ __rshift__ bitwise_and bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor"
    ),
    "cast": "_to_copy alias clone contiguous convert_element_type detach lift_fresh_copy to",
    "compare": (
        "eq ge gt isfinite le logical_and logical_not logical_or logical_xor lt masked_fill ne "
        "where"
    ),
    "concat": "cat split split_with_sizes stack unbind",
    "conv": "convolution",
    "cumulative": "cumprod cumsum",
    "diagonal": "tril triu",
    "elementwise": (
        "add addcdiv addcmul atan2 clamp clamp_max clamp_min div floor_divide fmod maximum minimum "
        "mul pow remainder rsub sub"
    ),
    "distance": "_cdist_forward",
    "gather": "embedding gather index index_put index_select nonzero",
    "index": (
        "arange copy empty empty_like empty_strided fill full full_like new_full new_ones "
        "new_zeros ones ones_like scalar_tensor zeros zeros_like"
    ),
    "matmul": "addmm baddbmm bmm dot linear matmul mm mv",
    "norm": (
        "_native_batch_norm_legit _native_batch_norm_legit_functional "
        "_native_batch_norm_legit_no_training native_group_norm native_layer_norm"
    ),
    "pool": (
        "_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool2d avg_pool2d avg_pool3d "
        "max_pool2d_with_indices max_pool3d_with_indices"
    ),
    "rearrange": "flip pixel_shuffle roll",
    "reduce": "all amax amin any linalg_vector_norm max mean min prod std sum var var_mean",
    "resize": "grid_sampler_2d upsample_bilinear2d upsample_nearest2d",
    "scatter": "masked_scatter scatter scatter_add scatter_reduce select_scatter slice_scatter",
    "shape": (
        "_local_scalar_dense _reshape_copy _unsafe_view expand flatten permute repeat reshape "
        "squeeze sym_numel sym_size t transpose unsqueeze view"
    ),
    "slice": "constant_pad_nd select slice",
    "sort": "bucketize histc sort topk",
    "strided": "as_strided diagonal",
    "unary": (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor isinf isnan "
        "log log10 log1p log2 neg reciprocal round rsqrt sign sin sinh sqrt square tan trunc"
    ),
}
"""Family file -> the ATen operators it converts (all their overloads), space-separated."""

CONVERTERS: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
_LOADED: dict[str, Converter] = {}


def converter_of(base: str) -> Converter | None:
    """The converter of an operator, named without namespace and overload; None without one."""
    found = _LOADED.get(base)
    if found is None and base in CONVERTERS:
        module = import_module(f"ge_xdsl.importers.torch.{CONVERTERS[base]}")
        _LOADED.update(module.TABLE)
        found = _LOADED[base]
    return found
