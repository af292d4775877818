"""Runs the lit files under pytest, in one process where their RUN lines allow it.

A pipe of the project's tools and filecheck needs no new processes, which is ten times faster.
Everything else (user passes, which register themselves for good, redirections, other commands)
goes to a shell, as under lit.
"""

import contextlib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TOOLS = {"ge-opt": "opt", "ge-run": "run", "filecheck": ""}


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".mlir" and not {"Inputs", "Output"} & {*file_path.parts}:
        return LitFile.from_parent(parent, path=file_path)
    return None


class LitFile(pytest.File):
    def collect(self):
        yield LitTest.from_parent(self, name="RUN")


class LitTest(pytest.Item):
    def runtest(self):
        commands = run_lines(self.path.read_text())
        assert commands, "the file has no RUN line"
        for command in commands:
            folder = self.path.parent / "Output"
            folder.mkdir(exist_ok=True)
            line = substitute(command, self.path, folder)
            stages = in_process(line)
            if stages is None:
                code, out = in_shell(line)
            else:
                code, out = run_pipe(stages)
            if code:
                raise LitFailure(f"RUN: {line}\nexit code {code}\n{out}")

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, str(self.path.relative_to(PROJECT))


class LitFailure(Exception):
    pass


def run_lines(text):
    """The commands after `RUN:`, joined where a line ends in a backslash."""
    commands, pending = [], ""
    for line in text.splitlines():
        if "RUN:" not in line:
            continue
        pending += line.split("RUN:", 1)[1].strip()
        if pending.endswith("\\"):
            pending = pending[:-1]
        else:
            commands.append(pending)
            pending = ""
    return commands


def substitute(command, path, folder):
    stem = folder / f"{path.name}.tmp"
    for word, value in (("%s", path), ("%S", path.parent), ("%t", stem), ("%T", folder)):
        command = command.replace(word, str(value))
    return command


def in_process(line):
    """The pipe as [(words, merges stderr)], None when it needs a shell."""
    if "--load" in line or "ge-check" in line or "$" in line:
        return None
    stages = []
    for words in split_pipe(line):
        merges = words[-1:] == ["2>&1"]
        words = words[:-1] if merges else words
        tool = words[1:2] if words[:1] == ["not"] else words[:1]
        if not tool or tool[0] not in TOOLS or any(set(word) & set("<>&;") for word in words):
            return None
        stages.append((words, merges))
    return stages


def split_pipe(line):
    """The words of each stage; quoting as in a shell."""
    stages = [[]]
    for word in shlex.split(line):
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def run_pipe(stages):
    """Run the stages one after another; the exit code is that of the first that fails."""
    data, failed, errors = "", 0, ""
    for words, merges in stages:
        expected_failure = words[0] == "not"
        code, data, err = call(words[1:] if expected_failure else words, data, merges)
        errors += err
        code = int(not code) if expected_failure else code
        failed = failed or code
    return failed, data + errors


def call(words, data, merges):
    """One tool on its standard input: exit code, output and error text."""
    out, err = Stream(), Stream()
    saved = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out if merges else err):
            code = entry(words[0])(words)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    finally:
        sys.stdin = saved
    return code or 0, out.text(), err.text()


def entry(tool):
    if tool == "filecheck":
        from filecheck.main import main

        return lambda words: main([*words])
    module = __import__(f"ge_xdsl.cli.{TOOLS[tool]}", fromlist=["main"])
    return lambda words: module.main(words[1:])


class Stream(io.TextIOWrapper):
    """Collects text and bytes written to `buffer`, in order."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


def in_shell(line):
    folders = [str(PROJECT / "tools"), str(Path(sys.executable).parent), os.environ["PATH"]]
    env = {**os.environ, "PATH": os.pathsep.join(folders)}
    env.pop("ASCEND_GE_PY_PASS_PATH", None)
    script = f'set -o pipefail; not() {{ ! "$@"; }}; {line}'
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=120
    )
    return done.returncode, done.stdout + done.stderr
