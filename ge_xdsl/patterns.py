"""Opt-in extensions of pattern matching that GE does not have.

    from ge_xdsl.patterns import bind, matching, optional, variadic, where

    @register_fusion_pass(name="Sink", stage=PassStage.AFTER_INFER_SHAPE)
    @matching(commutative=True, through_copies=True)
    class Sink(PatternFusionPass):
        @pattern
        def joined(self, inputs):
            axis, perm = inputs[:2]
            return Transpose(ConcatV2(variadic(inputs[2]), axis, N=1), perm)

        def replacement(self, inputs, match_result):
            axis, perm, xs = bind(inputs, match_result)
            ...

A pass file that imports this module matches more here than in CANN, where it does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar, get_args

from xdsl.ir import SSAValue

from ge_xdsl.pattern.extended import ATTRIBUTE, Constants, ExtendedMatch, Matching, Policy
from ge_xdsl.pattern.marks import (
    Mark,
    add_mark,
    check_op_type,
    dtypes_of,
    rank_of,
    shape_of,
)
from ge_xdsl.pattern.match import Match

__all__ = ["Matching", "bind", "exposed", "matching", "optional", "variadic", "where"]

C = TypeVar("C", bound=type)
T = TypeVar("T")

_handle_of: Callable[[Any], SSAValue] = attrgetter("_handle")
_match_of: Callable[[Any], Match | None] = attrgetter("_match")


def matching(
    *unnamed: object,
    commutative: bool = False,
    through_copies: bool = False,
    through: Sequence[str] = (),
    constants: Constants = "bits",
    ulps: int = 0,
    boundary: Policy = "refuse",
    finite: bool = False,
) -> Callable[[C], C]:
    """Let the patterns of a pass class match beyond GE's rules.

    `commutative`: the two operands of Add, Mul, Maximum and the like match in either order, their
    own first; a match that `meet_requirements` refuses is not tried again in the other.
    `through_copies`: Identity and a Cast to the same type may stand between two nodes; they are
    replaced together with them and must have no other reader. `through`: so may ops of these
    types, whatever they do to their first operand.
    `constants="value"`: constants are compared as numbers, at the precision of the narrower type
    and through a Cast; one of one element is a scalar. `ulps`: how many steps of that type two
    floats may be apart.
    `boundary`: an inner tensor that something else reads stops the match ("refuse", as in GE),
    stays beside the replacement ("duplicate", reported with what is computed twice), or is one
    more output, behind the pattern's own, that the replacement has to give ("expose").
    `finite`: `--verify-rewrites` tries the rules on no NaN and no infinity.
    Raises ValueError for another word or type, for `ulps` that nothing would use, and without
    parentheses.
    """
    if unnamed:
        raise ValueError("matching() takes only named options, expected @matching(name=...)")
    found = Matching(
        commutative, through_copies, tuple(_op_types(through)), constants, ulps, boundary, finite
    )
    _check(found)

    def decorate(cls: C) -> C:
        setattr(cls, ATTRIBUTE, found)
        return cls

    return decorate


def _op_types(through: Sequence[str]) -> Sequence[str]:
    _check_type("through", through, (list, tuple), "a list of op types")
    for item in through:
        _check_type("an entry of through", item, str, "an op type")
        check_op_type("through", item)
    return through


def _check(options: Matching) -> None:
    """Raise ValueError for an option of a wrong type, another word, or one without use."""
    for name in ("commutative", "through_copies", "finite"):
        _check_type(name, getattr(options, name), bool, "True or False")
    _check_word("constants", options.constants, get_args(Constants))
    _check_word("boundary", options.boundary, get_args(Policy))
    ulps = options.ulps
    _check_type("ulps", ulps, int, "a number")
    if ulps < 0 or (ulps and options.constants != "value"):
        raise ValueError(f"ulps is {ulps}, expected 0 or more, with constants='value'")


def _check_type(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {value!r}, expected {wanted}")


def _value_of(tensor: object) -> SSAValue:
    """The tensor behind what a pattern was given. Raises ValueError for what is none."""
    try:
        return _handle_of(tensor)
    except AttributeError:
        raise ValueError(f"is given {tensor!r}, expected a tensor of the pattern") from None


def _check_word(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        words = " or ".join(f"'{word}'" for word in known)
        raise ValueError(f"{name} is {value!r}, expected {words}")


def where(
    tensor: T,
    *,
    dtype: Any = None,
    rank: int | None = None,
    shape: Sequence[int] | None = None,
    **attrs: Any,
) -> T:
    """Ask more of a tensor of a pattern; the tensor itself.

    `dtype`: its element type, or several: `DataType`, "DT_FLOAT16", "float16" or "f16". `shape`:
    -1 stands for any size. Every other keyword names an attribute of the tensor's node: a value,
    a set of values, or a test `lambda value: ...`. A tensor whose type is not known yet does not
    fit. Raises ValueError for an unknown type or attribute, or for what is no rank or shape.
    """
    mark = Mark(dtypes_of(dtype), rank_of(rank), shape_of(shape), attrs)
    add_mark(_value_of(tensor), mark)
    return tensor


def variadic(tensor: T) -> list[T]:
    """Let a pattern input stand for all further tensors of a dynamic input, one or more.

    It comes last in the list: `ConcatV2(variadic(inputs[0]), axis, N=1)`,
    `ConcatV2([inputs[0], *variadic(inputs[1])], axis, N=2)`. Attributes that count operands are
    not compared. Raises ValueError for what is no pattern input.
    """
    add_mark(_value_of(tensor), Mark(variadic=True))
    return [tensor]


def optional(tensor: T) -> T:
    """Let a pattern input stand for an optional operand that may be given or not.

    Without it an operand that the pattern leaves out must be absent. Raises ValueError for what
    is no pattern input.
    """
    add_mark(_value_of(tensor), Mark(optional=True))
    return tensor


def bind(inputs: Any, match_result: Any) -> list[Any]:
    """The inputs of a replacement by those of the pattern: one entry for each.

    A list of tensors for a variadic one, None for an optional one that is not given, a tensor for
    any other. Raises RuntimeError outside of the hook that was given the match.
    """
    match = _live(match_result)
    used = match.graph.used_inputs
    counts = [1] * len(used)
    if isinstance(match, ExtendedMatch):
        counts = [len(group) for group in match.groups]
    tensors: list[Any] = inputs[: sum(counts)]
    found: list[Any] = []
    start = 0
    for arg, count in zip(used, counts, strict=True):
        part = tensors[start : start + count]
        start += count
        mark = match.graph.marks.get(arg)
        if mark is not None and mark.variadic:
            found.append(part)
        else:
            found.append(part[0] if part else None)
    return found


def exposed(match_result: Any) -> list[int]:
    """The nodes whose tensors `boundary="expose"` made outputs, in their order: for each its
    place in the pattern, in the order in which the pattern's nodes are reached from the outputs
    (0 is the node of output 0)."""
    match = _live(match_result)
    if not isinstance(match, ExtendedMatch):
        return []
    owners = [value.owner for value in match.exposed]
    return [next(i for i, t in enumerate(match.targets) if t is owner) for owner in owners]


def _live(match_result: Any) -> Match:
    match = _match_of(match_result)
    if match is None:
        raise RuntimeError("MatchResult handle has expired")
    return match
