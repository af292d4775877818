"""What a lowering gives for GE ops: a unit, which makes launches and views when it is placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.structure import KernelOp, LaunchOp
from ge_xdsl.dialects.aicore.view import ViewOp
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import Tensor, dtype_of_numpy
from ge_xdsl.dialects.ge.weights import const_attr

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

MakeKernel = Callable[[str], KernelOp]
"""A kernel with the symbol that it is given."""


@dataclass(frozen=True, slots=True)
class Unit:
    """GE ops that launches and views replace; they are placed where the last of them stands."""

    ops: Sequence[GeOp]
    results: Sequence[SSAValue]
    """The values that other ops use."""
    place: Callable[[Placer], Sequence[SSAValue]]
    """Makes the launches; gives a new value for each of `results`."""


def launch_unit(
    ops: Sequence[GeOp],
    operands: Sequence[SSAValue],
    results: Sequence[SSAValue],
    key: object,
    make: MakeKernel,
) -> Unit:
    """A unit of one launch; equal keys make equal kernels."""

    def place(placer: Placer) -> Sequence[SSAValue]:
        values = [placer.value(v) for v in operands]
        return placer.launch(key, make, values, [v.type for v in results])

    return Unit(ops, results, place)


class Kernels:
    """The kernels of a module by what they compute."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.by_key: dict[object, str] = {}
        self.last: KernelOp | None = None
        self.names: set[str] = set()
        self.numbers: dict[str, int] = {}
        """Stem -> the next number to try behind it."""
        for op in module.body.block.ops:
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self.names.add(name.data)

    def symbol(self, stem: str, key: object, make: MakeKernel) -> str:
        """The symbol of a kernel, which is made when it is new."""
        found = self.by_key.get(key)
        if found is not None:
            return found
        name, k = "", self.numbers.get(stem, 0)
        while not name or name in self.names:
            name = f"{stem}_{k}" if k else stem
            k += 1
        self.numbers[stem] = k
        self.names.add(name)
        self.by_key[key] = name
        kernel = make(name)
        block = self.module.body.block
        if self.last is not None:
            block.insert_op_after(kernel, self.last)
        elif block.first_op is not None:
            block.insert_op_before(kernel, block.first_op)
        self.last = kernel
        return name


class Placer:
    """Puts the launches and views of one unit before the last of its ops."""

    def __init__(
        self, unit: Unit, kernels: Kernels, replaced: dict[SSAValue, SSAValue], block: Block
    ) -> None:
        self.unit = unit
        self.kernels = kernels
        self.replaced = replaced
        self.block = block
        self.root = unit.ops[-1]
        self.nodes = [op.node_name for op in unit.ops if op.node_name]

    def value(self, old: SSAValue) -> SSAValue:
        """What stands for a value of the GE graph now."""
        return self.replaced.get(old, old)

    def insert(self, op: Operation) -> None:
        self.block.insert_op_before(op, self.root)

    def launch(
        self,
        key: object,
        make: MakeKernel,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        stem: str = "",
    ) -> Sequence[SSAValue]:
        """The results of a launch. One with a `stem` helps the unit and names none of its nodes."""
        nodes = [] if stem else self.nodes
        symbol = self.kernels.symbol(stem or kernel_stem(self.unit.ops), key, make)
        launch = LaunchOp.make(symbol, operands, types, nodes)
        self.insert(launch)
        return launch.results

    def view(self, value: SSAValue, type: Attribute, counts: bool = False) -> SSAValue:
        """A value in another shape; it `counts` when it is all that the unit does."""
        view = ViewOp.make(value, type, self.nodes if counts else ())
        self.insert(view)
        return view.results[0]

    def constant(self, array: Array, key: str) -> SSAValue:
        """A constant made by the lowering."""
        tensor = Tensor(dtype_of_numpy(array.dtype), array.shape)
        op = ConstOp.create(
            result_types=[tensor.type], properties={"value": const_attr(array, key)}
        )
        op.results[0].name_hint = key if SSAValue.is_valid_name(key) else None
        self.insert(op)
        return op.results[0]


def kernel_stem(ops: Sequence[GeOp]) -> str:
    """A kernel's name: its op types, the first two and the last of a long chain."""
    types = [op.op_type for op in ops]
    if len(types) > 4:
        types = [*types[:2], f"{len(types) - 3}more", types[-1]]
    return "_".join(types)
