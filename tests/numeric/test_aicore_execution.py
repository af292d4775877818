"""Kernels for all tiles at once against checked runs core by core; instructions by formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering_check import arrays_for, graph

import ge_xdsl as gx
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.paths import CopyUbUbOp, FillOp
from ge_xdsl.dialects.aicore.pick import VcompactOp, ViotaOp
from ge_xdsl.dialects.aicore.vector import VscalarOp, VunaryOp
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.aicore import LoweredProgram
from ge_xdsl.interpreters.tiles import cut_scale, to_hf32
from ge_xdsl.lowering import lower

CHIP = "Ascend910B1"
RNG = np.random.default_rng(0)


def both(text):
    """The outputs of the fast and of the checked run of a graph, and the kernels of the fast."""
    module = parse_module(text)
    lowered = lower(module, CHIP)
    arrays = arrays_for(main_function(module))
    fast = LoweredProgram(lowered, CHIP)
    slow = LoweredProgram(lowered, CHIP, checked=True)
    return fast.run(arrays), slow.run(arrays), fast


def assert_same(text, *, all_at_once=True):
    """Equal bit by bit without products, else but for the order in which BLAS adds."""
    fast, slow, program = both(text)
    cube = any(kernel.core == "cube" for kernel in program.kernels.values())
    for a, b in zip(fast, slow, strict=True):
        if cube:
            scale = np.abs(b.astype(np.float32)).max()
            assert np.abs(a.astype(np.float32) - b.astype(np.float32)).max() <= 1e-5 * scale
        else:
            np.testing.assert_array_equal(a, b)
    if all_at_once:
        assert {name: k.why for name, k in program.ready.items() if k.why} == {}


def windows(stride, groups):
    pads = "pads = [1, 1, 1, 1], dilations = [1, 1, 1, 1]"
    more = f'groups = {groups}, data_format = "NCHW"'
    return f"{{strides = [1, 1, {stride}, {stride}], {pads}, {more}}}"


CONV, DEPTH = windows(2, 1), windows(1, 20)
KERNEL = 'ksize = [1, 1, 3, 3], padding_mode = "CALCULATED"'
POOL = f"{{{KERNEL}, strides = [1, 1, 2, 2], pads = [1, 1, 1, 1]}}"
GRAPHS = {
    "add": graph(["y = ge.Add(a, b) -> 130x70xf32"], "y", a="130x70xf32", b="130x70xf32"),
    "broadcast": graph(["y = ge.Mul(a, b) -> 130x70xf16"], "y", a="130x70xf16", b="70xf16"),
    "chain": graph(
        [
            "t = ge.Exp(a) -> 50x33xf32",
            "u = ge.Add(t, b) -> 50x33xf32",
            "y = ge.Relu(u) -> 50x33xf32",
        ],
        "y",
        a="50x33xf32",
        b="50x1xf32",
    ),
    "bf16": graph(["y = ge.Sub(a, b) -> 40x48xbf16"], "y", a="40x48xbf16", b="40x48xbf16"),
    "softmax": graph(["y = ge.SoftmaxV2(a) {axes = [-1]} -> 37x129xf32"], "y", a="37x129xf32"),
    "sum": graph(
        ["y = ge.ReduceSumD(a) {axes = [0], keep_dims = false} -> 129xf32"], "y", a="37x129xf32"
    ),
    "turn": graph(["y = ge.TransposeD(a) {perm = [2, 0, 1]} -> 24x3x40xf16"], "y", a="3x40x24xf16"),
    "matmul": graph(["y = ge.MatMulV2(a, b) -> 130x70xf32"], "y", a="130x200xf32", b="200x70xf32"),
    "turned": graph(
        ["y = ge.BatchMatMulV2(a, b) {adj_x2 = true} -> 3x40x70xf16"],
        "y",
        a="3x40x100xf16",
        b="3x70x100xf16",
    ),
    "conv": graph(
        [f"y = ge.Conv2D(a, b) {CONV} -> 2x24x10x9xf16"], "y", a="2x20x20x17xf16", b="24x20x3x3xf16"
    ),
    "depthwise": graph(
        [f"y = ge.Conv2D(a, b) {DEPTH} -> 1x20x13x17xf32"],
        "y",
        a="1x20x13x17xf32",
        b="20x1x3x3xf32",
    ),
    "bytes": graph(
        ["t = ge.Cast(a) {dst_type = 0} -> 40x48xf32", "y = ge.Mul(t, b) -> 40x48xf32"],
        "y",
        a="40x48xi8",
        b="40x1xf32",
    ),
    "wide integers": graph(["y = ge.Add(a, b) -> 40x48xi64"], "y", a="40x48xi64", b="48xi64"),
    "compare": graph(["y = ge.Less(a, b) -> 40x48xi1"], "y", a="40x48xf32", b="40x48xf32"),
    "floor": graph(["y = ge.Floor(a) -> 40x48xf32"], "y", a="40x48xf32"),
    "largest": graph(
        ["y = ge.ArgMaxD(a) {dimension = 1, dtype = 3} -> 40xi32"], "y", a="40x48xf32"
    ),
    "running sum": graph(["y = ge.CumsumD(a) {axis = 0} -> 40x48xf32"], "y", a="40x48xf32"),
    "pool": graph([f"y = ge.MaxPoolV3(a) {POOL} -> 1x20x7x9xf32"], "y", a="1x20x13x17xf32"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_all_tiles_at_once_as_core_by_core(name):
    assert_same(GRAPHS[name])


@settings(max_examples=25, deadline=None)
@given(
    dims=st.tuples(*[st.integers(1, 150)] * 3),
    element=st.sampled_from(["f16", "f32", "bf16"]),
    turned=st.tuples(st.booleans(), st.booleans()),
)
def test_products_of_any_shape(dims, element, turned):
    m, k, n = dims
    a = f"{k}x{m}x{element}" if turned[0] else f"{m}x{k}x{element}"
    b = f"{n}x{k}x{element}" if turned[1] else f"{k}x{n}x{element}"
    flags = f"transpose_x1 = {str(turned[0]).lower()}, transpose_x2 = {str(turned[1]).lower()}"
    text = graph([f"y = ge.MatMulV2(a, b) {{{flags}}} -> {m}x{n}x{element}"], "y", a=a, b=b)
    fast, slow, _ = both(text)
    for x, y in zip(fast, slow, strict=True):
        x, y = x.astype(np.float32), y.astype(np.float32)
        # one rounding of the result, where sums of k products differ in their last bits
        step = {"f16": 2**-10, "bf16": 2**-7, "f32": 0}[element]
        assert (np.abs(x - y) <= step * np.abs(y) + k * 2.0**-19).all()


@settings(max_examples=25, deadline=None)
@given(
    dims=st.lists(st.integers(1, 70), min_size=1, max_size=3),
    kept=st.integers(0, 7),
    op=st.sampled_from(["Add", "Mul", "Maximum", "Sub"]),
    element=st.sampled_from(["f16", "f32", "bf16", "i32"]),
)
def test_chains_of_any_shape(dims, kept, op, element):
    whole = "x".join(map(str, dims))
    part = "x".join("1" if kept >> i & 1 else str(dim) for i, dim in enumerate(dims))
    lines = [f"t = ge.{op}(a, b) -> {whole}x{element}", f"y = ge.Add(t, a) -> {whole}x{element}"]
    assert_same(graph(lines, "y", a=f"{whole}x{element}", b=f"{part}x{element}"))


# Instructions that no lowering needs, by formula


def vector(element, shape, body, out=None, inputs=1, result=None):
    """Run a vector kernel that makes y of its inputs, fast and checked."""
    k = gx.kernel("k")
    xs = [k.input(f"x{i}", shape, element) for i in range(inputs)]
    y = k.output("y", out or shape, result or element)
    rows, cols = shape
    tiles = [k.load(x[0:rows, 0:cols]) for x in xs]
    made = body(k, *tiles)
    high, wide = out or shape
    k.store(made, y[0:high, 0:wide])
    program = k.build()

    def run(*arrays):
        (fast,) = program.run(*arrays).values()
        (slow,) = program.run(*arrays, checked=True).values()
        np.testing.assert_array_equal(fast, slow)
        return fast

    return run


def put(k, op, out, sizes=(16, 32)):
    k.add(op)
    return k.wrote(out, sizes)


def ub(k, element="f32"):
    return k.alloc((16, 32), element, "ub")


A, B, C = (RNG.standard_normal((16, 32)).astype(np.float32) for _ in range(3))
FUSED = {
    "muladddst": lambda a, b, c: a * b + c,
    "muladd": lambda a, b, c: a * c + b,
    "muladdrelu": lambda a, b, c: np.maximum(a * c + b, 0),
    "addrelu": lambda a, b, c: np.maximum(a + b, 0),
    "subrelu": lambda a, b, c: np.maximum(a - b, 0),
}


@pytest.mark.parametrize("kind", FUSED)
def test_fused_instructions(kind):
    run = vector("f32", (16, 32), lambda k, a, b, c: k.fused(kind, a, b, c), inputs=3)
    np.testing.assert_array_equal(run(A, B, C), FUSED[kind](A, B, C))


def scalar(k, kind, value, x, out):
    return put(k, VscalarOp.build(x.value, out.value, sizes=(16, 32), kind=kind, value=value), out)


def test_leaky_relu_and_sums_of_products_with_a_number():
    run = vector("f32", (16, 32), lambda k, x: scalar(k, "lrelu", 0.25, x, ub(k)))
    np.testing.assert_array_equal(run(A), np.where(A < 0, A * np.float32(0.25), A))
    run = vector("f32", (16, 32), lambda k, x, y: scalar(k, "axpy", 3.0, x, y), inputs=2)
    np.testing.assert_array_equal(run(A, B), A * np.float32(3) + B)


def test_bits_of_integers():
    x = RNG.integers(-300, 300, (16, 32)).astype(np.int16)
    z = RNG.integers(-300, 300, (16, 32)).astype(np.int16)
    run = vector("i16", (16, 32), lambda k, x: scalar(k, "shl", 3.0, x, ub(k, "i16")))
    np.testing.assert_array_equal(run(x), x << 3)
    run = vector("i16", (16, 32), lambda k, x: scalar(k, "shr", 2.0, x, ub(k, "i16")))
    np.testing.assert_array_equal(run(x), x >> 2)

    def nots(k, x):
        out = ub(k, "i16")
        return put(k, VunaryOp.build(x.value, out.value, sizes=(16, 32), kind="not"), out)

    np.testing.assert_array_equal(vector("i16", (16, 32), nots)(x), ~x)
    for kind, formula in (("and", np.bitwise_and), ("or", np.bitwise_or)):
        run = vector(
            "i16", (16, 32), lambda k, a, b, kind=kind: k._binary(kind, a, b, None), inputs=2
        )
        np.testing.assert_array_equal(run(x, z), formula(x, z))


def test_counting_and_picking():
    def count(k, x):
        out = ub(k)
        return put(k, ViotaOp.build(out.value, sizes=(16, 32), start=5.0, step=-0.5), out)

    want = np.broadcast_to(5 - 0.5 * np.arange(32, dtype=np.float32), (16, 32))
    np.testing.assert_array_equal(vector("f32", (16, 32), count)(A), want)

    def pick(k, x):
        out, mask = ub(k), k.compare("gt", x, 0.0)
        tiles = (x.value, mask.value, out.value)
        return put(k, VcompactOp.build(*tiles, sizes=(16, 32)), out)

    rows = [np.concatenate([row[row > 0], np.zeros((row <= 0).sum())]) for row in A]
    np.testing.assert_array_equal(vector("f32", (16, 32), pick)(A), rows)


def test_a_part_of_a_tile():
    def part(k, x):
        out = ub(k)
        op = CopyUbUbOp.build(x.value, out.value, offsets=(4, 8), sizes=(8, 16))
        return put(k, op, out, (8, 16))

    run = vector("f32", (16, 32), part, out=(8, 16))
    np.testing.assert_array_equal(run(A), A[4:12, 8:24])


def test_added_to_what_is_there():
    """Each core adds its rows to the one row of the result."""
    k = gx.kernel("sums", blocks=4)
    x, y = k.input("x", (64, 32), "f32"), k.output("y", (1, 32), "f32")
    with k.tiles((64, 32), (16, 32), over="cores") as (r, c):
        k.store(k.reduce(k.load(x[r, c]), "sum", "rows"), y[0:1, c], atomic="add")
    program = k.build()
    a = RNG.standard_normal((64, 32)).astype(np.float32)
    for checked in (False, True):
        got = program.run(a, checked=checked)["y"]
        assert np.allclose(got, a.sum(0, keepdims=True), atol=1e-5)


def test_an_element_as_an_index():
    """y = the row of x that the index names."""
    k = gx.kernel("row")
    x, i = k.input("x", (16, 32), "f32"), k.input("i", (1, 8), "i32")
    y = k.output("y", (1, 32), "f32")
    places = k.load(i[0:1, 0:8])
    row = k.element(places[0:1, 3:4])
    k.store(k.load(x[row, 0:32]), y[0:1, 0:32])
    order = np.arange(8, dtype=np.int32)[None] * 2
    for checked in (False, True):
        np.testing.assert_array_equal(k.build().run(A, order, checked=checked)["y"], A[6:7])


def product(k, a, b, c, **options):
    """One product of whole tiles through L1 and L0."""
    tiles = []
    for x, space in ((a, "l0a"), (b, "l0b")):
        shape, element = x.shape, x.type.element
        one = k.load(x[0 : shape[0], 0 : shape[1]], k.alloc(shape, element, "l1"))
        tiles.append(k.load_l0(one, k.alloc(shape, element, space)))
    sizes = (*a.shape, b.shape[1])
    op = MmadOp.build(
        tiles[0].value, tiles[1].value, c.value, sizes=(sizes[0], sizes[2], sizes[1]), **options
    )
    return put(k, op, c, (sizes[0], sizes[2]))


def cube(element, body, result, sums="f32"):
    k = gx.kernel("k", core="cube")
    x, w = k.input("x", (32, 64), element), k.input("w", (64, 32), element)
    y = k.output("y", (32, 32), result)
    c = k.alloc((32, 32), sums, "l0c")
    body(k, x, w, c, y)
    program = k.build()

    def run(*arrays):
        (fast,) = program.run(*arrays).values()
        (slow,) = program.run(*arrays, checked=True).values()
        np.testing.assert_array_equal(fast, slow)
        return fast

    return run


def test_bytes_are_multiplied_to_integers_and_scaled():
    x, w = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((32, 64), (64, 32)))
    whole = x.astype(np.int64) @ w.astype(np.int64)

    def plain(k, x, w, c, y):
        k.drain(product(k, x, w, c), y[0:32, 0:32])

    np.testing.assert_array_equal(cube("i8", plain, "i32", "i32")(x, w), whole)

    def deq(k, x, w, c, y):
        k.drain(product(k, x, w, c), y[0:32, 0:32], quant="deq_f16", scale=2.0**-10, relu=True)

    want = np.maximum(whole * 2.0**-10, 0).astype(np.float16)
    np.testing.assert_array_equal(cube("i8", deq, "f16", "i32")(x, w), want)

    def req(k, x, w, c, y):
        k.drain(product(k, x, w, c), y[0:32, 0:32], quant="req8", scale=2.0**-6)

    want = np.rint(whole * 2.0**-6).clip(-128, 127)
    np.testing.assert_array_equal(cube("i8", req, "i8", "i32")(x, w), want)


def test_scales_and_slopes_per_column():
    x, w = (RNG.standard_normal(s).astype(np.float16) for s in ((32, 64), (64, 32)))
    rows = np.stack([RNG.uniform(1, 9, 32), RNG.uniform(0, 1, 32)]).astype(np.float32)
    k = gx.kernel("k", core="cube")
    a, b = k.input("x", (32, 64), "f16"), k.input("w", (64, 32), "f16")
    r, y = k.input("r", (2, 32), "f32"), k.output("y", (32, 32), "i8")
    c = product(k, a, b, k.alloc((32, 32), "f32", "l0c"))
    tables = [k.load_table(r[i : i + 1, 0:32]) for i in range(2)]
    op = FixpipeOp.build(
        c.value,
        *(t.value for t in tables),
        y.value,
        offsets=(0, 0),
        sizes=(32, 32),
        quant="vq8",
        prelu=True,
    )
    k.add(op)
    z = (x.astype(np.float32) @ w.astype(np.float32)) * cut_scale(rows[0])
    want = np.rint(np.where(z < 0, z * rows[1], z)).clip(-128, 127)
    for checked in (False, True):
        got = k.build().run(x, w, rows, checked=checked)["y"]
        assert np.abs(got - want).max() <= 1
        assert (got != want).mean() < 0.01


def test_leaky_sums_and_a_second_product_of_the_first():
    """y = x (x w) with the inner product kept in L1 as f16."""
    x, w = (RNG.standard_normal(s).astype(np.float16) for s in ((32, 32), (32, 32)))
    k = gx.kernel("k", core="cube")
    a, b = k.input("x", (32, 32), "f16"), k.input("w", (32, 32), "f16")
    y = k.output("y", (32, 32), "f32")
    inner = k.alloc((32, 32), "f16", "l1")
    k.drain(product(k, a, b, k.alloc((32, 32), "f32", "l0c")), inner[0:32, 0:32], slope=0.5)
    b0 = k.load_l0(inner, k.alloc((32, 32), "f16", "l0b"))
    a1 = k.load(a[0:32, 0:32], k.alloc((32, 32), "f16", "l1"))
    a0 = k.load_l0(a1, k.alloc((32, 32), "f16", "l0a"))
    k.drain(k.mmad(a0, b0, k.alloc((32, 32), "f32", "l0c")), y[0:32, 0:32])
    z = x.astype(np.float32) @ w.astype(np.float32)
    z = np.where(z < 0, z * np.float32(0.5), z).astype(np.float16).astype(np.float32)
    for checked in (False, True):
        got = k.build().run(x, w, checked=checked)["y"]
        assert np.allclose(got, x.astype(np.float32) @ z, atol=2e-2)


def test_ten_bits_of_mantissa():
    x, w = (RNG.standard_normal(s).astype(np.float32) for s in ((32, 64), (64, 32)))

    def body(k, x, w, c, y):
        k.drain(product(k, x, w, c, hf32=True), y[0:32, 0:32])

    want = to_hf32(x).astype(np.float64) @ to_hf32(w).astype(np.float64)
    assert np.allclose(cube("f32", body, "f32")(x, w), want, atol=1e-4)
    one = np.float32(1)
    exact = np.array(
        [one + 2.0**-10, one + 2.0**-11, one + 3 * 2.0**-11, np.inf, np.nan], np.float32
    )
    rounded = [one + 2.0**-10, 1, one + 2.0**-9, np.inf, np.nan]
    np.testing.assert_array_equal(to_hf32(exact), np.array(rounded, np.float32))
    assert cut_scale(np.float32([1 + 2.0**-10 + 2.0**-12]))[0] == 1 + 2.0**-10


def test_a_constant_factor():
    def body(k, x, w, c, y):
        one = k.load(x[0:32, 0:64], k.alloc((32, 64), "f16", "l1"))
        a0 = k.load_l0(one, k.alloc((32, 64), "f16", "l0a"))
        b1 = k.alloc((64, 32), "f16", "l1")
        k.wrote(b1, (64, 32))
        k.add(FillOp.build(b1.value, sizes=(64, 32), value=0.5))
        b0 = k.load_l0(b1, k.alloc((64, 32), "f16", "l0b"))
        k.drain(k.mmad(a0, b0, c), y[0:32, 0:32])

    x = RNG.standard_normal((32, 64)).astype(np.float16)
    want = np.repeat(x.astype(np.float32).sum(1, keepdims=True) * 0.5, 32, 1)
    got = cube("f16", body, "f32")(x, np.zeros((64, 32), np.float16))
    assert np.allclose(got, want, atol=1e-4)
