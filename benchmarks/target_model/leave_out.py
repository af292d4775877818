"""How the model does on measurements that its numbers were not fitted to.

For each family of measurements the fitted numbers are fitted again to all others: one step of
least squares on logarithms, from the numbers as they are, with a standard deviation of 20 % for
each number and of 5 % for each measurement. The family is then predicted with the new numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING

from benchmarks.target_model.model import Row, points, predict
from ge_xdsl.targets import target
from ge_xdsl.targets.calibration import FITTED

if TYPE_CHECKING:
    from numpy import ndarray

STEP = 0.1
"""By how much a number is moved to see what it does, relative."""
PRIOR, NOISE = 0.2, 0.05
"""Standard deviations of the numbers and of the measurements, of logarithms."""


@dataclass(frozen=True, slots=True)
class Left:
    """A family that was left out: mean absolute errors with all data and without it."""

    family: str
    count: int
    error: float
    without: float
    moved: str
    """The number that moved most, and by how much."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Rows that are compared, and how their logarithms change with those of the numbers."""

    rows: Sequence[Row]
    names: Sequence[str]
    slopes: ndarray

    def strongest(self, name: str, count: int = 2) -> list[str]:
        """The measurements that a number changes most."""
        column = self.slopes[:, self.names.index(name)]
        order = sorted(range(len(self.rows)), key=lambda i: -abs(float(column[i])))
        return [self.rows[i].label for i in order[:count] if abs(float(column[i])) > 1e-4]


def sensitivity() -> Sensitivity:
    """Predict everything once for each fitted number, a little larger."""
    import numpy as np

    rows = [row for row in map(predict, points()) if row.error is not None]
    base = np.array([log(row.predicted or 1.0) for row in rows])
    columns: list[ndarray] = []
    for name in FITTED:
        moved: list[float] = []
        for row in rows:
            chip = target(row.point["target"])
            more = {name: getattr(chip, name) * (1 + STEP)}
            moved.append(log(predict(row.point, replace(chip, **more)).predicted or 1.0))
        columns.append((np.array(moved) - base) / log(1 + STEP))
    return Sensitivity(rows, list(FITTED), np.stack(columns, axis=1))


def refit(found: Sensitivity, used: Sequence[int]) -> ndarray:
    """The logarithms by which the numbers move when they are fitted to some of the rows."""
    import numpy as np

    slopes = found.slopes[list(used)]
    wanted = np.array([-log(1 + (found.rows[i].error or 0.0)) for i in used])
    weight = (NOISE / PRIOR) ** 2
    square = slopes.T @ slopes + weight * np.eye(slopes.shape[1])
    return np.linalg.solve(square, slopes.T @ wanted)


def left_out(found: Sensitivity) -> list[Left]:
    """Each family, left out in turn."""
    families = list(dict.fromkeys(row.point["family"] for row in found.rows))
    made: list[Left] = []
    for family in families:
        inside = [i for i, row in enumerate(found.rows) if row.point["family"] == family]
        outside = [i for i in range(len(found.rows)) if i not in set(inside)]
        step = refit(found, outside)
        change = found.slopes[inside] @ step
        errors = [abs(found.rows[i].error or 0.0) for i in inside]
        without = [
            abs((1 + (found.rows[i].error or 0.0)) * exp(float(more)) - 1)
            for i, more in zip(inside, change, strict=True)
        ]
        most = max(range(len(step)), key=lambda k: abs(float(step[k])))
        moved = f"{found.names[most]} {100 * (exp(float(step[most])) - 1):+.0f} %"
        count = len(inside)
        made.append(Left(family, count, sum(errors) / count, sum(without) / count, moved))
    return made
