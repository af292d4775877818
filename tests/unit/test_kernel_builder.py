"""Kernels written in Python: what the builder makes, runs and refuses."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.aicore.ordering import check_order
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.vector import VreduceOp
from ge_xdsl.dialects.ge.text import parse_module

RNG = np.random.default_rng(0)


def scaled_relu(rows=64, cols=48, step=16):
    k = gx.kernel("scaled_relu", core="vector", blocks=2)
    x, y = k.input("x", (rows, cols), "f16"), k.output("y", (rows, cols), "f16")
    with k.tiles((rows, cols), (step, cols), over="cores") as (r, c):
        tile = k.load(x[r, c], buffers=2)
        k.store(k.times(k.relu(tile), 0.5), y[r, c])
    return k


@pytest.mark.parametrize("rows", [64, 60, 7])
@pytest.mark.parametrize("checked", [False, True])
def test_a_vector_kernel_runs(rows, checked):
    program = scaled_relu(rows).build()
    x = RNG.standard_normal((rows, 48)).astype(np.float16)
    want = np.maximum(x, 0) * np.float16(0.5)
    assert (program.run(x, checked=checked)["y"] == want).all()
    assert (program.run(x=x, checked=checked)["y"] == want).all()


def test_the_module_is_like_a_lowered_one():
    program = scaled_relu().build()
    x = RNG.standard_normal((64, 48)).astype(np.float16)
    again = parse_module(gx.text(program.module))
    outputs, report = gx.run(again, {"x": x}, level="aicore", checked=True)
    assert (outputs["y"] == program.run(x)["y"]).all()
    assert report.us == gx.estimate(program.module).us == program.estimate().us
    assert str(program) == gx.text(program.module)


def test_build_is_done_once_and_ends_the_kernel():
    k = scaled_relu()
    assert k.build() is k.build()
    with pytest.raises(gx.CompileError, match="is built already, expected no more instructions"):
        k.alloc((16, 16), "f32", "ub")


def unary(name, x):
    k = gx.kernel(name)
    source, y = k.input("x", x.shape, "f32"), k.output("y", x.shape, "f32")
    with k.tiles(x.shape, (8, x.shape[1])) as (r, c):
        k.store(getattr(k, name)(k.load(source[r, c])), y[r, c])
    return k.build().run(x, checked=True)["y"]


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("exp", np.exp),
        ("ln", np.log),
        ("sqrt", np.sqrt),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("reciprocal", lambda x: 1 / x),
        ("abs", np.abs),
        ("relu", lambda x: np.maximum(x, 0)),
        ("copy", lambda x: x),
    ],
)
def test_methods_of_one_operand(name, formula):
    x = RNG.uniform(0.5, 2, (20, 24)).astype(np.float32)
    assert np.allclose(unary(name, x), formula(x), rtol=1e-6)


BINARY = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "over": lambda a, b: a / b,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [None, 0.75])
def test_methods_of_two_operands(name, number):
    a, b = (RNG.uniform(0.5, 2, (16, 24)).astype(np.float32) for _ in range(2))
    k = gx.kernel(name)
    x, z = k.input("x", (16, 24), "f32"), k.input("z", (16, 24), "f32")
    y = k.output("y", (16, 24), "f32")
    with k.tiles((16, 24), (16, 24)) as (r, c):
        left, right = k.load(x[r, c]), k.load(z[r, c])
        k.store(getattr(k, name)(left, right if number is None else number), y[r, c])
    got = k.build().run(a, b)["y"]
    assert np.allclose(got, BINARY[name](a, b if number is None else np.float32(number)), 1e-6)


def test_rows_columns_and_selections():
    """softmax of rows, negative values left out, turned."""
    a = RNG.standard_normal((16, 24)).astype(np.float32)
    k = gx.kernel("rows")
    x, y = k.input("x", (16, 24), "f32"), k.output("y", (24, 16), "f16")
    with k.tiles((16, 24), (8, 24)) as (r, c):
        t = k.load(x[r, c])
        t = k.minus(t, k.broadcast(k.reduce(t, "max"), like=t))
        e = k.exp(t)
        e = k.over(e, k.broadcast(k.reduce(e, "sum"), like=e))
        e = k.select(k.compare("gt", e, 0.02), e, 0.0)
        k.store(k.cast(k.transpose(e), "f16"), y[c, r])
    e = np.exp(a - a.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    got = k.build().run(a, checked=True)["y"]
    assert np.allclose(got, np.where(e > 0.02, e, 0).T, atol=1e-3)


def test_products_with_bias_and_turned_factors():
    a, b = (RNG.standard_normal(s).astype(np.float16) for s in ((40, 48), (32, 48)))
    bias = RNG.standard_normal((1, 32)).astype(np.float32)
    k = gx.kernel("product", core="cube", blocks=2)
    x, w = k.input("x", a.shape, "f16"), k.input("w", b.shape, "f16")
    z, y = k.input("z", (1, 32), "f32"), k.output("y", (40, 32), "f32")
    with k.tiles((40, 32), (16, 32), over="cores") as (m, n):
        row = k.load(z[0, n], k.alloc((1, 32), "f32", "l1", layout="nd"))
        row = k.load_bias(row, k.alloc((1, 32), "f32", "bt"))
        c = k.alloc((16, 32), "f32", "l0c")
        with k.tiles(48, 16) as d:
            a1 = k.load(x[m, d], k.alloc((16, 16), "f16", "l1", buffers=2))
            b1 = k.load(w[n, d], k.alloc((32, 16), "f16", "l1", buffers=2))
            a0 = k.load_l0(a1, k.alloc((16, 16), "f16", "l0a", buffers=2))
            b0 = k.load_l0(b1, k.alloc((16, 32), "f16", "l0b", buffers=2), transpose=True)
            k.mmad(a0, b0, c, first=d, bias=row)
        k.drain(c, y[m, n], relu=True)
    program = k.build()
    want = np.maximum(a.astype(np.float32) @ b.T.astype(np.float32) + bias, 0)
    assert np.allclose(program.run(a, b, bias)["y"], want, atol=1e-4)
    assert np.allclose(program.run(a, b, bias, checked=True)["y"], want, atol=1e-4)


def channels(swap=False, depth=2):
    """x + 1 by the vector cores, x by the cube core's product with the unit matrix."""
    k = gx.kernel("hand_over", core="mix", blocks=2)
    x, unit = k.input("x", (96, 16), "f16"), k.input("unit", (16, 16), "f16")
    y = k.output("y", (96, 16), "f32")
    channel = k.channel((32, 16), "f32", depth=depth, name="tiles")
    with k.cube(), k.tiles((96, 16), (32, 16), over="cores") as (m, n):
        a1 = k.load(x[m, n], k.alloc((32, 16), "f16", "l1"))
        b1 = k.load(unit[0:16, n], k.alloc((16, 16), "f16", "l1"))
        a0 = k.load_l0(a1, k.alloc((32, 16), "f16", "l0a"))
        b0 = k.load_l0(b1, k.alloc((16, 16), "f16", "l0b"))
        c = k.mmad(a0, b0, k.alloc((32, 16), "f32", "l0c"))
        with channel.consume() if swap else channel.produce() as out:
            k.drain(c, out[m.at(0), n.at(0)])
    with (
        k.vector(),
        k.tiles((96, 16), (32, 16), over="cores") as (m, n),
        channel.consume() as tile,
        k.tiles(m, 16, over="subcores") as r,
    ):
        t = k.load(tile[r, n.at(0)])
        k.store(k.plus(t, 1.0), y[m + r, n])
    return k


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_channel_hands_tiles_over(depth):
    program = channels(depth=depth).build()
    x = RNG.standard_normal((96, 16)).astype(np.float16)
    for checked in (False, True):
        got = program.run(x, np.eye(16, dtype=np.float16), checked=checked)["y"]
        assert (got == x.astype(np.float32) + 1).all()
    assert program.estimate().us > 0


FLAG = re.compile(r"^ *aicore\.(cross_set|cross_wait|set_flag|wait_flag) .*\n", re.M)


def test_no_flag_of_a_mixed_kernel_can_be_left_out():
    text = gx.text(channels().build().module)
    flags = list(FLAG.finditer(text))
    assert len(flags) > 20
    missed = []
    for flag in flags:
        module = parse_module(text[: flag.start()] + text[flag.end() :])
        kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
        try:
            check_order(kernel)
        except gx.CompileError:
            continue
        missed.append(flag.group())
    assert not missed


def line_of(error):
    return int(re.search(r"test_kernel_builder\.py:(\d+):", str(error.value)).group(1))


def refused(build, message):
    """The error of a call, which must name a line of this file."""
    with pytest.raises(gx.CompileError, match=message) as error:
        build()
    assert line_of(error) > 1
    return error


def tile(k, element="f32", space="ub"):
    return k.fill(k.alloc((16, 16), element, space, name="tile"), 0.0)


WRONG = [
    (lambda k: tile(k, "f8"), "kernel 'k': element type is 'f8', expected f32, f16"),
    (lambda k: tile(k, "f32", "l7"), "memory is 'l7', expected gm, l1"),
    (lambda k: k.alloc((16,), "f32", "ub"), r"shape is \(16,\), expected 2 or more dimensions"),
    (lambda k: k.exp(tile(k, "bf16")), "aicore.vunary in kernel 'k': computes in bf16, expected"),
    (
        lambda k: k.exp(k.alloc((8, 8), "f32", "ub", name="u")),
        "nothing is written before, expected values",
    ),
    (lambda k: k.input("x", (4, 4), "f32"), "argument 'x' is there already, expected another"),
    (lambda k: k.input("z", (4, 4), "f32"), "input 'z' comes after an output, expected all"),
    (lambda k: k.load(k.inputs[0][0:4]), "a window of 'x' has 1 selectors, expected 2"),
    (lambda k: k.load(k.inputs[0][0:4:2, 0:4]), "a window has step 2, expected 1"),
    (lambda k: k.load(k.inputs[0][4:4, 0:4]), "goes from 4 to 4, expected at least one element"),
    (lambda k: k.load(k.inputs[1][0:2, 0:4, 0:4]), "dimension of 2 that is neither row nor column"),
    (lambda k: k.load(tile(k)[0:4, 0:4]), "'tile' is not in gm, expected a window of gm"),
    (lambda k: k.tiles(64, 16, over="rows").__enter__(), "a loop goes over 'rows', expected cores"),
    (lambda k: k.tiles((64, 64), (16,)).__enter__(), "2 extents and 1 steps, expected as many"),
    (lambda k: k.tiles(64, 16, over="subcores").__enter__(), "aicore.for runs over subcores, exp"),
    (lambda k: k.channel((4, 4), "f32"), "a channel is not at the top of a mix kernel, expected"),
    (lambda k: k.cube().__enter__(), r"k.cube\(\) is not at the top of a mix kernel, expected"),
]


@pytest.mark.parametrize(("build", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_is_told_where_it_is_written(build, message):
    k = gx.kernel("k")
    k.input("x", (16, 16), "f32")
    k.input("x3", (2, 16, 16), "f32")
    k.output("y", (16, 16), "f32")
    refused(lambda: build(k), message)


def test_sizes_that_are_not_known():
    k = gx.kernel("k")
    x = k.input("x", (16, 16), "f32")
    k.output("y", (16, 16), "f32")
    with k.tiles((16, 16), (8, 8)) as (r, c):
        strange = k.dim(0, k.sum_of(r.length, 1))
        refused(lambda: k.load(x[strange, c]), "a size is no number and no length of a loop")


def test_kernels_of_no_kind():
    with pytest.raises(gx.UsageError, match="core is 'tensor', expected cube, vector, mix"):
        gx.kernel("k", core="tensor")


def test_outputs_are_needed():
    k = gx.kernel("k")
    refused(k.build, "kernel 'k': writes no output, expected one")


def test_instructions_of_a_mixed_kernel_stand_in_a_section():
    k = gx.kernel("k", core="mix")
    u = k.alloc((16, 16), "f32", "ub")
    refused(lambda: k.fill(u, 0.0), r"aicore.vdup is outside k.cube\(\) and k.vector\(\), expected")


def test_channels_have_two_sides():
    k = gx.kernel("k", core="mix")
    k.output("y", (16, 16), "f32")
    channel = k.channel((16, 16), "f32", name="c")
    refused(lambda: channel.produce().__enter__(), "used outside a section, expected it in one")
    with k.cube(), channel.produce():
        refused(lambda: channel.consume().__enter__(), "channel 'c' is read by the cube cores, exp")
    with k.vector():
        refused(lambda: channel.produce().__enter__(), "channel 'c' is written by the vector cores")
    refused(k.build, "channel 'c' is not read, expected both")
    refused(
        lambda: channels(swap=True),
        "channel 'tiles' is read by the vector cores, expected one side to write and the other to "
        "read",
    )
    k = gx.kernel("k", core="mix")
    k.channel((16, 16), "f32", depth=4)
    k.channel((16, 16), "f32", depth=4)
    refused(lambda: k.channel((16, 16), "f32"), "channels take 20 flags between cores, expected at")


def test_what_does_not_fit_the_chip():
    k = gx.kernel("k")
    x, y = k.input("x", (64, 4096), "f32"), k.output("y", (64, 4096), "f32")
    with k.tiles((64, 4096), (16, 4096), over="cores") as (r, c):
        k.store(k.load(x[r, c], name="wide"), y[r, c])
    refused(k.build, "takes 262144 bytes of ub .*wide.*, expected at most 188416 on Ascend910B1")


def test_wrong_inputs():
    program = scaled_relu().build()
    with pytest.raises(gx.CompileError, match="graph input 'x'"):
        program.run(np.zeros((4, 4), np.float16))
    with pytest.raises(gx.CompileError, match="no graph input 'z', expected one of x"):
        program.run(z=np.zeros((64, 48), np.float16))


def test_the_document_runs(capsys):
    text = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(compile(code, "docs/kernels.md", "exec"), {})
    assert "scaled_relu" in capsys.readouterr().out


def test_any_instruction_can_be_added():
    k = gx.kernel("total")
    x, y = k.input("x", (16, 16), "f32"), k.output("y", (1, 1), "f32")
    t, out = k.load(x[0:16, 0:16]), k.alloc((1, 1), "f32", "ub")
    k.add(VreduceOp.build(t.value, out.value, sizes=(16, 16), kind="sum", axis="all"))
    k.store(k.wrote(out, (1, 1)), y[0:1, 0:1])
    a = RNG.standard_normal((16, 16)).astype(np.float32)
    assert np.allclose(k.build().run(a)["y"], a.sum(), atol=1e-5)


@pytest.mark.parametrize("checked", [False, True])
def test_bf16_is_computed_with_on_arch_3510_only(checked):
    def built(chip):
        k = gx.kernel("brain", blocks=2)
        a, b = k.input("a", (64, 48), "bf16"), k.input("b", (64, 48), "bf16")
        y = k.output("y", (64, 48), "bf16")
        with k.tiles((64, 48), (16, 48), over="cores") as (r, c):
            product = k.times(k.load(a[r, c]), k.load(b[r, c]))
            k.store(k.plus(product, 0.1), y[r, c])
        return k.build(chip)

    brain = ml_dtypes.bfloat16
    a, b = (RNG.standard_normal((64, 48)).astype(brain) for _ in range(2))
    product = (a.astype(np.float32) * b.astype(np.float32)).astype(brain)
    want = (product.astype(np.float32) + np.float32(brain(0.1))).astype(brain)
    found = built("Ascend950PR_958x").run(a, b, checked=checked)["y"]
    assert (found == want).all()
    with pytest.raises(gx.CompileError, match="in bf16 is of arch 3510, expected one that Ascend"):
        built("Ascend910B1")
