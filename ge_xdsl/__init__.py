"""Compile CANN GE graphs with pattern rewrites, on any machine.

    import ge_xdsl as gx
    module = gx.load("model.onnx")
    report = gx.optimize(module, passes=["my_pass.py"])
    outputs = gx.run(module, {"x": array})

Every function raises `gx.CompileError` with a one-line message for bad input; a module is left as
it was when a call fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ge_xdsl.errors import CompileError, PassError, UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ge_xdsl.compat.ge.passes.stage import StageReport
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.interpreters.timing import Report
    from ge_xdsl.kernels.builder import Kernel
    from ge_xdsl.pattern.verify import Verifier

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "OptimizeReport",
    "PassError",
    "UsageError",
    "activate",
    "estimate",
    "kernel",
    "load",
    "lower",
    "optimize",
    "run",
    "run_stage",
    "save",
    "text",
]

OPTIMIZE = "ge-optimize"
"""The pipeline that `optimize` runs by default: all stages but the lowering."""
DEFAULT_TARGET = "Ascend910B1"
Tile: TypeAlias = tuple[int, int, int] | str
"""M, N, K."""
Shapes: TypeAlias = Mapping[str, Sequence[int] | int]
"""Shapes of graph inputs by name, or sizes of symbolic dimensions."""


@dataclass(frozen=True)
class OptimizeReport:
    """What `optimize` did: op counts before and after, rules by pass, warnings."""

    before: Mapping[str, int]
    after: Mapping[str, int]
    statistics: Sequence[Mapping[str, Any]]
    messages: Sequence[str] = field(default_factory=list[str])
    failures: Sequence[str] = field(default_factory=list[str])
    """Wrong rewrites that `verify` found and left out, an error line each."""
    checked: int = 0
    """How many rewrites `verify` compared by numbers, the wrong ones included."""
    unchecked: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reason -> rewrites that `verify` could not compare; they were applied."""

    @property
    def changed(self) -> bool:
        """Whether any rewrite was applied or an op count differs."""
        return self.before != self.after or any(rule["applied"] for rule in self.statistics)

    def __str__(self) -> str:
        """The op counts that differ and the rules that rewrote something, a line each."""
        rows = [
            (op, str(self.before.get(op, 0)), str(self.after.get(op, 0)))
            for op in sorted({*self.before, *self.after})
            if self.before.get(op, 0) != self.after.get(op, 0)
        ]
        totals = (str(sum(self.before.values())), str(sum(self.after.values())))
        rows = [("op type", "before", "after"), *rows, ("all ops", *totals)]
        width = max(len(row[0]) for row in rows)
        lines = [f"{op:{width}}  {before:>6}  {after:>5}" for op, before, after in rows]
        for rule in self.statistics:
            if rule["applied"]:
                lines.append(f"{rule['pass']}: {rule['rule']} rewrote {rule['applied']}")
        return "\n".join([*lines, *self.messages, *self.failures])


def load(path: str | Path | Any, *, input_format: str = "") -> ModuleOp:
    """Read a `.mlir`, `.onnx`, `.air`, `.pbtxt` or `.txt` file.

    Its ending selects the reader unless `input_format` does. A `torch.export.ExportedProgram` in
    place of the path is imported without a file.
    """
    if not isinstance(path, str | Path) and type(path).__name__ == "ExportedProgram":
        from ge_xdsl.importers.torch.reader import import_exported

        return import_exported(path)
    from ge_xdsl.importers import load_module

    return load_module(path, None, input_format)


def save(module: ModuleOp, path: str | Path) -> None:
    """Write a module in the format that the file's ending selects.

    `.mlir` has its weights in a `.safetensors` file beside it, `.onnx` more than 1 GiB of them
    in a `.data` file. Ops without an exact standard form are in the domain `ai.ge` there.
    `.air` and `.txt` hold GE's own graph, `.pbtxt` GE's dump for viewers.
    """
    from ge_xdsl.exporters import save_module

    _check_module(module)
    save_module(module, path)


def text(module: ModuleOp) -> str:
    """The module as `ge-opt` prints it."""
    from ge_xdsl.dialects.ge.text import module_text

    _check_module(module)
    return module_text(module, origins=False)


def optimize(
    module: ModuleOp,
    passes: str | Path | Sequence[str | Path] = (),
    *,
    target: str = DEFAULT_TARGET,
    options: Mapping[str, str] | None = None,
    pipeline: str = OPTIMIZE,
    verify: bool = False,
) -> OptimizeReport:
    """Load user pass files and run a pipeline on the module, in place.

    `passes` is a file or directory, or several, besides `ASCEND_GE_PY_PASS_PATH`; their passes are
    forgotten afterwards. `options` is what `PassContext.get_option_value` reads. With `verify` each
    rewrite is checked by numbers before it is applied; a wrong one is left out and told in
    `failures`, one that cannot be checked is counted in `unchecked`. On failure the module is as
    it was.
    """
    from ge_xdsl.passes.element_types import check_element_types
    from ge_xdsl.passes.graph_dumps import watch_graphs
    from ge_xdsl.passes.loader import loaded
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.pipeline import make_passes
    from ge_xdsl.passes.session import Session, SessionContext
    from ge_xdsl.pattern.statistics import Statistics
    from ge_xdsl.pattern.verify import Verifier

    statistics, verifier = Statistics(), Verifier()
    recorders = [statistics, verifier] if verify else [statistics]
    session = Session(target, dict(options or {}), recorders=[*recorders])
    _check_module(module)
    before = _counts(module)
    work = module.clone()
    with loaded([str(path) for path in ([passes] if isinstance(passes, str | Path) else passes)]):
        manager = PassManager(SessionContext(session), make_passes(pipeline))
        watch_graphs(manager, session)
        manager.run(work)
    check_element_types(work, session)
    _take_over(module, work)
    report = OptimizeReport(before, _counts(module), statistics.as_json(), session.messages)
    return _with_checks(report, verifier)


def _with_checks(report: OptimizeReport, verifier: Verifier) -> OptimizeReport:
    """A report with what the check of each rewrite found."""
    from dataclasses import replace

    failures = [failure.error().render() for failure in verifier.failures]
    checked = verifier.passed + len(failures)
    return replace(report, failures=failures, checked=checked, unchecked=verifier.unchecked)


def lower(
    module: ModuleOp,
    target: str = DEFAULT_TARGET,
    *,
    tile: Tile | None = None,
    shapes: Shapes | None = None,
) -> ModuleOp:
    """A new module in which the ops with a lowering are tile programs for `target`.

    `shapes` fixes graph inputs with unknown dimensions: `{"x": (8, 3, 64, 64)}`, or `{"batch": 8}`
    for a dimension that has a name. An op whose shapes stay unknown is not lowered.
    `tile`, (M, N, K) or "M,N,K", is the tile of all matrix products and convolutions on the cube,
    in place of the fastest one found: M x N elements of the result, K columns of the left factor
    in L0A. A tile that does not fit is an error with the numbers and one that fits.
    """
    from ge_xdsl.lowering import lower as lower_module
    from ge_xdsl.targets import target as find_target

    _check_module(module)
    fixed = module if shapes is None else _with_shapes(module, shapes)
    return lower_module(fixed, find_target(target), tile)


def run(
    module: ModuleOp,
    inputs: Mapping[str, Array] | Sequence[Array],
    *,
    level: str = "ge",
    target: str = DEFAULT_TARGET,
    tile: Tile | None = None,
    checked: bool = False,
) -> Any:
    """Run the main graph on named arrays, or on a list of them in the order of the inputs.

    `level="ge"` gives {output name: array}, op by op through `evaluate`. `level="aicore"` lowers
    the graph for the inputs' shapes (unless that is done: what `lower` gives is run as it is),
    runs the tile programs and gives (outputs, timing report); `tile` is that of `lower`. With
    `checked` it runs the kernels core by core, and an access of what was not written, or out of
    bounds, is an error that names kernel, instruction, buffer and range.
    """
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.dialects.ge.names import input_names, output_names
    from ge_xdsl.interpreters import aicore
    from ge_xdsl.interpreters.ge import run_function

    _check_module(module)
    names = output_names(main_function(module))
    inputs = _named(inputs, input_names(main_function(module)))
    for word, given in (("checked", checked), ("tile", tile is not None)):
        if given and level == "ge":
            raise UsageError(f"{word} is for level aicore, expected level='aicore'")
    if level == "ge":
        outputs = run_function(main_function(module), inputs)
        return dict(zip(names, outputs, strict=True))
    if level != "aicore":
        raise UsageError(f"level is '{level}', expected ge or aicore")
    lowered = module
    if not _is_lowered(module, tile):
        shapes = {name: array.shape for name, array in inputs.items()}
        lowered = lower(module, target, tile=tile, shapes=shapes)
    outputs, report = aicore.run(lowered, inputs, target, checked=checked)
    return dict(zip(names, outputs, strict=True)), report


def estimate(
    module: ModuleOp,
    target: str = DEFAULT_TARGET,
    *,
    tile: Tile | None = None,
    shapes: Shapes | None = None,
) -> Report:
    """The predicted time of each kernel and in all, in microseconds; nothing is executed.

    `tile` and `shapes` are those of `lower`; what that gives is priced as it is. Raises
    CompileError for a graph input whose shape stays unknown, and for a kernel that the target
    cannot run; ops without a lowering are counted and not priced.
    """
    from ge_xdsl.dialects.aicore.legality import check
    from ge_xdsl.interpreters import aicore
    from ge_xdsl.targets import target as find_target

    _check_module(module)
    if _is_lowered(module, tile):
        if shapes:
            raise UsageError("shapes for a module that is lowered, expected them in gx.lower")
        check(module, find_target(target))
        return aicore.estimate(module, target)
    fixed = module if shapes is None else _with_shapes(module, shapes)
    _check_static(fixed)
    return aicore.estimate(lower(fixed, target, tile=tile), target)


def kernel(name: str, core: str = "vector", blocks: int = 1) -> Kernel:
    """A kernel to be written by hand, for `blocks` cores of a kind: cube, vector, or mix of both.

    `docs/kernels.md` tells its methods; `build` gives a program to run, check and price.
    """
    from ge_xdsl.kernels.builder import Kernel

    return Kernel(name, core, blocks)


def run_stage(graph: Any, stage: str, options: Mapping[str, str] | None = None) -> StageReport:
    """Run the registered passes of a stage on a `ge.graph.Graph`, in place.

    The report has the status, the passes that changed the graph, statistics and messages.
    """
    from ge_xdsl.compat.ge.graph.graph import Graph
    from ge_xdsl.compat.ge.passes.stage import run_stage as run_graph_stage

    if not isinstance(graph, Graph):
        raise UsageError(f"graph is {type(graph).__name__}, expected a ge.graph.Graph")
    return run_graph_stage(graph, stage, options)


def activate() -> bool:
    """Make `import ge` find the package of this project, unless a real one is installed."""
    from ge_xdsl.passes.loader import activate as activate_alias

    return activate_alias()


def _check_module(module: object) -> None:
    """Raise UsageError unless `module` is one."""
    from xdsl.dialects.builtin import ModuleOp

    if not isinstance(module, ModuleOp):
        raise UsageError(f"module is {type(module).__name__}, expected what gx.load returns")


def _named(inputs: object, names: Sequence[str]) -> dict[str, Array]:
    """The input arrays by name; a list of them is in the order of the graph's inputs."""
    import numpy as np

    if isinstance(inputs, Mapping):
        given = cast("Mapping[str, Any]", inputs)
        return {name: np.asarray(array) for name, array in given.items()}
    if not isinstance(inputs, list | tuple):
        kind = type(inputs).__name__
        raise UsageError(f"inputs is {kind}, expected arrays by the names {', '.join(names)}")
    arrays = cast("Sequence[Any]", inputs)
    if len(arrays) != len(names):
        known = ", ".join(names) or "none"
        raise UsageError(f"{len(arrays)} arrays, expected one for each input: {known}")
    return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__]


def _is_lowered(module: ModuleOp, tile: Tile | None) -> bool:
    """Whether a module has kernels; raises UsageError for a tile that would come too late."""
    found = any(op.name == "aicore.kernel" for op in module.body.block.ops)
    if found and tile is not None:
        raise UsageError("tile for a module that is lowered, expected it in gx.lower")
    return found


def _counts(module: ModuleOp) -> dict[str, int]:
    from collections import Counter

    from ge_xdsl.dialects.ge.graph import ge_ops

    return dict(sorted(Counter(op.op_type for op in ge_ops(module)).items()))


def _take_over(module: ModuleOp, other: ModuleOp) -> None:
    """Give `module` the body and attributes of `other`."""
    block, source = module.body.block, other.body.block
    for op in list(block.ops):
        op.detach()
        op.drop_all_references()
    for op in list(source.ops):
        op.detach()
        block.add_op(op)
    module.attributes = dict(other.attributes)


def _check_static(module: ModuleOp) -> None:
    """Raise CompileError for a graph input with an unknown dimension."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.dialects.ge.names import input_names
    from ge_xdsl.dialects.ge.shapes import shape_text
    from ge_xdsl.dialects.ge.types import DYNAMIC, tensor_of

    func = main_function(module)
    for name, arg in zip(input_names(func), func.body.block.args, strict=True):
        shape = tensor_of(arg.type).shape
        if shape is None or DYNAMIC in shape:
            raise CompileError(
                f"shape is {shape_text(shape)}, expected a known one, or shapes={{'{name}': ...}}",
                subject=f"graph input '{name}'",
            )


def _with_shapes(module: ModuleOp, shapes: Shapes) -> ModuleOp:
    """A copy of the module whose inputs have these shapes, types inferred and folded."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.passes.infer_shape import GeInferShapePass, set_input_shapes
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.session import SessionContext

    dims = {n: (given,) if isinstance(given, int) else given for n, given in shapes.items()}
    fixed = module.clone()
    set_input_shapes(main_function(fixed), dims)
    PassManager(SessionContext(), [GeInferShapePass()]).run(fixed)
    return fixed
