"""What `ge-opt` tells about itself: passes, targets, and the facts about one op."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ge_xdsl.errors import UsageError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.dialects.ge.prototype import Io, Prototype
    from ge_xdsl.pattern.rule import Rule


def answer(args: argparse.Namespace) -> str:
    """The text for --describe, --describe-target, the --list options and --coverage."""
    from ge_xdsl.cli.options import load_user_passes
    from ge_xdsl.passes import table

    parts: list[str] = []
    if args.describe:
        load_user_passes(args.load)
        is_pass = args.describe in table.names()
        text = pass_text(args.describe) if is_pass else user_pass_text(args.describe)
        parts.append(text or op_text(args.describe))
    if args.list_ops:
        parts.append(ops_text())
    if args.list_passes:
        load_user_passes(args.load)
        parts.append(passes_text() + user_passes_text())
    if args.list_targets or args.describe_target is not None:
        parts.append(targets_answer(args))
    if args.coverage is not None:
        from ge_xdsl.cli.coverage import coverage_text

        parts.append(coverage_text(args.coverage))
    return "\n".join(parts)


def targets_answer(args: argparse.Namespace) -> str:
    """The text for --list-targets and --describe-target."""
    from ge_xdsl.targets import target
    from ge_xdsl.targets.fields import describe

    parts = [targets_text()] if args.list_targets else []
    if args.describe_target is not None:
        parts.append(describe(target(args.describe_target)))
    return "\n".join(parts)


def passes_text() -> str:
    """Every pass and its options, a line each."""
    from ge_xdsl.passes import table

    width = max(map(len, table.names()))
    return "".join(f"{name:{width}}  {table.one_line(name)}\n" for name in table.names())


def ops_text() -> str:
    """Every GE op type by name, with what there is for it."""
    from ge_xdsl.cli.coverage import coverage

    found = coverage()
    kinds = {"infer": "shape inference", "evaluate": "values", "lowering": "a lowering to aicore"}
    have = {word: set(found[f"op types with {kind}"]) for word, kind in kinds.items()}
    names = found["op types with a prototype"]
    width = max(map(len, names))
    lines = (
        f"{name:{width}}  {', '.join(word for word in have if name in have[word]) or 'prototype'}"
        for name in names
    )
    return "".join(f"{line}\n" for line in lines)


def user_passes_text() -> str:
    """The loaded user passes by stage and in running order, a line each; '' without any."""
    from ge_xdsl.passes import registry

    found = [item for stage in registry.STAGES for item in registry.passes_of(stage)]
    width = max((len(item.name) for item in found), default=0)
    lines = [f"{p.name:{width}}  {p.stage}, {p.kind}, {p.location or ''}" for p in found]
    return "".join(f"{line.rstrip(' ,')}\n" for line in ["", "user passes:", *lines] if found)


def pass_text(name: str) -> str:
    """What a pass does, its options and their defaults, the passes of an alias, its rules."""
    from ge_xdsl.passes import stages, table

    if name in stages.OTHER_NAMES:
        return f"{name}\n  {table.one_line(name)}\n"
    if name in stages.ALIASES:
        return "\n".join([name, *(f"  {item}" for item in stages.ALIASES[name])]) + "\n"
    cls = table.pass_class(name)
    doc = inspect.cleandoc(cls.__doc__ or "").split("\n")
    lines = [name, *(f"  {line}".rstrip() for line in doc)]
    fields = dataclasses.fields(cls)
    lines += [f"  option {_option_text(item)}" for item in fields]
    for rule in builtin_rules().get(name, ()):
        lines.append(f"  rule {rule.name}: {_first_line(rule)}")
    return "\n".join(lines) + "\n"


def user_pass_text(name: str) -> str:
    """Stage, kind and place of a loaded user pass; '' for other names."""
    from ge_xdsl.passes import registry

    lines: list[str] = []
    for item in registry.registered():
        if item.name == name:
            lines += [name, f"  user pass ({item.kind}) of stage {item.stage}"]
            lines += [f"  defined at {item.location}"] if item.location else []
            lines += [f"  run it alone with -p 'ge-custom-passes{{only={name}}}'"]
    return "".join(f"{line}\n" for line in lines)


def _option_text(option: dataclasses.Field[Any]) -> str:
    from ge_xdsl.dialects.ge.assembly import value_text

    name = option.name.replace("_", "-")
    if option.default is dataclasses.MISSING or option.default is None:
        return name
    return f"{name} = {value_text(option.default)}"


def targets_text() -> str:
    """Every chip, the default first, with its cores and memories."""
    from ge_xdsl.targets import target, target_names

    lines: list[str] = []
    for name in target_names():
        chip = target(name)
        lines.append(
            f"{name:17} {chip.arch:12} {chip.cube_cores:3} cube and {chip.vector_cores:3} vector "
            f"cores, {chip.clock_mhz} MHz, UB {chip.ub // 1024} KiB, L1 {chip.l1 // 1024} KiB\n"
        )
    return "".join(lines)


def op_text(name: str) -> str:
    """Prototype, constraints and place of a GE op; raises UsageError for a name GE has not."""
    from ge_xdsl.dialects.ge.prototypes import prototype_of
    from ge_xdsl.dialects.ge.registry import family_of, op_class, unknown_op

    op_type = name.removeprefix("ge.")
    cls = op_class(op_type)
    if cls is None:
        subject, message = unknown_op(name)
        raise UsageError(f"{subject} {message}")
    family = family_of(op_type)
    lines = [f"ge.{op_type}", *prototype_lines(prototype_of(op_type) or cls.prototype)]
    lines.append(f"  python: {python_call(op_type, cls)}")
    doc = inspect.cleandoc(cls.__doc__ or "") if family else ""
    lines += [f"  {line}".rstrip() for line in doc.split("\n") if doc]
    lines.append(f"  infer: {_yes(cls.has_infer())}, evaluate: {_yes(cls.has_evaluate())}")
    lines += rule_lines(op_type)
    where = f"ge_xdsl/dialects/ge/{family}.py" if family else "the prototype table"
    lines.append(f"  defined in {where}")
    return "\n".join(lines) + "\n"


def python_call(op_type: str, cls: type[GeOp]) -> str:
    """How a pass file writes a node of this type, with the parameters and their defaults."""
    from ge_xdsl.compat.ge.es.functions import make_function

    signature = inspect.signature(make_function(cls)[0])
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    plain = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"from ge.es.all import {op_type}; {op_type}{plain}"


def rule_lines(op_type: str) -> list[str]:
    """The builtin rules that start at an op type, and whether it has a lowering."""
    from ge_xdsl.lowering import lowered_op_types

    lines = [f"  lowering to aicore: {_yes(op_type in lowered_op_types())}"]
    for name, rules in builtin_rules().items():
        for rule in rules:
            if op_type in rule.root_types:
                lines.append(f"  {name} rule {rule.name}: {_first_line(rule)}")
    return lines


def builtin_rules() -> dict[str, Sequence[Rule]]:
    """The builtin rules by the pass that applies them."""
    from ge_xdsl.rewrites import catalog

    return {
        "ge-simplify": catalog.simplify_rules(),
        "ge-fuse": catalog.fusion_rules(),
        "ge-decompose": catalog.decompose_rules(),
    }


def _first_line(rule: Rule) -> str:
    return inspect.cleandoc(rule.__doc__ or "").split("\n")[0]


def prototype_lines(proto: Prototype) -> list[str]:
    """Declared operands, results, attributes and subgraphs, a line each."""
    from ge_xdsl.dialects.ge.assembly import value_text

    lines = [f"  operand {_io_text(io)}" for io in proto.inputs]
    lines += [f"  result {_io_text(io)}" for io in proto.outputs]
    for attr in proto.attrs:
        is_set = not attr.required and attr.default is not None
        default = f" = {value_text(attr.default)}" if is_set else ""
        lines.append(f"  attribute {attr.name}: {attr.kind}{default}" + _required(attr.required))
    lines += [f"  subgraph {graph.name} ({graph.kind})" for graph in proto.subgraphs]
    return lines


def _io_text(io: Io) -> str:
    types = ", ".join(dtype.name for dtype in io.dtypes)
    kind = "" if io.kind == "required" else f" ({io.kind})"
    return f"{io.name}{kind}" + (f": {types}" if types else "")


def _required(required: bool) -> str:
    return " (required)" if required else ""


def _yes(found: bool) -> str:
    return "yes" if found else "no"
