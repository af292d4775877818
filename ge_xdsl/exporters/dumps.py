"""GE's dump files: a graph as text in three forms, under the names and in the folder of GE."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.ir import Block

FILES = {
    "ge_onnx": ("ge_onnx", "pbtxt"),
    "ge_proto": ("ge_proto", "txt"),
    "readable": ("ge_readable", "txt"),
}
"""Form -> how its files start, and their ending."""

_COUNTERS = dict.fromkeys(FILES, 0)
"""Each form counts the files it wrote by itself, from 0."""

_NAME_LIMIT = 255
"""Longest file name, in bytes, that file systems take."""


def dump_text(block: Block, form: str, level: int = 1) -> str:
    """The dump of a graph. `level` 1 is everything, from 2 on without the values of constants,
    in 3 `ge_onnx` has no attributes. Raises CompileError for what GE cannot hold."""
    if form == "readable":
        from ge_xdsl.exporters.readable import readable_text

        return readable_text(block)
    if form == "ge_proto":
        from ge_xdsl.exporters.gepb import proto_text

        return proto_text(block, level)
    from ge_xdsl.exporters.ge_onnx import ge_onnx_text

    return ge_onnx_text(block, level)


def folder() -> Path:
    """Where dumps go: the first of GE's environment variables that is set, else here."""
    collect, dumps = os.environ.get("NPU_COLLECT_PATH"), os.environ.get("DUMP_GRAPH_PATH")
    if collect:
        return Path(collect) / "extra-info" / "graph" / f"{os.getpid()}_0"
    if dumps:
        return Path(dumps) / f"pid_{os.getpid()}_deviceid_0"
    return Path(os.environ.get("ASCEND_WORK_PATH") or ".")


def write_dump(text: str, form: str, suffix: str, graph: int = 0) -> Path:
    """Write a dump of a graph, counted by its number, under its GE name, for its owner only.

    Raises OSError, whose file name is the dump's, when it cannot be written.
    """
    prefix, ending = FILES[form]
    place = folder()
    clean = "".join(c if c.isalnum() or c in "._-" else "_" for c in suffix)
    tail = f"_{clean}" if clean else ""
    stem = f"{prefix}_{_COUNTERS[form]:08d}_graph_{graph}{tail}"
    path = place / f"{stem[: _NAME_LIMIT - len(ending) - 1]}.{ending}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    _COUNTERS[form] += 1
    return path
