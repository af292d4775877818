"""Lower one op, run its tile program and hold it against `evaluate`."""

import numpy as np
from lowering_check import CHIP
from op_runs import SHAPING, _flat, make
from op_witness import read_only
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.types import dtype_of_numpy
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.compare import THRESHOLD, accept
from ge_xdsl.lowering import lower
from ge_xdsl.targets import target


def module_of(op):
    """A graph of one op (and the constants before it), its other operands the inputs."""
    block = op.parent
    types = [arg.type for arg in block.args]
    for i, arg in enumerate(block.args):
        arg.name_hint = f"x{i}"
    block.add_op(ReturnOp(*op.results))
    op.node_name = "op"
    func = FuncOp("main", (types, [r.type for r in op.results]), Region(block))
    func.attributes["ge.input_names"] = ArrayAttr([StringAttr(f"x{i}") for i in range(len(types))])
    return ModuleOp([func])


def check_op(
    op_type, *inputs, counts=(), known=(), why="", exact=False, chip=CHIP, checked=False,
    near=False, **attrs,
):  # fmt: skip
    """The report of the op's tile program, whose results must be those of `evaluate`.

    `known`: operands that are constants beside those that `infer` reads. With `why` the op must
    stay a whole-tensor call with a reason in which that stands. `checked`: no kernel reads what
    was not written. `near`: codes may be one apart in one place of a hundred. No kernel is faster
    than its bound.
    """
    names = SHAPING | set(known)
    op = make_with(op_type, inputs, names, counts, attrs)
    arrays = [np.asarray(a) for item in inputs if item is not None for a in _flat(item)]
    with np.errstate(all="ignore"):
        wanted = op.execute([read_only(a) for a in arrays])
    free = [a for a, v in zip(arrays, op.operands, strict=True) if constant_of(v) is None]
    module = module_of(op)
    verify(module)
    lowered = lower(module, chip)
    verify(lowered)
    check(lowered, target(chip))
    given = {f"x{i}": a for i, a in enumerate(free)}
    got, report = aicore.run(lowered, given, chip, checked=checked)
    if why:
        assert list(report.calls) == [op_type]
        (reasons,) = report.reasons.values()
        assert why in "; ".join(reasons)
    else:
        assert not report.calls, report.reasons
        assert report.timed + report.views >= 1 or not report.kernels
    for kernel in report.kernels:
        assert kernel.roofline_us <= kernel.us * (1 + 1e-9), kernel.name
    for g, w in zip(got, wanted, strict=True):
        if near and w.dtype.kind in "iu":
            check_near(g, w)
        else:
            check_equal(g, w, exact)
    return report


def check_near(got, wanted):
    """Codes of numbers that two ways to sum give a little apart."""
    assert got.dtype == wanted.dtype
    apart = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= max(1, apart.size // 100)


def make_with(op_type, inputs, names, counts, attrs):
    import op_runs

    kept, op_runs.SHAPING = op_runs.SHAPING, names
    try:
        return make(op_type, inputs, True, counts, None, attrs)
    finally:
        op_runs.SHAPING = kept


def check_equal(got, wanted, exact=False):
    """Equal, or within the acceptance rule of the element type."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    kind = dtype_of_numpy(wanted.dtype)
    if exact or kind not in THRESHOLD:
        np.testing.assert_array_equal(got, wanted)
        return
    result = accept(got, wanted)
    assert result.mere < THRESHOLD[kind], result.text
    assert result.plain or wanted.dtype.name == "bfloat16", result.text
