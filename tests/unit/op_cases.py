"""Refused graphs from a base form of each op and what a case changes of it.

A base is (operands, attributes): operand name -> type text, or `values: type` for a constant, a
list of them for a dynamic operand; attribute name -> Python value, `results` for the number of a
dynamic output's. A change names operands and attributes; None removes one.
"""

from op_text import check_refused

from ge_xdsl.dialects.ge.registry import op_class


def attribute_text(value):
    """An attribute as the assembly writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(attribute_text, value))}]"
    if isinstance(value, str) and not value.startswith("DT_"):
        return f'"{value}"'
    return str(value)


def op_text(op_type, operands, attrs):
    """`ge.X(<...>, bias = <...>) {k = v}` for module_of."""
    proto = op_class(op_type).prototype
    parts = [operand_text(io, operands[io.name]) for io in proto.inputs if io.name in operands]
    pairs = ", ".join(
        f"{key} = {attribute_text(value)}" for key, value in attrs.items() if key != "results"
    )
    return f"ge.{op_type}({', '.join(parts)}) {{{pairs}}}"


def operand_text(io, types):
    """One operand, or the operands of a dynamic one, in the form of `module_of`."""
    if io.kind == "dynamic":
        return f"[{', '.join(f'<{text}>' for text in types)}]"
    return f"<{types}>" if io.kind == "required" else f"{io.name} = <{types}>"


def result_count(op_type, attrs):
    return attrs.get("results", len(op_class(op_type).prototype.outputs))


def changed(base, op_type, change):
    """The base with a change."""
    operands, attrs = (dict(part) for part in base)
    names = {io.name for io in op_class(op_type).prototype.inputs}
    for key, value in change.items():
        part = operands if key in names else attrs
        if value is None:
            part.pop(key, None)
        else:
            part[key] = value
    return operands, attrs


def check_case(bases, op_type, change, message):
    """The changed op ends in exactly this message."""
    operands, attrs = changed(bases[op_type], op_type, change)
    check_refused(op_text(op_type, operands, attrs), message, result_count(op_type, attrs))


def check_given(bases, op_type, change, types):
    """What `infer` gives for the changed op, as `2x3xf32, 4xi32`."""
    from op_text import module_of

    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.dialects.ge.text import parse_module

    operands, attrs = changed(bases[op_type], op_type, change)
    text = module_of(op_text(op_type, operands, attrs), result_count(op_type, attrs))
    ops = main_function(parse_module(text)).body.block.ops
    op = next(op for op in ops if op.name == f"ge.{op_type}")
    found = [str(t.type).removeprefix("tensor<").removesuffix(">") for t in op.inferred()]
    assert ", ".join(found) == types


def check_accepted(bases, op_type):
    """The base itself verifies, and prints as it was read."""
    from op_text import module_of

    from ge_xdsl.dialects.ge.graph import main_function, verify
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.dialects.ge.text import module_text, parse_module

    results = result_count(op_type, bases[op_type][1])
    module = parse_module(module_of(op_text(op_type, *bases[op_type]), results))
    for op in main_function(module).body.block.ops:
        if isinstance(op, GeOp):
            op.update_types()
    verify(module)
    printed = module_text(module)
    assert module_text(parse_module(printed)) == printed
