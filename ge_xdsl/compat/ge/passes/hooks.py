"""What happens to a pass class when it is defined: its hooks are checked and adapted.

After that every hook of a class is called as `hook(value, context)`, whatever its own parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ge_xdsl.compat.ge.passes.pattern import (
    MARK,
    build_pattern,
    build_replacement,
)

Hook = Callable[..., Any]


def adapt_pattern_pass(cls: type) -> None:
    """Check and adapt the own hooks of a PatternFusionPass subclass; raises TypeError."""
    own = vars(cls)
    _refuse_run(cls, "PatternFusionPass")
    marked = [f for f in own.values() if callable(f) and getattr(f, MARK, False)]
    if marked and "patterns" in own:
        raise TypeError(
            f"{cls.__name__} cannot combine @pattern methods with patterns(), expected one of them"
        )
    for method in marked:
        if _count(method) != 2:
            raise TypeError("@pattern methods only support method(self, inputs)")
    if marked:
        cls.patterns = _patterns(marked)  # pyright: ignore[reportAttributeAccessIssue]
    if "meet_requirements" in own:
        _adapt(cls, "meet_requirements", "match_result")
    if "replacement" in own:
        if _second(own["replacement"]) == "inputs":
            cls.replacement = _expression(own["replacement"])  # pyright: ignore[reportAttributeAccessIssue]
        else:
            _adapt(cls, "replacement", "match_result")


def adapt_decompose_pass(cls: type) -> None:
    """Check and adapt the own hooks of a DecomposePass subclass; raises TypeError."""
    _refuse_run(cls, "DecomposePass")
    for name in ("meet_requirements", "replacement"):
        if name in vars(cls):
            _adapt(cls, name, "node")


def _refuse_run(cls: type, base: str) -> None:
    if "run" in vars(cls):
        raise TypeError(
            f"{cls.__name__} overrides run(), which is never invoked by the {base} execution path"
        )


def _adapt(cls: type, name: str, value: str) -> None:
    """Give a hook of one value and an optional context the common calling convention."""
    hook: Hook = vars(cls)[name]
    count = _count(hook)
    if count not in (2, 3):
        text = f"{name} only supports {name}(self, {value}) or {name}(self, {value}, context)"
        takes_inputs = name == "replacement" and value == "match_result"
        raise TypeError(f"{text}, or replacement(self, inputs)" if takes_inputs else text)

    @wraps(hook)
    def adapted(self: Any, subject: Any, context: Any = None) -> Any:
        return hook(self, subject) if count == 2 else hook(self, subject, context)

    setattr(cls, name, adapted)


def _patterns(methods: list[Hook]) -> Hook:
    def patterns(self: Any) -> list[Any]:
        return [build_pattern(self, method) for method in methods]

    return patterns


def _expression(hook: Hook) -> Hook:
    """Adapt a replacement that is an expression over `inputs`."""
    names = _positional(hook)
    last_is_context = names[-1] == "context"
    if len(names) == 4 and not last_is_context:
        raise TypeError(
            "Expression-style replacement with four arguments must use "
            "replacement(self, inputs, match_result, context)"
        )
    if _count(hook) not in (2, 3, 4):
        raise TypeError(
            "Expression-style replacement only supports replacement(self, inputs"
            "[, match_result][, context])"
        )

    @wraps(hook)
    def adapted(self: Any, match_result: Any, context: Any = None) -> Any:
        extra: tuple[Any, ...] = ()
        if len(names) == 3:
            extra = (context,) if last_is_context else (match_result,)
        elif len(names) == 4:
            extra = (match_result, context)
        return build_replacement(self, hook, extra)

    return adapted


def _positional(hook: Hook) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(hook).parameters.values()
    return [p.name for p in parameters if p.kind in kinds]


def _count(hook: Any) -> int:
    """Positional parameters of a hook; -1 when it cannot be called with those alone."""
    if not callable(hook):
        return -1
    for parameter in inspect.signature(hook).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and required:
            return -1
    return len(_positional(hook))


def _second(hook: Any) -> str:
    names = _positional(hook) if callable(hook) else []
    return names[1] if len(names) > 1 else ""
