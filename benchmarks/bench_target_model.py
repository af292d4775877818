"""Predicted against published kernel times, as JSON: `python -m benchmarks target_model`."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    command = [sys.executable, "-m", "benchmarks.target_model", "--json"]
    sys.exit(subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode)
