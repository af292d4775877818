"""The documents' examples are true: every console block is run and its output compared.

`$ cat FILE` defines a file by what follows; other commands (the tools, and `python FILE`) run in a
folder that has those files.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
DOCUMENTS = [PROJECT / "README.md", *sorted(PROJECT.glob("docs/*.md"))]
TOOLS = {"ge-opt": "opt", "ge-run": "run", "ge-check": "check", "pyatc": "atc"}


def steps_of(text):
    """The (command, expected output) pairs of a document's console blocks, in order."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            yield tuple(step.split("\n", 1))


CASES = [
    pytest.param(steps, id=document.name)
    for document in DOCUMENTS
    if (steps := list(steps_of(document.read_text())))
]


def run(command, folder):
    program, *args = shlex.split(command)
    tool = [] if program == "python" else ["-m", f"ge_xdsl.cli.{TOOLS[program]}"]
    done = subprocess.run(
        [sys.executable, *tool, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASCEND_GE_PY_PASS_PATH": ""},
    )
    return done.stdout + done.stderr


def test_there_are_examples():
    assert {"README.md", "writing_a_pass.md"} <= {case.id for case in CASES}


def test_the_readme_has_every_document():
    text = (PROJECT / "README.md").read_text()
    assert not [path.name for path in DOCUMENTS[1:] if f"(docs/{path.name})" not in text]


@pytest.mark.parametrize("steps", CASES)
def test_console_blocks(steps, tmp_path):
    for command, expected in steps:
        if command.startswith("cat "):
            (tmp_path / command.removeprefix("cat ")).write_text(expected)
        else:
            assert run(command, tmp_path).strip() == expected.strip(), command
