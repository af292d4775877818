"""What happens around passes: hooks, times, checks, and errors that name the pass."""

from dataclasses import dataclass

import pytest
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from ge_xdsl.dialects.ge.graph import ge_ops
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.session import SessionContext

TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@dataclass(frozen=True)
class Does(ModulePass):
    """Runs a function on the module."""

    name = "does"
    what: object = None

    def apply(self, ctx, op):
        if self.what is not None:
            self.what(op)


@dataclass(frozen=True)
class Quiet(Does):
    """The same under another name."""

    name = "quiet"


def raising(error):
    def act(module):
        raise error

    return act


def manager(*passes, **more):
    return PassManager(SessionContext(), passes, **more)


def test_hooks_and_times_in_order():
    module = parse_module(TEXT)
    events = []
    made = manager(Quiet(), Does())
    made.before.append(lambda item, _: events.append(("before", item.name)))
    made.after.append(lambda item, _: events.append(("after", item.name)))
    made.run(module)
    assert events == [
        ("before", "quiet"),
        ("after", "quiet"),
        ("before", "does"),
        ("after", "does"),
    ]
    assert [name for name, _ in made.seconds] == ["quiet", "does"]
    assert all(seconds >= 0 for _, seconds in made.seconds)


@pytest.mark.parametrize(
    ("error", "first_line"),
    [
        (CompileError("is bad, expected good", subject="ge.Relu 'y'"), "ge.Relu 'y': is bad"),
        (VerifyException("is odd, expected even\nwith a dump"), "is odd, expected even"),
        (PassFailedException("cannot go on\nwith a dump"), "cannot go on"),
    ],
)
def test_an_error_names_the_pass_and_its_predecessors(error, first_line):
    with pytest.raises(PassError) as caught:
        manager(Quiet(), Does(raising(error))).run(parse_module(TEXT))
    lines = caught.value.render().split("\n")
    assert lines[0].startswith(f"error: {first_line}")
    assert lines[1:] == ["note: in pass does, after quiet"]


def test_the_first_pass_has_no_predecessors():
    with pytest.raises(PassError, match="note: in pass does, the first one"):
        manager(Does(raising(CompileError("is bad, expected good")))).run(parse_module(TEXT))


def test_a_bug_in_a_pass_keeps_its_type_and_is_placed():
    with pytest.raises(KeyError) as caught:
        manager(Does(raising(KeyError("gone")))).run(parse_module(TEXT))
    assert caught.value.__notes__ == ["in pass does, the first one"]


def spoil(module):
    op = next(ge_ops(module))
    op.properties["extra"] = op.attributes["ge.name"]


def repair(module):
    del next(ge_ops(module)).properties["extra"]


def test_only_the_ends_are_verified_unless_asked():
    manager(Does(spoil), Quiet(repair)).run(parse_module(TEXT))
    with pytest.raises(PassError) as caught:
        manager(Does(spoil), Quiet(repair), verify_each=True).run(parse_module(TEXT))
    assert "attribute 'extra' is not in the prototype" in caught.value.message
    assert caught.value.notes[-1] == "in pass does, the first one"
    with pytest.raises(PassError) as caught:
        manager(Quiet(), Does(spoil)).run(parse_module(TEXT))
    assert caught.value.notes[-1] == "in pass does, after quiet"


def test_a_module_that_is_wrong_before_the_first_pass():
    module = parse_module(TEXT)
    spoil(module)
    with pytest.raises(CompileError) as caught:
        manager(Does()).run(module)
    assert not isinstance(caught.value, PassError)
