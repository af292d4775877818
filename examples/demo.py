"""The demo: a real model through user passes, explained, compared with onnxruntime, priced.

    make demo        (or: python examples/demo.py)

Every step is a command that you can run yourself; the demo prints it before running it.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parents[1]
MODELS = PROJECT / "models"
PASSES = "examples/passes"
REAL, SMALL = "ppocr_v2_cls", "small_cnn"
SHAPES = {REAL: ["--shape", "x=1x3x48x192"], SMALL: []}
TOOLS = {
    "ge-opt": "ge_xdsl.cli.opt",
    "ge-check": "ge_xdsl.cli.check",
    "ge-run": "ge_xdsl.cli.run",
}


def say(text: str) -> None:
    """A heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def run(*command: str, show: int = 40, last: int = 0) -> str:
    """Print a command, run it, print the first `show` and the `last` lines of what it says."""
    print(f"$ {shlex.join(command)}", flush=True)
    program = [sys.executable, "-m", TOOLS[command[0]], *command[1:]]
    done = subprocess.run(program, cwd=PROJECT, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    if len(lines) > show + last:
        left_out = len(lines) - show - last
        lines[show : len(lines) - last] = [f"... {left_out} more lines"]
    for line in lines:
        print(f"  {line}")
    if done.returncode:
        sys.exit(f"the command failed with exit code {done.returncode}")
    return done.stdout


def model_file() -> tuple[str, str]:
    """Name and path of the model: the real one, or the small one when it cannot be had."""
    fetch = [sys.executable, str(PROJECT / "tools" / "fetch_model.py"), REAL]
    done = subprocess.run(fetch, cwd=PROJECT, capture_output=True, text=True, check=False)
    path = MODELS / f"{REAL}.onnx"
    if done.returncode == 0 and path.exists():
        print(f"  {REAL}: MobileNetV3 text-direction classifier, {path.stat().st_size:,} bytes")
        return REAL, f"models/{REAL}.onnx"
    reason = (done.stderr.strip() or "no message").splitlines()[-1]
    print(f"  the download failed ({reason}); going on with examples/small_cnn.py")
    MODELS.mkdir(exist_ok=True)
    path = MODELS / f"{SMALL}.onnx"
    subprocess.run([sys.executable, str(PROJECT / "examples/small_cnn.py"), path], check=True)
    return SMALL, f"models/{SMALL}.onnx"


def main() -> None:
    """Run all steps."""
    start = time.perf_counter()
    say("1. A model")
    name, model = model_file()
    pipeline = "ge-custom-passes,ge-simplify,ge-fuse,ge-dce"

    say("2. Your passes and the builtin ones: what each rule tried, matched and rewrote")
    run("ge-opt", model, "--load", PASSES, "-p", pipeline, "--stats", "-o", f"models/{name}.mlir")
    print("  the same from Python, with the op counts:")
    print(f"  >>> report = gx.optimize(gx.load({model!r}), [{PASSES!r}], pipeline={pipeline!r})")
    import ge_xdsl as gx

    report = gx.optimize(gx.load(PROJECT / model), [PROJECT / PASSES], pipeline=pipeline)
    print("  >>> print(report)")
    print("  " + str(report).replace("\n", "\n  "))

    say("3. Why did a pass not match?")
    asked = "PythonCapturedMatMulAddPass"
    run(
        "ge-opt", model, "--load", PASSES, "-p", f"ge-custom-passes{{only={asked}}}",
        f"--explain={asked}", "-o", f"models/{name}.mlir",
    )  # fmt: skip

    say("4. Is a pass right? No model needed: graphs made from its own patterns")
    run("ge-check", f"{PASSES}/hard_swish.py")

    say("5. Are the numbers still right? The rewritten graph against onnxruntime")
    common = ["--random-inputs", *SHAPES[name], "--load", PASSES]
    run("ge-run", model, *common, "-p", pipeline, "--compare", "onnxruntime")

    say("6. What would it cost on a chip? Tile programs, run and timed")
    run(
        "ge-run", model, *common, "-p", pipeline, "--level", "aicore", "--compare", "onnxruntime",
        "--cycles", "--target", "Ascend910B1", show=14, last=11,
    )  # fmt: skip
    print(f"\ndone in {time.perf_counter() - start:.0f} s")
    print("next: . .venv/bin/activate, then ge-opt --help; docs/writing_a_pass.md")


if __name__ == "__main__":
    main()
