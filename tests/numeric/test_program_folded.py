"""Convolutions with a normalisation and an activation in one step, against the op-by-op run."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.folded import FoldedStep
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program

X = "tensor<?x4x?x?xf32>"


def constant(name, array):
    data = ", ".join(f"{v:.17e}" for v in array.reshape(-1))
    dims = "x".join(map(str, array.shape))
    flat = f"tensor<{array.size}xf32>"
    return (
        f"  %{name}f = ge.Const() {{value = dense<[{data}]> : {flat}}} : () -> {flat}\n"
        f"  %{name}s = ge.Const() {{value = dense<{list(array.shape)}> : "
        f"tensor<{array.ndim}xi64>}} : () -> tensor<{array.ndim}xi64>\n"
        f"  %{name} = ge.Reshape(%{name}f, %{name}s) : ({flat}, tensor<{array.ndim}xi64>) "
        f"-> tensor<{dims}xf32>\n"
    )


def graph(kernel, bias, activation, groups, training=False, extra=False, stride=1):
    """x -> Conv2D -> BatchNorm -> activation; the convolution's y is an output too if `extra`."""
    rng = np.random.default_rng(kernel[0])
    y = X.replace("x4x", f"x{kernel[0]}x")
    line = f"tensor<{kernel[0]}xf32>"
    text = f"func.func @main(%x: {X}) -> ({y}{', ' + y if extra else ''}) {{\n"
    text += constant("w", rng.normal(size=kernel))
    for name in ("b", "scale", "offset", "mean", "var"):
        text += constant(name, rng.uniform(0.5, 2, kernel[0]))
    weight = f"tensor<{'x'.join(map(str, kernel))}xf32>"
    text += (
        f"  %c = ge.Conv2D(%x, %w{', bias = %b' if bias else ''}) {{"
        f"strides = [1, 1, {stride}, {stride}], "
        f'pads = [1, 1, 1, 1], groups = {groups}, data_format = "NCHW"}} : '
        f"({X}, {weight}{', ' + line if bias else ''}) -> {y}\n"
        f"  %n:6 = ge.BatchNorm(%c, %scale, %offset, mean = %mean, variance = %var) {{"
        "epsilon = 0.001 : f32, "
        f'data_format = "NCHW", is_training = {str(training).lower()}}} : '
        f"({y}, {', '.join([line] * 4)}) -> ({y}, {', '.join([line] * 4)}, tensor<1xf32>)\n"
        f"  %a = ge.{activation}(%n#0) : ({y}) -> {y}\n"
        f"  func.return %a{', %c' if extra else ''} : {y}{', ' + y if extra else ''}\n}}"
    )
    return main_function(parse_module(text))


CASES = {
    "full": ((5, 4, 3, 3), True, "Relu", 1),
    "pointwise": ((6, 4, 1, 1), False, "HardSwish", 1),
    "depthwise": ((4, 1, 3, 3), True, "HardSwish", 4),
    "two per channel": ((8, 1, 3, 2), False, "Relu", 4),
    "grouped": ((6, 2, 3, 3), True, "Relu", 2),
    "no known activation": ((4, 1, 3, 3), True, "Tanh", 4),
    "in training": ((5, 4, 3, 3), True, "Relu", 1),
    "read twice": ((5, 4, 3, 3), True, "Relu", 1),
}
MORE = {
    "two per channel": {"stride": 2},
    "in training": {"training": True},
    "read twice": {"extra": True},
}
LEFT = {"no known activation": 1, "in training": 2, "read twice": 2}
"""Steps behind the convolution's own."""


@pytest.mark.parametrize("name", CASES)
def test_a_folded_convolution_gives_what_its_ops_give(name):
    func = graph(*CASES[name], **MORE.get(name, {}))
    program = Program(func)
    rng = np.random.default_rng(3)
    for shape in ((1, 4, 6, 5), (2, 4, 64, 40), (1, 4, 6, 5), (0, 4, 3, 3))[
        : 3 if name == "in training" else 4
    ]:
        inputs = {"x": rng.normal(size=shape).astype(np.float32)}
        kept = inputs["x"].copy()
        found, plain = program.run(inputs), run_function(func, inputs)
        assert len(found) == len(plain)
        for ours, theirs in zip(found, plain, strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(inputs["x"], kept)
    assert isinstance(program.body.steps[0], FoldedStep)
    assert len(program.body.steps) == 1 + LEFT.get(name, 0)


def chain(lines, constants, kernel=(4, 4, 3, 3), shape="?x4x?x?"):
    """x [N, 4, H, W] and r -> Conv2D %c -> `lines`, which end with %y; ops are `name = Op(..)`."""
    text = (
        f"func.func @main(%x: tensor<{shape}xf32>, %r: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>"
    )
    text += " {\n"
    types = {"x": f"tensor<{shape}xf32>", "r": "tensor<?x?x?x?xf32>"}
    rng = np.random.default_rng(len(lines))
    for name, array in {"w": rng.normal(size=kernel), **constants}.items():
        array = np.asarray(array)
        if array.dtype.kind == "i":
            types[name] = f"tensor<{array.size}xi64>"
            text += f"  %{name} = ge.Const() {{value = dense<{array.tolist()}> : {types[name]}}} "
            text += f": () -> {types[name]}\n"
        else:
            types[name] = f"tensor<{''.join(f'{n}x' for n in array.shape)}f32>"
            text += constant(name, array) if array.ndim else scalar(name, array)
    ops = [f"c = Conv2D(x, w) {CONV}"]
    for line in [*ops, *lines]:
        name, rest = line.split(" = ", 1)
        op, rest = rest.split("(", 1)
        operands, attributes = rest.split(")", 1)
        operands = operands.split(", ")
        types[name] = "tensor<?x?x?x?xf32>"
        given = f" {{{attributes.strip()}}}" if attributes.strip() else ""
        text += f"  %{name} = ge.{op}({', '.join('%' + o for o in operands)}){given} : "
        text += f"({', '.join(types[o] for o in operands)}) -> {types[name]}\n"
    return main_function(parse_module(text + "  func.return %y : tensor<?x?x?x?xf32>\n}"))


def scalar(name, value):
    given = f"{{value = dense<{float(value):.17e}> : tensor<f32>}}"
    return f"  %{name} = ge.Const() {given} : () -> tensor<f32>\n"


NUMBERS = {"three": np.array(3.0), "zero": np.array(0.0), "six": np.array(6.0)}
LINE = np.array([0.5, -1.5, 2.0, 0.25])
PLANES, LAST = LINE.reshape(4, 1, 1), LINE.reshape(1, 1, 1, 4)
BACK = {"p": np.array([0, 2, 3, 1]), "q": np.array([0, 3, 1, 2])}
SWISH = [
    "a = Add({}, three)",
    "b = ClipByValue(a, zero, six)",
    "m = Mul({}, b)",
    "y = RealDiv(m, six)",
]
CONV = 'strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], groups = 1, data_format = "NCHW"'
GROUPED = CONV.replace("groups = 1", "groups = 2")
CHAINS = {
    "affine": (
        ["a = Mul(s, c)", "b = Add(a, s)", "d = Sub(b, s)", "y = RealDiv(d, s)"],
        {"s": PLANES},
        1,
    ),
    "affine, channels last": (
        [
            "a = Transpose(c, p)",
            "b = Add(a, s)",
            "d = Mul(b, s)",
            "e = Relu(d)",
            "y = Transpose(e, q)",
        ],
        {"s": LAST, **BACK},
        1,
    ),
    "left as a view": (["a = Transpose(c, p)", "y = Relu(a)"], BACK, 1),
    "swapped planes": (
        ["a = Transpose(c, p)", "y = Add(a, s)"],
        {"p": np.array([0, 1, 3, 2]), "s": PLANES},
        1,
    ),
    "numbers after an activation": (
        [
            "a = Relu(c)",
            "b = Mul(a, six)",
            "d = RealDiv(b, three)",
            "e = Sub(d, six)",
            "y = Add(three, e)",
        ],
        NUMBERS,
        1,
    ),
    "per channel after an activation": (["a = Relu(c)", "y = Mul(a, s)"], {"s": PLANES}, 2),
    "by column": (["y = Mul(c, s)"], {"s": LINE}, 2),
    "division by zero": (["y = RealDiv(c, s)"], {"s": LINE.reshape(4, 1, 1) * [[[0]]]}, 2),
    "divided from": (["a = ClipByValue(c, three, six)", "y = RealDiv(six, a)"], NUMBERS, 2),
    "subtracted from": (["y = Sub(six, c)"], NUMBERS, 2),
    "clipped": (["y = ClipByValue(c, zero, three)"], NUMBERS, 1),
    "clipped to nothing": (["y = ClipByValue(c, three, zero)"], NUMBERS, 2),
    "leaky": (["y = LeakyRelu(c) negative_slope = 0.125 : f32"], {}, 1),
    "steep": (["y = LeakyRelu(c) negative_slope = 2.0 : f32"], {}, 2),
    "hard sigmoid": (["y = HardSigmoid(c) alpha = 0.25 : f32, beta = 0.5 : f32"], {}, 1),
    "hard swish": (["y = HardSwish(c)"], {}, 1),
    "hard swish of four ops": ([line.format("c") for line in SWISH], NUMBERS, 1),
    "hard swish of something else": (
        ["t = Tanh(c)", *(line.format("t") for line in SWISH)],
        NUMBERS,
        3,
    ),
    "hard swish, read inside": (
        [line.format("c") for line in SWISH[:3]] + ["d = RealDiv(m, six)", "y = Add(d, b)"],
        NUMBERS,
        6,
    ),
    "hard swish by seven": (
        [*(line.format("c") for line in SWISH[:3]), "y = RealDiv(m, s)"],
        {**NUMBERS, "s": np.array(7.0)},
        5,
    ),
    "a sum": (["a = Add(c, r)", "y = Relu(a)"], {}, 1),
    "a sum, channels last": (
        ["a = Transpose(c, p)", "b = Transpose(r, p)", "y = Add(b, a)"],
        BACK,
        2,
    ),
    "a sum with itself": (["y = Add(c, c)"], {}, 2),
    "two convolutions": (["a = HardSwish(c)", f"y = Conv2D(a, w) {CONV}"], {}, 2),
    "two convolutions in a sum": ([f"d = Conv2D(x, w) {CONV}", "y = Add(c, d)"], {}, 2),
    "a grouped one behind": (
        ["a = HardSwish(c)", f"y = Conv2D(a, v) {GROUPED}"],
        {"v": np.arange(72.0).reshape(4, 2, 3, 3)},
        2,
    ),
}
SHAPES = ((1, 4, 4, 4), (2, 4, 7, 5), (1, 4, 4, 4))


def inputs_for(shape, seed=5, added=None):
    rng = np.random.default_rng(seed)
    sizes = {"x": shape, "r": added or shape}
    return {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}


def agree(program, func, inputs):
    kept = {name: array.copy() for name, array in inputs.items()}
    found, plain = program.run(inputs), run_function(func, inputs)
    for ours, theirs in zip(found, plain, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.flags.c_contiguous
        assert ours.flags.writeable
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=4e-5)
    for name, array in inputs.items():
        np.testing.assert_array_equal(array, kept[name])
    return found


@pytest.mark.parametrize("name", CHAINS)
def test_a_convolution_takes_what_stands_behind_it(name):
    lines, constants, steps = CHAINS[name]
    func = chain(lines, constants)
    program = Program(func)
    for shape in ((1, 4, 5, 4),) if name == "by column" else SHAPES:
        agree(program, func, inputs_for(shape))
    assert len(program.body.steps) == steps


def test_a_sum_that_broadcasts_is_run_op_by_op():
    func = chain(["a = Add(c, r)", "y = Relu(a)"], {})
    program = Program(func)
    for added in ((1, 4, 6, 5), (1, 1, 1, 5), (1, 4, 1, 1), (3, 4, 6, 5), (1, 4, 6, 5)):
        (y,) = agree(program, func, inputs_for((1, 4, 6, 5), added=added))
        assert y.shape == (added[0], 4, 6, 5)


def test_what_a_run_gave_stays():
    func = chain(["a = Add(c, r)", "y = HardSwish(a)"], {})
    program = Program(func)
    runs = [inputs_for((1, 4, 40, 30), seed) for seed in range(4)]
    kept = [agree(program, func, inputs)[0] for inputs in runs]
    copies = [array.copy() for array in kept]
    for inputs in reversed(runs):
        program.run(inputs)
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_program_runs_in_threads():
    from concurrent.futures import ThreadPoolExecutor

    func = chain(["a = HardSwish(c)", "y = Add(a, r)"], {})
    program = Program(func)
    runs = [inputs_for((1, 4, 50 + seed % 3, 40), seed) for seed in range(24)]
    alone = [program.run(inputs)[0] for inputs in runs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda inputs: program.run(inputs)[0], runs))
    for ours, plain in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_an_error_of_a_folded_convolution_names_it():
    func = chain(["y = Relu(c)"], {}, shape="?x?x?x?")
    with pytest.raises(CompileError, match="Conv2D.*channels"):
        Program(func).run(inputs_for((1, 3, 5, 5)))


IMAGE = "tensor<?x?x?x4xf32>"


def channels_last_graph(op, shape, stride):
    """x [N, H, W, 4] -> convolution -> times one number per channel -> Relu."""
    given = f"strides = [1, {stride}, {stride}, 1], pads = [1, 1, 0, 2], dilations = [1, 1, 1, 1]"
    filter_type = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"func.func @main(%x: {IMAGE}) -> {IMAGE} {{\n"
    text += constant("w", np.random.default_rng(1).normal(size=shape)) + constant("s", LINE)
    text += f'  %c = ge.{op}(%x, %w) {{{given}, data_format = "NHWC"}} : '
    text += f"({IMAGE}, {filter_type}) -> {IMAGE}\n"
    text += f"  %a = ge.Mul(%c, %s) : ({IMAGE}, tensor<4xf32>) -> {IMAGE}\n"
    text += f"  %y = ge.Relu(%a) : ({IMAGE}) -> {IMAGE}\n  func.return %y : {IMAGE}\n}}"
    return main_function(parse_module(text))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("op", "shape"), [("Conv2D", (3, 3, 4, 4)), ("DepthwiseConv2D", (3, 3, 4, 1))]
)
def test_a_convolution_with_the_channels_last(op, shape, stride):
    func = channels_last_graph(op, shape, stride)
    program = Program(func)
    for size in ((1, 5, 6, 4), (2, 8, 7, 4), (0, 5, 6, 4)):
        agree(program, func, {"x": inputs_for(size)["x"]})
    (step,) = program.body.steps
    assert isinstance(step, FoldedStep)


def test_a_hard_swish_alone_keeps_the_order_of_its_operand():
    func = chain(
        ["t = Transpose(r, p)", *(line.format("t") for line in SWISH)], {**NUMBERS, **BACK}
    )
    program = Program(func)
    inputs = inputs_for((1, 4, 5, 6), added=(2, 3, 4, 5))
    (y,) = agree(program, func, inputs)
    assert y.shape == (2, 4, 5, 3)
    agree(program, func, inputs_for((1, 4, 5, 6), added=(2, 0, 4, 5)))
    agree(program, func, {**inputs, "r": np.broadcast_to(np.float32(2), (2, 3, 4, 5)).copy()})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "circular"])
def test_borders_around_channels_that_are_last(mode):
    sides = np.array([0, 0, 1, 0, 2, 1, 0, 2])
    lines = ["d = Relu(c)", f'y = PadV3(d, n) mode = "{mode}"']
    func = chain(lines, {"n": sides})
    (y,) = agree(Program(func), func, inputs_for((2, 4, 5, 6)))
    names = {"circular": "wrap"}
    inner = y[:, 1:, 2:-1, :-2]
    wanted = np.pad(inner, sides.reshape(4, 2), mode=names.get(mode, mode))
    np.testing.assert_array_equal(y, wanted)


FAR = {"big": np.array(1e30), "tiny": np.array(1e-30), "magic": np.array(1.5 * 2**23)}
AGAIN = f"y = Conv2D(a, w) {CONV}"
FAR_CHAINS = {
    "up and down": (["a = Mul(c, tiny)", "b = Mul(a, tiny)", "d = Mul(b, big)", "y = Mul(d, big)"]),
    "rounded to integers": (["a = Add(c, magic)", "y = Sub(a, magic)"]),
    "swallowed": (["a = Sub(c, big)", "y = Add(a, big)"]),
    "small after an activation": (
        ["r1 = Relu(c)", "r2 = Mul(r1, tiny)", "a = Mul(r2, tiny)", AGAIN]
    ),
    "large after an activation": (
        ["r1 = Relu(c)", "r2 = Mul(r1, big)", "a = Mul(r2, tiny)", AGAIN]
    ),
}


@pytest.mark.parametrize("name", FAR_CHAINS)
def test_numbers_that_round_or_overflow_do_so_still(name):
    func = chain(FAR_CHAINS[name], FAR)
    (y,) = agree(Program(func), func, inputs_for((1, 4, 5, 6)))
    if name == "rounded to integers":
        np.testing.assert_array_equal(y, np.round(y))


def normalised(lines):
    """x -> Conv2D -> BatchNorm by the lines scale, offset, mean and var, no dimension known."""
    any_image = "tensor<?x?x?x?xf32>"
    text = f"func.func @main(%x: {X}) -> {any_image} {{\n"
    text += constant("w", np.random.default_rng(0).normal(size=(4, 4, 3, 3)))
    text += "".join(constant(name, np.array(line)) for name, line in lines.items())
    types = ", ".join(f"tensor<{len(line)}xf32>" for line in lines.values())
    text += (
        f"  %c = ge.Conv2D(%x, %w) {{{CONV}}} : ({X}, tensor<4x4x3x3xf32>) -> {any_image}\n"
        "  %n:6 = ge.BatchNorm(%c, %scale, %offset, mean = %mean, variance = %var) {"
        'epsilon = 0.0 : f32, data_format = "NCHW", is_training = false} : '
        f"({any_image}, {types}) -> ({any_image}, {', '.join(['tensor<?xf32>'] * 5)})\n"
        f"  func.return %n#0 : {any_image}\n}}"
    )
    return main_function(parse_module(text))


ONES = dict.fromkeys(("scale", "offset", "mean", "var"), [1.0] * 4)


@pytest.mark.parametrize("changed", [*([n] for n in ONES), [*ONES]])
@pytest.mark.parametrize("size", [1, 3])
def test_a_normalisation_of_other_channels_is_refused_as_ever(changed, size):
    func = normalised({**ONES, **dict.fromkeys(changed, [1.0] * size)})
    inputs = {"x": inputs_for((1, 4, 5, 6))["x"]}
    for run in (Program(func).run, lambda x: run_function(func, x)):
        with pytest.raises(CompileError, match=rf"BatchNorm 'n': \w+ is {size}, expected 4"):
            run(inputs)


@pytest.mark.parametrize("variance", [0.0, -1.0, 1e-30, 1e38])
def test_a_normalisation_by_odd_variances(variance):
    func = normalised({**ONES, "var": [1.0, variance, 2.0, 3.0]})
    agree(Program(func), func, {"x": inputs_for((1, 4, 5, 6))["x"]})


def test_filters_that_would_overflow_with_a_factor_are_left_as_they_are():
    func = chain(["y = Mul(c, s)"], {"s": np.array(1e6), "w": np.full((4, 4, 3, 3), 1e36)})
    inputs = {name: array * 1e-12 for name, array in inputs_for((1, 4, 5, 6)).items()}
    inputs = {name: array.astype(np.float32) for name, array in inputs.items()}
    program = Program(func)
    found, plain = program.run(inputs)[0], run_function(func, inputs)[0]
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5 * abs(plain).max())


LINKS = (
    "Add({}, s)", "Mul(s, {})", "Sub({}, three)", "Sub(six, {})", "RealDiv({}, six)", "Mul({}, n)",
    "Add({}, r)", "Add({}, {})", "Relu({})", "HardSwish({})", "ClipByValue({}, zero, six)",
    "LeakyRelu({}) negative_slope = 0.25 : f32", "HardSigmoid({}) alpha = 0.5 : f32, beta = 0.5 : "
    "f32", f"Conv2D({{}}, w) {CONV}", f"Conv2D({{}}, w) {CONV}, dilations = [1, 1, 1, 2]",
    "Identity({})", "Tanh({})", "Transpose({}, t)",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(LINKS), min_size=1, max_size=7),
    st.integers(0, 5),
    st.sampled_from([(1, 4, 6, 6), (2, 4, 7, 7), (0, 4, 5, 5), (1, 4, 3, 3)]),
    st.sampled_from([0.0, np.nan, np.inf]),
)
def test_drawn_chains(links, branch, shape, odd):
    constants = {**NUMBERS, "s": PLANES, "n": np.array(-0.5), "t": np.array([0, 1, 3, 2])}
    names = ["c", *(f"v{i}" for i in range(len(links)))]
    lines = [f"{names[i + 1]} = {link.replace('{}', names[i])}" for i, link in enumerate(links)]
    lines.append(f"y = Add({names[-1]}, {names[min(branch, len(links))]})")
    func = chain(lines, constants)
    program = Program(func)
    inputs = inputs_for(shape, added=shape)
    inputs["x"][..., 1:2, 2:] += odd
    try:
        plain = run_function(func, inputs)
    except CompileError as error:  # shapes that no longer fit
        with pytest.raises(CompileError, match=re.escape(error.message)):
            program.run(inputs)
        return
    for _ in range(2):
        kept = {name: array.copy() for name, array in inputs.items()}
        for ours, theirs in zip(program.run(inputs), plain, strict=True):
            finite = np.abs(theirs[np.isfinite(theirs)])
            size = finite.max() if finite.size else 1
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5 * size)
        for name, array in inputs.items():
            np.testing.assert_array_equal(array, kept[name])
