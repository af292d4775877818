"""`python -m benchmarks.target_model [--json] [--quick]`: the validation of the target model.

Prints every measurement with its prediction, the order of the ladders, the numbers of the model,
and how each family is predicted by numbers that were fitted to the others (not with `--quick`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from benchmarks.target_model import report
from benchmarks.target_model.leave_out import left_out, sensitivity
from benchmarks.target_model.model import rows


def main(argv: Sequence[str]) -> int:
    """Print the report; 2 for an unknown option."""
    unknown = [arg for arg in argv if arg not in ("--json", "--quick")]
    if unknown:
        print(f"error: unknown option '{unknown[0]}', expected --json or --quick", file=sys.stderr)
        return 2
    found = rows()
    if "--json" in argv:
        print(json.dumps(report.to_json(found)))
        return 0
    slopes = None if "--quick" in argv else sensitivity()
    parts = [
        [*report.table_lines(found), report.summary_line(found)],
        list(report.ladder_lines(found)),
        list(report.coefficient_lines(slopes)),
    ]
    if slopes is not None:
        parts.append(list(report.left_out_lines(left_out(slopes))))
    print("\n\n".join("\n".join(part) for part in parts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
