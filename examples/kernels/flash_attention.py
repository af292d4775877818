"""softmax(q k^T / sqrt(d)) v as one mixed kernel with online softmax.

    python examples/kernels/flash_attention.py

The scores never exist as a whole. For a tile of queries the cube core multiplies with one tile of
keys after the other; its vector cores keep, for each query, the largest score so far, the sum of
the exponentials and the output so far, and scale the last two when a larger score comes. Scores,
weights and partial outputs go through channels: the cube core is one tile of keys ahead, so that
it multiplies while the vector cores exponentiate.
"""

import math

import numpy as np

import ge_xdsl as gx

TILE_Q, TILE_K = 128, 128
HALF = TILE_Q // 2
LEAST = -3.0e38


class Cube:
    """What the cube core does for one tile of queries."""

    def __init__(self, kernel, k, v, d, channels):
        self.kernel, self.k, self.v, self.d = kernel, k, v, d
        self.scores, self.weights, self.parts = channels

    def queries(self, q, head, rows):
        """Bring the queries to L0A, where they stay."""
        one = self.kernel
        q1 = one.load(q[head, rows, 0 : self.d], one.alloc((TILE_Q, self.d), "f16", "l1"))
        self.q0 = one.load_l0(q1, one.alloc((TILE_Q, self.d), "f16", "l0a"))
        # one each for all tiles of keys: two would not fit
        self.p0 = one.alloc((TILE_Q, TILE_K), "f16", "l0a")
        self.k0 = one.alloc((self.d, TILE_K), "f16", "l0b")
        self.v0 = one.alloc((TILE_K, self.d), "f16", "l0b")
        self.s = one.alloc((TILE_Q, TILE_K), "f32", "l0c")
        self.o = one.alloc((TILE_Q, self.d), "f32", "l0c")

    def score(self, head, rows, keys, buffers=1):
        """scores = queries keys^T"""
        one = self.kernel
        k1 = one.load(
            self.k[head, keys, 0 : self.d],
            one.alloc((TILE_K, self.d), "f16", "l1", buffers=buffers),
        )
        one.mmad(self.q0, one.load_l0(k1, self.k0, transpose=True), self.s)
        with self.scores.produce() as out:
            one.drain(self.s, out[rows.at(0), keys.at(0)])

    def part(self, head, rows, keys, buffers=1):
        """part = weights values"""
        one = self.kernel
        v1 = one.load(
            self.v[head, keys, 0 : self.d],
            one.alloc((TILE_K, self.d), "f16", "l1", buffers=buffers),
        )
        with self.weights.consume() as tile:
            p1 = one.load(tile[rows.at(0), keys.at(0)], one.alloc((TILE_Q, TILE_K), "f16", "l1"))
        one.mmad(one.load_l0(p1, self.p0), one.load_l0(v1, self.v0), self.o)
        with self.parts.produce() as out:
            one.drain(self.o, out[rows.at(0), 0 : self.d])


def cube(kernel, q, k, v, s, d, channels):
    """The products, the scores one tile of keys ahead."""
    heads, length = q.shape[0], q.shape[1]
    with kernel.tiles((heads, length), (1, TILE_Q), over="cores") as (head, rows):
        core = Cube(kernel, k, v, d, channels)
        core.queries(q, head, rows)
        first = kernel.dim(0, min(TILE_K, s))
        core.score(head, rows, first)
        last = first
        if s > TILE_K:
            with kernel.tiles(s - TILE_K, TILE_K, start=TILE_K) as keys:
                core.score(head, rows, keys, buffers=2)
                core.part(head, rows, (keys - TILE_K).sized(TILE_K), buffers=2)
            start = (s - 1) // TILE_K * TILE_K
            last = kernel.dim(start, s - start)
        core.part(head, rows, last)


class Vector:
    """What a vector core keeps for its half of the queries."""

    def __init__(self, kernel, d):
        self.kernel, self.d = kernel, d
        self.top = kernel.alloc((HALF, 1), "f32", "ub", name="top")
        self.sum = kernel.alloc((HALF, 1), "f32", "ub", name="sum")
        self.out = kernel.alloc((HALF, d), "f32", "ub", name="out")
        self.scale = kernel.alloc((HALF, 1), "f32", "ub", name="scale")
        self.wide = kernel.alloc((HALF, max(TILE_K, d)), "f32", "ub", name="wide")

    def start(self):
        kernel = self.kernel
        kernel.fill(self.top, LEAST)
        kernel.fill(self.sum, 0.0)
        kernel.fill(self.out, 0.0)

    def weigh(self, scores, weights, r, keys):
        """weights = exp(scores - the largest so far); the sum and the scale of what was before."""
        kernel = self.kernel
        x = kernel.load(scores[r, keys.at(0)])
        kernel.times(x, 1 / math.sqrt(self.d), x)
        self.sized(r)
        top = kernel.maximum(kernel.reduce(x, "max"), self.top)
        kernel.exp(kernel.minus(self.top, top, self.scale), self.scale)
        kernel.copy(top, self.top)
        kernel.exp(kernel.minus(x, kernel.broadcast(top, x, self.wide), x), x)
        kernel.times(self.sum, self.scale, self.sum)
        kernel.plus(self.sum, kernel.reduce(x, "sum"), self.sum)
        kernel.store(kernel.cast(x, "f16"), weights[r, keys.at(0)])

    def add(self, part, r):
        """out = out scale + part"""
        kernel = self.kernel
        o = kernel.load(part[r, 0 : self.d])
        self.sized(r)
        kernel.times(self.out, kernel.broadcast(self.scale, self.out, self.wide), self.out)
        kernel.plus(self.out, o, self.out)

    def sized(self, r):
        """As many queries as there are in this half."""
        for tile, wide in ((self.top, 1), (self.sum, 1), (self.scale, 1), (self.out, self.d)):
            tile.valid = (r.length, wide)


def vector(kernel, y, s, d, channels):
    """Softmax and output, for half of the queries each."""
    scores, weights, parts = channels
    heads, length = y.shape[0], y.shape[1]
    with kernel.tiles((heads, length), (1, TILE_Q), over="cores") as (head, rows):
        core = Vector(kernel, d)
        core.start()
        with kernel.tiles(s, TILE_K) as keys:
            half = kernel.tiles(rows, HALF, over="subcores")
            with scores.consume() as x, weights.produce() as w, half as r:
                core.weigh(x, w, r, keys)
            half = kernel.tiles(rows, HALF, over="subcores")
            with parts.consume() as part, half as r:
                core.add(part, r)
        with kernel.tiles(rows, HALF, over="subcores") as r:
            core.sized(r)
            total = kernel.broadcast(core.sum, core.out, core.wide)
            result = kernel.cast(kernel.over(core.out, total, core.out), "f16")
            kernel.store(result, y[head, rows + r, 0:d])


def build(heads, length, keys, d, target="Ascend910B1", blocks=24):
    """The kernel for q f16[heads, length, d], k and v f16[heads, keys, d] -> y as q."""
    kernel = gx.kernel("flash_attention", core="mix", blocks=blocks)
    q = kernel.input("q", (heads, length, d), "f16")
    k = kernel.input("k", (heads, keys, d), "f16")
    v = kernel.input("v", (heads, keys, d), "f16")
    y = kernel.output("y", (heads, length, d), "f16")
    channels = (
        kernel.channel((TILE_Q, TILE_K), "f32", name="scores"),
        kernel.channel((TILE_Q, TILE_K), "f16", name="weights"),
        kernel.channel((TILE_Q, d), "f32", name="parts"),
    )
    with kernel.cube():
        cube(kernel, q, k, v, keys, d, channels)
    with kernel.vector():
        vector(kernel, y, keys, d, channels)
    return kernel.build(target)


def reference(q, k, v):
    """The same in f64 by numpy."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


def main():
    """Compare with the formula, and show what a launch costs."""
    heads, length, keys, d = 16, 1000, 1000, 64
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((heads, n, d)).astype(np.float16) for n in (length, keys, keys))
    program = build(heads, length, keys, d)
    got = program.run(q, k, v)["y"].astype(np.float64)
    print(f"largest error {np.abs(got - reference(q, k, v)).max():.1e}")
    print(program.estimate())


if __name__ == "__main__":
    main()
