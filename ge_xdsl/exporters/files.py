"""Writing files whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ge_xdsl.dialects.ge.store import unreadable


def is_replaceable(path: Path) -> bool:
    """Whether a rename may put a file at `path`: nothing or a regular file is there."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def write_through(path: Path, data: bytes) -> None:
    """Write to what no file can take the place of: a device or a pipe."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise unreadable(path, error) from None


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends well, and vanishes otherwise."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unreadable(path, error) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file in one step; raises CompileError."""
    if is_replaceable(path):
        with replacing(path) as file:
            file.write(data)
    else:
        write_through(path, data)
