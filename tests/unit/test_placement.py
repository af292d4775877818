"""Addresses of buffers: apart while they live, inside the memory, less than without reuse."""

import pytest
from aicore_text import COPY
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.lifetimes import Life, check_room, lives, peak, spaces_of
from ge_xdsl.dialects.aicore.ordering import check_order
from ge_xdsl.dialects.aicore.structure import AllocOp
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.aicore import kernels_of
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.buffers import Program, Value, assign, with_lives
from ge_xdsl.lowering.placement import APART, SPAN, extent, place_buffers, placed
from ge_xdsl.lowering.sync import insert_sync
from ge_xdsl.lowering.tiling import Slot, Slots, slots_bytes, vector_tiling
from ge_xdsl.targets import target

B1 = target("Ascend910B1")


@st.composite
def some_lives(draw):
    found = []
    for i in range(draw(st.integers(1, 12))):
        first = draw(st.integers(0, 20))
        last = first + draw(st.integers(0, 20))
        size = 32 * draw(st.integers(1, 64))
        found.append(Life(f"t{i}", "ub", size, first, last))
    return found


@settings(max_examples=200, deadline=None)
@given(some_lives(), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=8))
def test_buffers_that_live_together_lie_apart(found, links):
    pairs = {}
    for a, b in links:
        if a != b and max(a, b) < len(found):
            pairs.setdefault(a, []).append(b)
            pairs.setdefault(b, []).append(a)
    addresses = placed(found, 32, pairs)
    for i, a in enumerate(found):
        assert addresses[i] >= 0
        assert addresses[i] % 32 == 0
        for j, b in enumerate(found[:i]):
            apart = addresses[i] + a.bytes <= addresses[j] or addresses[j] + b.bytes <= addresses[i]
            assert apart or a.last < b.first or b.last < a.first
    size = extent(found, addresses)
    assert peak(found) <= size
    if not pairs:
        assert size <= sum(life.bytes for life in found)


def test_those_that_do_not_live_together_share():
    found = [Life("a", "ub", 4096, 0, 1), Life("b", "ub", 2048, 2, 3), Life("c", "ub", 2048, 2, 5)]
    assert placed(found, 32, {}) == [0, 0, 2048]


def test_sources_are_kept_in_other_banks():
    found = [Life(name, "ub", 1024, 0, 9) for name in "abc"]
    addresses = placed(found, 32, {0: [1], 1: [0, 2], 2: [1]})
    assert (addresses[0] - addresses[1]) % SPAN == APART
    assert (addresses[1] - addresses[2]) % SPAN == APART


T = "tensor<512x4096xf16>"


def chain(count):
    """Comparisons and f32 steps between: values of several sizes, one after another."""
    lines, last = [], "%x"
    for i in range(count):
        lines.append(f"  %v{i} = ge.Exp({last}) : ({T}) -> {T}")
        lines.append(f"  %w{i} = ge.Mul(%v{i}, %x) : ({T}, {T}) -> {T}")
        last = f"%w{i}"
    body = "\n".join(lines)
    return f"func.func @main(%x : {T}) -> {T} {{\n{body}\n  func.return {last} : {T}\n}}"


def softmax(kind):
    return f"""func.func @main(%x : {kind}) -> {kind} {{
  %y = ge.SoftmaxV2(%x) : ({kind}) -> {kind}
  func.return %y : {kind}
}}"""


def product(*shapes):
    x, w, y = (f"tensor<{shape}xf16>" for shape in shapes)
    b = f"tensor<{shapes[2].split('x')[1]}xf16>"
    return f"""func.func @main(%x : {x}, %w : {w}, %b : {b}) -> {y} {{
  %y = ge.MatMul(%x, %w, bias = %b) : ({x}, {w}, {b}) -> {y}
  func.return %y : {y}
}}"""


GRAPHS = {
    "chain": chain(3),
    "softmax": softmax("tensor<300x1000xf16>"),
    "product": product("70x90", "90x50", "70x50"),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend950PR_958x"])
def test_every_kernel_fits_and_says_where(name, chip):
    module = lower(parse_module(GRAPHS[name]), chip)
    verify(module)
    text = module_text(module)
    assert module_text(parse_module(text)) == text
    check(module, target(chip))
    for kernel in kernels_of(module).values():
        for _, space, part in spaces_of(kernel):
            found, addresses = list(part.values()), [op.address for op in part]
            assert None not in addresses
            assert extent(found, addresses) <= target(chip).capacity(space)
            assert extent(found, addresses) >= peak(found)


F32, I1 = "tensor<300x3000xf32>", "tensor<300x3000xi1>"
SELECT = f"""func.func @main(%x : {F32}) -> {F32} {{
  %b = ge.Exp(%x) : ({F32}) -> {F32}
  %c = ge.Greater(%b, %x) : ({F32}, {F32}) -> {I1}
  %d = ge.Select(%c, %x, %b) : ({I1}, {F32}, {F32}) -> {F32}
  %y = ge.Tanh(%d) : ({F32}) -> {F32}
  func.return %y : {F32}
}}"""


def test_reuse_is_better_than_none():
    """Bits of a comparison lie where later steps have numbers."""
    module = lower(parse_module(SELECT), B1)
    (kernel,) = kernels_of(module).values()
    ((_, _, part),) = spaces_of(kernel)
    found = list(part.values())
    assert extent(found, [op.address for op in part]) < sum(life.bytes for life in found)


def test_a_tile_fits_because_of_reuse():
    slots = [Slot("f32", True, True, 2), *[Slot("f32", True, True, 1)] * 8]
    lives = [None, *((k, k + 1) for k in range(8))]
    apart = vector_tiling((1, 1 << 24), slots, B1)
    shared = vector_tiling((1, 1 << 24), Slots(slots, lives), B1)
    assert shared[1] > 2 * apart[1]
    assert Slots(slots, lives).bytes(*shared, 0) <= B1.capacity("ub")
    assert slots_bytes(slots, *shared) > B1.capacity("ub")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_lives_of_slots_are_those_of_their_values(links):
    """A value made and read at any step lies in a slot that is in use at that step."""
    program = Program()
    values = [program.add(Value("f32"))]
    program.inputs.append(values[0])
    for a, b in links:
        sources = (values[a % len(values)], values[b % len(values)])
        kind = "f16" if a > b else "f32"
        values.append(program.step("vbinary", sources, kind, "add"))
    program.outputs.append(values[-1])
    slot_of, slots = assign(program)
    room = with_lives(program, slot_of, slots)
    for i, step in enumerate(program.steps):
        for v in (*step.sources, step.dst):
            life = room.lives[slot_of[v]]
            assert life is None or life[0] <= i <= life[1]
    for v in (values[0], values[-1]):
        assert room.lives[slot_of[v]] is None


GM, F32_TILE, F16_TILE = (
    f"!aicore.tile<{kind}>" for kind in ("64x64xf32, gm", "16x64xf32, ub", "16x64xf16, ub")
)
LOOP = f"""aicore.kernel @k(%x : {GM}) writes (%y : {GM}) on vector * 1 {{
  aicore.for (%r : %vr) in [64] by [16] over cores {{
    %a = aicore.alloc buffers 2 : {F32_TILE}
    %b = aicore.alloc : {F32_TILE}
    %c = aicore.alloc : {F16_TILE}
    %d = aicore.alloc buffers 2 : {F32_TILE}
    aicore.copy_gm_ub %x[%r, 0], %a, [%vr, 64] : {GM}, {F32_TILE}
    aicore.vunary %a, %b, [%vr, 64] {{kind = exp}} : {F32_TILE}, {F32_TILE}
    aicore.vbinary %a, %b, %d, [%vr, 64] {{kind = add}} : {", ".join([F32_TILE] * 3)}
    aicore.vcast %a, %c, [%vr, 64] : {F32_TILE}, {F16_TILE}
    aicore.vcast %c, %d, [%vr, 64] : {F16_TILE}, {F32_TILE}
    aicore.copy_ub_gm %d, %y[%r, 0], [%vr, 64] : {F32_TILE}, {GM}
  }}
}}"""


def kernel_of(text):
    module = parse_module(text)
    return module, next(iter(kernels_of(module).values()))


def test_the_lives_of_a_loop():
    """What pipes share lives as long as the loop, what one pipe has to itself from use to use."""
    _, kernel = kernel_of(LOOP)
    found = {life.name: life for life in lives(kernel.body).values()}
    assert found["a"].meets(found["b"])
    assert not found["b"].meets(found["c"])
    assert (found["a"].first, found["a"].last) == (found["d"].first, found["d"].last)
    assert str(found["a"]) == "a 2 x 4096"
    assert str(found["c"]) == "c 2048"


def test_the_place_of_each():
    module, kernel = kernel_of(LOOP)
    place_buffers(module, B1)
    where = {op.results[0].name_hint: op.address for op in kernel.walk() if isinstance(op, AllocOp)}
    assert where["b"] < where["c"] + 2048
    assert where["c"] < where["b"] + 4096
    assert (where["a"] - where["b"]) % 512 == 256
    insert_sync(module)
    check(module, B1)
    before = module_text(module)
    place_buffers(module, B1)
    assert module_text(module) == before


def with_addresses(**where):
    text = LOOP
    for name, address in where.items():
        for head in (f"%{name} = aicore.alloc buffers 2", f"%{name} = aicore.alloc"):
            if f"{head} :" in text:
                text = text.replace(f"{head} :", f"{head} at {address} :")
    return text


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (
            {"a": 0, "b": 4096, "c": 12288, "d": 16384},
            "'a' and 'b' share ub from 4096, expected buffers that live at one time apart",
        ),
        ({"a": 0, "b": 8192, "c": 8192, "d": 184320}, "'d' ends at 192512 of ub, expected at most"),
    ],
)
def test_addresses_that_do_not_work(where, why):
    _, kernel = kernel_of(with_addresses(**where))
    with pytest.raises(CompileError) as caught:
        check_room(kernel, B1)
    assert why in str(caught.value)
    assert "aicore.kernel @k" in str(caught.value)


def test_flags_are_held_against_addresses():
    """A tile that the store still reads, under another that the vector unit writes."""
    module, kernel = kernel_of(LOOP)
    place_buffers(module, B1)
    insert_sync(module)
    check_order(kernel)
    moved = {op.results[0].name_hint: op for op in kernel.walk() if isinstance(op, AllocOp)}
    moved["b"].properties["address"] = moved["d"].properties["address"]
    with pytest.raises(CompileError) as caught:
        check_order(kernel)
    text = str(caught.value)
    assert "aicore.vunary on V writes 'd' while aicore.copy_ub_gm on MTE3 may still be at" in text


def test_an_overflow_names_the_buffers():
    wide = COPY.replace("16x64xf16, ub>", "16x5904xf16, ub>")
    module = parse_module(wide)
    want = "takes 377856 bytes of ub (t 2 x 188928), expected at most 188416 on Ascend910B1"
    for act in (place_buffers, check):
        with pytest.raises(CompileError) as caught:
            act(module, B1)
        assert want in str(caught.value)
