"""Prints a graph with as many sites of Add(Mul(MatMul(x, w), s), bias) as the argument says."""

import sys

count = int(sys.argv[1])
W, X, S = "tensor<8x8xf32>", "tensor<4x8xf32>", "tensor<f32>"
lines = [
    f"  %a{i} = ge.MatMul(%x, %w) : ({X}, {W}) -> {X}\n"
    f"  %m{i} = ge.Mul(%a{i}, %s) : ({X}, {S}) -> {X}\n"
    f"  %y{i} = ge.Add(%m{i}, %bias) : ({X}, {X}) -> {X}"
    for i in range(count)
]
types = ", ".join([X] * count)
names = ", ".join(f"%y{i}" for i in range(count))
print(f"func.func @main(%x: {X}, %w: {W}, %s: {S}, %bias: {X}) -> ({types}) {{")
print("\n".join(lines))
print(f"  func.return {names} : {types}\n}}")
