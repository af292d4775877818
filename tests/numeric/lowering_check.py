"""Lower a graph, run its tile program and hold the results against the whole-tensor run."""

import re

import numpy as np

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import dtype_of_numpy, numpy_dtype, tensor_of
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.compare import THRESHOLD, accept
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.lowering import lower
from ge_xdsl.targets import target

CHIP = "Ascend910B1"


def arrays_for(func, low=-4.0, high=4.0, seed=0):
    rng = np.random.default_rng(seed)
    made = {}
    for arg in func.body.block.args:
        tensor = tensor_of(arg.type)
        dtype = numpy_dtype(tensor.dtype)
        values = rng.uniform(low, high, tensor.shape)
        made[arg.name_hint] = values > 0 if dtype.kind == "b" else np.asarray(values).astype(dtype)
    return made


def check_graph(text, chip=CHIP, low=-4.0, high=4.0, calls=None, exact=False, inputs=None):
    """The lowered module and the report. Sums may differ as those of another order do."""
    module = parse_module(text)
    verify(module)
    lowered = lower(module, chip)
    verify(lowered)
    check(lowered, target(chip))
    printed = module_text(lowered)
    assert module_text(parse_module(printed)) == printed
    func = main_function(module)
    arrays = arrays_for(func, low, high) | (inputs or {})
    got, report = aicore.run(lowered, arrays, chip)
    for g, w in zip(got, run_function(func, arrays), strict=True):
        assert g.dtype == w.dtype
        assert g.shape == w.shape
        kind = dtype_of_numpy(w.dtype)
        if exact or kind not in THRESHOLD:
            np.testing.assert_array_equal(g, w)
            continue
        result = accept(g, w)
        assert result.mere < THRESHOLD[kind], result.text
        assert result.plain or w.dtype.name == "bfloat16", result.text
    assert dict(report.calls) == (calls or {})
    return lowered, report


def graph(ops, results, **types):
    """`ops` are lines `y = ge.X(a, b) {attrs} -> type`; `types` those of the arguments."""
    known = {name: f"tensor<{t}>" for name, t in types.items()}
    head = ", ".join(f"%{name} : {t}" for name, t in known.items())
    lines = []
    for line in ops:
        made, call = line.split(" = ge.", 1)
        call = f"ge.{call}"
        call, result = call.rsplit(" -> ", 1)
        name, rest = call.split("(", 1)
        args, attrs = rest.split(")", 1)
        operands = re.findall(r"(\w+)(?=[,\]]|$)", args)
        right = re.sub(r"(\w+)(?=[,\]]|$)", r"%\1", args).replace("=", " = ")
        outs = [f"tensor<{t.strip()}>" for t in result.split(",")]
        outs_text = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
        known |= dict(zip((m.strip() for m in made.split(",")), outs, strict=True))
        signature = ", ".join(known[a] for a in operands)
        left = ", ".join(f"%{m.strip()}" for m in made.split(","))
        lines.append(f"  {left} = {name}({right}){attrs} : ({signature}) -> {outs_text}")
    names = [r.strip() for r in results.split(",")]
    values, kinds = ", ".join(f"%{r}" for r in names), ", ".join(known[r] for r in names)
    body = "\n".join(lines)
    return f"func.func @main({head}) -> ({kinds}) {{\n{body}\n  func.return {values} : {kinds}\n}}"


def const(name, values, kind):
    """A line of a constant."""
    return f"{name} = ge.Const() {{value = dense<{values}> : tensor<{kind}>}} -> {kind}"
