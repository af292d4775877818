"""Prints the folder that makes `ge` importable when it stands in `PYTHONPATH`."""

from __future__ import annotations

from pathlib import Path

if __name__ == "__main__":
    print(Path(__file__).resolve().parent)
