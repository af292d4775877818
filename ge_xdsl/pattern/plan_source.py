"""The source of a plan: how one match of a pattern becomes one replacement; see `pattern.plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.pattern.access import operands_of
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.provenance import texts, type_text


class PlanSource:
    """Writes `current()` and `rewrite(scope, nodes, values)`.

    The nodes of the match are n0, n1, ... in the order of the boundary, its inputs i0, ...; the
    ops of the replacement are t0, ..., the new ones o0, ..., their results r0_0, ...
    """

    def __init__(self, pattern: PatternGraph, func: FuncOp) -> None:
        body = func.body.block
        last = body.last_op
        assert last is not None
        self.pattern = pattern
        self.func = func
        self.last: Operation = last
        self.templates: list[Operation] = [op for op in body.ops if op is not last]
        order = pattern.boundary_order
        self.node_names: dict[GeOp, str] = {op: f"n{k}" for k, op in enumerate(order)}
        self.names: dict[str, Any] = {"func": func, "body": body, "last": last}
        self.values: dict[SSAValue, str] = {arg: f"i{k}" for k, arg in enumerate(body.args)}
        for k, op in enumerate(self.templates):
            self.values.update({r: f"r{k}_{j}" for j, r in enumerate(op.results)})
        self.lines: list[str] = []

    def text(self) -> str:
        """The module."""
        head = ["def current():", *_indented([f"return {' and '.join(self.unchanged())}"])]
        self.unpack()
        self.decline()
        self.types()
        self.origin()
        for k, op in enumerate(self.templates):
            self.make(k, op)
        self.readers()
        self.link()
        self.unlink()
        self.report()
        body = ["def rewrite(scope, nodes, values):", *_indented(self.lines)]
        return "\n".join([*head, "", "", *body]) + "\n"

    # What must hold

    def unchanged(self) -> list[str]:
        """That the replacement is what it was when the plan was made."""
        names = self.names
        names["arguments"], names["returned"] = self.func.body.block.args, operands_of(self.last)
        names["regions"] = self.func.regions
        chain = [f"t{k}" for k in range(len(self.templates))]
        tests = [
            "func.regions is regions and regions[0]._first_block is body",
            "body._next_block is None and body._args is arguments",
            f"body._first_op is {chain[0] if chain else 'last'}",
            "last._next_op is None and last._operands is returned",
        ]
        for k, op in enumerate(self.templates):
            names[f"t{k}"], names[f"operands_{k}"] = op, operands_of(op)
            names[f"properties_{k}"] = dict(op.properties)
            names[f"attributes_{k}"] = dict(op.attributes)
            following = chain[k + 1] if k + 1 < len(chain) else "last"
            tests += [
                f"t{k}._next_op is {following} and t{k}._operands is operands_{k}",
                f"t{k}.properties == properties_{k} and t{k}.attributes == attributes_{k}",
            ]
            for j, result in enumerate(op.results):
                names[f"result_{k}_{j}"], names[f"type_{k}_{j}"] = result, result.type
                tests.append(f"result_{k}_{j}._type is type_{k}_{j}")
        return tests

    def unpack(self) -> None:
        """Name the nodes and inputs of the match."""
        nodes = [self.node_names[op] for op in self.pattern.nodes]
        count = len(self.pattern.used_inputs)
        self.lines.append(f"{_tuple(nodes)} = nodes")
        if count:
            self.lines.append(f"{_tuple([f'i{k}' for k in range(count)])} = values")
        self.lines.append("(old,) = n0.results")

    def decline(self) -> None:
        """Leave to others what is out of the ordinary; nothing is changed yet."""
        every = range(len(self.node_names))
        self.lines += [f"a{k} = n{k}.attributes" for k in every]
        held = [f"len(a{k}) > 1 and not INHERITED.isdisjoint(a{k})" for k in every]
        self.lines.append(f"if {' or '.join(held)}: return False")
        self.lines.append(f"if not ({' and '.join(self.unchanged())}): return False")
        if self.templates:
            self.lines += [f"name_{k} = a{k}.get(NAME)" for k in every]
            nameless = [f"type(name_{k}) is not StringAttr" for k in every]
            self.lines.append(f"if {' or '.join(nameless)}: return False")

    def types(self) -> None:
        """Look up the types of the new results."""
        inputs = [f"id(i{k}._type)" for k in range(len(self.pattern.used_inputs))]
        results = [f"y{self.values[r][1:]}" for op in self.templates for r in op.results]
        self.lines += [
            f"key = {_tuple(['scope.infer', *inputs, 'id(old._type)'])}",
            "types = known.get(key)",
            "if not types:",
            "    if types is not None: types = known.get((*key, *values_key(values)))",
            "    if types is None: return False",
        ]
        if results:
            self.lines.append(f"{', '.join(results)}, _ = types")

    # The new ops

    def origin(self) -> None:
        """Where the new ops come from, and the stem of their names."""
        if not self.templates:
            return
        every = range(len(self.node_names))
        nodes, names = _tuple([f"n{k}" for k in every]), _tuple([f"name_{k}" for k in every])
        types = tuple([type_text(type(op)) for op in self.node_names])
        self.add("from_types", texts(types))
        known = " or ".join(f"id(n{k}) in made" for k in every)
        longer = " or ".join(f"len(a{k}) > 1" for k in every)
        self.lines += [
            "origins = scope.origins",
            "made = origins.made",
            f"later = {longer} or made and ({known})",
            f"if later: origin = origins.of({nodes}, scope.pass_name)",
            f"else: from_names = new(ArrayAttr); put(from_names, 'data', {names})",
            "passes = scope.passes",
            "names = scope.names",
            "graph = names.graph",
            "longest = graph.longest",
            "if longest < 0: longest = names.measure()",
            "block = n0.parent",
            "source = n0.source",
        ]

    def make(self, k: int, op: Operation) -> None:
        """Make a new op, its uses and results."""
        cls = self.add(f"class_{k}", type(op))
        self.lines += [f"o{k} = new({cls})"]
        self.operands(k, op)
        self.results(k, op)
        recorded = "NAME: name, ORIGIN_NAMES: from_names, ORIGIN_TYPES: from_types"
        name = op.attributes.get(NAME)
        stem = (name.data if isinstance(name, StringAttr) else "") or _op_type(op)
        stem_name = self.add(f"stem_{k}", stem)
        joined = "_".join(f"{{name_{i}.data}}" for i in range(len(self.node_names)))
        self.lines += [
            f'text = f"{{{stem_name}}}_{joined}_{{names.counter}}"',
            "if longest < len(text) <= MAX_NAME: names.counter += 1",
            "else:",
            f'    text = names.fresh({stem_name}, f"{joined}")',
            "    longest = graph.longest",
            "name = new(StringAttr)",
            'put(name, "data", text)',
            f"o{k}.properties = properties_{k}.copy()",
            "if later:",
            f"    o{k}.attributes = {{NAME: name}}",
            f"    made[id(o{k})] = (o{k}, origin)",
            f"elif passes is None: o{k}.attributes = {{{recorded}}}",
            f"else: o{k}.attributes = {{{recorded}, PASS_NAME: passes}}",
            f"o{k}.location = t{k}.location",
            f"place = t{k}.source or source",
            f"if place is not None: o{k}.source = place",
            f"o{k}.parent = block",
        ]

    def operands(self, k: int, op: Operation) -> None:
        operands = [self.values[v] for v in operands_of(op)]
        if not operands:
            self.lines.append(f"o{k}._operands, o{k}._operand_uses = SSAValues(()), ()")
            return
        for j, value in enumerate(operands):
            self.lines += [
                f"u{j} = new(Use)",
                f"u{j}._operation = o{k}",
                f"u{j}._index = {j}",
                f"first = {value}.first_use",
                "if first is not None:",
                f"    u{j}._next_use = first",
                f"    first._prev_use = u{j}",
                f"{value}.first_use = u{j}",
            ]
        uses = _tuple([f"u{j}" for j in range(len(operands))])
        self.lines.append(f"o{k}._operands = SSAValues({_tuple(operands)})")
        self.lines.append(f"o{k}._operand_uses = {uses}")

    def results(self, k: int, op: Operation) -> None:
        names = [self.values[r] for r in op.results]
        for j, name in enumerate(names):
            self.lines += [
                f"{name} = new(OpResult)",
                f"{name}._type = y{name[1:]}",
                f"{name}.op = o{k}",
                f"{name}.index = {j}",
            ]
        self.lines.append(f"o{k}.results = SSAValues({_tuple(names)})")

    # The graph around them

    def readers(self) -> None:
        """Let the readers of the old output read the new one; the newest first, as elsewhere."""
        target = self.values[operands_of(self.last)[0]]
        self.lines += [
            f"target = {target}",
            "touched = []",
            "use = old.first_use",
            "while use is not None:",
            "    following = use._next_use",
            "    user, index = use._operation, use._index",
            "    operands = user._operands",
            "    if len(operands) > WIDE: scope.set_operand(user, index, target)",
            "    else:",
            "        if len(operands) == 1: operands = (target,)",
            "        else:",
            "            operands = list(operands)",
            "            operands[index] = target",
            "        user._operands = SSAValues(operands)",
            "        old.first_use = following",
            "        if following is not None: following._prev_use = None",
            "        use._next_use = first = target.first_use",
            "        if first is not None: first._prev_use = use",
            "        target.first_use = use",
            "    touched.append((user, index))",
            "    use = following",
            "if target._type is not old._type: scope.readers_retyped(touched)",
        ]

    def link(self) -> None:
        """Put the new ops in the place of node 0."""
        last = len(self.templates) - 1
        self.lines += ["before, behind = n0._prev_op, n0._next_op"]
        first, end = ("o0", f"o{last}") if self.templates else ("behind", "before")
        for k in range(len(self.templates)):
            self.lines += [
                f"o{k}._prev_op = {f'o{k - 1}' if k else 'before'}",
                f"o{k}._next_op = {f'o{k + 1}' if k < last else 'behind'}",
            ]
        self.lines += [
            f"if before is None: scope.block._first_op = {first}",
            f"else: before._next_op = {first}",
            f"behind._prev_op = {end}",
            "order = scope.order",
            f"if order.labels is not None: order.spliced(before, {_tuple(self.made())}, behind)",
        ]

    def unlink(self) -> None:
        """Take the nodes of the match out; tensors inside have one reader, which goes, too."""
        for op, name in self.node_names.items():
            if name != "n0":
                self.lines += [
                    f"(value,) = {name}.results",
                    "value.first_use = None",
                    f"before, behind = {name}._prev_op, {name}._next_op",
                    "if before is None: scope.block._first_op = behind",
                    "else: before._next_op = behind",
                    "behind._prev_op = before",
                ]
            self.lines.append(f"{name}.parent = {name}._prev_op = {name}._next_op = None")
            self.drop_uses(op, name)

    def drop_uses(self, op: GeOp, name: str) -> None:
        operands = operands_of(op)
        if not operands:
            return
        uses = [f"u{j}" for j in range(len(operands))]
        self.lines.append(f"{_tuple(uses)} = {name}._operand_uses")
        self.lines.append(f"{name}._operand_uses = ()")
        for use, value in zip(uses, operands, strict=True):
            if not isinstance(value, BlockArgument):
                continue
            tensor = f"i{self.pattern.used_inputs.index(value)}"
            self.lines += [
                f"before, behind = {use}._prev_use, {use}._next_use",
                f"if before is None: {tensor}.first_use = behind",
                "else: before._next_use = behind",
                "if behind is not None: behind._prev_use = before",
            ]

    def report(self) -> None:
        """Tell the run."""
        nodes = ", ".join(self.node_names.values())
        new = ", ".join(self.made())
        self.lines += [f"scope.replaced([{new}], [{nodes}], touched)", "return True"]

    def made(self) -> list[str]:
        return [f"o{k}" for k in range(len(self.templates))]

    def add(self, name: str, value: Any) -> str:
        self.names[name] = value
        return name


def _op_type(op: Operation) -> str:
    return op.op_type if isinstance(op, GeOp) else op.name


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
