"""`ge.passes.base`: the classes that a user pass derives from."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Union

from ge_xdsl.compat.ge.passes import hooks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ge_xdsl.compat.ge.graph.graph import Graph
    from ge_xdsl.compat.ge.graph.node import Node
    from ge_xdsl.compat.ge.passes.values import (
        MatchResult,
        PassContext,
        Pattern,
        PatternMatcherConfig,
    )

StatusLike: TypeAlias = bool | int | None
PatternOrGraph: TypeAlias = Union["Pattern", "Graph"]


class PassStage(StrEnum):
    """When a pass runs. Members equal their value strings and print as `PassStage.NAME`."""

    BEFORE_INFER_SHAPE = "BeforeInferShape"
    AFTER_INFER_SHAPE = "AfterInferShape"
    AFTER_BUILTIN_FUSION_PASS = "AfterBuiltinFusionPass"
    AFTER_ORIGIN_GRAPH_OPTIMIZE = "AfterOriginGraphOptimize"

    def __str__(self) -> str:
        return f"PassStage.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)


class FusionBasePass:
    """A pass that edits the graph itself."""

    def run(self, graph: Graph, context: PassContext) -> StatusLike:
        """Edit `graph`; None, True and 0 mean success, False and other integers failure."""
        raise NotImplementedError("FusionBasePass.run must be implemented")


class PatternFusionPass(FusionBasePass):
    """A pass that finds patterns, filters the matches and replaces them."""

    def __init__(self, matcher_config: PatternMatcherConfig | None = None) -> None:
        self._matcher_config = matcher_config

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        hooks.adapt_pattern_pass(cls)

    @property
    def matcher_config(self) -> PatternMatcherConfig | None:
        try:
            return self._matcher_config
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__} has no matcher_config, expected its __init__ to call "
                "super().__init__()"
            ) from None

    def patterns(self) -> Iterable[PatternOrGraph]:
        raise NotImplementedError(
            "PatternFusionPass.patterns must be implemented, or a method marked with @pattern"
        )

    def meet_requirements(
        self, match_result: MatchResult, context: PassContext | None = None
    ) -> bool:
        return True

    def replacement(self, match_result: MatchResult, context: PassContext | None = None) -> Any:
        raise NotImplementedError("PatternFusionPass.replacement must be implemented")


class DecomposePass(FusionBasePass):
    """A pass that replaces single nodes of given op types by graphs."""

    op_types: ClassVar[list[str] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        hooks.adapt_decompose_pass(cls)

    def meet_requirements(self, node: Node, context: PassContext | None = None) -> bool:
        return True

    def replacement(self, node: Node, context: PassContext | None = None) -> Graph:
        raise NotImplementedError("DecomposePass.replacement must be implemented")
