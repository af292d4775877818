"""Text: parsing, verifying and printing a graph of 10,000 ops, in CPU microseconds per op.

The peers are the stock xDSL parser and printer on a tenth of the module in generic form, in the
same process. A dense literal of a million elements is timed too, per element, beside
the stock parser on ten thousand of them.
"""

import gc
import json
import time
from io import StringIO

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


ELEMENTS = 1_000_000


def literal(count: int) -> str:
    """A dense literal of f32 numbers."""
    numbers = ", ".join(f"{k % 1000}.5" for k in range(count))
    return f"dense<[{numbers}]> : tensor<{count}xf32>"


def micros(call, ops: int):
    """A call's result and its CPU microseconds per op."""
    start = time.process_time()
    result = call()
    return result, round(1e6 * (time.process_time() - start) / ops, 2)


def main() -> None:
    """Print the JSON."""
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    from ge_xdsl.dialects.ge.graph import verify
    from ge_xdsl.dialects.ge.text import GeContext, GeParser, module_text, parse_module

    gc.set_threshold(100_000, 50, 1000)
    text = graph(OPS)
    module, parse = micros(lambda: parse_module(text), OPS)
    _, check = micros(lambda: verify(module), OPS)
    _, printing = micros(lambda: module_text(module), OPS)
    small = parse_module(graph(OPS // 10))
    few = module_text(small, generic=True)
    _, stock = micros(lambda: Parser(GeContext(), few).parse_module(), OPS // 10)
    _, stock_print = micros(
        lambda: Printer(StringIO(), print_generic_format=True).print_op(small), OPS // 10
    )
    _, dense = micros(lambda: GeParser(GeContext(), literal(ELEMENTS)).parse_attribute(), ELEMENTS)
    few = literal(ELEMENTS // 100)
    _, dense_stock = micros(lambda: Parser(GeContext(), few).parse_attribute(), ELEMENTS // 100)
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
                "stock xDSL printer, generic form": stock_print,
                "dense literal, us per element": dense,
                "dense literal, stock parser": dense_stock,
            }
        )
    )


if __name__ == "__main__":
    main()
