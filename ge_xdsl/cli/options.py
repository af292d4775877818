"""Command lines: the parser class, options that several tools share, and their meaning.

Nothing heavy is imported here: `--help` and `--version` must answer at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ge_xdsl.errors import UsageError, nearest

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from ge_xdsl.passes.session import Session

EXITS = "exit codes: 0 done; 1 the input, a pass or a check failed; 2 bad usage"


class Version(argparse.Action):
    """Print the version of the tool and of xDSL."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('ge-xdsl')} (xdsl {version('xdsl')})")
        parser.exit()


INPUTS = ".mlir, .onnx, .air, .pbtxt or .txt"
"""The endings of the files that the commands read."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are UsageErrors, with hints and without prefix matching.

    `--name[=VALUE]` options, added by `add_optional`, take a value only after an equals sign, so
    that they never swallow the file name behind them. `section` starts a group of the help text.
    """

    def __init__(
        self, prog: str, words: str, description: str, examples: Sequence[str] = ()
    ) -> None:
        super().__init__(
            prog,
            usage=f"%(prog)s [-h] [options] {words}",
            description=description,
            epilog=EXITS,
            allow_abbrev=False,
            add_help=False,
        )
        self.with_optional_value: set[str] = set()
        self.examples = examples
        self.add: Callable[..., object] = self.add_argument
        """`add_argument` within the current section."""

    def section(self, title: str) -> None:
        """What is added from here on stands under this title."""
        self.add = self.add_argument_group(title).add_argument

    def add_optional(self, flag: str, metavar: str, text: str, repeat: bool = False) -> None:
        """Add `--flag[=METAVAR]`; without a value it reads ''."""
        self.with_optional_value.add(flag)
        self.add(flag, metavar=f"[{metavar}]", help=text, action="append" if repeat else "store")

    def information(self) -> None:
        """Start the section on what the tool tells about itself."""
        self.section("information")
        self.add("-h", "--help", action="help", help="show this text")
        self.add("--version", action=Version, nargs=0, help="show the version")

    def given(self, args: argparse.Namespace) -> dict[str, str]:
        """The options that are not at their defaults: name of the value -> how it is written."""
        found: dict[str, str] = {}
        for action in self._actions:
            value = getattr(args, action.dest, action.default)
            if value != action.default:
                flags = action.option_strings
                found[action.dest] = flags[0] if flags else f"input '{value}'"
        return found

    def only_with(self, args: argparse.Namespace, option: str, allowed: Iterable[str]) -> None:
        """Raise UsageError when an option is given that has no effect beside `option`."""
        given = self.given(args)
        for name, flag in given.items():
            if name != option and name not in allowed:
                raise UsageError(f"{given[option]} with {flag}, expected one of them")

    def needs(self, args: argparse.Namespace, option: str, other: str, there: bool) -> None:
        """Raise UsageError when an option is given without the one that it belongs to."""
        given = self.given(args)
        if option in given and not there:
            raise UsageError(f"{given[option]} without {other}, expected both")

    def format_help(self) -> str:
        text = super().format_help().replace(" [=", "[=")
        shown = "".join(f"  {line}\n" for line in self.examples)
        return f"{text}\nexamples:\n{shown}" if shown else text

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """The options of a command line; raises UsageError for the first one that is wrong."""
        words = [f"{word}=" if word in self.with_optional_value else word for word in argv]
        found, unknown = self.parse_known_args(words)
        if unknown:
            raise UsageError(self.unknown(unknown[0], argv))
        return found

    def unknown(self, word: str, argv: Sequence[str]) -> str:
        """What is wrong with a word that no option takes."""
        known = [option for action in self._actions for option in action.option_strings]
        if not word.startswith("-"):
            before = argv[argv.index(word) - 1] if word in argv[1:] else ""
            if before in self.with_optional_value:
                return f"unexpected argument '{word}', did you mean {before}={word}?"
            if word.endswith(".py") and "--load" in known:
                return f"unexpected argument '{word}', did you mean --load {word}?"
            return f"unexpected argument '{word}', expected one input"
        flag = word.split("=")[0]
        longer = sorted(f"'{name}'" for name in known if name.startswith(flag))
        hint = f", did you mean {' or '.join(longer)}?" if 2 <= len(longer) <= 4 else ""
        hint = hint or nearest(flag, known) or f", see {self.prog} --help"
        return f"unknown option '{flag}'{hint}"


def add_pipeline(parser: Parser) -> None:
    """The sections on passes and what they see, and on the files of user passes."""
    parser.section("pipeline")
    parser.add(
        "-p",
        "--passes",
        "--pass-pipeline",
        dest="pipelines",
        action="append",
        default=[],
        metavar="PIPELINE",
        help="passes, as a,b{x=1 y=2,3} or 'builtin.module(a,func.func(b))'",
    )
    parser.add("--target", metavar="NAME", help="the chip, see ge-opt --list-targets")
    parser.add(
        "--tile",
        metavar="M,N,K",
        help="tile of matrix products and convolutions, in place of the fastest one found",
    )
    parser.section("pass files")
    parser.add(
        "--load",
        action="append",
        default=[],
        metavar="PATH",
        help="a file or directory with user passes, besides ASCEND_GE_PY_PASS_PATH",
    )
    add_pass_options(parser)


def add_pass_options(parser: Parser) -> None:
    """What user passes see."""
    parser.add(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what PassContext.get_option_value reads",
    )
    parser.add("--upstream-quirks", action="store_true", help="keep unsafe upstream behaviours")


def add_input_format(parser: Parser, help: str = "overrides the file's ending") -> None:
    """The option that says what the input is."""
    parser.add("--input-format", metavar="FORMAT", help=help)


def session_of_args(args: argparse.Namespace) -> Session:
    """The session that the shared options describe; raises UsageError for bad values."""
    from ge_xdsl.passes.session import DEFAULT_TARGET, Session
    from ge_xdsl.targets import target

    name = target(args.target or DEFAULT_TARGET).name
    options: dict[str, str] = {}
    for text in args.option:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"option is '{text}', expected --option KEY=VALUE")
        options[key] = value
    return Session(
        target=name,
        options=options,
        upstream_quirks=args.upstream_quirks,
        tile=tile_of_args(args),
    )


def tile_of_args(args: argparse.Namespace) -> str:
    """What `--tile` says, '' without it; raises UsageError for what is no tile."""
    text: str | None = getattr(args, "tile", None)
    if text is None:
        return ""
    from ge_xdsl.lowering.tile_choice import parse_choice

    parse_choice(text)
    return text


def warn_of_idle_tile(passes: Sequence[ModulePass], session: Session) -> None:
    """Warn when no pass of the pipeline lowers what `--tile` is for."""
    if session.tile and all(item.name != "convert-ge-to-aicore" for item in passes):
        session.warn(
            f"--tile {session.tile} has no effect, expected -p convert-ge-to-aicore with it"
        )


def load_user_passes(paths: Sequence[str]) -> None:
    """Load the pass files of `--load` and of ASCEND_GE_PY_PASS_PATH, and before them the files
    of ASCEND_CUSTOM_OPP_PATH, which define ops and conversions of ONNX nodes.

    Raises CompileError for what cannot be loaded, UsageError for an empty path.
    """
    import os

    if "" in paths:
        raise UsageError("--load is empty, expected a file or directory")
    own_ops = "ASCEND_CUSTOM_OPP_PATH"
    if paths or os.environ.get("ASCEND_GE_PY_PASS_PATH") or os.environ.get(own_ops):
        from ge_xdsl.cli.failures import user_code
        from ge_xdsl.passes.loader import activate, env_entries, load, load_entry

        with user_code():
            if os.environ.get(own_ops):
                activate()
            for entry in env_entries(own_ops):
                load_entry(entry)
            load(paths)


def warn_of_idle_files(
    paths: Sequence[str], passes: Sequence[ModulePass], session: Session
) -> None:
    """Warn when the files of `--load` have no pass, when no pass of the pipeline runs them, or
    when the pipeline runs user passes alone and there are none."""
    from ge_xdsl.passes import registry

    if not paths:
        alone = all(item.name == "ge-custom-passes" for item in passes)
        only = any(getattr(item, "only", "") for item in passes)  # an error of its own
        if passes and alone and not only and not registry.registered():
            session.warn(
                "ge-custom-passes has no pass to run, expected --load FILE or "
                "ASCEND_GE_PY_PASS_PATH with it"
            )
        return
    plugins = sys.modules.get("ge_xdsl.compat.ge.onnx_plugin")
    if plugins is not None and plugins.get_registered_onnx_plugins():
        return  # a file may define conversions alone
    if not registry.registered():
        session.warn(f"--load {paths[0]} registers no pass, expected @register_fusion_pass")
    elif all(item.name != "ge-custom-passes" for item in passes):
        session.warn(f"--load {paths[0]} has no effect, expected -p ge-custom-passes with it")
