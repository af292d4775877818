"""Prints a graph: so many Relus, so many transposes by [1, 0, 2], and nested concats."""

import sys

relus, transposes = map(int, sys.argv[1:3])
T, C = "tensor<2x2x3xf32>", "tensor<3xi64>"
lines = ["  %perm = ge.Const() {value = dense<[1, 0, 2]> : tensor<3xi64>} : () -> tensor<3xi64>"]
lines += [f"  %r{i} = ge.Relu(%{f'r{i - 1}' if i else 'x'}) : ({T}) -> {T}" for i in range(relus)]
lines += [
    f"  %t{i} = ge.Transpose(%{f't{i - 1}' if i else 'x'}, %perm) : ({T}, {C}) -> {T}"
    for i in range(transposes)
]
print(f"func.func @main(%x: {T}) -> ({T}, {T}) {{")
print("\n".join(lines))
print(f"  func.return %r{relus - 1}, %t{transposes - 1} : {T}, {T}\n}}")
