"""Pipeline texts: what they mean, and one clear line for each mistake."""

from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.passes import ModulePass

from ge_xdsl.errors import UsageError
from ge_xdsl.passes import stages, table
from ge_xdsl.passes.pipeline import PassSpec, convert, make_pass, make_passes, parse_pipeline


@dataclass(frozen=True)
class Sample(ModulePass):
    """A pass with an option of each kind."""

    name = "sample"
    size: int = 1
    ratio: float = 0.5
    is_on: bool = False
    only: tuple[str, ...] = ()
    mode: Literal["each", "off"] = "off"
    label: str | None = None

    def apply(self, ctx, op):
        raise AssertionError("not run here")


@dataclass(frozen=True)
class Needs(ModulePass):
    """A pass with an option that must be given."""

    name = "needs"
    stage: str

    def apply(self, ctx, op):
        raise AssertionError("not run here")


@pytest.fixture
def samples(monkeypatch):
    known = {"sample": Sample, "needs": Needs}
    real = table.pass_class
    monkeypatch.setattr(table, "pass_class", lambda name: known.get(name) or real(name))


LAYOUT = ("RemoveIdentityTranspose", "ComposeTransposes")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ", []),
        ("a", [("a", ())]),
        ("a,b", [("a", ()), ("b", ())]),
        (" a , b ", [("a", ()), ("b", ())]),
        ("builtin.module(a,b)", [("a", ()), ("b", ())]),
        ("builtin.module(func.func(a),b)", [("a", ()), ("b", ())]),
        ("builtin.module()", []),
        ("any(a)", [("a", ())]),
        ("a{}", [("a", ())]),
        ("a{x=1}", [("a", (("x", ("1",)),))]),
        ("a{x=1 y=2}", [("a", (("x", ("1",)), ("y", ("2",))))]),
        ("a{x=1,y=2}", [("a", (("x", ("1",)), ("y", ("2",))))]),
        ("a{x=1,2 y}", [("a", (("x", ("1", "2")), ("y", ())))]),
        ("a{x_y=1}", [("a", (("x-y", ("1",)),))]),
        ("a{x='p, q}' }", [("a", (("x", ("p, q}",)),))]),
        ('a{x="x:1;y:2"}', [("a", (("x", ("x:1;y:2",)),))]),
        ("a{x=x:1;y:2}", [("a", (("x", ("x:1;y:2",)),))]),
    ],
)
def test_meaning(text, expected):
    assert parse_pipeline(text) == [PassSpec(name, options) for name, options in expected]


def test_alias_is_the_stage_list():
    assert parse_pipeline("ge-compile") == [
        spec for text in stages.COMPILE for spec in parse_pipeline(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aicore-insert-sync", [("aicore-sync", ())]),
        ("ge-layout", [("ge-simplify", (("only", LAYOUT),))]),
        (
            "ge-layout{only=RemoveIdentity}",
            [("ge-simplify", (("only", LAYOUT), ("only", ("RemoveIdentity",))))],
        ),
    ],
)
def test_other_names(text, expected):
    assert parse_pipeline(text) == [PassSpec(name, options) for name, options in expected]
    assert make_passes(text)[0].name == expected[0][0]
    assert set(text.split("{")[0].split(",")) <= set(table.names())


def test_an_option_beside_those_of_another_name_wins():
    assert make_passes("ge-layout{only=RemoveIdentity}")[0].only == ("RemoveIdentity",)
    assert make_passes("ge-layout")[0].only == LAYOUT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,", "pass pipeline, column 3: the end of the text found, expected the name of a pass"),
        (",a", "pass pipeline, column 1: ',' found, expected the name of a pass"),
        ("a b", "pass pipeline, column 3: 'b' found, expected ',' or the end of the text"),
        (
            "foo.bar(a)",
            "pass pipeline, column 1: unknown anchor 'foo.bar', "
            "expected one of builtin.module, func.func, any",
        ),
        (
            "builtin.module",
            "pass pipeline, column 15: the end of the text found, "
            "expected '(' after the anchor builtin.module",
        ),
        (
            "builtin.module(a",
            "pass pipeline, column 17: the end of the text found, expected ',' or ')'",
        ),
        ("a)", "pass pipeline, column 2: ')' found, expected ',' or the end of the text"),
        (
            "a{x=1",
            "pass pipeline, column 6: the end of the text found, expected an option or '}'",
        ),
        ("a{=1}", "pass pipeline, column 3: '=' found, expected an option or '}'"),
        ("a{x=}", "pass pipeline, column 5: '}' found, expected a value"),
        ("a{x=1 x=2}", "pass pipeline, column 8: option 'x' is given twice, expected it once"),
        (
            "a{x='1}",
            "pass pipeline, column 5: the string has no end, expected a closing quote",
        ),
        ("ge-compile{x=1}", "pass ge-compile: option 'x' given, expected none"),
    ],
)
def test_mistakes_in_the_text(text, message):
    with pytest.raises(UsageError) as caught:
        parse_pipeline(text)
    assert str(caught.value) == message


def test_options_get_the_types_of_the_fields(samples):
    text = "sample{size=3 ratio=1e-3 is-on only=a,b mode=each label=x,y}"
    (made,) = make_passes(text)
    assert made == Sample(3, 1e-3, True, ("a", "b"), "each", "x,y")
    assert make_passes("sample{is-on=off}") == [Sample(is_on=False)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ge-fus", "unknown pass 'ge-fus', did you mean 'ge-fuse'?"),
        ("frobnicate", "unknown pass 'frobnicate', see ge-opt --list-passes"),
        (
            "sample{sizes=1}",
            "pass sample: unknown option 'sizes', expected: size, ratio, is-on, only, mode, "
            "label, did you mean 'size'?",
        ),
        ("sample{size=a}", "pass sample: option 'size' is 'a', expected an integer"),
        ("sample{size=1,2}", "pass sample: option 'size' has 2 values, expected one"),
        ("sample{size}", "pass sample: option 'size' has 0 values, expected one"),
        ("sample{ratio=a}", "pass sample: option 'ratio' is 'a', expected a number"),
        ("sample{is-on=maybe}", "pass sample: option 'is-on' is 'maybe', expected true or false"),
        (
            "sample{mode=eech}",
            "pass sample: option 'mode' is 'eech', expected one of each, off, did you mean 'each'?",
        ),
        ("needs", "pass needs: option 'stage' is missing, it is required"),
        (
            "ge-fold-constants{limit=-1}",
            "pass ge-fold-constants: option 'limit' is -1, expected 0 or more",
        ),
    ],
)
def test_mistakes_in_names_and_options(samples, text, message):
    with pytest.raises(UsageError) as caught:
        make_passes(text)
    assert str(caught.value) == message


def test_convert_wants_one_value():
    with pytest.raises(ValueError, match="has 2 values, expected one"):
        convert(("1", "2"), int)


@pytest.mark.parametrize("name", table.PASSES)
def test_the_table_names_passes_that_are_there(name):
    cls = table.pass_class(name)
    assert cls.name == name
    assert table.one_line(name)
    if name != "ge-custom-passes":
        assert make_pass(PassSpec(name)).name == name


def test_the_stage_list_holds_no_alias_and_every_slot():
    names = [spec.name for spec in parse_pipeline("ge-compile")]
    assert set(names) <= set(table.PASSES)
    slots = [text for text in stages.COMPILE if text.startswith("ge-custom-passes")]
    assert [text.split("=")[1].rstrip("}") for text in slots] == [
        "BeforeInferShape",
        "AfterInferShape",
        "AfterBuiltinFusionPass",
        "AfterOriginGraphOptimize",
    ]
