"""Fills in the output of the console blocks of README.md and docs/*.md by running them.

    python tools/update_docs.py

What follows a `$ ge-opt ...` line up to the next `$` or the end of the block is replaced.
"""

import re
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT / "tests" / "unit"))


def filled(block: str, folder: str) -> str:
    """A console block with every command's real output; files go to `folder`."""
    from test_readme import run

    out = []
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, text = step.split("\n", 1)
        if command.startswith("cat "):
            Path(folder, command.removeprefix("cat ")).write_text(text)
        else:
            text = run(command, folder).strip() + "\n"
        out.append(f"$ {command}\n{text}")
    return "".join(out)


def main() -> None:
    """Rewrite the documents in place."""
    for document in [PROJECT / "README.md", *sorted(PROJECT.glob("docs/*.md"))]:
        text = document.read_text()
        with tempfile.TemporaryDirectory() as folder:
            new = re.sub(
                r"```console\n(.*?)```",
                lambda found, folder=folder: f"```console\n{filled(found.group(1), folder)}```",
                text,
                flags=re.DOTALL,
            )
        if new != text:
            document.write_text(new)
            print(f"updated {document.name}")


if __name__ == "__main__":
    main()
