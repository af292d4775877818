"""`make docs`: pages from the registry, with every op and what the classes say."""

import importlib.util
from pathlib import Path

import pytest

from ge_xdsl.cli.coverage import made_by_importers
from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.prototypes import known_ops
from ge_xdsl.dialects.ge.registry import typed_ops

PATH = Path(__file__).parents[2] / "tools" / "write_op_docs.py"
SPEC = importlib.util.spec_from_file_location("write_op_docs", PATH)
write_op_docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(write_op_docs)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Page name -> text."""
    folder = tmp_path_factory.mktemp("ops")
    (folder / "gone.md").write_text("a family that is no more")
    assert write_op_docs.main(["--folder", str(folder)]) == 0
    return {path.stem: path.read_text() for path in folder.glob("*.md")}


def test_every_op_has_one_section(pages):
    assert set(pages) == {*FAMILIES, "table_only", "README"}
    headings = [
        line.removeprefix("## ")
        for text in pages.values()
        for line in text.splitlines()
        if line.startswith("## ")
    ]
    assert sorted(headings) == sorted({*known_ops(), *typed_ops()})


def test_a_section_tells_what_the_class_and_the_table_say(pages):
    section = pages["matmul"].split("## MatMul\n")[1].split("\n## ")[0]
    for text in (
        "operand bias (optional): DT_FLOAT",
        "attribute transpose_x1: Bool = false",
        "C3:",
        "- shape rule: yes, values: yes",
        "- lowering to aicore: yes",
    ):
        assert text in section
    assert "- made by importer onnx/conv" in pages["conv"].split("## Conv2D\n")[1]


def test_importers_are_read_from_their_sources():
    found = made_by_importers()
    assert "onnx/conv" in found["Conv2D"]
    assert "onnx/activation" in found["Elu"]
    assert "HcomAllReduce" not in found
    assert set(found) <= set(known_ops())


def test_a_second_run_gives_the_same(pages, tmp_path, capsys):
    write_op_docs.main(["--folder", str(tmp_path)])
    assert {path.stem: path.read_text() for path in tmp_path.glob("*.md")} == pages
    assert f"{len(pages)} pages, {len(known_ops())} op types" in capsys.readouterr().out
