"""Small aicore kernels as text, for tests that change one thing."""

GM = "!aicore.tile<64x64xf16, gm>"
UB = "!aicore.tile<16x64xf16, ub>"

COPY = f"""
  aicore.kernel @k(%x : {GM}) writes (%y : {GM}) on vector * 2 {{
    aicore.for (%r : %vr) in [64] by [16] over cores {{
      %t = aicore.alloc buffers 2 : {UB}
      aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : {GM}, {UB}
      aicore.vunary %t, %t, [%vr, 64] {{kind = relu}} : {UB}, {UB}
      aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : {UB}, {GM}
    }}
  }}
  func.func @main(%x : tensor<64x64xf16>) -> tensor<64x64xf16> {{
    %y = aicore.launch @k(%x) for ["relu"] : (tensor<64x64xf16>) -> tensor<64x64xf16>
    func.return %y : tensor<64x64xf16>
  }}
"""


def instruction(text, kernel_core="vector"):
    """A kernel around one instruction on tiles of every space, all allocated."""
    tiles = {
        "l1": "64x64xf16, l1, nz",
        "l1f": "64x64xf32, l1, nz",
        "row": "1x64xf16, l1",
        "l0a": "64x64xf16, l0a, zz",
        "l0b": "64x64xf16, l0b, zn",
        "l0bf": "64x64xf32, l0b, zn",
        "l0c": "64x64xf32, l0c, nz",
        "bt": "1x64xf32, bt",
        "ub": "64x64xf16, ub",
        "ubf": "64x64xf32, ub",
        "ubb": "64x64xbf16, ub",
        "ubi": "64x64xi32, ub",
        "bits": "64x64xbit, ub",
    }
    gm = "!aicore.tile<64x64xf16, gm>"
    lines = [f"  %{n} = aicore.alloc : !aicore.tile<{t}>" for n, t in tiles.items()]
    types = {n: f"!aicore.tile<{t}>" for n, t in tiles.items()} | {"x": gm, "y": gm}
    operands, rest = text.split(" : ")
    listed = ", ".join(types[name.strip()] for name in rest.split(","))
    body = "\n".join([*lines, f"  {operands} : {listed}"])
    head = f"aicore.kernel @k(%x : {gm}) writes (%y : {gm}) on {kernel_core} * 1 {{"
    return f"{head}\n{body}\n}}"
