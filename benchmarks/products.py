"""What the convolutions of a program cost as bare sums of products, for the benchmark of runs.

Each convolution is one `np.matmul` of matrices that are ready, [places, depth] by [depth,
channels], written to a ready result; a depthwise one is one `np.einsum` over ready rows with the
channels last. No padding, no unfolding, no bias, no activation, no other op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any


def folded_steps(body: Any) -> Iterator[Any]:
    """The convolutions of a program that has run, those of subgraphs too."""
    from ge_xdsl.interpreters.folded import FoldedStep

    for step in body.steps:
        if isinstance(step, FoldedStep):
            yield step
        for inner in getattr(step, "bodies", {}).values():
            yield from folded_steps(inner)


def bare_products(step: Any) -> tuple[bool, Callable[[], object]] | None:
    """Whether a convolution is depthwise, and its sums of products, for the last shape of x."""
    import numpy as np

    if not step.plans:
        return None
    shape = next(reversed(step.plans))
    inputs = step.conv.channels_of(shape)
    weight, groups = step.conv.kernel(step.rest[0], inputs)
    high, wide = step.conv.windows(shape, weight.shape[2:])
    rng = np.random.default_rng(0)
    channels, depth = weight.shape[0], weight[0].size
    if groups == inputs == channels > 1:
        row = wide.count * channels
        x = rng.normal(size=(high.count, high.kernel, 1, row + channels * (wide.kernel - 1)))
        rows = _windows(np.require(x, np.float32), wide.kernel, channels, row)
        taps = np.ones((high.kernel, wide.kernel, row), np.float32)
        out = np.empty((high.count, row), np.float32)
        return True, lambda: np.einsum("huvl,uvl->hl", rows, taps, out=out)
    places = shape[0] * high.count * wide.count
    columns = np.require(rng.normal(size=(groups, places, depth)), np.float32)
    matrix = np.require(rng.normal(size=(groups, depth, channels // groups)), np.float32)
    out = np.empty((groups, places, channels // groups), np.float32)
    return False, lambda: np.matmul(columns, matrix, out=out)


def _windows(x: Any, taps: int, channels: int, row: int) -> Any:
    """[rows, kernel rows, 1, length] -> [rows, kernel rows, taps, row], neighbours overlapping."""
    from numpy.lib.stride_tricks import as_strided

    high, up, _, each = x.strides
    return as_strided(x, (*x.shape[:2], taps, row), (high, up, each * channels, each))


def milliseconds(program: Any, clock: Callable[[], float], rounds: int = 5) -> dict[str, float]:
    """The smallest time of each convolution's products, summed: `dense` and `depthwise`."""
    found = {"dense": 0.0, "depthwise": 0.0}
    for step in folded_steps(program.body):
        bare = bare_products(step)
        if bare is None:
            continue
        is_depthwise, run = bare
        best = math.inf
        for _ in range(rounds + 1):
            before = clock()
            run()
            best = min(best, clock() - before)
        found["depthwise" if is_depthwise else "dense"] += 1000 * best
    return found
