"""Runs every `bench_*.py` of this folder in a process of its own and prints their JSON."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the named benchmarks (all of them without a name); the worst exit code."""
    wanted = sys.argv[1:] or sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    worst = 0
    for name in wanted:
        script = HERE / f"bench_{name}.py"
        if not script.exists():
            print(f"error: no benchmark '{name}'", file=sys.stderr)
            return 2
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
        worst = max(worst, run.returncode)
        if run.returncode:
            print(json.dumps({"benchmark": name, "error": run.stderr.strip().split("\n")[-1]}))
        else:
            print(run.stdout.strip())
    return worst


if __name__ == "__main__":
    sys.exit(main())
