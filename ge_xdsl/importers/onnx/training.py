"""ONNX steps of optimizers (domain ai.onnx.preview.training), as arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def _groups(node: Node, count: int) -> list[list[SSAValue]]:
    """The inputs after rate and time as groups, one per optimized tensor: each group has that
    tensor's entry of each of `count` lists."""
    values = [node.input(k) for k in range(2, len(node.inputs))]
    if not values or len(values) % count:
        node.fail(f"has {len(values)} tensors, expected a multiple of {count}")
    size = len(values) // count
    return [values[k::size] for k in range(size)]


def _lists(results: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """Results per tensor as one list after the other."""
    return [value for listed in zip(*results, strict=True) for value in listed]


def _regularized(node: Node, g: Builder, gradient: SSAValue, x: SSAValue) -> SSAValue:
    """gradient + norm_coefficient * x"""
    factor = node.peek_floating("norm_coefficient", 0.0)
    return g.part("Add", gradient, g.part("Muls", x, value=factor))


def momentum(node: Node, g: Builder) -> Sequence[SSAValue]:
    """v' = alpha*v + beta'*g; x' = x - rate*v', or with Nesterov x - rate*(g + alpha*v')

    beta' is 1 in the first step.
    """
    rate, time = node.input(0), node.input(1)
    alpha, beta = node.floating("alpha", 0.0), node.floating("beta", 0.0)
    mode = node.string("mode", "")
    if mode not in ("standard", "nesterov"):
        node.fail(f"attribute 'mode' is '{mode}', expected 'standard' or 'nesterov'")
    later = g.part("Greater", time, g.like(0, time))
    results: list[list[SSAValue]] = []
    for x, gradient, velocity in _groups(node, 3):
        grown = _regularized(node, g, gradient, x)
        factor = g.part("SelectV2", later, g.like(beta, x), g.like(1.0, x))
        moved = g.part("Add", g.part("Muls", velocity, value=alpha), g.part("Mul", grown, factor))
        step = moved
        if mode == "nesterov":
            step = g.part("Add", grown, g.part("Muls", moved, value=alpha))
        results.append([g.part("Sub", x, g.part("Mul", step, rate)), moved])
    node.ignore("norm_coefficient")
    return _lists(results)


def adagrad(node: Node, g: Builder) -> Sequence[SSAValue]:
    """h' = h + g^2; x' = x - rate/(1 + t*decay) * g / (sqrt(h') + epsilon)"""
    rate, time = node.input(0), node.input(1)
    decay, epsilon = node.floating("decay_factor", 0.0), node.floating("epsilon", 1e-6)
    slowed = g.part("Adds", g.part("Muls", g.cast(time, g.dtype(rate)), value=decay), value=1.0)
    rate = g.part("RealDiv", rate, slowed)
    results: list[list[SSAValue]] = []
    for x, gradient, history in _groups(node, 3):
        grown = _regularized(node, g, gradient, x)
        held = g.part("Add", history, g.part("Square", grown))
        scale = g.part("Adds", g.part("Sqrt", held), value=epsilon)
        step = g.part("RealDiv", g.part("Mul", grown, rate), scale)
        results.append([g.part("Sub", x, step), held])
    node.ignore("norm_coefficient")
    return _lists(results)


def adam(node: Node, g: Builder) -> Sequence[SSAValue]:
    """v' = alpha*v + (1-alpha)*g; h' = beta*h + (1-beta)*g^2; x' = x - rate'*v'/(sqrt(h') + eps)

    rate' is rate*sqrt(1 - beta^t)/(1 - alpha^t) after the first step; x' is then scaled by
    1 - norm_coefficient_post.
    """
    rate, time = node.input(0), node.input(1)
    alpha, beta = node.floating("alpha", 0.9), node.floating("beta", 0.999)
    epsilon, post = node.floating("epsilon", 0.0), node.floating("norm_coefficient_post", 0.0)
    steps = g.cast(time, g.dtype(rate))
    left, right = (
        g.part("Adds", g.part("Muls", g.part("Pow", g.like(base, rate), steps), value=-1.0),
               value=1.0)
        for base in (alpha, beta)
    )  # fmt: skip
    corrected = g.part("Mul", rate, g.part("RealDiv", g.part("Sqrt", right), left))
    rate = g.part("SelectV2", g.part("Greater", time, g.like(0, time)), corrected, rate)
    results: list[list[SSAValue]] = []
    for x, gradient, first, second in _groups(node, 4):
        grown = _regularized(node, g, gradient, x)
        moved = _mixed(g, first, grown, alpha)
        spread = _mixed(g, second, g.part("Square", grown), beta)
        scale = g.part("Adds", g.part("Sqrt", spread), value=epsilon)
        step = g.part("RealDiv", g.part("Mul", moved, rate), scale)
        results.append([g.part("Muls", g.part("Sub", x, step), value=1 - post), moved, spread])
    node.ignore("norm_coefficient")
    return _lists(results)


def _mixed(g: Builder, old: SSAValue, new: SSAValue, share: float) -> SSAValue:
    """share*old + (1 - share)*new"""
    return g.part("Add", g.part("Muls", old, value=share), g.part("Muls", new, value=1 - share))


DOMAIN = "ai.onnx.preview.training"
TABLE: dict[str, Converter] = {
    f"{DOMAIN}::Adagrad": adagrad,
    f"{DOMAIN}::Adam": adam,
    f"{DOMAIN}::Momentum": momentum,
}
