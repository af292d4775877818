"""Flags: text, how they are inserted, the proof that they order every buffer, and their cycles."""

import pytest
from lowering_check import const, graph

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.ordering import check_order
from ge_xdsl.dialects.aicore.sync import PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.aicore import kernels_of
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.convert import convert
from ge_xdsl.lowering.placement import place_buffers
from ge_xdsl.lowering.sync import Edge, insert_sync, joined
from ge_xdsl.targets import target

B1 = target("Ascend910B1")

NCHW = 'strides = [1, 1, 1, 1], data_format = "NCHW"'
NORM = "ge.LayerNorm(x, g, g) {begin_norm_axis = 1 : i64}"
GRAPHS = {
    "MatMul": graph(
        ["y = ge.MatMul(x, w, bias=b) -> 300x1536xf16"],
        "y",
        **{"x": "300x384xf16", "w": "384x1536xf16", "b": "1536xf32"},
    ),
    "SoftmaxV2": graph(["y = ge.SoftmaxV2(x) -> 300x384xf16"], "y", x="300x384xf16"),
    "LayerNorm": graph(
        [f"y, m, v = {NORM} -> 300x384xf16, 300x1xf16, 300x1xf16"],
        "y, m, v",
        **{"x": "300x384xf16", "g": "384xf16"},
    ),
    "Conv2D": graph(
        [
            const("w", "0.5", "8x16x3x3xf16"),
            f"y = ge.Conv2D(x, w, bias=b) {{pads = [1, 1, 1, 1], {NCHW}}} -> 1x8x9x9xf16",
        ],
        "y",
        **{"x": "1x16x9x9xf16", "b": "8xf16"},
    ),
    "Depthwise": graph(
        [
            "y = ge.Conv2D(x, w, bias=b) "
            f"{{pads = [0, 0, 0, 0], {NCHW}, groups = 16 : i64}} -> 1x16x8x8xf16"
        ],
        "y",
        **{"x": "1x16x9x9xf16", "w": "16x1x2x2xf16", "b": "16xf16"},
    ),
    "ConcatD": graph(
        ["y = ge.ConcatD([a, b]) {concat_dim = 1 : i64, N = 2 : i64} -> 40x12xf32"],
        "y",
        **{"a": "40x8xf32", "b": "40x4xf32"},
    ),
    "Add": graph(
        ["a = ge.Add(x, z) -> 2000x999xf16", "y = ge.Mul(a, x) -> 2000x999xf16"],
        "y",
        **{"x": "2000x999xf16", "z": "999xf16"},
    ),
    "GatherV2": graph(
        [const("a", "0", "i32"), "y = ge.GatherV2(x, i, a) -> 70x64xf16"],
        "y",
        **{"x": "50x64xf16", "i": "70xi32"},
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_each_flag_that_is_taken_away_is_missed(name):
    """And the message names the buffer that is no longer safe."""
    module = lower(parse_module(GRAPHS[name]), "Ascend910B1")
    check(module, B1)
    printed = module_text(module)
    assert module_text(parse_module(printed)) == printed
    count = 0
    for kernel in kernels_of(module).values():
        buffers = {op.results[0].name_hint for op in kernel.walk() if op.name == "aicore.alloc"}
        for op in list(kernel.walk()):
            if not isinstance(op, SetFlagOp | WaitFlagOp | PipeBarrierOp):
                continue
            block, after = op.parent, op.next_op
            op.detach()
            with pytest.raises(CompileError) as caught:
                check_order(kernel)
            if after is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, after)
            text = str(caught.value)
            in_loop = op.parent_op() is not kernel
            assert not in_loop or any(f"'{name}'" in text for name in buffers), text
            count += 1
        check_order(kernel)
    assert count >= 8


def test_a_barrier_orders_two_copies_of_one_pipe():
    module = lower(parse_module(GRAPHS["GatherV2"]), "Ascend910B1")
    assert "aicore.pipe_barrier MTE2\n" in module_text(module)


def test_one_id_for_two_buffers_may_be_set_again():
    module = lower(parse_module(GRAPHS["SoftmaxV2"]), "Ascend910B1")
    text = module_text(module).replace("MTE2 -> V, 0 of 2", "MTE2 -> V, 0")
    with pytest.raises(CompileError) as caught:
        check(parse_module(text), B1)
    want = "flag MTE2 -> V, 0 may be set again before it is waited for, expected sets and waits in"
    assert want in str(caught.value)


def test_a_flag_too_many():
    module = lower(parse_module(GRAPHS["SoftmaxV2"]), "Ascend910B1")
    (kernel,) = kernels_of(module).values()
    extra = SetFlagOp.make("V", "MTE3", 7)
    kernel.body.add_op(extra)
    with pytest.raises(CompileError, match="flag V -> MTE3, 7 is set but not waited for, expected"):
        check_order(kernel)
    extra.detach()
    kernel.body.add_op(WaitFlagOp.make("V", "MTE3", 7))
    with pytest.raises(CompileError, match="flag V -> MTE3, 7 is waited for but not set, expected"):
        check_order(kernel)


def test_text_and_bounds():
    def text(line):
        tile = "!aicore.tile<4x4xf16, gm>"
        return f"aicore.kernel @k() writes (%y : {tile}) on vector * 1 {{\n  aicore.{line}\n}}"

    for line in ("set_flag MTE2 -> V, 3", "wait_flag M -> FIX, 6 of 2", "pipe_barrier ALL"):
        module = parse_module(text(line))
        verify(module)
        assert f"aicore.{line}\n" in module_text(module)
    for line, why in (
        ("set_flag MTE2 -> MTE2, 0", "is from MTE2 to MTE2, expected two of S, MTE2"),
        ("set_flag MTE2 -> X, 0", "is from MTE2 to X, expected two of S, MTE2"),
        ("wait_flag MTE2 -> V, 7 of 2", "has ids 7 to 8, expected 0 to 7"),
        ("pipe_barrier X", "is of X, expected ALL or one of S, MTE2"),
    ):
        with pytest.raises(CompileError) as caught:
            verify(parse_module(text(line)))
        assert why in str(caught.value)


def chain(count):
    """A sum of many operands, each of its own."""
    args = ", ".join(f"%x{i} : tensor<64x96xf16>" for i in range(count))
    lines, last = [], "%x0"
    t = "tensor<64x96xf16>"
    for i in range(1, count):
        lines.append(f"  %v{i} = ge.Add({last}, %x{i}) : ({t}, {t}) -> {t}")
        last = f"%v{i}"
    body = "\n".join(lines)
    return f"func.func @main({args}) -> {t} {{\n{body}\n  func.return {last} : {t}\n}}"


def test_flags_are_joined_when_there_are_too_few():
    module = lower(parse_module(chain(12)), "Ascend910B1")
    check(module, B1)
    text = module_text(module)
    assert text.count("aicore.copy_gm_ub") == 12
    assert text.count("wait_flag MTE2 -> V") <= 4


def test_what_joining_does():
    a, b = Edge("V", 0, "M", 5, 0, 2), Edge("V", 2, "M", 6, 0, 2)
    kept, spare = joined([a, b], ("V", "M"), 2)
    assert kept == [Edge("V", 2, "M", 5, 0, 2)]
    assert spare == 0
    apart = [a, Edge("V", 5, "M", 7, 0, 2)]
    assert joined(apart, ("V", "M"), 2) == (apart, 2)


def test_too_few_flags_are_an_error():
    tile = "!aicore.tile<16x16xf16, ub>"
    gm = "!aicore.tile<256x16xf16, gm>"
    lines = []
    for i in range(5):
        lines += [
            f"    %t{i} = aicore.alloc buffers 2 : {tile}",
            f"    aicore.copy_gm_ub %x[%r, 0], %t{i}, [%vr, 16] : {gm}, {tile}",
            f"    aicore.vunary %t{i}, %t{i}, [%vr, 16] {{kind = abs}} : {tile}, {tile}",
        ]
    body = "\n".join(lines)
    text = f"""aicore.kernel @k(%x : {gm}) writes (%y : {gm}) on vector * 1 {{
  aicore.for (%r : %vr) in [256] by [16] over cores {{
{body}
  }}
}}"""
    with pytest.raises(
        CompileError, match="needs more than 8 flags from MTE2 to V, expected no mo"
    ):
        insert_sync(parse_module(text))


@pytest.mark.parametrize("name", GRAPHS)
def test_a_flag_takes_a_cycle_of_its_pipe(name):
    plain = parse_module(GRAPHS[name])
    convert(plain, B1)
    place_buffers(plain, B1)
    synced = lower(parse_module(GRAPHS[name]), B1)
    kernels = kernels_of(plain)
    for symbol, kernel in kernels_of(synced).items():
        with_flags, without = time_kernel(kernel, B1), time_kernel(kernels[symbol], B1)
        assert with_flags.cycles >= without.cycles
        assert with_flags.cycles < 1.35 * without.cycles + 700
        more = {p: with_flags.busy[p] - without.busy.get(p, 0) for p in with_flags.busy}
        assert all(value == pytest.approx(round(value)) and value > 0 for value in more.values())


def test_inserting_twice_changes_nothing():
    module = lower(parse_module(GRAPHS["SoftmaxV2"]), "Ascend910B1")
    before = module_text(module)
    insert_sync(module)
    assert module_text(module) == before


def test_a_late_flag_costs_time():
    """One buffer's flag for two: the copy waits for the computation before."""
    wide = B1.variant("Wide", "SETTLED", hbm_ub_bandwidth=1e15)
    module = lower(
        parse_module(graph(["y = ge.Relu(x) -> 4096x8192xf16"], "y", x="4096x8192xf16")), B1
    )
    (kernel,) = kernels_of(module).values()
    fast = time_kernel(kernel, wide).cycles
    text = module_text(module).replace("V -> MTE2, 0 of 2", "V -> MTE2, 0")
    text = text.replace("    aicore.set_flag V -> MTE2, 1\n", "")
    again = parse_module(text.replace("    aicore.wait_flag V -> MTE2, 1\n", ""))
    check(again, B1)
    (kernel,) = kernels_of(again).values()
    assert time_kernel(kernel, wide).cycles > 1.1 * fast


LEFT_OUT = """
aicore.kernel @k(%x : GM) writes (%y : GM) on vector * 1 synced {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : UB
    %n = aicore.bound %r in [0, 1] : index
    aicore.pipe_barrier ALL
    aicore.copy_gm_ub %x[0, 0], %t, [64, 64] : GM, UB
    aicore.for (%a : %va) in [FIRST] by [1] {
      aicore.set_flag MTE2 -> V, 0
      aicore.wait_flag MTE2 -> V, 0
    }
    aicore.for (%b : %vb) in [%n] by [1] {
      aicore.vunary %t, %t, [64, 64] {kind = relu} : UB, UB
    }
  }
}
"""


@pytest.mark.parametrize("first", ["1", "%n"])
def test_a_loop_that_may_have_no_iteration_orders_nothing(first):
    """Not even for another one that may have none: each runs without the other."""
    text = LEFT_OUT.replace("FIRST", first).replace("GM", "!aicore.tile<64x64xf16, gm>")
    (kernel,) = kernels_of(parse_module(text.replace("UB", "!aicore.tile<64x64xf16, ub>"))).values()
    if first == "1":
        check_order(kernel)
        return
    with pytest.raises(CompileError, match="vunary on V reads .* while .* expected a flag"):
        check_order(kernel)
