"""A GE graph into kernels and launches, in place.

Every matrix product becomes a cube kernel, with a Relu that is its only user; every chain of
elementwise ops a vector kernel. Equal kernels are made once. What has no lowering stays, with an
attribute that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.structure import KernelOp, LaunchOp
from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.lowering import elementwise, matmul
from ge_xdsl.targets import Target, target

REASON = "aicore.reason"
"""Attribute of a GE op that was not lowered: why."""
SILENT = CONSTANT_TYPES | {"NoOp", "control_edge", "unconnected", "yield"}
"""Ops that compute nothing, so need no lowering."""


def lower(module: ModuleOp, chip: Target | str) -> ModuleOp:
    """A new module with the kernels and launches of a graph; `module` is left as it is.

    Raises UsageError for an unknown target.
    """
    lowered = module.clone()
    for old, new in zip(module.walk(), lowered.walk(), strict=True):
        if isinstance(old, GeOp) and isinstance(new, GeOp):
            new.source = old.source
    convert(lowered, target(chip))
    return lowered


def convert(module: ModuleOp, chip: Target) -> None:
    """Lower every graph of a module in place."""
    kernels = _Kernels(module, chip)
    for func in functions(module):
        _convert_function(func, kernels)


@dataclass(frozen=True, slots=True)
class _Unit:
    """Ops that one launch replaces, the one it stands for last."""

    ops: Sequence[GeOp]
    operands: Sequence[SSAValue]
    results: Sequence[SSAValue]
    key: object
    make: Callable[[str], KernelOp]


class _Kernels:
    """The kernels of a module by what they compute."""

    def __init__(self, module: ModuleOp, chip: Target) -> None:
        self.module = module
        self.chip = chip
        self.by_key: dict[object, str] = {}
        self.last: KernelOp | None = None
        self.names: set[str] = set()
        for op in module.body.block.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.names.add(name.data)

    def symbol(self, unit: _Unit) -> str:
        """The symbol of a unit's kernel, which is made when it is new."""
        found = self.by_key.get(unit.key)
        if found is not None:
            return found
        stem, name, k = kernel_stem(unit.ops), "", 0
        while not name or name in self.names:
            name = f"{stem}_{k}" if k else stem
            k += 1
        self.names.add(name)
        self.by_key[unit.key] = name
        kernel = unit.make(name)
        block = self.module.body.block
        if self.last is not None:
            block.insert_op_after(kernel, self.last)
        elif block.first_op is not None:
            block.insert_op_before(kernel, block.first_op)
        self.last = kernel
        return name


def kernel_stem(ops: Sequence[GeOp]) -> str:
    """A kernel's name: its op types, the first two and the last of a long chain."""
    types = [op.op_type for op in ops]
    if len(types) > 4:
        types = [*types[:2], f"{len(types) - 3}more", types[-1]]
    return "_".join(types)


def _convert_function(func: FuncOp, kernels: _Kernels) -> None:
    ops = list(func.body.block.ops)
    units = {unit.ops[-1]: unit for unit in _units(ops, kernels.chip)}
    inputs = {v.owner for unit in units.values() for op in unit.ops for v in op.operands}
    replaced: dict[SSAValue, SSAValue] = {}
    for op in ops:
        unit = units.get(op) if isinstance(op, GeOp) else None
        if unit is not None:
            _launch(unit, kernels, replaced)
    for op in ops:
        # constants that became numbers in instructions
        known = op in inputs and isinstance(op, GeOp) and op.op_type in CONSTANT_TYPES
        if known and not any(list(value.uses) for value in op.results):
            op.detach()
            op.erase()


def _units(ops: Sequence[Operation], chip: Target) -> list[_Unit]:
    """What is lowered; every other GE op gets its reason as an attribute."""
    units: list[_Unit] = []
    fused: set[Operation] = set()
    eligible: list[bool] = []
    for op in ops:
        takes = False
        if isinstance(op, GeOp) and op not in fused:
            why = _reason(op, chip)
            if why and op.op_type not in SILENT:
                op.attributes[REASON] = StringAttr(why)
            elif not why and op.op_type in matmul.TRANSPOSE:
                units.append(_product_unit(op, chip, fused))
            else:
                takes = not why
        eligible.append(takes)
    for group in elementwise.groups(ops, eligible):
        chain = elementwise.chain_program(group)
        make = _vector_maker(chain, chip)
        units.append(_Unit(group, chain.operands, chain.results, chain.key(), make))
    return units


def _reason(op: GeOp, chip: Target) -> str:
    """Why an op is not lowered, '' when it is."""
    if op.op_type in matmul.TRANSPOSE:
        return matmul.reason(op, chip)
    return elementwise.reason(op, chip)


def _vector_maker(chain: elementwise.Chain, chip: Target) -> Callable[[str], KernelOp]:
    return lambda name: elementwise.vector_kernel(name, chain, chip)


def _product_unit(op: GeOp, chip: Target, fused: set[Operation]) -> _Unit:
    """The unit of a matrix product, with the Relu that is its only user."""
    uses = list(op.results[0].uses)
    user = uses[0].operation if len(uses) == 1 else None
    relu = user if isinstance(user, GeOp) and user.op_type == "Relu" else None
    if relu is not None and relu.parent is not op.parent:
        relu = None
    product = matmul.product_of(op, relu is not None)
    assert isinstance(product, matmul.Product)
    ops = [op] if relu is None else [op, relu]
    fused.update(ops[1:])
    return _Unit(
        ops,
        op.operands,
        ops[-1].results,
        product,
        lambda name: matmul.matmul_kernel(name, product, chip),
    )


def _launch(unit: _Unit, kernels: _Kernels, replaced: dict[SSAValue, SSAValue]) -> None:
    """Replace a unit's ops by a launch at the last of them; notes the new values."""
    root = unit.ops[-1]
    nodes = [op.node_name for op in unit.ops if op.node_name]
    types = [value.type for value in unit.results]
    operands = [replaced.get(value, value) for value in unit.operands]
    launch = LaunchOp.make(kernels.symbol(unit), operands, types, nodes)
    block = root.parent
    assert block is not None
    block.insert_op_before(launch, root)
    for old, new in zip(unit.results, launch.results, strict=True):
        new.name_hint = _hint(old)
        old.replace_all_uses_with(new)
        replaced[old] = new
    for op in reversed(unit.ops):
        op.detach()
        op.erase()


def _hint(value: SSAValue) -> str | None:
    owner = value.owner
    name = owner.node_name if isinstance(owner, GeOp) else ""
    return name if name and SSAValue.is_valid_name(name) else None


def lowered_op_types() -> list[str]:
    """The op types that have a lowering, for some shapes, element types and attributes."""
    return sorted({*matmul.TRANSPOSE, *elementwise.RECIPES})
