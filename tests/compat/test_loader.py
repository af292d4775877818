"""Loading pass files: the rules of the environment variable, names, errors, and `import ge`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ge.passes.bootstrap import ENV_PY_PASS_PATH, load_pass_plugins
from ge.passes.bootstrap import get_registered_passes as dicts

from ge_xdsl.errors import CompileError
from ge_xdsl.passes import loader, registry

PASS = """
from ge.passes import FusionBasePass, PassStage, register_fusion_pass

@register_fusion_pass(name="{name}", stage=PassStage.BEFORE_INFER_SHAPE)
class Made(FusionBasePass):
    def run(self, graph, context):
        return None
"""


def write(path, name):
    path.write_text(PASS.format(name=name))
    return path


def names():
    return [p.name for p in registry.registered()]


def test_entries_are_loaded_left_to_right(tmp_path, monkeypatch):
    one, two = write(tmp_path / "one.py", "Z"), write(tmp_path / "two.py", "A")
    monkeypatch.setenv(ENV_PY_PASS_PATH, f" {one} {os.pathsep}{os.pathsep}{two}")
    modules = load_pass_plugins()
    assert [Path(m.__file__).name for m in modules] == ["one.py", "two.py"]
    assert names() == ["Z", "A"]
    assert [d["pass_name"] for d in dicts()] == ["Z", "A"]
    assert [m.__name__ for m in load_pass_plugins()] == [m.__name__ for m in modules]
    monkeypatch.setenv(ENV_PY_PASS_PATH, "")
    assert load_pass_plugins() == []


def test_load_option_comes_after_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(ENV_PY_PASS_PATH, str(write(tmp_path / "env.py", "Env")))
    loader.load([str(write(tmp_path / "opt.py", "Opt"))])
    assert names() == ["Env", "Opt"]


def test_a_directory(tmp_path, monkeypatch):
    write(tmp_path / "b.py", "B")
    write(tmp_path / "a.py", "A").open("a").write("import helper_of_a\n")
    write(tmp_path / "_hidden.py", "Hidden")
    (tmp_path / "helper_of_a.py").write_text("VALUE = 1\n")
    (tmp_path / "notes.txt").write_text("no python")
    (tmp_path / "plain").mkdir()
    write(tmp_path / "plain" / "deep.py", "Deep")
    package = tmp_path / "package_of_passes"
    package.mkdir()
    write(package / "__init__.py", "InPackage")
    before = list(sys.path)
    modules = loader.load([str(tmp_path)])
    assert names() == ["A", "B", "InPackage"]
    assert modules[-1].__name__ == "package_of_passes"
    assert sys.path == before
    sys.modules.pop("package_of_passes")
    sys.modules.pop("helper_of_a")


def test_a_hidden_file_loads_when_it_is_named(tmp_path):
    loader.load([str(write(tmp_path / "_hidden.py", "Hidden"))])
    assert names() == ["Hidden"]


def test_one_file_is_loaded_once_whatever_names_it(tmp_path):
    file = write(tmp_path / "one.py", "One")
    link = tmp_path / "alias.py"
    link.symlink_to(file)
    (first,) = loader.load([str(file), str(link), str(tmp_path / "x" / ".." / "one.py")])
    assert names() == ["One"]
    (again,) = loader.load([str(tmp_path)])
    assert again is first


def test_module_names_do_not_depend_on_the_process(tmp_path):
    code = f"from ge_xdsl.passes.loader import *; print(module_name(Path({str(tmp_path)!r})))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {loader.module_name(tmp_path) + "\n"}
    assert loader.module_name(tmp_path).startswith(f"_ge_py_pass_{tmp_path.stem}_")


def test_a_bad_path_stops_the_load(tmp_path, monkeypatch):
    later = write(tmp_path / "later.py", "Later")
    with pytest.raises(CompileError, match="error: python pass path does not exist: nowhere"):
        loader.load(["nowhere", str(later)])
    with pytest.raises(CompileError, match=r"exist: a\.py,b\.py, expected one path each time"):
        loader.load(["a.py,b.py"])
    text = tmp_path / "pass.txt"
    text.write_text("")
    with pytest.raises(CompileError, match=r"error: python pass file must end with \.py: "):
        loader.load([str(text), str(later)])
    assert names() == []
    monkeypatch.setenv(ENV_PY_PASS_PATH, "nowhere")
    with pytest.raises(FileNotFoundError, match="python pass path does not exist"):
        load_pass_plugins()
    monkeypatch.setenv(ENV_PY_PASS_PATH, str(text))
    with pytest.raises(ValueError, match=r"python pass file must end with \.py"):
        load_pass_plugins()


BROKEN = [
    ("x = 1\nraise KeyError('gone')\n", 2, "loading the pass file raised KeyError: 'gone'"),
    ("def f(:\n", 1, "syntax error: invalid syntax"),
    ("import no_such_module_anywhere\n", 1, "loading the pass file raised ModuleNotFoundError"),
    ("from ge.es.math import NoSuchOp\n", 1, "ImportError: cannot import name 'NoSuchOp'"),
    (
        "from ge.es.all import MatMull\n",
        1,
        r"cannot import name 'MatMull' from 'ge\.es\.all', did you mean 'MatMul'\?$",
    ),
    (
        "import ge.passes\nge.passes.PaternFusionPass\n",
        2,
        "no attribute 'PaternFusionPass', did you mean 'PatternFusionPass'",
    ),
    (
        "import ge.passes\nge.passes.PassStage.AFTER_INFER\n",
        2,
        r"PassStage has no member 'AFTER_INFER', did you mean 'AFTER_INFER_SHAPE'\?",
    ),
    (
        "from ge.es.all import Relu\ndef f():\n    Reluu(1)\nf()\n",
        3,
        r"NameError: name 'Reluu' is not defined, did you mean 'Relu'\?",
    ),
    ("raise ValueError(object())\n", 1, "raised ValueError: <object object>$"),
    (
        PASS.format(name="P").replace("PassStage.BEFORE_INFER_SHAPE", "'Before'"),
        4,
        "stage of pass 'P' is 'Before', expected one of PassStage.BEFORE_INFER_SHAPE, ",
    ),
    ("\nraise SystemExit\n", 2, "loading the pass file raised SystemExit"),
    ("\x00", 0, "loading the pass file raised|syntax error: source code"),
]


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_a_file_that_cannot_be_loaded(tmp_path, text, line, message):
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(CompileError, match=message) as caught:
        loader.load([str(file)])
    place = caught.value.location
    assert Path(place.file) == file
    assert place.line == line
    assert loader.module_name(file) not in sys.modules


def test_a_failed_file_leaves_no_pass_behind(tmp_path, monkeypatch):
    file = write(tmp_path / "half.py", "Half")
    file.open("a").write("raise OSError('late')\n")
    with pytest.raises(CompileError, match=r"half\.py:8:1: error: .*OSError: late"):
        loader.load([str(file)])
    assert names() == []
    monkeypatch.setenv(ENV_PY_PASS_PATH, str(file))
    with pytest.raises(OSError, match="late"):
        load_pass_plugins()


def test_duplicate_names_are_an_error_at_the_second_file(tmp_path):
    write(tmp_path / "a.py", "Same")
    write(tmp_path / "b.py", "Same")
    text = r"b\.py:4:1: error: .*name already exists: Same, registered at .*a\.py:4:1"
    with pytest.raises(CompileError, match=text):
        loader.load([str(tmp_path)])
    assert names() == ["Same"]


def test_a_package_must_be_the_one_in_the_directory(tmp_path):
    (tmp_path / "json").mkdir()
    write(tmp_path / "json" / "__init__.py", "Json")
    with pytest.raises(CompileError, match="package 'json' is another one, expected the one here"):
        loader.load([str(tmp_path)])


def test_unload_lets_files_run_again(tmp_path):
    file = write(tmp_path / "one.py", "One")
    loader.load([str(file)])
    loader.unload()
    assert names() == []
    loader.load([str(file)])
    assert names() == ["One"]


# `import ge`

CHECKS = [
    "import ge.passes, ge_xdsl.compat.ge.passes as ours; assert ge.passes is ours",
    "from ge.es.math import Add; import ge.es; assert ge.es.math.Add is Add",
    "import ge_xdsl.compat.ge.passes; from ge.passes import pattern; import ge.passes.pattern; "
    "assert ge.passes.pattern is pattern",
    "import ge.graph.types as t; assert t.__spec__.name == 'ge_xdsl.compat.ge.graph.types'",
    "import importlib.util as u; assert u.find_spec('ge.nope') is None",
]


@pytest.mark.parametrize("code", CHECKS)
def test_the_name_ge(code, tmp_path):
    (tmp_path / "ge").mkdir()  # a folder that happens to be called ge is no package of CANN
    run(code, tmp_path, "from ge_xdsl.passes.loader import activate; assert activate()\n")


def test_a_real_ge_stays_unless_a_tool_needs_ours(tmp_path):
    real = tmp_path / "ge" / "passes"
    real.mkdir(parents=True)
    for folder in (real, real.parent):
        (folder / "__init__.py").write_text("REAL = True\n")
    run(
        "import ge; assert ge.REAL; "
        "from ge_xdsl.errors import CompileError\n"
        "try: activate(force=True)\n"
        "except CompileError as error: assert str(error) == \"error: import ge: another 'ge' "
        'package is imported already, expected the one of ge_xdsl"\n'
        "else: raise AssertionError",
        tmp_path,
        "from ge_xdsl.passes.loader import activate; assert not activate()\n",
    )
    run(
        "import ge.passes; assert not hasattr(ge.passes, 'REAL')",
        tmp_path,
        "from ge_xdsl.passes.loader import activate; assert activate(force=True)\n",
    )


def run(code, folder, before):
    done = subprocess.run(
        [sys.executable, "-c", before + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_pytest_plugin_makes_ge_importable(tmp_path):
    (tmp_path / "test_user.py").write_text(
        "from ge.passes import PassStage\n\n\ndef test_it():\n"
        "    assert PassStage.AFTER_INFER_SHAPE == 'AfterInferShape'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("file", "is_user"),
    [
        ("/src/ge_xdsl/passes/loader.py", False),
        ("/src/ge_xdsl_passes/mine.py", True),
        ("<frozen importlib._bootstrap>", False),
        (subprocess.__file__, False),
    ],
)
def test_whose_file_it_is(file, is_user):
    assert loader._is_user_file(file, "/src/ge_xdsl") is is_user
