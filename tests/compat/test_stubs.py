"""Type stubs of `ge`: what is written, and that strict pyright accepts pass files by them."""

import ast
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ge_xdsl.compat.stubs import stub_files, write_stubs

PROJECT = Path(__file__).parents[2]
EVERY_API = Path(__file__).with_name("every_api.py")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write_stubs(folder / "typings")
    return folder


def test_every_stub_is_a_module(stubs):
    files = dict(stub_files())
    assert {"ge/__init__.pyi", "ge/passes/base.pyi", "ge/es/all.pyi", "es_math.pyi"} <= set(files)
    for text in files.values():
        ast.parse(text)
    public = [name for name in files if "/_" in name and not name.endswith("__init__.pyi")]
    assert public == []


SIGNATURES = [
    (
        "MatMul",
        "x1: _Like, x2: _Like, bias: _Like | None = ..., *, transpose_x1: bool = ..., "
        "transpose_x2: bool = ...) -> TensorHolder",
    ),
    ("Relu", "x: TensorHolder) -> TensorHolder"),
    ("Split", "split_dim: _Like, x: _Like, y_num: int, *, num_split: int) -> list[TensorHolder]"),
    ("Const", "owner_graph_builder: GraphBuilder, *, value: Tensor = ...) -> TensorHolder"),
    (
        "If",
        "cond: _Like, input: Sequence[_Like], output_num: int, then_branch: Graph, "
        "else_branch: Graph) -> list[TensorHolder]",
    ),
]


@pytest.mark.parametrize(("op", "text"), SIGNATURES, ids=[op for op, _ in SIGNATURES])
def test_functions(stubs, op, text):
    lines = (stubs / "typings/ge/es/all.pyi").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"def {op}(")]
    assert line == f"def {op}({text}: ..."


def pyright(folder, *files):
    """The errors that pyright finds in these files beside the stubs."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    settings = {
        "typeCheckingMode": "strict",
        "reportMissingModuleSource": False,
        "extraPaths": [str(PROJECT)],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder)]
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        pytest.skip(f"pyright does not run here: {(done.stderr or done.stdout).strip()[:200]}")
    assert found["summary"]["filesAnalyzed"] >= len(files)
    wanted = {str((folder / name).resolve()) for name in files}
    return [
        f"{Path(entry['file']).name}:{entry['range']['start']['line'] + 1}: {entry['message']}"
        for entry in found["generalDiagnostics"]
        if str(Path(entry["file"]).resolve()) in wanted and entry["severity"] == "error"
    ]


def test_every_name_is_there():
    """The file that pyright checks loads as a pass file; it runs nothing that it defines."""
    code = (
        "from ge_xdsl.passes.loader import activate, load_entry\n"
        "from ge_xdsl.passes.registry import registered\n"
        f"activate()\nload_entry({str(EVERY_API)!r})\nprint([p.name for p in registered()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['A', 'B', 'C', 'D']\n", "")


BAD = """
from ge.es.math import MatMul, Nope
from ge.es import TensorHolder


def wrong(x: TensorHolder) -> TensorHolder:
    return MatMul(x, x, None, True)


def typed(x: TensorHolder) -> int:
    return MatMul(x, x, transpose_x1=1)
"""


def test_pyright_accepts_the_examples_and_finds_mistakes(stubs):
    examples = sorted((PROJECT / "examples" / "passes").glob("*.py"))
    examples.append(EVERY_API)
    for path in examples:
        shutil.copy(path, stubs / path.name)
    (stubs / "bad.py").write_text(BAD)
    errors = pyright(stubs, *(path.name for path in examples), "bad.py")
    assert [line for line in errors if not line.startswith("bad.py")] == []
    found = "\n".join(errors)
    for line, text in ((2, '"Nope" is unknown import symbol'), (7, "positional"), (11, "int")):
        assert f"bad.py:{line}: " in found
        assert text in found


def run(*arguments, folder):
    command = [sys.executable, "-m", "ge_xdsl.compat.stubs", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command(tmp_path):
    done = run(folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" stubs written to typings\n")
    assert (tmp_path / "typings/ge/passes/__init__.pyi").is_file()
    assert run("a", "b", folder=tmp_path).returncode == 2
    assert "usage: " in run("--help", folder=tmp_path).stdout
    (tmp_path / "file").write_text("")
    done = run("file", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("file: error: cannot be written, ")
