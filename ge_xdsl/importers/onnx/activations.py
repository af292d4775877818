"""The activations that ONNX recurrences name, with their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node

Activation = Callable[[Builder, SSAValue], SSAValue]
Parameters = tuple[float | None, float | None]
"""alpha and beta, None where the default holds."""

PLAIN = {"Relu": "Relu", "Tanh": "Tanh", "Sigmoid": "Sigmoid", "Softsign": "Softsign",
         "Softplus": "Softplus"}  # fmt: skip
"""Activations without parameters, by their GE op."""
PARAMETERS: dict[str, tuple[float | None, float | None]] = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0, None),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01, None),
    "ScaledTanh": (1.0, 1.0),
    "ThresholdedRelu": (1.0, None),
}
"""Activation -> its default alpha and beta, None for a parameter that it does not have."""


def take_parameters(node: Node, names: Sequence[str]) -> list[Parameters]:
    """alpha and beta of each activation: the lists hold them for those that have one, in order."""
    lists = [node.floats(f"activation_{which}") or [] for which in ("alpha", "beta")]
    found: list[Parameters] = []
    for name in names:
        defaults = PARAMETERS.get(name, (None, None))
        alpha, beta = (
            values.pop(0) if default is not None and values else None
            for values, default in zip(lists, defaults, strict=True)
        )
        found.append((alpha, beta))
    return found


_PLAIN_FUNCTIONS: dict[str, Activation] = {}


def activation(node: Node, name: str, parameters: Parameters) -> Activation:
    """The function of a name; equal names without parameters give the same one."""
    if name in PLAIN:
        if name not in _PLAIN_FUNCTIONS:
            op_type = PLAIN[name]
            _PLAIN_FUNCTIONS[name] = lambda g, x: g.part(op_type, x)
        return _PLAIN_FUNCTIONS[name]
    if name not in PARAMETERS:
        known = ", ".join(sorted([*PLAIN, *PARAMETERS]))
        node.fail(f"an activation is '{name}', expected one of {known}")
    alpha, beta = (
        (default or 0.0) if given is None else given
        for given, default in zip(parameters, PARAMETERS[name], strict=True)
    )
    return _with(name, alpha, beta)


def _with(name: str, alpha: float, beta: float) -> Activation:
    def apply(g: Builder, x: SSAValue) -> SSAValue:
        if name == "Affine":
            return g.part("Adds", g.part("Muls", x, value=alpha), value=beta)
        if name == "ScaledTanh":
            inner = g.part("Tanh", g.part("Muls", x, value=beta))
            return g.part("Muls", inner, value=alpha)
        if name == "HardSigmoid":
            return g.part("HardSigmoid", x, alpha=alpha, beta=beta)
        if name == "ThresholdedRelu":
            return g.part("Mul", x, g.part("Threshold", x, threshold=alpha))
        key = {"Elu": "alpha", "LeakyRelu": "negative_slope"}[name]
        return g.part(name, x, **{key: alpha})

    return apply
