"""Text: parsing, verifying and printing a graph of 10,000 ops, in CPU microseconds per op.

The peer is the stock xDSL parser on the same module in generic form, in the same process.
"""

import gc
import json
import time

OPS = 10_000


def graph(count: int) -> str:
    """A chain of MatMul with bias, Add, Relu and Mul."""
    m, w, b = "tensor<4x8xf32>", "tensor<8x8xf32>", "tensor<8xf32>"
    lines = [f"func.func @main(%x: {m}, %w: {w}, %b: {b}) -> {m} {{"]
    value = "x"
    for i in range(count // 4):
        lines += [
            (
                f"  %mm_{i} = ge.MatMul(%{value}, %w, bias = %b) {{transpose_x2 = true}} "
                f": ({m}, {w}, {b}) -> {m}"
            ),
            f"  %add_{i} = ge.Add(%mm_{i}, %x) : ({m}, {m}) -> {m}",
            f"  %relu_{i} = ge.Relu(%add_{i}) : ({m}) -> {m}",
            f"  %mul_{i} = ge.Mul(%relu_{i}, %relu_{i}) : ({m}, {m}) -> {m}",
        ]
        value = f"mul_{i}"
    return "\n".join([*lines, f"  func.return %{value} : {m}", "}", ""])


def micros(call, ops: int):
    """A call's result and its CPU microseconds per op."""
    start = time.process_time()
    result = call()
    return result, round(1e6 * (time.process_time() - start) / ops, 1)


def main() -> None:
    """Print the JSON."""
    from xdsl.parser import Parser

    from ge_xdsl.dialects.ge.graph import verify
    from ge_xdsl.dialects.ge.text import GeContext, module_text, parse_module

    gc.set_threshold(100_000, 50, 1000)
    text = graph(OPS)
    module, parse = micros(lambda: parse_module(text), OPS)
    _, check = micros(lambda: verify(module), OPS)
    _, printing = micros(lambda: module_text(module), OPS)
    few = module_text(parse_module(graph(OPS // 10)), generic=True)
    _, stock = micros(lambda: Parser(GeContext(), few).parse_module(), OPS // 10)
    print(
        json.dumps(
            {
                "benchmark": "text",
                "unit": "CPU us per op",
                "parse": parse,
                "verify": check,
                "print": printing,
                "stock xDSL parser, generic form": stock,
                "ratio stock/ours": round(stock / parse, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
