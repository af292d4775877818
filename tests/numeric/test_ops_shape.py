"""Shape ops: onnxruntime or numpy against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, U8, assert_close, sample
from xdsl.dialects.builtin import IntegerAttr, i64

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

ANY = (F32, F16, BF16, I64, np.bool_)
INDICES = (I32, I64)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (-1, 2)),
        ((2, 3, 4), (24,)),
        ((1, 1), ()),
        ((), (1, 1)),
        ((0, 3), (3, 0)),
        ((0, 3), (-1, 3)),
    ],
)
def test_reshape(shape, wanted, dtype):
    x = sample("any", shape, dtype)
    for index in INDICES:
        assert_close(run("Reshape", x, np.array(wanted, index))[0], x.reshape(wanted))


@pytest.mark.parametrize(("wanted", "shape"), [((0, -1), (2, 12)), ((0, 0, 2, 2), (2, 3, 2, 2))])
def test_reshape_copies_zero_under_allowzero_0_as_onnx(wanted, shape):
    x, wanted = sample("any", (2, 3, 4), F32), np.array(wanted, I64)
    y = run("Reshape", x, wanted, node_attrs={"ge.allowzero": IntegerAttr(0, i64)})[0]
    assert y.shape == shape
    assert_close(y, onnx_outputs("Reshape", x, wanted)[0])


def test_reshape_infers_minus_one_beside_a_copied_unknown_dimension():
    x, wanted = sample("any", (2, 3, 4), F32), np.array([0, -1], I64)
    op = make("Reshape", (x, wanted), True, (), {"ge.allowzero": IntegerAttr(0, i64)})
    shape = Tensor(DataType.DT_INT64, (2,))
    [y] = op.inferred([Tensor(DataType.DT_FLOAT, (DYNAMIC, 3, 4)), shape])
    assert y.shape == (DYNAMIC, 12)


@pytest.mark.parametrize(
    ("axis", "num_axes", "wanted", "shape"),
    [
        (1, 1, (3, 1), (2, 3, 1, 4)),
        (1, -1, (-1,), (2, 12)),
        (0, 2, (6,), (6, 4)),
        (-1, 0, (1, 1), (2, 3, 4, 1, 1)),
        (-2, -1, (2, 2), (2, 3, 2, 2)),
    ],
)
def test_reshape_of_some_dimensions(axis, num_axes, wanted, shape):
    x = sample("any", (2, 3, 4), F32)
    y = run("Reshape", x, np.array(wanted, I64), axis=axis, num_axes=num_axes)[0]
    assert_close(y, x.reshape(shape))


@pytest.mark.parametrize("axis", range(-4, 5))
def test_flatten_as_onnx(axis):
    x = sample("any", (2, 3, 4, 5), F32)
    assert_close(run("Flatten", x, axis=axis)[0], onnx_outputs("Flatten", x, axis=axis)[0])


@pytest.mark.parametrize(
    ("axis", "end_axis", "shape"),
    [(1, -1, (2, 60)), (0, 1, (6, 4, 5)), (-3, -2, (2, 12, 5)), (2, 2, (2, 3, 4, 5))],
)
def test_flatten_v2(axis, end_axis, shape):
    x = sample("any", (2, 3, 4, 5), F32)
    assert_close(run("FlattenV2", x, axis=axis, end_axis=end_axis)[0], x.reshape(shape))


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("axes", [None, (0,), (-1, 0), (2,), (-3,)])
def test_squeeze_as_onnx(axes, dtype):
    x = sample("any", (1, 3, 1, 2, 1), dtype)
    operand = None if axes is None else np.array(axes, I64)
    expected = np.squeeze(x, axes)
    if dtype not in (F16, BF16):
        assert_close(expected, onnx_outputs("Squeeze", x, operand)[0])
    assert_close(run("Squeeze", x, axis=axes or ())[0], expected)
    assert_close(run("SqueezeV3", x, operand)[0], expected)


def test_squeeze_v3_with_an_empty_list():
    x = sample("any", (1, 3, 1), F32)
    assert_close(run("SqueezeV3", x, np.array([], I64))[0], x.reshape(3))


@pytest.mark.parametrize("axes", [(0,), (-1,), (0, 3), (-1, 1), (2, 0, 4)])
def test_unsqueeze_as_onnx(axes):
    x = sample("any", (2, 3), F32)
    expected = onnx_outputs("Unsqueeze", x, np.array(axes, I64))[0]
    assert_close(run("Unsqueeze", x, axes=axes)[0], expected)
    assert_close(run("UnsqueezeV3", x, np.array(axes, I64))[0], expected)
    if len(axes) == 1:
        for index in (np.array(axes[0], I32), np.array(axes, I64)):
            assert_close(run("ExpandDims", x, index)[0], expected)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 0, 1), (-1, 1, 0)])
def test_transpose(perm, dtype):
    x = sample("any", (2, 3, 4), dtype)
    for index in INDICES:
        assert_close(run("Transpose", x, np.array(perm, index))[0], np.transpose(x, perm))
    assert_close(run("TransposeD", x, perm=perm)[0], np.transpose(x, perm))


def test_a_scalar_perm_is_one_of_one_entry():
    x = np.arange(3, dtype=np.float32)
    assert_close(run("Transpose", x, np.array(0, np.int32))[0], x)


@pytest.mark.parametrize(("dtype", "found"), [(3, I32), (9, I64)])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3, 4)])
def test_shape_size_and_rank(shape, dtype, found):
    x = sample("any", shape, F32)
    assert_close(run("Shape", x, dtype=dtype)[0], np.array(shape, found))
    assert_close(run("Size", x, dtype=dtype)[0], np.array(x.size, found))
    assert_close(run("Rank", x)[0], np.array(len(shape), I32))


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(
    ("shape", "wanted"), [((3, 1), (2, 1, 6)), ((3, 1), (3, 4)), ((1,), (0, 2)), ((2, 3), (1, 3))]
)
def test_expand_as_onnx(shape, wanted, dtype):
    x, wanted = sample("any", shape, dtype), np.array(wanted, I64)
    expected = x * np.ones(wanted, x.dtype) if dtype is not np.bool_ else x & np.ones(wanted, bool)
    if dtype not in (F16, BF16):
        assert_close(expected, onnx_outputs("Expand", x, wanted)[0])
    assert_close(run("Expand", x, wanted)[0], expected)


def test_expand_keeps_dimensions_at_minus_one():
    x = sample("any", (2, 3), F32)
    y = run("Expand", x, np.array([4, -1, -1], I64))[0]
    assert_close(y, np.broadcast_to(x, (4, 2, 3)))


@pytest.mark.parametrize(
    ("shape", "wanted", "found"),
    [((3, 1), (2, 3, 4), (2, 3, 4)), ((3, 1), (-1, -1, 5), (1, 3, 5)), ((), (2,), (2,))],
)
def test_broadcast_to(shape, wanted, found):
    x = sample("any", shape, F32)
    assert_close(run("BroadcastTo", x, np.array(wanted, I32))[0], np.broadcast_to(x, found))


@pytest.mark.parametrize("dtype", [F32, BF16, U8])
@pytest.mark.parametrize("multiples", [(2, 1), (1, 3), (0, 2), (2, 1, 3), (2,)])
def test_tile(multiples, dtype):
    x = sample("any", (2, 3), dtype)
    expected = np.tile(x, multiples)
    if len(multiples) == 2 and dtype is not BF16:
        assert_close(expected, onnx_outputs("Tile", x, np.array(multiples, I64))[0])
    assert_close(run("Tile", x, np.array(multiples, I64))[0], expected)
