"""Statistics and explanations that recorders collect from the drivers."""

from __future__ import annotations

from graph_text import graph, module_of, node, pattern

from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.explain import Explanation
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.rule import Declined
from ge_xdsl.pattern.statistics import Statistics

GEMM = "a w b\n m = MatMul(a, w)\n y = Add(m, b)\n return y"


def sites(count: int, extra: str = "") -> str:
    """Sites of Add(Mul(MatMul)), where the pattern wants Add(MatMul)."""
    lines = [f"m{i} = MatMul(x, w)\ns{i} = Mul(m{i}, b)\ny{i} = Add(s{i}, b)" for i in range(count)]
    outputs = ", ".join(f"y{i}" for i in range(count))
    return "x w b\n" + "\n".join(lines) + extra + f"\nreturn {outputs}"


def gemm_rule() -> PatternRule:
    new = graph("a w b[4]\n m = MatMul(a, w, b)\n return m", "r")

    def is_bias(match: Match) -> bool:
        return len(match.inputs[2].type.get_shape()) == 1

    return PatternRule(pattern(GEMM, name="gemm"), lambda match: new, is_bias)


def test_equal_reasons_are_summed_up() -> None:
    func = graph(sites(30))
    module_of(func)
    explanation = Explanation()
    run_ge(func.body.block, [gemm_rule()], pass_name="Fuse", recorders=[explanation])
    text = explanation.as_text()
    assert text == (
        "Fuse/gemm: 0 of 30 sites rewritten\n"
        "  30 sites: operand 0: is Mul, expected MatMul (MatMul is one step further) "
        "[1 of 2 nodes matched] at 'y0', 'y1', 'y2' and 27 more\n"
    )
    (entry,) = explanation.as_json()
    (miss,) = entry["misses"]
    assert (miss["count"], miss["progress"], miss["matched"]) == (30, 1, False)
    assert miss["sites"][:2] == ["y0", "y1"]
    assert miss["at"][:2] == ["y0", "y1"]


def test_refusals_come_before_misses_and_names_are_summed_up() -> None:
    func = graph(
        "x w b c[4]\n m = MatMul(x, w)\n y = Add(m, b)\n n = MatMul(x, w)\n z = Add(n, c)\n"
        " p = MatMul(x, w)\n q = Add(p, c)\n e = Exp(p)\n o = MatMul(x, w)\n v = Add(o, c)\n"
        " f = Exp(o)\n u = Add(c, b)\n return y, z, q, e, v, f, u"
    )
    module_of(func)
    explanation = Explanation()
    run_ge(func.body.block, [gemm_rule()], pass_name="Fuse", recorders=[explanation])
    assert explanation.as_text().splitlines() == [
        "Fuse/gemm: 1 of 5 sites rewritten",
        "  rewrote 'z'",
        "  the requirements are not met [refused] at 'y'",
        "  2 sites: ge.MatMul 'p' is used outside the match by ge.Exp 'e', "
        "expected no other consumer [2 of 2 nodes matched] at 'q', 'v'",
        "  operand 0: is graph input 'c', expected MatMul [1 of 2 nodes matched] at 'u'",
    ]


def test_explanation_of_one_pass_and_node() -> None:
    func = graph(sites(3))
    module_of(func)
    only, other = Explanation("Fuse", "y1"), Explanation("Other")
    run_ge(func.body.block, [gemm_rule()], pass_name="Fuse", recorders=[only, other])
    assert only.as_text().splitlines()[0] == "Fuse/gemm: 0 of 1 site rewritten"
    assert other.as_text() == ""
    assert other.as_json() == []


def test_rule_without_a_root_is_listed() -> None:
    func = graph("x\n y = Exp(x)\n return y")
    module_of(func)
    explanation = Explanation()
    run_ge(func.body.block, [gemm_rule()], pass_name="Fuse", recorders=[explanation])
    assert explanation.as_text() == "Fuse/gemm: 0 of 0 sites rewritten\n"


def test_statistics_table_and_json() -> None:
    func = graph(
        "x w b c[4]\n m = MatMul(x, w)\n y = Add(m, b)\n n = MatMul(x, w)\n z = Add(n, c)\n"
        " return y, z"
    )
    module_of(func)
    stats = Statistics()
    run_ge(func.body.block, [gemm_rule()], pass_name="Fuse", recorders=[stats])
    assert stats.as_table(time=False) == (
        "pass  rule  tried  matched  applied\n"
        "Fuse  gemm      2        2        1\n"
        "  refused 1: the requirements are not met\n"
    )
    (entry,) = stats.as_json()
    assert entry.pop("microseconds") > 0
    assert entry == {
        "pass": "Fuse",
        "rule": "gemm",
        "tried": 2,
        "matched": 2,
        "applied": 1,
        "refused": {"the requirements are not met": 1},
    }
    assert "us" in stats.as_table().splitlines()[0]


def test_fixpoint_reports_the_same_way() -> None:
    func = graph(sites(2, "\nt = MatMul(x, w)\nv = Add(t, b)"))
    module = module_of(func)
    stats, explanation = Statistics(), Explanation()
    run_fixpoint(module, [gemm_rule()], pass_name="F", recorders=[stats, explanation])
    assert stats.counts["F", "gemm"].tried == 3
    assert stats.counts["F", "gemm"].refused == {"the requirements are not met": 1}
    assert "2 sites: operand 0: is Mul, expected MatMul" in explanation.as_text()


def test_a_reason_of_several_lines_is_one_line_of_the_table() -> None:
    statistics = Statistics()
    root = node(graph("x\n y = Relu(x)\n return y", "p"), "y")
    statistics.attempt("P", "r", root, Declined("raised ValueError: a\nb", matched=True), 0.0)
    assert statistics.as_table(time=False).splitlines()[-1] == "  refused 1: raised ValueError: a b"
