"""Drops one rule of the rewriting engine at a time and asks the tests to notice.

    python tests/mutation/mutate.py [--only WORD] [--list]

Each mutation is a textual patch on a copy of the package in a temporary folder; the engine's tests
run on the copy and must fail. Exit code 1 when they pass on a mutant, when a patch no longer fits
the code, or when the tests fail without any patch. Takes some minutes: part of `make nightly`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GROUPS = {
    "match": (
        "unit/test_engine_conformance.py",
        "unit/test_pattern_match.py",
        "unit/test_pattern_compile.py",
    ),
    "rewrite": (
        "unit/test_engine_conformance_passes.py",
        "unit/test_pattern_rewrite.py",
        "unit/test_pattern_rewrite_types.py",
        "unit/test_driver.py",
    ),
    "plans": ("unit/test_pattern_plan.py",),
    "drivers": (
        "unit/test_driver.py",
        "unit/test_driver_linear.py",
        "unit/test_driver_prefilter.py",
        "unit/test_driver_fixpoint.py",
        "unit/test_driver_subgraphs.py",
    ),
    "passes": ("compat/test_custom_passes.py", "compat/test_custom_pass_failures.py"),
    "verify": (
        "unit/test_verify_exact.py",
        "unit/test_verify_rewrites.py",
        "unit/test_verify_samples.py",
    ),
    "extended": ("unit/test_pattern_extended.py", "unit/test_pattern_marks.py"),
    "order": ("unit/test_order_report.py", "unit/test_rewrites_order.py"),
}
"""The tests that mutations name."""
SECONDS = 300
"""Tests that take longer than this on a mutant have noticed it."""


@dataclass(frozen=True)
class Mutation:
    """A patch: in `file` below ge_xdsl, the only place that reads `old` gets `new`."""

    name: str
    file: str
    tests: str
    old: str
    new: str


def mutations() -> list[Mutation]:
    """The table beside this file."""
    with Path(__file__).with_name("mutations.toml").open("rb") as file:
        return [Mutation(**entry) for entry in tomllib.load(file)["mutation"]]


def files_of(groups: Sequence[str]) -> list[str]:
    """The test files of some groups, each once."""
    return list(dict.fromkeys(name for group in groups for name in GROUPS[group]))


def run_tests(folder: Path, tests: Sequence[str]) -> tuple[bool, str]:
    """Whether the tests pass on the package in a folder, and how they ended."""
    env = dict(os.environ, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    files = [str(folder / "tests" / name) for name in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no end within {SECONDS} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode == 0, (lines or done.stdout.splitlines() or [done.stderr])[-1]


def apply(mutation: Mutation, folder: Path) -> str | None:
    """Patch the copy; the original text, None where the patch does not fit exactly once."""
    path = folder / "ge_xdsl" / mutation.file
    text = path.read_text()
    if text.count(mutation.old) != 1:
        return None
    path.write_text(text.replace(mutation.old, mutation.new))
    return text


def check(mutation: Mutation, folder: Path) -> str:
    """Why a mutation is not caught, '' when a test fails on it."""
    text = apply(mutation, folder)
    if text is None:
        return "the patch does not fit the code once"
    try:
        passed, ended = run_tests(folder, files_of(mutation.tests.split()))
    finally:
        (folder / "ge_xdsl" / mutation.file).write_text(text)
    print(f"{'survived' if passed else 'caught  '}  {mutation.name}: {ended}", flush=True)
    return "no test fails" if passed else ""


def main() -> int:
    """Check the mutations; 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="mutations with this in their name")
    parser.add_argument("--list", action="store_true", help="print the names")
    args = parser.parse_args()
    chosen = [m for m in mutations() if args.only in m.name]
    if args.list:
        print("\n".join(m.name for m in chosen))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        skip = shutil.ignore_patterns("__pycache__")
        for part in ("ge_xdsl", "tests", "examples"):
            shutil.copytree(ROOT / part, folder / part, ignore=skip)
        shutil.copy(ROOT / "pyproject.toml", folder)
        passed, ended = run_tests(folder, files_of(list(GROUPS)))
        if not passed:
            print(f"error: the tests fail without a mutation: {ended}", file=sys.stderr)
            return 1
        found = {m.name: why for m in chosen if (why := check(m, folder))}
    for survivor, why in found.items():
        print(f"error: {survivor}: {why}", file=sys.stderr)
    print(f"{len(chosen) - len(found)} of {len(chosen)} mutations caught")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
