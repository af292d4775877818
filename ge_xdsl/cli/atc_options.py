"""The options of `pyatc`: ATC's names, which of them mean something here, and what is refused."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ge_xdsl.cli.ge_log import LEVELS
from ge_xdsl.cli.options import Parser
from ge_xdsl.errors import UsageError, nearest

FRAMEWORKS = {"0": "Caffe", "1": "AIR", "3": "TensorFlow", "5": "ONNX"}
"""ATC's numbers for model formats."""

READERS = {"1": "air", "5": "onnx"}
"""Those with a reader -> its name."""

MODES = {"0": "compile", "3": "check that the model can be read"}
STATISTICS = ("0", "1", "2")

OPTIONS = {
    "optimization_switch": "ge.optimizationSwitch",
    "fusion_switch_file": "ge.fusionSwitchFile",
    "soc_version": "ge.socVersion",
}
"""Option -> the name by which `PassContext.get_option_value` reads it."""

IGNORED = (
    "aicore_num", "auto_tune_mode", "buffer_optimize", "build_config", "compress_weight_conf",
    "compression_optimize_conf", "core_type", "customize_dtypes", "debug_dir", "deterministic",
    "deterministic_level", "device_id", "disable_reuse_memory", "display_model_info",
    "dump_mode", "dynamic_batch_size", "dynamic_dims", "dynamic_image_size",
    "enable_compress_weight", "enable_graph_parallel", "enable_scope_fusion_passes",
    "enable_single_stream", "enable_small_channel", "external_weight", "framework_version",
    "host_env_cpu", "host_env_os", "input_format", "input_fp16_nodes", "input_shape_range",
    "insert_op_conf", "is_input_adjust_hw_layout", "is_output_adjust_hw_layout", "json",
    "mdl_bank_path", "modify_mixlist", "om", "oo_constant_folding", "oo_dead_code_elimination",
    "oo_level", "op_bank_path", "op_compiler_cache_dir", "op_compiler_cache_mode",
    "op_debug_config", "op_debug_level", "op_name_map", "op_precision_mode",
    "op_select_implmode", "optypelist_for_implmode", "output_type", "precision_mode",
    "precision_mode_v2", "save_original_model", "shape_generalized_build_mode", "sparsity",
    "status_check", "tiling_schedule_optimize", "topo_sorting_mode", "virtual_type", "weight",
)  # fmt: skip
"""ATC's options that change what a device does, or a format that is not written here."""


def parser(prog: str = "pyatc") -> Parser:
    """The options of pyatc, spelled as ATC spells them."""
    required = "--model=FILE --framework=N --soc_version=NAME --output=PATH"
    start = f"{prog} --model=m.onnx --framework=5"
    examples = (
        f"{start} --soc_version=Ascend910B1 --output=m",
        f"{start} --soc_version=Ascend310P3 --output=m --input_shape='x:1,3,224,224' --log=info",
        f"{start} --soc_version=Ascend910B1 --mode=3",
    )
    made = Parser(prog, required, "Compile a model for a chip with ATC's options.", examples)
    made.section("input and output")
    made.add("--model", required=True, metavar="FILE", help="the model")
    made.add("--framework", required=True, metavar="N", help="5 for ONNX, 1 for AIR")
    made.add("--output", metavar="PATH", help="the result, .mlir is added")
    made.add(
        "--input_shape", default="", metavar="'NAME:1,3;NAME:4'", help="shapes of graph inputs"
    )
    made.add(
        "--out_nodes", default="", metavar="'NODE:0;NODE:1'", help="outputs in place of the model's"
    )
    add_passes(made)
    made.information()
    for name in IGNORED:
        made.add(f"--{name}", help=argparse.SUPPRESS)
    made.epilog = (
        "ATC's other options are read and change nothing here. environment: "
        "ASCEND_GE_PY_PASS_PATH, DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL, DUMP_GRAPH_FORMAT, "
        "DUMP_GRAPH_PATH, ASCEND_GLOBAL_LOG_LEVEL, ASCEND_SLOG_PRINT_TO_STDOUT, ASCEND_WORK_PATH. "
        f"{made.epilog}"
    )
    return made


def add_passes(made: Parser) -> None:
    """The sections on the chip, the passes and what they tell."""
    made.section("pipeline")
    made.add("--soc_version", required=True, metavar="NAME", help="the chip")
    made.add("--mode", default="0", metavar="N", help=_listed(MODES))
    made.section("pass files")
    made.add(
        "--optimization_switch", default="", metavar="'PASS:on;PASS:off'", help="passes on and off"
    )
    made.add(
        "--fusion_switch_file", default="", metavar="FILE", help="JSON that turns passes on and off"
    )
    made.section("diagnosis")
    made.add(
        "--export_compile_stat", metavar="N",
        help="0 writes no fusion_result.json, 1 (the default) and 2 do",
    )  # fmt: skip
    made.add("--log", metavar="LEVEL", help=", ".join(LEVELS))


def check_arguments(args: argparse.Namespace) -> None:
    """Raise UsageError for values that no compile can start with."""
    if args.mode not in MODES:
        raise UsageError(f"--mode={args.mode}, expected {_listed(MODES)}")
    if args.output is None and args.mode == "0":
        raise UsageError("--output is missing, expected where the result goes")
    for flag in ("model", "output"):
        if getattr(args, flag) == "":
            raise UsageError(f"--{flag} is empty, expected a file")
    if args.framework not in READERS:
        known = FRAMEWORKS.get(args.framework)
        what = f"{args.framework} ({known})" if known else args.framework
        raise UsageError(f"--framework={what}, expected 5 (ONNX) or 1 (AIR)")
    if args.log is not None and args.log not in LEVELS:
        hint = nearest(args.log, LEVELS)
        raise UsageError(f"--log={args.log}, expected one of: {', '.join(LEVELS)}{hint}")
    if args.export_compile_stat not in (None, *STATISTICS):
        raise UsageError(f"--export_compile_stat={args.export_compile_stat}, expected 0, 1 or 2")


def ge_options(args: argparse.Namespace) -> dict[str, str]:
    """What passes can read: GE's names for the options that have one, ATC's for the rest."""
    given = {name: value for name, value in vars(args).items() if isinstance(value, str) and value}
    return {OPTIONS.get(name, name): value for name, value in sorted(given.items())}


def without_effect(args: argparse.Namespace) -> list[str]:
    """The options given that change nothing here."""
    return [f"--{name}" for name in IGNORED if getattr(args, name) is not None]


def unwritten(args: argparse.Namespace) -> list[str]:
    """The options given that say what to write, where mode 3 writes nothing."""
    names = ("output", "export_compile_stat") if args.mode == "3" else ()
    return [f"--{name}" for name in names if getattr(args, name)]


def parse_outputs(text: str) -> list[tuple[str, int]]:
    """The nodes and result numbers of `NODE:0;NODE:1`. Raises UsageError."""
    found: list[tuple[str, int]] = []
    for part in filter(None, text.split(";")):
        name, colon, index = part.rpartition(":")
        if not (name and colon and index.isdecimal() and len(index) < 9):
            raise UsageError(f"--out_nodes: '{part}' is no output, expected NODE:0")
        found.append((name, int(index)))
    return found


def _listed(choices: Mapping[str, str]) -> str:
    return " or ".join(f"{number} ({meaning})" for number, meaning in choices.items())
