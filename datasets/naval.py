"""Condition based maintenance of naval propulsion plants (UCI 316): decay of a gas turbine's compressor."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import NGBOOST, UCI, UCI_OLD, DataSet, RawFile, Source, Table, parse_lines, require_width

# Names from Features.txt. T1 and P1 are constant in the table, and Ts and Tp (columns 5 and 6) are identical. A
# constant input has standard deviation zero, so divisions by it must be guarded.
COLUMNS = ("lp", "v", "GTT", "GTn", "GGn", "Ts", "Tp", "T48", "T1", "T2", "P48", "P1", "P2", "Pexh", "TIC", "mf")


def parse(path: Path) -> Table:
    """Rows of data.txt: 18 columns, no header.

    The target is column 16 (compressor decay); column 17 (turbine decay) is extra.
    """
    path = Path(path)
    with path.open(encoding="ascii") as lines:
        rows = parse_lines(path, lines, None)
    require_width(path, rows, 18)
    # The turbine's decay is another target of the same simulation: as an input it would not be known in use.
    return Table(np.ascontiguousarray(rows[:, :16]), rows[:, 16].copy(), COLUMNS, extra=rows[:, 17:].copy())


# Documented: ship speed 3 to 27 knots and the compressor's decay 0.95 to 1. Not documented: all else. The lever
# position is documented as linear in the speed, but without its range, so it has none here.
_DOCUMENTED = {"v": (3.0, 27.0)}

DATASET = DataSet(
    name="naval",
    title="Naval Propulsion",
    n_rows=11_934,
    n_inputs=16,
    columns=COLUMNS,
    target="GT compressor decay state coefficient",
    unit="",
    licence="CC BY 4.0 on the UCI page; the README of 2014 in the archive says 'Any commercial use is prohibited'",
    doi="10.24432/C5K31K",
    raw=(
        RawFile(
            "data.txt",
            "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
            (
                Source(
                    UCI + "316/condition+based+maintenance+of+naval+propulsion+plants.zip",
                    "UCI CBM Dataset/data.txt",
                    "91a3815da80b5ab7e2d5b82ac82f1c2cbf89182c7a65bcdf240db1e014423cb9",
                ),
                Source(UCI_OLD + "00316/UCI%20CBM%20Dataset.zip", "UCI CBM Dataset/data.txt"),
                Source(NGBOOST + "naval-propulsion.txt"),
            ),
            megabytes=3.4,
        ),
    ),
    parse=parse,
    x_bounds=tuple(_DOCUMENTED.get(c) for c in COLUMNS),
    y_bounds=(0.95, 1.0),
    extremes=(),  # the grid of the simulation, chosen before there were rows; they reach both ends
    bounds_citation=(
        "README.txt of the data set (Coraddu et al. 2014): 'the kMc coefficient has been investigated in the domain "
        "[1; 0.95]', 'the range of feasible speed from 3 knots to 27 knots'"
    ),
    table_sha256="9e29f1dd09537ec700018dd325ce9a5ba43552398a4eb97379784e2b86e4ee42",
)
