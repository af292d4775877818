"""gelu(x w + bias) as one mixed kernel: the cube cores multiply, the vector cores do the rest.

    python examples/kernels/fused_matmul_gelu.py

Each cube core makes tiles of x w in f32 and hands them to its two vector cores through GM, that
is L2: on arch 2201 there is no other way. These add the bias, apply gelu and store f16, each for
its half of the rows, while the cube core is at the next tile. The product never reaches memory as
a tensor of its own, and there is one launch in place of two.
"""

import tempfile
from pathlib import Path

import numpy as np

import ge_xdsl as gx

TILE_M, TILE_N, TILE_K = 128, 128, 128
HALF = TILE_M // 2
TWICE_ROOT = 1.5957691216057308  # 2 sqrt(2 / pi)
CUBIC = 0.044715


def gelu(k, x):
    """x / (1 + exp(-1.5958 (x + 0.0447 x^3))), which is gelu by tanh."""
    inner = k.times(k.times(x, x), x)
    k.times(inner, CUBIC, inner)
    k.plus(inner, x, inner)
    k.times(inner, -TWICE_ROOT, inner)
    k.plus(k.exp(inner, inner), 1.0, inner)
    return k.over(x, inner, inner)


def matmul(k, x, w, m, n, depth, result):
    """One tile of x w, over all of k, through L1 and L0 with two buffers each."""
    c = k.alloc((TILE_M, TILE_N), "f32", "l0c", buffers=2)
    with k.tiles(depth, TILE_K) as d:
        a1 = k.load(x[m, d], k.alloc((TILE_M, TILE_K), "f16", "l1", buffers=2))
        b1 = k.load(w[d, n], k.alloc((TILE_K, TILE_N), "f16", "l1", buffers=2))
        a0 = k.load_l0(a1, k.alloc((TILE_M, TILE_K), "f16", "l0a", buffers=2))
        b0 = k.load_l0(b1, k.alloc((TILE_K, TILE_N), "f16", "l0b", buffers=2))
        k.mmad(a0, b0, c, first=d)
    with result.produce() as out:
        k.drain(c, out[m.at(0), n.at(0)])


def build(m, n, k_size, target="Ascend910B1", blocks=24):
    """The kernel for x f16[m, k], w f16[k, n], bias f32[1, n] -> y f16[m, n]."""
    k = gx.kernel("matmul_gelu", core="mix", blocks=blocks)
    x, w = k.input("x", (m, k_size), "f16"), k.input("w", (k_size, n), "f16")
    bias, y = k.input("bias", (1, n), "f32"), k.output("y", (m, n), "f16")
    result = k.channel((TILE_M, TILE_N), "f32", depth=2, name="result")
    with k.cube(), k.tiles((m, n), (TILE_M, TILE_N), over="cores") as (i, j):
        matmul(k, x, w, i, j, k_size, result)
    with k.vector(), k.tiles((m, n), (TILE_M, TILE_N), over="cores") as (i, j):
        row = k.load(bias[0, j], buffers=2)
        with result.consume() as tile, k.tiles(i, HALF, over="subcores") as r:
            t = k.load(tile[r, j.at(0)], buffers=2)
            k.plus(t, k.broadcast(row, like=t), t)
            k.store(k.cast(gelu(k, t), "f16"), y[i + r, j])
    return k.build(target)


def reference(x, w, bias):
    """The same in f64 by numpy."""
    z = x.astype(np.float64) @ w.astype(np.float64) + bias
    return z / (1 + np.exp(-TWICE_ROOT * (z + CUBIC * z**3)))


APART = """
func.func @main(%x: {x}, %w: {w}, %bias: {bias}) -> {y} {{
  %z = ge.MatMulV2(%x, %w, bias = %bias) : ({x}, {w}, {bias}) -> {y}
  %y = ge.Gelu(%z) : ({y}) -> {y}
  func.return %y : {y}
}}
"""


def apart(m, n, k):
    """What the compiler's kernels for the product and for gelu cost, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "apart.mlir")
        shapes = {"x": f"{m}x{k}", "w": f"{k}x{n}", "bias": f"{n}", "y": f"{m}x{n}"}
        types = {name: f"tensor<{shape}xf16>" for name, shape in shapes.items()}
        path.write_text(APART.format(**types))
        return gx.estimate(gx.load(path))


def main():
    """Compare with the formula, and show what a launch costs beside one product and one gelu."""
    m, n, k_size = 2048, 2048, 512
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k_size), (k_size, n)))
    w *= np.float16(k_size**-0.5)
    bias = rng.standard_normal((1, n)).astype(np.float32)
    program = build(m, n, k_size)
    got = program.run(x, w, bias)["y"].astype(np.float64)
    worst = np.abs(got - reference(x, w, bias)).max()
    print(f"largest error {worst:.1e} of values up to {np.abs(got).max():.1f}")
    print(program.estimate())
    print("\napart:")
    print(apart(m, n, k_size))


if __name__ == "__main__":
    main()
