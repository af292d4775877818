"""Simplifications: they fire, decline near misses with a reason, and keep the numbers."""

import numpy as np
import pytest
from rewrite_case import check_declines, check_fires, graph, rewrite, types_of

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.rule import Rule
from ge_xdsl.rewrites.catalog import simplify_rules
from ge_xdsl.rewrites.simplify.cast import LOSSLESS, RemoveCastRoundTrip, RemoveCastToSame
from ge_xdsl.rewrites.simplify.idempotent import IDEMPOTENT, RemoveIdempotent
from ge_xdsl.rewrites.simplify.identity import RemoveIdentity
from ge_xdsl.rewrites.simplify.neutral import RemoveNeutral
from ge_xdsl.rewrites.simplify.reshape import VIEWS, ComposeReshapes, RemoveNoopReshape
from ge_xdsl.rewrites.simplify.transpose import ComposeTransposes, RemoveIdentityTranspose


def const(name: str, value: str, kind: str) -> str:
    return f"{name} = Const() {{value = dense<{value}> : tensor<{kind}>}} : {kind}"


X = "x: 2x3x4xf32"
P201, P120 = const("p", "[2, 0, 1]", "3xi64"), const("q", "[1, 2, 0]", "3xi64")
P102 = const("q", "[1, 0, 2]", "3xi64")
S24, S64 = const("s", "[24]", "1xi64"), const("t", "[6, -1]", "2xi64")


def two(first: str, second: str, returns: str = "z") -> str:
    return graph(X, f"{first}\n{second}", returns)


FIRES: dict[str, tuple[Rule, str, list[str]]] = {
    "identity": (RemoveIdentity(), graph(X, "y = Identity(x) : 2x3x4xf32", "y"), []),
    "identity_chain": (
        RemoveIdentity(),
        two("y = Identity(x) : 2x3x4xf32", "z = Identity(y) : 2x3x4xf32", "z, y"),
        [],
    ),
    "identity_dynamic": (
        RemoveIdentity(),
        graph("x: ?x3xf32", "y = Identity(x) : ?x3xf32", "y"),
        [],
    ),
    "cast_same": (RemoveCastToSame(), graph(X, "y = Cast(x) {dst_type = 0} : 2x3x4xf32", "y"), []),
    "cast_back": (
        RemoveCastRoundTrip(),
        graph(
            "x: 2x3xf16",
            "y = Cast(x) {dst_type = 0} : 2x3xf32\nz = Cast(y) {dst_type = 1} : 2x3xf16",
            "z",
        ),
        [],
    ),
    "cast_back_shared": (
        RemoveCastRoundTrip(),
        graph(
            "x: 2x3xi8",
            "y = Cast(x) {dst_type = 3} : 2x3xi32\nz = Cast(y) {dst_type = 2} : 2x3xi8",
            "z, y",
        ),
        ["Cast"],
    ),
    "transpose_none": (
        RemoveIdentityTranspose(),
        graph(X, f"{const('p', '[0, 1, 2]', '3xi32')}\ny = Transpose(x, p) : 2x3x4xf32", "y"),
        [],
    ),
    "transpose_negative": (
        RemoveIdentityTranspose(),
        graph(X, "y = TransposeD(x) {perm = [0, 1, -1]} : 2x3x4xf32", "y"),
        [],
    ),
    "transposes": (
        ComposeTransposes(),
        graph(
            X,
            f"{P201}\n{P102}\ny = Transpose(x, p) : 4x2x3xf32\nz = Transpose(y, q) : 2x4x3xf32",
            "z",
        ),
        ["Transpose"],
    ),
    "transposes_shared": (
        ComposeTransposes(),
        graph(
            X,
            f"{P201}\n{P102}\ny = Transpose(x, p) : 4x2x3xf32\nz = Transpose(y, q) : 2x4x3xf32",
            "z, y",
        ),
        ["Transpose", "Transpose"],
    ),
    "transposes_mixed": (
        ComposeTransposes(),
        graph(
            X,
            f"{P201}\ny = Transpose(x, p) : 4x2x3xf32\n"
            "z = TransposeD(y) {perm = [1, 0, 2]} : 2x4x3xf32",
            "z",
        ),
        ["TransposeD"],
    ),
    "transposes_three": (
        ComposeTransposes(),
        graph(
            X,
            "y = TransposeD(x) {perm = [1, 0, 2]} : 3x2x4xf32\n"
            "z = TransposeD(y) {perm = [2, 0, 1]} : 4x3x2xf32\n"
            "w = TransposeD(z) {perm = [0, 2, 1]} : 4x2x3xf32",
            "w",
        ),
        ["TransposeD"],
    ),
    "reshape_same": (
        RemoveNoopReshape(),
        graph(X, f"{const('s', '[2, 3, 4]', '3xi64')}\ny = Reshape(x, s) : 2x3x4xf32", "y"),
        [],
    ),
    "flatten_same": (RemoveNoopReshape(), graph("x: 2x3xf32", "y = Flatten(x) : 2x3xf32", "y"), []),
    "reshapes": (
        ComposeReshapes(),
        graph(X, f"{S24}\n{S64}\ny = Reshape(x, s) : 24xf32\nz = Reshape(y, t) : 6x4xf32", "z"),
        ["Reshape"],
    ),
    "reshapes_shared": (
        ComposeReshapes(),
        graph(X, f"{S24}\n{S64}\ny = Reshape(x, s) : 24xf32\nz = Reshape(y, t) : 6x4xf32", "z, y"),
        ["Reshape", "Reshape"],
    ),
    "reshape_of_squeeze": (
        ComposeReshapes(),
        graph(
            "x: 1x6x4xf32",
            f"{S24}\ny = Squeeze(x) {{axis = [0]}} : 6x4xf32\nz = Reshape(y, s) : 24xf32",
            "z",
        ),
        ["Reshape"],
    ),
    "add_zero": (
        RemoveNeutral(),
        graph(X, f"{const('c', '0.0', '4xf32')}\ny = Add(x, c) : 2x3x4xf32", "y"),
        [],
    ),
    "zero_add": (
        RemoveNeutral(),
        graph("x: 2xi32", f"{const('c', '0', 'i32')}\ny = Add(c, x) : 2xi32", "y"),
        [],
    ),
    "sub_zero": (
        RemoveNeutral(),
        graph(X, f"{const('c', '0.0', '1x3x1xf32')}\ny = Sub(x, c) : 2x3x4xf32", "y"),
        [],
    ),
    "mul_one": (
        RemoveNeutral(),
        graph(X, f"{const('c', '1.0', '2x3x4xf32')}\ny = Mul(x, c) : 2x3x4xf32", "y"),
        [],
    ),
    "one_mul": (
        RemoveNeutral(),
        graph("x: 2xf16", f"{const('c', '1.0', 'f16')}\ny = Mul(c, x) : 2xf16", "y"),
        [],
    ),
    "div_one": (
        RemoveNeutral(),
        graph(X, f"{const('c', '1.0', 'f32')}\ny = RealDiv(x, c) : 2x3x4xf32", "y"),
        [],
    ),
}
for _type in IDEMPOTENT:
    _case = two(f"y = {_type}(x) : 2x3x4xf32", f"z = {_type}(y) : 2x3x4xf32")
    FIRES[f"twice_{_type}"] = (RemoveIdempotent(), _case, [_type])


@pytest.mark.parametrize("case", FIRES)
def test_fires(case: str):
    rule, text, left = FIRES[case]
    assert types_of(check_fires(text, [rule])) == left


ORDER = (
    "%q0 = ge.Neg(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>\n"
    "ge.control_edge(%y, %q0) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> ()\nfunc.return"
)
DECLINES: dict[str, tuple[Rule, str, str]] = {
    "identity_ordered": (
        RemoveIdentity(),
        graph(X, "y = Identity(x) : 2x3x4xf32", "y").replace("func.return", ORDER),
        "ge.Identity 'y' is at a control edge, expected none",
    ),
    "identity_refines": (
        RemoveIdentity(),
        graph("x: ?xf32", "y = Identity(x) : 3xf32", "y"),
        "operand is tensor<?xf32>, expected the type of the result, tensor<3xf32>",
    ),
    "cast_other": (
        RemoveCastToSame(),
        graph(X, "y = Cast(x) {dst_type = 1} : 2x3x4xf16", "y"),
        "x is DT_FLOAT, expected DT_FLOAT16",
    ),
    "cast_refines": (
        RemoveCastToSame(),
        graph("x: ?xf32", "y = Cast(x) {dst_type = 0} : 3xf32", "y"),
        "operand is tensor<?xf32>, expected the type of the result",
    ),
    "cast_narrow": (
        RemoveCastRoundTrip(),
        graph(
            X,
            "y = Cast(x) {dst_type = 1} : 2x3x4xf16\nz = Cast(y) {dst_type = 0} : 2x3x4xf32",
            "z",
        ),
        "DT_FLOAT16 has not every value of DT_FLOAT",
    ),
    "cast_onwards": (
        RemoveCastRoundTrip(),
        graph(
            "x: 2xf16",
            "y = Cast(x) {dst_type = 0} : 2xf32\nz = Cast(y) {dst_type = 3} : 2xi32",
            "z",
        ),
        "the casts lead to DT_INT32, expected DT_FLOAT16",
    ),
    "cast_once": (
        RemoveCastRoundTrip(),
        graph(X, "y = Cast(x) {dst_type = 1} : 2x3x4xf16", "y"),
        "x is no Cast, expected one",
    ),
    "cast_ordered": (
        RemoveCastRoundTrip(),
        graph(
            X,
            "y = Cast(x) {dst_type = 11} : 2x3x4xf64\nz = Cast(y) {dst_type = 0} : 2x3x4xf32",
            "z",
        ).replace("func.return", ORDER.replace("(tensor<2x3x4xf32>, t", "(tensor<2x3x4xf64>, t")),
        "the inner Cast is at a control edge, expected none",
    ),
    "transpose_moves": (
        RemoveIdentityTranspose(),
        graph("x: 3x3xf32", f"{const('p', '[1, 0]', '2xi64')}\ny = Transpose(x, p) : 3x3xf32", "y"),
        "perm is [1, 0], expected the identity",
    ),
    "transpose_unknown": (
        RemoveIdentityTranspose(),
        graph("x: 3x3xf32, p: 2xi64", "y = Transpose(x, p) : 3x3xf32", "y"),
        "perm is not constant, expected a constant one",
    ),
    "transpose_ordered": (
        RemoveIdentityTranspose(),
        graph(X, "y = TransposeD(x) {perm = [0, 1, 2]} : 2x3x4xf32", "y").replace(
            "func.return", ORDER
        ),
        "ge.TransposeD 'y' is at a control edge, expected none",
    ),
    "transpose_of_input": (
        ComposeTransposes(),
        graph(X, f"{P201}\ny = Transpose(x, p) : 4x2x3xf32", "y"),
        "operand is no transpose, expected one",
    ),
    "transpose_inner_unknown": (
        ComposeTransposes(),
        graph(
            "x: 3x3xf32, p: 2xi64",
            "y = Transpose(x, p) : ?x?xf32\nz = TransposeD(y) {perm = [1, 0]} : ?x?xf32",
            "z",
        ),
        "inner perm is not constant, expected a constant one",
    ),
    "transposes_ordered": (
        ComposeTransposes(),
        graph(
            X,
            "y = TransposeD(x) {perm = [0, 1, 2]} : 2x3x4xf32\n"
            "z = TransposeD(y) {perm = [1, 0, 2]} : 3x2x4xf32",
            "z",
        ).replace("func.return", ORDER),
        "a transpose is at a control edge, expected none",
    ),
    "reshape_other": (
        RemoveNoopReshape(),
        graph(X, f"{S24}\ny = Reshape(x, s) : 24xf32", "y"),
        "operand is tensor<2x3x4xf32>, expected the type of the result, tensor<24xf32>",
    ),
    "reshape_dynamic": (
        RemoveNoopReshape(),
        graph("x: ?x?xf32, s: 2xi64", "y = Reshape(x, s) : ?x?xf32", "y"),
        "shape is ?x?, expected a static one",
    ),
    "reshape_of_input": (
        ComposeReshapes(),
        graph(X, f"{S24}\ny = Reshape(x, s) : 24xf32", "y"),
        "operand is no reshape, expected one",
    ),
    "reshape_part": (
        ComposeReshapes(),
        graph(
            X,
            f"{S64}\n{const('u', '[2, 2]', '2xi64')}\ny = Reshape(x, t) : 6x4xf32\n"
            "z = Reshape(y, u) {axis = 1} : 6x2x2xf32",
            "z",
        ),
        "axis is 1 and num_axes -1, expected 0 and -1",
    ),
    "reshape_copies": (
        ComposeReshapes(),
        graph(
            X,
            f"{S64}\n{const('u', '[0, 2, 2]', '3xi64')}\ny = Reshape(x, t) : 6x4xf32\n"
            "z = Reshape(y, u) {ge.allowzero = 0 : i64} : 6x2x2xf32",
            "z",
        ),
        "a 0 in shape copies a dimension, expected none",
    ),
    "reshapes_ordered": (
        ComposeReshapes(),
        graph(
            X,
            f"{S24}\n{const('u', '[2, 3, 4]', '3xi64')}\n{S64}\ny = Reshape(x, u) : 2x3x4xf32\n"
            "z = Reshape(y, t) : 6x4xf32",
            "z",
        ).replace("func.return", ORDER),
        "a reshape is at a control edge, expected none",
    ),
    "reshape_format": (
        ComposeReshapes(),
        graph(
            "x: 1x6x4x1xf32,#ge.layout<NCHW>",
            f"{S24}\n{S64}\ny = Reshape(x, s) : 24xf32\nz = Reshape(y, t) : 6x4xf32",
            "z",
        ),
        "an operand is not in format ND, expected ND",
    ),
    "relu_of_other": (
        RemoveIdempotent(),
        two("y = Relu(x) : 2x3x4xf32", "z = Relu6(y) : 2x3x4xf32"),
        "operand is no Relu6, expected one",
    ),
    "round_differs": (
        RemoveIdempotent(),
        two("y = Round(x) {decimals = 1} : 2x3x4xf32", "z = Round(y) : 2x3x4xf32"),
        "attributes of the two differ, expected equal ones",
    ),
    "relu_ordered": (
        RemoveIdempotent(),
        two("w = Relu(x) : 2x3x4xf32", "y = Relu(w) : 2x3x4xf32", "y").replace(
            "func.return", ORDER
        ),
        "ge.Relu 'y' is at a control edge, expected none",
    ),
    "add_one": (
        RemoveNeutral(),
        graph(X, f"{const('c', '1.0', 'f32')}\ny = Add(x, c) : 2x3x4xf32", "y"),
        "constant of scalar is not all 0",
    ),
    "mul_mostly_one": (
        RemoveNeutral(),
        graph(X, f"{const('c', '[1.0, 1.0, 1.0, 0.5]', '4xf32')}\ny = Mul(x, c) : 2x3x4xf32", "y"),
        "constant of 4 is not all 1",
    ),
    "mul_unknown": (
        RemoveNeutral(),
        graph("x: 2xf32, c: 2xf32", "y = Mul(x, c) : 2xf32", "y"),
        "no operand is constant, expected 1",
    ),
    "zero_minus": (
        RemoveNeutral(),
        graph("x: 2xf32", f"{const('c', '0.0', '2xf32')}\ny = Sub(c, x) : 2xf32", "y"),
        "no operand is constant, expected 0",
    ),
    "add_widens_shape": (
        RemoveNeutral(),
        graph("x: 4xf32", f"{const('c', '0.0', '2x4xf32')}\ny = Add(x, c) : 2x4xf32", "y"),
        "operand is tensor<4xf32>, expected the type of the result, tensor<2x4xf32>",
    ),
    "mul_widens_type": (
        RemoveNeutral(),
        graph("x: 4xf16", f"{const('c', '1.0', 'f32')}\ny = Mul(x, c) : 4xf32", "y"),
        "operand is tensor<4xf16>, expected the type of the result, tensor<4xf32>",
    ),
    "add_dynamic": (
        RemoveNeutral(),
        graph("x: ?xf32", f"{const('c', '0.0', '1xf32')}\ny = Add(x, c) : ?xf32", "y"),
        "shape is ?, expected a static one",
    ),
    "mul_bool": (
        RemoveNeutral(),
        graph("x: 4xi1", f"{const('c', 'true', 'i1')}\ny = Mul(x, c) : 4xi1", "y"),
        "x is DT_BOOL, expected numbers",
    ),
    "add_ordered": (
        RemoveNeutral(),
        graph(X, f"{const('c', '0.0', 'f32')}\ny = Add(x, c) : 2x3x4xf32", "y").replace(
            "func.return", ORDER
        ),
        "ge.Add 'y' is at a control edge, expected none",
    ),
}


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str):
    rule, text, reason = DECLINES[case]
    check_declines(text, [rule], reason)


def test_large_constants_are_not_looked_through():
    text = graph(
        "x: 70000xf32", f"{const('c', '0.0', '70000xf32')}\ny = Add(x, c) : 70000xf32", "y"
    )
    check_declines(text, [RemoveNeutral()], "constant has 70000 elements, expected at most 65536")


def test_zero_sum_keeps_the_sign_of_zero():
    """What the rule's docstring says: -0.0 + 0.0 is 0.0, without the sum it stays -0.0."""
    text = graph("x: 2xf32", f"{const('c', '0.0', '2xf32')}\ny = Add(x, c) : 2xf32", "y")
    after, _ = rewrite(text, [RemoveNeutral()])
    (y,) = run_function(main_function(after), {"x": np.array([-0.0, 1.0], np.float32)})
    assert list(np.signbit(y)) == [True, False]
    assert list(y) == [0.0, 1.0]


def test_composed_perm_gets_a_name_of_its_own():
    text = FIRES["transposes"][1].replace("%p", "%z_perm")
    after, _ = rewrite(text, [ComposeTransposes()])
    assert [op.node_name for op in ge_ops(main_function(after))] == ["z_perm_0", "z"]


@pytest.mark.parametrize(("narrow", "wide"), sorted(LOSSLESS))
def test_lossless_pairs_keep_every_value(narrow: DataType, wide: DataType):
    """All values of types up to 16 bits, a sample of the others, there and back."""
    few, many = numpy_dtype(narrow), numpy_dtype(wide)
    bits = np.arange(1 << 16, dtype=np.uint16)
    if few.itemsize > 2:
        rng = np.random.default_rng(0)
        bits = rng.integers(0, 1 << 32, 10_000, dtype=np.uint64).astype(f"u{few.itemsize}")
    values = (
        np.array([False, True])
        if narrow is DataType.DT_BOOL
        else bits.astype(f"u{few.itemsize}").view(few)
    )
    with np.errstate(all="ignore"):
        back = values.astype(many).astype(few)
        assert ((back == values) | (values != values)).all()


def test_all_rules_together():
    """Everything cancels, over several rounds, and the output keeps its place."""
    text = graph(
        "x: 2x3xf32",
        f"{const('c', '0.0', 'f32')}\n{const('s', '[6]', '1xi64')}\n"
        f"{const('t', '[2, 3]', '2xi64')}\n"
        "a = Identity(x) : 2x3xf32\nb = TransposeD(a) {perm = [1, 0]} : 3x2xf32\n"
        "d = Add(b, c) : 3x2xf32\ne = TransposeD(d) {perm = [1, 0]} : 2x3xf32\n"
        "f = Reshape(e, s) : 6xf32\ng = Cast(f) {dst_type = 11} : 6xf64\n"
        "h = Cast(g) {dst_type = 0} : 6xf32\ni = Reshape(h, t) : 2x3xf32\n"
        "j = Relu(i) : 2x3xf32\nk = Relu(j) : 2x3xf32",
        "k, i",
    )
    after = check_fires(text, simplify_rules())
    assert types_of(after) == ["Relu"]


def test_views_keep_row_major_order():
    """What ComposeReshapes rests on: each view's value is its operand's elements in order."""
    calls = {
        "Reshape": "Reshape(x, s) : 24xf32",
        "Flatten": "Flatten(x) : 1x24xf32",
        "FlattenV2": "FlattenV2(x) {axis = 0, end_axis = -1} : 24xf32",
        "Squeeze": "Squeeze(x) : 6x4xf32",
        "SqueezeV3": "SqueezeV3(x) : 6x4xf32",
        "Unsqueeze": "Unsqueeze(x) {axes = [0]} : 1x1x6x4xf32",
        "UnsqueezeV3": "UnsqueezeV3(x, a) : 1x1x6x4xf32",
        "ExpandDims": "ExpandDims(x, a) : 1x1x6x4xf32",
    }
    assert set(calls) == set(VIEWS)
    for call in calls.values():
        body = f"{S24}\n{const('a', '[0]', '1xi64')}\ny = {call}"
        module, _ = rewrite(graph("x: 1x6x4xf32", body, "y"), [RemoveIdentity()])
        x = np.arange(24, dtype=np.float32).reshape(1, 6, 4)
        (y,) = run_function(main_function(module), {"x": x})
        assert list(y.ravel()) == list(range(24)), call
