"""Write a kernel for the AI core in Python, check it, run it, and price it.

    import ge_xdsl as gx

    k = gx.kernel("relu", core="vector", blocks=48)
    x, y = k.input("x", (4096, 512), "f16"), k.output("y", (4096, 512), "f16")
    with k.tiles((4096, 512), (32, 512), over="cores") as (r, c):
        t = k.load(x[r, c], buffers=2)
        k.store(k.relu(t), y[r, c])
    relu = k.build("Ascend910B1")
    print(relu.run(x=array)["y"], relu.estimate())

`Kernel` in `builder` is what `gx.kernel` gives, `docs/kernels.md` tells its methods one by one.
"""

from ge_xdsl.kernels.builder import Kernel
from ge_xdsl.kernels.program import KernelProgram
from ge_xdsl.kernels.values import Buffer, Channel, Dim, Global, Window

__all__ = ["Buffer", "Channel", "Dim", "Global", "Kernel", "KernelProgram", "Window"]
