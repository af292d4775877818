"""`torch.compile(model, backend="ge_xdsl")`: graphs of torch through the GE passes, run in numpy.

Torch captures a graph and makes it functional; its core ATen operators become GE ops, the pipeline
of `ge_xdsl.optimize` with the passes of `ASCEND_GE_PY_PASS_PATH` runs on them, and each call runs
the optimised graph in the GE interpreter. In training the backward graph runs in torch itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.importers.torch.reader import ImportedGraph

LOG = logging.getLogger("ge_xdsl")
"""Tells warnings of each compiled graph, and at level info what the passes did to it."""


def backend(
    graph_module: Any, example_inputs: Sequence[Any], *, options: dict[str, str] | None = None
) -> Callable[..., Any]:
    """What torch.compile calls for each captured graph; gives the function that runs it.

    `options` of torch.compile are those that `PassContext.get_option_value` reads. Raises
    CompileError, which torch reports, for an operator without a conversion.
    """
    from ge_xdsl.importers.torch.fused import fused_decompositions

    aot = import_module("torch._dynamo.backends.common").aot_autograd
    core = import_module("torch._decomp").core_aten_decompositions()

    def compile_forward(graph_module: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        return CompiledGraph(graph_module, options)

    compiler = aot(
        fw_compiler=compile_forward,
        bw_compiler=_run_by_torch,
        inference_compiler=compile_forward,
        decompositions={**core, **fused_decompositions()},
    )
    return compiler(graph_module, example_inputs)


def _run_by_torch(graph_module: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
    """The graph itself, called with one list."""
    return import_module("functorch.compile").make_boxed_func(graph_module.forward)


class CompiledGraph:
    """An fx graph as an optimised GE graph; calling it runs it on one list of torch values."""

    _boxed_call = True
    """Tells torch that the arguments come as one list, which may be emptied."""

    def __init__(self, graph_module: Any, options: dict[str, str] | None = None) -> None:
        import ge_xdsl
        from ge_xdsl.importers.torch.reader import import_fx

        modes = import_module("torch.utils._python_dispatch")
        with modes._disable_current_modes():  # constants are real tensors, not fake ones
            self.graph: ImportedGraph = import_fx(graph_module)
        self.report = ge_xdsl.optimize(self.graph.module, options=options)
        for line in (*self.report.messages, *self.report.failures):
            LOG.warning(line)
        LOG.info(self.report)

    def __call__(self, arguments: list[Any]) -> list[Any]:
        from ge_xdsl.dialects.ge.graph import main_function
        from ge_xdsl.interpreters.ge import run_function

        names = self.graph.inputs
        inputs = {
            name: _array(argument)
            for name, argument in zip(names, arguments, strict=True)
            if name is not None
        }
        arguments.clear()
        arrays = run_function(main_function(self.graph.module), inputs)
        return self._outputs(arrays, {id(array) for array in inputs.values()})

    def _outputs(self, arrays: Sequence[Array], taken: set[int]) -> list[Any]:
        """The results as torch values; no tensor shares memory with another value."""
        from ge_xdsl.importers.torch.reader import Slot

        found: list[Any] = []
        for output in self.graph.outputs:
            if not isinstance(output, Slot):
                found.append(output)
                continue
            array = arrays[output.index]
            if not hasattr(output.fake, "dtype"):
                found.append(array.item())
                continue
            if not array.flags.owndata or not array.flags.writeable or id(array) in taken:
                array = array.copy()
            taken.add(id(array))
            found.append(_tensor(array, output.fake))
        return found


def _array(argument: Any) -> Array:
    """An argument as an array over its memory; a size as an i64 scalar."""
    import numpy as np

    from ge_xdsl.importers.torch.values import array_of_tensor

    if isinstance(argument, int):
        return np.array(argument, np.int64)
    if not hasattr(argument, "dtype"):
        raise CompileError(f"argument is {type(argument).__name__}, expected a tensor")
    return array_of_tensor(argument)


def _tensor(array: Array, fake: Any) -> Any:
    """An array as a tensor with the strides that torch expects where these are known."""
    from ge_xdsl.importers.torch.values import tensor_of_array, torch_module

    found = tensor_of_array(array, fake.dtype)
    strides = fake.stride()
    if not all(isinstance(stride, int) for stride in strides) or found.stride() == strides:
        return found
    laid_out = torch_module().empty_strided(found.shape, strides, dtype=fake.dtype)
    return laid_out.copy_(found)
