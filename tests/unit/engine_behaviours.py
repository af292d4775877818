"""Upstream's 207 unit tests of its fusion engine: what each pins, and the test here that pins it.

Groups and counts are those of upstream's 19 test files. A place is `file::test` or
`file::test[row of its table]`; `-` and a reason stands for what cannot be here.
"""

from __future__ import annotations

ENGINE = "unit/test_engine_conformance.py"
PASSES = "unit/test_engine_conformance_passes.py"
REWRITE = "unit/test_pattern_rewrite.py"
CUSTOM = "compat/test_custom_passes.py"
FAILS = "compat/test_custom_pass_failures.py"
CLASSES = "compat/test_pass_classes.py"
SUBGRAPHS = "compat/test_subgraph_api.py"
INFER = "compat/test_infer_shape_forms.py"
LOADER = "compat/test_loader.py"
BRIDGE = "compat/test_bridge.py"


def _in(test: str, *rows: str) -> dict[str, str]:
    return {row: f"{test}[{row}]" for row in rows}


_ACCEPTS = f"{ENGINE}::test_node_matcher_accepts"
_REFUSES = f"{ENGINE}::test_node_matcher_refuses"
_MATCHES = f"{ENGINE}::test_matches"
_INVALID = f"{ENGINE}::test_invalid_patterns"
_OUTER = "- constants of an outer graph: upstream wires their matching off, here there is none"
_NULL = "- there are no null nodes here"

BEHAVIOURS: dict[str, tuple[int, dict[str, str]]] = {
    "pattern_matcher": (
        19,
        {
            **_in(
                _MATCHES,
                "SingleNode_1Input_1Output",
                "SingleNode_2Input_WithConst",
                "SingleNode_2Input_WithConst_EnableValueMatch_ValueMiss",
                "TwoNode_WithConst",
                "3Node_1Input_2Output_Match",
                "PatternInput_MultiConsumer_Match",
                "PatternInput_MultiConsumer_ProducerIsDiff_Miss",
                "3Node_Miss",
                "PartialOutputAnchors",
                "PartialOutputAnchors_Attr",
                "PartialOutputAnchors_AttrValueMiss",
                "InvalidBoundary_NotSelfContained_Miss",
                "ForceSelfContained",
                "MultiOutput_Output0MoreProducersThanOutput1",
            ),
            "2Patterns_Match": f"{ENGINE}::test_two_matchers_share_a_graph",
            **_in(
                _INVALID,
                "InvalidPattern_ControlEdge",
                "InvalidPattern_DynamicInput",
                "InvalidPattern_DynamicOutput",
            ),
            "InvalidPattern_Subgraph": f"{FAILS}::test_a_pattern_that_can_never_match_is_told",
        },
    ),
    "node_matcher: data": (2, _in(_ACCEPTS, "data, op", "data, const")),
    "node_matcher: normal": (
        8,
        {
            **_in(
                _ACCEPTS,
                "normal, same type",
                "normal, Cast dst_type equal",
                "normal, list of int equal",
                "normal, float attribute equal",
            ),
            "type differs": f"{ENGINE}::test_types_that_differ_are_no_candidates",
            **_in(_REFUSES, "normal, Cast dst_type differs", "normal, list of int differs"),
            "attribute names or their number differ": (
                "compat/test_quirks.py::test_attributes_by_position"
            ),
        },
    ),
    "node_matcher: constant": (
        23,
        {
            **_in(_ACCEPTS, "const, type only"),
            **_in(_REFUSES, "const, another op"),
            "inner Data of a constant": _OUTER,
            "inner Data of another op": f"{_REFUSES}[const, graph input]",
            "inner Data in an unlinked graph": _OUTER,
            **{
                f"{dtype} {what}": f"{_ACCEPTS}[const value, {dtype} {what}]"
                for dtype in ("int32", "int64", "uint32", "float32")
                for what in ("scalar", "tensor")
            },
            **_in(
                _REFUSES,
                "const value, int32 value miss",
                "const value, one of many",
                "const value, no tolerance",
                "const value, dtype miss",
                "const value, shape miss",
                "const value, size miss",
                "const value, high rank miss",
            ),
            "int32 high rank": f"{_ACCEPTS}[const value, int32 high rank]",
            "target without weight": f"{ENGINE}::test_constants_without_weight",
            "pattern without weight": f"{ENGINE}::test_constants_without_weight",
        },
    ),
    "match_result": (
        1,
        {"captured tensor, bad index": f"{ENGINE}::test_captured_tensors_and_a_bad_index"},
    ),
    "pattern": (
        2,
        {
            "create": f"{CLASSES}::test_a_graph_is_a_pattern_of_its_own",
            "capture order": f"{CLASSES}::test_captures_are_inputs_then_outputs",
        },
    ),
    "pattern_matcher_config": (
        3,
        {
            "both off": f"{ENGINE}::test_config_flags",
            "const value": f"{ENGINE}::test_config_flags",
            "IR attributes": f"{ENGINE}::test_config_flags",
        },
    ),
    "subgraph_boundary": (
        12,
        {
            **_in(
                f"{ENGINE}::test_boundaries",
                "one consumer",
                "several consumers",
                "one tensor in two anchors",
                "one tensor as two inputs",
                "two outputs",
            ),
            "two producers in one input": f"{SUBGRAPHS}::test_wrong_arguments_of_replace",
            "an output set once only": f"{SUBGRAPHS}::test_boundary_parts",
            "an output that is not there": f"{SUBGRAPHS}::test_wrong_arguments_of_replace",
            "made empty, then filled": f"{SUBGRAPHS}::test_boundary_parts",
            "made from lists": f"{SUBGRAPHS}::test_boundary_parts",
            "get an input and an output": f"{SUBGRAPHS}::test_boundary_parts",
            "one index twice": f"{SUBGRAPHS}::test_wrong_arguments_of_replace",
        },
    ),
    "fusion_utils": (
        13,
        {
            **_in(
                f"{PASSES}::test_switches",
                "option off",
                "file off",
                "missing file",
                "bad JSON",
                "top level is no object",
                "no Switch",
                "GraphFusion is no object",
            ),
            "cycle: a null node": _NULL,
            "cycle: all nodes are null": _NULL,
            **_in(f"{ENGINE}::test_cycles", "linear", "control edge"),
            "cycle: no nodes": f"{ENGINE}::test_no_nodes_make_no_cycle",
            "a boundary without inputs": f"{ENGINE}::test_boundaries[no input]",
        },
    ),
    "graph_rewriter": (
        14,
        {
            "InvalidBoundary: not closed": (
                f"{PASSES}::test_replace_fails[InvalidBoundary_NotClosed]"
            ),
            "InvalidBoundary: two graphs": f"{PASSES}::test_boundary_over_two_graphs_fails",
            "one to one keeps label and origin": (
                f"{PASSES}::test_replacement_keeps_stream_label_and_origin_types"
            ),
            **_in(
                f"{PASSES}::test_replaces",
                "many to many with a new const",
                "one input, two outputs",
                "producer with an outside consumer",
                "data to net output",
                "all to none",
            ),
            "with a context": f"{SUBGRAPHS}::test_a_pass_replaces_with_its_context",
            "with a context, CanFuse fails": f"{SUBGRAPHS}::test_can_fuse",
            "with a context without a name": f"{SUBGRAPHS}::test_report_fuse",
            "a replacement with a cycle": f"{REWRITE}::test_replacement_with_a_cycle_fails",
            **_in(f"{PASSES}::test_replace_fails", "input count", "output count"),
        },
    ),
    "fusion_component": (
        7,
        {
            "stacked blocks": f"{PASSES}::test_stacked_blocks",
            "stacked blocks, shared input": f"{PASSES}::test_stacked_blocks",
            "stacked blocks, inputs of one tensor": f"{PASSES}::test_stacked_blocks",
            "reshape and transdata with a const": (
                f"{PASSES}::test_replaces[many to many with a new const]"
            ),
            "keep const": f"{PASSES}::test_shared_constant_as_an_output",
            "core": f"{PASSES}::test_shared_constant_as_an_output",
            "cycle": f"{PASSES}::test_passes[cycle maker skipped]",
        },
    ),
    "infer_shape_util": (
        8,
        {
            "basic": f"{SUBGRAPHS}::test_infer_shape_from_a_node_or_a_boundary",
            **_in(
                f"{INFER}::test_infer_shape",
                "a constant's value is known",
                "no constant, no value",
                "several producers",
                "one producer twice",
                "a dynamic shape",
                "a constant beside others",
            ),
            "counts differ": f"{SUBGRAPHS}::test_infer_shape_errors",
        },
    ),
    "pattern_fusion_pass": (
        12,
        {
            "replace, then nothing": (
                f"{PASSES}::test_second_run_changes_nothing_and_a_bad_replacement_fails"
            ),
            "types after inference": f"{CUSTOM}::test_a_later_stage_gets_inferred_types",
            "requirements false": f"{PASSES}::test_passes[requirements false]",
            "bad replacement": (
                f"{PASSES}::test_second_run_changes_nothing_and_a_bad_replacement_fails"
            ),
            "attributes differ": f"{PASSES}::test_passes[attributes differ]",
            "cycle maker skipped": f"{PASSES}::test_passes[cycle maker skipped]",
            "captures": f"{CUSTOM}::test_what_a_match_tells",
            "captured data": (
                f"{CUSTOM}::test_a_tensor_that_is_input_and_output_is_captured_in_both_roles"
            ),
            "pattern name": f"{CUSTOM}::test_what_a_match_tells",
            "graph output follows": f"{PASSES}::test_graph_output_follows",
            "target follows": f"{PASSES}::test_graph_output_follows",
            "cycle guard": f"{FAILS}::test_edges_to_later_nodes_put_the_graph_in_order_again",
        },
    ),
    "pattern_fusion_pass_v2": (
        6,
        {
            "context in both hooks": (
                f"{CLASSES}::test_value_hooks_take_the_context_when_they_have_room"
            ),
            "error message": f"{CUSTOM}::test_a_set_message_is_a_warning_when_the_pass_succeeds",
            "true by default": f"{CLASSES}::test_base_hooks",
            "false skips": f"{PASSES}::test_passes[requirements false]",
            "no replacement fails": f"{FAILS}::test_a_missing_replacement_names_the_class",
            "no match": f"{PASSES}::test_passes[no match]",
        },
    ),
    "decompose_pass": (
        4,
        {
            **_in(f"{PASSES}::test_decomposes", "found", "none", "invalid replacement"),
            "types after inference": f"{FAILS}::test_decompose",
        },
    ),
    "decompose_pass_v2": (
        6,
        {
            "context in both hooks": (
                f"{CLASSES}::test_value_hooks_take_the_context_when_they_have_room"
            ),
            "error message": f"{FAILS}::test_decompose_failures",
            "true by default": f"{CLASSES}::test_base_hooks",
            "false skips": f"{PASSES}::test_decompose_hooks_decide",
            "no replacement fails": f"{FAILS}::test_decompose_failures",
            "hooks that raise": f"{FAILS}::test_decompose_hooks_that_raise",
        },
    ),
    "reg_pass": (
        6,
        {
            "a class": f"{CLASSES}::test_registration",
            "a decompose class": f"{CLASSES}::test_registration",
            "another stage does not run": f"{CUSTOM}::test_passes_run_by_name_in_their_stage_only",
            "one instance per stage": (
                f"{CUSTOM}::test_one_instance_serves_the_graph_and_then_its_subgraphs"
            ),
            "an instance per Python scope": f"{BRIDGE}::test_holders_have_their_own_instances",
            "duplicate keys": f"{CLASSES}::test_wrong_registrations",
        },
    ),
    "graph_fuse_inspector_utils": (
        13,
        {
            **{
                f"can_fuse: {what}": f"{SUBGRAPHS}::test_can_fuse"
                for what in ("no nodes", "no graph", "two graphs", "labels", "a cycle", "success")
            },
            "can_fuse: a null handle": f"{BRIDGE}::test_nodes_without_a_handle_cannot_be_fused",
            **{
                f"report_fuse: {what}": f"{SUBGRAPHS}::test_report_fuse"
                for what in (
                    "no nodes before",
                    "two graphs",
                    "no pass name",
                    "success",
                    "nothing after",
                    "data dump attributes",
                )
            },
        },
    ),
    "fusion_pass_executor": (
        48,
        {
            "a stage runs": f"{CUSTOM}::test_a_stage_runs_on_a_graph",
            "a second run changes nothing": (
                f"{PASSES}::test_second_run_changes_nothing_and_a_bad_replacement_fails"
            ),
            **_in(
                f"{PASSES}::test_switches",
                "option wins",
                "any other word is off",
                "all off, one on",
                "all off",
            ),
            "subgraphs run": f"{CUSTOM}::test_patterns_match_inside_subgraphs",
            "a failure in a subgraph": (
                f"{FAILS}::test_an_earlier_rewrite_of_a_failed_pass_is_undone"
            ),
            "a failure in the root": f"{FAILS}::test_a_replacement_that_fails_ends_the_compile",
            "decompose runs": f"{FAILS}::test_decompose",
            "decompose fails": f"{FAILS}::test_decompose_failures",
            "an orphan subgraph": "- a subgraph is a region of its op, none is without one",
            # the Python bridge, its holders and the loader
            "create, run, destroy": f"{BRIDGE}::test_holders_have_their_own_instances",
            "a context or none": f"{BRIDGE}::test_run_takes_a_context_or_none",
            "patterns handed over": f"{BRIDGE}::test_patterns_are_handed_over",
            "a pattern released once": f"{BRIDGE}::test_a_pattern_is_released_once",
            "wrong patterns": f"{BRIDGE}::test_wrong_patterns",
            "no patterns": f"{BRIDGE}::test_no_patterns_and_generators_of_them",
            "patterns that raise": f"{FAILS}::test_patterns_that_fail_make_the_pass_do_nothing",
            "matcher options": f"{BRIDGE}::test_matcher_options",
            "matcher options honoured": f"{CUSTOM}::test_ir_attributes_are_compared_when_asked",
            "matcher options of another type": f"{FAILS}::test_construction_and_options_that_fail",
            "a match ends with its hook": f"{BRIDGE}::test_hooks_are_given_a_match_that_ends",
            "a match ends when its hook raises": (
                f"{BRIDGE}::test_a_hook_that_raises_ends_its_match_too"
            ),
            "replacements are graphs": f"{BRIDGE}::test_replacements_are_graphs",
            "a replacement is used once": f"{FAILS}::test_a_replacement_graph_is_used_once",
            "a released graph is empty": f"{BRIDGE}::test_a_released_graph_is_empty",
            "decompose hooks get the node": f"{BRIDGE}::test_decompose_hooks_are_given_the_node",
            "requirements that raise": f"{FAILS}::test_requirements_that_raise_skip_the_match",
            "a run that raises": f"{FAILS}::test_a_run_that_fails",
            "a run that returns false": f"{FAILS}::test_a_run_that_fails",
            "a run that succeeds": f"{FAILS}::test_a_run_that_succeeds",
            "a constructor that raises": f"{FAILS}::test_construction_and_options_that_fail",
            "the text of an exception": f"{FAILS}::test_the_text_of_an_exception_is_told_once",
            "default requirements": f"{CLASSES}::test_base_hooks",
            "missing hooks": f"{CLASSES}::test_wrong_hooks_are_refused_at_class_definition",
            "op types of a decompose pass": f"{FAILS}::test_an_op_type_that_is_no_op_is_told",
            "duplicate names": f"{LOADER}::test_duplicate_names_are_an_error_at_the_second_file",
            "rollback of a file": f"{LOADER}::test_a_failed_file_leaves_no_pass_behind",
            "a file that cannot be loaded": f"{LOADER}::test_a_file_that_cannot_be_loaded",
            "a path that is not there": f"{LOADER}::test_a_bad_path_stops_the_load",
            "files left to right": f"{LOADER}::test_entries_are_loaded_left_to_right",
            "a directory": f"{LOADER}::test_a_directory",
            "one file once": f"{LOADER}::test_one_file_is_loaded_once_whatever_names_it",
            "loaded and forgotten": (
                f"{BRIDGE}::test_files_of_the_environment_are_loaded_and_forgotten"
            ),
            "unloaded, then again": f"{LOADER}::test_unload_lets_files_run_again",
            "module names": f"{LOADER}::test_module_names_do_not_depend_on_the_process",
            "stages are strings": f"{BRIDGE}::test_stages_are_strings",
        },
    ),
}
