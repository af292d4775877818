"""`ge-opt --coverage` counts what the registries hold."""

import json

from ge_xdsl.cli.opt import main
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.lowering import calls as reasons


def test_the_table_counts_the_names(capsys):
    assert main(["--coverage=json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert main(["--coverage"]) == 0
    rows = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert {name.strip(): int(count) for name, count in rows.items()} == {
        name: len(items) for name, items in names.items()
    }


def test_the_names_are_what_they_say(capsys):
    main(["--coverage=json"])
    names = json.loads(capsys.readouterr().out)
    values, inferred = names["op types with values"], names["op types with shape inference"]
    assert {"Add", "Conv2D", "LayerNorm"} <= set(values)
    assert all(op_class(name).has_evaluate() for name in values)
    assert all(op_class(name).has_infer() for name in inferred)
    assert "HcomSend" in names["op types with a prototype"]
    assert "HcomSend" not in values
    assert "MatMul" in names["op types with a lowering to aicore"]
    assert "Conv" in names["ONNX ops imported"]


def test_what_has_values_is_lowered_or_has_a_reason(capsys):
    main(["--coverage=json"])
    names = json.loads(capsys.readouterr().out)
    lowered = set(names["op types with a lowering to aicore"])
    calls = names["op types left to calls, with reason"]
    assert set(names["op types with values"]) - lowered == set(calls)
    assert calls["NonZero"].startswith("the shape of the result is known only once the values are")
    assert set(calls.values()) <= {
        value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str)
    }


def test_an_unknown_form_is_bad_usage(capsys):
    assert main(["--coverage=xml"]) == 2
    assert "--coverage=xml, expected --coverage or --coverage=json" in capsys.readouterr().err
