"""Searched tilings against plain ones and the roofline: `python -m benchmarks tiling`.

`plain` is the tile that a simple bound prefers, with two buffers of everything; `searched` is what
the lowering takes; `roofline` is the launch and the larger of two bounds: the products at the
cube's peak, and HBM's bandwidth for each operand once and for what L2 cannot hold of the result.
All three are predicted times in microseconds.
`python benchmarks/bench_tiling.py --json` prints the same as JSON. Exit code 1 if a searched tiling
is slower than the plain one.
"""

from __future__ import annotations

import json
import sys
import time
from math import exp, log
from typing import Any

from ge_xdsl.dialects.aicore.maps import Geometry
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering.conv import Conv, conv_kernel
from ge_xdsl.lowering.conv import shape_of as conv_shape
from ge_xdsl.lowering.matmul import Product, matmul_kernel, shape_of
from ge_xdsl.lowering.sync import sync_kernel
from ge_xdsl.lowering.tile_search import Build, Shape, best_tiling, plain_tiling
from ge_xdsl.lowering.tiling import MatmulTiling
from ge_xdsl.targets import Target, target

GEMMS = [
    # batch, m, n, k, element type
    *((1, size, size, size, "f16") for size in (256, 512, 1024, 2048, 4096, 8192)),
    *((1, size, size, size, "f32") for size in (1024, 4096)),
    *((1, 1, n, k, "f16") for n, k in ((4096, 4096), (11008, 4096), (1000, 2048))),
    *((1, 16, n, k, "f16") for n, k in ((1536, 384), (384, 1536), (32000, 4096))),
    *((1, 128, n, k, "bf16") for n, k in ((768, 768), (3072, 768), (768, 3072), (11008, 4096))),
    (1, 1024, 576, 6144, "f16"),
    (1, 3072, 4096, 128, "f16"),
    (1, 8192, 8192, 64, "f16"),
    (1, 300, 5000, 777, "f16"),
    (1, 16384, 16384, 1024, "f16"),
    (12, 128, 128, 64, "f16"),
    (96, 512, 512, 64, "f16"),
    (96, 512, 64, 512, "f16"),
]
CONVS = [
    # images, channels in, out, size, kernel, stride, groups
    (1, 3, 64, 224, 7, 2, 1),
    (1, 64, 64, 56, 3, 1, 1),
    (1, 128, 128, 28, 3, 1, 1),
    (1, 256, 256, 14, 3, 1, 1),
    (1, 512, 512, 7, 3, 1, 1),
    (8, 64, 64, 56, 3, 1, 1),
    (8, 256, 512, 28, 3, 2, 1),
    (16, 512, 512, 7, 3, 1, 1),
    (1, 256, 256, 28, 3, 1, 32),
]
CHIP = "Ascend910B1"


def gemm(
    case: tuple[int, int, int, int, str], chip: Target
) -> tuple[str, Product, Shape, Build, int]:
    """Name, product, sizes, kernel builder and bytes of the result."""
    batch, m, n, k, element = case
    lead = (batch,) if batch > 1 else ()
    product = Product((*lead, m, k), (*lead, k, n), (*lead, m, n), False, False, element, "", False)
    shape = shape_of(product)
    name = f"{'' if batch == 1 else f'{batch} x '}{m}x{n}x{k} {element}"
    written = batch * m * n * shape.out_size
    return name, product, shape, lambda t: matmul_kernel("product", product, chip, t), written


def conv(
    case: tuple[int, int, int, int, int, int, int], chip: Target
) -> tuple[str, Conv, Shape, Build, int]:
    """The same of a convolution with half its kernel as padding."""
    images, inputs, outputs, size, kernel, stride, groups = case
    out = (size - 1) // stride + 1
    pairs = [(d, d) for d in (size, kernel, stride, 1, kernel // 2, out)]
    made = Conv(
        images, inputs, outputs, groups, Geometry(*pairs), True, (0, 1, 2, 3), "f16", "", False
    )
    shape = conv_shape(made)
    name = f"conv {images}x{inputs}x{size}x{size} to {outputs}, {kernel}x{kernel}/{stride}"
    name += f" groups {groups}" if groups > 1 else ""
    written = images * outputs * out * out * 2
    return name, made, shape, lambda t: conv_kernel("conv", made, chip, t), written


def predicted(tiling: MatmulTiling, build: Build, chip: Target) -> float:
    """Microseconds of the kernel with a tiling."""
    kernel = build(tiling)
    sync_kernel(kernel)
    return time_kernel(kernel, chip).us


def roofline(shape: Shape, written: int, chip: Target) -> float:
    """Microseconds that no kernel of these sizes is below."""
    rate = 16 * 16 * 32 // shape.size
    if shape.size == 4:
        rate //= chip.mmad_fp32_factor
    macs = shape.batch * shape.m * shape.n * shape.k
    cube = macs / (rate * chip.cube_cores * chip.clock_hz)
    moved = shape.left_bytes() + shape.right_bytes() + max(0, written - chip.l2)
    hbm = moved / chip.hbm_l1_bandwidth
    return chip.launch_us + 1e6 * max(cube, hbm)


def rows() -> list[dict[str, Any]]:
    """One row per product: the three times, and what the search took."""
    chip = target(CHIP)
    made = [gemm(case, chip) for case in GEMMS] + [conv(case, chip) for case in CONVS]
    found: list[dict[str, Any]] = []
    for name, product, shape, build, written in made:
        start = time.perf_counter()
        tiling = best_tiling((product, shape), chip, build)
        host = time.perf_counter() - start
        found.append(
            {
                "product": name,
                "plain_us": predicted(plain_tiling(shape, chip), build, chip),
                "searched_us": predicted(tiling, build, chip),
                "roofline_us": roofline(shape, written, chip),
                "tile": f"{tiling.m},{tiling.n},{tiling.k0}",
                "k1": tiling.k1,
                "stay": tiling.stay,
                "search_ms": 1e3 * host,
            }
        )
    return found


def table(found: list[dict[str, Any]]) -> str:
    """The rows as text, and geometric means."""
    names = f"{'product':38} {'plain us':>9} {'searched':>9} {'gain':>6} {'roofline':>9}"
    lines = [f"{names} {'share':>6}  {'m,n,k0':11} {'k1':>5} {'stays':5} {'ms':>5}"]
    for row in found:
        plain, searched, bound = (row[f"{k}_us"] for k in ("plain", "searched", "roofline"))
        lines.append(
            f"{row['product']:38} {plain:9.1f} {searched:9.1f} {100 * (plain / searched - 1):5.1f}%"
            f" {bound:9.1f} {100 * bound / searched:5.0f}%  {row['tile']:11} {row['k1']:5}"
            f" {row['stay']:5} {row['search_ms']:5.0f}"
        )
    gain = exp(sum(log(r["plain_us"] / r["searched_us"]) for r in found) / len(found))
    share = exp(sum(log(r["roofline_us"] / r["searched_us"]) for r in found) / len(found))
    lines.append(
        f"geometric mean: {100 * (gain - 1):.1f} % faster, {100 * share:.0f} % of the roofline"
    )
    return "\n".join(lines)


def main() -> int:
    """Print the table, or JSON; 1 when the search made something slower."""
    found = rows()
    if "--json" in sys.argv[1:]:
        print(json.dumps({"benchmark": "tiling", "target": CHIP, "rows": found}))
    else:
        print(table(found))
    return int(any(row["searched_us"] > row["plain_us"] * (1 + 1e-9) for row in found))


if __name__ == "__main__":
    sys.exit(main())
