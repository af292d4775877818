"""The kernels of examples/kernels against their formulas, checked, in order, and priced."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.compare import accept
from ge_xdsl.targets import target

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernels"
RNG = np.random.default_rng(0)


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GELU = example("fused_matmul_gelu")
ATTENTION = example("flash_attention")


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("shape", [(128, 128, 128), (300, 200, 80), (257, 129, 260), (16, 16, 16)])
def test_matmul_and_gelu(shape):
    m, n, k = shape
    x, w, bias = normal(m, k), normal(k, n) * np.float16(k**-0.5), normal(1, n).astype(np.float32)
    program = GELU.build(m, n, k, blocks=3)
    want = GELU.reference(x, w, bias)
    fast = program.run(x, w, bias)["y"]
    assert accept(fast, want.astype(np.float16)).ok
    assert (program.run(x, w, bias, checked=True)["y"] == fast).all()
    torch = pytest.importorskip("torch")
    z = torch.from_numpy(x.astype(np.float32)) @ torch.from_numpy(w.astype(np.float32))
    by_torch = torch.nn.functional.gelu(z + torch.from_numpy(bias), approximate="tanh")
    assert np.abs(fast - by_torch.numpy()).max() < 2e-3 * np.abs(want).max()


@pytest.mark.parametrize(
    ("heads", "queries", "keys", "d"),
    [(1, 128, 128, 64), (3, 200, 300, 64), (2, 70, 40, 32), (1, 130, 512, 128), (5, 16, 129, 16)],
)
def test_flash_attention(heads, queries, keys, d):
    q, k, v = normal(heads, queries, d), normal(heads, keys, d), normal(heads, keys, d)
    program = ATTENTION.build(heads, queries, keys, d, blocks=2)
    fast = program.run(q, k, v)["y"]
    assert np.abs(fast - ATTENTION.reference(q, k, v)).max() < 1e-3
    assert (program.run(q, k, v, checked=True)["y"] == fast).all()
    torch = pytest.importorskip("torch")
    tensors = (torch.from_numpy(x.astype(np.float32)) for x in (q, k, v))
    by_torch = torch.nn.functional.scaled_dot_product_attention(*tensors)
    assert np.abs(fast - by_torch.numpy()).max() < 1e-3


def test_large_scores_do_not_overflow():
    q, k, v = normal(1, 32, 16) * 40, normal(1, 200, 16) * 40, normal(1, 200, 16)
    got = ATTENTION.build(1, 32, 200, 16, blocks=1).run(q, k, v)["y"]
    assert np.abs(got - ATTENTION.reference(q, k, v)).max() < 2e-3


PROGRAMS = [GELU.build(256, 256, 128), ATTENTION.build(2, 200, 300, 64)]


@pytest.mark.parametrize("program", PROGRAMS, ids=["matmul_gelu", "flash_attention"])
@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend910B3", "Ascend910_9391"])
def test_examples_are_legal_and_priced(program, chip):
    module = parse_module(gx.text(program.module))
    blocks = min(target(chip).cube_cores, 24)
    text = gx.text(module).replace("on mix * 24", f"on mix * {blocks}")
    module = parse_module(text)
    check(module, target(chip))
    report = gx.estimate(module, chip)
    (kernel,) = report.kernels
    assert kernel.core == "mix"
    assert kernel.cycles > 0
    assert kernel.us > kernel.launch_us


def test_one_launch_takes_less_than_two():
    fused = GELU.build(2048, 2048, 512).estimate()
    assert fused.us < GELU.apart(2048, 2048, 512).us


@pytest.mark.parametrize("module", [GELU, ATTENTION], ids=["matmul_gelu", "flash_attention"])
def test_the_examples_print_what_they_found(module, capsys):
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("largest error ")
    assert float(lines[0].split()[2]) < 1e-2
    assert lines[1] == "target Ascend910B1"


def test_a_mixed_kernel_needs_a_chip_with_cores_apart():
    with pytest.raises(gx.CompileError, match="expected one that Ascend910A"):
        GELU.build(128, 128, 128, target="Ascend910A", blocks=2)
