"""Kin8nm (Delve, kin family): forward kinematics of an 8 link robot arm, highly non-linear, medium noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import NGBOOST, DataSet, RawFile, Source, Table, read_delimited

COLUMNS = tuple(f"theta{i}" for i in range(1, 9))


def parse(path: Path) -> Table:
    """Rows of dataset_2175_kin8nm.csv: header, comma separated, target y last."""
    rows = read_delimited(Path(path), ",", (*COLUMNS, "y"))
    return Table(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), COLUMNS)


# Documented: joint angles in [-3.1416, 3.1416] and a target in [0, Inf). The rows fill only half of the documented
# range of the angles. That is known only from the rows, so the documented range is used.
# Not documented: an upper bound of the target (the link lengths are not given), so the target has no bounds here.
DATASET = DataSet(
    name="kin8nm",
    title="Kin8nm",
    n_rows=8192,
    n_inputs=8,
    columns=COLUMNS,
    target="distance of the end point from (0.1, 0.1, 0.1)",
    unit="",  # the unit of length is not stated
    licence="none stated",
    doi="",
    raw=(
        RawFile(
            "dataset_2175_kin8nm.csv",
            "7b9bf0301ac936d88122557a151e1ba8f1ebc278fcf46d9f3c6d462debdbc8ad",
            (
                # CSV despite its name.
                Source("https://www.openml.org/data/get_csv/3626/dataset_2175_kin8nm.arff"),
                Source(NGBOOST + "kin8nm.csv"),
            ),
            megabytes=1.1,
        ),
    ),
    parse=parse,
    x_bounds=((-3.1416, 3.1416),) * 8,
    extremes=(),  # the domain of the simulation
    bounds_citation=(
        "Delve, kin family, specification of kin-8nm: attributes 1 to 8 'u [-3.1416,3.1416]' (angular position of a "
        "joint in radians), attribute 9 'u [0,Inf)'"
    ),
    table_sha256="7fad37438fc1228ed099177766b084fb5577bf7457d7a6460f8d0389b21681ab",
)
